#include "tools/eval/show.h"

#include "ops/base/error.h"
#include "tools/common/shown.h"

#include <stdlib.h>

/* The rows between those of two seeds: a prime, since the number of rows may be a power of 2. */
enum { APART = 1048573 };

static int targets_of(Batch row)
{
    int n = 0;

    for (int t = 0; t < batch_targets(row); t++)
        n += row.target[t] >= 0;
    return n;
}

/* Returns the number of correct targets, and adds the number of targets to `asked`. */
static int show_row(Tape *tape, const Model *model, const HeldBack *h, Batch row, int *asked)
{
    const int V = config_outputs(&model->config), n = targets_of(row);

    tape_reset(tape);
    const Tensor *logits = model_outputs(tape, model, row, 0);
    const int right = shown_answers(h->task, h->shape, row, logits->data, V);
    if (n > 1)
        printf("  %d of %d right\n", right, n);
    else
        printf("  %s\n", right ? "right" : "wrong");
    *asked += n;
    return right;
}

void show_rows(Tape *tape, const Model *model, const HeldBack *h, int n, uint64_t seed)
{
    const int T = model->config.context;
    const Text why = held_back_misfit(h, T);
    if (why.n)
        die(EXIT_USAGE, "--show has rows of the trained length, %d: %s", T, why.at);
    Arena *mem = arena_new();
    const Batch row = source_shape(source_batch(h->source, mem, T), 1, T);
    int asked = 0, right = 0;

    tape->forward_only = true;
    printf("held-back rows with predicted : correct answers\n");
    for (int i = 0; i < n; i++) {
        const uint64_t k = seed * APART + (uint64_t)i;

        h->source->row(h->source, h->fixed ? k % h->source->rows(h->source, T) : k, row);
        right += show_row(tape, model, h, row, &asked);
    }
    printf("%d of %d right (%.1f%%) in the rows above\n\n", right, asked, 100.0 * right / asked);
    tape_reset(tape);
    arena_free(mem);
}
