/*
 * What the heads of a trained model do with a text: where their weights look
 * (training/focus.h), and the rank of the matrix of weights and of that of the scores
 * it is computed from, if it is (ops/kernel/svd.h).
 *
 *     window of the text -> model_watch() -> each mix -> A, S of each head -> sums
 *                                         -> each layer -> its output X -> sums
 *
 * Windows are those of evaluate(), tokens hidden from a masked model included, spread
 * evenly over the text. All numbers are means over them.
 *
 * A causal A is a triangle: it has full rank wherever no weight on its diagonal is 0,
 * whatever the mechanism. With `unmasked` every row sees all keys in the matrices that
 * are analysed; what the model itself computes does not change. S has no mask.
 */
#ifndef TRAINING_ANALYSIS_H
#define TRAINING_ANALYSIS_H

#include "data/masking.h"
#include "data/tokens.h"
#include "model/model.h"
#include "training/focus.h"

typedef struct {
    int length, windows; /* tokens of a window, and the most windows */
    int band;
    double faint, tolerance; /* see focus.h and svd.h */
    bool unmasked;
    Masking masking;                               /* of a masked model */
    void (*tell)(int length, int window, int mix); /* of Windows */
} Study;

enum { OF_WEIGHTS, OF_SCORES, SPECTRA };

/* After those of Focus: the rows without a weight, as a share; the ranks of A, and of S. */
enum {
    FINDING_EMPTY = FOCUS_NUMBERS,
    FINDING_RANK,
    FINDING_EFFECTIVE,
    FINDING_HOLDING,
    FINDING_SCORE_RANK,
    FINDING_SCORE_EFFECTIVE,
    FINDING_SCORE_HOLDING,
    FINDINGS
};

/* Ranks at these tolerances as well: a threshold should decide nothing. */
enum { TOLERANCES = 6 };
extern const double tolerances[TOLERANCES]; /* 1e-1 .. 1e-6 */

/* Of a head; NaN: there is no such number. */
typedef struct {
    double number[FINDINGS];
    double ranks[SPECTRA][TOLERANCES];
    double *spectrum[SPECTRA]; /* `length` singular values as shares of the largest, or NULL */
} Findings;

/*
 * Of x after a layer, as a matrix X (T, C): its ranks, and how far it is from equal rows, the
 * Frobenius norm of X - 1 m^T over that of X, with m the mean of its rows (Dong et al., 2021,
 * arXiv:2103.03404, measure the same in another norm): 0 means that every position has the same x.
 */
typedef struct {
    double apart, effective, holding, ranks[TOLERANCES];
} Activations;

typedef struct {
    int length, windows; /* their number */
    int mixes, heads;    /* a gated layer has two mixes */
    Findings *head;      /* (mixes, heads) */
    Findings mean;       /* of all heads; it has no spectrum */
    int layers;          /* the embeddings, and each block */
    Activations *layer;  /* (layers) */
    Findings uniform;    /* of rows with equal weights on all keys they see, for comparison */
} Analysis;

/* The length of a window, and the option that sets it; a text, and the bytes of an analysis. */
typedef struct {
    const char *option;
    int length;
    size_t tokens;
    double bytes;
} Room;

/* Die if it cannot be done: EXIT_USAGE, EXIT_DATA or EXIT_MEMORY. */
void analysis_check_length(const Model *model, Room room);
void analysis_check(const Model *model, const Study *study, size_t tokens);

/* n windows of a text, those of evaluate(), spread evenly over it. */
typedef struct {
    Tokens text;
    int length, n;
    Masking masking;
    void (*tell)(int length, int window, int mix); /* before each mix of each; may be NULL */
} Windows;

/* Watches a model on each; the tape is reset. */
void windows_watch(Tape *tape, const Model *model, Windows w, Watch watch);

/* In `mem`. The tape is reset. */
Analysis analysis_make(Tape *tape, const Model *model, Tokens text, const Study *study, Arena *mem);

#endif
