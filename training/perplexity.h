/*
 * How well a model foretells a text, at any length of context. Of n tokens all but the
 * first are targets. They are read in windows of L tokens, each by itself, and each target
 * is scored in one of them, that of token i of its window (from 0) after i + 1 tokens:
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
 * The last window ends with the text: it begins earlier than the others would have it, and
 * its targets have the more context. So every target is scored once, whatever L and S, and
 * two lengths are compared on the same tokens. All means are over targets.
 *
 * A masked model has whole windows side by side, with that masked which training/task.h
 * masks; what is left of the text is not read. At the trained length its numbers are those
 * of evaluate(), as are a causal model's where the n - 1 targets are whole windows.
 */
#ifndef TRAINING_PERPLEXITY_H
#define TRAINING_PERPLEXITY_H

#include "data/tokenizer.h"
#include "model/model.h"

/* Tokens, and the tokenizer that knows what each of them stands for. */
typedef struct {
    const Token *at;
    size_t n;
    const Tokenizer *tokenizer;
} TokenText;

typedef struct {
    int length, stride;         /* L, S */
    int bucket;                 /* so many positions of a window share a score; 0: all */
    int batch;                  /* windows at once; 0: some 16 thousand tokens' worth */
    void (*tell)(double share); /* how much is done, from time to time; NULL: nobody */
} Protocol;

/* Of some targets. */
typedef struct {
    double targets, bytes, nats, right; /* right: of a masked model, those that were likeliest */
    double mean, squares;               /* the losses' mean, and their squares about it, summed */
} Score;

double score_loss(const Score *s);  /* nats a target */
double score_error(const Score *s); /* its standard error, as if targets were independent */
double score_bits(const Score *s);  /* a byte */

/*
 * Dies of what cannot be: EXIT_USAGE of windows that skip targets or that the model has no
 * positions for, EXIT_DATA of a text shorter than one, EXIT_MEMORY of more than there is.
 */
void perplexity_check(const Model *model, Protocol p, size_t tokens);

/*
 * The scores of each bucket of positions, from the first on; how many there are. The tokens
 * are below the model's vocabulary; the model's context is of no account. The tape is reset.
 */
int perplexity_scores(Protocol p);
void perplexity(Tape *tape, const Model *model, const TokenText *text, Protocol p, Score *score);

#endif
