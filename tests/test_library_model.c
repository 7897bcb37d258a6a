/* Models of the library as its users call it. */
#include "tests/folder.h"
#include "tests/library.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { B = 2, V = 256, T = 12, NUMBERS = 20000 };

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

static double step_at(attnc_model *m, int seed, double rate)
{
    const attnc_batch batch = batch_of(seed);
    double loss;

    must_work(attnc_model_loss(m, &batch, &loss));
    must_work(attnc_model_backward(m, 1));
    must_work(attnc_model_step(m, rate, NULL));
    return loss;
}

static double step(attnc_model *m, int seed)
{
    return step_at(m, seed, 0);
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
    must_not(attnc_model_open(path, "--n-layer 2"), "cannot be changed");
    must_not(attnc_model_open(in_folder("nothing"), ""), "No such file");
    attnc_model_free(a), attnc_model_free(b);
}
END_TEST

START_TEST(every_loss_has_its_own_dropout)
{
    attnc_model *m = must(attnc_model_new("--attn relu --dropout 0.5 " SMALL, NULL, 0));
    const attnc_batch batch = batch_of(1);
    double loss[4];

    for (int i = 0; i < 4; i++) {
        must_work(attnc_model_loss(m, &batch, &loss[i]));
        for (int k = 0; k < i; k++)
            ck_assert_msg(loss[i] != loss[k], "losses %d and %d are %g", k, i, loss[i]);
        if (i == 1) { /* an update too small to change a weight */
            must_work(attnc_model_backward(m, 1));
            must_work(attnc_model_step(m, 1e-30, NULL));
        }
    }
    attnc_model_free(m);
}
END_TEST

/* Updates are too small to change a weight. */
START_TEST(random_features_are_drawn_again_every_second_update)
{
    attnc_model *m = must(attnc_model_new("--attn performer --redraw 2 " SMALL, NULL, 0)), *again;
    double loss[5];

    for (int i = 0; i < 5; i++)
        loss[i] = step_at(m, 1, 1e-30);
    ck_assert(loss[0] == loss[1] && loss[1] != loss[2] && loss[2] == loss[3] && loss[3] != loss[4]);
    must_work(attnc_model_save(m, in_folder("redrawn.safetensors")));
    again = must(attnc_model_open(in_folder("redrawn.safetensors"), ""));
    for (int i = 0; i < 2; i++)
        ck_assert(step_at(m, 1, 1e-30) == step_at(again, 1, 1e-30));
    attnc_model_free(m), attnc_model_free(again);
}
END_TEST

