/*
 * Synthetic tasks. Each needs one skill, so that the lack of it in a mechanism shows
 * after minutes. A row is T tokens and T targets: at position t, given the tokens
 * 0 .. t, the model predicts target[t], or nothing if it is -1. Only answers are
 * targets; they stand below each row here:
 *
 *     mqar               k7 v2 k3 v9  .  . k3  . k7  .  .  .
 *                                          v9    v2
 *     copy                5  1  1  .  . =>  5  1
 *                                        5  1  1
 *     recall             k1 v4 k2 v4 k1 v4 => k2
 *                                             v4
 *     cumulative-parity   1  0  1  1  0
 *                         1  1  0  1  1
 *
 * An answer of several tokens is predicted token by token, each at the position of
 * the one before it. A row with a single answer has a class instead: target[0] and no
 * other, and its last positions may be padding, token 0.
 *
 * To add one: write data/synthetic/<name>.c, declare its row at the end of this file and put it
 * in the table in data/synthetic.c, and solve it independently, from its printed words, in
 * tests/solutions.c.
 */
#ifndef DATA_SYNTHETIC_H
#define DATA_SYNTHETIC_H

#include "ops/base/random.h"
#include "ops/base/text.h"

#include <stdbool.h>

/* The sizes of a row; 0: the task's default. */
typedef struct {
    int T;          /* positions of a row */
    int least;      /* listops: a row has more tokens than this, and fewer than T */
    int symbols;    /* size of the alphabet; mqar: of the vocabulary */
    int items;      /* mqar, recall: pairs; copy: symbols; induction: triggers; passkey: digits */
    bool noise;     /* mqar: random tokens in place of blanks */
    int difficulty; /* pathfinder: of synthetic_difficulties */
    bool test;      /* fuzzy-recall: as it is tested, with keys of three tokens */
} SyntheticShape;

/* The sizes beside T that a task takes. */
enum {
    SYNTHETIC_LEAST = 1 << 0,
    SYNTHETIC_SYMBOLS = 1 << 1,
    SYNTHETIC_ITEMS = 1 << 2,
    SYNTHETIC_NOISE = 1 << 3,
    SYNTHETIC_DIFFICULTY = 1 << 4,
};

struct SyntheticRow;

/* Its functions get a complete shape: call them by those of data/synthetic.h. */
typedef struct Synthetic {
    const char *name;    /* what --task takes */
    const char *summary; /* one line for --help */
    int classes;         /* the number of classes of a row; 0: targets are tokens */
    unsigned takes;      /* SYNTHETIC_ ... */
    int symbols, items;  /* their defaults; */
    int part;            /* or, if not 0, T / part items, at least one */
    int length;          /* the default of T; 0: ./train chooses */
    bool image;          /* tokens are the greys of a square image */
    int others;          /* tokens of the vocabulary beside the symbols */
    int answers;         /* that are possible; 0: any symbol, */
    bool halved;         /* or of the second half of them, if the first are keys */
    bool from_last;      /* all targets are predicted from the last position */
    SyntheticShape (*complete)(SyntheticShape s); /* other defaults; NULL: there are none */
    void (*misfit)(SyntheticShape s, Text *why);  /* NULL: any T is valid */
    void (*draw)(struct SyntheticRow *row);
    /* Tokens are printed as numbers below `digits`, then by `words`; or by `word`; or, if both are
     * NULL, as symbols. */
    int digits;
    const char *const *words;
    void (*word)(SyntheticShape s, int token, Text *word);
} Synthetic;

extern const Synthetic *const synthetics[]; /* ended by NULL */

/* The shape with the task's defaults in place of zeros. */
SyntheticShape synthetic_complete(const Synthetic *task, SyntheticShape s);

/* The shape with the alphabet that it has by default at its length: rows of other lengths keep it.
 */
SyntheticShape synthetic_alphabet(const Synthetic *task, SyntheticShape s);

/* What is wrong with a shape, as a sentence that says what would be right; empty: nothing. */
Text synthetic_misfit(const Synthetic *task, SyntheticShape s);

/* The functions below need a valid shape. */

/* The size of the vocabulary; and how a token is printed. */
int synthetic_vocab(const Synthetic *task, SyntheticShape s);
Text synthetic_word(const Synthetic *task, SyntheticShape s, int token);

/* The accuracy of guessing without seeing the row: one over the number of answers. */
double synthetic_chance(const Synthetic *task, SyntheticShape s);

/* Draws a row into id and target, T of each; returns the number of tokens without padding. All of
 * it depends on the Random alone. */
int synthetic_draw(const Synthetic *task, SyntheticShape s, Random r, int *id, int *target);

/* The Random of row i of a stream of rows. */
Random synthetic_row(Random r, uint64_t i);

/* The rest is for the tasks. In a row that is drawn id and target come as zeros and minus ones,
 * length as T. */
typedef struct SyntheticRow {
    const SyntheticShape s;
    int *const id, *const target; /* (T) */
    int length;                   /* without padding */
    const Random random;
    uint64_t drawn; /* draws of `random` used so far */
} SyntheticRow;

/* The next draw: 0 .. n-1; and one in [0, 1). */
static inline int row_below(SyntheticRow *row, int n)
{
    return (int)random_below(row->random, row->drawn++, (uint64_t)n);
}

static inline double row_uniform(SyntheticRow *row)
{
    return random_uniform(row->random, row->drawn++);
}

/* Makes a token the target at t, and the row's next token, unless the row ends there. */
static inline void row_answer(SyntheticRow *row, int t, int token)
{
    row->target[t] = token;
    if (t + 1 < row->s.T)
        row->id[t + 1] = token;
}

/*
 * The tokens of most tasks: a blank, symbols from 1 on, and after them the prompt,
 * "=>": two beside the symbols, of which there are SYMBOLS by default.
 */
enum { BLANK = 0, SYMBOLS = 8, BESIDE_SYMBOLS = 2 };
static inline int prompt_of(SyntheticShape s)
{
    return s.symbols + 1;
}
void synthetic_symbol(SyntheticShape s, int token, Text *word);

/* A symbol of a task that is `halved`: "k1" or "v4". */
void synthetic_key_or_value(SyntheticShape s, int token, Text *word);

extern const Synthetic synthetic_mqar, synthetic_recall, synthetic_induction, synthetic_copy,
    synthetic_reverse, synthetic_selective_copy, synthetic_passkey, synthetic_parity,
    synthetic_cumulative_parity, synthetic_majority_of_bits, synthetic_listops,
    synthetic_pathfinder, synthetic_context_recall, synthetic_noisy_recall, synthetic_arithmetic,
    synthetic_memorization, synthetic_fuzzy_recall, synthetic_compression;

extern const char *const synthetic_difficulties[]; /* "easy", ..., ended by NULL */

#endif
