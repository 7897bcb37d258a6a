/* The library as its users call it; tests/install.sh compiles programs against the installed one.
 */
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/derivative.h"
#include "tools/lib/guard.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { B = 2, N = 7, H = 2, D = 4, MOST = 4096, V = 256, T = 12 };

static void *must(void *object)
{
    ck_assert_msg(object != NULL, "%s", attnc_error());
    return object;
}

static void must_work(int code)
{
    ck_assert_msg(code == ATTNC_OK, "%d: %s", code, attnc_error());
}

static void must_fail(int code, int wanted, const char *words)
{
    ck_assert_int_eq(code, wanted);
    ck_assert_msg(strstr(attnc_error(), words) != NULL, "%s", attnc_error());
}

static void must_not(const void *object, const char *words)
{
    ck_assert_ptr_null(object);
    ck_assert_msg(strstr(attnc_error(), words) != NULL, "%s", attnc_error());
}

/* --- attention ----------------------------------------------------------------------------------
 */

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
    const real *last =
        t->dx[1] + (B * N - 1) * H * D; /* k of the last position, which is padding */
    for (int j = 0; j < H * D; j++)
        ck_assert(last[j] == 0);
    trial_free(t);
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
    must_fail(attnc_attention_shape(a, B, 0, H, D, D), ATTNC_USAGE, "at least 1");
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
    must_work(attnc_attention_backward(a, out));
    must_fail(attnc_attention_backward(a, out), ATTNC_USAGE, "no output");
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

/* --- models -------------------------------------------------------------------------------------
 */

#define SMALL "--n-layer 1 --n-embd 16 --n-head 2 --block-size 12 --threads 2 "
static int id[B * T], target[B * T];

static attnc_batch batch_of(int seed)
{
    for (int i = 0; i < B * T; i++) {
        id[i] = (i * 7 + seed) % V;
        target[i] = i % 5 ? (i * 7 + 7 + seed) % V : -1;
    }
    return (attnc_batch){ B, T, id, target, NULL };
}

static double step(attnc_model *m, int seed)
{
    const attnc_batch batch = batch_of(seed);
    double loss;

    must_work(attnc_model_loss(m, &batch, &loss));
    must_work(attnc_model_backward(m, 1));
    must_work(attnc_model_step(m, 0, NULL));
    return loss;
}

static bool same_weights(attnc_model *a, attnc_model *b)
{
    attnc_tensor x, y;

    for (int i = 0; attnc_model_tensor(a, i, &x) == ATTNC_OK; i++) {
        ck_assert_int_eq(attnc_model_tensor(b, i, &y), ATTNC_OK);
        size_t n = 1;
        for (int d = 0; d < x.ndim; d++)
            n *= (size_t)x.dim[d];
        if (memcmp(x.data, y.data, n * sizeof(real)) != 0)
            return false;
    }
    return true;
}

START_TEST(a_saved_model_continues_bit_for_bit)
{
    const char *path = in_folder("model.safetensors");
    attnc_model *a =
        must(attnc_model_new("--attn cosformer --dropout 0.1 --lr 0.01 " SMALL, NULL, 0));
    const double first = step(a, 1);

    must_work(attnc_model_save(a, path));
    attnc_model *b = must(attnc_model_open(path, "--threads 1"));
    ck_assert(same_weights(a, b));
    ck_assert_int_eq(attnc_model_number(b, "updates"), 1);
    for (int i = 0; i < 20; i++)
        ck_assert(step(a, 1) == step(b, 1));
    ck_assert(same_weights(a, b));
    ck_assert(step(a, 1) < first - 0.1);
    ck_assert(!same_weights(a, b));
    must_not(attnc_model_open(path, "--n-layer 2"), "keeps its own");
    must_not(attnc_model_open(in_folder("nothing"), ""), "No such file");
    attnc_model_free(a);
    attnc_model_free(b);
}
END_TEST

START_TEST(precision_is_kept_and_may_change)
{
    const char *path = in_folder("narrow.safetensors"), *words = "--attn relu " SMALL;
    char in_bf16[200];

    snprintf(in_bf16, sizeof in_bf16, "%s --precision bf16", words);
    attnc_model *a = must(attnc_model_new(words, NULL, 0));
    attnc_model *b = must(attnc_model_new(in_bf16, NULL, 0));
    const double wide = step(a, 1), narrow = step(b, 1);
    ck_assert(wide != narrow && fabs(wide - narrow) < 0.01);
    must_work(attnc_model_save(b, path));
    attnc_model *again = must(attnc_model_open(path, "")),
                *wider = must(attnc_model_open(path, "--precision float"));
    const double next = step(b, 1);
    ck_assert(step(again, 1) == next && step(wider, 1) != next);
    attnc_model_free(a), attnc_model_free(b), attnc_model_free(again), attnc_model_free(wider);
}
END_TEST

