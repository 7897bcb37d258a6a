#include "ops/attention/plain/fading.h"

#include <math.h>
#include <stdlib.h>

/* Weights of pairs, from their products. */
static void fade(const PlainHead *x, double rate, double *products)
{
    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->T; j++)
            products[i * x->T + j] *= exp(-rate * abs((i < x->length ? i : x->length - 1) - j));
}

void plain_fading(const PlainHead *x, double rate)
{
    int D = x->D, E = x->E;
    double *q = plain_rotated(x, x->in.q, D, D), *k = plain_rotated(x, x->in.k, D, D);
    double *A = plain_products(x, q, k, D), *ds;

    fade(x, rate, A);
    plain_times(x, A, x->in.v, E, x->o);
    if (!x->g)
        return;

    ds = plain_products(x, x->g, x->in.v, E);
    fade(x, rate, ds);
    plain_transposed_times(x, A, x->g, E, x->d.v);
    plain_times(x, ds, k, D, x->d.q);
    plain_transposed_times(x, ds, q, D, x->d.k);
    plain_rotate_back(x, x->d.q, D, D);
    plain_rotate_back(x, x->d.k, D, D);
}
