/*
 * Compression as in MAD (Poli et al., arXiv:2403.17844): the vector of the last position must hold
 * the row, since all its symbols are predicted from that vector and their place alone
 * (model/model.h).
 *
 *     compression   3 1 4 1 =>
 *                   3 1 4 1
 */
#include "data/synthetic.h"

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < 2)
        text_add(why, "a symbol and the end of a row need at least 2 positions, not %d", s.T);
    else if (s.symbols < 2)
        text_add(why, "compressing needs at least 2 different symbols, not %d", s.symbols);
}

static void draw(SyntheticRow *row)
{
    const int end = row->s.T - 1;

    for (int t = 0; t < end; t++)
        row->id[t] = row->target[t] = 1 + row_below(row, row->s.symbols);
    row->id[end] = prompt_of(row->s);
}

const Synthetic synthetic_compression = {
    .name = "compression",
    .summary = "restore all symbols from the last position (MAD)",
    .takes = SYNTHETIC_SYMBOLS,
    .symbols = 16,
    .length = 32,
    .misfit = misfit,
    .others = BESIDE_SYMBOLS,
    .from_last = true,
    .draw = draw,
};
