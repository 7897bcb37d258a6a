/*
 * Every op but the attentions. A row of the table `ops` is an op in one of its
 * variants, and most tests run for every row.
 */
#include "ops/kernel/elementary.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/transpose.h"
#include "ops/rope.h"
#include "tests/naive.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct Op Op;

/* An op with operands. */
typedef struct {
    const Op *op;
    Tensor *x[5];
    int n, batched; /* operands; the first so many have the batch as their first dimension */
    int B, T, C, O; /* batch, length, width, and width of the result where it is another */
    const int *id;  /* (B, T): tokens or targets */
    const real *fixed;
    bool between; /* an op between the operands and this one: they are results themselves */
    Tensor *zero[5];
} Case;

/* What the variants of an op have in common. */
typedef struct {
    void (*make)(Case *c, Arena *mem, double scale);
    Tensor *(*run)(Tape *tape, const Case *c, Tensor *const *x);
    Formula *naive; /* ctx is the Case; NULL: what it computes is drawn */
} Kind;

struct Op {
    const char *name;
    const Kind *kind;
    const Activation *f;
    double (*naive_f)(double x);
    bool bias, residual;       /* dense, norm */
    bool row_by_row;           /* dense */
    bool learned, fixed, same; /* embedding: positions, and tokens that come again */
    bool ignored;              /* cross entropy: rows without a target */
    int C;                     /* width, instead of the usual */
    double p;                  /* dropout */
};

static int rows(const Case *c)
{
    return c->B * c->T;
}

static Tensor *operand(Case *c, Arena *mem, double scale, int ndim, const int *dim)
{
    Tensor *t = leaf(mem, 40 + (uint64_t)c->n, scale, ndim, dim);

    c->x[c->n] = t;
    c->zero[c->n++] = leaf(mem, 0, 0, ndim, dim);
    return t;
}

static void make_tokens(Case *c, Arena *mem, double scale)
{
    operand(c, mem, scale, SHAPE(c->B, c->T, c->C));
    c->batched = 1;
}

static void make_two(Case *c, Arena *mem, double scale)
{
    make_tokens(c, mem, scale);
    operand(c, mem, scale, SHAPE(c->B, c->T, c->C));
    c->batched = 2;
}

static void naive_each(const Case *c, double *const *x, double (*f)(double), double *y)
{
    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = f(x[0][i]);
}

static Tensor *run_activation(Tape *tape, const Case *c, Tensor *const *x)
{
    return op_activation(tape, x[0], c->op->f);
}

static void naive_activation(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    naive_each(c, x, c->op->naive_f, y);
}

static const Kind activation = { make_tokens, run_activation, naive_activation };

static Tensor *run_swiglu(Tape *tape, const Case *c, Tensor *const *x)
{
    (void)c;
    return op_swiglu(tape, x[0], x[1]);
}

static void naive_swiglu_all(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = naive_swiglu(x[0][i], x[1][i]);
}

static const Kind swiglu = { make_two, run_swiglu, naive_swiglu_all };

static Tensor *run_add(Tape *tape, const Case *c, Tensor *const *x)
{
    (void)c;
    return op_add(tape, x[0], x[1]);
}

static void naive_add(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = x[0][i] + x[1][i];
}

static const Kind add = { make_two, run_add, naive_add };

static Tensor *run_double(Tape *tape, const Case *c, Tensor *const *x)
{
    (void)c;
    return op_add(tape, x[0], x[0]);
}

static double twice(double x)
{
    return x + x;
}

static void naive_double(const void *ctx, double *const *x, double *y)
{
    naive_each(ctx, x, twice, y);
}

static const Kind twofold = { make_tokens, run_double, naive_double };

/* Operands: x, the residual if there is one, w, the bias if there is one. */
static void make_dense(Case *c, Arena *mem, double scale)
{
    make_tokens(c, mem, scale);
    if (c->op->residual) {
        operand(c, mem, scale, SHAPE(c->B, c->T, c->O));
        c->batched = 2;
    }
    operand(c, mem, scale, SHAPE(c->O, c->C));
    if (c->op->bias)
        operand(c, mem, scale, SHAPE(c->O));
}

static Tensor *run_dense(Tape *tape, const Case *c, Tensor *const *x)
{
    Dense d = { .x = x[0], .w = x[c->batched], .f = c->op->f };

    d.r = c->op->residual ? x[1] : NULL;
    d.b = c->op->bias ? x[c->batched + 1] : NULL;
    tape->row_by_row = c->op->row_by_row;
    return op_dense(tape, d);
}

static void naive_dense_all(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;
    NaiveDense d = { .x = x[0], .w = x[c->batched], .f = c->op->naive_f };

    d.r = c->op->residual ? x[1] : NULL;
    d.b = c->op->bias ? x[c->batched + 1] : NULL;
    d.rows = rows(c), d.in = c->C, d.out = c->O;
    naive_dense(&d, y);
}

static const Kind dense = { make_dense, run_dense, naive_dense_all };

enum { SMALL_VOCABULARY = 7, LARGE_VOCABULARY = 401 }; /* no token comes twice by itself */

static int vocabulary(const Case *c)
{
    return rows(c) < SMALL_VOCABULARY ? SMALL_VOCABULARY : LARGE_VOCABULARY;
}

enum { FROM = 1 }; /* the position of the first token */

static void make_embedding(Case *c, Arena *mem, double scale)
{
    int *id = arena_take(mem, (size_t)rows(c) * sizeof *id);

    operand(c, mem, scale, SHAPE(vocabulary(c), c->C));
    for (int i = 0; i < rows(c); i++)
        id[i] = c->op->same ? i * i % 3 + 1 : (5 * i + 3) % vocabulary(c);
    c->id = id;
    if (c->op->learned)
        operand(c, mem, scale, SHAPE(FROM + c->T + 1, c->C));
    if (c->op->fixed) {
        size_t n = (size_t)((FROM + c->T) * c->C);
        real *fixed = arena_take(mem, n * sizeof *fixed);
        fill(fixed, n, 5, 1);
        c->fixed = fixed;
    }
}

