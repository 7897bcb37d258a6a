/*
 * Big Bird (Zaheer et al., 2020, arXiv:2007.14062): softmax's weights, plain/softmax.c, where row i
 * sees the keys that it sees in Longformer, and `random` blocks of keys. The rows of a block share
 * them. They are different ones of the n blocks before it if causal, or of the n others. With as
 * many numbers as blocks are wanted, the last is drawn below n, the one before below n - 1, and so
 * on; a number that is there already is replaced by the largest that could have been drawn. The
 * block itself is not counted.
 */
#include "ops/attention/plain/plain.h"

#include <math.h>

static bool has(const int *list, int n, int number)
{
    return n > 0 && (list[n - 1] == number || has(list, n - 1, number));
}

static bool is_drawn(const PlainHead *x, int rows, int keys)
{
    int block = setting_or_zero(&x->mix->set, "block"), list[64];
    int n = x->mix->causal ? rows : (int)ceil((double)x->T / block) - 1;
    int want = (int)fmin(setting(&x->mix->set, "random"), n);
    Random random = random_stream(1, RANDOM_PATTERN, (uint64_t)rows);

    for (int t = 0; t < want; t++) {
        int below = n - want + 1 + t,
            number = (int)random_below(random, (uint64_t)t, (uint64_t)below);

        list[t] = has(list, t, number) ? below - 1 : number;
    }
    return keys != rows && has(list, want, keys < rows ? keys : keys - 1);
}

bool plain_sees_bigbird(const PlainHead *x, int i, int j)
{
    int block = setting_or_zero(&x->mix->set, "block");

    return plain_sees_longformer(x, i, j) || is_drawn(x, i / block, j / block);
}

void plain_bigbird(const PlainHead *x)
{
    plain_softmax(x);
}
