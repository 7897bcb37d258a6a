/* The format of the operands of products; sums and all else are always reals. */
#ifndef OPS_KERNEL_PRECISION_H
#define OPS_KERNEL_PRECISION_H

/*
 * Both formats of 16 bits round operands in the same way; they differ in the order of a sum, so in
 * its last bits: PRECISION_BF16 is that of VDPBF16PS (bf16.h), PRECISION_TILES that of AMX
 * (tiles.h). The products of each have the same bits on every processor.
 */
typedef enum { PRECISION_FLOAT, PRECISION_BF16, PRECISION_TILES } Precision;

extern const char *const precision_names[]; /* ending with NULL */

/* By which instruction this processor computes such products: "with VDPBF16PS", "in plain C". */
const char *precision_how(Precision precision);

#endif
