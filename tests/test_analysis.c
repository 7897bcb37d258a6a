/* What is said of attention matrices: row by row, of all that a model makes of a text. */
#include "ops/attention/engine/linear.h"
#include "ops/base/error.h"
#include "ops/kernel/svd.h"
#include "tests/folder.h"
#include "tests/naive.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/variants.h"
#include "training/analysis.h"
#include "training/source.h"

#include <stdlib.h>
#include <string.h>

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

/* --- rows --------------------------------------------------------------------------------------
 */

enum { T = 13, BAND = 3 };

static const View views[] = {
    { .T = T, .length = T },
    { .T = T, .length = T, .causal = true },
    { .T = T, .length = 9 },
    { .T = T, .length = T, .window = 4 },
    { .T = T, .length = T, .window = 2, .causal = true },
};

static bool sees(const View *v, int i, int j)
{
    return j < v->length && (!v->causal || j <= i) && (v->window == 0 || abs(i - j) <= v->window);
}

static Focus look_at(const View *v, const real *A)
{
    Focus f = { 0 };

    focus_add(&f, &(Look){ *v, BAND, 0.1 }, A);
    return f;
}

static void check_mean(const Focus *f, int number, double want)
{
    ck_assert_msg(fabs(f->sum[number] / f->rows - want) <= tolerance * (1 + fabs(want)),
                  "number %d: %.15g, not %.15g", number, f->sum[number] / f->rows, want);
}

START_TEST(equal_weights_have_the_entropy_log_n_and_all_the_keys_there_are)
{
    const View *v = &views[_i];
    real A[T * T] = { 0 };
    double want[FOCUS_NUMBERS] = { 0 };

    for (int i = 0; i < T; i++) {
        int n = 0, band = 0, distance = 0;

        for (int j = 0; j < T; j++) {
            A[i * T + j] = sees(v, i, j) ? R(0.25) : 9; /* what is not seen does not count */
            n += sees(v, i, j), band += sees(v, i, j) && abs(i - j) <= BAND;
            distance += sees(v, i, j) ? abs(i - j) : 0;
        }
        want[FOCUS_ENTROPY] += log(n) / T, want[FOCUS_KEYS] += (double)n / T;
        want[FOCUS_BAND] += (double)band / n / T, want[FOCUS_DISTANCE] += (double)distance / n / T;
        want[FOCUS_SUM] += 0.25 * n / T, want[FOCUS_SEEN] += 1.0 / T;
    }
    const Focus f = look_at(v, A);
    ck_assert_double_eq(f.rows, T);
    ck_assert_double_eq(f.empty, 0);
    for (int i = 0; i < FOCUS_NUMBERS; i++)
        check_mean(&f, i, want[i]);
}
END_TEST

/* _i: the distance at which each row has its only weight, where there is a key. */
START_TEST(a_single_weight_is_one_key_at_its_distance)
{
    real A[T * T] = { 0 };

    for (int i = _i; i < T; i++)
        A[i * T + i - _i] = R(0.5);
    const Focus f = look_at(&views[0], A);
    ck_assert_double_eq(f.rows, T - _i);
    ck_assert_double_eq(f.empty, _i);
    check_mean(&f, FOCUS_ENTROPY, 0);
    check_mean(&f, FOCUS_KEYS, 1);
    check_mean(&f, FOCUS_SEEN, 1.0 / T);
    check_mean(&f, FOCUS_BAND, _i <= BAND);
    check_mean(&f, FOCUS_DISTANCE, _i);
    check_mean(&f, FOCUS_ZERO, (T - 1.0) / T);
    check_mean(&f, FOCUS_FAINT, (T - 1.0) / T);
    check_mean(&f, FOCUS_SUM, 0.5);
}
END_TEST

/* Weights 1, -2, 4 and 0.25 of keys 0 to 3, in every row. */
START_TEST(shares_are_of_sizes_whatever_the_signs_and_the_scale)
{
    static const real weight[4] = { 1, -2, 4, R(0.25) };
    static const View four = { .T = 4, .length = 4 };
    real A[16], B[16];

    for (int i = 0; i < 16; i++)
        A[i] = weight[i % 4], B[i] = -3 * A[i];
    const Focus a = look_at(&four, A), b = look_at(&four, B);
    double entropy = 0;
    for (int j = 0; j < 4; j++) {
        double p = fabs((double)weight[j]) / 7.25;

        entropy -= p * log(p);
    }
    check_mean(&a, FOCUS_ENTROPY, entropy);
    check_mean(&a, FOCUS_KEYS, exp(entropy));
    check_mean(&a, FOCUS_SEEN, exp(entropy) / 4);
    check_mean(&a, FOCUS_NEGATIVE, 2 / 7.25);
    check_mean(&a, FOCUS_FAINT, 0.25);
    check_mean(&a, FOCUS_ZERO, 0);
    check_mean(&a, FOCUS_SUM, 3.25);
    check_mean(&b, FOCUS_NEGATIVE, 5.25 / 7.25);
    check_mean(&b, FOCUS_SUM, -9.75);
    for (int i = 0; i < FOCUS_NEGATIVE; i++)
        check_mean(&b, i, a.sum[i] / a.rows);
}
END_TEST

