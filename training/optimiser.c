/*
 * AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101). For each number w with
 * gradient g, in step t:
 *
 *     m <- beta1 m + (1 - beta1) g            v <- beta2 v + (1 - beta2) g^2
 *     w <- w - rate (mhat / (sqrt(vhat) + epsilon) + decay w)
 *
 * with mhat = m / (1 - beta1^t) and vhat = v / (1 - beta2^t). Gains and biases
 * do not decay. Gradients are clipped by their common norm: all are scaled by
 * the same factor, which the one pass over memory takes along.
 */
#include "training/optimiser.h"

#include <string.h>

enum { GRAIN = 1 << 13 };

double schedule_rate(const Schedule *s, int step)
{
    if (step < s->warmup)
        return s->rate * step / s->warmup;
    if (step >= s->decay)
        return s->least;
    double done = (double)(step - s->warmup) / (s->decay - s->warmup);

    return s->least + (s->rate - s->least) * (1 + cos(3.14159265358979323846 * done)) / 2;
}

void optimiser_init(Optimiser *a, Params *params, Arena *mem)
{
    size_t bytes = params_count(params) * sizeof(real);

    a->params = params;
    a->step = 0;
    a->m = arena_zeros(mem, bytes);
    a->v = arena_zeros(mem, bytes);
}

int optimiser_moments(const Optimiser *o, const Param *p, Moment out[2])
{
    size_t at = 0;

    if (p->fixed)
        return 0;
    for (const Param *q = o->params->first; q != p; q = q->next)
        at += q->fixed ? 0 : q->tensor->n;
    out[0] = (Moment){ "m", o->m + at, p->tensor->n };
    out[1] = (Moment){ "v", o->v + at, p->tensor->n };
    return 2;
}

typedef struct {
    const real *g;
    int n;
    double *sum; /* of each GRAIN numbers */
} Squares;

static void square_pieces(void *ctx, int begin, int end)
{
    const Squares *s = ctx;

    for (int piece = begin; piece < end; piece++) {
        int last = (piece + 1) * GRAIN < s->n ? (piece + 1) * GRAIN : s->n;
        double t[8] = { 0 };

        for (int i = piece * GRAIN; i < last; i++)
            t[i % 8] += (double)s->g[i] * (double)s->g[i];
        s->sum[piece] = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
    }
}

double gradient_norm(Pool *pool, Arena *mem, const Params *params)
{
    double sum = 0;

    for (const Param *p = params->first; p; p = p->next) {
        int n = (int)p->tensor->n, pieces = (n + GRAIN - 1) / GRAIN;
        size_t bytes = (size_t)pieces * sizeof(double);

        if (p->fixed || !p->tensor->has_grad)
            continue;
        Squares s = { p->tensor->grad, n, arena_take(mem, bytes) };
        pool_for(pool, pieces, 1, square_pieces, &s);
        for (int i = 0; i < pieces; i++)
            sum += s.sum[i];
        arena_give(mem, s.sum, bytes);
    }
    return sqrt(sum);
}

typedef struct {
    real *w, *m, *v;
    const real *g;
    real beta1, beta2, rest1, rest2; /* rest: 1 - beta */
    real scale, rate, decay, by_m, by_v, epsilon;
} Update;

static void update_range(void *ctx, int begin, int end)
{
    const Update u = *(const Update *)ctx;

    for (int i = begin; i < end; i++) {
        real g = u.g[i] * u.scale;
        real m = u.beta1 * u.m[i] + u.rest1 * g;
        real v = u.beta2 * u.v[i] + u.rest2 * (g * g);

        u.m[i] = m, u.v[i] = v;
        u.w[i] -= u.rate * (m * u.by_m / (sqrt(v * u.by_v) + u.epsilon) + u.decay * u.w[i]);
    }
}

void optimiser_step(Optimiser *a, Pool *pool, double rate, double scale)
{
    size_t at = 0;

    a->step++;
    for (Param *p = a->params->first; p; at += p->fixed ? 0 : p->tensor->n, p = p->next) {
        if (p->fixed || !p->tensor->has_grad)
            continue;
        Update u = {
            .w = p->tensor->data,
            .g = p->tensor->grad,
            .m = a->m + at,
            .v = a->v + at,
            .beta1 = R(a->beta1),
            .beta2 = R(a->beta2),
            .rest1 = R(1 - a->beta1),
            .rest2 = R(1 - a->beta2),
            .scale = R(scale),
            .rate = R(rate),
            .decay = p->decay ? R(a->decay) : 0,
            .epsilon = R(a->epsilon),
            .by_m = R(1 / (1 - pow(a->beta1, a->step))),
            .by_v = R(1 / (1 - pow(a->beta2, a->step))),
        };
        pool_for(pool, (int)p->tensor->n, GRAIN, update_range, &u);
        p->tensor->has_grad = false;
    }
}
