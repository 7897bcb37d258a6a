/* What is found about the attention matrices of a model on a text. */
#include "model/config_size.h"
#include "model/layer.h"
#include "ops/base/error.h"
#include "ops/kernel/svd.h"
#include "tests/folder.h"
#include "tests/naive.h"
#include "tests/studied.h"
#include "tests/suites.h"
#include "tests/variants.h"
#include "training/source.h"

#include <stdlib.h>
#include <string.h>

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

static const RopeScale rope_scales[] = { { ROPE_LINEAR, 0, 0 },
                                         { ROPE_LINEAR, 4, 0 },
                                         { ROPE_NTK, 4, 50 } };

static double naive_score(const Mix *in, const Shape *s, int b, int h, const int at[2])
{
    double rotated[2][16], sum = 0;

    for (int side = 0; side < 2; side++) {
        const real *row = (side ? in->k : in->q)->data +
                          ((size_t)(b * s->T + at[side]) * (size_t)s->H + (size_t)h) * (size_t)s->D;
        double x[16];

        for (int d = 0; d < s->D; d++)
            x[d] = rotated[side][d] = (double)row[d];
        if (in->rope)
            naive_rope(x, at[side], s->D, in->rope_scale, rotated[side]);
    }
    for (int d = 0; d < s->D; d++)
        sum += rotated[0][d] * rotated[1][d];
    return sum / sqrt(s->D);
}

/* _i: 0, without RoPE; else with the scale before. */
START_TEST(scores_are_products_of_rotated_q_and_k_of_all_pairs)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(2);
    const Shape s = { 2, 7, 3, 6, 5 };
    Mixing m = mixing(mem, variant_next(NULL), s, true);
    Mix in = mixing_mix(&m);
    double S[2 * 3 * 7 * 7], *at = S;

    in.rope = _i > 0;
    in.rope_scale = rope_scales[_i > 0 ? _i - 1 : 0];
    attention_scores(&tape, &in, S);
    for (int b = 0; b < s.B; b++)
        for (int h = 0; h < s.H; h++)
            for (int i = 0; i < s.T; i++)
                for (int j = 0; j < s.T; j++, at++)
                    ck_assert_double_eq_tol(*at, naive_score(&in, &s, b, h, (int[]){ i, j }),
                                            10 * tolerance);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

/* Copies of rows are as wide as a vector. */
START_TEST(a_row_narrower_than_a_vector_has_scores)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    const Mixing m = mixing(mem, variant_next(NULL), (Shape){ 1, 1, 1, 1, 1 }, true);
    const Mix in = mixing_mix(&m);
    const double q = (double)in.q->data[0], k = (double)in.k->data[0];
    double S;

    attention_scores(&tape, &in, &S);
    ck_assert_double_eq(S, q * k);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

/* What a weight is of its score: of a softmax's row the ratio is e^s, of a squared relu's a square.
 */
static double weight_of(const Variant *v, double score)
{
    return v->traits & SQUARED ? fmax(score, 0) * fmax(score, 0) : exp(score);
}

START_TEST(weights_are_the_function_of_their_rows_scores)
{
    enum { N = 6 };
    int some = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v)) {
        Arena *mem = arena_new();
        Tape tape = tape_open(1);
        Mixing m = mixing(mem, v, (Shape){ 1, N, 1, 6, 6 }, false);
        const Mix in = mixing_mix(&m);
        real A[N * N];
        double S[N * N];

        tape.forward_only = true;
        if (v->plain && (v->traits & HAS_SCORES)) {
            attention_matrix(&tape, &in, A);
            attention_scores(&tape, &in, S);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    ck_assert_double_eq_tol((double)A[i * N + j] * weight_of(v, S[i * N]),
                                            (double)A[i * N] * weight_of(v, S[i * N + j]),
                                            10 * tolerance);
            some++;
        }
        tape_close(&tape);
        arena_free(mem);
    }
    ck_assert_int_gt(some, 0);
}
END_TEST

static Analysis analysed(Studied *x)
{
    return analysis_make(&x->tape, &x->s->model, x->text, &x->study, x->s->mem);
}

/* The same of one window, summed up again for one head. */
typedef struct {
    const Config *config;
    const Study *study;
    Tape *tape;
    int want_mix, want_head, mix;
    Focus focus;
    Rank rank[SPECTRA];
    double ranks[SPECTRA][TOLERANCES];
    double second[SPECTRA]; /* the second singular value, over the first */
} Again;