START_TEST(a_weight_that_is_no_number_is_not_passed_over)
{
    static const View one = { .T = 1, .length = 1 };
    const real A[1] = { R(NAN) };
    const Focus f = look_at(&one, A);

    ck_assert_double_eq(f.rows, 1);
    for (int i = 0; i < FOCUS_NUMBERS; i++)
        ck_assert(isnan(f.sum[i]) || i == FOCUS_FAINT || i == FOCUS_ZERO || i == FOCUS_NEGATIVE);
}
END_TEST

/* --- scores ------------------------------------------------------------------------------------
 */

static const RopeScale rope_scales[] = { { ROPE_LINEAR, 0 }, { ROPE_LINEAR, 4 }, { ROPE_NTK, 4 } };

static double naive_score(const Mix *in, const Shape *s, int b, int h, const int at[2])
{
    double turned[2][16], sum = 0;

    for (int side = 0; side < 2; side++) {
        const real *row = (side ? in->k : in->q)->data +
                          ((size_t)(b * s->T + at[side]) * (size_t)s->H + (size_t)h) * (size_t)s->D;
        double x[16];

        for (int d = 0; d < s->D; d++)
            x[d] = turned[side][d] = (double)row[d];
        if (in->set.rope)
            naive_rope(x, at[side], s->D, in->set.rope_scale, turned[side]);
    }
    for (int d = 0; d < s->D; d++)
        sum += turned[0][d] * turned[1][d];
    return sum / sqrt(s->D);
}

/* _i: 0, without RoPE; else with the scale before. */
START_TEST(scores_are_products_of_turned_q_and_k_of_all_pairs)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(2);
    const Shape s = { 2, 7, 3, 6, 5 };
    Mixing m = mixing(mem, variant_next(NULL), s, true);
    Mix in = mixing_mix(&m);
    double S[2 * 3 * 7 * 7], *at = S;

    in.set.rope = _i > 0;
    in.set.rope_scale = rope_scales[_i > 0 ? _i - 1 : 0];
    attention_scores(&tape, in, S);
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

/* What a weight is of its score: of a softmax's row the ratio is e^s, of a squared relu's a square.
 */
static double weight_of(const Variant *v, double score)
{
    return variant_squares_scores(v) ? fmax(score, 0) * fmax(score, 0) : exp(score);
}

START_TEST(weights_are_made_of_the_scores_of_their_row_where_there_are_scores)
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
        if (variant_is_plain(v) && m.attention->scores) {
            attention_matrix(m.attention, &tape, in, A);
            attention_scores(&tape, in, S);
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
    ck_assert_int_eq(some, 2);
}
END_TEST

/* --- models ------------------------------------------------------------------------------------
 */

enum { N = 61, LENGTH = 8, VOCAB = 11 };

/* A model with a context of 8, and a text for seven windows. */
typedef struct {
    Small *s;
    Tape tape;
    Tokens text;
    Study study;
} Studied;

static Config config_of(const char *attention, Task task)
{
    Config c = small_variant(0);

    c.attention = attention_find(attention);
    c.task = task;
    c.heads = c.attention->frame == FRAME_GATED ? 1 : 2;
    c.position = c.attention->takes & TAKES_ROPE ? POSITION_ROPE : POSITION_SINUSOIDAL;
    c.vocab = task == TASK_MLM ? VOCAB + 1 : VOCAB;
    return c;
}

static Studied studied_open(Config c, int threads)
{
    Studied x = { .s = small_open(c, 1, LENGTH), .tape = tape_open(threads) };
    const Random r = random_stream(5, RANDOM_TEST, 0);

    x.text = (Tokens){ arena_take(x.s->mem, N * sizeof(Token)), N, N };
    for (size_t i = 0; i < N; i++)
        x.text.at[i] = (Token)random_below(r, i, VOCAB);
    x.study = (Study){ .length = LENGTH, .windows = 3, .band = 2, .faint = 0.1, .tolerance = 1e-4 };
    small_overwrite(x.s, 0.5);
    return x;
}

