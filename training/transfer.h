/*
 * Starts a model with the weights of another one, tensor by tensor, by name.
 *
 * Tables that have a row for each token or position may differ in their number of rows: the rows
 * that both have are copied. A head for tokens that is tied in one model and separate in the other
 * has the weights of the embedding. The head of a classifier with another number of classes stays
 * as it was initialised. All other tensors of the same name must have the same
 * shape. Tensors that only the new model has stay as they were initialised.
 */
#ifndef TRAINING_TRANSFER_H
#define TRAINING_TRANSFER_H

#include "model/model.h"

typedef struct {
    int copied; /* tensors, at least in part */
    Text initialised,
        left; /* names: what was not copied, and what of the other model was not used */
} Transfer;

/* `same_tokens`: both models have the same tokenizer. Dies (EXIT_USAGE) if shapes differ. */
Transfer transfer_weights(Model *to, const Model *from, bool same_tokens);

#endif
