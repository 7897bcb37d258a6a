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
#include "data/synthetic.h"

enum { END = 2 };
static const char *const words[] = { "=" };

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 2)
        text_add(why, "a bit and the prompt need 2 positions, not %d", s.T);
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
    .others = END + 1,
    .answers = 2,
    .draw = draw_parity,
    .digits = 2,
    .words = words,
};

const Synthetic synthetic_cumulative_parity = {
    .name = "cumulative-parity",
    .summary = "is the number of ones so far odd?",
    .others = 2,
    .answers = 2,
    .draw = draw_cumulative,
    .digits = 2,
    .words = words,
};

const Synthetic synthetic_majority_of_bits = {
    .name = "majority",
    .summary = "are more than half of the bits ones?",
    .misfit = misfit,
    .others = END + 1,
    .answers = 2,
    .draw = draw_majority,
    .digits = 2,
    .words = words,
};
