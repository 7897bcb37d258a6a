/* The ops except attention: the promises of every op, for each row of the table of ops, and those
 * of single ops. */
#include "ops/base/error.h"
#include "ops/decoding.h"
#include "tests/naive.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A way to use an op: a row, a subset of its optional operands, and unusual sizes. */
typedef struct {
    const OpRow *row;
    unsigned given;
    int C, V; /* 0: the default */
    bool row_by_row;
} Way;

enum { R = 1 << 1, BIAS = 1 << 3, POSITION = 1 << 1 }; /* optional operands of dense, embedding */

static Way ways[80];
static int n_ways;

static void add_way(Way w)
{
    if (n_ways == COUNT(ways))
        BUG("more than %d ways", COUNT(ways));
    ways[n_ways++] = w;
}

/* Every row with every subset of its optional operands, and special cases of some. */
static void list_ways(void)
{
    const OpRow *dense = op_row("dense"), *gelu = op_row("dense of gelu");

    n_ways = 0;
    for (const OpRow *row = op_rows; row->name; row++) {
        unsigned given = 0;

        do {
            add_way((Way){ .row = row, .given = given });
            given = op_given_after(row, given);
        } while (given);
    }
    add_way((Way){ .row = dense, .row_by_row = true });
    add_way((Way){ .row = gelu, .given = R | BIAS, .row_by_row = true });
    add_way((Way){ .row = dense, .C = 1 });
    add_way((Way){ .row = dense, .C = 30, .given = BIAS });
    add_way((Way){ .row = op_row("cross entropy"), .V = 2 });
    add_way((Way){ .row = op_row("cross entropy, ignored rows"), .V = 50 });
}

/* A call, and a list of its operands with a gradient for the Subject. */
typedef struct {
    OpCall call;
    char name[96];
    Tensor *x[OP_OPERANDS], *zero[OP_OPERANDS];
    int n, batched; /* operands, and those whose first dimension is the batch */
    bool row_by_row;
    bool between; /* the operands are results of another op */
} Case;

static bool is_learned(const OpCall *call, int i)
{
    return call->x[i] && !op_is_constant(&call->row->operand[i]);
}

static bool is_batched(const OpCall *call, int i)
{
    return call->row->operand[i].shape[0] == 'B';
}

static Case case_new(Arena *mem, OpCall call)
{
    Case c = { .call = call };
    char with[64];

    op_describe(&call, with, sizeof with);
    snprintf(c.name, sizeof c.name, "%s %s", call.row->name, with);
    for (int i = 0; i < OP_OPERANDS; i++)
        if (is_learned(&call, i)) {
            c.batched += is_batched(&call, i);
            c.zero[i] = leaf(mem, 0, 0, call.x[i]->ndim, call.x[i]->dim);
            c.x[c.n++] = call.x[i];
        }
    return c;
}

static Case case_of(Arena *mem, Way w, OpSize s, double scale)
{
    OpCall call = op_call(mem, w.row, s, w.given);

    op_fill(&call, scale);
    Case c = case_new(mem, call);
    c.row_by_row = w.row_by_row;
    return c;
}

static Case small(Arena *mem, Way w)
{
    OpSize s = { .B = 2, .T = 3, .C = w.C ? w.C : 5, .O = 3, .V = w.V ? w.V : 7 };

    return case_of(mem, w, s, 1);
}

/*
 * More than one block of everything, and more tokens in the vocabulary than in the batch. In
 * the proof the blocks of a product are small and it is slow, so it is narrower there.
 */
static Case large(Arena *mem, Way w)
{
    bool product = w.row->run == op_row("dense")->run, narrow = product && in_double;
    int C = w.C ? w.C : 5, V = w.V ? w.V : 17, factor = narrow ? 7 : 23;
    OpSize s = { .B = 5, .T = 37, .O = narrow ? 35 : 70 };

    s.C = C > 2 ? C * factor : C;
    s.V = V > 2 ? V * factor : V;
    return case_of(mem, w, s, 1);
}

static int rows(const Case *c)
{
    return c->call.size.B * c->call.size.T;
}

static Tensor *run(Tape *tape, void *ctx)
{
    const Case *c = ctx;
    OpCall call = c->call;

    for (int i = 0; i < OP_OPERANDS; i++)
        if (c->between && is_learned(&call, i))
            call.x[i] = op_add(tape, call.x[i], c->zero[i]);
    tape->row_by_row = c->row_by_row;
    return op_run(tape, &call);
}

/* The op's formula for a Subject: puts the operands in the order of the table, with constants. */
static void naive(const void *ctx, double *const *x, double *y)
{
    const Case *c = ctx;
    const OpCall *call = &c->call;
    Arena *mem = arena_new();
    double *at[OP_OPERANDS] = { 0 };

    for (int i = 0, j = 0; i < OP_OPERANDS; i++)
        if (is_learned(call, i))
            at[i] = x[j++];
        else if (call->x[i])
            at[i] = doubles(mem, call->x[i]->data, call->x[i]->n);
    naive_op(call->row->name)(call, at, y);
    arena_free(mem);
}

