/*
 * Where the batches of a run come from, and the rows that are held back, by which
 * it is judged. A batch depends on the seed and its number alone; row k is the
 * same in every run, so that runs compare.
 */
#ifndef TRAINING_SOURCE_H
#define TRAINING_SOURCE_H

#include "data/lra.h"
#include "data/synthetic.h"
#include "data/tokens.h"
#include "model/config_size.h"

typedef struct Source {
    void (*batch)(const struct Source *s, uint64_t number, Batch batch);
    void (*row)(const struct Source *s, size_t k, Batch row);
    size_t (*rows)(const struct Source *s, int T); /* how many of T tokens are held back */
    uint64_t seed;
    const char *target; /* what a loss is of: "byte", "masked token", "answer" */
    bool whole;         /* a row has one target */
    bool padded;        /* rows have lengths */
    bool counted;       /* what is said is right or wrong: there is an accuracy */
    double chance;   /* the accuracy of who guesses among what could be asked for; NaN: unknown */
    double bytes[2]; /* of text to a target, trained on and held back; 0: it is no text's loss */
} Source;

/* A batch for such rows, in `mem`, of at most `tokens` tokens and as many rows. */
Batch source_batch(const Source *s, Arena *mem, int tokens);

/* A batch of the same memory with other sizes. */
Batch source_shape(Batch batch, int B, int T);

/* The share of the most frequent answer among those of all rows of T tokens. */
double source_majority(const Source *s, int T);

/* Text: the next token, or those that `mask` hides (-1: none is hidden). */
typedef struct {
    Source source;
    Tokens train, validation;
    int mask;
} TextSource;

/* Dies (EXIT_DATA) where a part is too short for one window of `context` and the token after it. */
TextSource source_text(Tokens train, Tokens validation, int context, int mask);

/* Hides what is hidden in row k, which has its tokens already, if the model is a masked one. */
void source_hide(const Config *c, size_t k, Batch row);

/* Which of several texts a window is from; every text is as likely. */
enum { CLASSES_MAX = 256 };
typedef struct {
    Source source;
    int n;
    Tokens train[CLASSES_MAX], validation[CLASSES_MAX];
} ClassSource;
void source_classes(ClassSource *s, int context);

/* Rows of a task, made as they are asked for; some that no run is trained on are held back. */
typedef struct {
    Source source;
    const Synthetic *task;
    SyntheticShape shape;
} RowSource;
RowSource source_rows(const Synthetic *task, SyntheticShape shape);

/* Rows of the Long Range Arena, in any order. */
typedef struct {
    Source source;
    const LraRows *train, *held_back;
} LraSource;
LraSource source_lra(const LraRows *train, const LraRows *held_back, double chance);

/* Bits a byte of a loss in nats a target; NaN where it is no text's. */
double source_bits(const Source *s, bool held_back, double loss);

#endif
