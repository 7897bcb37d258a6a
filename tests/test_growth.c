/* How rows of attention matrices change with the length: row by row, and fitted. */
#include "model/layer.h"
#include "ops/attention/engine/head.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/studied.h"
#include "tests/suites.h"
#include "tests/variants.h"
#include "training/growth.h"
#include "training/source.h"

#include <stdlib.h>
#include <string.h>

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-11 : 2e-5;

/* The sums of the fast code and of the plain twin; returns whether there are any. */
static bool check_sums(const Variant *v, bool causal, const int *length)
{
    enum { T = 27, ROWS = 2 * 3 * T }; /* long enough for the scales of softmax to differ */
    const Shape s = { 2, T, 3, 6, 6 };
    Arena *mem = arena_new();
    Tape tape = tape_open(2);
    Mixing m = mixing(mem, v, s, causal);
    double c[ROWS], want[ROWS] = { 0 }, *x[OPERANDS_MAX];

    m.length = length;
    for (int j = 0; j < m.n; j++) {
        x[j] = arena_take(mem, m.operand[j]->n * sizeof(double));
        for (size_t i = 0; i < m.operand[j]->n; i++)
            x[j][i] = (double)m.operand[j]->data[i];
    }
    PlainMix plain = mixing_plain(&m, x);
    plain.c = want;
    plain_mix(&plain, arena_take(mem, sizeof(double) * ROWS * (size_t)m.s.E), NULL, NULL);
    tape.forward_only = true;
    const Mix in = mixing_mix(&m);
    const bool has = attention_sums(&tape, &in, c);
    for (int i = 0; has && i < ROWS; i++)
        ck_assert_msg(fabs(c[i] - want[i]) <= tolerance * (1 + fabs(want[i])),
                      "%s: sum %d is %.15g, not %.15g", m.name, i, c[i], want[i]);
    tape_close(&tape);
    arena_free(mem);
    return has;
}

/* _i: bidirectional, causal, with padding. */
START_TEST(sums_before_division_are_those_of_the_plain_twin)
{
    static const int lengths[] = { 27, 20 };
    int some = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v))
        if (!attention_refuses(v->attention, &v->set, _i == 1).n)
            some += check_sums(v, _i == 1, _i == 2 ? lengths : NULL);
    ck_assert_int_gt(some, 50);
}
END_TEST

/* Whatever they are divided by is the sum: of a quotient with a matrix, and no other mechanism. */
START_TEST(mechanisms_that_divide_by_a_sum_or_count_have_sums)
{
    for (const Variant *v = variant_next(NULL); v; v = variant_next(v))
        if (v->plain && !attention_refuses(v->attention, &v->set, true).n) {
            const bool linear = v->attention->engine->rank && !(v->traits & NORMALISES_Q),
                       pairs = v->traits & HAS_SCORES;

            ck_assert_int_eq(check_sums(v, true, NULL), linear || pairs);
        }
}
END_TEST

static const int lengths[] = { 3, 5, LENGTH };
enum { COUNT_OF_LENGTHS = COUNT(lengths), BAND = 2, WINDOWS = 2 };

static GrowthPlan plan_of(const Studied *x)
{
    return (GrowthPlan){ .length = lengths,
                         .lengths = COUNT_OF_LENGTHS,
                         .windows = WINDOWS,
                         .band = BAND,
                         .unmasked = x->study.unmasked };
}

static Growth grown(Studied *x)
{
    const GrowthPlan plan = plan_of(x);

    return growth_make(&x->tape, &x->s->model, x->text, &plan, x->s->mem);
}

/* The sums over the rows of one head, from whole matrices. */
typedef struct {
    Tape *tape;
    bool unmasked;
    int want_mix, want_head, mix, rows, used;
    double sum[GROWTH_NUMBERS];
} Again;

static void add_row(Again *a, const real *A, View view, int i, double c)
{
    const double n = view_count(&view, i);
    double size = 0, entropy = 0, square = 0, *sum = a->sum;

    for (int j = 0; j < view.T; j++)
        size += fabs((double)A[j]);
    a->rows++;
    sum[GROWTH_SEEN] += n;
    sum[GROWTH_SUM] += fabs(c);
    if (size == 0 || c == 0)
        return;
    a->used++;
    for (int j = 0; j < view.T; j++) { /* hidden weights are 0 */
        const double p = fabs((double)A[j]) / size;

        entropy -= p > 0 ? p * log(p) : 0;
        square += p * p;
        sum[GROWTH_BAND] += abs(i - j) <= BAND ? p : 0;
        sum[GROWTH_NEGATIVE] += A[j] < 0 ? p : 0;
    }
    sum[GROWTH_LN_SEEN] += log(n);
    sum[GROWTH_LN_SUM] += log(fabs(c));
    sum[GROWTH_ENTROPY] += entropy;
    sum[GROWTH_KEYS] += exp(entropy);
    sum[GROWTH_KEYS_2] += 1 / square;
}

