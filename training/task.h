/* What a task makes of text: batches to learn from, and windows to be judged by. */
#ifndef TRAINING_TASK_H
#define TRAINING_TASK_H

#include "data/corpus.h"
#include "model/config.h"

/* Of how many tokens of a window something is asked. */
int task_targets(const Config *c, int T);

/* Batch `number` of a run with that seed. */
void task_batch(const Config *c, Bytes from, uint64_t seed, uint64_t number, Batch batch);

/* Window k of those side by side. What is masked in it is the same in every run: they compare. */
void task_window(const Config *c, Bytes from, size_t k, Batch row);

#endif
