/*
 * Masked language modelling (Devlin et al., 2018, section 3.1): some tokens of a
 * window are hidden, and are to be told from what stands on both sides of them.
 *
 * Of a window of T tokens 15% are chosen, to the nearest whole number and at
 * least one. They are the targets; nothing is asked of the others (target -1).
 * A chosen token is replaced by the mask with probability 0.8, by any token of
 * the text with 0.1, and left as it is with 0.1: what a model says of a token
 * that it sees counts as well, because where it is used nothing is masked.
 *
 * Choosing each token by itself, as the paper does, would leave a short window
 * without any target, and give every batch another number of them. Here all
 * windows of one length have as many, so that a mean of windows' means is the
 * mean of all targets, and a gradient's weights are known before the batch is.
 */
#ifndef DATA_MASKING_H
#define DATA_MASKING_H

#include "ops/base/batch.h"

#include <stdint.h>

/* The targets of a window of T tokens. */
int masking_targets(int T);

/*
 * Hides tokens of the batch, and sets its targets. `mask` is the token that
 * hides; those below it are the text's. The draws depend on seed and number, on
 * the row, and on T.
 */
void masking_apply(Batch batch, int mask, uint64_t seed, uint64_t number);

#endif