static void see_again(void *ctx, const Mix *in)
{
    enum { SQUARE = LENGTH * LENGTH };
    Again *a = ctx;
    const int T = in->q->dim[1];
    real A[2 * SQUARE];
    double c[2 * LENGTH];
    Mix mix = *in;

    if (a->mix++ != a->want_mix)
        return;
    mix.causal = in->causal && !a->unmasked;
    const bool has = attention_sums(a->tape, &mix, c);
    attention_matrix(a->tape, &mix, A);
    for (int i = 0; i < T; i++)
        add_row(a, A + (a->want_head * T + i) * T, view_of(&mix, 0), i,
                has ? c[a->want_head * T + i] : (double)NAN);
}

/* The windows that evaluate() would take. */
static void watch_again(Studied *x, Again *a, int length)
{
    const Model at = model_at(&x->s->model, length, x->s->mem);
    const Config *c = &at.config;
    const TextSource source =
        source_text(x->text, x->text, length, c->task == TASK_MLM ? config_mask(c) : -1);
    const size_t all = source.source.rows(&source.source, length);
    Tape pass = tape_open(1);
    int id[LENGTH], target[LENGTH];

    pass.forward_only = true;
    for (size_t w = 0; w < WINDOWS; w++) {
        source.source.row(&source.source, w * all / WINDOWS,
                          (Batch){ .B = 1, .T = length, .id = id, .target = target });
        a->mix = 0;
        tape_reset(&pass);
        model_watch(&pass, &at, id, length, (Watch){ .see = see_again, .ctx = a });
    }
    tape_close(&pass);
}

static void check_head(const Grown *g, const Again *a)
{
    for (int i = 0; i < GROWTH_EMPTY; i++) {
        const double want = a->sum[i] / (i == GROWTH_SEEN || i == GROWTH_SUM ? a->rows : a->used);

        if (isnan(want))
            ck_assert_msg(isnan(g->number[i]), "number %d is %g", i, g->number[i]);
        else
            ck_assert_msg(fabs(g->number[i] - want) <= 1e-9 * (1 + fabs(want)),
                          "number %d is %.15g, not %.15g", i, g->number[i], want);
    }
    ck_assert_double_eq_tol(g->number[GROWTH_EMPTY], 1 - a->used / (double)a->rows, 1e-12);
}

static void check_heads(Studied *x)
{
    const Growth g = grown(x);

    ck_assert_int_eq(g.mixes, config_mixes(&x->s->model.config));
    for (int h = 0; h < g.mixes * g.heads; h++)
        for (int l = 0; l < COUNT_OF_LENGTHS; l++) {
            Again a = { .unmasked = x->study.unmasked, .want_mix = h / g.heads };

            a.tape = &(Tape){ .mem = arena_new(), .pool = x->tape.pool, .forward_only = true };
            a.want_head = h % g.heads;
            watch_again(x, &a, lengths[l]);
            check_head(&g.head[h * g.lengths + l], &a);
            arena_free(a.tape->mem);
        }
    ck_assert(!x->tape.forward_only);
}

static void check_window(const Attention *a, int kind, int window)
{
    Config c = studied_config(a);

    if (window > 0)
        *setting_at(&c.set, "window") = window;
    Studied x = studied_kind(c, kind, 2);
    check_heads(&x);
    studied_close(&x);
}

START_TEST(each_head_has_at_each_length_the_means_over_the_rows_of_whole_matrices)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int window = 0; can_study(*a, _i) && window <= 2; window += 2)
            if (window == 0 || attention_takes(*a, "window"))
                check_window(*a, _i, window);
}
END_TEST

START_TEST(a_mean_is_that_of_the_heads_of_its_layers)
{
    Grown head[4] = { { { 1 } }, { { 2 } }, { { 3 } }, { { 5 } } }, mean;
    const Growth g = { .mixes = 2, .heads = 2, .lengths = 1, .head = head };

    growth_mean(&g, 1, 2, &mean);
    ck_assert_double_eq_tol(mean.number[0], 4, 1e-12);
    growth_mean(&g, 0, 2, &mean);
    ck_assert_double_eq_tol(mean.number[0], 2.75, 1e-12);
}
END_TEST

