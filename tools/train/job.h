/* What the words after ./train ask for, settled: nothing is open any more, and nothing is made yet.
 */
#ifndef TOOLS_TRAIN_JOB_H
#define TOOLS_TRAIN_JOB_H

#include "tools/common/settings.h"
#include "training/train.h"

typedef struct {
    const Program *program;
    const char *command; /* what the program was called as */
    Config config;       /* but for the vocabulary, which the text may have to say */
    TrainOptions training;
    const char *task;
    const Synthetic *made; /* its rows are made; NULL: they are of text */
    SyntheticShape shape;
    const char *data; /* a folder with such rows */
    const char *const *file;
    int files;
    const char *tokenizer, *validation_path, *out_dir;
    double held_back, temperature;
    uint64_t seed;
    int threads, sample_tokens;
    bool recompute;    /* the blocks, on the way back */
    bool preset;       /* there is a number to compare with */
    bool other_corpus; /* it may be another one than before */
    bool tensorboard;
    Saved *from; /* the run to go on with; NULL: a new one */
} Job;

/* Dies (EXIT_USAGE) where the words mean nothing, or not together. */
Job job_read(int argc, char **argv);

/* Every option with its value, and the files, for whoever goes on; in `mem`. */
const Meta *job_options(const Job *job, Arena *mem, int *n);

/* Whether an option is about this part of a run, or this machine: resuming does not restore it. */
bool job_passes(const char *option);

/* The configuration as JSON; and as Markdown, for free(). */
void job_json(FILE *out, void *job);
char *job_markdown(const Job *job);

/* What takes memory. */
Load job_load(const Job *job);

/* The vocabulary is known now: is there memory? */
void job_check_memory(const Job *job);

#endif
