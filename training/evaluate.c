#include "training/evaluate.h"

#include "ops/error.h"

#include <stdlib.h>

double evaluate(Tape *tape, const Model *model, Bytes text, int B, size_t windows)
{
    int T = model->config.context;
    size_t all = corpus_windows(text, T), n = windows == 0 || windows > all ? all : windows;
    int *id = xmalloc((size_t)(2 * B * T) * sizeof *id), *target = id + B * T;
    bool before = tape->forward_only;
    double sum = 0;

    tape->forward_only = true;
    for (size_t k = 0; k < n; k += (size_t)B) {
        int rows = n - k < (size_t)B ? (int)(n - k) : B;

        for (int b = 0; b < rows; b++)
            corpus_window(text, (k + (size_t)b) * all / n, T, id + b * T, target + b * T);
        tape_reset(tape);
        Tensor *loss = model_losses(tape, model, (Batch){ rows, T, id, target }, 0);
        for (size_t i = 0; i < loss->n; i++)
            sum += (double)loss->data[i];
    }
    tape->forward_only = before;
    tape_reset(tape);
    free(id);
    return sum / ((double)n * T);
}