/* Scores of 0: n keys have weights of 1 before division. */
START_TEST(equal_weights_have_exponents_and_a_slope_of_1)
{
    Studied x = studied_kind(studied_config(&attention_softmax), _i, 1);
    Grown mean[COUNT_OF_LENGTHS];

    for (const Param *p = x.s->model.params.first; p; p = p->next)
        if (strstr(p->name, "attn.wq"))
            memset(p->tensor->data, 0, p->tensor->n * sizeof(real));
    const Growth g = grown(&x);
    growth_mean(&g, 0, g.mixes, mean);
    for (int l = 0; l < COUNT_OF_LENGTHS; l++) {
        const double n = lengths[l], seen = _i == CAUSAL ? (n + 1) / 2 : n, *is = mean[l].number;

        ck_assert_double_eq_tol(is[GROWTH_SEEN], seen, 1e-12);
        ck_assert_double_eq_tol(is[GROWTH_SUM], seen, tolerance * n);
        ck_assert_double_eq_tol(is[GROWTH_KEYS], seen, tolerance * n);
        ck_assert_double_eq_tol(is[GROWTH_KEYS_2], seen, tolerance * n);
        ck_assert_double_eq_tol(is[GROWTH_ENTROPY], _i == CAUSAL ? lgamma(n + 1) / n : log(n),
                                tolerance);
        for (int i = 0; i < GROWTH_NUMBERS; i++)
            ck_assert_double_eq_tol(is[i], g.uniform[l].number[i], tolerance * n);
    }
    for (int which = 0; which < FITS; which++) {
        const Fit fit = growth_fit(mean, COUNT_OF_LENGTHS, which);

        ck_assert_double_eq_tol(fit.slope, 1, 10 * tolerance);
        ck_assert_double_eq_tol(fit.error, 0, 10 * tolerance);
        ck_assert_double_eq_tol(fit.constant, 0, 10 * tolerance);
    }
    studied_close(&x);
}
END_TEST

/*
 * Positions are unit vectors of length 12^(1/2) after the norm, and both W_q and W_k 4 times the
 * identity: q_i . k_j = 192 [i = j], and each row sees itself.
 */
static void attend_to_itself(Model *model)
{
    const int C = model->config.width;

    for (const Param *p = model->params.first; p; p = p->next) {
        const bool is_q_or_k = strstr(p->name, "attn.wq") || strstr(p->name, "attn.wk");
        const size_t rows = p->tensor->n / (size_t)C;
        const real diagonal = is_q_or_k ? 4 : strcmp(p->name, "position") == 0 ? 1 : 0;

        for (size_t i = 0; i < p->tensor->n && !strstr(p->name, "norm"); i++)
            p->tensor->data[i] = 0;
        for (size_t i = 0; i < rows && diagonal > 0; i++)
            p->tensor->data[i * (size_t)C + i] = diagonal;
        for (size_t i = 0; i < p->tensor->n && strstr(p->name, "norm"); i++)
            p->tensor->data[i] = 1;
    }
}

START_TEST(a_row_that_sees_only_itself_has_entropy_0_at_any_length)
{
    Config c = studied_config(&attention_softmax);
    Grown mean[COUNT_OF_LENGTHS];

    c.position = POSITION_LEARNED, c.heads = 1, c.bias = 0, c.tied = 0, c.norm = NORM_RMS;
    Studied x = studied_kind(c, _i, 1);
    attend_to_itself(&x.s->model);
    const Growth g = grown(&x);
    growth_mean(&g, 0, g.mixes, mean);
    for (int l = 0; l < COUNT_OF_LENGTHS; l++) {
        const double *is = mean[l].number;

        ck_assert_double_eq_tol(is[GROWTH_LN_SUM], 192 / sqrt(12), 1e-2);
        ck_assert_double_eq_tol(is[GROWTH_ENTROPY], 0, 1e-12);
        ck_assert_double_ge(is[GROWTH_ENTROPY], 0);
        ck_assert_double_eq_tol(is[GROWTH_KEYS], 1, 1e-12);
        ck_assert_double_eq_tol(is[GROWTH_KEYS_2], 1, 1e-12);
        ck_assert_double_eq_tol(is[GROWTH_BAND], 1, 1e-12);
    }
    for (int which = 0; which < FITS; which++)
        ck_assert_double_eq_tol(growth_fit(mean, COUNT_OF_LENGTHS, which).slope, 0, 1e-6);
    studied_close(&x);
}
END_TEST