static Subject subject(Case *c)
{
    return (Subject){ c->name, run, naive, c, c->x, c->n };
}

/* Runs the check for every way, at both sizes. */
static void check_every(void (*check)(const Subject *s))
{
    for (int i = 0; i < n_ways; i++) {
        Arena *mem = arena_new();
        Case c[] = { small(mem, ways[i]), large(mem, ways[i]) };

        for (int j = 0; j < COUNT(c); j++) {
            Subject s = subject(&c[j]);
            check(&s);
        }
        arena_free(mem);
    }
}

static void check_slopes_of_all(const Subject *s)
{
    check_slopes(s, 0);
}

START_TEST(every_row_of_the_table_has_a_formula)
{
    for (const OpRow *row = op_rows; row->name; row++)
        ck_assert_msg(naive_op(row->name) != NULL, "%s has no formula", row->name);
}
END_TEST

START_TEST(an_op_computes_its_formula)
{
    check_every(check_formula);
}
END_TEST

START_TEST(a_gradient_is_the_slope_of_the_formula)
{
    check_every(check_slopes_of_all);
}
END_TEST

/* _i: which way */
START_TEST(a_backward_is_the_derivative)
{
    static const double scales[] = { 0.3, 1, 3 };
    Arena *mem = arena_new();

    for (int j = 0; j < COUNT(scales); j++) {
        Case c = small(mem, ways[_i]);

        op_fill(&c.call, scales[j]);
        check_gradient(c.call.row->name, run, &c, c.x, c.n);
        c.between = true;
        check_gradient(c.call.row->name, run, &c, c.x, c.n);
    }
    arena_free(mem);
}
END_TEST

START_TEST(a_backward_adds_to_what_is_there)
{
    check_every(check_backward_adds);
}
END_TEST

START_TEST(a_zero_output_gradient_gives_zero_gradients)
{
    check_every(check_no_upstream_no_gradient);
}
END_TEST

START_TEST(twice_the_upstream_gradient_gives_twice_the_gradient)
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

/* Sequence b of the call. */
static OpCall call_alone(Arena *mem, const OpCall *all, int b)
{
    OpCall one = *all;

    one.size.B = 1;
    if (all->id && *all->row->id.shape == 'B')
        one.id += b * (int)op_product(all->row->id.shape + 1, all->size);
    for (int i = 0; i < OP_OPERANDS; i++)
        if (all->x[i] && is_batched(all, i))
            one.x[i] = sequence(mem, all->x[i], b);
    return one;
}

static void check_sequences(Arena *mem, Case all)
{
    Subject s = subject(&all);
    const Outcome o = all.batched > 0 ? outcome(mem, &s, 1, weights()) : (Outcome){ 0 };

    for (int b = 0; all.batched > 0 && b < all.call.size.B; b += 2) {
        Case one = case_new(mem, call_alone(mem, &all.call, b));

        one.row_by_row = all.row_by_row;
        Subject alone = subject(&one);
        check_alone_as_in_batch(&o, all.call.size.B, &alone, b, all.batched);
    }
}

START_TEST(a_sequence_is_the_same_in_any_batch)
{
    for (int i = 0; i < n_ways; i++) {
        Arena *mem = arena_new();

        if (ways[i].row->run !=
            op_row("dropout")->run) { /* what is dropped depends on the position in the batch */
            check_sequences(mem, small(mem, ways[i]));
            check_sequences(mem, large(mem, ways[i]));
        }
        arena_free(mem);
    }
}
END_TEST

/* A row of the table, which is the first operand, has a gradient if its token is in the batch. */
static void check_untouched_rows(Case c)
{
    Arena *mem = arena_new();
    Subject s = subject(&c);
    OpSize size = c.call.size;
    Outcome o = outcome(mem, &s, 1, weights());
    int unused = 0;

    for (int v = 0; v < size.V; v++) {
        bool used = false;

        for (int i = 0; i < rows(&c); i++)
            used |= c.call.id[i] == v;
        ck_assert_int_eq(used, !all_zero(o.dx[0] + v * size.C, (size_t)size.C));
        unused += !used;
    }
    ck_assert_int_gt(unused, 0);
    if (c.n > 1) { /* the first and the last position are not used */
        ck_assert(all_zero(o.dx[1], (size_t)(OP_FROM * size.C)));
        ck_assert(all_zero(o.dx[1] + (OP_FROM + size.T) * size.C, (size_t)size.C));
    }
    arena_free(mem);
}

