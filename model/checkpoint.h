/* A model as a file: its parameters by name, and its configuration as metadata, in safetensors. */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "model/model.h"

/* What is written beside the weights. */
typedef struct {
    int step;
    double validation_loss; /* NaN: not known */
} CheckpointNote;

void checkpoint_save(const char *path, const Model *model, CheckpointNote note);

/*
 * The model that checkpoint_save() wrote, in `mem`. Dies with EXIT_DATA where
 * the file is no such thing: metadata missing or out of range, a tensor missing,
 * of another shape or beside what the configuration has, or a number not finite.
 */
void checkpoint_load(const char *path, Model *model, Arena *mem);

#endif
