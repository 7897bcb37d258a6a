/*
 * Stochastic gradient descent with momentum mu (Polyak, 1964). For each weight w with
 * gradient g:
 *
 *     v <- mu v + g                w <- w - rate (v + decay w)
 *
 * Steps in one direction add up to 1 / (1 - mu) of them, and what points back and forth
 * cancels. Nesterov's momentum (Sutskever et al., 2013) takes one more step of v:
 *
 *     v <- mu v + g                w <- w - rate (g + mu v + decay w)
 *
 * The size of an update is that of the gradient: the learning rate depends on the model
 * and on the loss, and a sum over many tokens needs another one than their mean.
 */
#include "training/optimiser.h"

static void move(void *update, int begin, int end)
{
    const Update *u = update;
    const real *g = u->t->grad;
    real *w = u->t->data, *v = u->moment[0];
    const real mu = R(u->hyper->momentum);
    const real rate = R(u->rate), scale = R(u->scale);

    for (int i = begin; i < end; i++) {
        const real gi = g[i] * scale, vi = mu * v[i] + gi;
        const real d = u->hyper->nesterov ? gi + mu * vi : vi;

        v[i] = vi;
        w[i] -= rate * (d + update_decay(u, d, w[i]) * w[i]);
    }
}

const OptimiserKind optimiser_sgd = {
    .name = "sgd",
    .summary = "stochastic gradient descent with momentum",
    .moment = { "momentum" },
    .nesterov = true,
    .rate = 0.1,
    .warmup = 10,
    .defaults = { .momentum = 0.9, .decay = 1e-3 },
    .elements = move,
};
