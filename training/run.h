/*
 * The folder that a run leaves: config.json, log.jsonl, model.safetensors (the
 * last weights), best.safetensors (those of the best validation loss), loss.svg.
 */
#ifndef TRAINING_RUN_H
#define TRAINING_RUN_H

#include "model/checkpoint.h"

#include <stdio.h>

typedef struct Run Run;

/*
 * A line of the log, a JSON object whose keys are
 *
 *     step, split, loss, ppl, bits_per_byte, accuracy, lr, grad_norm, tokens, tok_s, seconds
 *
 * NaN where there is nothing to say: that key is left out. The loss is in nats a
 * target; only that of a causal model is one of the text, in bits a byte, and
 * only a masked one has an accuracy.
 */
typedef struct {
    int step;
    const char *split; /* "train" or "val" */
    double loss, accuracy, rate, grad_norm, tokens, tokens_per_second, seconds;
} LogLine;

/*
 * Makes the folder and its parents, and starts a new log. `path` NULL: the first
 * of runs/<name>, runs/<name>-2, ... that does not exist.
 */
Run *run_open(const char *path, const char *name, Task task);
const char *run_path(const Run *run);

/* A file of the folder, replaced at once by what `write` prints. */
void run_file(const Run *run, const char *name, void (*write)(FILE *out, void *ctx), void *ctx);

void run_log(Run *run, LogLine line);
void run_save(const Run *run, const char *name, const Model *model, CheckpointNote note);

/* Draws loss.svg from all that was logged; `floor` in nats a token, 0 if unknown. */
void run_draw(const Run *run, const char *title, double floor);

void run_close(Run *run);

#endif
