/* Attention of the library as its users call it; tests/install.sh compiles programs against the
 * installed one. */
#include "tests/library.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/derivative.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { B = 2, N = 7, H = 2, D = 4, MOST = 4096 };

/* An attention with random operands, along a direction of all of them. */
typedef struct {
    attnc_attention *a;
    real x[OPERANDS_MAX][MOST], dx[OPERANDS_MAX][MOST], u[OPERANDS_MAX][MOST], g[MOST], out[MOST];
    real at[OPERANDS_MAX][MOST];
    int n[OPERANDS_MAX], operands, outputs;
} Trial;

static bool is_causal(const Attention *a)
{
    return !(a->traits & BIDIRECTIONAL_ONLY);
}

static Trial *trial_new(const Attention *of)
{
    Trial *t = xmalloc(sizeof *t);
    const char *name;
    int dim[4];

    memset(t, 0, sizeof *t);
    t->a = must(attnc_attention_new(
        text_format("--attn %s %s --threads 2", of->name, is_causal(of) ? "--causal" : "").at));
    must_work(attnc_attention_shape(t->a, B, N, H, D, D));
    for (int i = 0; (name = attnc_attention_operand(t->a, i, dim)); i++) {
        t->n[i] = 1;
        for (int d = 0; d < 4 && dim[d]; d++)
            t->n[i] *= dim[d];
        fill(t->x[i], (size_t)t->n[i], 10 + (uint64_t)i, 1);
        fill(t->u[i], (size_t)t->n[i], 20 + (uint64_t)i, 1);
        const bool fixed = i >= 3 && attention_operand(of, i)->draw;
        must_work(attnc_attention_bind(t->a, name, t->at[i], fixed ? NULL : t->dx[i]));
        if (fixed) /* stays */
            memset(t->u[i], 0, sizeof t->u[i]);
        t->operands = i + 1;
    }
    t->outputs = B * N * H * D;
    fill(t->g, (size_t)t->outputs, 30, 1);
    return t;
}

static void trial_free(Trial *t)
{
    attnc_attention_free(t->a);
    free(t);
}

static double loss_along(void *ctx, double by)
{
    Trial *t = ctx;
    double sum = 0;

    for (int i = 0; i < t->operands; i++)
        for (int j = 0; j < t->n[i]; j++)
            t->at[i][j] = t->x[i][j] + R(by) * t->u[i][j];
    must_work(attnc_attention_forward(t->a, (const int[]){ N, N - 2 }, t->out));
    for (int i = 0; i < t->outputs; i++)
        sum += (double)(t->g[i] * t->out[i]);
    return sum;
}

/* In float, differences are this rough. */
static double tolerance(void)
{
    return sizeof(real) == sizeof(double) ? 1e-6 : 0.1;
}

START_TEST(gradients_match_differences)
{
    const Attention *of = attentions[_i];
    Trial *t = trial_new(of);
    double by_hand = 0;

    loss_along(t, 0);
    for (int i = 0; i < t->operands; i++)
        for (int j = 0; j < t->n[i]; j++)
            t->dx[i][j] = R(NAN);
    must_work(attnc_attention_backward(t->a, t->g));
    for (int i = 0; i < t->operands; i++)
        for (int j = 0; j < t->n[i] && t->u[i][0] != 0; j++)
            by_hand += (double)(t->u[i][j] * t->dx[i][j]);
    const double by_differences = slope(loss_along, t);
    ck_assert_msg(fabs(by_hand - by_differences) <= tolerance() * (1 + fabs(by_differences)),
                  "%s: %g by hand, %g by differences", of->name, by_hand, by_differences);
    trial_free(t);
}
END_TEST

START_TEST(padding_has_no_gradient)
{
    Trial *t = trial_new(&attention_softmax);

    loss_along(t, 0);
    must_work(attnc_attention_backward(t->a, t->g));
    for (int i = 1; i < 3; i++) { /* k and v; only the last two positions are padding */
        const real *end = t->dx[i] + B * N * H * D;
        double before = 0;

        for (int j = 1; j <= 2 * H * D; j++)
            ck_assert(end[-j] == 0);
        for (int j = 1; j <= H * D; j++)
            before += fabs((double)end[-2 * H * D - j]);
        ck_assert(before > 0);
    }
    trial_free(t);
}
END_TEST

START_TEST(the_list_of_mechanisms_has_an_end)
{
    int n = 0;

    while (attnc_mechanism(n))
        ck_assert_ptr_nonnull(attnc_mechanism_summary(n++));
    ck_assert_int_ge(n, 33);
    for (int i = n; i < n + 100; i++)
        ck_assert(!attnc_mechanism(i) && !attnc_mechanism_summary(i));
    ck_assert(!attnc_mechanism(-1) && !attnc_mechanism(INT_MAX));
}
END_TEST

