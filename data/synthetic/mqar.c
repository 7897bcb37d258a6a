/*
 * Multi-query associative recall (Arora et al., arXiv:2312.04927): K pairs of a key and a value,
 * and then each of the keys once more, with its value as the target. Of a vocabulary of V tokens,
 * 0 is a blank, the keys are from 1 .. V/2-1 and the values from V/2 .. V-1; in a row all keys
 * differ, and so do all values.
 *
 *     k7 v2 k3 v9  .  . k3  . k7  .  .  .
 *                       v9    v2
 *
 * After the pairs there are n = (T - 2K) / 2 places for a query, at every second position. Key
 * after key gets place i = 1 .. n with a probability in proportion to i^(a-1), a = 0.01, among
 * those that are still free: a draw of a taken place is repeated. So short gaps dominate.
 *
 * To draw i without a table: i^(a-1) falls as i grows, so for i > 1 it is below the integral of
 * x^(a-1) over [i-1, i]. Draw from the larger weights
 *
 *     e_1 = 1,   e_i = (i^a - (i-1)^a) / a,   which sum up to e_1 + .. + e_i = 1 + (i^a - 1) / a,
 *
 * by inverting that sum, and keep i with the probability i^(a-1) / e_i, which is at least 0.7.
 *
 * With `noise`, random tokens of the V replace the blanks, even keys.
 */
#include "data/synthetic.h"

#include <math.h>

static const double A = 0.01;

/* V is 256 or the power of two above T. */
static SyntheticShape complete(SyntheticShape s)
{
    if (!s.symbols)
        for (s.symbols = 256; s.symbols <= s.T;)
            s.symbols *= 2;
    return s;
}

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T % 2)
        text_add(why, "mqar needs an even number of positions, not %d", s.T);
    else if (s.T < 4 * s.items)
        text_add(why, "mqar needs 4 positions for each of %d pairs, at least %d, not %d", s.items,
                 4 * s.items, s.T);
    else if (s.symbols < 4 * s.items)
        text_add(why, "mqar needs a vocabulary of 4 tokens for each of %d pairs, not %d", s.items,
                 s.symbols);
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    if (token == BLANK)
        text_add(word_of_it, ".");
    else if (token < s.symbols / 2)
        text_add(word_of_it, "k%d", token);
    else
        text_add(word_of_it, "v%d", token - s.symbols / 2);
}

/* One of n tokens from `first` on that is at none of the positions t-2, t-4, ...: V >= 4K, so at
 * least about half of them are not. */
static int draw_other(SyntheticRow *row, int t, int first, int n)
{
    for (;;) {
        int token = first + row_below(row, n), before = t - 2;

        while (before >= 0 && row->id[before] != token)
            before -= 2;
        if (before < 0)
            return token;
    }
}

static int draw_place(SyntheticRow *row, int n)
{
    const double sum = 1 + (pow(n, A) - 1) / A;

    for (;;) {
        const double u = sum * row_uniform(row);
        const double i = u < 1 ? 1 : ceil(pow(1 + A * (u - 1), 1 / A));
        const double e = u < 1 ? 1 : (pow(i, A) - pow(i - 1, A)) / A;

        if (row_uniform(row) * e < pow(i, A - 1) && i <= n) /* rounding might say n + 1 */
            return (int)i;
    }
}

static void write_pairs(SyntheticRow *row)
{
    const int V = row->s.symbols;

    for (int t = 0; t < 2 * row->s.items; t += 2) {
        row->id[t] = draw_other(row, t, 1, V / 2 - 1);
        row->id[t + 1] = draw_other(row, t + 1, V / 2, V - V / 2);
    }
}

static void draw(SyntheticRow *row)
{
    const int C = 2 * row->s.items, n = (row->s.T - C) / 2;

    write_pairs(row);
    for (int pair = 0; pair < C; pair += 2) {
        int t;

        do
            t = C + 2 * (draw_place(row, n) - 1);
        while (row->id[t] != BLANK);
        row->id[t] = row->id[pair];
        row->target[t] = row->id[pair + 1];
    }
    for (int t = C; t < row->s.T && row->s.noise; t++)
        if (row->id[t] == BLANK)
            row->id[t] = row_below(row, row->s.symbols);
}

const Synthetic synthetic_mqar = {
    .name = "mqar",
    .summary = "recall the values of many keys (arXiv:2312.04927)",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS | SYNTHETIC_NOISE,
    .part = 16, /* 64 positions are the toy of the authors */
    .complete = complete,
    .misfit = misfit,
    .halved = true,
    .draw = draw,
    .word = word,
};
