/*
 * Copying: M symbols stand among L blanks, and are repeated after "=>"; T = L + 2M.
 *
 *     copy             3 1 4 . . . =>  3  1        the symbols first
 *                                   3  1  4
 *     reverse          3 1 4 . . . =>  4  1        in reverse order
 *                                   4  1  3
 *     selective-copy   . 3 . 1 4 . => => =>        anywhere (as Mamba, arXiv:2312.00752)
 *                                   3  1  4
 *
 * In copy and reverse a model sees its answers, as in a text that it continues. In selective-copy
 * "=>" stands in their places, so that it has to keep count (S4, arXiv:2111.00396, copies like
 * that, too). The sizes of selective-copy are those of MAD (arXiv:2403.17844), which has one "=>"
 * and then blanks, spaces the symbols almost evenly, and has no blank after the last one.
 *
 * To copy from fixed places positions are enough; to select takes content. Without blanks the state
 * of a linear mechanism has to hold half of the row.
 */
#include "data/synthetic.h"

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 2 * s.items)
        text_add(why, "copying %d symbols needs at least %d positions, not %d", s.items,
                 2 * s.items, s.T);
    else if (s.symbols < 2)
        text_add(why, "copying needs at least 2 different symbols, not %d", s.symbols);
}

/*
 * Puts the symbols into places before the prompt: the first ones, or, by Knuth's algorithm S, a
 * uniformly random choice.
 */
static void write_symbols(SyntheticRow *row, bool anywhere)
{
    int places = row->s.T - row->s.items, left = row->s.items;

    for (int t = 0; left > 0; t++)
        if (!anywhere || row_below(row, places - t) < left) {
            row->id[t] = 1 + row_below(row, row->s.symbols);
            left--;
        }
}

static void ask_for_symbols(SyntheticRow *row, bool backwards, bool shown)
{
    int prompt = row->s.T - row->s.items;
    int from = backwards ? prompt - 1 : 0;

    row->id[prompt] = prompt_of(row->s);
    for (int t = prompt; t < row->s.T; from += backwards ? -1 : 1)
        if (row->id[from] != BLANK) {
            row_answer(row, t++, row->id[from]);
            if (!shown && t < row->s.T)
                row->id[t] = prompt_of(row->s);
        }
}

static void draw_copy(SyntheticRow *row)
{
    write_symbols(row, false);
    ask_for_symbols(row, false, true);
}

static void draw_reverse(SyntheticRow *row)
{
    write_symbols(row, false);
    ask_for_symbols(row, true, true);
}

static void draw_selective(SyntheticRow *row)
{
    write_symbols(row, true);
    ask_for_symbols(row, false, false);
}

const Synthetic synthetic_copy = {
    .name = "copy",
    .summary = "repeat symbols after a delay",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS,
    .symbols = SYMBOLS,
    .part = 2,
    .misfit = misfit,
    .others = BESIDE_SYMBOLS,
    .draw = draw_copy,
};

const Synthetic synthetic_reverse = {
    .name = "reverse",
    .summary = "repeat symbols backwards after a delay",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS,
    .symbols = SYMBOLS,
    .part = 2,
    .misfit = misfit,
    .others = BESIDE_SYMBOLS,
    .draw = draw_reverse,
};

const Synthetic synthetic_selective_copy = {
    .name = "selective-copy",
    .summary = "repeat symbols scattered among blanks",
    .takes = SYNTHETIC_SYMBOLS | SYNTHETIC_ITEMS,
    .symbols = 14,
    .part = 16,
    .length = 256,
    .misfit = misfit,
    .others = BESIDE_SYMBOLS,
    .draw = draw_selective,
};