START_TEST(the_loss_is_that_of_the_logits)
{
    attnc_model *m = must(attnc_model_new("--attn softmax " SMALL, NULL, 0));
    attnc_batch batch = batch_of(3);
    static real logits[B * T * V];
    double loss, sum = 0, targets = 0;

    must_work(attnc_model_loss(m, &batch, &loss));
    batch.target = NULL;
    must_work(attnc_model_logits(m, &batch, logits));
    for (int i = 0; i < B * T; i++) {
        double all = 0;

        for (int c = 0; c < V; c++)
            all += exp((double)logits[i * V + c]);
        if (target[i] >= 0)
            sum += log(all) - (double)logits[i * V + target[i]], targets++;
    }
    ck_assert_double_eq_tol(loss, sum / targets, 1e-4);
    must_fail(attnc_model_backward(m, 1), ATTNC_USAGE, "no loss"); /* the logits replaced it */
    attnc_model_free(m);
}
END_TEST

START_TEST(gradients_of_batches_add_up)
{
    attnc_model *m = must(attnc_model_new("--attn relu " SMALL, NULL, 0));
    const attnc_batch batch = batch_of(4);
    attnc_tensor x;
    static real once[V * 16];
    double loss, norm;

    must_fail(attnc_model_step(m, 0.1, &norm), ATTNC_USAGE, "no gradient");
    for (int parts = 1; parts <= 2; parts++) {
        for (int i = 0; i < parts; i++) {
            must_work(attnc_model_loss(m, &batch, &loss));
            must_work(attnc_model_backward(m, 1.0 / parts));
        }
        must_work(attnc_model_tensor(m, 0, &x));
        ck_assert_str_eq(x.name, "embed");
        ck_assert_ptr_nonnull(x.grad);
        if (parts == 1)
            memcpy(once, x.grad, sizeof once);
        ck_assert_double_le(distance(x.grad, once, V * 16), 1e-5);
        must_work(attnc_model_step(m, 1e-30, &norm));
        ck_assert_double_gt(norm, 0);
    }
    must_work(attnc_model_loss(m, &batch, &loss));
    must_work(attnc_model_backward(m, (double)NAN));
    must_fail(attnc_model_step(m, 0.1, &norm), ATTNC_FAILED, "not finite");
    must_work(attnc_model_tensor(m, 0, &x));
    ck_assert(x.grad == NULL && isfinite(x.data[0]));
    attnc_model_free(m);
}
END_TEST

START_TEST(a_sample_takes_the_likeliest_tokens)
{
    attnc_model *m = must(attnc_model_new("--attn softmax " SMALL, NULL, 0));
    enum { PROMPT = 3, MORE = 6 };
    int all[PROMPT + MORE] = { 5, 6, 7 }, out[MORE];
    static real logits[(PROMPT + MORE) * V];

    for (int i = 0; i < 10; i++)
        step(m, 1);
    must_work(attnc_model_sample(m, "--temperature 0", all, PROMPT, out, MORE));
    for (int n = PROMPT; n < PROMPT + MORE; n++) {
        int best = 0;

        must_work(attnc_model_logits(m, &(attnc_batch){ 1, n, all, NULL, NULL }, logits));
        for (int c = 0; c < V; c++)
            if (logits[(n - 1) * V + c] > logits[(n - 1) * V + best])
                best = c;
        ck_assert_int_eq(out[n - PROMPT], best);
        all[n] = best;
    }
    must_fail(attnc_model_sample(m, "--seed x", all, 1, out, 1), ATTNC_USAGE, "--seed");
    must_fail(attnc_model_sample(m, "", all, 0, out, 1), ATTNC_USAGE, "prompt of 0");
    attnc_model_free(m);
}
END_TEST

START_TEST(batches_are_checked)
{
    attnc_model *m = must(attnc_model_new("--attn softmax --vocab 100 " SMALL, NULL, 0));
    int token[T] = { 0 }, wanted[T] = { 0 };
    attnc_batch b = { 1, T, token, wanted, NULL };
    double loss;

    must_work(attnc_model_loss(m, &b, &loss));
    token[3] = 100;
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "token 3 is 100");
    token[3] = 0, wanted[4] = -2;
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "target 4 is -2");
    for (int i = 0; i < T; i++)
        wanted[i] = -1;
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "without targets");
    b.length = (const int[]){ 0 };
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "length 0 is 0");
    b.T = T + 1;
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "the context");
    must_fail(attnc_model_encode(m, "a", 1, token) < 0 ? ATTNC_USAGE : ATTNC_OK, ATTNC_USAGE,
              "--vocab");
    attnc_model_free(m);
}
END_TEST

