#include "ops/attention/engine/head.h"

#include "ops/kernel/elementary.h"
#include "ops/kernel/transpose.h"
#include "ops/rope.h"

#include <string.h>

void head_ask(const Head *x, int t, const real *from, int width)
{
    enum { LINE = 64 / sizeof(real) };
    const real *row = from + head_place(x, max(0, min(t + x->ahead, x->T - 1)), width);

    for (int d = 0; x->ahead && d < width; d += LINE)
        __builtin_prefetch(row + d);
}

/* Rows are short and many: calls of memcpy() would take longer than the copying. */
static void row_copy(real *restrict to, const real *restrict from, int n)
{
    int i = 0;

    for (; i + 2 * SUMS <= n; i += 2 * SUMS) {
        Lanes low = lanes_at(from + i), high = lanes_at(from + i + SUMS);

        lanes_put(to + i, low);
        lanes_put(to + i + SUMS, high);
    }
    if (i + SUMS <= n) {
        lanes_put(to + i, lanes_at(from + i));
        i += SUMS;
    }
#pragma GCC unroll 4
    for (int some = SUMS / 2; some > 0; some /= 2) /* sizes that are constants */
        if (n & some) {
            memcpy(to + i, from + i, (size_t)some * sizeof(real));
            i += some;
        }
}

void head_gather(const Head *x, Rows to, const real *from, int width)
{
    int inside = max(0, min(to.n, x->T - to.t0));

    for (int r = 0; r < inside; r++) {
        real *row = row_of(to.at, r, to.ld);

        for (int d = width / LANES * LANES; d < to.ld; d += LANES)
            *(Unaligned *)(row + d) = (Vector){ 0 };
        row_copy(row, from + head_place(x, to.t0 + r, width), width);
        head_ask(x, to.t0 + r, from, width);
    }
    memset(row_of(to.at, inside, to.ld), 0, (size_t)(to.n - inside) * (size_t)to.ld * sizeof(real));
}

void head_scatter(const Head *x, Grad to, Rows from, int width)
{
    for (int r = 0; r < min(from.n, x->T - from.t0); r++) {
        const size_t at = head_place(x, from.t0 + r, width);
        const real *row = row_of(from.at, r, from.ld);

        if (to.add)
            grad_add(to, at, row, width);
        else
            row_copy(to.at + at, row, width);
    }
}

void rows_transpose(Rows from, real *to, int ld, int width)
{
    transpose(to, ld, (Strided){ from.at, from.ld, 1, from.n, width });
}

void rows_multiply(Rows c, Rows a, int depth, const real *b, bool add)
{
    for (int i = 0; i < c.n; i += MR)
        for (int j = 0; j < c.ld; j += NR)
            kernel(row_of(c.at, i, c.ld) + j, c.ld,
                   &(Factors){ row_of(a.at, i, a.ld), a.ld, 1, b + j, c.ld, depth }, add);
}

void rows_multiply_over(real *c, int height, Rows a, Rows b, int n)
{
    for (int i = 0; n > 0 && i < height; i += MR)
        for (int j = 0; j < b.ld; j += NR)
            kernel(row_of(c, i, b.ld) + j, b.ld, &(Factors){ a.at + i, 1, a.ld, b.at + j, b.ld, n },
                   true);
}

void rows_rotate(Rows x, const real *angles, int width, bool back)
{
    for (int r = 0; angles && r < x.n; r++)
        rope_rotate(row_of(x.at, r, x.ld), angles + (size_t)(x.t0 + r) * (size_t)width, width,
                    back);
}
