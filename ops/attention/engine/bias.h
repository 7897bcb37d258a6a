/*
 * A learned bias of the scores by the distance of query and key (--rel-bias rope), as in the code
 * of FLASH for long sequences (Hua et al., 2022, arXiv:2202.10447, appendix B). With two vectors a
 * and b of D numbers per head, and R_t, the rotation of RoPE for position t,
 *
 *     s_ij = f_i (q_i . k_j / sqrt(D) + w_(j-i))         f_i = sqrt(D) tau_i
 *     w_(j-i) = (R_i a) . (R_j b)
 *
 * a function of the distance, since R_i^T R_j = R_(j-i): for t >= 0
 *
 *     w_t = a . (R_t b)      w_-t = (R_t a) . b
 *
 * So it is a table of 2 T - 1 numbers per head, added to the scores of a tile. (The code adds the
 * bias to q . k / n; a and b take up the difference. Below 512 positions it learns the table.)
 *
 * Backward: dw_t is the sum of f_i ds_ij over all pairs with j - i = t, of all sequences, and
 *
 *     da = dw_0 b + sum over t > 0 of dw_t (R_t b) + dw_-t (R_t^T b)
 *     db = dw_0 a + sum over t > 0 of dw_t (R_t^T a) + dw_-t (R_t a)
 *
 * If D is odd, the last number of a and b is not rotated.
 */
#ifndef OPS_ATTENTION_ENGINE_BIAS_H
#define OPS_ATTENTION_ENGINE_BIAS_H

#include "ops/attention/engine/head.h"

/* a and b of one head, with rope_angles() for D rounded down to an even number. */
typedef struct {
    const real *a, *b, *angles;
    int D, T;
} Bias;

/* Whether these settings have a bias; that of head h; the angles that it needs. */
bool bias_is_on(const Values *set);
Bias bias_of(const Mix *in, int h, const real *angles);
const real *bias_angles(Tape *tape, const Mix *in);

/* w_-t, from the angles of position t. `row` is memory for D numbers. */
real bias_before(const Bias *x, const real *angles, real *row);

/* w_t at w[T + t], for |t| < T; and adds to da and db (D) from dw. */
void bias_fill(const Bias *x, real *w, real *row);
void bias_back(const Bias *x, const real *dw, real *da, real *db, real *row);

#endif
