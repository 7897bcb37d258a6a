/*
 * The linear transformer (Katharopoulos et al., 2020, arXiv:2006.16236): linear attention with
 *
 *     phi(u) = psi(u) = 1 + elu(u) = u + 1 for u >= 0, e^u below       phi'(u) = 1, or e^u below
 *
 * for each entry.
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static void phi(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->f[c] = r->u[c] >= 0 ? r->u[c] + 1 : exp(r->u[c]);
}

static void back(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->D; c++)
        r->du[c] += r->u[c] >= 0 ? r->df[c] : exp(r->u[c]) * r->df[c];
}

void plain_elu(const PlainHead *x)
{
    plain_linear(x, x->D, x->D, phi, back);
}
