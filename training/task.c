#include "training/task.h"

#include "data/masking.h"

static const uint64_t WINDOW_SEED = 0x6d61736b6564; /* of no run, but for one that asks for it */

int task_targets(const Config *c, int T)
{
    return c->task == TASK_MLM ? masking_targets(T) : T;
}

void task_batch(const Config *c, Bytes from, uint64_t seed, uint64_t number, Batch batch)
{
    corpus_batch(from, seed, number, batch);
    if (c->task == TASK_MLM)
        masking_apply(batch, config_mask(c), seed, number);
}

void task_window(const Config *c, Bytes from, size_t k, Batch row)
{
    corpus_window(from, k, row);
    if (c->task == TASK_MLM)
        masking_apply(row, config_mask(c), WINDOW_SEED, k);
}
