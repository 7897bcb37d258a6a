#include "data/masking.h"

#include "ops/base/random.h"

#include <stdbool.h>

int masking_targets(int T)
{
    int n = (int)((15 * (int64_t)T + 50) / 100);

    return n > 0 ? n : 1;
}

/* What replaces a chosen token; it uses the draws i and i + 1. */
static int disguise(int token, int mask, Random r, uint64_t i)
{
    double u = random_uniform(r, i);

    if (u < 0.8)
        return mask;
    return u < 0.9 ? (int)random_below(r, i + 1, (uint64_t)mask) : token;
}

/*
 * Knuth's algorithm S: if `left` of the tokens from here on are still to be chosen,
 * this one is chosen with probability left / (tokens from here on). All choices of
 * that many tokens are equally likely, and no list of them is needed.
 */
static void mask_row(Batch row, int mask, Random r, uint64_t first)
{
    int left = masking_targets(row.T);

    for (int t = 0; t < row.T; t++) {
        uint64_t i = first + 3 * (uint64_t)t;
        bool chosen = random_below(r, i, (uint64_t)(row.T - t)) < (uint64_t)left;

        row.target[t] = chosen ? row.id[t] : -1;
        if (chosen) {
            row.id[t] = disguise(row.id[t], mask, r, i + 1);
            left--;
        }
    }
}

void masking_apply(Batch batch, int mask, uint64_t seed, uint64_t number)
{
    Random r = random_stream(seed, RANDOM_MASK, number);

    for (int b = 0; b < batch.B; b++)
        mask_row(batch_row(batch, b), mask, r, 3 * (uint64_t)b * (uint64_t)batch.T);
}
