/*
 * Lightning attention (Qin et al., 2024, arXiv:2401.04658), head h of H in layer l of L:
 *
 *     A_ij = e^(g n_ij) q_i.k_j        g = -8 (h + 1) / H (1 - l / L)
 *
 * for j in V(i), where n_ij is the distance of i and j, not counting padding. With the
 * slopes of ALiBi, g = -2^(-8 (h + 1) / H) (1 - l / L). A is linear in q and in k.
 */
#include "ops/attention/plain/plain.h"

#include <math.h>
#include <stdlib.h>

static double rate(const PlainHead *x)
{
    const PlainMix *m = x->mix;
    double slope = 8.0 * (x->head + 1) / m->H, l = m->layer, L = m->layers;

    if (setting_is(&m->set, "slopes", "alibi"))
        slope = pow(2, -slope);
    return L > 0 ? slope * (1 - l / L) : slope;
}

/* Weights of pairs, from their products. */
static void fade(const PlainHead *x, double *products)
{
    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->T; j++)
            products[i * x->T + j] *= exp(-rate(x) * abs((i < x->length ? i : x->length - 1) - j));
}

void plain_lightning(const PlainHead *x)
{
    int D = x->D, E = x->E;
    double *q = plain_rotated(x, x->in.q, D, D), *k = plain_rotated(x, x->in.k, D, D);
    double *A = plain_products(x, q, k, D), *ds;

    fade(x, A);
    plain_times(x, A, x->in.v, E, x->o);
    if (!x->g)
        return;

    ds = plain_products(x, x->g, x->in.v, E);
    fade(x, ds);
    plain_transposed_times(x, A, x->g, E, x->d.v);
    plain_times(x, ds, k, D, x->d.q);
    plain_transposed_times(x, ds, q, D, x->d.k);
    plain_rotate_back(x, x->d.q, D, D);
    plain_rotate_back(x, x->d.k, D, D);
}