static void sum_up(Again *a, int which, double *M)
{
    double s[LENGTH];

    svd_values(M, LENGTH, LENGTH, s);
    const Rank r = svd_rank(s, LENGTH, a->study->tolerance);
    a->rank[which].rank += r.rank;
    a->rank[which].effective += r.effective;
    a->rank[which].holding += r.holding;
    a->second[which] += s[1] / s[0];
    for (int i = 0; i < TOLERANCES; i++)
        for (int k = 0; k < LENGTH; k++)
            a->ranks[which][i] += s[k] > pow(10, -1 - i) * s[0];
}

static void see_again(void *ctx, const Mix *in)
{
    enum { SQUARE = LENGTH * LENGTH };
    Again *a = ctx;
    const int H = in->q->dim[2];
    real A[2 * SQUARE];
    double M[SQUARE], S[2 * SQUARE];
    Mix mix = *in;

    if (a->mix++ != a->want_mix)
        return;
    mix.causal = a->config->task == TASK_CAUSAL && !a->study->unmasked;
    ck_assert_int_le(H, 2);
    attention_matrix(a->tape, &mix, A);
    attention_scores(a->tape, &mix, S);
    for (int i = 0; i < SQUARE; i++)
        M[i] = (double)A[a->want_head * SQUARE + i];
    focus_add(&a->focus, &(Look){ view_of(&mix, 0), a->study->band, a->study->faint },
              A + a->want_head * SQUARE);
    sum_up(a, OF_WEIGHTS, M);
    sum_up(a, OF_SCORES, S + a->want_head * SQUARE);
}

/* The rows that evaluate() would take. */
static void watch_again(Studied *x, Again *a)
{
    const Config *c = &x->s->model.config;
    const TextSource source =
        source_text(x->text, x->text, LENGTH, c->task == TASK_MLM ? config_mask(c) : -1);
    const size_t all = source.source.rows(&source.source, LENGTH);
    Tape pass = tape_open(1);
    int id[LENGTH], target[LENGTH];

    pass.forward_only = true;
    for (size_t w = 0; w < (size_t)x->study.windows; w++) {
        source.source.row(&source.source, w * all / (size_t)x->study.windows,
                          (Batch){ .B = 1, .T = LENGTH, .id = id, .target = target });
        a->mix = 0;
        tape_reset(&pass);
        model_watch(&pass, &x->s->model, id, LENGTH, (Watch){ .see = see_again, .ctx = a });
    }
    tape_close(&pass);
}

static void check_head(const Findings *f, const Again *a, bool scores)
{
    const double n = a->study->windows;

    for (int i = 0; i < FOCUS_NUMBERS; i++)
        ck_assert_double_eq(f->number[i], a->focus.sum[i] / a->focus.rows);
    ck_assert_double_eq(f->number[FINDING_EMPTY], a->focus.empty / (LENGTH * n));
    for (int m = 0; m <= scores; m++) {
        const double *number = f->number + (m == OF_WEIGHTS ? FINDING_RANK : FINDING_SCORE_RANK);

        ck_assert_double_eq(number[0], a->rank[m].rank / n);
        ck_assert_double_eq(number[1], a->rank[m].effective / n);
        ck_assert_double_eq(number[2], a->rank[m].holding / n);
        ck_assert_double_eq(f->spectrum[m][0], 1);
        ck_assert_double_eq(f->spectrum[m][1], a->second[m] / n);
        for (int i = 0; i < TOLERANCES; i++)
            ck_assert_double_eq(f->ranks[m][i], a->ranks[m][i] / n);
    }
    if (!scores) {
        ck_assert(!f->spectrum[OF_SCORES]);
        for (int i = FINDING_SCORE_RANK; i < FINDINGS; i++)
            ck_assert(isnan(f->number[i]));
    }
}

static void check_heads(Studied *x)
{
    const Config *c = &x->s->model.config;
    const bool scores = c->attention->traits & HAS_SCORES;
    const Analysis found = analysed(x);
    double sum[FINDINGS] = { 0 }, ranks = 0;

    ck_assert_int_eq(found.mixes, config_mixes(c));
    ck_assert_int_eq(found.heads, c->heads);
    ck_assert_int_eq(found.windows, 3);
    for (int h = 0; h < found.mixes * found.heads; h++) {
        Again a = { .config = c, .study = &x->study, .want_mix = h / found.heads };

        a.tape = &(Tape){ .mem = arena_new(), .pool = x->tape.pool, .forward_only = true };
        a.want_head = h % found.heads;
        watch_again(x, &a);
        check_head(&found.head[h], &a, scores);
        arena_free(a.tape->mem);
        for (int i = 0; i < FINDINGS; i++)
            sum[i] += found.head[h].number[i];
        ranks += found.head[h].ranks[OF_WEIGHTS][TOLERANCES - 1];
    }
    ck_assert_double_eq_tol(found.mean.ranks[OF_WEIGHTS][TOLERANCES - 1],
                            ranks / found.mixes / found.heads, 1e-12);
    for (int i = 0; i < (scores ? FINDINGS : FINDING_SCORE_RANK); i++)
        ck_assert_double_eq_tol(found.mean.number[i], sum[i] / found.mixes / found.heads, 1e-12);
    ck_assert(!x->tape.forward_only);
}

