/* Rows of the synthetic tasks, and of the Long Range Arena's files. */
#include "ops/base/error.h"
#include "ops/base/random.h"
#include "training/source.h"

#include <stdlib.h>

enum { ROWS_HELD_BACK = 2000 };

/* A stream of its own; very short rows, of which there are few, occur in training as well. */
static Random held_back(void)
{
    return random_stream(0, RANDOM_HELD_BACK, 0);
}

/* One row of the task; a row with a class has it as its first target. */
static void make_row(const RowSource *s, Random r, Batch row)
{
    SyntheticShape shape = s->shape;
    int *target = row.whole ? xmalloc((size_t)row.T * sizeof *target) : row.target;

    shape.T = row.T;
    int length = synthetic_draw(s->task, synthetic_complete(s->task, shape), r, row.id, target);
    if (row.length)
        row.length[0] = length;
    if (row.whole) {
        row.target[0] = target[0];
        free(target);
    }
}

static void rows_batch(const Source *source, uint64_t number, Batch batch)
{
    Random r = random_stream(source->seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++)
        make_row((const RowSource *)source, synthetic_row(r, (uint64_t)b), batch_row(batch, b));
}

static void rows_row(const Source *source, size_t k, Batch row)
{
    RowSource s = *(const RowSource *)source;

    s.shape.test = true;
    make_row(&s, synthetic_row(held_back(), k), row);
}

static size_t rows_rows(const Source *source, int T)
{
    (void)source, (void)T;
    return ROWS_HELD_BACK;
}

RowSource source_rows(const Synthetic *task, SyntheticShape shape)
{
    return (RowSource){ .source = { .batch = rows_batch,
                                    .row = rows_row,
                                    .rows = rows_rows,
                                    .chance = synthetic_chance(task, shape),
                                    .counted = true,
                                    .whole = task->classes > 0,
                                    .padded = task->classes > 0,
                                    .target = "answer" },
                        .task = task,
                        .shape = synthetic_alphabet(task, shape) };
}

static void lra_batch(const Source *source, uint64_t number, Batch batch)
{
    const LraSource *s = (const LraSource *)source;
    Random r = random_stream(source->seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++) {
        Batch row = batch_row(batch, b);

        *row.length = lra_row(s->train, random_below(r, (uint64_t)b, s->train->rows), row);
    }
}

static void lra_held_back(const Source *source, size_t k, Batch row)
{
    *row.length = lra_row(((const LraSource *)source)->held_back, k, row);
}

static size_t lra_rows(const Source *source, int T)
{
    (void)T;
    return ((const LraSource *)source)->held_back->rows;
}

LraSource source_lra(const LraRows *train, const LraRows *held_back_rows, double chance)
{
    return (LraSource){ .source = { .batch = lra_batch,
                                    .row = lra_held_back,
                                    .rows = lra_rows,
                                    .chance = chance,
                                    .counted = true,
                                    .whole = true,
                                    .padded = true,
                                    .target = "answer" },
                        .train = train,
                        .held_back = held_back_rows };
}
