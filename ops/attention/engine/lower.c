/*
 * A triangle is cut into groups of MR rows. To the left of its diagonal block, a group is a product
 * for the kernel; the block itself is added in plain loops. (1 - A) u = w, with A strictly lower
 * triangular, is solved in place, from the first row to the last,
 *
 *     u_t = w_t + sum over s < t of A_ts u_s
 *
 * where the sum over earlier groups is again a product. (1 - A)^T x = y goes from the last row to
 * the first, x_s = y_s + sum over t > s of A_ts x_t.
 */
#include "ops/attention/engine/lower.h"

#include "ops/attention/engine/vector.h"

#include <string.h>

/* MR rows of c += f, in columns of NR. */
static void add_product(real *c, int ld, Factors f)
{
    for (int j = 0; f.k > 0 && j < ld; j += NR, f.b += NR)
        kernel(c + j, ld, &f, true);
}

void lower_scores(real *A, Rows a, int depth, const real *bt)
{
    for (int i = 0; i < a.n; i += MR)
        for (int j = 0; j < i + MR; j += NR)
            kernel(row_of(A, i, TILE) + j, TILE,
                   &(Factors){ row_of(a.at, i, a.ld), a.ld, 1, bt + j, TILE, depth }, false);
}

void lower_clear(real *A, int n, bool strict)
{
    for (int t = 0; t < n; t++) {
        const int from = t + !strict;

        memset(row_of(A, t, TILE) + from, 0, (size_t)(TILE - from) * sizeof *A);
    }
}

void lower_multiply(Rows c, const real *A, Rows x)
{
    for (int i = 0; i < c.n; i += MR) {
        add_product(row_of(c.at, i, c.ld), c.ld, (Factors){ A + i * TILE, TILE, 1, x.at, x.ld, i });
        for (int t = i; t < i + MR; t++)
            for (int s = i; s <= t; s++)
                vector_add(row_of(c.at, t, c.ld), A[t * TILE + s], row_of(x.at, s, x.ld), c.ld);
    }
}

void lower_multiply_clear(Rows c, const real *A, Rows x)
{
    for (int i = 0; i < c.n; i += MR)
        add_product(row_of(c.at, i, c.ld), c.ld,
                    (Factors){ A + i * TILE, TILE, 1, x.at, x.ld, i + MR });
}

void lower_multiply_over(Rows c, const real *A, Rows x)
{
    for (int i = 0; i < c.n; i += MR)
        add_product(row_of(c.at, i, c.ld), c.ld,
                    (Factors){ A + i * TILE + i, 1, TILE, row_of(x.at, i, x.ld), x.ld, c.n - i });
}

void lower_solve(Rows u, const real *A)
{
    for (int i = 0; i < u.n; i += MR) {
        add_product(row_of(u.at, i, u.ld), u.ld, (Factors){ A + i * TILE, TILE, 1, u.at, u.ld, i });
        for (int t = i + 1; t < i + MR; t++)
            for (int s = i; s < t; s++)
                vector_add(row_of(u.at, t, u.ld), A[t * TILE + s], row_of(u.at, s, u.ld), u.ld);
    }
}

void lower_solve_over(Rows u, const real *A)
{
    for (int i = u.n - MR; i >= 0; i -= MR) {
        const int after = i + MR;

        add_product(row_of(u.at, i, u.ld), u.ld,
                    (Factors){ A + after * TILE + i, 1, TILE, row_of(u.at, after, u.ld), u.ld,
                               u.n - after });
        for (int s = after - 2; s >= i; s--)
            for (int t = s + 1; t < after; t++)
                vector_add(row_of(u.at, s, u.ld), A[t * TILE + s], row_of(u.at, t, u.ld), u.ld);
    }
}