START_TEST(each_head_has_the_means_of_its_matrices_over_the_windows_of_evaluation)
{
    for (const Attention *const *a = attentions; *a; a++)
        if (can_study(*a, _i)) {
            Studied x = studied_kind(studied_config(*a), _i, 2);

            check_heads(&x);
            studied_close(&x);
        }
}
END_TEST

/* Without q the scores are 0, and the softmax does not tell its keys apart. */
START_TEST(a_head_with_q_zero_has_uniform_weights)
{
    Studied x = studied_kind(studied_config(&attention_softmax), _i ? MASKED : CAUSAL, 1);

    for (const Param *p = x.s->model.params.first; p; p = p->next)
        if (strstr(p->name, "attn.wq"))
            memset(p->tensor->data, 0, p->tensor->n * sizeof(real));
    const Analysis found = analysed(&x);
    double entropy = 0;
    for (int i = 0; i < LENGTH; i++)
        entropy += log(_i ? LENGTH : i + 1) / LENGTH;
    ck_assert_double_eq_tol(found.mean.number[FOCUS_ENTROPY], entropy, tolerance);
    ck_assert_double_eq(found.uniform.number[FINDING_RANK], _i ? 1 : LENGTH);
    ck_assert_double_eq(found.mean.number[FINDING_SCORE_RANK], 0);
    for (int i = 0; i < FINDING_SCORE_RANK; i++)
        ck_assert_double_eq_tol(found.mean.number[i], found.uniform.number[i], 10 * tolerance);
    studied_close(&x);
}
END_TEST

START_TEST(a_window_of_one_token_has_one_key_and_rank_1)
{
    Studied x = studied_open(studied_config(&attention_softmax), 1);

    x.study.length = 1;
    const Analysis found = analysed(&x);
    ck_assert_double_eq(found.mean.number[FOCUS_ENTROPY], 0);
    ck_assert_double_eq(found.mean.number[FOCUS_KEYS], 1);
    ck_assert_double_eq(found.mean.number[FOCUS_BAND], 1);
    ck_assert_double_eq(found.mean.number[FOCUS_DISTANCE], 0);
    ck_assert_double_eq(found.mean.number[FOCUS_SUM], 1);
    ck_assert_double_eq(found.mean.number[FINDING_RANK], 1);
    ck_assert_double_eq(found.mean.number[FINDING_SCORE_RANK], 1);
    studied_close(&x);
}
END_TEST

/* A text for three windows, and eight are asked for. */
START_TEST(no_window_is_analysed_twice)
{
    Studied x = studied_open(studied_config(&attention_softmax), 1);

    x.text.n = 3 * LENGTH + 1;
    const Analysis three = analysed(&x);
    x.study.windows = 8;
    const Analysis found = analysed(&x);
    ck_assert_int_eq(found.windows, 3);
    ck_assert_mem_eq(found.mean.number, three.mean.number, sizeof three.mean.number);
    studied_close(&x);
}
END_TEST

START_TEST(the_number_of_threads_does_not_change_a_bit)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Analysis found[2];
        Studied x[2];

        if (!can_study(*a, _i))
            continue;
        for (int i = 0; i < 2; i++) {
            x[i] = studied_kind(studied_config(*a), _i, 1 + 2 * i);
            found[i] = analysed(&x[i]);
        }
        for (int h = 0; h < found[0].mixes * found[0].heads; h++)
            ck_assert_mem_eq(found[0].head[h].number, found[1].head[h].number,
                             sizeof found[0].head[h].number);
        for (int i = 0; i < 2; i++)
            studied_close(&x[i]);
    }
}
END_TEST

static void check_rank(Studied *x)
{
    const Config *c = &x->s->model.config;
    const MixSize size = config_mix_size(c);
    const bool scores = c->attention->traits & HAS_SCORES;
    const Analysis found = analysed(x);

    if (scores)
        ck_assert_double_eq(found.mean.number[FINDING_SCORE_RANK], 2);
    for (int h = 0; h < found.mixes * found.heads; h++)
        if (c->attention->engine->rank)
            ck_assert_double_le(found.head[h].number[FINDING_RANK],
                                c->attention->engine->rank(&size));
        else if (scores)
            ck_assert_double_gt(found.head[h].number[FINDING_RANK], 3);
}

