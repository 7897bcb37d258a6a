/* A row while a task draws it, and what tasks share. */
#ifndef DATA_SYNTHETIC_ROW_H
#define DATA_SYNTHETIC_ROW_H

#include "data/synthetic/task.h"

/* id and target come as zeros and minus ones, length as T. */
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

extern const Synthetic synthetic_mqar, synthetic_recall, synthetic_induction, synthetic_copy,
    synthetic_reverse, synthetic_selective_copy, synthetic_passkey, synthetic_parity,
    synthetic_cumulative_parity, synthetic_majority_of_bits, synthetic_listops;

#endif
