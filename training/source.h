/*
 * Where the batches of a run come from, and the held-back rows on which it is
 * evaluated. A batch depends only on the seed and its number; row k is the same in
 * every run, so that runs are comparable.
 */
#ifndef TRAINING_SOURCE_H
#define TRAINING_SOURCE_H

#include "data/label_rows.h"
#include "data/lra.h"
#include "data/masking.h"
#include "data/synthetic.h"
#include "data/tokens.h"
#include "model/config_size.h"

typedef struct Source {
    void (*batch)(const struct Source *s, uint64_t number, Batch batch);
    void (*row)(const struct Source *s, size_t k, Batch row);
    size_t (*rows)(const struct Source *s, int T); /* the number of held-back rows of T tokens */
    uint64_t seed;
    const char *target; /* what is predicted: "byte", "masked token", "answer" */
    bool whole;         /* a row has one target */
    bool padded;        /* rows have lengths */
    bool paired;        /* a row is two sequences */
    bool counted;       /* predictions are right or wrong: there is an accuracy */
    double chance;      /* the accuracy of guessing among the possible answers; NaN: unknown */
    double bytes[2];    /* of text per target, in training and validation; 0: not text */
} Source;

/* A batch for such rows, in `mem`, of at most `tokens` tokens in at most as many rows. */
Batch source_batch(const Source *s, Arena *mem, int tokens);

/* A batch with other sizes in the same memory. */
Batch source_shape(Batch batch, int B, int T);

/* The share of the most frequent answer in all rows of T tokens; answers are below `possible`. */
double source_majority(const Source *s, int T, int possible);

/* Text: the next token, or those hidden by the token `mask` (-1: none), as `masking` says. */
typedef struct {
    Source source;
    Tokens train, validation;
    int mask;
    Masking masking;
    bool shuffled; /* tokens_shuffled() */
} TextSource;

/* Dies (EXIT_DATA) if a part is too short for one window of `context` and the token after it. */
TextSource source_text(Tokens train, Tokens validation, int context, int mask);

/* Masks row k, which has its tokens already, if the model is a masked one. */
void source_hide(const Config *c, Masking how, size_t k, Batch row);

/* Which of several texts a window is from; all texts are equally likely. */
enum { CLASSES_MAX = 256 };
typedef struct {
    Source source;
    int n;
    Tokens train[CLASSES_MAX], validation[CLASSES_MAX];
    const int *label; /* the class of each text; NULL: text i is class i */
} ClassSource;
void source_classes(ClassSource *s, int context);

/* The same with nothing to train on, whatever the lengths of the texts. */
void source_held_back_classes(ClassSource *s);

/* Rows of a synthetic task, generated on demand; no run trains on those that are held back. */
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

/* Labelled texts, in any order. */
typedef struct {
    Source source;
    const LabelRows *train, *held_back;
} LabelSource;
LabelSource source_labels(const LabelRows *train, const LabelRows *held_back, const Config *c);

/* Bits per byte of a loss in nats per target; NaN if the source is not text. */
double source_bits(const Source *s, bool held_back, double loss);

#endif
