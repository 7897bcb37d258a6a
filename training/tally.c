#include "training/tally.h"

static void see(void *ctx, const Answer *a)
{
    Tally *t = ctx;
    int asked = 0, right = 0;

    for (int i = 0; i < batch_targets(a->row); i++) {
        const int target = a->row.target[i];

        if (target < 0)
            continue;
        const int said = a->said[i];
        score_add(&t->targets, (double)a->loss[i], 0, 0);
        asked++;
        right += said == target;
        answers_add(&t->answers, target, said);
    }
    t->targets.right += right;
    t->exact += right == asked;
    score_add(&t->rows, (double)right / asked, 0, 0);
}

Tally tally_take(Tape *tape, const Model *model, const Source *source, size_t rows, Arena *mem)
{
    const int T = model->config.context;
    Tally t = { .answers = answers_new(mem, config_outputs(&model->config)) };

    evaluate_each(tape, model,
                  &(Reading){ source, perplexity_batch(&model->config, T), rows, see, &t, NULL });
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

    for (int i = 0; i < t->answers.V; i++)
        most = fmax(most, t->answers.asked[i]);
    return most / t->targets.targets;
}

double tally_f1(const Tally *t)
{
    return answers_f1(&t->answers);
}
