#include "training/evaluate.h"

#include "model/sample.h"
#include "ops/ops.h"

/* One by one, so that sums have the same bits for any size of batch. */
static void add_batch(Evaluation *sum, const Tensor *logits, const Tensor *loss, Batch batch)
{
    int V = tensor_cols(logits);

    for (int i = 0; i < batch.B * batch_targets(batch); i++) {
        sum->loss += (double)loss->data[i];
        sum->targets += batch.target[i] >= 0;
        if (!isnan(sum->accuracy) && batch.target[i] >= 0)
            sum->accuracy +=
                sample_likeliest(logits->data + (size_t)i * (size_t)V, V) == batch.target[i];
    }
}

Evaluation evaluate(Tape *tape, const Model *model, const Source *source, int B, size_t rows)
{
    return evaluate_until(tape, model, source, B, rows, &(volatile sig_atomic_t){ 0 });
}

Evaluation evaluate_until(Tape *tape, const Model *model, const Source *source, int B, size_t rows,
                          const volatile sig_atomic_t *stop)
{
    int T = model->config.context;
    Arena *mem = arena_new();
    Batch batch = source_shape(source_batch(source, mem, B * T), B, T);
    size_t all = source->rows(source, T), n = rows == 0 || rows > all ? all : rows;
    Evaluation sum = { .accuracy = source->counted ? 0 : (double)NAN };
    bool before = tape->forward_only;

    tape->forward_only = true;
    for (size_t k = 0; k < n && !*stop; k += (size_t)B) {
        batch.B = n - k < (size_t)B ? (int)(n - k) : B;
        for (int b = 0; b < batch.B; b++)
            source->row(source, (k + (size_t)b) * all / n, batch_row(batch, b));
        tape_reset(tape);
        Tensor *logits = model_outputs(tape, model, batch, 0);
        add_batch(&sum, logits, op_cross_entropy(tape, logits, batch.target), batch);
    }
    tape->forward_only = before;
    tape_reset(tape);
    arena_free(mem);
    return (Evaluation){ sum.loss / sum.targets, sum.accuracy / sum.targets, sum.targets };
}