/* By hand: u = -1, 0, 1; residuals of -1/6, 1/3, -1/6. */
START_TEST(a_fit_has_the_slope_the_constant_and_the_error_of_least_squares)
{
    const double x[] = { 3, 4, 5 }, y[] = { 0, 1, 1 }, same[] = { 2, 2, 2 };
    const Fit fit = fit_line(x, y, 3), two = fit_line(x, y, 2), none = fit_line(same, y, 3);

    ck_assert_double_eq_tol(fit.slope, 0.5, 1e-15);
    ck_assert_double_eq_tol(fit.constant, 2.0 / 3 - 2, 1e-15);
    ck_assert_double_eq_tol(fit.error, sqrt(1 / 12.0), 1e-15);
    ck_assert_double_eq_tol(two.slope, 1, 1e-15);
    ck_assert(isnan(two.error));
    ck_assert(isnan(none.slope) && isnan(none.error) && isnan(none.constant));
    ck_assert(isnan(fit_line(x, y, 1).slope));
}
END_TEST

START_TEST(power_laws_have_their_exponents)
{
    Grown at[4];

    for (int l = 0; l < 4; l++) {
        const double n = 10 << l;

        at[l].number[GROWTH_SEEN] = n, at[l].number[GROWTH_SUM] = 3 * pow(n, 0.7);
        at[l].number[GROWTH_LN_SEEN] = log(n), at[l].number[GROWTH_LN_SUM] = 2 + 0.4 * log(n);
        at[l].number[GROWTH_ENTROPY] = 0.1 + 0.9 * log(n);
    }
    const double slope[FITS] = { 0.7, 0.4, 0.9 }, constant[FITS] = { log(3), 2, 0.1 };
    for (int which = 0; which < FITS; which++) {
        const Fit fit = growth_fit(at, 4, which);

        ck_assert_double_eq_tol(fit.slope, slope[which], 1e-12);
        ck_assert_double_eq_tol(fit.constant, constant[which], 1e-12);
        ck_assert_double_eq_tol(fit.error, 0, 1e-7);
    }
}
END_TEST

START_TEST(the_number_of_threads_does_not_change_a_bit)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Growth g[2];
        Studied x[2];

        if (!can_study(*a, _i))
            continue;
        for (int i = 0; i < 2; i++) {
            x[i] = studied_kind(studied_config(*a), _i, 1 + 2 * i);
            g[i] = grown(&x[i]);
        }
        ck_assert_mem_eq(g[0].head, g[1].head,
                         sizeof(Grown) * (size_t)(g[0].mixes * g[0].heads * COUNT_OF_LENGTHS));
        for (int i = 0; i < 2; i++)
            studied_close(&x[i]);
    }
}
END_TEST

static const struct {
    const char *about, *words;
    int position, length, code;
    size_t tokens;
} refused[] = {
    { "no position", "--lengths up to 8", POSITION_LEARNED, 9, EXIT_USAGE, 100 },
    { "no text", "a smaller --lengths", POSITION_ROPE, 8, EXIT_DATA, 8 },
    { "no memory", "use a smaller --lengths", POSITION_ROPE, 1 << 29, EXIT_MEMORY, 1 << 30 },
};

static void check(const char *about)
{
    int i = 0;

    while (strcmp(refused[i].about, about) != 0)
        i++;
    Config c = studied_config(&attention_softmax);
    c.position = refused[i].position;
    Small *s = small_open(c, 1, LENGTH);
    growth_check(
        &s->model,
        &(GrowthPlan){ .length = (int[]){ 4, refused[i].length }, .lengths = 2, .windows = 1 },
        refused[i].tokens);
    small_close(s);
}

START_TEST(lengths_that_do_not_fit_are_refused)
{
    check_dies(check, refused[_i].about, refused[_i].code, refused[_i].words);
}
END_TEST

Suite *suite_growth(void)
{
    Suite *s = suite_create("growth");
    TCase *t = group(s, "sums");

    tcase_add_loop_test(t, sums_before_division_are_those_of_the_plain_twin, 0, 3);
    tcase_add_test(t, mechanisms_that_divide_by_a_sum_or_count_have_sums);
    t = group(s, "models");
    tcase_add_loop_test(t, each_head_has_at_each_length_the_means_over_the_rows_of_whole_matrices,
                        0, KINDS);
    tcase_add_test(t, a_mean_is_that_of_the_heads_of_its_layers);
    tcase_add_loop_test(t, equal_weights_have_exponents_and_a_slope_of_1, 0, KINDS);
    tcase_add_loop_test(t, a_row_that_sees_only_itself_has_entropy_0_at_any_length, 0, KINDS);
    tcase_add_loop_test(t, the_number_of_threads_does_not_change_a_bit, 0, KINDS);
    tcase_add_loop_test(t, lengths_that_do_not_fit_are_refused, 0, COUNT(refused));
    t = group(s, "fits");
    tcase_add_test(t, a_fit_has_the_slope_the_constant_and_the_error_of_least_squares);
    tcase_add_test(t, power_laws_have_their_exponents);
    return s;
}
