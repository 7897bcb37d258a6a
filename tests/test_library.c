/* Attention of the library as its users call it; tests/install.sh compiles programs against the
 * installed one. */
#include "tests/folder.h"
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

/* What the mechanism computes with the same settings, on a tape of its own. */
START_TEST(options_say_what_is_computed)
{
    static const struct {
        const char *words;
        bool causal, rope;
    } rows[] = { { "", false, false }, { "--causal", true, false }, { "--rope", false, true } };

    for (int i = 0; i < COUNT(rows); i++) {
        attnc_attention *a = must(
            attnc_attention_new(text_format("--attn softmax --threads 1 %s", rows[i].words).at));
        Mix mix = { .attention = &attention_softmax,
                    .causal = rows[i].causal,
                    .rope = rows[i].rope,
                    .layers = 1,
                    .set = settings_default(&attention_softmax) };
        real out[B * N * H * D];
        Tape tape = tape_open(1);

        must_work(attnc_attention_shape(a, B, N, H, D, D));
        for (int j = 0; j < 3; j++) {
            mix.x[j] = leaf(tape.mem, 1 + (uint64_t)j, 1, SHAPE(B, N, H, D));
            must_work(attnc_attention_bind(a, (const char[]){ "qkv"[j], 0 }, mix.x[j]->data, NULL));
        }
        must_work(attnc_attention_forward(a, NULL, out));
        ck_assert_msg(memcmp(out, attention_mix(&tape, &mix)->data, sizeof out) == 0, "%s",
                      rows[i].words);
        tape_close(&tape);
        attnc_attention_free(a);
    }
}
END_TEST

/* The last two tokens of the second sequence are padding, whatever they are. */
START_TEST(padding_changes_no_logit_of_a_model)
{
    attnc_model *m = must(attnc_model_new("--task classify --classes 3 --n-layer 1 --n-embd 16 "
                                          "--n-head 2 --block-size 6 --threads 1",
                                          NULL, 0));
    const int length[] = { 6, 4 };
    real logits[3][2 * 3];
    int id[2 * 6];

    for (int i = 0; i < 3; i++) {
        for (int t = 0; t < COUNT(id); t++)
            id[t] = t % 7 + (i == 1 && t >= 10);
        must_work(attnc_model_logits(m, &(attnc_batch){ 2, 6, id, NULL, i < 2 ? length : NULL },
                                     logits[i]));
    }
    ck_assert_mem_eq(logits[1], logits[0], sizeof logits[0]);
    ck_assert_mem_ne(logits[2] + 3, logits[0] + 3, 3 * sizeof(real));
    attnc_model_free(m);
}
END_TEST

/* With sgd an update is the rate times the clipped gradient. */
START_TEST(a_gradient_is_clipped_and_its_norm_is_that_before)
{
    int id[12], target[12];
    double loss, norm[2], moved[2];

    for (int t = 0; t < COUNT(id); t++)
        id[t] = t, target[t] = t + 1;
    for (int i = 0; i < 2; i++) {
        attnc_model *m = must(attnc_model_new(
            text_format(
                "--optimizer sgd --momentum 0 --weight-decay 0 --n-layer 1 --n-embd 16 --n-head 2 "
                "--block-size 12 --threads 1 --grad-clip %s",
                i ? "0.01" : "0")
                .at,
            NULL, 0));
        attnc_tensor t;

        must_work(attnc_model_loss(m, &(attnc_batch){ 1, 12, id, target, NULL }, &loss));
        must_work(attnc_model_backward(m, 1));
        must_work(attnc_model_tensor(m, 0, &t));
        const double before = (double)t.data[16], slope = (double)t.grad[16];
        must_work(attnc_model_step(m, 1, &norm[i]));
        moved[i] = (before - (double)t.data[16]) / slope;
        attnc_model_free(m);
    }
    ck_assert_double_eq(norm[1], norm[0]);
    ck_assert_double_eq_tol(moved[0], 1, 1e-2);
    ck_assert_double_eq_tol(moved[1], 0.01 / norm[0], 0.05 * 0.01 / norm[0]);
}
END_TEST

START_TEST(the_best_weights_of_a_run_are_opened_when_asked_for)
{
    static const char *const files[] = { "model.safetensors", "best.safetensors" };
    static const char *const options[] = { "", "--best" };
    attnc_model *m[2];
    attnc_tensor want, got;

    for (int i = 0; i < 2; i++) {
        m[i] = must(attnc_model_new(
            text_format("--n-layer 1 --n-embd 16 --n-head 2 --block-size 6 --threads 1 --seed %d",
                        i)
                .at,
            NULL, 0));
        must_work(attnc_model_save(m[i], in_folder(files[i])));
    }
    for (int i = 0; i < 2; i++) {
        attnc_model *opened = must(attnc_model_open(folder, options[i]));

        must_work(attnc_model_tensor(m[i], 0, &want));
        must_work(attnc_model_tensor(opened, 0, &got));
        ck_assert_mem_eq(got.data, want.data, 16 * sizeof(real));
        attnc_model_free(opened);
    }
    attnc_model_free(m[0]), attnc_model_free(m[1]);
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
    tcase_add_test(t, options_say_what_is_computed);
    tcase_add_test(t, padding_changes_no_logit_of_a_model);
    tcase_add_test(t, a_gradient_is_clipped_and_its_norm_is_that_before);
    tcase_add_test(t, the_list_of_mechanisms_has_an_end);
    tcase_add_test(t, layers_are_refused_where_they_mean_nothing);
    tcase_add_test(t, operands_that_are_drawn_need_no_numbers);
    tcase_add_test(t, mistakes_are_returned);
    tcase_add_test(t, each_thread_has_its_own_error);
#ifdef LIMITS
    tcase_add_test(t, a_failed_allocation_returns_an_error);
#endif
    tcase_add_test(t, null_is_refused_unless_it_means_something);
    t = with_folder(s, "runs");
    tcase_add_test(t, the_best_weights_of_a_run_are_opened_when_asked_for);
    return s;
}
