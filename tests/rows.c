#include "tests/rows.h"

#include "ops/base/error.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

const Synthetic *task_named(const char *name)
{
    for (int i = 0; synthetics[i]; i++)
        if (strcmp(synthetics[i]->name, name) == 0)
            return synthetics[i];
    return NULL;
}

Rows rows_open(const char *name, SyntheticShape s)
{
    const Synthetic *task = task_named(name);
    const size_t bytes = (size_t)s.T * sizeof(int);

    ck_assert_ptr_nonnull(task);
    ck_assert_str_eq(synthetic_misfit(task, s).at, "");
    return (Rows){ .task = task,
                   .s = s,
                   .r = random_stream(7, RANDOM_TEST, (uint64_t)s.T),
                   .id = xmalloc(bytes),
                   .target = xmalloc(bytes) };
}

void rows_close(Rows *rows)
{
    free(rows->id), free(rows->target);
}

void next_row(Rows *rows)
{
    Random r = synthetic_row(rows->r, rows->drawn++);

    rows->n = synthetic_draw(rows->task, rows->s, r, rows->id, rows->target);
}

void check_share(int count, int n, double p)
{
    ck_assert_double_eq_tol(count, n * p, 5 * sqrt(n * p * (1 - p)) + 1e-9);
}
