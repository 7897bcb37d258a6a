/*
 * Induction heads (as H3, arXiv:2212.14052): random symbols, in which "=>" is followed by the same
 * symbol wherever it stands. What follows the last one?
 *
 *     4 2 => 7 1 1 => 7 3 =>
 *                         7
 *
 * Half of the rows have one trigger "=>" before the last position. For the others `items` places
 * are drawn; of two that are equal or adjacent the second is dropped. So with one item, the
 * default, all rows have one.
 */
#include "data/synthetic.h"

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 4)
        text_add(why, "a row of induction needs at least 4 positions, not %d", s.T);
    else if (s.symbols < 2)
        text_add(why, "induction needs at least 2 different symbols, not %d", s.symbols);
}

/* A trigger and its symbol end before the last symbol of the row. */
static void write_triggers(SyntheticRow *row)
{
    int n = row_below(row, 2) ? row->s.items : 1;

    while (n-- > 0)
        row->id[row_below(row, row->s.T - 3)] = prompt_of(row->s);
}

static void draw(SyntheticRow *row)
{
    const int end = row->s.T - 1, prompt = prompt_of(row->s);
    int last = -2, answer = BLANK;

    write_triggers(row);
    for (int t = 0; t < end; t++) {
        if (row->id[t] == prompt && t > last + 1) {
            last = t;
            continue;
        }
        row->id[t] = 1 + row_below(row, row->s.symbols);
        if (t == last + 1 && answer == BLANK)
            answer = row->id[t];
        else if (t == last + 1)
            row->id[t] = answer;
    }
    row->id[end] = prompt;
    row->target[end] = answer;
}

const Synthetic synthetic_induction = {
    .name = "induction",
    .summary = "predict what followed the same token before",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS,
    .symbols = SYMBOLS,
    .items = 1,
    .misfit = misfit,
    .others = BESIDE_SYMBOLS,
    .draw = draw,
};