/* Keys of 2, in windows of 8. */
START_TEST(scores_and_linear_weights_have_the_rank_of_their_factors_and_a_softmax_has_more)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Config c = studied_config(*a);

        if (!can_study(*a, _i))
            continue;
        *setting_at(&c.set, "key-size") = 2;
        Studied x = studied_kind(c, _i, 1);
        x.study.tolerance = in_double ? 1e-12 : 1e-6;
        if (_i != CAUSAL)
            check_rank(&x);
        else if (!(attention_traits(*a, &c.set) & (RECTIFIED | SQUARED)) &&
                 !(*a)->keys_are_q) /* none on the diagonal is 0 */
            ck_assert_double_gt(analysed(&x).mean.number[FINDING_RANK], 7.9);
        studied_close(&x);
    }
}
END_TEST

/* The same of the activations, from the products of their columns: X^T X has squares of X's. */
typedef struct {
    Activations layer[3];
    int seen;
} Activated;

static void activate(void *ctx, int layer, const Tensor *x)
{
    enum { C_MOST = 12 };
    Activated *a = ctx;
    Activations *to = &a->layer[layer];
    const int T = x->dim[1], C = x->dim[2];
    double X[LENGTH * C_MOST], s[C_MOST], all = 0, apart = 0;

    for (int i = 0; i < T * C; i++)
        X[i] = (double)x->data[i], all += X[i] * X[i];
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) {
            double d = X[t * C + c];

            for (int u = 0; u < T; u++)
                d -= X[u * C + c] / T;
            apart += d * d;
        }
    svd_values(X, T, C, s);
    const int n = T < C ? T : C;
    for (int i = 0; i < TOLERANCES; i++)
        for (int k = 0; k < n; k++)
            to->ranks[i] += s[k] > pow(10, -1 - i) * s[0];
    to->apart += sqrt(apart / all), to->effective += svd_rank(s, n, 0).effective;
    to->holding += svd_rank(s, n, 0).holding;
    a->seen++;
}

static void activate_windows(Studied *x, Activated *a)
{
    const size_t all = tokens_windows(x->text, LENGTH), n = (size_t)x->study.windows;
    int id[LENGTH], target[LENGTH];
    Tape pass = tape_open(1);

    for (size_t w = 0; w < n; w++) {
        tokens_window(x->text, w * all / n,
                      (Batch){ .B = 1, .T = LENGTH, .id = id, .target = target });
        tape_reset(&pass);
        model_watch(&pass, &x->s->model, id, LENGTH, (Watch){ .layer = activate, .ctx = a });
    }
    tape_close(&pass);
}

/* _i: more numbers in x than positions, or fewer. */
START_TEST(activations_have_the_ranks_of_the_output_of_each_layer)
{
    Config c = studied_config(&attention_softmax);

    c.width = _i ? 4 : 12;
    Studied x = studied_open(c, 2);
    Activated a = { .seen = 0 };
    activate_windows(&x, &a);
    const Analysis found = analysed(&x);
    ck_assert_int_eq(a.seen, 9);
    ck_assert_int_eq(found.layers, 3);
    for (int l = 0; l < 3; l++) {
        const Activations *is = &found.layer[l], *want = &a.layer[l];

        ck_assert_double_eq_tol(is->apart, want->apart / 3, 1e-12);
        ck_assert_double_gt(is->apart, 0.01);
        ck_assert_double_eq_tol(is->effective, want->effective / 3, 1e-9);
        ck_assert_double_eq(is->holding, want->holding / 3);
        for (int i = 0; i < TOLERANCES; i++)
            ck_assert_double_eq(is->ranks[i], want->ranks[i] / 3);
    }
    studied_close(&x);
}
END_TEST

/* Equal weights: all rows are the mean, so without x + the output has rank 1. _i: with x +. */
START_TEST(without_residual_uniform_attention_has_equal_rows)
{
    Config c = studied_config(&attention_softmax);

    c.ffn = FFN_NONE, c.no_residual = !_i;
    Studied x = studied_kind(c, MASKED, 1);
    for (const Param *p = x.s->model.params.first; p; p = p->next)
        if (strstr(p->name, "attn.wq"))
            memset(p->tensor->data, 0, p->tensor->n * sizeof(real));
    const Analysis found = analysed(&x);
    ck_assert_double_gt(found.layer[0].ranks[2], 4);
    for (int l = 1; l < found.layers; l++)
        if (_i) {
            ck_assert_double_gt(found.layer[l].apart, 0.05);
            ck_assert_double_gt(found.layer[l].ranks[4], 4);
        } else {
            ck_assert_double_lt(found.layer[l].apart, 1e-5);
            ck_assert_double_eq_tol(found.layer[l].effective, 1, 1e-4);
            ck_assert_double_eq(found.layer[l].ranks[3], 1);
        }
    studied_close(&x);
}
END_TEST