/* Also with options that changed when it was opened. */
START_TEST(options_that_change_when_a_model_is_opened_are_saved)
{
    const char *path = in_folder("one.safetensors"), *other = in_folder("two.safetensors");
    attnc_model *a = must(attnc_model_new("--attn relu --dropout 0.5 --lr 0.001 " SMALL, NULL, 0));

    step(a, 1);
    must_work(attnc_model_save(a, path));
    attnc_model *b = must(attnc_model_open(path, "--dropout 0 --lr 0.1 --grad-clip 0.01"));
    step(b, 2);
    must_work(attnc_model_save(b, other));
    attnc_model *c = must(attnc_model_open(other, ""));
    for (int i = 0; i < 3; i++)
        ck_assert(step(b, i) == step(c, i));
    ck_assert(same_weights(b, c));
    attnc_model_free(a), attnc_model_free(b), attnc_model_free(c);
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

/* All numbers of a model, one after the other. */
static size_t numbers_of(const attnc_model *m, real *to)
{
    attnc_tensor t;
    size_t all = 0;

    for (int i = 0; attnc_model_tensor(m, i, &t) == ATTNC_OK; i++) {
        size_t n = 1;

        for (int d = 0; d < t.ndim; d++)
            n *= (size_t)t.dim[d];
        ck_assert(all + n <= NUMBERS);
        memcpy(to + all, t.data, n * sizeof *to);
        all += n;
    }
    return all;
}

/* The average as its formula has it, from the weights after each step. */
START_TEST(averages_take_the_place_of_the_weights)
{
    static real w[NUMBERS], got[NUMBERS];
    static double want[NUMBERS];
    attnc_model *m = must(attnc_model_new("--attn relu --lr 0.02 --ema 0.8 " SMALL, NULL, 0));
    double whole = 0;

    for (int i = 1; i <= 5; i++) {
        step(m, i);
        const size_t n = numbers_of(m, w);
        whole = 0.8 * whole + 1;
        for (size_t k = 0; k < n; k++)
            want[k] += ((double)w[k] - want[k]) / whole;
    }
    const size_t n = numbers_of(m, w);
    must_work(attnc_model_averages(m, 1));
    must_work(attnc_model_averages(m, 1));
    ck_assert(numbers_of(m, got) == n);
    check_close("averages", got, want, n, 1e-5);
    const attnc_batch batch = batch_of(1);
    double loss, later;
    must_work(attnc_model_loss(m, &batch, &loss));
    must_fail(attnc_model_backward(m, 1), ATTNC_USAGE, "the averages of --ema cannot be trained");
    must_work(attnc_model_averages(m, 0));
    must_fail(attnc_model_backward(m, 1), ATTNC_USAGE, "no loss");
    must_work(attnc_model_loss(m, &batch, &later));
    must_work(attnc_model_backward(m, 1));
    must_work(attnc_model_averages(m, 1));
    must_fail(attnc_model_step(m, 0, NULL), ATTNC_USAGE, "cannot be trained");
    must_work(attnc_model_averages(m, 0));
    numbers_of(m, got);
    ck_assert(same_bits(got, w, n));
    must_work(attnc_model_loss(m, &batch, &later));
    ck_assert(later != loss);
    attnc_model_free(m);
    m = must(attnc_model_new("--attn relu " SMALL, NULL, 0));
    must_work(attnc_model_averages(m, 0));
    must_fail(attnc_model_averages(m, 1), ATTNC_USAGE, "without --ema");
    attnc_model_free(m);
}
END_TEST

START_TEST(a_saved_model_keeps_its_averages_and_what_is_frozen)
{
    static real w[NUMBERS], averages[NUMBERS], got[NUMBERS];
    const char *path = in_folder("averaged.safetensors");
    const char *words = "--attn relu --lr 0.02 --ema 0.8 --freeze embed,blocks.0.attn " SMALL;
    attnc_model *a = must(attnc_model_new(words, NULL, 0));
    attnc_tensor embed;

    const size_t n = numbers_of(a, got);
    step(a, 1), step(a, 2);
    must_fail(attnc_model_step(a, 0, NULL), ATTNC_USAGE, "no gradient");
    numbers_of(a, w);
    ck_assert(!same_bits(w, got, n));
    must_work(attnc_model_tensor(a, 0, &embed));
    ck_assert_str_eq(embed.name, "embed");
    ck_assert(same_bits(embed.data, got, (size_t)(embed.dim[0] * embed.dim[1])));
#ifndef __SANITIZE_ADDRESS__ /* a failed call may leak memory, see doc/library.md */
    must_fail(attnc_model_save(a, in_folder("nowhere/x")), ATTNC_IO, "No such file");
#endif
    must_work(attnc_model_save(a, path));
    numbers_of(a, got);
    ck_assert(same_bits(w, got, n));
    must_work(attnc_model_averages(a, 1));
    numbers_of(a, averages);
    must_work(attnc_model_averages(a, 0));
    attnc_model *b = must(attnc_model_open(path, ""));
    numbers_of(b, got);
    ck_assert(same_bits(got, averages, n));
    must_work(attnc_model_averages(b, 0));
    numbers_of(b, got);
    ck_assert(same_bits(got, w, n));
    for (int i = 0; i < 5; i++)
        ck_assert(step(a, i) == step(b, i));
    must_work(attnc_model_averages(a, 1));
    must_work(attnc_model_averages(b, 1));
    ck_assert(same_weights(a, b));
    attnc_model_free(a), attnc_model_free(b);
    must_not(attnc_model_open(path, "--ema 0.9"), "cannot be changed");
    must_not(attnc_model_new("--freeze nothing " SMALL, NULL, 0), "matches no tensor");
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

START_TEST(a_model_with_tokens_of_its_own_is_saved)
{
    const char *path = in_folder("tokens.safetensors");
    attnc_model *a = must(attnc_model_new("--attn relu --vocab 300 " SMALL, NULL, 0)), *b;

    step(a, 1);
    must_work(attnc_model_save(a, path));
    b = must(attnc_model_open(path, ""));
    ck_assert_int_eq(attnc_model_number(b, "vocab"), 300);
    for (int i = 0; i < 3; i++)
        ck_assert(step(a, i) == step(b, i));
    must_work(attnc_model_save(b, path));
    attnc_model_free(a), attnc_model_free(b);
    a = must(attnc_model_open(path, ""));
    ck_assert_int_eq(attnc_model_number(a, "updates"), 4);
    attnc_model_free(a);
}
END_TEST

START_TEST(a_weight_that_is_not_finite_leaves_the_old_checkpoint)
{
    const char *path = in_folder("finite.safetensors");
    attnc_model *m = must(attnc_model_new("--attn relu --vocab 30 " SMALL, NULL, 0)), *before;
    attnc_tensor embed;

    must_work(attnc_model_save(m, path));
    before = must(attnc_model_open(path, ""));
    must_work(attnc_model_tensor(m, 0, &embed));
    embed.data[7] = (attnc_real)NAN;
    must_fail(attnc_model_save(m, path), ATTNC_FAILED, "embed is not finite");
    embed.data[7] = 1;
    ck_assert(!same_weights(m, before));
    attnc_model_free(m);
    m = must(attnc_model_open(path, ""));
    ck_assert(same_weights(m, before));
    attnc_model_free(m), attnc_model_free(before);
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
    b.target = NULL;
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "they are NULL");
    b.target = wanted;
    b.length = (const int[]){ 0 };
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "length 0 is 0");
    b.T = T + 1;
    must_fail(attnc_model_loss(m, &b, &loss), ATTNC_USAGE, "the context");
    must_fail(attnc_model_encode(m, "a", 1, token) < 0 ? ATTNC_USAGE : ATTNC_OK, ATTNC_USAGE,
              "--vocab");
    attnc_model_free(m);
}
END_TEST

