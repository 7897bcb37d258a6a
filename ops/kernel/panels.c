#include "ops/kernel/panels.h"

#include "ops/kernel/bf16.h"
#include "ops/kernel/transpose.h"

#include <string.h>

int panel_depth(Panels p, int kc)
{
    if (p.precision == PRECISION_TILES)
        return tiles_pairs(kc);
    return p.precision == PRECISION_BF16 ? ceil_div(kc, 2) : kc;
}

/* Rows of b, two at a time. */
static void pack_pairs(Panels to, Matrix b, int kc, int end)
{
    for (int p = 0; p < kc; p += 2) {
        const int second = p + 1 < kc;

        for (int j = to.first; j < end; j += NR) {
            const real *from = b.at + (to.k0 + p) * b.rs + j;
            const size_t bytes = (size_t)min(NR, b.cols - j) * sizeof(real);
            real t[2 * NR] = { 0 };

            memcpy(t, from, bytes);
            memcpy(t + NR, from + second * b.rs, bytes);
            if (b.map)
                b.map(t, 2 * NR);
            bf16_pairs(panel_of(to, j, NR) + p / 2 * NR, t, second ? t + NR : NULL, NR);
        }
    }
}

static void pack_b_numbers(Panels to, Matrix b, int kc, int end)
{
    const int last = min(end, b.cols);

    for (int j = to.first; j < end; j += NR)
        if (j + NR > last)
            memset(panel_of(to, j, NR), 0, (size_t)(kc * NR) * sizeof(real));
    for (int p = 0; b.cs == 1 && p < kc; p++) { /* rows: all panels together, in long runs */
        const real *from = b.at + (to.k0 + p) * b.rs + to.first;
        real *restrict row = to.at + p * NR;

        for (int j = to.first; j < last; j += NR, from += NR, row += to.stride)
            if (j + NR <= last)
                memcpy(row, from, NR * sizeof(real));
            else
                memcpy(row, from, (size_t)(last - j) * sizeof(real));
    }
    for (int j = to.first; b.cs != 1 && j < last; j += NR) /* columns: transposed */
        transpose(panel_of(to, j, NR), NR,
                  (Strided){ b.at + to.k0 * b.rs + j * b.cs, b.cs, b.rs, min(NR, last - j), kc });
    for (int j = to.first; b.map && j < last; j += NR)
        b.map(panel_of(to, j, NR), kc * NR);
}

/* Zeros after the last rows of b, up to the end of a step. */
static void fill_last_step(Panels to, Matrix b, int end)
{
    const int from = (b.rows - to.k0 + 1) / 2, last = tiles_pairs(b.rows) - to.k0 / 2;

    for (int j = to.first; j < end; j += NR)
        memset(panel_of(to, j, NR) + from * NR, 0, (size_t)((last - from) * NR) * sizeof(real));
}

void pack_b(const Panels *panels, Matrix b, int kc, int end)
{
    const Panels to = *panels;

    if (to.precision && b.cs == 1)
        pack_pairs(to, b, kc, end);
    else
        pack_b_numbers(to, b, kc, end);
    for (int j = to.first; to.precision && b.cs != 1 && j < end; j += NR)
        bf16_columns(panel_of(to, j, NR), NR, kc);
    if (to.precision == PRECISION_TILES && to.k0 + kc == b.rows)
        fill_last_step(to, b, end);
}

/*
 * Columns of a, n rows from i0 on, for at most UNITS panels: these are whole cache lines, and none
 * is read twice.
 */
static void pack_columns(Panels to, Matrix a, int kc, int i0, int n)
{
    const real *from = a.at + i0 * a.rs + to.k0 * a.cs;
    const int whole = n / MR * MR;
    real *restrict panel = panel_of(to, i0, MR), *restrict last = panel + n / MR * to.stride;

    for (int p = 0; p < kc; p++, from += a.cs, panel += MR, last += MR) {
        if (a.rs == 1)
            for (int i = 0; i < whole; i += MR)
                memcpy(panel + i / MR * to.stride, from + i, MR * sizeof(real));
        for (int i = 0; a.rs != 1 && i < whole; i++)
            panel[i / MR * to.stride + i % MR] = from[i * a.rs];
        for (int i = whole; i < n; i++)
            last[i - whole] = from[i * a.rs];
        for (int i = n; n > whole && i < whole + MR; i++)
            last[i - whole] = 0;
    }
}

/* Rows of a, straight from where they are. */
static void pack_rows_of_pairs(Panels to, Matrix a, int kc, int end)
{
    const int half = ceil_div(kc, 2), rows = ceil_div(end - to.first, MR) * MR;

    for (int i = to.first; i < to.first + rows; i++) {
        real *row = panel_of(to, i, MR) + (i - to.first) % MR * half;

        if (i < end)
            bf16_row(row, a.at + i * a.rs + to.k0, kc);
        else
            memset(row, 0, (size_t)half * sizeof(real));
    }
}

