/*
 * The parts of ./bench. A section times its cases one after the other and gives
 * each a Row; what is the same for all of them is here.
 */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include "model/model.h"
#include "tools/common/settings.h"

#include <stdint.h>

/*
 * One row: work done in a time, in operations or, where memory is the limit, in
 * bytes. The second half is known of mechanisms only. 0: does not apply. Its name,
 * within the group, says everything that the work depends on but the machine; what
 * is shown of it ends at a semicolon.
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
 * Rows as a file has them. Two groups are about the others: `machine`, whose name
 * is the processor's and which does in one second what the machine can, and
 * `option`, whose name is "n-layer 6".
 */
typedef struct {
    int n;
    Row *at;
} Rows;

/* A copy; of two with the same name the faster stays, the later where they are as fast. */
void rows_put(Rows *rows, Row r);
const Row *rows_find(const Rows *rows, const char *group, const char *name); /* NULL: none */
const Row *rows_machine(const Rows *rows);
void rows_free(Rows *rows);

/* The same columns for --csv, row by row, and for --save; and back. */
void rows_head(FILE *out);
void row_write(Row r, double peak, FILE *out);
void rows_write(FILE *out, void *rows);
/* Dies (EXIT_DATA) of what no program has written. */
Rows rows_read(const char *path);

/* What was measured before, to be compared with. */
typedef struct {
    const char *path; /* NULL: nothing */
    Rows rows;
    double margin; /* a share of the time, beyond which a row is slower, or faster */
} Against;

/* How many times as much as before; 0: not known. */
typedef struct {
    double time, share, memory, step;
    double slower; /* what decides: the more of time and step, at the same speed */
} Change;

/*
 * The time decides where it is the same machine at the same speed. Where it is
 * another, or its clock is, what it could do in that time is the measure: the share
 * of the peak.
 */
bool against_by_share(const Against *a, const Rows *now);
/* False: it was not there before. */
bool against_change(const Against *a, const Rows *now, Row r, Change *change);
/* Those that are slower by more than the margin. */
int against_slower(const Against *a, const Rows *now);
/* What is said before, beside a row, and at the end. Dies (EXIT_DATA) if no row was there before.
 */
void against_print_head(const Against *a, const Rows *now);
void against_print_row(const Against *a, const Rows *now, Row r);
void against_print_end(const Against *a, const Rows *now);

typedef struct {
    Tape tape;
    Arena *mem;     /* operands, until bench_clear() */
    double peak;    /* operations a second */
    double seconds; /* for each row, at least */
    FILE *csv;      /* NULL: none */
    Rows rows;      /* so far */
    Against against;
    bool slower_only; /* of the rows, to measure these again */
    uint64_t filled;
} Bench;

/* Whether the row is to be measured: all of them, but for a second time. */
bool bench_wanted(const Bench *b, const char *group, const char *name);

/* Measures the peak, which is the most that it ever was. */
void bench_peak(Bench *b);
/* The row's share of the peak; before one above 1 is believed the peak is measured again. */
double bench_share(Bench *b, Row r);

/* To be saved, and into the CSV file. */
void bench_keep(Bench *b, Row r);
/* Keeps it and prints its line; or just the end of one that looks different. */
void bench_row(Bench *b, Row r);
void bench_row_end(Bench *b, Row r);

/* The least time of body(ctx), which returns the time that counts. */
double bench_best(const Bench *b, double (*body)(void *ctx), void *ctx);
/* Whether, since `start` and after so many runs, another one is due. */
bool bench_again(const Bench *b, int runs, double start);

/* Numbers in [-1/2, 1/2), others each time; and a tensor of them that has a gradient. */
void bench_fill(Bench *b, real *at, size_t n);
real *bench_numbers(Bench *b, size_t n);
Tensor *bench_operand(Bench *b, int ndim, const int *dim);

/* Memory as at the start: what the next case takes is its own. */
void bench_clear(Bench *b);

/* Seconds of a mix and of its backward, alone, on operands of B sequences. */
typedef struct {
    double forward, backward;
} Times;
Times bench_mix(Bench *b, const MixSize *s, int B);

/* Which mechanisms, at which lengths, in a layer or a model of which size. */
typedef struct {
    const Attention *const *attentions; /* ended by NULL */
    OptionList lengths;
    Config model; /* layers, heads, width, vocab */
    int batch;    /* sequences; 0: as many tokens at every length */
    const Program *program;
    SettingsOptions settings;
    bool bidirectional;
    bool recompute; /* of a model, on the way back */

    /* A layer alone: */
    int most_quadratic; /* longer than this is left out where the time grows with the length; 0: no
                         */
} Mechanisms;

/* The model of a mechanism and a length: what depends on either is set here, and nowhere else. */
Config bench_config(const Mechanisms *m, const Attention *a, int length);

/* Whether the length is beyond most_quadratic, and that is about this mechanism. */
bool bench_left_out(const Mechanisms *m, const Attention *a, int length);
/* Whether each token takes longer than the one before. */
bool bench_grows(const Attention *a, const MixSize *s);
/* Says of which mechanisms lengths are left out. */
void bench_say_left_out(const Mechanisms *m);

/*
 * Seconds of a step that are multiplications: the products of all weights, forward
 * and backward, and the mixes, each as often as the step has it, but alone, hot,
 * one after the other.
 */
double bench_inside(Bench *b, const Model *model, int rows);
/*
 * The same of norms, activations and the loss. What a step takes beyond both, and its optimiser,
 * is the tape, what is read from memory again, threads that wait for each other.
 */
double bench_passes(Bench *b, const Model *model, int rows);

/* Seconds of a row of the table of ops, forward and backward, on `rows` rows of `width`. */
double bench_op(Bench *b, const char *name, int rows, int width);

void bench_gemm(Bench *b);
void bench_ops(Bench *b);
void bench_attention(Bench *b, const Mechanisms *m, FILE *svg);
void bench_step(Bench *b, const Mechanisms *m);
void bench_scaling(Bench *b, const Mechanisms *m);
void bench_decode(Bench *b, const Mechanisms *m);

/* What cannot be done is refused here, before anything is measured. */
void bench_attention_check(const Mechanisms *m);
void bench_step_check(const Mechanisms *m);
void bench_decode_check(const Mechanisms *m);

/* One mechanism at its lengths, shortest first: what time and memory do as these grow. */
typedef struct {
    const Attention *attention;
    bool grows; /* each token takes longer than the one before */
    int n;
    double length[OPTION_LIST_MAX], time[OPTION_LIST_MAX], held[OPTION_LIST_MAX]; /* a token */
} Growth;

/* The line about it: how far apart the lengths are, which is to be near unless it grows. */
void growth_print(const Growth *g);
/* The time of n of them as curves. */
void growth_draw(const Growth *growth, int n, const char *subtitle, FILE *svg);

/*
 * The length from which on b takes less time than a, on the line between the two
 * lengths around it where both axes are logarithmic; 0: there is none.
 */
double growth_crossing(const Growth *a, const Growth *b);
/* The line about that, where of n of them one grows and one does not. */
void growth_print_crossing(const Growth *growth, int n);

#endif
