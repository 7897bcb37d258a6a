/*
 * Linear attention with the leaky rectifier, an ablation: weights may be negative.
 *
 *     phi(u) = psi(u) = u for u >= 0, u / 100 below       phi'(u) = 1, or 1 / 100 below
 *
 * for each entry.
 */
#include "ops/attention/plain/linear.h"

static void phi(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->f[c] = r->u[c] >= 0 ? r->u[c] : r->u[c] * 0.01;
}

static void back(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->du[c] += r->u[c] >= 0 ? r->df[c] : r->df[c] * 0.01;
}

void plain_leaky(const PlainHead *x)
{
    plain_linear(x, x->D, x->D, phi, back);
}
