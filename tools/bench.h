/*
 * The parts of ./bench. A section times its cases one after the other and gives
 * each a Row; what is the same for all of them is here.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include "model/config.h"
#include "tools/settings.h"

#include <stdint.h>

typedef struct {
    Tape tape;
    Arena *mem;     /* operands, until bench_clear() */
    double peak;    /* operations a second */
    double seconds; /* for each row, at least */
    FILE *csv;      /* NULL: none */
    uint64_t filled;
} Bench;

/*
 * One row: work done in a time, in operations or, where memory is the limit, in
 * bytes. The second half is known of mechanisms only. 0: does not apply.
 */
typedef struct {
    const char *group, *name;
    double seconds, flops, bytes;
    const char *mechanism; /* NULL: none */
    int length, batch;
    double forward, backward, step; /* ns a token */
    double held;                    /* bytes a token */
} Row;

void bench_csv_header(FILE *csv);
void bench_csv(const Bench *b, Row r);
/* A line of the output, and of the CSV file. */
void bench_row(const Bench *b, Row r);

/* The least time of body(ctx), which returns the time that counts. */
double bench_best(const Bench *b, double (*body)(void *ctx), void *ctx);
/* Whether, since `start` and after so many runs, another one is due. */
bool bench_again(const Bench *b, int runs, double start);

/* Numbers in [-1/2, 1/2), others each time; and a tensor of them that has a gradient. */
real *bench_numbers(Bench *b, size_t n);
Tensor *bench_operand(Bench *b, int ndim, const int *dim);

/* Memory as at the start: what the next case takes is its own. */
void bench_clear(Bench *b);

/* Which mechanisms, at which lengths, in a layer or a model of which size. */
typedef struct {
    const Attention *const *attentions; /* ended by NULL */
    OptionList lengths;
    Config model; /* layers, heads, width, vocab */
    int batch;    /* sequences; 0: as many tokens at every length */
    SettingsOptions settings;

    /* A layer alone: */
    bool bidirectional;
    int most_quadratic; /* longer than this is left out where the time grows with the length; 0: no
                         */
} Mechanisms;

/* The model of a mechanism and a length: what depends on either is set here, and nowhere else. */
Config bench_config(const Mechanisms *m, const Attention *a, int length);

void bench_gemm(Bench *b);
void bench_ops(Bench *b);
void bench_attention(Bench *b, const Mechanisms *m, FILE *svg);
void bench_step(Bench *b, const Mechanisms *m);

/* What cannot be done is refused here, before anything is measured. */
void bench_attention_check(const Mechanisms *m);
void bench_step_check(const Mechanisms *m);

/* One mechanism at its lengths: what time and memory do as these grow. */
typedef struct {
    const Attention *attention;
    int n;
    double length[OPTION_LIST_MAX], time[OPTION_LIST_MAX], held[OPTION_LIST_MAX]; /* a token */
} Growth;

/* The line about it: how far apart the lengths are, which for `linear` ones is to be near. */
void growth_print(const Growth *g, bool linear);
/* The time of n of them as curves. */
void growth_draw(const Growth *growth, int n, const char *subtitle, FILE *svg);

#endif