START_TEST(layers_are_refused_where_they_mean_nothing)
{
    ck_assert_ptr_null(attnc_attention_new("--attn softmax --layer 3 --layers 4"));
    ck_assert_ptr_nonnull(strstr(attnc_error(), "mean nothing to --attn softmax"));
    ck_assert_ptr_null(attnc_attention_new("--attn cosformer --rope-ladder d"));
    ck_assert_ptr_nonnull(strstr(attnc_error(), "--rope-ladder needs --rope"));
}
END_TEST

START_TEST(operands_that_are_drawn_need_no_numbers)
{
    attnc_attention *a[2];
    static real x[MOST], out[2][MOST];

    fill(x, MOST, 1, 1);
    for (int i = 0; i < 2; i++) {
        a[i] = must(attnc_attention_new(i ? "--attn performer --features 6 --seed 2"
                                          : "--attn performer --features 6 --seed 1"));
        must_work(attnc_attention_shape(a[i], B, N, H, D, D));
        for (const char *name = "qkv"; *name; name++)
            must_work(attnc_attention_bind(a[i], (const char[]){ *name, 0 }, x, NULL));
        int dim[4];
        ck_assert_str_eq(attnc_attention_operand(a[i], 3, dim), "omega");
        ck_assert_int_eq(dim[1], 6);
        must_work(attnc_attention_forward(a[i], NULL, out[i]));
        must_fail(attnc_attention_bind(a[i], "omega", x, x), ATTNC_USAGE, "not learned");
    }
    ck_assert_mem_ne(out[0], out[1], sizeof(real) * B * N * H * D);
    attnc_attention_free(a[0]);
    attnc_attention_free(a[1]);
}
END_TEST

/* Nothing of it ends the process, and the object can still be used. */
START_TEST(mistakes_are_returned)
{
    static const char *const wrong[][2] = {
        { "", "--attn NAME is missing" },
        { "--attn sofmax", "did you mean softmax" },
        { "--attn softmax --features 3", "it is for performer" },
        { "--attn gla", "causal only" },
        { "--attn softmax --window x", "--window" },
        { "--attn softmax --rope-scale linear:2", "needs --rope" },
        { "--attn softmax --zzzzzzzz", "unknown option --zzzzzzzz: attnc.h lists all" },
        { "--attn softmax --help", "unknown option --help" },
        { "--attn softmax --version", "unknown option --version" },
        { "softmax", "softmax is not an option" },
        { "--attn", "needs a value" },
    };
    static real x[MOST];

    for (int i = 0; i < COUNT(wrong); i++)
        must_not(attnc_attention_new(wrong[i][0]), wrong[i][1]);
    attnc_attention *a = must(attnc_attention_new("--attn fastformer"));
    must_fail(attnc_attention_forward(a, NULL, x), ATTNC_USAGE, "sizes first");
    must_fail(attnc_attention_bind(a, "q", x, NULL), ATTNC_USAGE, "no shape yet");
    must_fail(attnc_attention_shape(a, B, 0, H, D, D), ATTNC_USAGE, "size 0 must be from 1");
    must_fail(attnc_attention_shape(a, 1, 1, 1, INT_MAX, 1), ATTNC_USAGE, "must be from 1");
    must_fail(attnc_attention_shape(a, B, N, H, D, D + 1), ATTNC_USAGE, "as wide");
    must_fail(attnc_attention_shape(a, 1 << 15, 1 << 15, 2, 1, 1), ATTNC_USAGE, "more than");
    must_work(attnc_attention_shape(a, B, N, H, D, D));
    must_fail(attnc_attention_bind(a, "omega", x, NULL), ATTNC_USAGE, "no operand omega");
    for (const char *name = "qkv"; *name; name++)
        must_work(attnc_attention_bind(a, (const char[]){ *name, 0 }, x, NULL));
    must_fail(attnc_attention_forward(a, NULL, x), ATTNC_USAGE, "needs pool_q");
    must_fail(attnc_attention_backward(a, x), ATTNC_USAGE, "no output");
    must_work(attnc_attention_bind(a, "pool_q", x, NULL));
    must_work(attnc_attention_bind(a, "pool_k", x, NULL));
    static real out[MOST];
    must_fail(attnc_attention_forward(a, (const int[]){ N, N + 1 }, out), ATTNC_USAGE, "length[1]");
    must_work(attnc_attention_forward(a, NULL, out));
    must_fail(attnc_attention_shape(a, 1 << 15, 1 << 15, 2, 1, 1), ATTNC_USAGE, "more than");
    must_work(attnc_attention_backward(a, out)); /* of the sizes before */
    must_fail(attnc_attention_backward(a, out), ATTNC_USAGE, "no output");
    must_work(attnc_attention_forward(a, NULL, out));
    attnc_attention_free(a);
    attnc_attention_free(NULL);
}
END_TEST

