/* Checkpoints changed on purpose, with hashes that are right again. */
#ifndef TESTS_HASHES_H
#define TESTS_HASHES_H

#include "model/safetensors.h"

/* The value of a key that is there. */
void hashes_set(Safetensors *s, const char *key, const char *value);

/* The hashes of what the tables hold by now; strings are in `mem`. */
void hashes_renew(Safetensors *s, Arena *mem);

#endif
