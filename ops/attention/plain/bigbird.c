/*
 * Big Bird (Zaheer et al., 2020, arXiv:2007.14062): the weights of softmax (plain/softmax.c), where
 * row i sees the keys of Longformer's pattern, and r random blocks of keys. The rows of a block
 * share these: r different ones of the n blocks before it if causal, otherwise of the n others that
 * hold a key which is not padding. They are drawn by Floyd's algorithm: for t = 0 .. r - 1 a number
 * from 0 to n - r + t, or n - r + t itself if the number has been drawn before. The numbers count
 * the n blocks in order.
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
    int blocks = (int)ceil((double)x->length / block);
    int n = x->mix->causal ? rows : rows < blocks ? blocks - 1 : blocks;
    int want = (int)fmin(setting(&x->mix->set, "random"), n);
    Random random = random_stream((uint64_t)setting(&x->mix->set, "pattern-seed"), RANDOM_PATTERN,
                                  (uint64_t)rows);

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
