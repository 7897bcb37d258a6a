/*
 * Rotary position embedding (Su et al., 2021, arXiv:2104.09864). Each pair of
 * neighbours is rotated by an angle that grows with the position t:
 *
 *     w = t * b^(-2m/D),    b = 10000 unless another base is given
 *     (x_2m, x_2m+1)  ->  (x_2m cos w - x_2m+1 sin w,  x_2m sin w + x_2m+1 cos w)
 *
 * so that the product of a rotated q and a rotated k depends on the distance between
 * their positions alone. The transpose of a rotation is the rotation back, so the
 * gradient of a rotated row is rotated by -w; nothing has to be kept for it.
 *
 * Beyond the positions it was trained on, a model meets angles it has never seen. A scale s maps
 * them to those of a sequence s times shorter:
 *
 *     linear    w = t / s * b^(-2m/D)             slows every pair by s
 *     ntk       w = t * (b s^(D/(D-2)))^(-2m/D)   slows the slowest pair by s, the fastest not
 *
 * Not an op: mechanisms rotate the copies of rows that they make anyway.
 */
#ifndef OPS_ROPE_H
#define OPS_ROPE_H

#include "ops/tape.h"

typedef enum { ROPE_LINEAR, ROPE_NTK } RopeKind;
extern const char *const rope_kind_names[]; /* by RopeKind, ending with NULL */

/* The base, and how angles are scaled; all zeros: 10000, not at all. */
typedef struct {
    RopeKind kind;
    double by;   /* s >= 1; 0 counts as 1 */
    double base; /* b > 1; 0 counts as 10000 */
} RopeScale;

/*
 * (positions, D): cos w, sin w for each pair and position, for as long as the step
 * lasts; computed once for all callers with the same D and scale. D is even.
 */
const real *rope_angles(Tape *tape, int positions, int D, RopeScale scale);

/* cos w, sin w of one position, for each pair. */
void rope_position(real *angles, int t, int D, RopeScale scale);

/* Rotates a row of D numbers by its row of the table, or back. */
void rope_rotate(real *x, const real *angles, int D, bool back);

#endif