static Tensor *run_embedding(Tape *tape, const Case *c, Tensor *const *x)
{
    Embedding e = { x[0], NULL, c->fixed, c->id, c->B, c->T, FROM };

    e.position = c->op->learned ? x[1] : NULL;
    return op_embedding(tape, e);
}

static void naive_embedding_all(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;
    Arena *mem = arena_new();
    NaiveEmbedding e = { .table = x[0], .id = c->id, .B = c->B, .T = c->T, .C = c->C };

    e.position = c->op->learned ? x[1] + FROM * c->C : NULL;
    if (c->op->fixed)
        e.position = doubles(mem, c->fixed + FROM * c->C, (size_t)(c->T * c->C));
    naive_embedding(&e, y);
    arena_free(mem);
}

static const Kind embedding = { make_embedding, run_embedding, naive_embedding_all };

static void make_norm(Case *c, Arena *mem, double scale)
{
    make_tokens(c, mem, scale);
    operand(c, mem, scale, SHAPE(c->C));
    if (c->op->bias)
        operand(c, mem, scale, SHAPE(c->C));
}

static Tensor *run_norm(Tape *tape, const Case *c, Tensor *const *x)
{
    return c->op->bias ? op_layernorm(tape, x[0], x[1], x[2]) : op_rmsnorm(tape, x[0], x[1]);
}

static void naive_norm(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (int i = 0; i < rows(c); i++) {
        int at = i * c->C;

        if (c->op->bias)
            naive_layernorm(x[0] + at, x[1], x[2], c->C, y + at);
        else
            naive_rmsnorm(x[0] + at, x[1], c->C, y + at);
    }
}

static const Kind norm = { make_norm, run_norm, naive_norm };

static void make_scale_offset(Case *c, Arena *mem, double scale)
{
    make_tokens(c, mem, scale);
    operand(c, mem, scale, SHAPE(c->C));
    operand(c, mem, scale, SHAPE(c->C));
}

static Tensor *run_scale_offset(Tape *tape, const Case *c, Tensor *const *x)
{
    (void)c;
    return op_scale_offset(tape, x[0], x[1], x[2]);
}

static void naive_scale_offset(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (int i = 0; i < rows(c) * c->C; i++)
        y[i] = x[1][i % c->C] * x[0][i] + x[2][i % c->C];
}

static const Kind scale_offset = { make_scale_offset, run_scale_offset, naive_scale_offset };

static void make_row(Case *c, Arena *mem, double scale)
{
    operand(c, mem, scale, SHAPE(1, c->C));
}

static Tensor *run_repeat(Tape *tape, const Case *c, Tensor *const *x)
{
    return op_repeat(tape, x[0], rows(c));
}

static void naive_repeat(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (int i = 0; i < rows(c) * c->C; i++)
        y[i] = x[0][i % c->C];
}

static const Kind repeat = { make_row, run_repeat, naive_repeat };

/* Padded: sequences of T, T - 1, ... positions, of none, and one that claims more than there are;
 * id[b T] says it of sequence b. */
static void make_mean(Case *c, Arena *mem, double scale)
{
    int *length = arena_zeros(mem, (size_t)rows(c) * sizeof *length);

    make_tokens(c, mem, scale);
    for (int b = 0; b < c->B; b++)
        length[b * c->T] = b == 3 ? c->T + 2 : b == 4 ? 0 : c->T - b;
    c->id = c->op->ignored ? length : NULL;
}

static Tensor *run_mean(Tape *tape, const Case *c, Tensor *const *x)
{
    int *length = arena_take(tape->mem, (size_t)c->B * sizeof *length);

    for (int b = 0; c->id && b < c->B; b++)
        length[b] = c->id[b * c->T];
    return op_mean(tape, x[0], c->id ? length : NULL);
}

static void naive_mean(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (int i = 0; i < c->B * c->C; i++) {
        int b = i / c->C, n = c->id && c->id[b * c->T] < c->T ? c->id[b * c->T] : c->T;

        y[i] = 0;
        for (int t = 0; t < n; t++)
            y[i] += x[0][(b * c->T + t) * c->C + i % c->C] / n;
    }
}

static const Kind mean_of = { make_mean, run_mean, naive_mean };

static Tensor *run_dropout(Tape *tape, const Case *c, Tensor *const *x)
{
    return op_dropout(tape, x[0], c->op->p, random_stream(3, RANDOM_DROPOUT, 1));
}

static double identity(double x)
{
    return x;
}

static void naive_identity(const void *ctx, double *const *x, double *y)
{
    naive_each(ctx, x, identity, y);
}

static const Kind dropout = { make_tokens, run_dropout, NULL };
static const Kind nothing_dropped = { make_tokens, run_dropout, naive_identity };

enum { HEADS = 3 };

static void make_cross_entropy(Case *c, Arena *mem, double scale)
{
    int *target = arena_take(mem, (size_t)rows(c) * sizeof *target);

    make_tokens(c, mem, scale);
    for (int i = 0; i < rows(c); i++)
        target[i] = c->op->ignored && i % 3 == 1 ? -1 : (7 * i + 2) % c->C;
    c->id = target;
}

static Tensor *run_cross_entropy(Tape *tape, const Case *c, Tensor *const *x)
{
    return op_cross_entropy(tape, x[0], c->id);
}

static void naive_cross_entropy_all(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;

    for (int i = 0; i < rows(c); i++)
        y[i] = naive_cross_entropy(x[0] + i * c->C, c->id[i], c->C);
}

static const Kind cross_entropy = { make_cross_entropy, run_cross_entropy,
                                    naive_cross_entropy_all };

#define GELU .f = &activation_gelu, .naive_f = naive_gelu
#define SILU .f = &activation_silu, .naive_f = naive_silu

