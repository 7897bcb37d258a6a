/* A run in the test's folder, in a process of its own; what it leaves. */
#ifndef TESTS_JOB_H
#define TESTS_JOB_H

#include "training/train.h"

/* Ten steps on the file "text", as job_open() has them. */
typedef struct {
    TrainOptions options;
    uint64_t seed;
    bool resume;
    int threads;
    Config config;
    volatile sig_atomic_t stop;
    int kill_at, ask_at; /* the batches that kill the process, and ask it to stop; */
    int break_at;    /* the batch with which a weight becomes `broken` (infinite), one that no */
    bool break_read; /* position reads, or one that all read */
    real broken;
    unsigned skipped; /* bit s: in step s the loss is not finite */
    int stop_at_row;  /* the row to be judged by that asks it to stop; 0: none */
    bool test;        /* the rows to be judged by are test data, too */
    bool shuffled;    /* the text */
    uint64_t corpus;  /* its hash; a run that goes on with another one forgets its best loss */
} Job;
extern Job job;

void job_open(void);

/* Trains in the folder: from the start, or on. For exit_code_of(), as progress goes to stderr. */
void do_job(const char *path);
void check_trains(void);

/* The text of the folder, in two parts, as tokens. */
TextSource lesson_open(void);
void lesson_close(TextSource *s);

Model model_of(const char *name, Arena *mem);

/* The step of the last checkpoint. */
int saved_step(void);

/* The files of the last and the best weights as they are, in memory. */
typedef struct {
    unsigned char *at[2];
    size_t n[2];
} Weights;

/* Runs the job with that number of threads. */
Weights trained_weights(int threads);
void check_same_files(const Weights *a, const Weights *b, const char *what);
void weights_free(Weights w);

#endif