static void studied_close(Studied *x)
{
    tape_close(&x->tape);
    small_close(x->s);
}

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
    attention_matrix(a->config->attention, a->tape, mix, A);
    attention_scores(a->tape, mix, S);
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
        model_watch(&pass, &x->s->model, id, LENGTH, (Watch){ see_again, a });
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
    }
    if (!scores) {
        ck_assert(!f->spectrum[OF_SCORES]);
        for (int i = FINDING_SCORE_RANK; i < FINDINGS; i++)
            ck_assert(isnan(f->number[i]));
    }
}

static const struct {
    const char *attention;
    Task task;
    bool unmasked;
} models[] = {
    { "softmax", TASK_CAUSAL, false }, { "softmax", TASK_MLM, false },
    { "softmax", TASK_CAUSAL, true },  { "gau", TASK_CAUSAL, false },
    { "elu", TASK_MLM, false },        { "flash", TASK_CAUSAL, false },
};

START_TEST(each_head_has_the_means_of_its_matrices_over_the_windows_of_evaluation)
{
    Studied x = studied_open(config_of(models[_i].attention, models[_i].task), 2);
    const Config *c = &x.s->model.config;

    x.study.unmasked = models[_i].unmasked;
    const Analysis found = analysed(&x);
    ck_assert_int_eq(found.mixes, config_mixes(c));
    ck_assert_int_eq(found.heads, c->heads);
    ck_assert_int_eq(found.windows, 3);
    double sum[FINDINGS] = { 0 };
    for (int h = 0; h < found.mixes * found.heads; h++) {
        Again a = { .config = c, .study = &x.study, .want_mix = h / found.heads };

        a.tape = &(Tape){ .mem = arena_new(), .pool = x.tape.pool, .forward_only = true };
        a.want_head = h % found.heads;
        watch_again(&x, &a);
        check_head(&found.head[h], &a, c->attention->scores);
        arena_free(a.tape->mem);
        for (int i = 0; i < FINDINGS; i++)
            sum[i] += found.head[h].number[i];
    }
    for (int i = 0; i < (c->attention->scores ? FINDINGS : FINDING_SCORE_RANK); i++)
        ck_assert_double_eq_tol(found.mean.number[i], sum[i] / found.mixes / found.heads, 1e-12);
    ck_assert(!x.tape.forward_only);
    studied_close(&x);
}
END_TEST

