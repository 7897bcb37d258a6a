/* Text: predict the next token, the masked tokens, or which text a window is from. */
#include "ops/base/error.h"
#include "ops/base/random.h"
#include "training/source.h"

#include <math.h>

static const uint64_t HELD_BACK = 0x6d61736b6564; /* a seed that no run has by chance */

static void text_batch(const Source *source, uint64_t number, Batch batch)
{
    const TextSource *s = (const TextSource *)source;

    (s->shuffled ? tokens_shuffled : tokens_batch)(s->train, source->seed, number, batch);
    if (s->mask >= 0)
        masking_apply(batch, s->mask, s->masking, source->seed, number);
}

void source_hide(const Config *c, Masking how, size_t k, Batch row)
{
    if (c->task == TASK_MLM)
        masking_apply(row, config_mask(c), how, HELD_BACK, k);
}

static void text_row(const Source *source, size_t k, Batch row)
{
    const TextSource *s = (const TextSource *)source;

    tokens_window(s->validation, k, row);
    if (s->mask >= 0)
        masking_apply(row, s->mask, s->masking, HELD_BACK, k);
}

static size_t text_rows(const Source *source, int T)
{
    return tokens_windows(((const TextSource *)source)->validation, T);
}

static void check_length(Tokens train, Tokens validation, int context)
{
    size_t least = (size_t)context + 1;

    if (train.n < least || validation.n < least)
        die(EXIT_DATA,
            "%zu tokens to train on and %zu to validate are too few for a context of %d, which "
            "needs %zu of each: use a longer text%s or a smaller --block-size",
            train.n, validation.n, context, least,
            train.n < least ? "" : ", more text to validate with");
}

TextSource source_text(Tokens train, Tokens validation, int context, int mask)
{
    TextSource s = { .source = { .batch = text_batch,
                                 .row = text_row,
                                 .rows = text_rows,
                                 .chance = (double)NAN,
                                 .counted = mask >= 0,
                                 .target = mask >= 0 ? "masked token" : "token" },
                     .train = train,
                     .validation = validation,
                     .mask = mask };

    check_length(train, validation, context);
    if (mask < 0) {
        s.source.bytes[0] = (double)train.bytes / (double)train.n;
        s.source.bytes[1] = (double)validation.bytes / (double)validation.n;
    }
    return s;
}

/* One window of text `which` in the row; there are no targets after it. */
static void class_row(Batch row, const Token *from, int which)
{
    for (int t = 0; t < row.T; t++)
        row.id[t] = from[t];
    row.target[0] = which;
}

static void class_batch(const Source *source, uint64_t number, Batch batch)
{
    const ClassSource *s = (const ClassSource *)source;
    Random r = random_stream(source->seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++) {
        uint64_t which = random_below(r, 2 * (uint64_t)b, (uint64_t)s->n);
        Tokens from = s->train[which];
        size_t starts = from.n - (size_t)batch.T + 1;

        class_row(batch_row(batch, b), from.at + random_below(r, 2 * (uint64_t)b + 1, starts),
                  (int)which);
    }
}

static size_t windows_of(const ClassSource *s, int T)
{
    size_t least = s->validation[0].n;

    for (int i = 1; i < s->n; i++)
        least = s->validation[i].n < least ? s->validation[i].n : least;
    return least / (size_t)T;
}

/* The same number of windows of every text, spread over it; text after text, so that rows spread
 * evenly over all are evenly from all texts. */
static void class_held_back(const Source *source, size_t k, Batch row)
{
    const ClassSource *s = (const ClassSource *)source;
    const size_t windows = windows_of(s, row.T), which = k / windows;
    const Tokens from = s->validation[which];
    const size_t all = from.n / (size_t)row.T, window = k % windows * all / windows;

    class_row(row, from.at + window * (size_t)row.T, s->label ? s->label[which] : (int)which);
}

static size_t class_rows(const Source *source, int T)
{
    const ClassSource *s = (const ClassSource *)source;

    return windows_of(s, T) * (size_t)s->n;
}

void source_held_back_classes(ClassSource *s)
{
    s->source = (Source){ .batch = class_batch,
                          .row = class_held_back,
                          .rows = class_rows,
                          .chance = 1.0 / s->n,
                          .counted = true,
                          .whole = true,
                          .target = "window" };
}

void source_classes(ClassSource *s, int context)
{
    source_held_back_classes(s);
    for (int i = 0; i < s->n; i++)
        check_length(s->train[i], s->validation[i], context);
}
