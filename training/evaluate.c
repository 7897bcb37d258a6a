#include "training/evaluate.h"

#include "model/sample.h"
#include "ops/ops.h"

int answer_of(const Answer *a, int t)
{
    return sample_likeliest(a->logits + (size_t)t * (size_t)a->V, a->V);
}

/* One by one, so that sums have the same bits for any size of batch. */
static void see_batch(const Reading *r, const Tensor *logits, const Tensor *loss, Batch batch)
{
    for (int b = 0; b < batch.B; b++) {
        size_t at = (size_t)b * (size_t)batch_targets(batch);
        int V = tensor_cols(logits);

        r->see(r->ctx,
               &(Answer){ batch_row(batch, b), loss->data + at, logits->data + at * (size_t)V, V });
    }
}

void evaluate_each(Tape *tape, const Model *model, const Reading *r)
{
    const Source *source = r->source;
    int T = model->config.context, B = r->B;
    Arena *mem = arena_new();
    Batch batch = source_shape(source_batch(source, mem, B * T), B, T);
    size_t all = source->rows(source, T), n = r->rows == 0 || r->rows > all ? all : r->rows;
    bool before = tape->forward_only;

    tape->forward_only = true;
    for (size_t k = 0; k < n && !*r->stop; k += (size_t)B) {
        batch.B = n - k < (size_t)B ? (int)(n - k) : B;
        for (int b = 0; b < batch.B; b++)
            source->row(source, (k + (size_t)b) * all / n, batch_row(batch, b));
        tape_reset(tape);
        Tensor *logits = model_outputs(tape, model, batch, 0);
        see_batch(r, logits, op_cross_entropy(tape, logits, batch.target), batch);
    }
    tape->forward_only = before;
    tape_reset(tape);
    arena_free(mem);
}

static void add_row(void *ctx, const Answer *a)
{
    Evaluation *sum = ctx;

    for (int i = 0; i < batch_targets(a->row); i++) {
        sum->loss += (double)a->loss[i];
        sum->targets += a->row.target[i] >= 0;
        if (!isnan(sum->accuracy) && a->row.target[i] >= 0)
            sum->accuracy += answer_of(a, i) == a->row.target[i];
    }
}

Evaluation evaluate(Tape *tape, const Model *model, const Source *source, int B, size_t rows)
{
    return evaluate_until(tape, model, source, B, rows, &(volatile sig_atomic_t){ 0 });
}

Evaluation evaluate_until(Tape *tape, const Model *model, const Source *source, int B, size_t rows,
                          const volatile sig_atomic_t *stop)
{
    Evaluation sum = { .accuracy = source->counted ? 0 : (double)NAN };
    const Reading r = { source, B, rows, add_row, &sum, stop };

    evaluate_each(tape, model, &r);
    return (Evaluation){ sum.loss / sum.targets, sum.accuracy / sum.targets, sum.targets };
}
