/*
 * The scores of a mechanism whose weights are a function of them (softmax.c, gau.c):
 *
 *     S_ij = q_i . k_j / sqrt(D)
 *
 * with q and k rotated by RoPE if it is on, for all pairs, visible or not. The factor of tau_i
 * beyond 1 / sqrt(D) is left out. Sums are in double, so that S has the rank of its factors, at
 * most D, up to their rounding.
 */
#include "ops/attention/engine/head.h"

typedef struct {
    const Mix *in;
    const real *angles;
    double *S;
} Scores;

static double dot(const real *x, const real *y, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++)
        sum += (double)x[d] * (double)y[d];
    return sum;
}

/* Heads begin .. end-1, counted over all sequences. */
static void score_heads(void *ctx, int begin, int end)
{
    const Scores *s = ctx;
    const int T = s->in->q->dim[1], D = s->in->q->dim[3];
    const double by = sqrt((double)D);
    real *scratch = pool_scratch();
    const Rows q = { carve(&scratch, T, D), D, 0, T }, k = { carve(&scratch, T, D), D, 0, T };

    for (int number = begin; number < end; number++) {
        const Head head = head_of(s->in, number);
        double *S = s->S + (size_t)number * (size_t)T * (size_t)T;

        head_gather(&head, q, s->in->q->data, D);
        head_gather(&head, k, s->in->k->data, D);
        rows_rotate(q, s->angles, D, false);
        rows_rotate(k, s->angles, D, false);
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                *S++ = dot(row_of(q.at, i, D), row_of(k.at, j, D), D) / by;
    }
}

void attention_scores(Tape *tape, const Mix *in, double *S)
{
    const int *dim = in->q->dim, B = dim[0], T = dim[1], H = dim[2], D = dim[3];
    Scores s = { .in = in, .S = S };

    if (in->rope)
        s.angles = rope_angles(tape, T, D, in->rope_scale);
    pool_reserve(tape->pool, 2 * (size_t)T * (size_t)D * sizeof(real));
    pool_for(tape->pool, B * H, 1, score_heads, &s);
    tape_reset(tape);
}
