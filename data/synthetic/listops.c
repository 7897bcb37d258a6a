/*
 * ListOps (Nangia and Bowman, arXiv:1804.06028) as the Long Range Arena makes it
 * (arXiv:2011.04006): nested lists of digits with an operator, and the digit that is their value.
 *
 *     [MIN 1 1 2 [MED 1 [MED 0 6 9 5 X 0 X X   is 1
 *
 * MIN, MAX, the median MED (of an even number of values the mean of the two in the middle, rounded
 * down) and SM, the sum modulo 10. The Arena writes trees of pairs with parentheses and "]"; its
 * reader drops the parentheses and turns "]" into X, so a row here is what a model there reads.
 *
 * An expression is a digit with probability 3/4, and always at the greatest depth; or else a list
 * of 2 to `args` expressions, all numbers equally likely. Rows with least < tokens < T are kept;
 * the Arena's have 500 < tokens < 2000. For 64 positions or less, lists are shorter and less deep.
 * Most expressions are a single digit and others grow very long: one in twelve is kept, and one
 * that becomes too long is abandoned at once.
 */
#include "data/synthetic/listops.h"

#include "data/synthetic.h"

enum { ARGS = 10 };

const char *const listops_words[LISTOPS_VOCAB] = {
    "", "[MIN", "[MAX", "[MED", "[SM", "X", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
};

static bool small(SyntheticShape s)
{
    return s.T <= 64;
}

static SyntheticShape complete(SyntheticShape s)
{
    if (!s.least)
        s.least = s.T < 2000 ? s.T / 4 : 500;
    return s;
}

/* The shortest list has 4 tokens. */
static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 5)
        text_add(why, "a row of listops needs at least 5 positions, not %d", s.T);
    else if (s.least > 1000 || s.least > s.T / 2)
        text_add(why,
                 "listops of %d positions with more than %d tokens are too rare: choose at most %d",
                 s.T, s.least, s.T < 2000 ? s.T / 2 : 1000);
}

/* A row that has T tokens is too long already. */
static bool too_long(const SyntheticRow *row)
{
    return row->length == row->s.T;
}

static void put(SyntheticRow *row, int token)
{
    if (!too_long(row))
        row->id[row->length++] = token;
}

/* Inserts a value into n sorted ones. */
static void insert(int *arg, int n, int value)
{
    for (; n > 0 && arg[n - 1] > value; n--)
        arg[n] = arg[n - 1];
    arg[n] = value;
}

static int apply(int kind, const int *arg, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += arg[i];
    switch (kind) {
    case LISTOPS_MIN:
        return arg[0];
    case LISTOPS_MAX:
        return arg[n - 1];
    case LISTOPS_MED:
        return (arg[(n - 1) / 2] + arg[n / 2]) / 2;
    default:
        return sum % 10;
    }
}

/* Writes an expression; returns its value, which is undefined if it is too long. */
static int draw_expression(SyntheticRow *row, int depth)
{
    const bool deepest = depth == (small(row->s) ? 6 : 10);
    int arg[ARGS];

    if (deepest || row_below(row, 4) > 0) {
        int value = row_below(row, 10);

        put(row, LISTOPS_DIGIT + value);
        return value;
    }
    const int kind = LISTOPS_MIN + row_below(row, 4);
    const int n = 2 + row_below(row, (small(row->s) ? ARGS / 2 : ARGS) - 1);
    put(row, kind);
    for (int i = 0; i < n; i++) {
        if (too_long(row))
            return 0;
        insert(arg, i, draw_expression(row, depth + 1));
    }
    put(row, LISTOPS_END);
    return apply(kind, arg, n);
}

static void draw(SyntheticRow *row)
{
    do {
        row->length = 0;
        row->target[0] = draw_expression(row, 1);
    } while (row->length <= row->s.least || too_long(row));
    for (int t = row->length; t < row->s.T; t++)
        row->id[t] = LISTOPS_PADDING;
}

const Synthetic synthetic_listops = {
    .name = "listops",
    .summary = "evaluate nested list operations (arXiv:2011.04006)",
    .classes = 10,
    .takes = SYNTHETIC_LEAST,
    .complete = complete,
    .misfit = misfit,
    .others = LISTOPS_VOCAB,
    .answers = 10,
    .draw = draw,
    .words = listops_words,
};
