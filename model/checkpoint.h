/*
 * A model as a file: its parameters by name, and its configuration as metadata,
 * in safetensors. Whoever saves it may put numbers and words of their own beside.
 *
 * A file that was damaged is not taken for another model: "attnc.hash.<tensor>" is
 * the hash (ops/base/hash.h) of its name, type, dimensions and numbers, one after the
 * other, and "attnc.hash" the sum of those of all other "attnc." keys, each with
 * its value.
 */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "model/model.h"
#include "model/safetensors.h"

/* The keys of the metadata begin with "attnc.", the names of the entries with BESIDE. */
#define BESIDE "optimizer."
typedef struct {
    const Meta *meta;
    int metas;
    const Entry *entry;
    int entries;
} Beside;

void checkpoint_save(const char *path, const Model *model, Beside beside);

/*
 * The model that checkpoint_save() wrote, in `mem`; and the file, for what else
 * is in it, and for safetensors_free(). Dies with EXIT_DATA where the file is no
 * such thing: a hash does not fit, metadata are missing or out of range, a tensor
 * is missing, of another shape or beside what the configuration has, or a number
 * is not finite.
 */
Safetensors *checkpoint_load(const char *path, Model *model, Arena *mem);

/* A tensor in the file; `numbers` has the type of the build. */
Entry checkpoint_entry(const char *name, const Tensor *shape, real *numbers);

/*
 * Fills `want.data` with the tensor of that name. Dies where it is not there, has another shape, or
 * holds what is not finite.
 */
void checkpoint_fill(const Safetensors *s, const char *path, Entry want);

#endif
