/* Rows of a task with a model's answers. */
#ifndef TOOLS_EVAL_SHOW_H
#define TOOLS_EVAL_SHOW_H

#include "tools/common/held_back.h"

/* Prints n held-back rows of the trained length, others for each seed, and how many of their
 * answers are right. */
void show_rows(Tape *tape, const Model *model, const HeldBack *h, int n, uint64_t seed);

#endif
