/*
 * A text with blanks, tokenized with mask tokens in place of what is missing, and the model's
 * predictions for them.
 *
 *     Once upon a t___!     ->   O n c e   u p o n   a   t [1.1] [1.2] [1.3] !       byte, char
 *     Once upon a ___!      ->   Once| upon| a|[1]|!                                 others
 *
 * A piece of a word includes the space before it, so a space before a blank belongs to the blank.
 */
#ifndef TOOLS_FILL_BLANKS_H
#define TOOLS_FILL_BLANKS_H

#include "data/tokenizer.h"
#include "model/model.h"

/* What marks a blank, and its number of tokens. `mark` NULL: a run of underscores; `width` 0: one
 * token, or with byte and char one per underscore. */
typedef struct {
    const char *mark;
    int width;
} BlankStyle;

/* A masked token: its position, and which token (from 0) of which blank (from 0) it is. */
typedef struct {
    size_t at;
    int blank, part, parts;
} Gap;

typedef struct {
    int *id;
    size_t n;
    Gap *gap;
    size_t gaps;
} Blanks;

Blanks blanks_of(const Tokenizer *t, Bytes text, BlankStyle style, int mask);
void blanks_free(Blanks *b);

/* A candidate for a gap, and its probability among all tokens except the mask. */
typedef struct {
    int token;
    double probability;
} Guess;

/*
 * The `most` most likely tokens for each gap, (gaps, most), the most likely first. All gaps within
 * a context are predicted in one pass. A longer text is read in windows in which each gap has at
 * least a quarter of the context on both sides, except at the ends of the text. Returns the number
 * of passes.
 */
size_t blanks_predict(const Blanks *b, Tape *tape, const Model *model, int most, Guess *guess);

#endif