/* Large enough that a product could divide its sums differently for another batch size. */
START_TEST(a_long_sum_is_the_same_in_any_batch)
{
    Arena *mem = arena_new();
    OpSize s = { .B = 4, .T = 601, .C = 1030, .O = 3 };

    check_sequences(mem, case_of(mem, (Way){ .row = op_row("dense") }, s, 1));
    arena_free(mem);
}
END_TEST

START_TEST(a_token_that_is_not_in_the_batch_gets_no_gradient)
{
    const Way of[] = { { .row = op_row("embedding") },
                       { .row = op_row("embedding"), .given = POSITION },
                       { .row = op_row("embedding, repeated tokens"), .given = POSITION } };
    Arena *mem = arena_new();

    for (int i = 0; i < COUNT(of); i++) {
        check_untouched_rows(small(mem, of[i]));
        check_untouched_rows(large(mem, of[i]));
    }
    arena_free(mem);
}
END_TEST

START_TEST(an_ignored_row_has_no_loss_and_no_gradient)
{
    Arena *mem = arena_new();
    Case c = large(mem, (Way){ .row = op_row("cross entropy, ignored rows") });
    Subject s = subject(&c);
    int V = c.call.size.V;
    Outcome o = outcome(mem, &s, 1, weights());

    ck_assert_uint_eq(o.n, (size_t)rows(&c));
    for (int i = 0; i < rows(&c); i++) {
        ck_assert_int_eq(o.y[i] == 0, c.call.id[i] == -1);
        ck_assert_int_eq(all_zero(o.dx[0] + i * V, (size_t)V), c.call.id[i] == -1);
    }
    arena_free(mem);
}
END_TEST

START_TEST(the_gradients_of_the_logits_of_a_row_cancel)
{
    Arena *mem = arena_new();
    Case c = large(mem, (Way){ .row = op_row("cross entropy") });
    Subject s = subject(&c);
    int V = c.call.size.V;
    Outcome o = outcome(mem, &s, 1, weights());

    for (int i = 0; i < rows(&c); i++) {
        double sum = 0, size = 0;

        for (int v = 0; v < V; v++) {
            sum += (double)o.dx[0][i * V + v];
            size += fabs((double)o.dx[0][i * V + v]);
        }
        ck_assert_double_le(fabs(sum), size * (in_double ? 1e-13 : 1e-6));
    }
    arena_free(mem);
}
END_TEST

