/* What a model is given to learn from, whatever text it is made of. */
#ifndef OPS_BATCH_H
#define OPS_BATCH_H

#include <stddef.h>

/* B sequences of T tokens, and for each token what should be said to it; -1: nothing is asked. */
typedef struct {
    int B, T;
    int *id, *target; /* (B, T) */
} Batch;

/* One sequence of it, as a batch. */
static inline Batch batch_row(Batch batch, int b)
{
    size_t at = (size_t)b * (size_t)batch.T;

    return (Batch){ 1, batch.T, batch.id + at, batch.target + at };
}

#endif
