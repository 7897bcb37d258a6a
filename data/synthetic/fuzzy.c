/*
 * Fuzzy recall as in MAD (Poli et al., arXiv:2403.17844): recall of values in context, but a key
 * and its value are one to three different tokens each. A key that occurred before asks for its
 * value, token by token, where the key ends. Keys consist of the first half of the symbols, values
 * of the rest; each row maps keys to values at random.
 *
 *     fuzzy-recall    .  . k1 k4 v2 v0 k3 v1 k1 k4 v2
 *                                               v2 v0
 *
 * Few of the many keys return by chance, but the last one always did (in MAD's program nearly
 * always): it is drawn first, and put at a random place as well. Where a row is tested, all its
 * keys have three tokens. The authors train on all tokens of a row and count the answers alone;
 * here only answers are targets.
 */
#include "data/synthetic.h"

#include <string.h>

enum { MOST = 3, PAIR = 2 * MOST }; /* tokens */

typedef struct {
    int token[MOST], n;
} Motif;

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 3 * PAIR)
        text_add(why, "pairs of up to %d tokens need at least %d positions, not %d", PAIR, 3 * PAIR,
                 s.T);
    else if (s.symbols < PAIR)
        text_add(why, "%d different tokens for keys and as many for values are %d symbols, not %d",
                 MOST, PAIR, s.symbols);
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    if (token < s.symbols)
        synthetic_key_or_value(s, token, word_of_it);
    else
        text_add(word_of_it, ".");
}

/* n different ones of the tokens from `first` on, by as many draws. */
static Motif draw_motif(Random r, uint64_t at, int first, int tokens, int n)
{
    Motif m = { .n = n };
    int used[MOST];

    for (int i = 0; i < n; i++) {
        int x = (int)random_below(r, at + (uint64_t)i, (uint64_t)(tokens - i)), j = 0;

        for (; j < i && x >= used[j]; j++) /* these are in ascending order */
            x++;
        memmove(used + j + 1, used + j, (size_t)(i - j) * sizeof *used);
        used[j] = x;
        m.token[i] = first + x;
    }
    return m;
}

static Motif draw_key(SyntheticRow *row)
{
    const int n = row->s.test ? MOST : 1 + row_below(row, MOST);
    const uint64_t at = row->drawn;

    row->drawn += MOST;
    return draw_motif(row->random, at, 0, row->s.symbols / 2, n);
}

enum { VALUE_DRAWS = MOST + 1 };

static uint64_t base_of(const SyntheticRow *row)
{
    return (uint64_t)row->s.symbols / 2 + 1;
}

/* A key as a number below the third power of the base: its tokens are the digits from 1 on. */
static uint64_t number_of(const SyntheticRow *row, const Motif *key)
{
    uint64_t number = 0;

    for (int i = 0; i < key->n; i++)
        number = number * base_of(row) + (uint64_t)key->token[i] + 1;
    return number;
}

/* By draws that belong to the key: the map needs no memory. */
static Motif value_of(const SyntheticRow *row, const Motif *key)
{
    const int keys = row->s.symbols / 2;
    const uint64_t at = number_of(row, key) * VALUE_DRAWS;
    const int n = 1 + (int)random_below(row->random, at, MOST);

    return draw_motif(row->random, at + 1, keys, row->s.symbols - keys, n);
}

/* Whether the key is one of those before t. */
static bool occurred(const SyntheticRow *row, int t, const Motif *key)
{
    const int *id = row->id, keys = row->s.symbols / 2;

    for (int i = 0; i + key->n < t; i++)
        if ((i == 0 || id[i - 1] >= keys) && id[i + key->n] >= keys &&
            memcmp(id + i, key->token, (size_t)key->n * sizeof *id) == 0)
            return true;
    return false;
}

/* A key and its value at t, with targets if it asks; returns where it ends. */
static int write_pair(SyntheticRow *row, int t, const Motif *key)
{
    const Motif value = value_of(row, key);
    const bool asks = occurred(row, t, key);

    for (int i = 0; i < key->n; i++)
        row->id[t++] = key->token[i];
    for (int i = 0; i < value.n; i++, t++) {
        if (asks)
            row->target[t - 1] = value.token[i];
        row->id[t] = value.token[i];
    }
    return t;
}

/* Moves a row of n tokens to the right until its last one, which no target follows, is outside. */
static void push_right(SyntheticRow *row, int n)
{
    const int blanks = row->s.T + 1 - n;
    const size_t bytes = (size_t)(n - 1) * sizeof *row->id;

    memmove(row->id + blanks, row->id, bytes);
    memmove(row->target + blanks, row->target, bytes);
    for (int t = 0; t < blanks; t++)
        row->id[t] = row->s.symbols, row->target[t] = -1;
}

static void draw(SyntheticRow *row)
{
    const uint64_t base = base_of(row);

    row->drawn = base * base * base * VALUE_DRAWS;
    const Motif last = draw_key(row);
    const int end = row->s.T - last.n - value_of(row, &last).n - PAIR;
    const int place = row_below(row, end - PAIR + 1);
    bool there = false;
    int t = 0;

    while (t < end) {
        const Motif key = !there && t >= place ? last : draw_key(row);

        t = write_pair(row, t, &key);
        there = there || occurred(row, t, &last);
    }
    push_right(row, write_pair(row, t, &last));
}

const Synthetic synthetic_fuzzy_recall = {
    .name = "fuzzy-recall",
    .summary = "recall with keys and values of one to three tokens",
    .takes = SYNTHETIC_SYMBOLS,
    .symbols = 15,
    .length = 128,
    .misfit = misfit,
    .others = 1,
    .halved = true,
    .draw = draw,
    .word = word,
};
