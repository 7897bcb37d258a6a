/*
 * A model as a safetensors file: its parameters by name, and its configuration as metadata. The
 * caller may add tensors and metadata.
 *
 * Damage is detected: "attnc.hash.<tensor>" is the hash (ops/base/hash.h) of the tensor's name,
 * type, dimensions and numbers, in this order, and "attnc.hash" is the sum of the hashes of all
 * other "attnc." keys with their values.
 */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "model/model.h"
#include "model/safetensors.h"

/* The caller's metadata keys start with "attnc.", and the names of its tensors with BESIDE. */
#define BESIDE "optimizer."
void checkpoint_save(const char *path, const Model *model, Contents beside);

/*
 * Reads a model written by checkpoint_save() into `mem`. Dies with EXIT_DATA if the file, which was
 * read from `path`, is not valid: a hash differs, metadata are missing or out of range, a tensor is
 * missing, superfluous or of the wrong shape, or a number is not finite.
 */
void checkpoint_model(const Safetensors *file, const char *path, Model *model, Arena *mem);

/* A tensor as a file entry; `numbers` has the build's type. */
Entry checkpoint_entry(const char *name, const Tensor *shape, real *numbers);

/*
 * Fills `want.data` with the tensor of that name. Dies if it is missing, has another shape, or is
 * not finite.
 */
void checkpoint_fill(const Safetensors *s, const char *path, Entry want);

#endif
