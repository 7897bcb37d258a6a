/*
 * Hedgehog (Zhang et al., 2024, arXiv:2402.04347): linear attention with a learned feature map of
 * 2D features, where W is map_q for q and map_k for k:
 *
 *     z = W u        f = [softmax(z) ; softmax(-z)]
 *
 * The derivative of a softmax f_a with respect to z_b is f_a ([a = b] - f_b), so
 *
 *     dz_b = f_b (df_b - sum over a of f_a df_a), minus the same of the second half
 *     du = W^T dz        dW = dz u^T
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static const char *name(const PlainFeatures *r)
{
    return r->of_key ? "map_k" : "map_q";
}

static void softmax(const PlainFeatures *r, double sign, double *f)
{
    const double *W = plain_operand(r->x, name(r));
    int D = r->x->D;
    double most = -HUGE_VAL, sum = 0;

    for (int b = 0; b < D; b++) {
        f[b] = sign * plain_dot(W + b * D, r->u, D);
        most = fmax(most, f[b]);
    }
    for (int b = 0; b < D; b++)
        sum += f[b] = exp(f[b] - most);
    for (int b = 0; b < D; b++)
        f[b] /= sum;
}

static void softmax_back(const PlainFeatures *r, double sign, const double *f, const double *df)
{
    const double *W = plain_operand(r->x, name(r));
    double *dW = plain_gradient(r->x, name(r)), along = plain_dot(f, df, r->x->D);
    int D = r->x->D;

    for (int b = 0; b < D; b++) {
        double dz = sign * f[b] * (df[b] - along);

        plain_add(r->du, dz, W + b * D, D);
        plain_add(dW + b * D, dz, r->u, D);
    }
}

static void phi(const PlainFeatures *r)
{
    softmax(r, 1, r->f);
    softmax(r, -1, r->f + r->x->D);
}

static void back(const PlainFeatures *r)
{
    softmax_back(r, 1, r->f, r->df);
    softmax_back(r, -1, r->f + r->x->D, r->df + r->x->D);
}

void plain_hedgehog(const PlainHead *x)
{
    plain_linear(x, 2 * x->D, 2 * x->D, phi, back);
}
