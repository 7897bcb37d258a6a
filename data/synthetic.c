#include "data/synthetic.h"

#include "ops/base/error.h"

enum { T_MAX = 1 << 24, SYMBOLS_MAX = 1 << 20 }; /* no sum of a few sizes overflows */

const Synthetic *const synthetics[] = {
    &synthetic_mqar,
    &synthetic_recall,
    &synthetic_context_recall,
    &synthetic_noisy_recall,
    &synthetic_fuzzy_recall,
    &synthetic_memorization,
    &synthetic_compression,
    &synthetic_induction,
    &synthetic_copy,
    &synthetic_reverse,
    &synthetic_selective_copy,
    &synthetic_passkey,
    &synthetic_parity,
    &synthetic_cumulative_parity,
    &synthetic_majority_of_bits,
    &synthetic_arithmetic,
    &synthetic_listops,
    &synthetic_pathfinder,
    NULL,
};

SyntheticShape synthetic_complete(const Synthetic *task, SyntheticShape s)
{
    const int part = task->part ? s.T / task->part : task->items;

    if (!s.symbols)
        s.symbols = task->symbols;
    if (!s.items)
        s.items = task->part && part < 1 ? 1 : part;
    return task->complete ? task->complete(s) : s;
}

SyntheticShape synthetic_alphabet(const Synthetic *task, SyntheticShape s)
{
    if (task->takes & SYNTHETIC_SYMBOLS)
        s.symbols = synthetic_complete(task, s).symbols;
    return s;
}

/* The sizes that a shape sets, as bits of `takes`. */
static unsigned given(SyntheticShape s)
{
    return (s.least ? SYNTHETIC_LEAST : 0u) | (s.symbols ? SYNTHETIC_SYMBOLS : 0u) |
           (s.items ? SYNTHETIC_ITEMS : 0u) | (s.noise ? SYNTHETIC_NOISE : 0u) |
           (s.difficulty ? SYNTHETIC_DIFFICULTY : 0u);
}

Text synthetic_misfit(const Synthetic *task, SyntheticShape s)
{
    static const char *const size[] = { "least length", "alphabet", "number of items", "noise",
                                        "difficulty" };
    const unsigned foreign = given(s) & ~task->takes;
    Text why = { 0 };

    for (int i = 0; i < 5; i++)
        if (foreign >> i & 1 && !why.n)
            text_add(&why, "%s has no %s", task->name, size[i]);
    if (why.n)
        return why;
    if (s.T < 1 || s.T > T_MAX)
        text_add(&why, "a row has 1 to %d positions, not %d", T_MAX, s.T);
    else if (s.least < 0 || s.symbols < 0 || s.items < 0)
        text_add(&why, "sizes of %s must be positive, or 0 for the task's default", task->name);
    else if (s.symbols > SYMBOLS_MAX)
        text_add(&why, "an alphabet has at most %d symbols, not %d", SYMBOLS_MAX, s.symbols);
    else if (s.items > s.T)
        text_add(&why, "%d items do not fit into %d positions", s.items, s.T);
    else if (task->misfit)
        task->misfit(synthetic_complete(task, s), &why);
    if (!why.n && task->halved && synthetic_complete(task, s).symbols < 4)
        text_add(&why, "two keys and two values are 4 symbols, not %d", s.symbols);
    return why;
}

int synthetic_vocab(const Synthetic *task, SyntheticShape s)
{
    return task->others + synthetic_complete(task, s).symbols;
}

double synthetic_chance(const Synthetic *task, SyntheticShape s)
{
    const int symbols = synthetic_complete(task, s).symbols;

    return 1.0 / (task->answers ? task->answers : symbols - (task->halved ? symbols / 2 : 0));
}

void synthetic_symbol(SyntheticShape s, int token, Text *word)
{
    if (token == BLANK)
        text_add(word, ".");
    else if (token == prompt_of(s))
        text_add(word, "=>");
    else
        text_add(word, "%d", token);
}

void synthetic_key_or_value(SyntheticShape s, int token, Text *word)
{
    const int keys = s.symbols / 2;

    text_add(word, token < keys ? "k%d" : "v%d", token < keys ? token : token - keys);
}

Text synthetic_word(const Synthetic *task, SyntheticShape s, int token)
{
    Text word = { 0 };

    if (task->words && token < task->digits)
        text_add(&word, "%d", token);
    else if (task->words)
        text_add(&word, "%s", task->words[token - task->digits]);
    else
        (task->word ? task->word : synthetic_symbol)(synthetic_complete(task, s), token, &word);
    return word;
}

int synthetic_draw(const Synthetic *task, SyntheticShape s, Random r, int *id, int *target)
{
    SyntheticRow row = { synthetic_complete(task, s), id, target, s.T, r, 0 };
    const Text why = synthetic_misfit(task, s);

    if (why.n)
        BUG("%s", why.at);
    for (int t = 0; t < s.T; t++)
        id[t] = 0, target[t] = -1;
    task->draw(&row);
    return row.length;
}

Random synthetic_row(Random r, uint64_t i)
{
    return (Random){ random_bits(r, i) };
}
