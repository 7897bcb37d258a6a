/*
 * What changes in n equal parts of a run of S updates: update s, counted from 0, is in part
 * floor(s n / S), so ceil(i S / n) updates come before part i.
 */
#include "ops/base/random.h"
#include "training/train.h"

/* An estimate may go on beyond the last update. */
static int part_of(const TrainOptions *o, uint64_t number, int n)
{
    const uint64_t part = number / (uint64_t)o->accumulation * (uint64_t)n / (uint64_t)o->steps;

    return part < (uint64_t)n ? (int)part : n - 1;
}

static int before_part(const TrainOptions *o, int i, int n)
{
    return (int)(((int64_t)i * o->steps + n - 1) / n);
}

int batches_rows(const TrainOptions *o, uint64_t number)
{
    return o->sizes ? o->size[part_of(o, number, o->sizes)] : o->batch;
}

int batches_length(const TrainOptions *o, int context, uint64_t seed, uint64_t number)
{
    if (o->lengths == 0)
        return context;
    if (o->in_turn)
        return o->length[part_of(o, number, o->lengths)];
    const Random r = random_stream(seed, RANDOM_LENGTH, number);

    return o->length[random_below(r, 0, (uint64_t)o->lengths)];
}

double batches_tokens(const TrainOptions *o, int context, int steps)
{
    double rows = o->sizes ? 0 : (double)o->batch * steps;

    for (int i = 0; i < o->sizes; i++) {
        const int from = before_part(o, i, o->sizes), to = before_part(o, i + 1, o->sizes);

        rows += o->size[i] * fmax(0, fmin(steps, to) - from);
    }
    return rows * context * o->accumulation;
}

double batches_until(const TrainOptions *o, int context, Spent spent, int step)
{
    return spent.tokens + batches_tokens(o, context, step) - batches_tokens(o, context, spent.step);
}

double batches_growth(const TrainOptions *o, int step)
{
    const double done = batches_tokens(o, 1, step), next = batches_tokens(o, 1, step + 1) - done;
    const int left = o->steps - step;

    return left > 0 ? (batches_tokens(o, 1, o->steps) - done) / left / next : 1;
}
