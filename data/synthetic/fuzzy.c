/*
 * Fuzzy recall as in MAD (Poli et al., arXiv:2403.17844): recall of values in context, but a key
 * and its value are one to three tokens each. A key that occurred before asks for its value, token
 * by token, where the key ends; the last key of a row always did. Keys consist of the first half of
 * the symbols, values of the rest.
 *
 *     fuzzy-recall   k1 k4 v2 v0 k3 v1 k1 k4 v2 v0  .
 *                                         v2 v0
 *
 * Each row has `items` pairs, drawn at random, and draws from them, all equally likely, until no
 * pair may fit any more; the rest is blank. Of two pairs with the same key the first one counts.
 */
#include "data/synthetic.h"

#include <string.h>

enum { MOST = 3, PAIRS_MOST = 64, DRAWS = 2 * (MOST + 1) };

typedef struct {
    int key[MOST], value[MOST], keys, values;
} Pair;

static SyntheticShape complete(SyntheticShape s)
{
    if (!s.items)
        s.items = s.T < 32 ? 1 : s.T / 16 < PAIRS_MOST ? s.T / 16 : PAIRS_MOST;
    return s;
}

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 4 * MOST)
        text_add(why, "two pairs of up to 6 tokens need at least 12 positions, not %d", s.T);
    else if (s.items > PAIRS_MOST)
        text_add(why, "a row has at most %d pairs, not %d", PAIRS_MOST, s.items);
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    if (token < s.symbols)
        synthetic_key_or_value(s, token, word_of_it);
    else
        text_add(word_of_it, ".");
}

/* One to three tokens from `first` on; draw `at` of the row is their number. */
static int draw_tokens(const SyntheticRow *row, int at, int first, int tokens, int *to)
{
    const int n = 1 + (int)random_below(row->random, (uint64_t)at, MOST);

    for (int i = 0; i < n; i++)
        to[i] = first + (int)random_below(row->random, (uint64_t)(at + 1 + i), (uint64_t)tokens);
    return n;
}

static Pair pair_of(const SyntheticRow *row, int j)
{
    const int keys = row->s.symbols / 2, at = j * DRAWS;
    Pair p = { .keys = draw_tokens(row, at, 0, keys, p.key) };

    p.values = draw_tokens(row, at + MOST + 1, keys, row->s.symbols - keys, p.value);
    return p;
}

static bool same_key(const Pair *a, const Pair *b)
{
    return a->keys == b->keys && memcmp(a->key, b->key, (size_t)a->keys * sizeof *a->key) == 0;
}

/* A pair at t, with targets if it asks; returns where it ends. */
static int write_pair(SyntheticRow *row, int t, const Pair *p, bool asks)
{
    int *id = row->id + t, *target = row->target + t;

    for (int i = 0; i < p->keys; i++)
        id[i] = p->key[i];
    for (int i = 0; i < p->values; i++) {
        id[p->keys + i] = p->value[i];
        if (asks)
            target[p->keys + i - 1] = p->value[i];
    }
    return t + p->keys + p->values;
}

static void draw(SyntheticRow *row)
{
    Pair pair[PAIRS_MOST];
    bool seen[PAIRS_MOST] = { false };
    int t = 0, j;

    for (j = 0; j < row->s.items; j++)
        pair[j] = pair_of(row, j);
    row->drawn = (uint64_t)(row->s.items * DRAWS);
    for (bool last = false; !last;) {
        last = t > row->s.T - 4 * MOST; /* after another pair there may be no room for the last */
        do {
            const int drawn = row_below(row, row->s.items);

            for (j = 0; !same_key(&pair[j], &pair[drawn]);)
                j++;
        } while (last && !seen[j]);
        t = write_pair(row, t, &pair[j], seen[j]);
        seen[j] = true;
    }
    while (t < row->s.T)
        row->id[t++] = row->s.symbols;
}

const Synthetic synthetic_fuzzy_recall = {
    .name = "fuzzy-recall",
    .summary = "the same with keys and values of one to three tokens",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS,
    .symbols = 16,
    .complete = complete,
    .misfit = misfit,
    .others = 1,
    .halved = true,
    .draw = draw,
    .word = word,
};