START_TEST(text_is_encoded_and_decoded)
{
    static const char text[] = "to be, \xc3\xa9t\xc3\xa9, to be, \xc3\xa9t\xc3\xa9";
    const size_t n = sizeof text - 1;
    attnc_model *m = must(attnc_model_new("--attn softmax --tokenizer bpe:260 " SMALL, text, n));
    int token[sizeof text];
    char back[sizeof text];
    size_t at = 0, bytes;
    const long long tokens = attnc_model_encode(m, text, n, token);

    ck_assert_int_eq(attnc_model_number(m, "vocab"), 260);
    ck_assert(tokens > 0 && tokens < (long long)n);
    for (int i = 0; i < tokens; i++, at += bytes) {
        const char *piece = attnc_model_decode(m, token[i], &bytes);

        memcpy(back + at, must((void *)(uintptr_t)piece), bytes);
    }
    ck_assert_uint_eq(at, n);
    ck_assert_mem_eq(back, text, n);
    ck_assert_ptr_null(attnc_model_decode(m, 260, &bytes));
    must_not(attnc_model_new("--attn softmax --tokenizer bpe:260 " SMALL, NULL, 0), "from a text");
    ck_assert_int_eq(attnc_model_number(m, "nothing"), -1);
    attnc_model_free(m);
}
END_TEST

START_TEST(a_classifier_has_a_target_per_sequence)
{
    attnc_model *m =
        must(attnc_model_new("--attn gau --task classify --classes 3 " SMALL, NULL, 0));
    const int wanted[B] = { 2, 0 }, length[B] = { T, 4 };
    static real logits[B * 3];
    double loss;

    batch_of(0);
    const attnc_batch b = { B, T, id, wanted, length };
    must_work(attnc_model_loss(m, &b, &loss));
    must_work(attnc_model_backward(m, 1));
    must_work(attnc_model_step(m, 0, NULL));
    must_work(attnc_model_logits(m, &b, logits));
    ck_assert_int_eq(attnc_model_number(m, "outputs"), 3);
    int out[1];
    must_fail(attnc_model_sample(m, "", id, 1, out, 1), ATTNC_USAGE, "classify");
    attnc_model_free(m);
    must_not(attnc_model_new("--attn gau --task classify " SMALL, NULL, 0), "--classes");
}
END_TEST

START_TEST(a_gated_unit_has_one_head_unless_more_are_set)
{
    static const char form[] = "--attn gau --n-layer 1 --n-embd 16 --block-size 12";
    attnc_model *one = must(attnc_model_new(form, NULL, 0));
    attnc_model *two = must(attnc_model_new(text_format("%s --n-head 2", form).at, NULL, 0));

    ck_assert_int_eq(attnc_model_number(one, "heads"), 1);
    ck_assert_int_eq(attnc_model_number(two, "heads"), 2);
    attnc_model_free(one);
    attnc_model_free(two);
}
END_TEST

static long long parameters_of(const char *options)
{
    attnc_model *m = must(attnc_model_new(
        text_format("--attn mamba2 --n-layer 1 --n-embd 16 %s", options).at, NULL, 0));
    const long long count = attnc_model_number(m, "parameters");

    attnc_model_free(m);
    return count;
}

START_TEST(a_default_convolution_has_a_middle_where_both_sides_are_seen)
{
    const long long masked = parameters_of("--task mlm");

    ck_assert_int_eq(parameters_of(""), parameters_of("--conv 4"));
    ck_assert_int_eq(masked, parameters_of("--task mlm --conv 3"));
    ck_assert_int_gt(masked, parameters_of("--task mlm --conv 1"));
    must_not(attnc_model_new("--attn mamba2 --task mlm --conv 4", NULL, 0), "odd number");
}
END_TEST

START_TEST(a_model_too_large_for_memory_returns_an_error)
{
    must_not(attnc_model_new("--attn softmax --n-layer 1000 --n-embd 16384", NULL, 0), "GiB");
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

Suite *suite_library(void)
{
    int count = 0;
    Suite *s = suite_create("library");
    TCase *t = group(s, "attention");

    while (attentions[count])
        count++;
    tcase_add_loop_test(t, gradients_match_differences, 0, count);
    tcase_add_test(t, padding_has_no_gradient);
    tcase_add_test(t, operands_that_are_drawn_need_no_numbers);
    tcase_add_test(t, mistakes_are_returned);
    tcase_add_test(t, each_thread_has_its_own_error);
#ifdef LIMITS
    tcase_add_test(t, a_failed_allocation_returns_an_error);
#endif
    t = with_folder(s, "models");
    tcase_add_test(t, a_saved_model_continues_bit_for_bit);
    tcase_add_test(t, precision_is_kept_and_may_change);
    tcase_add_test(t, the_loss_is_that_of_the_logits);
    tcase_add_test(t, gradients_of_batches_add_up);
    tcase_add_test(t, a_sample_takes_the_likeliest_tokens);
    tcase_add_test(t, batches_are_checked);
    tcase_add_test(t, text_is_encoded_and_decoded);
    tcase_add_test(t, a_classifier_has_a_target_per_sequence);
    tcase_add_test(t, a_gated_unit_has_one_head_unless_more_are_set);
    tcase_add_test(t, a_default_convolution_has_a_middle_where_both_sides_are_seen);
    tcase_add_test(t, a_model_too_large_for_memory_returns_an_error);
    return s;
}
