#include "ops/attention/engine/segments.h"

#include "ops/kernel/elementary.h"

#include <string.h>

size_t segments_room(int D)
{
    return (size_t)(5 * TILE + 1) * (size_t)D;
}

Segments segments_open(real **scratch, int D)
{
    Segments x = { .D = D };

    x.before = carve(scratch, TILE, D), x.after = carve(scratch, TILE, D);
    x.row = carve(scratch, TILE, D), x.key = carve(scratch, TILE, D);
    x.step = carve(scratch, TILE, D), x.all = carve(scratch, 1, D);
    return x;
}

static void add(real *restrict a, const real *restrict b, int n)
{
    for (int i = 0; i < n; i++)
        a[i] += b[i];
}

static void make_exp(real *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = exp_lasting(x[i]);
}

/* to = x * y, element by element; x may be `to`. */
static void multiply(real *to, const real *x, const real *y, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = x[i] * y[i];
}

static bool is_far(const real *sum, int D)
{
    int far = 0;

    for (int d = 0; d < D; d++)
        far += sum[d] < -FAR;
    return far > 0;
}

/* Cuts: row_t, which is g_t, becomes b_t - b_a, and step_m the exponent of the step; step_0: b_0.
 */
static void cut(Segments *x)
{
    const size_t bytes = (size_t)x->D * sizeof(real);

    x->count = 0;
    for (int t = 0; t < TILE; t++) {
        real *row = row_of(x->row, t, x->D);

        if (t > 0)
            add(row, row - x->D, x->D);
        if (t > 0 && !is_far(row, x->D))
            continue;
        memcpy(row_of(x->step, x->count, x->D), row, bytes);
        memset(row, 0, bytes);
        x->start[x->count++] = t;
    }
    x->start[x->count] = TILE;
}

/* In the first row of each segment: the exponents of `before` and of `after`; and that of `all`. */
static void sum_outside(Segments *x)
{
    const size_t bytes = (size_t)x->D * sizeof(real);
    const real *last = row_of(x->row, TILE - 1, x->D);

    memcpy(x->all, last, bytes);
    for (int m = x->count - 1; m >= 0; m--) {
        memcpy(row_of(x->after, x->start[m], x->D), x->all, bytes);
        add(x->all, row_of(x->step, m, x->D), x->D);
    }
    memset(x->all, 0, bytes);
    for (int m = 0; m < x->count; m++) {
        add(x->all, row_of(x->step, m, x->D), x->D);
        memcpy(row_of(x->before, x->start[m], x->D), x->all, bytes);
    }
    add(x->all, last, x->D);
}

/* The factors of the rows of segment m. */
static void make_segment(Segments *x, int m)
{
    const int D = x->D, a = x->start[m];
    real *before = row_of(x->before, a, D), *after = row_of(x->after, a, D);

    make_exp(before, D);
    make_exp(after, D);
    make_exp(row_of(x->step, m, D), D);
    for (int t = a + 1; t < x->start[m + 1]; t++) {
        multiply(row_of(x->before, t, D), before, row_of(x->row, t, D), D);
        multiply(row_of(x->after, t, D), after, row_of(x->key, t, D), D);
    }
}

void segments_load(Segments *x, const Head *head, const Tensor *g, int t0, int n)
{
    Rows rows = { x->row, x->D, t0, TILE };

    head_gather(head, rows, g->data, g->dim[3]);
    rows_clear(rows, n);
    x->n = n;
    cut(x);
    sum_outside(x);
    make_exp(x->row, TILE * x->D);
    for (int i = 0; i < TILE * x->D; i++)
        x->key[i] = 1 / x->row[i];
    for (int m = 0; m < x->count; m++)
        make_segment(x, m);
    make_exp(x->all, x->D);
}

void rows_times(Rows x, const real *y, int n)
{
    for (int i = 0; i < n * x.ld; i++)
        x.at[i] *= y[i];
}

/* Rows 0 .. n-1 of k, or its columns, times the step to segment m. */
static void step_rows(const Segments *x, int m, real *k, int n)
{
    for (int s = 0; s < n; s++)
        multiply(row_of(k, s, x->D), row_of(k, s, x->D), row_of(x->step, m, x->D), x->D);
}

static void step_columns(const Segments *x, int m, real *kt, int n)
{
    for (int d = 0; d < x->D && n > 0; d++)
        for (int s = 0; s < n; s++)
            row_of(kt, d, TILE)[s] *= row_of(x->step, m, x->D)[d];
}

void segments_scores(const Segments *x, real *A, Rows q, real *kt)
{
    for (int m = 0; m < x->count; m++) {
        step_columns(x, m, kt, m ? x->start[m] : 0);
        for (int i = x->start[m]; i < x->start[m + 1]; i += MR)
            for (int j = 0; j < min(i + MR, TILE); j += NR)
                kernel(row_of(A, i, TILE) + j, TILE,
                       &(Factors){ row_of(q.at, i, q.ld), q.ld, 1, kt + j, TILE, x->D }, false);
    }
    for (int t = 0; t < TILE; t++)
        memset(row_of(A, t, TILE) + t + 1, 0, (size_t)(TILE - t - 1) * sizeof(real));
}

void segments_rows(const Segments *x, Rows dq, const real *P, Rows k)
{
    for (int m = 0; m < x->count; m++) {
        step_rows(x, m, k.at, m ? x->start[m] : 0);
        for (int i = x->start[m]; i < x->start[m + 1]; i += MR)
            for (int d = 0; d < dq.ld; d += NR)
                kernel(row_of(dq.at, i, dq.ld) + d, dq.ld,
                       &(Factors){ row_of((real *)P, i, TILE), TILE, 1, k.at + d, k.ld,
                                   min(i + MR, TILE) },
                       false);
    }
    rows_times(dq, x->row, TILE);
}

void segments_keys(const Segments *x, Rows dk, const real *P, Rows q)
{
    memset(dk.at, 0, (size_t)(TILE * dk.ld) * sizeof(real));
    for (int m = x->count - 1; m >= 0; m--) {
        const int a = x->start[m], end = x->start[m + 1];

        for (int j = 0; j < end; j += MR) {
            const int from = max(a, j);

            for (int d = 0; from < end && d < dk.ld; d += NR)
                kernel(row_of(dk.at, j, dk.ld) + d, dk.ld,
                       &(Factors){ P + from * TILE + j, 1, TILE, row_of(q.at, from, q.ld) + d, q.ld,
                                   end - from },
                       true);
        }
        step_rows(x, m, dk.at, m ? a : 0);
    }
    rows_times(dk, x->key, TILE);
}

void state_pass_each(real *S, int height, const real *by, Rows A, Rows B)
{
    for (int d = 0; d < height; d++)
        for (int e = 0; e < B.ld; e++)
            row_of(S, d, B.ld)[e] *= by[d];
    rows_multiply_over(S, height, A, B, TILE);
}
