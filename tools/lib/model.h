/* What is behind the models of attnc.h. */
#ifndef TOOLS_LIB_MODEL_H
#define TOOLS_LIB_MODEL_H

#include "tools/lib/wanted.h"

struct attnc_model {
    ModelWanted wanted;
    Tape tape;
    Arena *mem;
    Model model;
    Saved *from; /* the checkpoint; NULL: a new model */
    Tokenizer *tokenizer;
    Origin origin; /* for checkpoints */
    Optimiser optimiser;
    bool ready;     /* the optimiser has its state */
    bool averaged;  /* --ema: the tensors hold the averages, not the weights */
    int losses;     /* since the last update */
    double most;    /* tokens of a batch for which there is memory */
    Tensor *loss;   /* of the last batch; NULL: its gradient has been taken */
    double targets; /* of that batch */
};

/* Gives the optimiser its state; a model that is only used needs no memory for it. */
void model_ready(attnc_model *m);

/* With --ema, switches to the averages, or back to the weights. */
void model_exchange(attnc_model *m, bool averages);

/* Dies unless all of at[0] .. at[n-1] are from `least` to `end` - 1. */
void check_range(const char *name, const int *at, int n, int least, int end);

#endif