static void pack_a_numbers(Panels to, Matrix a, int kc, int end)
{
    const real *from = a.at + to.first * a.rs + to.k0 * a.cs;
    const int rows = end - to.first;

    for (int i = 0; a.cs == 1 && i < rows; i++)
        memcpy(panel_of(to, to.first + i, MR) + i % MR * kc, from + i * a.rs,
               (size_t)kc * sizeof(real));
    if (a.cs == 1 && rows % MR)
        memset(panel_of(to, end, MR) + rows % MR * kc, 0,
               (size_t)(kc * (MR - rows % MR)) * sizeof(real));
    for (int i = to.first; a.cs != 1 && i < end; i += UNITS * MR)
        pack_columns(to, a, kc, i, min(UNITS * MR, end - i));
    for (int i = to.first; a.map && i < end; i += MR)
        a.map(panel_of(to, i, MR), kc * MR);
}

int first_copied(Matrix a, int i0, int i1)
{
    bool as_copied = a.rs == KC && a.cs == 1, near = a.rs * a.cs <= SHORT && !is_far(a);

    return !a.map && (as_copied || near) ? i0 + (i1 - i0) / MR * MR : i0;
}

/* A few panels at a time become pairs while they are in a near cache. */
static void pack_pairs_of_a(Panels to, Matrix a, int kc, int end)
{
    const int half = ceil_div(kc, 2);
    Panels part = to;

    for (int first = to.first; first < end; first = part.first + UNITS * MR) {
        part.first = first, part.at = panel_of(to, first, MR);
        pack_a_numbers(part, a, kc, min(first + UNITS * MR, end));
        for (int i = first; i < min(first + UNITS * MR, end); i += MR) {
            real *panel = panel_of(to, i, MR);

            for (int r = 0; a.cs == 1 && r < MR; r++)
                bf16_row(panel + r * half, panel + r * kc, kc);
            if (a.cs != 1)
                bf16_columns(panel, MR, kc);
        }
    }
}

/* n adjacent numbers of column p of a from row i on, with the function of them. */
static const real *column_of(Matrix a, int i, int p, int n, real *t)
{
    const real *from = a.at + i * a.rs + p * a.cs;

    if (a.rs == 1 && !a.map)
        return from;
    for (int r = 0; r < n; r++)
        t[r] = from[r * a.rs];
    if (a.map)
        a.map(t, n);
    return t;
}

/* Columns of a, n <= LANES rows from i on, become rows of pairs. */
static void turn_pairs(real *to, Matrix a, int i, int n, int k0, int kc)
{
    const int pairs = ceil_div(kc, 2), stride = tiles_pairs(kc);
    real t[KC / 2 * LANES], one[LANES], two[LANES];

    for (int p = 0; p < pairs; p++) {
        const int k = k0 + 2 * p;

        bf16_pairs(t + p * LANES, column_of(a, i, k, n, one),
                   2 * p + 1 < kc ? column_of(a, i, k + 1, n, two) : NULL, n);
    }
    transpose(to, stride, (Strided){ t, LANES, 1, pairs, n });
}

/* Rows of a, or functions of them. */
static void pair_row(real *to, Matrix a, int i, int k0, int kc)
{
    const real *from = a.at + i * a.rs + k0;
    real t[KC];

    if (a.map) {
        memcpy(t, from, (size_t)kc * sizeof *t);
        a.map(t, kc);
        from = t;
    }
    bf16_row(to, from, kc);
}

/* In rows of pairs, in whole steps, TILES_HIGH of them to a panel. */
static void pack_tiles_of_a(Panels to, Matrix a, int kc, int end)
{
    const int pairs = ceil_div(kc, 2), stride = tiles_pairs(kc), high = TILES_HIGH;
    const int rows = ceil_div(end - to.first, high) * high, by = a.cs == 1 ? 1 : LANES;

    for (int i = to.first; i < to.first + rows; i += by) {
        real *row = panel_of(to, i, high) + (i - to.first) % high * stride;

        if (i < end && a.cs == 1)
            pair_row(row, a, i, to.k0, kc);
        else if (i < end)
            turn_pairs(row, a, i, min(LANES, end - i), to.k0, kc);
        for (int r = 0; r < by; r++)
            if (i + r < end)
                memset(row + r * stride + pairs, 0, (size_t)(stride - pairs) * sizeof *row);
            else
                memset(row + r * stride, 0, (size_t)stride * sizeof *row);
    }
}

void pack_a(const Panels *panels, Matrix a, int kc, int end)
{
    const Panels to = *panels;

    if (to.precision == PRECISION_TILES)
        pack_tiles_of_a(to, a, kc, end);
    else if (!to.precision)
        pack_a_numbers(to, a, kc, end);
    else if (a.cs == 1 && !a.map)
        pack_rows_of_pairs(to, a, kc, end);
    else
        pack_pairs_of_a(to, a, kc, end);
}

Ahead ahead_of(Matrix m, int i0, int i1, int j0, int j1)
{
    const bool by_rows = m.cs == 1;
    const real *at = m.at + i0 * m.rs + j0 * m.cs;
    int rows = by_rows ? i1 - i0 : j1 - j0, length = by_rows ? j1 - j0 : i1 - i0;

    return (Ahead){ at, at + length, by_rows ? m.rs : m.cs, is_far(m) ? rows : 0, length, 0 };
}
