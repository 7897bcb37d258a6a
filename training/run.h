/*
 * The folder of a run: config.json, log.jsonl, model.safetensors (the latest weights),
 * previous.safetensors (those saved before them), best.safetensors (those with the lowest
 * validation loss), loss.svg.
 */
#ifndef TRAINING_RUN_H
#define TRAINING_RUN_H

#include "ops/base/file.h"
#include "training/kept.h"

#include <stdio.h>

typedef struct Run Run;

/*
 * A line of the log, a JSON object whose keys are
 *
 *     step, split, loss, ppl, bits_per_byte, accuracy, macro_f1, lr, grad_norm, tokens, tok_s,
 *     seconds, skipped, time, peak_memory
 *
 * A key whose value is not finite is left out, and so is `skipped` unless it is true. The loss is
 * in nats per target; only causal text models also have bits per byte.
 */
typedef struct {
    int step;
    bool skipped;      /* the update, as skips_add() found: weights are unchanged */
    bool last;         /* the last line of this part of the run, with the peak memory */
    const char *split; /* "train", "val", or at the end "final" and "test": on all validation and
                          test data or, with a time limit, on as much as there was time for */
    double loss, bits, accuracy, f1, rate, grad_norm, tokens, tokens_per_second;
    double seconds; /* of this part of the run: the log has those of all parts */
} LogLine;

/*
 * Creates the folder and its parents, locks it (training/folder.h), and starts a new log. If
 * `path` is NULL: the first of runs/<name>, runs/<name>-2, ... that does not exist. With
 * `overwrite`, an existing run is replaced as soon as the new one has a checkpoint. The origin is
 * saved in every checkpoint and must outlive the run.
 */
Run *run_open(const char *path, const char *name, bool overwrite, const Origin *origin);

/* Resumes a run in its folder from that checkpoint: log lines of later steps, and those
 * written at its end, are dropped. */
Run *run_resume(const char *path, const Saved *from, const Origin *origin);
const char *run_path(const Run *run);

/* Atomically replaces a file in the folder with what `print` prints. */
void run_file(const Run *run, const char *name, Print *print, void *ctx);

/* Logs to a TensorBoard file as well. `first`: the first step that will be logged, or -1 for a new
 * run; `config`: its description in Markdown. */
void run_board(Run *run, int first, const char *config);

/* Logs the start of a part of the run, after this step: a line with the split "start", whose "run"
 * is an object with these members. */
void run_start(Run *run, int step, const char *members);
void run_log(Run *run, LogLine line);

/* Saves the latest weights, keeping the previous checkpoint; or saves the best weights. */
void run_save(Run *run, const Model *model, const Optimiser *o, Progress progress);
void run_save_best(Run *run, const Model *model, const Optimiser *o, Progress progress);

/*
 * The lowest validation loss of weights that were saved as the best, and their step; HUGE_VAL: none
 * were. An evaluation at the end of a run counts here, though its progress forgets it when the run
 * continues.
 */
double run_best(const Run *run, int *step);

/* What it had used up before it was resumed; nothing: it is new, or NULL. */
Spent run_spent(const Run *run);

/* The losses logged so far; valid until the next run_log(). */
const LossCurve *run_training_curve(const Run *run);
const LossCurve *run_validation_curve(const Run *run);

void run_close(Run *run);

#endif
