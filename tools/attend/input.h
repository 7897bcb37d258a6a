/* The tensors that ./attend reads, every one checked before memory is taken for it. */
#ifndef TOOLS_ATTEND_INPUT_H
#define TOOLS_ATTEND_INPUT_H

#include "model/safetensors.h"
#include "ops/attention.h"

/* IN, and the tensors in it that the mechanism uses: NULL if it does not use one. */
typedef struct {
    Text path;
    Safetensors *file;
    const Attention *attention;
    Values set;
    const Entry *operand[OPERANDS_MAX], *dout, *lengths;
    size_t size[128]; /* of a letter; 0 until a tensor determines it */
} Input;

/* The required shape, as far as it is known: "[3,m,5]". */
Text input_wanted(const Input *in, const char *shape);

/* Finds the mechanism's tensors; dies (EXIT_DATA) if one is missing or has the wrong shape. */
void input_inspect(Input *in, bool rope);

/* Dies (EXIT_MEMORY) if the machine has too little memory, instead of failing halfway. */
void input_check_memory(const Input *in, bool with_matrix);

void input_warn_of_others(const Input *in);

#endif
