/* What a model is given to learn from, whatever text it is made of. */
#ifndef OPS_BASE_BATCH_H
#define OPS_BASE_BATCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * B sequences of T tokens, and what should be said to them: to each token, where
 * -1 asks nothing, or one word to the whole.
 */
typedef struct {
    int B, T;
    int *id;     /* (B, T) */
    int *target; /* (B, T), or (B) */
    int *length; /* (B): tokens from here on are padding; NULL: none is */
    bool whole;  /* there is one target to a sequence */
} Batch;

static inline int batch_targets(Batch batch) /* of a sequence */
{
    return batch.whole ? 1 : batch.T;
}

/* One sequence of it, as a batch. */
static inline Batch batch_row(Batch batch, int b)
{
    size_t at = (size_t)b * (size_t)batch.T;

    return (Batch){ .B = 1,
                    .T = batch.T,
                    .id = batch.id + at,
                    .target = batch.target + (batch.whole ? (size_t)b : at),
                    .length = batch.length ? batch.length + b : NULL,
                    .whole = batch.whole };
}

#endif
