/*
 * The strided Sparse Transformer (Child et al., 2019, arXiv:1904.10509): the weights of softmax
 * (plain/softmax.c), where row i sees key j if |i - j| <= w (reach), or if w divides i - j.
 */
#include "ops/attention/plain/plain.h"

#include <stdlib.h>

bool plain_sees_sparse(const PlainHead *x, int i, int j)
{
    int w = setting_or_zero(&x->mix->set, "reach");

    return abs(i - j) <= w || (i - j) % w == 0;
}

void plain_sparse(const PlainHead *x)
{
    plain_softmax(x);
}
