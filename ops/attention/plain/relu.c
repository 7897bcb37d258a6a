/*
 * Linear attention with the rectifier as its feature map:
 *
 *     phi(u) = psi(u) = max(u, 0), for each entry       phi'(u) = [u > 0]
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static void phi(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->f[c] = fmax(r->u[c], 0);
}

static void back(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->du[c] += r->u[c] > 0 ? r->df[c] : 0;
}

void plain_relu(const PlainHead *x)
{
    plain_linear(x, x->D, x->D, phi, back);
}