static const Op ops[] = {
    { "gelu", .kind = &activation, GELU },
    { "silu", .kind = &activation, SILU },
    { "swiglu", .kind = &swiglu },
    { "add", .kind = &add },
    { "add to itself", .kind = &twofold },
    { "dense", .kind = &dense },
    { "dense + b", .kind = &dense, .bias = true },
    { "dense + r", .kind = &dense, .residual = true },
    { "dense + b + r", .kind = &dense, .bias = true, .residual = true },
    { "dense gelu", .kind = &dense, GELU },
    { "dense gelu + b", .kind = &dense, GELU, .bias = true },
    { "dense gelu + r", .kind = &dense, GELU, .residual = true },
    { "dense gelu + b + r", .kind = &dense, GELU, .bias = true, .residual = true },
    { "dense silu", .kind = &dense, SILU },
    { "dense silu + b", .kind = &dense, SILU, .bias = true },
    { "dense silu + r", .kind = &dense, SILU, .residual = true },
    { "dense silu + b + r", .kind = &dense, SILU, .bias = true, .residual = true },
    { "dense, row by row", .kind = &dense, .row_by_row = true },
    { "dense gelu + b + r, row by row", .kind = &dense, GELU, .bias = true, .residual = true,
      .row_by_row = true },
    { "dense of one column", .kind = &dense, .C = 1 },
    { "dense of many columns", .kind = &dense, .C = 30, .bias = true },
    { "embedding", .kind = &embedding },
    { "embedding, learned", .kind = &embedding, .learned = true },
    { "embedding, fixed", .kind = &embedding, .fixed = true },
    { "embedding, same tokens", .kind = &embedding, .learned = true, .same = true },
    { "rmsnorm", .kind = &norm },
    { "layernorm", .kind = &norm, .bias = true },
    { "scale and offset", .kind = &scale_offset },
    { "repeat", .kind = &repeat },
    { "mean", .kind = &mean_of },
    { "mean of what is no padding", .kind = &mean_of, .ignored = true },
    { "dropout", .kind = &dropout, .p = 0.3 },
    { "dropout of nothing", .kind = &nothing_dropped },
    { "cross entropy", .kind = &cross_entropy },
    { "cross entropy, ignored rows", .kind = &cross_entropy, .ignored = true },
    { "cross entropy of two", .kind = &cross_entropy, .C = 2 },
    { "cross entropy of many", .kind = &cross_entropy, .C = 50, .ignored = true },
};

static Tensor *run(Tape *tape, void *ctx)
{
    const Case *c = ctx;
    Tensor *x[5];

    for (int j = 0; j < c->n; j++)
        x[j] = c->between ? op_add(tape, c->x[j], c->zero[j]) : c->x[j];
    return c->op->kind->run(tape, c, x);
}

enum { FACTOR = 23 }; /* from the width of a small case to that of a large one */

static Case case_of(Arena *mem, int i, bool large, double scale)
{
    const Op *op = &ops[i];
    Case c = { .op = op, .B = 2, .T = 3, .C = op->C ? op->C : 5, .O = 3 };

    if (large) {
        c.B = 5, c.T = 37, c.O = 70;
        c.C = c.C > 2 ? c.C * FACTOR : c.C;
    }
    op->kind->make(&c, mem, scale);
    return c;
}

static Case small(Arena *mem, int i)
{
    return case_of(mem, i, false, 1);
}

static Case large(Arena *mem, int i)
{
    return case_of(mem, i, true, 1);
}

static Subject subject(Case *c)
{
    return (Subject){ c->op->name, run, c->op->kind->naive, c, c->x, c->n };
}

/* Runs the check on every op, small and large. */
static void check_every(void (*check)(const Subject *s))
{
    for (int i = 0; i < COUNT(ops); i++) {
        Arena *mem = arena_new();
        Case c[] = { small(mem, i), large(mem, i) };

        for (int j = 0; j < COUNT(c); j++) {
            Subject s = subject(&c[j]);
            check(&s);
        }
        arena_free(mem);
    }
}

static void check_formula_if_any(const Subject *s)
{
    if (s->naive)
        check_formula(s);
}

static void check_slopes_if_any(const Subject *s)
{
    if (s->naive)
        check_slopes(s, 0);
}

START_TEST(an_op_computes_its_formula)
{
    check_every(check_formula_if_any);
}
END_TEST

START_TEST(a_gradient_is_the_slope_of_the_formula)
{
    check_every(check_slopes_if_any);
}
END_TEST

/* _i is the row of the table */
START_TEST(a_backward_is_the_derivative)
{
    static const double scales[] = { 0.3, 1, 3 };
    Arena *mem = arena_new();

    for (int j = 0; j < COUNT(scales); j++) {
        Case c = case_of(mem, _i, false, scales[j]);
        check_gradient(run, &c, c.x, c.n);
        c.between = true;
        check_gradient(run, &c, c.x, c.n);
    }
    arena_free(mem);
}
END_TEST

START_TEST(a_backward_adds_to_what_is_there)
{
    check_every(check_backward_adds);
}
END_TEST

START_TEST(without_a_gradient_above_there_is_none_below)
{
    check_every(check_no_upstream_no_gradient);
}
END_TEST

START_TEST(twice_the_gradient_above_is_twice_that_below)
{
    check_every(check_twice_upstream_twice_gradient);
}
END_TEST

START_TEST(threads_do_not_change_a_bit)
{
    check_every(check_threads);
}
END_TEST

START_TEST(an_op_leaves_its_operands_alone)
{
    check_every(check_operands_untouched);
}
END_TEST

static void check_sequences(Arena *mem, Case all)
{
    Subject s = subject(&all);

    for (int b = 0; b < all.B; b += 2) {
        Case one = all;

        one.B = 1;
        one.id = all.id ? all.id + b * all.T : NULL;
        for (int j = 0; j < all.batched; j++)
            one.x[j] = sequence(mem, all.x[j], b);
        Subject alone = subject(&one);
        check_alone_as_in_batch(&s, &alone, b, all.batched);
    }
}

START_TEST(a_sequence_is_the_same_in_any_batch)
{
    for (int i = 0; i < COUNT(ops); i++) {
        Arena *mem = arena_new();

        if (ops[i].p == 0) { /* else what is dropped depends on where it stands */
            check_sequences(mem, small(mem, i));
            check_sequences(mem, large(mem, i));
        }
        arena_free(mem);
    }
}
END_TEST

static int op_named(const char *name)
{
    int i = 0;

    while (i < COUNT(ops) && strcmp(ops[i].name, name) != 0)
        i++;
    ck_assert_int_lt(i, COUNT(ops));
    return i;
}

