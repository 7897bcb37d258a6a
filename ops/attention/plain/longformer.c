/*
 * Longformer (Beltagy et al., 2020, arXiv:2004.05150): softmax's weights, plain/softmax.c, where
 * row i sees key j if it is at most w positions away (reach), or one of the two is among the first
 * g positions (global).
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