/* Large numbers, since it holds only where epsilon is negligible beside the variance. */
START_TEST(the_gradient_of_layernorm_has_no_mean_and_no_share_of_its_result)
{
    Arena *mem = arena_new();
    Case c = large(mem, (Way){ .row = op_row("layernorm") });

    fill(c.x[0]->data, c.x[0]->n, 8, 1e5);
    Subject s = subject(&c);
    int C = c.call.size.C;
    Outcome o = outcome(mem, &s, 1, weights());
    for (int i = 0; i < rows(&c); i++) {
        const real *x = c.x[0]->data + i * C, *dx = o.dx[0] + i * C;
        double mean = 0, sum = 0, share = 0, size = 0, spread = 0;

        for (int l = 0; l < C; l++)
            mean += (double)x[l] / C;
        for (int l = 0; l < C; l++) {
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

static Way many_classes(void)
{
    return (Way){ .row = op_row("cross entropy, ignored rows"), .V = 50 };
}

/* Logits that are multiples of 1/64, so that adding a constant is exact. */
START_TEST(a_constant_added_to_the_logits_changes_no_loss)
{
    Arena *mem = arena_new();
    Case c = small(mem, many_classes());
    Subject s = subject(&c);
    real *x = c.x[0]->data;
    const real *dy = weights();

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
    Case c = small(mem, many_classes());
    Subject s = subject(&c);
    int V = c.call.size.V;

    for (int i = 0; i < COUNT(sizes); i++)
        for (int sure = 0; sure < 2; sure++) {
            for (size_t j = 0; j < c.x[0]->n; j++)
                c.x[0]->data[j] = R((int)j % V == 3 ? sizes[i] : -sizes[i]);
            for (int r = 0; r < rows(&c) && sure; r++)
                c.x[0]->data[r * V + (c.call.id[r] < 0 ? 3 : c.call.id[r])] = R(2 * sizes[i]);
            check_formula(&s);
            Outcome o = outcome(mem, &s, 1, weights());
            ck_assert(all_finite(o.dx[0], c.x[0]->n));
        }
    arena_free(mem);
}
END_TEST

/* All results have the same size, so that freed memory is reused at once. */
static Tensor *losses(Tape *tape, void *ctx)
{
    static const int target[] = { 1, 4, 0, 3, 3, 2 };
    Tensor *const *x = ctx, *a = op_add(tape, x[0], x[1]), *b = op_add(tape, x[1], x[0]);
    Tensor *logits = op_dense(tape, (Dense){ .x = op_swiglu(tape, a, b), .w = x[2] });

    op_activation(tape, a, &activation_silu); /* unused */
    return op_cross_entropy(tape, x[3] ? op_add(tape, logits, x[3]) : logits, target);
}

/* With x[3], the last sum passes on a gradient that is written over its own numbers. */
START_TEST(a_convolution_has_the_same_padding_when_decoding)
{
    enum { B = 2, T = 7, C = 5, ALL = B * T * C };
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    Tensor *x = leaf(mem, 1, 1, SHAPE(B, T, C)), *row = leaf(mem, 2, 1, SHAPE(B, 1, C));
    Conv of = { x, leaf(mem, 3, 1, SHAPE(3, C)), 3, (int[]){ T, 4 }, true };
    const real *whole =
        memcpy(arena_take(mem, ALL * sizeof *whole), op_conv(&tape, of)->data, ALL * sizeof *whole);

    of.x = row, tape.decoding = decoding_new(T, B);
    for (int t = 0; t < T; t++, tape_reset(&tape)) {
        tape.decoding->t = t;
        for (int b = 0; b < B; b++)
            memcpy(row->data + b * C, x->data + (b * T + t) * C, C * sizeof(real));
        const real *y = op_conv(&tape, of)->data;
        for (int b = 0; b < B; b++)
            ck_assert(same_bits(y + b * C, whole + (b * T + t) * C, C));
    }
    decoding_free(tape.decoding);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

START_TEST(memory_between_ops_is_freed_once_and_not_before_its_last_use)
{
    Arena *mem = arena_new();
    Tensor *x[] = { leaf(mem, 1, 1, SHAPE(6, 5)), leaf(mem, 2, 1, SHAPE(6, 5)),
                    leaf(mem, 3, 1, SHAPE(5, 5)), leaf(mem, 4, 1, SHAPE(6, 5)) };

    check_gradient("losses", losses, x, x, 4);
    x[3] = NULL;
    check_gradient("losses", losses, x, x, 3);
    arena_free(mem);
}
END_TEST

/* Dropout of a tensor of DRAWS ones. */
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
        double zeros = 0, kept = 0, sum = 0, deviation = sqrt(p[j] * (1 - p[j]) / DRAWS);

        for (int i = 0; i < DRAWS; i++) {
            zeros += y[i] == 0;
            kept += fabs((double)y[i] * (1 - p[j]) - 1) < 1e-6;
            sum += (double)y[i];
        }
        ck_assert(zeros + kept == DRAWS);
        ck_assert_double_le(fabs(zeros / DRAWS - p[j]), 5 * deviation);
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

Suite *suite_ops(void)
{
    Suite *s = suite_create("ops");
    TCase *each = tcase_create("each"), *one = tcase_create("one");

    list_ways();
    tcase_set_timeout(each, 60);
    tcase_add_test(each, every_row_of_the_table_has_a_formula);
    tcase_add_test(each, an_op_computes_its_formula);
    tcase_add_loop_test(each, a_backward_is_the_derivative, 0, n_ways);
    tcase_add_test(each, a_gradient_is_the_slope_of_the_formula);
    tcase_add_test(each, a_backward_adds_to_what_is_there);
    tcase_add_test(each, a_zero_output_gradient_gives_zero_gradients);
    tcase_add_test(each, twice_the_upstream_gradient_gives_twice_the_gradient);
    tcase_add_test(each, threads_do_not_change_a_bit);
    tcase_add_test(each, an_op_leaves_its_operands_alone);
    tcase_add_test(each, a_sequence_is_the_same_in_any_batch);
    suite_add_tcase(s, each);
    tcase_set_timeout(one, 60);
    tcase_add_test(one, a_long_sum_is_the_same_in_any_batch);
    tcase_add_test(one, a_token_that_is_not_in_the_batch_gets_no_gradient);
    tcase_add_test(one, an_ignored_row_has_no_loss_and_no_gradient);
    tcase_add_test(one, the_gradients_of_the_logits_of_a_row_cancel);
    tcase_add_test(one, the_gradient_of_layernorm_has_no_mean_and_no_share_of_its_result);
    tcase_add_test(one, a_constant_added_to_the_logits_changes_no_loss);
    tcase_add_test(one, logits_of_any_size_have_a_finite_loss);
    tcase_add_test(one, a_convolution_has_the_same_padding_when_decoding);
    tcase_add_test(one, memory_between_ops_is_freed_once_and_not_before_its_last_use);
    tcase_add_test(one, dropout_drops_its_share_and_keeps_the_expectation);
    tcase_add_test(one, dropout_drops_the_same_again_and_others_for_another_stream);
    suite_add_tcase(s, one);
    return s;
}
