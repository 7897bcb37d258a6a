/*
 * How well a model predicts a text, at any length of context. Of n tokens all but the
 * first are targets. They are read in independent windows of L tokens, and each target is
 * scored in one of them, as the target of token i of the window (from 0) after i + 1 tokens:
 *
 *     window 0   [************]                          all its L targets
 *     window 1        [-------*****]                     its last S
 *     window 2             [-------*****]
 *     the last                [----------**]             its last, as many as are left
 *
 *     disjoint       S = L: windows side by side
 *     sliding:S      after the first window a target has at least L - S + 1 tokens before it
 *     by-position    disjoint, with the losses of each part of the window apart
 *
 * The last window ends with the text: it begins earlier than it would otherwise, and its
 * targets have more context. So every target is scored once, whatever L and S, and two
 * lengths are compared on the same tokens. All means are over targets.
 *
 * A masked model has whole windows side by side, masked as by source_text(); the rest of
 * the text is not read. At the trained length its numbers are those of evaluate(), as are a
 * causal model's if the n - 1 targets are whole windows.
 */
#ifndef TRAINING_PERPLEXITY_H
#define TRAINING_PERPLEXITY_H

#include "data/masking.h"
#include "data/tokens.h"
#include "model/model.h"

typedef struct {
    int length, stride;         /* L, S */
    int bucket;                 /* positions of a window that share a score; 0: all */
    int batch;                  /* windows at once; 0: about 16,000 tokens */
    Masking masking;            /* of a masked model */
    void (*tell)(double share); /* reports progress; may be NULL */
} Protocol;

/* Of some targets. */
typedef struct {
    double targets, bytes, nats, right; /* right: of a masked model, with the highest probability */
    double words;                       /* of a causal model: those that begin in the targets */
    double mean, squares; /* the mean of the losses, and the sum of their squared deviations */
} Score;

void score_add(Score *s, double loss, size_t bytes, int words);

double score_loss(const Score *s);  /* nats per target */
double score_error(const Score *s); /* its standard error, as if targets were independent */
double score_bits(const Score *s);  /* per byte */

/* The perplexity of words, e^(nats / words), whatever the tokens are: white space ends a word.
 * NaN: there is none. */
double score_word_ppl(const Score *s);

/* The windows that are read at once: about 16,000 tokens, fewer where the vocabulary is large. */
int perplexity_batch(const Config *c, int length);

/* Why a text with that many tokens has no windows of that length, whatever the protocol;
 * empty: it has some. */
Text perplexity_misfit(const Model *model, int length, size_t tokens);

/*
 * Dies if it cannot be done: EXIT_USAGE if windows would skip targets or the model lacks
 * positions for them, EXIT_DATA if the text is shorter than one, EXIT_MEMORY if memory is short.
 */
void perplexity_check(const Model *model, Protocol p, size_t tokens);

/*
 * The scores of each bucket of positions, from the first on; returns their number. The tokens
 * must be in the model's vocabulary; its context does not matter. Resets the tape.
 */
int perplexity_scores(Protocol p);
void perplexity(Tape *tape, const Model *model, const Tokens *text, Protocol p, Score *score);

#endif
