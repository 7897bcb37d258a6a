/* Text that a model writes. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "model/model.h"

/*
 * `n` tokens after those of the prompt, into `out`: each drawn from the model's
 * probabilities at that temperature (0: the likeliest). The prompt has at least
 * one token. The tape is reset for each.
 */
typedef struct {
    const int *prompt;
    int prompt_n, n;
    double temperature;
    uint64_t seed;
} Sampling;
void model_sample(Tape *tape, const Model *model, Sampling s, int *out);

/* The likeliest of V tokens; of several the first. */
int sample_likeliest(const real *logits, int V);

#endif
