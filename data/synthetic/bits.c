/*
 * Questions about n random bits.
 *
 *     parity              1 0 1 1 =        is the number of ones odd?
 *                                 1
 *     majority            1 0 1 1 =        are more than half of them ones?
 *                                 1
 *     cumulative-parity   1 0 1 1          the parity so far, at every position
 *                         1 1 0 1
 *
 * A mean over positions gives the majority; parity changes with every single bit. Exactly half of
 * the bits is not a majority; with an even T, thus an odd number of bits, it does not occur.
 */
#include "data/synthetic/row.h"

enum { END = 2 };

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 2)
        text_add(why, "a bit and the prompt take 2 positions, not %d", s.T);
}

static int vocab(SyntheticShape s)
{
    (void)s;
    return END + 1;
}

static int vocab_bits(SyntheticShape s)
{
    (void)s;
    return END;
}

static double chance(SyntheticShape s)
{
    (void)s;
    return 0.5;
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    (void)s;
    text_add(word_of_it, token == END ? "=" : "%d", token);
}

/* Draws n bits; returns the number of ones. */
static int write_bits(SyntheticRow *row, int n)
{
    int ones = 0;

    for (int t = 0; t < n; t++)
        ones += row->id[t] = row_below(row, 2);
    return ones;
}

static void draw_parity(SyntheticRow *row)
{
    int n = row->s.T - 1;

    row->target[n] = write_bits(row, n) % 2;
    row->id[n] = END;
}

static void draw_majority(SyntheticRow *row)
{
    int n = row->s.T - 1;

    row->target[n] = write_bits(row, n) > n / 2;
    row->id[n] = END;
}

static void draw_cumulative(SyntheticRow *row)
{
    int parity = 0;

    write_bits(row, row->s.T);
    for (int t = 0; t < row->s.T; t++)
        row->target[t] = parity ^= row->id[t];
}

const Synthetic synthetic_parity = {
    .name = "parity",
    .summary = "is the number of ones odd?",
    .misfit = misfit,
    .vocab = vocab,
    .chance = chance,
    .draw = draw_parity,
    .word = word,
};

const Synthetic synthetic_cumulative_parity = {
    .name = "cumulative-parity",
    .summary = "is the number of ones so far odd?",
    .vocab = vocab_bits,
    .chance = chance,
    .draw = draw_cumulative,
    .word = word,
};

const Synthetic synthetic_majority_of_bits = {
    .name = "majority",
    .summary = "are more than half of the bits ones?",
    .misfit = misfit,
    .vocab = vocab,
    .chance = chance,
    .draw = draw_majority,
    .word = word,
};
