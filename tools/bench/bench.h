/*
 * The parts of ./bench. A section times its cases one after the other and makes a
 * Row of each; what they share is here.
 */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include "model/model.h"
#include "tools/common/settings.h"

#include <stdint.h>

/*
 * One row: the time of some work, in operations or, where memory is the limit, in
 * bytes. Only mechanisms have the second half. 0: does not apply. The name, unique
 * within the group, says all that the work depends on except the machine; only the
 * part before a semicolon is printed.
 */
typedef struct {
    const char *group, *name;
    double seconds, flops, bytes;
    const char *mechanism; /* NULL: none */
    int length, batch;
    double forward, backward, step; /* ns a token */
    double held;                    /* bytes a token */
} Row;

/*
 * Rows as in a file. Two groups describe the others: `machine`, whose name is the
 * processor's and whose work is the machine's peak in one second, and `option`,
 * whose name is like "n-layer 6".
 */
typedef struct {
    int n;
    Row *at;
    Arena *mem; /* of the strings */
} Rows;

/* Adds a copy; of two with the same name the faster stays, or the later if equally fast. */
void rows_put(Rows *rows, Row r);
const Row *rows_find(const Rows *rows, const char *group, const char *name); /* NULL: none */
const Row *rows_machine(const Rows *rows);
void rows_free(Rows *rows);

/* For --csv and --save. */
void rows_write(FILE *out, void *rows);
/* Dies (EXIT_DATA) unless the file is one of --save. */
Rows rows_read(const char *path);

/* Earlier rows to compare with. */
typedef struct {
    const char *path; /* NULL: none */
    Rows rows;
    double margin; /* the relative change beyond which a row is slower or faster */
} Against;

/* Ratios of the new value to the old; 0: unknown. */
typedef struct {
    double time, share, memory, step;
    double slower; /* what counts: the larger of time and step, at the same speed of the machine */
} Change;

/*
 * On the same machine at the same speed times are compared. On another machine, or
 * with another clock, shares of the peak are.
 */
bool against_by_share(const Against *a, const Rows *now);
/* False: the row is new. */
bool against_change(const Against *a, const Rows *now, Row r, Change *change);
/* The number of rows that are slower by more than the margin. */
int against_slower(const Against *a, const Rows *now);
/* Printed first, beside a row, and last. Dies (EXIT_DATA) if no row was measured before. */
void against_print_head(const Against *a, const Rows *now);
void against_print_row(const Against *a, const Rows *now, Row r);
void against_print_end(const Against *a, const Rows *now);

typedef struct {
    Tape tape;
    Arena *mem;      /* operands, until bench_clear() */
    double peak;     /* operations a second */
    double seconds;  /* least time of each row */
    const char *csv; /* NULL: none */
    Rows rows;       /* so far */
    Against against;
    bool slower_only; /* measure only these rows, again */
    uint64_t filled;
} Bench;

/* Whether the row has to be measured: always the first time. */
bool bench_wanted(const Bench *b, const char *group, const char *name);

/* For titles: "" with floats, ", bf16". */
const char *bench_precision(const Bench *b);

/* Measures the peak; the highest of all measurements counts. */
void bench_peak(Bench *b);
/* The row's share of the peak, which is measured again if the share is above 1. */
double bench_share(Bench *b, Row r);

/* Adds the row, also to the CSV file: an interrupted run leaves those that it has. */
void bench_keep(Bench *b, Row r);
/* Keeps it and prints its line; or only the end of a line of another form. */
void bench_row(Bench *b, Row r);
void bench_row_end(Bench *b, Row r);

/* The least of the times that body(ctx) returns. */
double bench_best(const Bench *b, double (*body)(void *ctx), void *ctx);
/* Whether to make another run after `runs` since `start`. */
bool bench_again(const Bench *b, int runs, double start);

/* Random numbers in [-1/2, 1/2), different at each call; and a tensor of them with a gradient. */
void bench_fill(Bench *b, real *at, size_t n);
real *bench_numbers(Bench *b, size_t n);
Tensor *bench_operand(Bench *b, int ndim, const int *dim);

