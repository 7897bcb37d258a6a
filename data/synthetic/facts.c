/*
 * Memorisation as in MAD (Poli et al., arXiv:2403.17844): facts, which no row tells. A key has the
 * same value in every row, trained or held back, and "?" asks for it, so the weights must hold all
 * of them. Keys are the first half of the symbols, values the rest.
 *
 *     memorization   k7  ? k3  ? k7  ? k1  ?
 *                       v2    v9    v2    v5
 *
 * A row asks for T / 2 keys, all equally likely. No two keys have the same value, so no value is
 * more likely than another: key k has value 15485863 k modulo their number, which the prime, larger
 * than any alphabet, does not divide.
 */
#include "data/synthetic.h"

enum { PRIME = 15485863 };

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T % 2)
        text_add(why, "keys and questions need an even number of positions, not %d", s.T);
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    if (token < s.symbols)
        synthetic_key_or_value(s, token, word_of_it);
    else
        text_add(word_of_it, "?");
}

static void draw(SyntheticRow *row)
{
    const int symbols = row->s.symbols, keys = symbols / 2;

    for (int t = 0; t < row->s.T; t += 2) {
        row->id[t] = row_below(row, keys);
        row->id[t + 1] = symbols;
        row->target[t + 1] = keys + (int)((int64_t)row->id[t] * PRIME % (symbols - keys));
    }
}

const Synthetic synthetic_memorization = {
    .name = "memorization",
    .summary = "recall a key's value, the same in all rows (arXiv:2403.17844)",
    .takes = SYNTHETIC_SYMBOLS,
    .symbols = 256,
    .length = 32,
    .misfit = misfit,
    .others = 1,
    .halved = true,
    .draw = draw,
    .word = word,
};
