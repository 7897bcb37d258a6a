/* Other people's models, as their papers and transformers' source have them: naive, in double. */
#ifndef TESTS_FOREIGN_H
#define TESTS_FOREIGN_H

#include "model/safetensors.h"
#include "ops/base/arena.h"

typedef struct {
    const char *class_name; /* "LlamaForCausalLM", "ArceeForCausalLM", "GPT2LMHeadModel" */
    int layers, heads, width, hidden, vocab;
    double base, eps; /* 0: 10000, 1e-5 */
    int kv_heads;     /* of keys and values; 0: all have their own */
} Foreign;

/*
 * Logits (T, vocab) of the tokens by the tensors of a file, in `mem`. Fails where
 * one is missing, has another shape, is not finite, or is there without need.
 */
double *foreign_logits(Arena *mem, Foreign f, const Safetensors *s, const int *id, int T);

#endif
