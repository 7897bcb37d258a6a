/* Rows of labelled texts, drawn in any order. */
#include "ops/base/random.h"
#include "training/source.h"

static void labels_batch(const Source *source, uint64_t number, Batch batch)
{
    const LabelSource *s = (const LabelSource *)source;
    const Random r = random_stream(source->seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++)
        label_rows_put(s->train, random_below(r, (uint64_t)b, s->train->rows), batch_row(batch, b));
}

static void labels_row(const Source *source, size_t k, Batch row)
{
    label_rows_put(((const LabelSource *)source)->held_back, k, row);
}

static size_t labels_rows(const Source *source, int T)
{
    (void)T;
    return ((const LabelSource *)source)->held_back->rows;
}

LabelSource source_labels(const LabelRows *train, const LabelRows *held_back, const Config *c)
{
    return (LabelSource){ .source = { .batch = labels_batch,
                                      .row = labels_row,
                                      .rows = labels_rows,
                                      .chance = 1.0 / c->classes,
                                      .counted = true,
                                      .whole = true,
                                      .padded = true,
                                      .paired = config_has_towers(c),
                                      .target = "row" },
                          .train = train,
                          .held_back = held_back };
}
