/* Bytes as a safetensors file. */
#ifndef TESTS_TENSORS_H
#define TESTS_TENSORS_H

#include "model/safetensors.h"

#include <stdbool.h>

/* Why the last bytes were rejected. */
extern char why[SAFETENSORS_WHY];

/* Parses a copy that has not one byte to spare. */
Safetensors *parse(const void *at, size_t bytes);

/* Valid, and then all that a reader relies on holds; or not valid. */
bool parses(const void *at, size_t bytes);

#endif
