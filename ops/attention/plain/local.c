/*
 * Local attention of the Long Range Arena (Tay et al., 2020, arXiv:2011.04006): the weights of
 * softmax (plain/softmax.c), where row i sees the keys of its own block.
 */
#include "ops/attention/plain/plain.h"

bool plain_sees_local(const PlainHead *x, int i, int j)
{
    int block = setting_or_zero(&x->mix->set, "block");

    return i / block == j / block;
}

void plain_local(const PlainHead *x)
{
    plain_softmax(x);
}
