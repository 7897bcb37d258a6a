/*
 * A decay for the whole head: L of chunk.h multiplies the pairs of a chunk, `before` what reads the
 * state that it finds, and `after` what it leaves behind. All is linear in a_t, q_t and x_s, and so
 * is the way back:
 *
 *     dq = (dP * L) x + diag(before) ..       dx = (dP * L)^T q + (dA * L)^T a + diag(after) ..
 *
 * where .. is the gradient of the decayed rows. With c_t the sum of g_s over s <= t in the chunk
 * and C its last position, e^(c_t) multiplies whatever is linear in q_t and a_t, and divides what
 * is linear in x_t; e^(c_C) multiplies all that is left in S_C, whose gradient is R:
 *
 *     dc_t = q_t . dq_t + a_t . da_t - x_t . dx_t + [t = C] (S_C . R)
 *     dg_t = sum of dc_s over s >= t
 *
 * Here dq and dx are without what they get from q_t . x_t of the same position, which would cancel:
 * so no number is in the sum that has not been decayed, and where decays are strong it is as small
 * as it should be.
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
