/* The output of ./train. */
#ifndef TOOLS_TRAIN_PRINT_H
#define TOOLS_TRAIN_PRINT_H

#include "data/corpus.h"
#include "tools/train/job.h"
#include "training/transfer.h"

#include <stdio.h>
#include <stdnoreturn.h>

typedef struct {
    const Job *job;
    const Model *model;
    const Source *source;
    const Tokenizer *tokenizer; /* NULL: a synthetic task, */
    const Corpus *corpus;       /* without a text */
    const Run *run;             /* NULL: a dry run */
    const Transfer *transfer;   /* of --init */
} Show;

/* Prints a line, which fits the terminal if there is one. */
void say(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "text-cosformer-mlm", from the first file's name: the name of a run. */
Text job_name(const Job *job);

void show_banner(const Show *s);
void show_picture(const Show *s); /* loss.svg */
void show_result(const Show *s, const TrainResult *r, double setup);

/* How long the run would take, after a few steps. False: interrupted. */
bool show_estimate(const Show *s, const Training *t);

/* Why the run ended, and that of a run that diverged; `signal`: that which asked for it. */
void show_end(const Show *s, const TrainResult *r, int signal);
noreturn void die_diverged(const Show *s, const TrainResult *r);

/* The command that continues the run, as a shell takes it. */
void show_command(const Show *s, const TrainResult *r);

/* Generated text, filled-in tokens, or answers. */
void show_sample(const Show *s, Tape *tape, const volatile sig_atomic_t *stop);

#endif