static void *provoke(void *words)
{
    ck_assert_str_eq(attnc_error(), "");
    for (int i = 0; i < 200; i++) {
        attnc_attention_free(must(attnc_attention_new("--attn relu --threads 1")));
        must_not(attnc_attention_new(words), (const char *)words + strlen("--attn "));
    }
    return NULL;
}

START_TEST(each_thread_has_its_own_error)
{
    pthread_t id[2];

    must_not(attnc_attention_new(""), "missing");
    pthread_create(&id[0], NULL, provoke, (char[]){ "--attn one" });
    pthread_create(&id[1], NULL, provoke, (char[]){ "--attn other" });
    pthread_join(id[0], NULL);
    pthread_join(id[1], NULL);
    ck_assert_ptr_nonnull(strstr(attnc_error(), "missing"));
}
END_TEST

/* Sanitizers need more addresses than such a limit leaves; clang does not say here if it has one.
 */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define LIMITS
START_TEST(a_failed_allocation_returns_an_error)
{
    attnc_attention *a = must(attnc_attention_new("--attn softmax --threads 1"));
    enum { LONG = 1 << 20, WIDE = 16 };
    real *x = calloc((size_t)LONG * WIDE, sizeof *x);

    must_work(attnc_attention_shape(a, 1, LONG, 1, WIDE, WIDE));
    for (const char *name = "qkv"; *name; name++)
        must_work(attnc_attention_bind(a, (const char[]){ *name, 0 }, x, NULL));
    const struct rlimit little = { 1 << 20, 1 << 20 };
    setrlimit(RLIMIT_AS, &little);
    must_fail(attnc_attention_forward(a, NULL, x), ATTNC_MEMORY, "out of memory");
    attnc_attention_free(a);
    free(x);
}
END_TEST
#endif

START_TEST(null_is_refused_unless_it_means_something)
{
    real x[4] = { 0 };
    int dim[4];
    attnc_attention *a = must(attnc_attention_new("--attn softmax --threads 1"));

    must_not(attnc_attention_new(NULL), "--attn NAME is missing");
    must_fail(attnc_attention_shape(NULL, 1, 1, 1, 4, 4), ATTNC_USAGE, "a is NULL");
    must_work(attnc_attention_shape(a, 1, 1, 1, 4, 4));
    ck_assert_ptr_null(attnc_attention_operand(NULL, 0, dim));
    ck_assert_str_eq(attnc_attention_operand(a, 1, NULL), "k");
    must_fail(attnc_attention_bind(NULL, "q", x, NULL), ATTNC_USAGE, "a is NULL");
    must_fail(attnc_attention_bind(a, NULL, x, NULL), ATTNC_USAGE, "name is NULL");
    for (int i = 0; attnc_attention_operand(a, i, dim); i++)
        must_work(attnc_attention_bind(a, attnc_attention_operand(a, i, dim), x, NULL));
    must_fail(attnc_attention_forward(NULL, NULL, x), ATTNC_USAGE, "a is NULL");
    must_fail(attnc_attention_forward(a, NULL, NULL), ATTNC_USAGE, "out is NULL");
    must_work(attnc_attention_forward(a, NULL, x));
    must_fail(attnc_attention_backward(NULL, x), ATTNC_USAGE, "a is NULL");
    must_fail(attnc_attention_backward(a, NULL), ATTNC_USAGE, "dout is NULL");
    must_work(attnc_attention_backward(a, x)); /* the output is still there */
    attnc_attention_free(a);
    attnc_attention_free(NULL);
}
END_TEST

Suite *suite_library(void)
{
    int count = 0;
    Suite *s = suite_create("library");
    TCase *t = group(s, "attention");

    while (attentions[count])
        count++;
    tcase_add_loop_test(t, gradients_match_differences, 0, count);
    tcase_add_test(t, padding_has_no_gradient);
    tcase_add_test(t, the_list_of_mechanisms_has_an_end);
    tcase_add_test(t, layers_are_refused_where_they_mean_nothing);
    tcase_add_test(t, operands_that_are_drawn_need_no_numbers);
    tcase_add_test(t, mistakes_are_returned);
    tcase_add_test(t, each_thread_has_its_own_error);
#ifdef LIMITS
    tcase_add_test(t, a_failed_allocation_returns_an_error);
#endif
    tcase_add_test(t, null_is_refused_unless_it_means_something);
    return s;
}