static void check_untouched_rows(const char *name, int batch)
{
    Arena *mem = arena_new();
    Case c = case_of(mem, op_named(name), batch, 1);
    Subject s = subject(&c);
    Outcome o = outcome(mem, &s, 2, weights_new(mem));
    int unused = 0;

    for (int v = 0; v < c.x[0]->dim[0]; v++) {
        bool used = false;

        for (int i = 0; i < rows(&c); i++)
            used |= c.id[i] == v;
        ck_assert_int_eq(used, !all_zero(o.dx[0] + v * c.C, (size_t)c.C));
        unused += !used;
    }
    ck_assert_int_gt(unused, 0);
    if (c.op->learned) { /* of the positions, the first and the last were not used */
        ck_assert(all_zero(o.dx[1], (size_t)(FROM * c.C)));
        ck_assert(all_zero(o.dx[1] + (FROM + c.T) * c.C, (size_t)c.C));
    }
    arena_free(mem);
}

/* As large as a product has to be to be cut along its sums, or not, by the size of the batch. */
START_TEST(a_long_sum_is_the_same_in_any_batch)
{
    Arena *mem = arena_new();
    Case all = { .op = &ops[op_named("dense")], .B = 4, .T = 601, .C = 1030, .O = 3 };

    all.op->kind->make(&all, mem, 1);
    check_sequences(mem, all);
    arena_free(mem);
}
END_TEST

START_TEST(a_token_that_is_not_in_the_batch_gets_no_gradient)
{
    for (int size = 0; size < 2; size++) {
        check_untouched_rows("embedding", size);
        check_untouched_rows("embedding, learned", size);
        check_untouched_rows("embedding, same tokens", size);
    }
}
END_TEST

START_TEST(an_ignored_row_has_no_loss_and_no_gradient)
{
    Arena *mem = arena_new();
    Case c = large(mem, op_named("cross entropy, ignored rows"));
    Subject s = subject(&c);
    Outcome o = outcome(mem, &s, 2, weights_new(mem));

    ck_assert_uint_eq(o.n, (size_t)rows(&c));
    for (int i = 0; i < rows(&c); i++) {
        ck_assert_int_eq(o.y[i] == 0, c.id[i] == -1);
        ck_assert_int_eq(all_zero(o.dx[0] + i * c.C, (size_t)c.C), c.id[i] == -1);
    }
    arena_free(mem);
}
END_TEST

START_TEST(the_gradients_of_the_logits_of_a_row_cancel)
{
    Arena *mem = arena_new();
    Case c = large(mem, op_named("cross entropy"));
    Subject s = subject(&c);
    Outcome o = outcome(mem, &s, 2, weights_new(mem));

    for (int i = 0; i < rows(&c); i++) {
        double sum = 0, size = 0;

        for (int v = 0; v < c.C; v++) {
            sum += (double)o.dx[0][i * c.C + v];
            size += fabs((double)o.dx[0][i * c.C + v]);
        }
        ck_assert_double_le(fabs(sum), size * (in_double ? 1e-13 : 1e-6));
    }
    arena_free(mem);
}
END_TEST

/* Large numbers: epsilon, for which this is not quite so, is nothing beside their variance. */
START_TEST(the_gradient_of_layernorm_has_no_mean_and_no_share_of_its_result)
{
    Arena *mem = arena_new();
    Case c = large(mem, op_named("layernorm"));

    fill(c.x[0]->data, c.x[0]->n, 8, 1e5);
    Subject s = subject(&c);
    Outcome o = outcome(mem, &s, 2, weights_new(mem));
    for (int i = 0; i < rows(&c); i++) {
        const real *x = c.x[0]->data + i * c.C, *dx = o.dx[0] + i * c.C;
        double mean = 0, sum = 0, share = 0, size = 0, spread = 0;

        for (int l = 0; l < c.C; l++)
            mean += (double)x[l] / c.C;
        for (int l = 0; l < c.C; l++) {
            sum += (double)dx[l];
            share += (double)dx[l] * ((double)x[l] - mean);
            size += fabs((double)dx[l]);
            spread += fabs((double)dx[l] * ((double)x[l] - mean));
        }
        ck_assert_double_le(fabs(sum), size * (in_double ? 1e-13 : 1e-6));
        ck_assert_double_le(fabs(share), spread * (in_double ? 1e-13 : 1e-6));
    }
    arena_free(mem);
}
END_TEST

/* Logits that are multiples of 1/64, so that adding a constant rounds nothing. */
START_TEST(a_constant_added_to_the_logits_changes_no_loss)
{
    Arena *mem = arena_new();
    Case c = small(mem, op_named("cross entropy of many"));
    Subject s = subject(&c);
    real *x = c.x[0]->data, *dy = weights_new(mem);

    for (size_t i = 0; i < c.x[0]->n; i++)
        x[i] = floor(x[i] * 64) / 64;
    Outcome o = outcome(mem, &s, 1, dy);
    for (int sign = -1; sign < 2; sign += 2) {
        for (size_t i = 0; i < c.x[0]->n; i++)
            x[i] += R(sign * 1024);
        Outcome moved = outcome(mem, &s, 1, dy);
        ck_assert_double_le(distance(moved.y, o.y, o.n), in_double ? 1e-12 : 1e-6);
        ck_assert_double_le(distance(moved.dx[0], o.dx[0], c.x[0]->n), in_double ? 1e-12 : 1e-6);
        for (size_t i = 0; i < c.x[0]->n; i++)
            x[i] -= R(sign * 1024);
    }
    arena_free(mem);
}
END_TEST

START_TEST(logits_of_any_size_have_a_finite_loss)
{
    static const double sizes[] = { 1e4, 1e30 };
    Arena *mem = arena_new();
    Case c = small(mem, op_named("cross entropy of many"));
    Subject s = subject(&c);

    for (int i = 0; i < COUNT(sizes); i++)
        for (int sure = 0; sure < 2; sure++) {
            for (size_t j = 0; j < c.x[0]->n; j++)
                c.x[0]->data[j] = R((int)j % c.C == 3 ? sizes[i] : -sizes[i]);
            for (int r = 0; r < rows(&c) && sure; r++)
                c.x[0]->data[r * c.C + (c.id[r] < 0 ? 3 : c.id[r])] = R(2 * sizes[i]);
            check_formula(&s);
            Outcome o = outcome(mem, &s, 1, weights_new(mem));
            ck_assert(all_finite(o.dx[0], c.x[0]->n));
        }
    arena_free(mem);
}
END_TEST