/* Of two layers. */
static int told;

static void count(int length, int window, int mix)
{
    ck_assert_int_eq(length, LENGTH);
    ck_assert_int_eq(window, told / 2);
    ck_assert_int_eq(mix, told++ % 2);
}

START_TEST(each_layer_of_each_window_is_announced_before_it_is_analysed)
{
    Studied x = studied_open(studied_config(&attention_softmax), 1);

    x.study.tell = count;
    told = 0;
    analysed(&x);
    ck_assert_int_eq(told, 3 * 2);
    studied_close(&x);
}
END_TEST

static const struct {
    const char *about, *words;
    int position, length, code;
    size_t tokens;
} refused[] = {
    { "no position", "--length up to 8", POSITION_LEARNED, 9, EXIT_USAGE, 100 },
    { "no text", "takes 9", POSITION_ROPE, 8, EXIT_DATA, 8 },
    { "no memory", "smaller --length", POSITION_ROPE, 1 << 24, EXIT_MEMORY, 1 << 25 },
};

static void check(const char *about)
{
    int i = 0;

    while (strcmp(refused[i].about, about) != 0)
        i++;
    Config c = studied_config(&attention_softmax);
    c.position = refused[i].position;
    Small *s = small_open(c, 1, LENGTH);
    analysis_check(&s->model, &(Study){ .length = refused[i].length, .windows = 1 },
                   refused[i].tokens);
    small_close(s);
}

START_TEST(inputs_that_cannot_be_analysed_are_refused)
{
    check_dies(check, refused[_i].about, refused[_i].code, refused[_i].words);
}
END_TEST

static void check_row(const char *attention)
{
    Small *s = small_open(studied_config(attention_find(attention)), 1, LENGTH);

    analysis_check(&s->model, &(Study){ .length = LENGTH, .windows = 1 }, 100);
    small_close(s);
}

START_TEST(an_attention_without_a_matrix_is_refused)
{
    for (const Attention *const *a = attentions; *a; a++)
        if ((*a)->traits & HAS_MATRIX)
            ck_assert_int_eq(exit_code_of(check_row, (*a)->name), 0);
        else
            check_dies(check_row, (*a)->name, EXIT_USAGE, "not a weighted sum");
}
END_TEST

START_TEST(the_smallest_valid_input_is_accepted)
{
    Config c = studied_config(&attention_softmax);

    c.position = POSITION_LEARNED;
    Small *s = small_open(c, 1, LENGTH);
    analysis_check(&s->model, &(Study){ .length = LENGTH, .windows = 1 }, LENGTH + 1);
    small_close(s);
}
END_TEST

Suite *suite_analysis(void)
{
    Suite *s = suite_create("analysis");
    TCase *t = group(s, "scores");

    tcase_add_loop_test(t, scores_are_products_of_rotated_q_and_k_of_all_pairs, 0, 4);
    tcase_add_test(t, a_row_narrower_than_a_vector_has_scores);
    tcase_add_test(t, weights_are_the_function_of_their_rows_scores);
    t = group(s, "models");
    tcase_add_loop_test(t, each_head_has_the_means_of_its_matrices_over_the_windows_of_evaluation,
                        0, KINDS);
    tcase_add_loop_test(t, a_head_with_q_zero_has_uniform_weights, 0, 2);
    tcase_add_test(t, a_window_of_one_token_has_one_key_and_rank_1);
    tcase_add_test(t, no_window_is_analysed_twice);
    tcase_add_loop_test(t, the_number_of_threads_does_not_change_a_bit, 0, KINDS);
    tcase_add_test(t,
                   scores_and_linear_weights_have_the_rank_of_their_factors_and_a_softmax_has_more);
    tcase_add_loop_test(t, activations_have_the_ranks_of_the_output_of_each_layer, 0, 2);
    tcase_add_loop_test(t, without_residual_uniform_attention_has_equal_rows, 0, 2);
    tcase_add_test(t, each_layer_of_each_window_is_announced_before_it_is_analysed);
    tcase_add_loop_test(t, inputs_that_cannot_be_analysed_are_refused, 0, COUNT(refused));
    tcase_add_test(t, an_attention_without_a_matrix_is_refused);
    tcase_add_test(t, the_smallest_valid_input_is_accepted);
    return s;
}
