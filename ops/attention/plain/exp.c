/*
 * Linear attention with the exponential as its feature map:
 *
 *     phi(u) = psi(u) = e^u, for each entry       phi'(u) = e^u = phi(u)
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static void phi(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->f[c] = exp(r->u[c]);
}

static void back(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->du[c] += r->f[c] * r->df[c];
}

void plain_exp(const PlainHead *x)
{
    plain_linear(x, x->D, x->D, phi, back);
}