/* What becomes of x and, for dy = 1, of its gradient. */
static void activate(const Activation *f, double x, double *y, double *dx)
{
    /* More than one, so that the widest way through it is taken as well as the narrowest. */
    real at[19], d[19];

    for (int i = 0; i < COUNT(at); i++)
        at[i] = R(x), d[i] = 1;
    f->chain(d, at, COUNT(at));
    f->apply(at, COUNT(at));
    ck_assert(same_bits(at + 1, at, COUNT(at) - 1) && same_bits(d + 1, d, COUNT(d) - 1));
    *y = (double)at[0];
    *dx = (double)d[0];
}

START_TEST(an_activation_of_a_large_number_is_that_number_or_nothing)
{
    static const Activation *const f[] = { &activation_gelu, &activation_silu };
    static const double sizes[] = { 50, 89, 100, 710, 1e4, 1e15, 1e30, (double)FLT_MAX };
    double y, dx;

    for (int a = 0; a < COUNT(f); a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            double x = (double)R(sizes[i]);
            /* silu(-x) falls like x e^-x, gelu(-x) faster than any power of it */
            double nothing = a == 0 ? 1e-30 : 2 * x * exp(-x) + 1e-35;

            activate(f[a], x, &y, &dx);
            ck_assert_msg(y == x, "%s(%g) = %g", f[a]->name, x, y);
            ck_assert_msg(fabs(dx - 1) < 1e-6, "%s'(%g) = %g", f[a]->name, x, dx);
            activate(f[a], -x, &y, &dx);
            ck_assert_msg(fabs(y) <= nothing, "%s(%g) = %g", f[a]->name, -x, y);
            ck_assert_msg(fabs(dx) <= nothing, "%s'(%g) = %g", f[a]->name, -x, dx);
        }
}
END_TEST

START_TEST(the_tails_of_an_activation_are_monotone)
{
    static const Activation *const f[] = { &activation_gelu, &activation_silu };
    const double slack = in_double ? 1e-15 : 1e-6;

    for (int a = 0; a < COUNT(f); a++) {
        double right = 0, left = 0, y, dx;

        for (int i = 0; i <= 4000; i++) {
            double x = 1.5 + i * 0.01;

            activate(f[a], x, &y, &dx);
            ck_assert_msg(y > right, "%s(%g) = %g after %g", f[a]->name, x, y, right);
            right = y;
            activate(f[a], -x, &y, &dx);
            ck_assert_msg(y <= 0 && (i == 0 || y >= left - slack), "%s(%g) = %g after %g",
                          f[a]->name, -x, y, left);
            left = y;
        }
    }
}
END_TEST

/* All results have the same size, so that what is handed back is taken at once. */
static Tensor *losses(Tape *tape, void *ctx)
{
    static const int target[] = { 1, 4, 0, 3, 3, 2 };
    Tensor *const *x = ctx, *a = op_add(tape, x[0], x[1]), *b = op_add(tape, x[1], x[0]);
    Tensor *logits = op_dense(tape, (Dense){ .x = op_swiglu(tape, a, b), .w = x[2] });

    op_activation(tape, a, &activation_silu); /* nobody uses it */
    return op_cross_entropy(tape, x[3] ? op_add(tape, logits, x[3]) : logits, target);
}

/* The sum, if there is one, passes on a gradient that lies over its own numbers. */
START_TEST(memory_between_ops_is_handed_back_once_and_not_before_its_last_use)
{
    Arena *mem = arena_new();
    Tensor *x[] = { leaf(mem, 1, 1, SHAPE(6, 5)), leaf(mem, 2, 1, SHAPE(6, 5)),
                    leaf(mem, 3, 1, SHAPE(5, 5)), leaf(mem, 4, 1, SHAPE(6, 5)) };

    check_gradient(losses, x, x, 4);
    x[3] = NULL;
    check_gradient(losses, x, x, 3);
    arena_free(mem);
}
END_TEST

/* A tensor of ones with as many as DRAWS of them, dropped. */
enum { DRAWS = 100000 };

static const real *dropped(Tape *tape, double p, Random random)
{
    Tensor *x = leaf(tape->mem, 0, 0, SHAPE(DRAWS / 10, 10));

    for (int i = 0; i < DRAWS; i++)
        x->data[i] = 1;
    tape->forward_only = true;
    return op_dropout(tape, x, p, random)->data;
}

START_TEST(dropout_drops_its_share_and_keeps_the_expectation)
{
    static const double p[] = { 0.01, 0.1, 0.5, 0.9 };
    Tape tape = tape_open(2);

    for (int j = 0; j < COUNT(p); j++) {
        const real *y = dropped(&tape, p[j], random_stream(4, RANDOM_DROPOUT, (uint64_t)j));
        double gone = 0, kept = 0, sum = 0, deviation = sqrt(p[j] * (1 - p[j]) / DRAWS);

        for (int i = 0; i < DRAWS; i++) {
            gone += y[i] == 0;
            kept += fabs((double)y[i] * (1 - p[j]) - 1) < 1e-6;
            sum += (double)y[i];
        }
        ck_assert(gone + kept == DRAWS);
        ck_assert_double_le(fabs(gone / DRAWS - p[j]), 5 * deviation);
        ck_assert_double_le(fabs(sum / DRAWS - 1), 5 * deviation / (1 - p[j]) + 1e-6);
    }
    tape_close(&tape);
}
END_TEST

START_TEST(dropout_drops_the_same_again_and_others_for_another_stream)
{
    Tape tape = tape_open(2);
    Random a = random_stream(4, RANDOM_DROPOUT, 1), b = random_stream(4, RANDOM_DROPOUT, 2);
    const real *once = dropped(&tape, 0.5, a), *again = dropped(&tape, 0.5, a),
               *other = dropped(&tape, 0.5, b);
    int same = 0, runs = 0;

    ck_assert(same_bits(once, again, DRAWS));
    for (int i = 0; i + 1 < DRAWS; i++) {
        same += once[i] == other[i];
        runs += once[i] == once[i + 1];
    }
    ck_assert_int_lt(abs(same - DRAWS / 2), 1000);
    ck_assert_int_lt(abs(runs - DRAWS / 2), 1000);
    tape_close(&tape);
}
END_TEST