START_TEST(failures_leave_no_file_open)
{
    attnc_model *m = must(attnc_model_new("--attn softmax " SMALL, NULL, 0));
    const int before = dup(0);

    leaks_are_expected();
    mkdir(in_folder("taken"), 0777);
    for (int i = 0; i < 3; i++) {
        must_fail(attnc_model_save(m, in_folder("taken")), ATTNC_IO, "taken");
        must_not(attnc_model_open(in_folder("taken"), ""), "taken");
        must_not(attnc_model_open("/dev/null", ""), "/dev/null");
    }
    const int after = dup(0);
    ck_assert_int_eq(after, before + 1);
    close(before), close(after);
    attnc_model_free(m);
}
END_TEST

START_TEST(options_too_long_to_be_saved_are_refused)
{
    char words[1400] = "--n-layer 8 --attn ";

    leaks_are_expected();
    for (int i = 0; i < 8; i++) {
        const size_t n = strlen(words);

        snprintf(words + n, sizeof words - n,
                 "%ssoftmax:scale=entropy:weight=softmax1:base=1000000:window=10000%d:key-size=16:"
                 "out-norm=all:out-gate=on:conv=3:conv-silu=off:qk-norm=rms",
                 i ? "," : "", i);
    }
    must_not(attnc_model_new(words, NULL, 0), "too long to be saved");
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
    attnc_model_free(one), attnc_model_free(two);
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

START_TEST(null_is_refused_unless_it_means_something)
{
    attnc_model *m =
        must(attnc_model_new("--n-layer 1 --n-embd 8 --n-head 1 --block-size 4", NULL, 0));
    attnc_tensor tensor;
    real logits[256];
    double loss;
    int one[1] = { 65 };
    size_t bytes;
    const attnc_batch batch = { .B = 1, .T = 1, .id = one, .target = one },
                      empty = { .B = 1, .T = 1 };

    must_not(attnc_model_open(NULL, ""), "path is NULL");
    must_not(attnc_model_open(in_folder("nowhere"), NULL), "nowhere");
    ck_assert_int_eq(attnc_model_number(NULL, "vocab"), -1);
    ck_assert_int_eq(attnc_model_number(m, NULL), -1);
    must_fail(attnc_model_logits(NULL, &batch, logits), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_logits(m, NULL, logits), ATTNC_USAGE, "batch is NULL");
    must_fail(attnc_model_logits(m, &empty, logits), ATTNC_USAGE, "token is NULL");
    must_fail(attnc_model_logits(m, &batch, NULL), ATTNC_USAGE, "logits is NULL");
    must_fail(attnc_model_loss(NULL, &batch, &loss), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_loss(m, NULL, &loss), ATTNC_USAGE, "batch is NULL");
    must_fail(attnc_model_loss(m, &batch, NULL), ATTNC_USAGE, "loss is NULL");
    must_fail(attnc_model_backward(NULL, 1), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_step(NULL, 0, NULL), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_averages(NULL, 0), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_tensor(NULL, 0, &tensor), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_tensor(m, 0, NULL), ATTNC_USAGE, "tensor is NULL");
    must_fail(attnc_model_tensor(m, 1000, &tensor), ATTNC_USAGE, "no tensor 1000");
    must_fail(attnc_model_tensor(m, -1, &tensor), ATTNC_USAGE, "no tensor -1");
    must_fail(attnc_model_save(NULL, in_folder("x")), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_save(m, NULL), ATTNC_USAGE, "path is NULL");
    must_fail(attnc_model_sample(NULL, NULL, one, 1, one, 1), ATTNC_USAGE, "m is NULL");
    must_fail(attnc_model_sample(m, NULL, NULL, 1, one, 1), ATTNC_USAGE, "token is NULL");
    must_fail(attnc_model_sample(m, NULL, one, 1, NULL, 1), ATTNC_USAGE, "out is NULL");
    must_work(attnc_model_sample(m, NULL, one, 1, NULL, 0));
    ck_assert_int_eq(attnc_model_encode(NULL, "a", 1, one), -1);
    ck_assert_int_eq(attnc_model_encode(m, NULL, 1, one), -1);
    ck_assert_int_eq(attnc_model_encode(m, "a", 1, NULL), -1);
    ck_assert_int_eq(attnc_model_encode(m, NULL, 0, NULL), 0);
    must_not(attnc_model_decode(NULL, 65, &bytes), "m is NULL");
    must_not(attnc_model_decode(m, 65, NULL), "bytes is NULL");
    attnc_model_free(m), attnc_model_free(NULL);
}
END_TEST

Suite *suite_library_model(void)
{
    Suite *s = suite_create("library_model");
    TCase *t = with_folder(s, "library_model");

    tcase_add_test(t, a_saved_model_continues_bit_for_bit);
    tcase_add_test(t, random_features_are_drawn_again_every_second_update);
    tcase_add_test(t, options_that_change_when_a_model_is_opened_are_saved);
    tcase_add_test(t, every_loss_has_its_own_dropout);
    tcase_add_test(t, precision_is_kept_and_may_change);
    tcase_add_test(t, averages_take_the_place_of_the_weights);
    tcase_add_test(t, a_saved_model_keeps_its_averages_and_what_is_frozen);
    tcase_add_test(t, the_loss_is_that_of_the_logits);
    tcase_add_test(t, gradients_of_batches_add_up);
    tcase_add_test(t, a_sample_takes_the_likeliest_tokens);
    tcase_add_test(t, a_model_with_tokens_of_its_own_is_saved);
    tcase_add_test(t, a_weight_that_is_not_finite_leaves_the_old_checkpoint);
    tcase_add_test(t, batches_are_checked);
    tcase_add_test(t, failures_leave_no_file_open);
    tcase_add_test(t, options_too_long_to_be_saved_are_refused);
    tcase_add_test(t, text_is_encoded_and_decoded);
    tcase_add_test(t, a_classifier_has_a_target_per_sequence);
    tcase_add_test(t, a_gated_unit_has_one_head_unless_more_are_set);
    tcase_add_test(t, a_default_convolution_has_a_middle_where_both_sides_are_seen);
    tcase_add_test(t, a_model_too_large_for_memory_returns_an_error);
    tcase_add_test(t, null_is_refused_unless_it_means_something);
    return s;
}
