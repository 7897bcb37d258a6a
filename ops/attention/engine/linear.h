/*
 * Linear attention: the weight of a pair is a product of features,
 *
 *     z_i  = sum over j of psi(k_j)                                  all over j in V(i)
 *     c_i  = phi(q_i) . z_i                C_i = guard(c_i)
 *     A_ij = phi(q_i) . psi(k_j) / C_i
 *     o_i  = sum over j of A_ij v_j
 *
 * so the sums over j can be computed once for all i. A mechanism is just its feature maps
 * (features.h); scan.c (all positions) and band.c (a window) compute the sums.
 *
 * RoPE rotates phi and psi in the numerator and leaves the denominator as it is. With R_i the
 * rotation of position i, (R_i phi_i) . (R_j psi_j) depends on i - j alone for fixed phi and psi. A
 * map whose features depend on the position themselves, block by block, needs a whole ladder of
 * frequencies in each block: `ladder` is its width, and every `ladder` features are rotated alike.
 * With --rope-at before, q and k are rotated instead, before the map, so that the denominator is
 * the sum of the same weights:
 *
 *     phi_i = phi(R_i q_i)      psi_j = psi(R_j k_j)      dq_i = R_i^T (gradient of R_i q_i)
 *
 * The gradient is the same for all maps. With the numerator p_i = sum over j of (phi_i . psi_j)
 * v_j, o_i = p_i / C_i. Let g be the gradient of o. By the quotient rule, changing p_i and C_i
 * changes o_i by
 *
 *     (change of p_i) / C_i - p_i (change of C_i) / C_i^2
 *         = (change of p_i - o_i (change of C_i)) / C_i
 *
 * so the gradient of p_i is u_i = g_i / C_i, and that of C_i is -g_i . o_i / C_i. C_i
 * depends on c_i unless the guard acts:
 *
 *     dc_i = -u_i . o_i        where C_i = c_i
 *     dc_i = 0                 where the guard acts: C_i is a constant there
 *
 * p_i is linear in each of phi_i, psi_j and v_j, and c_i in phi_i and z_i:
 *
 *     dphi_i = sum over j of (u_i . v_j) psi_j + dc_i z_i                   j in V(i)
 *     dz_i   = dc_i phi_i
 *     dpsi_j = sum over i of ((u_i . v_j) phi_i + dz_i) over the rows i that see j
 *     dv_j   = sum over i of (phi_i . psi_j) u_i
 *
 * The numerator's part is that of the weights phi_i . psi_j without a denominator, with u in place
 * of g; the part of z is one vector per row.
 *
 * If a map has a learned operand, each head of a sequence sums up a gradient of its own, and
 * these are added in the order of the sequences. The maps of q and of k may have one in common.
 */
#ifndef OPS_ATTENTION_ENGINE_LINEAR_H
#define OPS_ATTENTION_ENGINE_LINEAR_H

#include "ops/attention/engine/chunk.h"
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/tiles.h"

typedef struct {
    Node node;
    Mix in;
    const FeatureMap *map;
    int B, T, H, D, E, F, stats, window, ladder;
    const real *angles; /* of the features (T, ladder), or NULL */
    const real *before; /* of q and k, instead (T, D), or NULL */
    const void *prepared;
    real *c;     /* (B, H, T) */
    real *stat;  /* (B, H, T, stats) */
    States S, z; /* causal without a window: the sums before each chunk */
    real *dz;    /* (B, H, T, F), in the backward pass, where phi is divided by z */
    Grad dq, dk, dv;
    /* In the backward pass, by side: a learned operand and (B, H, size of a head) of it; or NULL */
    Tensor *w[2];
    real *dw[2];
} Linear;

/* Sets all up to `prepared`, which the node keeps. */
void linear_open(Linear *op, const Mix *in);

/* Whether RoPE rotates q and k instead of features. */
bool linear_rotates_before(const Attention *a, const Values *set);

/* linear_operands.c: memory for the gradients of learned operands, and how many numbers these are
 * per head; and adds them up. */
void linear_open_learned(Linear *op, Arena *mem);
double linear_learned_numbers(const MixSize *size);
void linear_close_learned(const Linear *op, Tape *tape);

/* One head of one sequence; D', E', F' are the padded widths of copies (head.h). */
typedef struct {
    const Linear *op;
    Head head;
    View view;
    int number, D, E, F; /* number of the head in the batch; D', E', F' */
} LinearHead;

LinearHead linear_head(const Linear *op, int number);

/* The numbers of the gradient of a head's learned operand, (R, D) with padding. */
size_t linear_learned_size(int R, int D);

/* Whether A is divided by c. If phi is divided by z, there is no other denominator. */
bool linear_has_quotient(const FeatureMap *map);

/* Rows of q or k, their features, and the rotated features (the same rows without RoPE). */
typedef struct {
    Rows x, f, rotated, dx; /* dx: memory for the gradient of x */
} Features;
void linear_rotate(const Linear *op, Rows f, bool back); /* features; without RoPE, nothing */
void linear_keys(const LinearHead *h, Features to);
void linear_queries(const LinearHead *h, Features to);

/*
 * Row r of z is z + r * ldz. Forward, before linear_queries(): computes the stats of q, whose rows
 * it gathers.
 */
void linear_measure(const LinearHead *h, Rows q, const real *z, int ldz);
/* Forward, after linear_queries(): computes c. */
void linear_divisors(const LinearHead *h, Rows phi, const real *z, int ldz);
/* Divides the sums of the numerator and writes o. */
void linear_finish(const LinearHead *h, Rows o);

/* Backward: gathers u = g / C, and computes dc. */
void linear_gather_g(const LinearHead *h, Rows g, real *dc);
/* From the numerator's part of dphi: computes dq and, if phi is divided by z, op->dz. */
void linear_chain_queries(const LinearHead *h, Features q, Rows dphi, const real *dc, const real *z,
                          int ldz);
/* dz of row t. */
void linear_dz(const LinearHead *h, int t, const real *phi, real dc, real *dz);
/* dx of the rows up to the last position, from df. */
Rows linear_chain(const LinearHead *h, bool key, Features at, real *df);
/* From dpsi and dv of the rows: computes dk and writes dv. */
void linear_chain_keys(const LinearHead *h, Features k, Rows dpsi, Rows dv);

/* The two ways to compute the sums, for heads begin .. end-1 (ctx is a Linear). */
void scan_forward(void *ctx, int begin, int end);
void scan_backward(void *ctx, int begin, int end);
void band_forward(void *ctx, int begin, int end);
void band_backward(void *ctx, int begin, int end);
size_t scan_scratch(const Linear *op); /* size of a thread's scratch, in numbers */
size_t band_scratch(const Linear *op);

#endif
