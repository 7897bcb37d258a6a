/*
 * Masked language modelling (Devlin et al., 2018, section 3.1): some tokens of a
 * window are hidden, and are predicted from the tokens on both sides of them.
 *
 * Of a window of T tokens 15% are chosen, to the nearest whole number and at
 * least one. They are the targets; the others have none (-1).
 * A chosen token is replaced by the mask with probability 0.8, by any token of
 * the text with 0.1, and left as it is with 0.1, so that predictions for tokens in
 * sight are trained as well: in use nothing is masked.
 *
 * Choosing each token independently, as the paper does, could leave a short window
 * without any target, and would give every batch a different number. Here all
 * windows of one length have the same number, so that the mean over windows of their
 * means is the mean over all targets, and the weights of the gradient are known
 * before the batch is drawn.
 */
#ifndef DATA_MASKING_H
#define DATA_MASKING_H

#include "ops/base/batch.h"

#include <stdint.h>

/* The targets of a window of T tokens. */
int masking_targets(int T);

/*
 * Masks tokens of the batch, and sets its targets. `mask` is the mask token; those
 * below it are the text's. The draws depend on the seed, the number, the row, and T.
 */
void masking_apply(Batch batch, int mask, uint64_t seed, uint64_t number);

#endif
