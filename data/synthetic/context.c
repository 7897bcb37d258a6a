/*
 * Recall as in MAD (Poli et al., arXiv:2403.17844): a row of pairs of a key and its value. A key
 * that occurred before asks for its value; the last one always did. Keys are the first half of the
 * symbols, values the rest; each row maps keys to values at random.
 *
 *     in-context-recall   k1 v4 k0 v4 k1 v4 k0 v4
 *                                     v4    v4
 *     noisy-recall        k1 v4 n7 n2 k1 v4
 *                                     v4
 *
 * A fifth of the pairs, but never all, are noise: two of 16 tokens of their own. The authors train
 * on all tokens of a row and count the answers alone; here only answers are targets.
 */
#include "data/synthetic.h"

enum { NOISE = 16, NOISE_PERCENT = 20 };

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T % 2 || s.T < 4)
        text_add(why, "two or more pairs need an even number of positions from 4 on, not %d", s.T);
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    if (token < s.symbols)
        synthetic_key_or_value(s, token, word_of_it);
    else
        text_add(word_of_it, "n%d", token - s.symbols);
}

/* Draw `key` of the row is its value: the map needs no memory. */
static int value_of(const SyntheticRow *row, int key)
{
    const int keys = row->s.symbols / 2, values = row->s.symbols - keys;

    return keys + (int)random_below(row->random, (uint64_t)key, (uint64_t)values);
}

/* The pair at t; its value is the target if the key has occurred. */
static void write_pair(SyntheticRow *row, int t, int key)
{
    int before = 0;

    row->id[t] = key, row->id[t + 1] = value_of(row, key);
    while (row->id[before] != key)
        before += 2;
    if (before < t)
        row->target[t] = row->id[t + 1];
}

static void write_noise(SyntheticRow *row, int t)
{
    for (int i = t; i < t + 2; i++)
        row->id[i] = row->s.symbols + row_below(row, NOISE);
}

/* A key that has occurred, all equally likely: drawn until it is a first one. */
static int key_before(SyntheticRow *row, int end)
{
    for (;;) {
        const int t = 2 * row_below(row, end / 2);

        if (row->id[t] < row->s.symbols / 2 && row->target[t] < 0)
            return row->id[t];
    }
}

static void draw_pairs(SyntheticRow *row, int percent)
{
    const int keys = row->s.symbols / 2, last = row->s.T - 2;

    row->drawn = (uint64_t)keys;
    const int certain = 2 * row_below(row, last / 2); /* is no noise */
    for (int t = 0; t < last; t += 2)
        if (t != certain && row_below(row, 100) < percent)
            write_noise(row, t);
        else
            write_pair(row, t, row_below(row, keys));
    write_pair(row, last, key_before(row, last));
}

static void draw_plain(SyntheticRow *row)
{
    draw_pairs(row, 0);
}

static void draw_noisy(SyntheticRow *row)
{
    draw_pairs(row, NOISE_PERCENT);
}

const Synthetic synthetic_context_recall = {
    .name = "in-context-recall",
    .summary = "recall the value of each key that recurs (arXiv:2403.17844)",
    .takes = SYNTHETIC_SYMBOLS,
    .symbols = 16,
    .length = 128,
    .misfit = misfit,
    .halved = true,
    .draw = draw_plain,
    .word = word,
};

const Synthetic synthetic_noisy_recall = {
    .name = "noisy-recall",
    .summary = "recall with noise in between",
    .takes = SYNTHETIC_SYMBOLS,
    .symbols = 16,
    .length = 128,
    .misfit = misfit,
    .others = NOISE,
    .halved = true,
    .draw = draw_noisy,
    .word = word,
};
