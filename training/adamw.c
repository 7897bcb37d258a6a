/*
 * AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101). For each weight w with
 * gradient g, in step t:
 *
 *     m <- beta1 m + (1 - beta1) g            v <- beta2 v + (1 - beta2) g^2
 *     w <- w - rate (mhat / (sqrt(vhat) + epsilon) + decay w)
 *
 * m and v start at 0 and are averages with weights that sum to 1 - beta1^t and
 * 1 - beta2^t; divided by these sums,
 *
 *     mhat = m / (1 - beta1^t)                vhat = v / (1 - beta2^t)
 *
 * are averages of g and g^2 from the first step on.
 */
#include "training/optimiser.h"

static const real epsilon = R(1e-8);

static void move(void *update, int begin, int end)
{
    const Update *u = update;
    const Hyper *h = u->hyper;
    const real *g = u->t->grad;
    real *w = u->t->data, *m = u->moment[0], *v = u->moment[1];
    const real beta1 = R(h->beta1), rest1 = R(1 - h->beta1);
    const real beta2 = R(h->beta2), rest2 = R(1 - h->beta2);
    const real by_m = R(1 / (1 - pow(h->beta1, u->step)));
    const real by_v = R(1 / (1 - pow(h->beta2, u->step)));
    const real rate = R(u->rate), scale = R(u->scale);

    for (int i = begin; i < end; i++) {
        const real gi = g[i] * scale;
        const real mi = beta1 * m[i] + rest1 * gi, vi = beta2 * v[i] + rest2 * (gi * gi);

        m[i] = mi, v[i] = vi;
        const real step = mi * by_m / (sqrt(vi * by_v) + epsilon);
        w[i] -= rate * (step + update_decay(u, step, w[i]) * w[i]);
    }
}

const OptimiserKind optimiser_adamw = {
    .name = "adamw",
    .summary = "AdamW (arXiv:1711.05101)",
    .moment = { "m", "v" },
    .square = "v",
    .rate = 2e-3,
    .warmup = 10,
    .defaults = { .beta1 = 0.9, .beta2 = 0.99, .decay = 0.1 },
    .elements = move,
};
