/* Small models to look at the attention matrices of. */
#ifndef TESTS_STUDIED_H
#define TESTS_STUDIED_H

#include "data/tokens.h"
#include "tests/small.h"
#include "training/analysis.h"

enum { LENGTH = 8, VOCAB = 11 };

/* A model with a context of 8, and a text for seven windows. */
typedef struct {
    Small *s;
    Tape tape;
    Tokens text;
    Study study;
} Studied;

Config studied_config(const Attention *a);
Studied studied_open(Config c, int threads);
void studied_close(Studied *x);

/* Causal; causal, but unmasked for the study; or masked. */
enum { CAUSAL, UNMASKED, MASKED, KINDS };
bool can_study(const Attention *a, int kind);
Studied studied_kind(Config c, int kind, int threads);

#endif