/* All heads of x (B, T, H, D), turned where they are. */
static const real *turned(Tape *tape, Tensor *x, RopeScale scale, bool back)
{
    int T = x->dim[1], H = x->dim[2], D = x->dim[3];
    const real *turns = rope_angles(tape, T, D, scale);

    for (int i = 0; i < x->dim[0] * T * H; i++)
        rope_rotate(x->data + (size_t)i * (size_t)D, turns + (size_t)(i / H % T) * (size_t)D, D,
                    back);
    return x->data;
}

static const RopeScale no_scale = { 0 };
static const RopeScale scales[] = {
    { 0 }, { ROPE_LINEAR, 4 }, { ROPE_NTK, 4 }, { ROPE_LINEAR, 1.5 }, { ROPE_NTK, 1e6 }
};

/* _i: which of them */
START_TEST(rope_is_its_formula_and_turns_back)
{
    enum { T = 37, D = 10, N = 2 * T * HEADS };
    const RopeScale scale = scales[_i];
    Tape tape = tape_open(2);
    Tensor *x = leaf(tape.mem, 1, 1, SHAPE(2, T, HEADS, D));
    double *x0 = doubles(tape.mem, x->data, x->n), *y = arena_take(tape.mem, x->n * sizeof *y);

    rope_angles(&tape, 5, D, scale); /* too few positions, and the angles of another width */
    rope_angles(&tape, T, D + 2, scale);
    for (int i = 0; i < N; i++)
        naive_rope(x0 + i * D, i / HEADS % T, D, scale, y + i * D);
    check_close("turned", turned(&tape, x, scale, false), y, x->n, forward_tolerance);
    check_close("turned back", turned(&tape, x, scale, true), x0, x->n, forward_tolerance);
    tape_close(&tape);
}
END_TEST

START_TEST(angles_are_made_once_a_step)
{
    Tape tape = tape_open(1);
    const RopeScale half = { ROPE_LINEAR, 2 }, ntk = { ROPE_NTK, 2 };
    const real *one = rope_angles(&tape, 9, 4, half), *two = rope_angles(&tape, 7, 6, half);
    real alone[4];

    ck_assert_ptr_eq(rope_angles(&tape, 8, 4, half), one);
    ck_assert_ptr_eq(rope_angles(&tape, 7, 6, half), two);
    ck_assert_ptr_ne(rope_angles(&tape, 8, 4, ntk), one);
    ck_assert_ptr_ne(rope_angles(&tape, 8, 4, no_scale), one);
    rope_position(alone, 8, 4, half);
    ck_assert(same_bits(alone, one + 8 * 4, 4));
    tape_reset(&tape);
    ck_assert_ptr_null(tape.angles);
    tape_close(&tape);
}
END_TEST

START_TEST(a_scale_of_1_changes_no_bit_and_ntk_leaves_the_only_pair_alone)
{
    real plain[8], scaled[8];

    for (int D = 2; D <= 8; D += 2)
        for (int t = 0; t < 2000; t += 7) {
            rope_position(plain, t, D, no_scale);
            rope_position(scaled, t, D, (RopeScale){ ROPE_LINEAR, 1 });
            ck_assert(same_bits(plain, scaled, (size_t)D));
            rope_position(scaled, t, D, (RopeScale){ ROPE_NTK, D == 2 ? 1000 : 1 });
            ck_assert(same_bits(plain, scaled, (size_t)D));
        }
}
END_TEST

/* All pairs of the linear one, and of the other the slowest; its fastest is where it was. */
START_TEST(a_scale_of_4_brings_a_position_back_to_a_quarter_of_it)
{
    enum { D = 10 };
    real plain[D], linear[D], ntk[D], far[D];

    for (int t = 0; t < 600; t += 7) {
        rope_position(plain, t, D, no_scale);
        rope_position(far, 4 * t, D, no_scale);
        rope_position(linear, 4 * t, D, (RopeScale){ ROPE_LINEAR, 4 });
        rope_position(ntk, 4 * t, D, (RopeScale){ ROPE_NTK, 4 });
        ck_assert(same_bits(linear, plain, D));
        ck_assert(same_bits(ntk, far, 2));
        for (int d = D - 2; d < D; d++)
            ck_assert_double_eq_tol((double)ntk[d], (double)plain[d], in_double ? 1e-13 : 1e-6);
    }
}
END_TEST

START_TEST(rope_keeps_lengths_and_leaves_the_first_position)
{
    Tape tape = tape_open(2);
    int T = 300, D = 6;
    Tensor *x = leaf(tape.mem, 1, 1, SHAPE(2, T, HEADS, D));
    double *x0 = doubles(tape.mem, x->data, x->n);
    const real *y = turned(&tape, x, no_scale, false);

    double worst = 0;
    bool first_stays = true;
    for (int i = 0; i < 2 * T * HEADS * D; i += 2) {
        double size = hypot(x0[i], x0[i + 1]), now = hypot((double)y[i], (double)y[i + 1]);

        worst = fmax(worst, fabs(now - size) / size);
        if (i / D / HEADS % T == 0)
            first_stays &= (double)y[i] == x0[i] && (double)y[i + 1] == x0[i + 1];
    }
    ck_assert(first_stays);
    ck_assert_double_le(worst, in_double ? 1e-15 : 2e-7);
    tape_close(&tape);
}
END_TEST

/*
 * Head 0 has the same q at every position, head 1 the same k: their products
 * depend on the distance alone, as far from the start as we go.
 */
