/* The command line of ./train with all defaults resolved, before anything is created. */
#ifndef TOOLS_TRAIN_JOB_H
#define TOOLS_TRAIN_JOB_H

#include "tools/common/settings.h"
#include "training/train.h"

typedef struct {
    const Program *program;
    const char *command; /* what the program was called as */
    Config config;       /* except for the vocabulary, which may depend on the text */
    TrainOptions training;
    const char *task;
    const Synthetic *made; /* a synthetic task; NULL: text */
    SyntheticShape shape;
    const char *data; /* a folder with its rows */
    const char *const *file;
    int files;
    const char *tokenizer, *validation_path, *out_dir;
    double held_back, temperature;
    uint64_t seed;
    int threads, sample_tokens;
    bool recompute;    /* of blocks, in the backward pass */
    bool preset;       /* there is a published loss to compare with */
    bool other_corpus; /* the text may have changed */
    bool tensorboard;
    Saved *from; /* the run to resume; NULL: a new run */
} Job;

/* Dies (EXIT_USAGE) if options are not valid or contradict each other. */
Job job_read(int argc, char **argv);

/* Every option with its value, and the files, for resuming; in `mem`. */
const Meta *job_options(const Job *job, Arena *mem, int *n);

/* Whether an option is about this part of a run, or this machine: resuming does not restore it. */
bool job_passes(const char *option);

/* The configuration as JSON; and as Markdown, for free(). */
void job_json(FILE *out, void *job);
char *job_markdown(const Job *job);

/* What needs memory. */
Load job_load(const Job *job);

/* Checks memory once the vocabulary is known. */
void job_check_memory(const Job *job);

#endif
