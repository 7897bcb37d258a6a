/*
 * Longformer (Beltagy et al., 2020, arXiv:2004.05150): the weights of softmax (plain/softmax.c),
 * where row i sees key j if |i - j| <= w (reach), or if i or j is one of the first positions
 * (global).
 */
#include "ops/attention/plain/plain.h"

#include <stdlib.h>

bool plain_sees_longformer(const PlainHead *x, int i, int j)
{
    int w = setting_or_zero(&x->mix->set, "reach"), g = setting(&x->mix->set, "global");

    return abs(i - j) <= w || i < g || j < g;
}

void plain_longformer(const PlainHead *x)
{
    plain_softmax(x);
}
