/* Small models to test with. */
#ifndef TESTS_SMALL_H
#define TESTS_SMALL_H

#include "model/model.h"
#include "model/safetensors.h"
#include "tests/promises.h"

/*
 * Softmax with every position, feed-forward layer and norm, tied or not, with
 * biases or not; then other attentions and layers, with settings.
 */
enum { PLAIN_VARIANTS = 16, VARIANTS = 73, MASK = 5 };
Config small_variant(int i); /* 2 layers, 2 heads, width 12, vocabulary 11, context 8 */

/* A setting of the model's attention by the words of its option; a set gains the one named. */
void small_set(Config *c, const char *name, const char *value);

/* Without RoPE a bias of k adds the same to all scores of a row: a softmax ignores it. */
bool small_drops_key_bias(const Config *c);

/*
 * A model and a batch of random tokens for it; the subject is its losses, of the
 * parameters that it trains.
 */
typedef struct {
    Arena *mem;
    Model model;
    Batch batch;
    uint64_t mask; /* dropout's */
    Subject subject;
} Small;

Small *small_open(Config c, int B, int T);
void small_close(Small *s);

/*
 * A model with random parameters, and one sequence. Where there are biases, q and k are around 2:
 * so no quotient of features is one by almost 0.
 */
Small *small_for_decoding(Config c, int tokens);

/* The logits of B sequences of T tokens, in memory of the model's; its context is no limit. */
real *small_logits(const Small *s, const int *id, int B, int T, int threads);

/* The parameter of that name; NULL: there is none. */
Tensor *param_named(const Params *params, const char *name);

/* The parameter of that name is taken out of the subject. */
void small_leave_out(Small *s, const char *name);

/* Every parameter normal with that scale, gains and biases as well. */
void small_overwrite(Small *s, double scale);

/* The mean loss of the batch; its gradient times `by` is added to those of the parameters. */
double small_learn(const Small *s, Tape *tape, double by);

/* A run that has come to that step, whose tokens are bytes. */
void small_save(const Model *model, const char *path, int step);
void small_save_with(const Model *model, const char *path, int step, const Meta *option);

/* The model saved there, and the rest of the file for safetensors_free(). */
Safetensors *load_checkpoint(const char *path, Model *model, Arena *mem);

/* The square root of the plain sum of squares of all gradients. */
double plain_norm(const Params *params);

bool same_parameters(const Model *a, const Model *b);

#endif
