#include "training/evaluate.h"

#include "model/sample.h"
#include "ops/ops.h"

void evaluate_answers(Tape *tape, const Model *model, Batch batch, real *loss, int *said)
{
    const Asked asked = model_asked(tape, model, batch);
    Tensor *logits = model_answers(tape, model, batch, asked, 0);
    const Tensor *each = op_cross_entropy(tape, logits, asked.target);
    const int V = tensor_cols(logits);

    for (int i = 0; i < asked.rows; i++)
        loss[i] = 0;
    for (int i = 0; said && i < asked.rows; i++)
        said[i] = -1;
    for (int k = 0; k < asked.n; k++) {
        if (asked.target[k] < 0)
            continue;
        loss[asked.at[k]] = each->data[k];
        if (said)
            said[asked.at[k]] = sample_likeliest(logits->data + (size_t)k * (size_t)V, V);
    }
}

/* One by one, so that sums have the same bits for any size of batch. */
static void see_batch(const Reading *r, const real *loss, const int *said, Batch batch)
{
    for (int b = 0; b < batch.B; b++) {
        size_t at = (size_t)b * (size_t)batch_targets(batch);

        r->see(r->ctx, &(Answer){ batch_row(batch, b), loss + at, said + at });
    }
}

void evaluate_each(Tape *tape, const Model *model, const Reading *r)
{
    const Source *source = r->source;
    int T = model->config.context, B = r->B;
    Arena *mem = arena_new();
    Batch batch = source_shape(source_batch(source, mem, B * T), B, T);
    size_t all = source->rows(source, T), n = r->rows == 0 || r->rows > all ? all : r->rows;
    const size_t targets = (size_t)B * (size_t)batch_targets(batch);
    real *loss = arena_take(mem, targets * sizeof *loss);
    int *said = arena_take(mem, targets * sizeof *said);
    bool before = tape->forward_only;

    tape->forward_only = true;
    for (size_t k = 0; k < n && !(r->stop && *r->stop); k += (size_t)B) {
        batch.B = n - k < (size_t)B ? (int)(n - k) : B;
        for (int b = 0; b < batch.B; b++)
            source->row(source, (k + (size_t)b) * all / n, batch_row(batch, b));
        tape_reset(tape);
        evaluate_answers(tape, model, batch, loss, said);
        see_batch(r, loss, said, batch);
    }
    tape->forward_only = before;
    tape_reset(tape);
    arena_free(mem);
}

Answers answers_new(Arena *mem, int V)
{
    double *numbers = arena_zeros(mem, 3 * (size_t)V * sizeof *numbers);

    return (Answers){ V, numbers, numbers + V, numbers + 2 * V };
}

void answers_add(Answers *a, int asked, int said)
{
    a->asked[asked]++;
    a->said[said]++;
    a->both[asked] += said == asked;
}

double answers_f1(const Answers *a)
{
    double sum = 0;
    int occur = 0;

    for (int i = 0; i < a->V; i++)
        if (a->asked[i] + a->said[i] > 0) {
            sum += 2 * a->both[i] / (a->asked[i] + a->said[i]);
            occur++;
        }
    return sum / occur;
}

typedef struct {
    Evaluation sum;
    Answers answers; /* of a class per sequence */
} Judgement;

static void add_row(void *ctx, const Answer *a)
{
    Judgement *j = ctx;
    Evaluation *sum = &j->sum;

    for (int i = 0; i < batch_targets(a->row); i++) {
        sum->loss += (double)a->loss[i];
        sum->targets += a->row.target[i] >= 0;
        if (isnan(sum->accuracy) || a->row.target[i] < 0)
            continue;
        sum->accuracy += a->said[i] == a->row.target[i];
        if (a->row.whole)
            answers_add(&j->answers, a->row.target[i], a->said[i]);
    }
}

Evaluation evaluate(Tape *tape, const Model *model, Reading r)
{
    Arena *mem = arena_new();
    Judgement j = { .sum.accuracy = r.source->counted ? 0 : (double)NAN };
    const Evaluation *sum = &j.sum;

    r.see = add_row, r.ctx = &j;
    j.answers = answers_new(mem, config_outputs(&model->config));
    evaluate_each(tape, model, &r);
    const Evaluation e = { .loss = sum->loss / sum->targets,
                           .accuracy = sum->accuracy / sum->targets,
                           .f1 = r.source->whole ? answers_f1(&j.answers) : (double)NAN,
                           .targets = sum->targets };
    arena_free(mem);
    return e;
}
