/*
 * One decay per head. x stands for b or k in delta_scan.c, A for M or M_k, and L, `before` and
 * `after` are those of chunk.h:
 *
 *     A  = (a x^T) * L for s < t         P  = (q x^T) * L for s <= t
 *     q' = diag(before) q                a' = diag(before) a               x' = diag(after) x
 *
 * All are linear in a_t, q_t and x_s, so the gradients of the rows are, with those of q', a' and
 * x',
 *
 *     dq = (dP * L) x + diag(before) dq'
 *     da = (dA * L) x + diag(before) da'
 *     dx = (dP * L)^T q + (dA * L)^T a + diag(after) dx'
 *
 * With c_t the sum of g_s over s <= t in the chunk and C its last position, c_t occurs in all terms
 * of q_t and a_t as a factor e^(c_t), and in all terms of x_t as a factor e^(-c_t); c_C is also in
 * the factor e^(c_C) of all terms of S_C, whose gradient is R:
 *
 *     dc_t = q_t . dq_t + a_t . da_t - x_t . dx_t + [t = C] sum of S_C * R
 *     dg_t = sum of dc_s over s >= t
 *
 * Here dq and dx are without the pair q_t . x_t of the same position, which would cancel: so the
 * sum contains only decayed terms, and where decays are strong it is as small as it should be.
 */
#include "ops/attention/engine/delta_chunk.h"
#include "ops/attention/engine/lower.h"
#include "ops/kernel/elementary.h"

static size_t room(int D)
{
    (void)D;
    return DECAYS_ROOM;
}

static void load(Chunk *x)
{
    if (x->op->g)
        decays_load(&x->decays, &x->head, x->op->g, x->t0, x->n);
}

/* A *= L, up to the diagonal */
static void weigh(const Chunk *x, real *A)
{
    for (int t = 0; x->op->g && t < x->q.n; t++)
        for (int s = 0; s <= t; s++)
            A[t * TILE + s] *= x->decays.L[t * TILE + s];
}

static void pairs(Chunk *x)
{
    for (int i = 0; i < x->sides; i++) {
        const Side *s = &x->side[i];

        rows_transpose(s->x, x->xt, TILE, x->op->s.D);
        lower_scores(s->A, x->a, x->op->s.D, x->xt);
        lower_scores(s->P, x->q, x->op->s.D, x->xt);
        weigh(x, s->A);
        weigh(x, s->P);
        lower_clear(s->A, x->q.n, true);
        lower_clear(s->P, x->q.n, false);
    }
}

static void decay_rows(const Chunk *x, Rows to, Rows of, const real *by)
{
    for (int t = 0; t < of.n; t++) {
        const real f = x->op->g ? by[t] : 1, *from = row_of(of.at, t, of.ld);
        real *row = row_of(to.at, t, of.ld);

        for (int d = 0; d < of.ld; d++)
            row[d] = f * from[d];
    }
}

static void read(const Chunk *x, Rows of, bool own)
{
    (void)own;
    decay_rows(x, x->read, of, x->decays.before);
}

static void leave(const Chunk *x, Rows of)
{
    decay_rows(x, x->left, of, x->decays.after);
}

static void fade(const Chunk *x, real *S)
{
    for (int i = 0; x->op->g && i < x->op->s.D * x->E; i++)
        S[i] *= x->decays.all;
}

static void back(Chunk *x)
{
    decay_rows(x, x->dq, x->dq, x->decays.before);
    decay_rows(x, x->da, x->da, x->decays.before);
    for (int i = 0; i < x->sides; i++) {
        Side *s = &x->side[i];

        weigh(x, s->dA);
        weigh(x, s->dP);
        decay_rows(x, s->dx, s->dx, x->decays.after);
        lower_multiply_clear(x->dq, s->dP, s->x);
        lower_multiply_clear(x->da, s->dA, s->x);
        lower_multiply_over(s->dx, s->dP, x->q);
        lower_multiply_over(s->dx, s->dA, x->a);
    }
}

static void gradient(Chunk *x, const real *S)
{
    const int n = x->q.n;
    real sum = 0, crossing[TILE] = { 0 }, right[TILE] = { 0 };

    if (!x->op->g)
        return;
    for (int d = 0; S && d < x->op->s.D; d++)
        sum += row_dot(S + d * x->E, x->R + d * x->E, x->E);
    rows_dot(crossing, x->q, x->dq, n);
    rows_dot(crossing, x->a, x->da, n);
    for (int i = 0; i < x->sides; i++)
        rows_dot(right, x->side[i].x, x->side[i].dx, n);
    for (int t = n - 1; t >= 0; t--) {
        sum += crossing[t] - right[t];
        x->dg.at[t] = t < x->n ? sum : 0;
    }
}

const Fading fading_of_head = { .room = room,
                                .load = load,
                                .pairs = pairs,
                                .read = read,
                                .leave = leave,
                                .fade = fade,
                                .back = back,
                                .gradient = gradient };
