#include "training/tally.h"

static void see(void *ctx, const Answer *a)
{
    Tally *t = ctx;
    int asked = 0, right = 0;

    for (int i = 0; i < batch_targets(a->row); i++) {
        const int target = a->row.target[i];

        if (target < 0)
            continue;
        const int said = answer_of(a, i);
        score_add(&t->targets, (double)a->loss[i], 0, 0);
        asked++;
        right += said == target;
        t->asked[target]++;
        t->said[said]++;
        t->both[target] += said == target;
    }
    t->targets.right += right;
    t->exact += right == asked;
    score_add(&t->rows, (double)right / asked, 0, 0);
}

Tally tally_take(Tape *tape, const Model *model, const Source *source, size_t rows, Arena *mem)
{
    const int V = config_outputs(&model->config), T = model->config.context;
    double *numbers = arena_zeros(mem, 3 * (size_t)V * sizeof *numbers);
    Tally t = { .V = V, .asked = numbers, .said = numbers + V, .both = numbers + 2 * V };

    evaluate_each(
        tape, model,
        &(Reading){ source, perplexity_batch(T), rows, see, &t, &(volatile sig_atomic_t){ 0 } });
    return t;
}

double tally_accuracy(const Tally *t)
{
    return t->targets.right / t->targets.targets;
}

double tally_error(const Tally *t)
{
    return score_error(&t->rows);
}

double tally_exact(const Tally *t)
{
    return t->exact / t->rows.targets;
}

double tally_guess(const Tally *t)
{
    double most = 0;

    for (int i = 0; i < t->V; i++)
        most = fmax(most, t->asked[i]);
    return most / t->targets.targets;
}

double tally_f1(const Tally *t)
{
    double sum = 0;
    int occur = 0;

    for (int i = 0; i < t->V; i++)
        if (t->asked[i] + t->said[i] > 0) {
            sum += 2 * t->both[i] / (t->asked[i] + t->said[i]);
            occur++;
        }
    return sum / occur;
}
