/* The choices of some options of ./train. */
#ifndef TOOLS_TRAIN_CHOICES_H
#define TOOLS_TRAIN_CHOICES_H

#include "data/synthetic.h"
#include "tools/common/options.h"

/* The first tasks are of text; the synthetic ones follow. */
enum { TASKS_OF_TEXT = 3 };
Choice choice_task(int i);

/* The task of that number, if it has rows of its own; NULL: it is of text, or there is none. */
const Synthetic *choice_rows(int i);

extern const Preset choice_presets[];

#endif
