/* What ./train says. */
#ifndef TOOLS_TRAIN_PRINT_H
#define TOOLS_TRAIN_PRINT_H

#include "data/corpus.h"
#include "tools/train/job.h"

#include <stdnoreturn.h>

typedef struct {
    const Job *job;
    const Model *model;
    const Source *source, *test; /* test: what nothing was chosen by; NULL: there is none */
    const Tokenizer *tokenizer;  /* NULL: rows are made, */
    const Corpus *corpus;        /* of no text */
    const Run *run;
} Show;

/* "text-cosformer-mlm", of the first file's name: what a run is called. */
Text job_name(const Job *job);

void show_banner(const Show *s);
void show_picture(const Show *s); /* loss.svg */
void show_result(const Show *s, const TrainResult *r, Tape *tape, double setup);

/* Why the run ended, and that of a run that diverged; `signal`: that which asked for it. */
void show_end(const Show *s, const TrainResult *r, int signal);
noreturn void die_diverged(const Show *s, const TrainResult *r);

/* The command that continues the run, as a shell takes it. */
void show_command(const Show *s, const TrainResult *r);

/* Text of the model's own, or what it fills in, or how it answers. */
void show_sample(const Show *s, Tape *tape, const volatile sig_atomic_t *stop);

#endif
