/* The input of a model: token ids and targets. */
#ifndef OPS_BASE_BATCH_H
#define OPS_BASE_BATCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * B sequences of T tokens with their targets: one for each token, where -1 is none,
 * or one for each sequence. Two sequences may share a target; then they are the halves of a row,
 * which counts as one sequence otherwise.
 */
typedef struct {
    int B, T;
    int *id;     /* (B, T) */
    int *target; /* (B, T), or (B) */
    int *length; /* (B): tokens from this position are padding; NULL: none are */
    bool whole;  /* one target for each sequence */
    bool paired; /* each row is two sequences of T / 2 tokens, and `length` (2 B) */
} Batch;

static inline int batch_targets(Batch batch) /* of each sequence */
{
    return batch.whole ? 1 : batch.T;
}

/* Sequence b as a batch of its own. */
static inline Batch batch_row(Batch batch, int b)
{
    size_t at = (size_t)b * (size_t)batch.T;

    return (Batch){ .B = 1,
                    .T = batch.T,
                    .id = batch.id + at,
                    .target = batch.target + (batch.whole ? (size_t)b : at),
                    .length = batch.length ? batch.length + (batch.paired ? 2 * b : b) : NULL,
                    .whole = batch.whole,
                    .paired = batch.paired };
}

#endif