/* Frees the operands and the tape's memory, so that the next case measures its own. */
void bench_clear(Bench *b);

/* Seconds of a mix alone, forward and backward, on B sequences. */
typedef struct {
    double forward, backward;
} Times;
Times bench_mix(Bench *b, const MixSize *s, int B);

/* The mechanisms to measure, the lengths, and the size of the layer or model. */
enum { MECHANISMS_NAMED = 64 };
typedef struct {
    const Attention *attentions[MECHANISMS_NAMED + 1]; /* ended by NULL */
    OptionList lengths;
    Config model; /* layers, heads, width, vocab */
    int batch;    /* sequences; 0: the same number of tokens at every length */
    const Program *program;
    SettingsOptions settings;
    bool bidirectional;
    bool recompute;     /* run the model's blocks again in the backward pass */
    int most_quadratic; /* the longest for a layer whose time per token grows; 0: any */
} Mechanisms;

/* The names of all, for --help; and those of "relu,softmax", each once, in that order. */
Text bench_names(void);
const Attention *const *bench_named(const char *names);

/* What a section needs its mechanisms to be. */
typedef enum { NEED_CAUSAL, NEED_BOTH_SIDES, NEED_DECODING } Need;

/* Fills in those of `from` that are; dies (EXIT_USAGE) of one that --attn names and is not. */
void bench_take(Mechanisms *m, const Attention *const *from, Need need);
void bench_check_need(const Mechanisms *m, const Attention *const *named, Need need);

/* The model of a mechanism and a length; only this function depends on them. */
Config bench_config(const Mechanisms *m, const Attention *a, int length);

/* Whether the length is beyond most_quadratic and this mechanism is quadratic. */
bool bench_left_out(const Mechanisms *m, const Attention *a, int length);
/* Whether the time per token grows with the length. */
bool bench_grows(const Attention *a, const MixSize *s);
/* Prints which mechanisms lack some lengths. */
void bench_say_left_out(const Mechanisms *m);

/*
 * Seconds of a step's multiplications: the products with all weights, forward and
 * backward, and the mixes, each as often as in the step, but alone and in the cache.
 */
double bench_inside(Bench *b, const Model *model, int rows);
/*
 * The same for norms, activations and the loss. The rest of a step, except for the optimiser, is
 * the tape, memory traffic, and threads that wait for each other.
 */
double bench_passes(Bench *b, const Model *model, int rows);

/* Seconds of a row of the table of ops, forward and backward, on `rows` rows of `width`. */
double bench_op(Bench *b, const char *name, int rows, int width);

void bench_gemm(Bench *b);
void bench_ops(Bench *b);
void bench_attention(Bench *b, const Mechanisms *m, const char *svg); /* NULL: none */
void bench_step(Bench *b, const Mechanisms *m);
void bench_scaling(Bench *b, const Mechanisms *m);
void bench_decode(Bench *b, const Mechanisms *m);
void bench_prompt(Bench *b, const Mechanisms *m);

/* These die of what cannot be measured, before anything is. */
void bench_attention_check(const Mechanisms *m);
void bench_step_check(const Mechanisms *m);
void bench_decode_check(const Mechanisms *m);
void bench_prompt_check(const Mechanisms *m);

/* One mechanism at its lengths, shortest first: how time and memory grow. */
typedef struct {
    const Attention *attention;
    bool grows; /* the time per token does */
    int n;
    double length[OPTION_LIST_MAX], time[OPTION_LIST_MAX], held[OPTION_LIST_MAX]; /* per token */
} Growth;

/* Prints how much time and memory per token differ between the lengths. */
void growth_print(const Growth *g);
/* Plots the times of n mechanisms into a file. */
void growth_draw(const Growth *growth, int n, const char *subtitle, const char *svg);

/*
 * The length from which b takes less time than a, interpolated between the two lengths
 * around it on logarithmic axes; 0: there is none.
 */
double growth_crossing(const Growth *a, const Growth *b);
/* Prints it, if n is 2 and only one of them grows. */
void growth_print_crossing(const Growth *growth, int n);

#endif
