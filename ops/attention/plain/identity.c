/*
 * Linear attention without a feature map, an ablation: weights may be negative.
 *
 *     phi(u) = psi(u) = u       phi'(u) = 1
 */
#include "ops/attention/plain/linear.h"

static void phi(const PlainFeatures *r)
{
    plain_add(r->f, 1, r->u, r->x->D);
}

static void back(const PlainFeatures *r)
{
    plain_add(r->du, 1, r->df, r->x->D);
}

void plain_identity(const PlainHead *x)
{
    plain_linear(x, x->D, x->D, phi, back);
}
