/*
 * Lion (Chen et al., 2023, arXiv:2302.06675). For each weight w with gradient g:
 *
 *     w <- w - rate (sign(beta1 m + (1 - beta1) g) + decay w)
 *     m <- beta2 m + (1 - beta2) g
 *
 * with sign(0) = 0. All weights move by the same amount, so an update is larger than
 * AdamW's: the paper takes a third to a tenth of its rate, and as many times its decay,
 * since what a weight decays by is rate times decay. With beta1 < beta2 the direction
 * heeds the last gradient more than m, the only moment, remembers it.
 */
#include "training/optimiser.h"

static void move(void *update, int begin, int end)
{
    const Update *u = update;
    const Hyper *h = u->hyper;
    const real *g = u->t->grad;
    real *w = u->t->data, *m = u->moment[0];
    const real beta1 = R(h->beta1), rest1 = R(1 - h->beta1);
    const real beta2 = R(h->beta2), rest2 = R(1 - h->beta2);
    const real rate = R(u->rate), scale = R(u->scale);

    for (int i = begin; i < end; i++) {
        const real gi = g[i] * scale, c = beta1 * m[i] + rest1 * gi;
        const real sign = R((c > 0) - (c < 0));

        m[i] = beta2 * m[i] + rest2 * gi;
        w[i] -= rate * (sign + update_decay(u, sign, w[i]) * w[i]);
    }
}

const OptimiserKind optimiser_lion = {
    .name = "lion",
    .summary = "Lion: updates are the sign of a momentum (arXiv:2302.06675)",
    .moment = { "m" },
    .rate = 7e-4,
    .warmup = 10,
    .defaults = { .beta1 = 0.9, .beta2 = 0.99, .decay = 0.3 },
    .elements = move,
};