START_TEST(a_turned_product_depends_on_the_distance_alone)
{
    enum { T = 1000001, D = 8 };
    static const int distances[] = { 0, 1, 17, 500 }, shifts[] = { 1, 1000, 65536, 999500 };
    Tape tape = tape_open(2);
    Tensor *x = tensor_new(tape.mem, SHAPE(1, T, 2, D));
    real first[2 * D];
    double square[2] = { 0 };

    fill(first, 2 * D, 6, 1);
    for (int i = 0; i < T; i++)
        memcpy(x->data + i * 2 * D, first, sizeof first);
    for (int i = 0; i < 2 * D; i++)
        square[i / D] += (double)first[i] * (double)first[i];
    const real *y = turned(&tape, x, no_scale, false);
    for (int j = 0; j < COUNT(distances); j++)
        for (int s = 0; s < COUNT(shifts); s++) {
            double dot[2] = { 0 };

            for (int d = 0; d < D; d++) {
                int q = distances[j] * 2 * D + d, k = D + d, shift = shifts[s] * 2 * D;
                dot[0] += (double)y[q] * (double)y[k];
                dot[1] += (double)y[q + shift] * (double)y[k + shift];
            }
            double off = fabs(dot[1] - dot[0]) / sqrt(square[0] * square[1]);
            ck_assert_msg(off <= 1e-7, "distance %d, shifted by %d: %.1e off", distances[j],
                          shifts[s], off);
        }
    tape_close(&tape);
}
END_TEST

/* Of every float from the first result above 0 to the last that is finite, one in a thousand. */
START_TEST(the_exponential_is_right_to_two_units)
{
    double worst = 0;

    for (int sign = 0; sign < 2; sign++)
        for (uint32_t bits = 0; bits < 0x42b17180; bits += 997) { /* 88.72 */
            uint32_t with_sign = bits | (uint32_t)sign << 31;
            float x;

            memcpy(&x, &with_sign, sizeof x);
            double want = exp((double)x), unit = want * 0x1p-23;
            double error = fabs((double)exp_float(x) - want) / (unit > 0x1p-149 ? unit : 0x1p-149);
            worst = error > worst ? error : worst;
        }
    ck_assert_double_le(worst, 2);
    ck_assert_double_eq((double)exp_float(0), 1);
    ck_assert_double_eq((double)exp_float(-HUGE_VALF), 0);
    ck_assert_double_eq((double)exp_float(-104.5F), 0);
    ck_assert_double_eq((double)exp_float(89), HUGE_VAL);
    ck_assert(isnan(exp_float((float)NAN)));
}
END_TEST

/* The cheaper one from -87 to 87, and what is made of it beyond. */
START_TEST(the_near_exponential_is_right_to_two_units)
{
    double worst = 0;

    for (uint32_t bits = 0; bits <= 0x42ae0000; bits += 997) /* 87 */
        for (int sign = -1; sign <= 1; sign += 2) {
            float x;

            memcpy(&x, &bits, sizeof x);
            x *= (float)sign;
            double want = exp((double)x);
            worst = fmax(worst, fabs((double)exp_near_float(x) - want) / (want * 0x1p-23));
        }
    ck_assert_double_le(worst, 2);
    ck_assert(exp_below(0) == 1 && exp_below(-FADED) > 0 && exp_below(-FADED - 1) == 0);
    ck_assert(exp_below(-R(HUGE_VAL)) == 0 && isnan(exp_below(R(NAN))));
    ck_assert(sigmoid(0) == R(0.5) && sigmoid(FADED + 1) == 1 && sigmoid(-FADED) > 0);
    ck_assert(sigmoid(-FADED - 1) == 0 && sigmoid(R(HUGE_VAL)) == 1 && isnan(sigmoid(R(NAN))));
}
END_TEST

/* In sums of SUMS numbers, four at once, and what is left of them; a NaN is no largest number. */
START_TEST(rows_are_summed_and_searched_to_their_ends)
{
    real x[6 * SUMS], ones[6 * SUMS];

    for (int n = 0; n < COUNT(x); n++) {
        real sum = 0, largest = -5;

        for (int i = 0; i < n; i++) {
            x[i] = (real)((i * 7 + n) % 11 - 4), ones[i] = 1;
            sum += x[i];
            largest = x[i] > largest ? x[i] : largest;
        }
        ck_assert(row_sum(x, n) == sum && row_dot(x, ones, n) == sum);
        ck_assert(row_max(x, n, -5) == largest && row_max(x, n, 99) == 99);
        if (n > 0)
            x[n - 1] = R(NAN);
        ck_assert(!isnan(row_max(x, n, -5)));
    }
}
END_TEST

START_TEST(the_exponentials_of_a_row_are_summed_as_row_sum_does)
{
    real x[3 * SUMS], e[3 * SUMS];

    for (int n = 0; n < COUNT(x); n++) {
        for (int i = 0; i < n; i++)
            x[i] = R(0.3) * (real)(i * 7 % 11) - 3, e[i] = exp_below(x[i]);
        real sum = row_exp(x, n, 0);
        ck_assert(sum == row_sum(x, n));
        for (int i = 0; i < n; i++)
            ck_assert(fabs((double)(x[i] - e[i])) <= 1e-6 * (double)e[i]);
    }
}
END_TEST

START_TEST(lanes_within_a_span_are_kept_and_the_others_replaced)
{
    real x[SUMS];

    for (int i = 0; i < SUMS; i++)
        x[i] = i == 1 ? R(NAN) : (real)i;
    for (int from = -2; from <= SUMS + 2; from++)
        for (int to = -2; to <= SUMS + 2; to++) {
            real y[SUMS];

            lanes_put(y, lanes_within(lanes_at(x), from, to, lanes_all(-R(HUGE_VAL))));
            for (int i = 0; i < SUMS; i++)
                if (i < from || i >= to)
                    ck_assert(y[i] == -R(HUGE_VAL));
                else
                    ck_assert(i == 1 ? isnan(y[i]) : y[i] == x[i]);
        }
}
END_TEST

/* For every layout of a, alone and added to c; what is around c stays as it is. */
START_TEST(the_kernel_is_its_plain_twin)
{
    enum { K = 37, WIDE = NR + 3 };
    static real a[2 * KC * MR + K * (MR + 1)];
    real b[K * WIDE], c[MR * WIDE], twin[MR * WIDE];
    const ptrdiff_t strides[][2] = { { K + 1, 1 }, { KC, 1 }, { KC, 2 }, { 1, MR }, { 1, MR + 1 } };

    fill(a, COUNT(a), 1, 1);
    fill(b, COUNT(b), 2, 1);
    for (int i = 0; i < COUNT(strides); i++)
        for (int k = 0; k <= K; k++)
            for (int more = 0; more < 2; more++) {
                Factors f = { a, strides[i][0], strides[i][1], b, WIDE, k };

                fill(c, COUNT(c), 3, 1);
                memcpy(twin, c, sizeof c);
                kernel(c, WIDE, f, more);
                kernel_plain(twin, WIDE, f, more);
                ck_assert_msg(distance(c, twin, COUNT(c)) <= (in_double ? 1e-15 : 1e-6),
                              "strides %d, k %d, add %d", i, k, more);
            }
}
END_TEST

