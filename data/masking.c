#include "data/masking.h"

#include "ops/base/random.h"

#include <math.h>
#include <stdbool.h>

int masking_targets(double share, int T)
{
    double n = floor((share > 0 ? share : MASKING_SHARE) * T + 0.5);

    return (int)fmax(1, fmin(n, T));
}

/* What replaces a chosen token; it uses the draws i and i + 1. */
static int disguise(int token, int mask, Random r, uint64_t i)
{
    double u = random_uniform(r, i);

    if (u < 0.8)
        return mask;
    return u < 0.9 ? (int)random_below(r, i + 1, (uint64_t)mask) : token;
}

static bool is_of_word(unsigned char c)
{
    return c >= 128 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool are_joined(const Tokenizer *t, int left, int right)
{
    const Bytes a = tokenizer_token(t, left), b = tokenizer_token(t, right);

    return a.n && b.n && is_of_word(a.at[a.n - 1]) && is_of_word(b.at[0]);
}

/* The tokens of the word at t, at most `most`. */
static int word_length(Batch row, int t, const Tokenizer *words, int most)
{
    int n = 1;

    while (words && n < most && t + n < row.T &&
           are_joined(words, row.id[t + n - 1], row.id[t + n]))
        n++;
    return n;
}

/*
 * Knuth's algorithm S: if `left` of the tokens from here on are still to be chosen,
 * this one is chosen with probability left / (tokens from here on). All choices of
 * that many tokens are equally likely, and no list of them is needed.
 *
 * The same for a word of n tokens, which lowers `left` by n. On average left / (tokens from here
 * on) stays what it is, so every word has the same probability as long as `left` is from 0 to that
 * number of tokens; where it is not, no or every further word is chosen.
 */
static void mask_row(Batch row, int mask, Masking how, Random r, uint64_t first)
{
    const int targets = masking_targets(how.share, row.T);
    int left = targets, n;

    for (int t = 0; t < row.T; t += n) {
        const uint64_t draw = first + 3 * (uint64_t)t;
        bool chosen = left > 0 && random_below(r, draw, (uint64_t)(row.T - t)) < (uint64_t)left;

        n = word_length(row, t, how.words, targets);
        for (int i = t; i < t + n; i++) {
            row.target[i] = chosen ? row.id[i] : -1;
            if (chosen)
                row.id[i] = disguise(row.id[i], mask, r, first + 3 * (uint64_t)i + 1);
        }
        left -= chosen ? n : 0;
    }
}

void masking_apply(Batch batch, int mask, Masking how, uint64_t seed, uint64_t number)
{
    Random r = random_stream(seed, RANDOM_MASK, number);

    for (int b = 0; b < batch.B; b++)
        mask_row(batch_row(batch, b), mask, how, r, 3 * (uint64_t)b * (uint64_t)batch.T);
}
