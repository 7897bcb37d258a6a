/*
 * Associative recall (as H3, arXiv:2212.14052): pairs of a key and its value, and one of the keys
 * again. The first half of the symbols are keys, the rest values. Each row maps the keys to values
 * at random, and draws its pairs with replacement, so a pair may recur, but never a key with
 * another value. The query is any key of the row, all equally likely, however often they occur.
 *
 *     . k1 v4 k2 v4 k1 v4 => k2
 *                            v4
 *
 * The rest of T is filled with blanks in front.
 */
#include "data/synthetic.h"

static int keys(SyntheticShape s)
{
    return s.symbols / 2;
}

static int values(SyntheticShape s)
{
    return s.symbols - keys(s);
}

static SyntheticShape complete(SyntheticShape s)
{
    if (!s.items)
        s.items = s.T > 4 ? s.T / 2 - 1 : 1;
    return s;
}

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 2 * s.items + 2)
        text_add(why, "recalling one of %d pairs needs at least %d positions, not %d", s.items,
                 2 * s.items + 2, s.T);
}

static void word(SyntheticShape s, int token, Text *word_of_it)
{
    if (token == BLANK || token == prompt_of(s))
        synthetic_symbol(s, token, word_of_it);
    else if (token <= keys(s))
        text_add(word_of_it, "k%d", token);
    else
        text_add(word_of_it, "v%d", token - keys(s));
}

/* The first place of a pair with that key. */
static const int *first_with(const int *pair, int key)
{
    while (*pair != key)
        pair += 2;
    return pair;
}

/* Draw `key` of the row is its value: the map needs no memory. */
static int value_of(const SyntheticRow *row, int key)
{
    uint64_t v = random_below(row->random, (uint64_t)key, (uint64_t)values(row->s));

    return 1 + keys(row->s) + (int)v;
}

/* A pair that is the first with its key, so that all keys of the row are equally likely. */
static void draw(SyntheticRow *row)
{
    const SyntheticShape s = row->s;
    int *pair = row->id + s.T - 2 - 2 * s.items, *asked;

    row->drawn = (uint64_t)keys(s) + 1;
    for (int i = 0; i < s.items; i++) {
        pair[2 * i] = 1 + row_below(row, keys(s));
        pair[2 * i + 1] = value_of(row, pair[2 * i]);
    }
    do
        asked = pair + 2 * row_below(row, s.items);
    while (asked != first_with(pair, *asked));
    row->id[s.T - 2] = prompt_of(s);
    row->id[s.T - 1] = *asked;
    row->target[s.T - 1] = value_of(row, *asked);
}

const Synthetic synthetic_recall = {
    .name = "recall",
    .summary = "recall the value of a key",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS,
    .symbols = SYMBOLS,
    .complete = complete,
    .misfit = misfit,
    .others = BESIDE_SYMBOLS,
    .halved = true,
    .draw = draw,
    .word = word,
};