/* gemm copies some rows of a and reads others where they are: that must not be seen in c. */
START_TEST(the_layout_of_a_changes_no_bit_of_the_kernel)
{
    enum { K = KC < 37 ? KC : 37, MOST = KC > MR + 1 ? KC : MR + 1 };
    static real m[MR * K], a[MR * MOST + K * MOST], b[K * NR];
    real c[MR * NR], first[MR * NR];
    const ptrdiff_t strides[][2] = { { K + 1, 1 }, { KC, 1 }, { 1, MR }, { 1, MR + 1 } };

    fill(m, COUNT(m), 1, 1);
    fill(b, COUNT(b), 2, 1);
    for (int i = 0; i < COUNT(strides); i++) {
        const ptrdiff_t rs = strides[i][0], cs = strides[i][1];

        for (int r = 0; r < MR; r++)
            for (int k = 0; k < K; k++)
                a[r * rs + k * cs] = m[r * K + k];
        kernel(c, NR, (Factors){ a, rs, cs, b, NR, K }, false);
        if (i == 0)
            memcpy(first, c, sizeof c);
        ck_assert_msg(memcmp(c, first, sizeof c) == 0, "strides %d", i);
    }
}
END_TEST

/* For every number of rows and columns around that of lanes, and both layouts. */
START_TEST(a_transpose_is_its_plain_twin)
{
    enum { MOST = 2 * LANES + 3, WIDE = MOST + 2 };
    static real from[WIDE * WIDE], to[WIDE * WIDE], twin[WIDE * WIDE];

    fill(from, COUNT(from), 1, 1);
    for (int rows = 0; rows <= MOST; rows++)
        for (int cols = 0; cols <= MOST; cols++)
            for (int turned = 0; turned < 2; turned++) {
                Strided m = { from, turned ? 1 : WIDE, turned ? WIDE : 1, rows, cols };

                fill(to, COUNT(to), 2, 1);
                memcpy(twin, to, sizeof to);
                transpose(to, WIDE, m);
                transpose_plain(twin, WIDE, m);
                ck_assert_msg(memcmp(to, twin, sizeof to) == 0, "%d x %d", rows, cols);
                if (rows > 1 && cols > 2)
                    ck_assert(memcmp(to + 2 * WIDE + 1, from + (turned ? 2 * WIDE + 1 : WIDE + 2),
                                     sizeof(real)) == 0);
            }
}
END_TEST

Suite *suite_ops(void)
{
    Suite *s = suite_create("ops");
    TCase *each = tcase_create("each"), *one = tcase_create("one");

    tcase_set_timeout(each, 60);
    tcase_add_test(each, an_op_computes_its_formula);
    tcase_add_loop_test(each, a_backward_is_the_derivative, 0, COUNT(ops));
    tcase_add_test(each, a_gradient_is_the_slope_of_the_formula);
    tcase_add_test(each, a_backward_adds_to_what_is_there);
    tcase_add_test(each, without_a_gradient_above_there_is_none_below);
    tcase_add_test(each, twice_the_gradient_above_is_twice_that_below);
    tcase_add_test(each, threads_do_not_change_a_bit);
    tcase_add_test(each, an_op_leaves_its_operands_alone);
    tcase_add_test(each, a_sequence_is_the_same_in_any_batch);
    suite_add_tcase(s, each);
    tcase_set_timeout(one, 60);
    tcase_add_test(one, the_kernel_is_its_plain_twin);
    tcase_add_test(one, the_layout_of_a_changes_no_bit_of_the_kernel);
    tcase_add_test(one, a_transpose_is_its_plain_twin);
    tcase_add_test(one, the_exponential_is_right_to_two_units);
    tcase_add_test(one, the_near_exponential_is_right_to_two_units);
    tcase_add_test(one, rows_are_summed_and_searched_to_their_ends);
    tcase_add_test(one, the_exponentials_of_a_row_are_summed_as_row_sum_does);
    tcase_add_test(one, lanes_within_a_span_are_kept_and_the_others_replaced);
    tcase_add_test(one, a_long_sum_is_the_same_in_any_batch);
    tcase_add_test(one, a_token_that_is_not_in_the_batch_gets_no_gradient);
    tcase_add_test(one, an_ignored_row_has_no_loss_and_no_gradient);
    tcase_add_test(one, the_gradients_of_the_logits_of_a_row_cancel);
    tcase_add_test(one, the_gradient_of_layernorm_has_no_mean_and_no_share_of_its_result);
    tcase_add_test(one, a_constant_added_to_the_logits_changes_no_loss);
    tcase_add_test(one, logits_of_any_size_have_a_finite_loss);
    tcase_add_test(one, an_activation_of_a_large_number_is_that_number_or_nothing);
    tcase_add_test(one, the_tails_of_an_activation_are_monotone);
    tcase_add_test(one, memory_between_ops_is_handed_back_once_and_not_before_its_last_use);
    tcase_add_test(one, dropout_drops_its_share_and_keeps_the_expectation);
    tcase_add_test(one, dropout_drops_the_same_again_and_others_for_another_stream);
    tcase_add_loop_test(one, rope_is_its_formula_and_turns_back, 0, COUNT(scales));
    tcase_add_test(one, a_scale_of_1_changes_no_bit_and_ntk_leaves_the_only_pair_alone);
    tcase_add_test(one, a_scale_of_4_brings_a_position_back_to_a_quarter_of_it);
    tcase_add_test(one, angles_are_made_once_a_step);
    tcase_add_test(one, rope_keeps_lengths_and_leaves_the_first_position);
    tcase_add_test(one, a_turned_product_depends_on_the_distance_alone);
    suite_add_tcase(s, one);
    return s;
}
