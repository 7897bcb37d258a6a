/* The tensors that ./attend reads, every one checked before memory is taken for it. */
#ifndef TOOLS_ATTEND_INPUT_H
#define TOOLS_ATTEND_INPUT_H

#include "model/safetensors.h"
#include "ops/attention.h"

/* IN, and what of it the mechanism takes: NULL where it takes nothing. */
typedef struct {
    Text path;
    Safetensors *file;
    const Attention *attention;
    Values set;
    const Entry *operand[OPERANDS_MAX], *dout, *lengths;
    size_t size[128]; /* of a letter; 0 until a tensor has said it */
} Input;

/* "[3,m,5]": what a shape would have to be. */
Text input_wanted(const Input *in, const char *shape);

/* Finds all that the mechanism takes; dies (EXIT_DATA) where a tensor is missing or does not fit.
 */
void input_inspect(Input *in, bool rope);

/* Dies (EXIT_MEMORY) of what the system would only promise, and then end in the middle. */
void input_check_memory(const Input *in, bool with_matrix);

void input_warn_of_others(const Input *in);

#endif
