#include "training/evaluate.h"

#include "model/sample.h"
#include "ops/error.h"
#include "ops/ops.h"
#include "training/task.h"

#include <stdlib.h>

/* One by one, so that the sum has the same bits whatever batches it is made of. */
static void add_to(double *sum, const Tensor *x)
{
    for (size_t i = 0; i < x->n; i++)
        *sum += (double)x->data[i];
}

/* How many targets are the likeliest token. */
static int count_right(const Tensor *logits, const int *target)
{
    int V = tensor_cols(logits), right = 0;

    for (int i = 0; i < tensor_rows(logits); i++)
        right += target[i] >= 0 &&
                 target[i] == sample_likeliest(logits->data + (size_t)i * (size_t)V, V);
    return right;
}

Evaluation evaluate(Tape *tape, const Model *model, Bytes text, int B, size_t windows)
{
    const Config *c = &model->config;
    int T = c->context, *id = xmalloc((size_t)(2 * B * T) * sizeof *id);
    Batch batch = { B, T, id, id + B * T };
    size_t all = corpus_windows(text, T), n = windows == 0 || windows > all ? all : windows;
    double loss = 0, right = 0, targets = (double)n * task_targets(c, T);
    bool before = tape->forward_only;

    tape->forward_only = true;
    for (size_t k = 0; k < n; k += (size_t)B) {
        batch.B = n - k < (size_t)B ? (int)(n - k) : B;
        for (int b = 0; b < batch.B; b++)
            task_window(c, text, (k + (size_t)b) * all / n, batch_row(batch, b));
        tape_reset(tape);
        Tensor *logits = model_logits(tape, model, batch.id, batch.B, T, 0);
        if (c->task == TASK_MLM)
            right += count_right(logits, batch.target);
        add_to(&loss, op_cross_entropy(tape, logits, batch.target));
    }
    tape->forward_only = before;
    tape_reset(tape);
    free(id);
    return (Evaluation){ loss / targets, c->task == TASK_MLM ? right / targets : (double)NAN };
}
