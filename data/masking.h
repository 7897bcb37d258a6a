/*
 * Masked language modelling (Devlin et al., 2018, section 3.1): some tokens of a
 * window are hidden, and are predicted from the tokens on both sides of them.
 *
 * Of a window of T tokens a share (15%) is chosen, to the nearest whole number and at
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
 *
 * Whole words: the tokens of a word are chosen together. A word is a run of tokens that join
 * letters or digits: the last byte of one and the first byte of the next are a-z, A-Z, 0-9, or
 * above 127, as those of all characters beyond ASCII. Any other token is a word of its own. Windows
 * cut words, and so does the number of targets, where a word has more tokens: in a script without
 * spaces everything would be one. All words are equally likely, whatever their length; the number
 * of targets of a window varies around that above, is at least one and less than twice as large.
 */
#ifndef DATA_MASKING_H
#define DATA_MASKING_H

#include "data/tokenizer.h"
#include "ops/base/batch.h"

#include <stdint.h>

#define MASKING_SHARE 0.15

typedef struct {
    double share;           /* of the tokens of a window, below 1; 0: MASKING_SHARE */
    const Tokenizer *words; /* choose whole words of these tokens; NULL: single tokens */
} Masking;

/* The targets of a window of T tokens; of whole words, about as many. */
int masking_targets(double share, int T);

/*
 * Masks tokens of the batch, and sets its targets. `mask` is the mask token; those
 * below it are the text's. The draws depend on the seed, the number, the row, and T.
 */
void masking_apply(Batch batch, int mask, Masking how, uint64_t seed, uint64_t number);

#endif
