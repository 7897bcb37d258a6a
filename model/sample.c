#include "model/sample.h"

#include "ops/elementary.h"
#include "ops/error.h"

#include <stdlib.h>

int sample_likeliest(const real *logits, int V)
{
    real top = row_max(logits, V, -R(HUGE_VAL));
    int c = 0;

    while (c < V - 1 && logits[c] < top)
        c++;
    return c;
}

/* The first token at which the sum of probabilities passes u. */
static int draw(real *logits, int V, double temperature, double u)
{
    real top = row_max(logits, V, -R(HUGE_VAL)), by = R(1 / fmax(temperature, 1e-30));
    double sum = 0, passed = 0;
    int c;

    if (temperature == 0)
        return sample_likeliest(logits, V);
    for (int j = 0; j < V; j++) {
        logits[j] = exp_real((logits[j] - top) * by);
        sum += (double)logits[j];
    }
    for (c = 0; c < V - 1; c++)
        if ((passed += (double)logits[c]) > u * sum)
            break;
    return c;
}

void model_sample(Tape *tape, const Model *model, Sampling s, int *out)
{
    int V = model->config.vocab, context = model->config.context, total = s.prompt_n + s.n;
    int *id = xmalloc((size_t)total * sizeof *id);
    Random r = random_stream(s.seed, RANDOM_SAMPLE, 0);

    if (s.prompt_n < 1)
        BUG("sample: no prompt");
    memcpy(id, s.prompt, (size_t)s.prompt_n * sizeof *id);
    for (int t = s.prompt_n; t < total; t++) {
        int T = t < context ? t : context;

        tape_reset(tape);
        Tensor *logits = model_logits(tape, model, id + t - T, 1, T, 0);
        id[t] = draw(logits->data + (size_t)(T - 1) * (size_t)V, V, s.temperature,
                     random_uniform(r, (uint64_t)t));
        out[t - s.prompt_n] = id[t];
    }
    free(id);
}