/* Without q the scores are 0, and the softmax does not tell its keys apart. */
START_TEST(a_head_that_asks_nothing_is_the_uniform_one)
{
    Studied x = studied_open(config_of("softmax", _i ? TASK_MLM : TASK_CAUSAL), 1);

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
    Studied x = studied_open(config_of("softmax", TASK_CAUSAL), 1);

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
START_TEST(no_window_is_looked_at_twice)
{
    Studied x = studied_open(config_of("softmax", TASK_CAUSAL), 1);

    x.text.n = 3 * LENGTH + 1;
    const Analysis three = analysed(&x);
    x.study.windows = 8;
    const Analysis found = analysed(&x);
    ck_assert_int_eq(found.windows, 3);
    ck_assert_mem_eq(found.mean.number, three.mean.number, sizeof three.mean.number);
    studied_close(&x);
}
END_TEST

START_TEST(the_number_of_threads_changes_no_bit)
{
    Analysis found[2];
    Studied x[2];

    for (int i = 0; i < 2; i++) {
        x[i] = studied_open(config_of(models[_i].attention, models[_i].task), 1 + 2 * i);
        found[i] = analysed(&x[i]);
    }
    for (int h = 0; h < found[0].mixes * found[0].heads; h++)
        ck_assert_mem_eq(found[0].head[h].number, found[1].head[h].number,
                         sizeof found[0].head[h].number);
    for (int i = 0; i < 2; i++)
        studied_close(&x[i]);
}
END_TEST

/* Softmax with keys of 2 and linear attention with as many features, in windows of 8. */
START_TEST(scores_and_linear_weights_have_the_rank_of_their_factors_and_a_softmax_has_more)
{
    static const char *const names[] = { "softmax", "elu" };
    const Task task = _i % 2 ? TASK_MLM : TASK_CAUSAL;
    Config c = config_of(names[_i / 2], task);

    c.key_size = 2;
    Studied x = studied_open(c, 1);
    x.study.tolerance = in_double ? 1e-12 : 1e-6;
    x.study.unmasked = task == TASK_CAUSAL;
    const Analysis found = analysed(&x);
    if (c.attention->scores)
        ck_assert_double_eq(found.mean.number[FINDING_SCORE_RANK], 2);
    for (int h = 0; h < found.mixes * found.heads; h++)
        if (c.attention->scores)
            ck_assert_double_gt(found.head[h].number[FINDING_RANK], 3);
        else
            ck_assert_double_le(found.head[h].number[FINDING_RANK], 2);
    x.study.unmasked = false;
    ck_assert(task == TASK_MLM || analysed(&x).mean.number[FINDING_RANK] > 7.9);
    studied_close(&x);
}
END_TEST

static int told;

static void count(int window)
{
    ck_assert_int_eq(window, told++);
}

START_TEST(each_window_is_told_before_it_is_looked_at)
{
    Studied x = studied_open(config_of("relu", TASK_CAUSAL), 1);

    x.study.tell = count;
    told = 0;
    analysed(&x);
    ck_assert_int_eq(told, 3);
    studied_close(&x);
}
END_TEST

/* --- what cannot be ----------------------------------------------------------------------------
 */

static const struct {
    const char *about, *attention, *words;
    Position position;
    int length, code;
    size_t tokens;
} refused[] = {
    { "no matrix", "fastformer", "no weighted sum", POSITION_LEARNED, 8, EXIT_USAGE, 100 },
    { "no position", "softmax", "--length up to 8", POSITION_LEARNED, 9, EXIT_USAGE, 100 },
    { "no text", "softmax", "takes 9", POSITION_ROPE, 8, EXIT_DATA, 8 },
    { "no memory", "softmax", "smaller --length", POSITION_ROPE, 1 << 24, EXIT_MEMORY, 1 << 25 },
};

static void check(const char *about)
{
    int i = 0;

    while (strcmp(refused[i].about, about) != 0)
        i++;
    Config c = config_of(refused[i].attention, TASK_CAUSAL);
    c.position = refused[i].position;
    Small *s = small_open(c, 1, LENGTH);
    analysis_check(&s->model, &(Study){ .length = refused[i].length, .windows = 1 },
                   refused[i].tokens);
    small_close(s);
}

START_TEST(what_cannot_be_analysed_is_refused)
{
    check_dies(check, refused[_i].about, refused[_i].code, refused[_i].words);
}
END_TEST

START_TEST(the_least_that_can_be_is_accepted)
{
    Config c = config_of("softmax", TASK_CAUSAL);

    c.position = POSITION_LEARNED;
    Small *s = small_open(c, 1, LENGTH);
    analysis_check(&s->model, &(Study){ .length = LENGTH, .windows = 1 }, LENGTH + 1);
    small_close(s);
}
END_TEST

Suite *suite_analysis(void)
{
    Suite *s = suite_create("analysis");
    TCase *t = group(s, "rows");

    tcase_add_loop_test(t, equal_weights_have_the_entropy_log_n_and_all_the_keys_there_are, 0,
                        COUNT(views));
    tcase_add_loop_test(t, a_single_weight_is_one_key_at_its_distance, 0, 6);
    tcase_add_test(t, shares_are_of_sizes_whatever_the_signs_and_the_scale);
    tcase_add_test(t, a_weight_that_is_no_number_is_not_passed_over);
    t = group(s, "scores");
    tcase_add_loop_test(t, scores_are_products_of_turned_q_and_k_of_all_pairs, 0, 4);
    tcase_add_test(t, weights_are_made_of_the_scores_of_their_row_where_there_are_scores);
    t = group(s, "models");
    tcase_add_loop_test(t, each_head_has_the_means_of_its_matrices_over_the_windows_of_evaluation,
                        0, COUNT(models));
    tcase_add_loop_test(t, a_head_that_asks_nothing_is_the_uniform_one, 0, 2);
    tcase_add_test(t, a_window_of_one_token_has_one_key_and_rank_1);
    tcase_add_test(t, no_window_is_looked_at_twice);
    tcase_add_loop_test(t, the_number_of_threads_changes_no_bit, 0, COUNT(models));
    tcase_add_loop_test(
        t, scores_and_linear_weights_have_the_rank_of_their_factors_and_a_softmax_has_more, 0, 4);
    tcase_add_test(t, each_window_is_told_before_it_is_looked_at);
    tcase_add_loop_test(t, what_cannot_be_analysed_is_refused, 0, COUNT(refused));
    tcase_add_test(t, the_least_that_can_be_is_accepted);
    return s;
}
