/* Every optimiser against its formula, what it moves and remembers, and the norm. */
#include "tests/small.h"
#include "tests/suites.h"
#include "training/optimiser.h"
#include "training/schedule.h"

#include <string.h>

static Optimiser optimiser_of(const OptimiserKind *kind)
{
    return (Optimiser){ .kind = kind, .hyper = kind->defaults };
}

/* An optimiser as its paper writes it, on one tensor; g is scaled already. */
typedef struct {
    double *w, *m, *v;
    size_t n;
    double decay;
} Textbook;

typedef void Rule(Textbook *b, size_t i, double g, int t, double rate);

static Textbook textbook_open(Arena *mem, const Tensor *t, double decay)
{
    size_t bytes = t->n * sizeof(double);

    return (Textbook){ doubles(mem, t->data, t->n), arena_zeros(mem, bytes),
                       arena_zeros(mem, bytes), t->n, decay };
}

static void adamw_formula(Textbook *b, size_t i, double g, int t, double rate)
{
    b->m[i] = 0.9 * b->m[i] + 0.1 * g;
    b->v[i] = 0.999 * b->v[i] + 0.001 * g * g;
    double mhat = b->m[i] / (1 - pow(0.9, t)), vhat = b->v[i] / (1 - pow(0.999, t));
    b->w[i] -= rate * (mhat / (sqrt(vhat) + 1e-8) + b->decay * b->w[i]);
}

static void cautious_formula(Textbook *b, size_t i, double g, int t, double rate)
{
    const double decay = b->decay, w = b->w[i];

    b->decay = 0;
    adamw_formula(b, i, g, t, rate);
    b->decay = decay;
    if (w * (w - b->w[i]) >= 0) /* its update has its sign */
        b->w[i] -= rate * decay * w;
}

static void sgd_formula(Textbook *b, size_t i, double g, int t, double rate)
{
    (void)t;
    b->m[i] = 0.8 * b->m[i] + g;
    b->w[i] = b->w[i] - rate * b->m[i] - rate * b->decay * b->w[i];
}

static void nesterov_formula(Textbook *b, size_t i, double g, int t, double rate)
{
    (void)t;
    b->m[i] = 0.8 * b->m[i] + g;
    b->w[i] = b->w[i] - rate * (g + 0.8 * b->m[i]) - rate * b->decay * b->w[i];
}

static void lion_formula(Textbook *b, size_t i, double g, int t, double rate)
{
    double c = 0.9 * b->m[i] + 0.1 * g, sign = c > 0 ? 1 : c < 0 ? -1 : 0;

    (void)t;
    b->w[i] = b->w[i] - rate * sign - rate * b->decay * b->w[i];
    b->m[i] = 0.99 * b->m[i] + 0.01 * g;
}

static const struct {
    const OptimiserKind *kind;
    Hyper hyper;
    Rule *formula;
    double float_tolerance; /* where rounding turns a sign, Lion goes twice the rate astray */
} elementwise[] = {
    { &optimiser_adamw, { .beta1 = 0.9, .beta2 = 0.999, .decay = 0.1 }, adamw_formula, 1e-4 },
    { &optimiser_adamw,
      { .beta1 = 0.9, .beta2 = 0.999, .decay = 0.1, .cautious = true },
      cautious_formula,
      1e-4 },
    { &optimiser_sgd, { .momentum = 0.8, .decay = 0.1 }, sgd_formula, 1e-4 },
    { &optimiser_sgd, { .momentum = 0.8, .decay = 0.1, .nesterov = true }, nesterov_formula, 1e-4 },
    { &optimiser_lion, { .beta1 = 0.9, .beta2 = 0.99, .decay = 0.1 }, lion_formula, 1e-2 },
};

static void textbook_step(Textbook *b, Rule *f, const real *g, int t, double rate, double scale)
{
    for (size_t i = 0; i < b->n; i++)
        f(b, i, (double)g[i] * scale, t, rate);
}

/* A matrix and a vector, and an optimiser for them. */
typedef struct {
    Arena *mem;
    Pool *pool;
    Params params;
    Optimiser optimiser;
    Tensor *matrix, *vector;
} Pair;

static Pair *pair_open(Optimiser o, int rows, int cols, int threads)
{
    Arena *mem = arena_new();
    Pair *p = arena_zeros(mem, sizeof *p);

    p->mem = mem, p->pool = pool_new(threads);
    params_init(&p->params, mem, 3);
    p->matrix = params_normal(&p->params, "blocks.0.attn.wq", 1, SHAPE(rows, cols));
    p->vector = params_constant(&p->params, "blocks.0.norm", 0.7, cols);
    p->optimiser = o;
    optimiser_init(&p->optimiser, &p->params, mem);
    return p;
}

static void pair_close(Pair *p)
{
    pool_free(p->pool);
    arena_free(p->mem);
}

static void give_gradients(Pair *p, uint64_t seed, double scale)
{
    fill(p->matrix->grad, p->matrix->n, 2 * seed, scale);
    fill(p->vector->grad, p->vector->n, 2 * seed + 1, scale);
    p->matrix->has_grad = p->vector->has_grad = true;
}

START_TEST(elementwise_optimisers_match_the_textbook_for_a_thousand_steps)
{
    const Schedule schedule = { 1e-2, 1e-3, 100, 900, SCHEDULE_COSINE, 0 };
    const double tolerance = in_double ? 1e-12 : elementwise[_i].float_tolerance;
    Rule *f = elementwise[_i].formula;
    const Optimiser o = { .kind = elementwise[_i].kind, .hyper = elementwise[_i].hyper };
    Pair *p = pair_open(o, 7, 5, 2);
    Textbook matrix = textbook_open(p->mem, p->matrix, 0.1);
    Textbook vector = textbook_open(p->mem, p->vector, 0);

    for (int t = 1; t <= 1000; t++) {
        double rate = schedule_rate(&schedule, t), scale = t % 3 ? 1 : 0.25;

        give_gradients(p, (uint64_t)t, t % 7 ? 1 : 1e-3);
        textbook_step(&matrix, f, p->matrix->grad, t, rate, scale);
        textbook_step(&vector, f, p->vector->grad, t, rate, scale);
        optimiser_step(&p->optimiser, p->pool, rate, scale);
        ck_assert(!p->matrix->has_grad && !p->vector->has_grad);
    }
    check_close("matrix", p->matrix->data, matrix.w, matrix.n, tolerance);
    check_close("vector", p->vector->data, vector.w, vector.n, tolerance);
    pair_close(p);
}
END_TEST

/* a_t = sum over s of X^(t-s) w_s / sum over s of X^(t-s), with every optimiser. */
START_TEST(the_average_is_that_of_all_weights_so_far)
{
    enum { ROWS = 7, COLS = 5, STEPS = 6 };
    const double X = 0.7;
    double sum[ROWS * COLS] = { 0 }, all = 0;
    Optimiser o = optimiser_of(optimisers[_i]);
    Moment moment[OPTIMISER_MOMENTS];

    o.hyper.ema = X;
    Pair *p = pair_open(o, ROWS, COLS, 2);
    optimiser_exchange(&p->optimiser);
    const double *first = doubles(p->mem, p->matrix->data, ROWS * COLS);
    optimiser_exchange(&p->optimiser);
    check_close("before", p->matrix->data, first, ROWS * COLS, 0);
    for (int t = 1; t <= STEPS; t++) {
        give_gradients(p, (uint64_t)t, 1);
        optimiser_step(&p->optimiser, p->pool, 0.1, 1);
        all = X * all + 1;
        for (int i = 0; i < ROWS * COLS; i++)
            sum[i] = X * sum[i] + (double)p->matrix->data[i];
    }
    const double *w = doubles(p->mem, p->matrix->data, ROWS * COLS);
    const int n = optimiser_moments(&p->optimiser, p->params.first, moment);
    optimiser_exchange(&p->optimiser);
    for (int i = 0; i < ROWS * COLS; i++)
        sum[i] /= all;
    ck_assert_str_eq(moment[n - 1].name, "raw");
    check_close("average", p->matrix->data, sum, ROWS * COLS, in_double ? 1e-13 : 1e-5);
    check_close("raw", moment[n - 1].at, w, ROWS * COLS, 0);
    pair_close(p);
}
END_TEST

START_TEST(the_sign_of_a_zero_is_zero)
{
    Pair *p = pair_open((Optimiser){ .kind = &optimiser_lion, .hyper = { .beta1 = 0.9 } }, 7, 5, 2);
    const double *before = doubles(p->mem, p->matrix->data, p->matrix->n);

    give_gradients(p, 1, 0);
    optimiser_step(&p->optimiser, p->pool, 0.5, 1);
    for (size_t i = 0; i < p->matrix->n; i++)
        ck_assert_double_eq((double)p->matrix->data[i], before[i]);
    pair_close(p);
}
END_TEST

START_TEST(the_first_step_is_minus_the_rate_times_the_gradients_sign)
{
    static const double size[] = { 1e-4, 1, 1e4 };
    Optimiser o = optimiser_of(&optimiser_adamw);

    o.hyper.decay = 0;
    for (int k = 0; k < COUNT(size); k++) {
        Pair *p = pair_open(o, 40, 30, 2);
        const double *before = doubles(p->mem, p->matrix->data, p->matrix->n);

        give_gradients(p, 1, size[k]);
        for (size_t i = 0; i < p->matrix->n; i++) /* well above epsilon */
            p->matrix->grad[i] += R(p->matrix->grad[i] > 0 ? size[k] : -size[k]);
        optimiser_step(&p->optimiser, p->pool, 0.5, 1);
        for (size_t i = 0; i < p->matrix->n; i++) {
            double want = before[i] - (p->matrix->grad[i] > 0 ? 0.5 : -0.5);
            ck_assert_double_eq_tol((double)p->matrix->data[i], want, 1e-4);
        }
        pair_close(p);
    }
}
END_TEST

/* Of one step, from the same weights: with the decay, without it, and with the cautious one. */
START_TEST(cautious_decay_is_for_weights_that_their_update_moves_towards_zero)
{
    enum { ROWS = 7, COLS = 5 };
    Pair *p[3];
    int decayed = 0;

    for (int i = 0; i < 3; i++) {
        Optimiser o = optimiser_of(optimisers[_i]);

        o.hyper.decay = i == 1 ? 0 : 0.5, o.hyper.cautious = i == 2;
        p[i] = pair_open(o, ROWS, COLS, 2);
        give_gradients(p[i], 3, 1);
    }
    const double *before = doubles(p[0]->mem, p[0]->matrix->data, ROWS * COLS);
    for (int i = 0; i < 3; i++)
        optimiser_step(&p[i]->optimiser, p[i]->pool, 0.01, 1);
    for (int i = 0; i < ROWS * COLS; i++) {
        const double without = (double)p[1]->matrix->data[i];
        const bool towards = before[i] * (before[i] - without) >= 0;

        decayed += towards;
        ck_assert(p[2]->matrix->data[i] == p[towards ? 0 : 1]->matrix->data[i]);
    }
    ck_assert(decayed > 5 && decayed < ROWS * COLS - 5);
    for (int i = 0; i < 3; i++)
        pair_close(p[i]);
}
END_TEST

START_TEST(without_a_gradient_matrices_shrink_and_vectors_stay)
{
    Optimiser o = optimiser_of(optimisers[_i]);

    o.hyper.decay = 0.1;
    Pair *p = pair_open(o, 7, 5, 2);
    const double *before = doubles(p->mem, p->matrix->data, p->matrix->n);

    give_gradients(p, 1, 0);
    optimiser_step(&p->optimiser, p->pool, 0.5, 1);
    for (size_t i = 0; i < p->matrix->n; i++)
        ck_assert_double_eq_tol((double)p->matrix->data[i], before[i] * 0.95, 1e-6);
    for (size_t i = 0; i < p->vector->n; i++)
        ck_assert(p->vector->data[i] == R(0.7));
    pair_close(p);
}
END_TEST

START_TEST(the_norm_is_that_of_all_gradients_whatever_the_threads)
{
    Pair *p = pair_open(optimiser_of(&optimiser_adamw), 301, 83,
                        2); /* more than one piece, and no whole number of them */

    give_gradients(p, 1, 3);
    double norm = gradient_norm(p->pool, p->mem, &p->params), plain = plain_norm(&p->params);
    ck_assert_double_eq_tol(norm, plain, 1e-12 * plain);
    for (int threads = 1; threads <= 7; threads += 2) {
        Pool *pool = pool_new(threads);
        ck_assert_double_eq(gradient_norm(pool, p->mem, &p->params), norm);
        pool_free(pool);
    }
    p->matrix->has_grad = false;
    plain = plain_norm(&p->params);
    ck_assert_double_eq_tol(gradient_norm(p->pool, p->mem, &p->params), plain, 1e-12 * plain);
    pair_close(p);
}
END_TEST

START_TEST(threads_do_not_change_a_bit_of_an_update)
{
    static const int threads[] = { 2, 3, 7 };

    for (int t = 0; t < COUNT(threads); t++) {
        const Optimiser o = optimiser_of(optimisers[_i]);
        Pair *one = pair_open(o, 133, 71, 1), *many = pair_open(o, 133, 71, threads[t]);

        for (uint64_t step = 0; step < 3; step++) {
            give_gradients(one, step, 1), give_gradients(many, step, 1);
            optimiser_step(&one->optimiser, one->pool, 0.1, 0.5);
            optimiser_step(&many->optimiser, many->pool, 0.1, 0.5);
        }
        ck_assert(same_bits(one->matrix->data, many->matrix->data, one->matrix->n));
        pair_close(one), pair_close(many);
    }
}
END_TEST

/* What the end of a name says about a parameter of a block with more than one dimension. */
static bool is_named_a_matrix(const char *name)
{
    static const char *const matrices[] = { "wq",     "wk",       "wv",    "wo",   "wg",
                                            "wu",     "wz",       "up",    "gate", "down",
                                            "concat", "concat_v", "omega", "w" },
                             *const others[] = { "pool_q", "pool_k", "rel_a", "rel_b",
                                                 "value_embed" };
    const char *end = strrchr(name, '.') + 1;

    for (int i = 0; i < COUNT(matrices); i++)
        if (strcmp(end, matrices[i]) == 0)
            return true;
    for (int i = 0; i < COUNT(others); i++)
        if (strcmp(end, others[i]) == 0)
            return false;
    ck_abort_msg("%s: a matrix for Muon, or vectors or a table?", name);
    return false;
}

static bool is_for_muon(const Param *p)
{
    return strncmp(p->name, "blocks.", 7) == 0 && p->tensor->ndim > 1 && !p->fixed &&
           is_named_a_matrix(p->name);
}

static Small *learner_open(int variant, const OptimiserKind *kind, Optimiser *o)
{
    Small *s = small_open(small_variant(variant), 2, 8);

    *o = optimiser_of(kind);
    optimiser_init(o, &s->model.params, s->mem);
    return s;
}

/* Steps with random gradients, of numbers from..to-1. */
static void random_steps(Small *s, Optimiser *o, uint64_t from, uint64_t to)
{
    Pool *pool = pool_new(2);

    for (uint64_t step = from; step < to; step++) {
        uint64_t number = 100 * step;

        for (Param *p = s->model.params.first; p; p = p->next)
            if (!p->fixed) {
                fill(p->tensor->grad, p->tensor->n, number++, 1);
                p->tensor->has_grad = true;
            }
        optimiser_step(o, pool, 0.01, 1);
    }
    pool_free(pool);
}

START_TEST(muon_moves_the_matrices_of_blocks_and_adamw_the_rest)
{
    for (int i = 0; i < VARIANTS; i++) {
        Optimiser o, other;
        Small *s = learner_open(i, &optimiser_muon, &o),
              *t = learner_open(i, &optimiser_adamw, &other);
        Moment m[OPTIMISER_MOMENTS];

        random_steps(s, &o, 0, 3);
        random_steps(t, &other, 0, 3);
        for (const Param *p = s->model.params.first, *q = t->model.params.first; p;
             p = p->next, q = q->next) {
            bool same = same_bits(p->tensor->data, q->tensor->data, p->tensor->n);

            ck_assert_msg(same == !is_for_muon(p), "variant %d: %s", i, p->name);
            ck_assert_int_eq(optimiser_moments(&o, p, m), p->fixed ? 0 : is_for_muon(p) ? 1 : 2);
            ck_assert_int_eq(optimiser_moments(&other, q, m), q->fixed ? 0 : 2);
        }
        small_close(s), small_close(t);
    }
}
END_TEST

START_TEST(no_optimiser_moves_fixed_tensors)
{
    Optimiser o;
    Small *s = learner_open(VARIANTS - 1, optimisers[_i], &o);
    const Tensor *omega = param_named(&s->model.params, "blocks.0.attn.omega");
    real *before = arena_take(s->mem, omega->n * sizeof *before);

    memcpy(before, omega->data, omega->n * sizeof *before);
    random_steps(s, &o, 0, 3);
    ck_assert(same_bits(omega->data, before, omega->n));
    small_close(s);
}
END_TEST

static void copy_parameters(const Params *to, const Params *from)
{
    for (const Param *p = from->first, *q = to->first; p; p = p->next, q = q->next)
        memcpy(q->tensor->data, p->tensor->data, p->tensor->n * sizeof(real));
}

static void copy_moments(const Optimiser *to, const Optimiser *from)
{
    Moment m[OPTIMISER_MOMENTS], n[OPTIMISER_MOMENTS];

    for (const Param *p = from->params->first, *q = to->params->first; p;
         p = p->next, q = q->next) {
        int count = optimiser_moments(from, p, m);

        ck_assert_int_eq(optimiser_moments(to, q, n), count);
        for (int i = 0; i < count; i++) {
            ck_assert_uint_eq(m[i].n, p->tensor->n);
            ck_assert_str_eq(m[i].name, n[i].name);
            memcpy(n[i].at, m[i].at, m[i].n * sizeof(real));
        }
    }
}

START_TEST(weights_moments_and_the_step_suffice_to_resume)
{
    static const int variants[] = { 0, 7, VARIANTS - 3, VARIANTS - 1 };

    for (int k = 0; k < COUNT(variants); k++) {
        Optimiser o, resumed;
        Small *s = learner_open(variants[k], optimisers[_i], &o),
              *t = learner_open(variants[k], optimisers[_i], &resumed);

        random_steps(s, &o, 0, 3);
        copy_parameters(&t->model.params, &s->model.params);
        copy_moments(&resumed, &o);
        resumed.step = o.step;
        random_steps(s, &o, 3, 6);
        random_steps(t, &resumed, 3, 6);
        ck_assert_int_eq(resumed.step, 6);
        ck_assert(same_parameters(&s->model, &t->model));
        small_close(s), small_close(t);
    }
}
END_TEST

START_TEST(checkpoints_name_the_moments_as_they_always_have)
{
    static const struct {
        const OptimiserKind *kind;
        const char *name[OPTIMISER_MOMENTS];
    } row[] = { { &optimiser_adamw, { "m", "v" } },
                { &optimiser_muon, { "momentum", NULL } },
                { &optimiser_sgd, { "momentum", NULL } },
                { &optimiser_lion, { "m", NULL } } };

    for (int k = 0; k < COUNT(row); k++) {
        Pair *p = pair_open(optimiser_of(row[k].kind), 7, 5, 1);
        Moment m[OPTIMISER_MOMENTS];
        int n = optimiser_moments(&p->optimiser, p->params.first, m);

        ck_assert_int_eq(n, row[k].name[1] ? 2 : 1);
        for (int i = 0; i < n; i++)
            ck_assert_str_eq(m[i].name, row[k].name[i]);
        pair_close(p);
    }
}
END_TEST

START_TEST(every_optimiser_learns)
{
    for (int i = 0; i < VARIANTS; i += in_double ? 10 : 5) {
        Optimiser o;
        Small *s = learner_open(i, optimisers[_i], &o);
        Tape tape = tape_open(2);
        double first = small_learn(s, &tape, 1), last = first;

        for (int step = 0; step < 50; step++) {
            const double norm = gradient_norm(tape.pool, s->mem, &s->model.params);

            optimiser_step(&o, tape.pool, 5 * o.kind->rate, fmin(1, 1 / norm));
            last = small_learn(s, &tape, 1);
        }
        /* without residual connections, sgd takes longer */
        const double most = s->model.config.no_residual ? 0.95 : 0.75;
        ck_assert_msg(last < most * first, "%s, variant %d: %.3f, then %.3f", o.kind->name, i,
                      first, last);
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

START_TEST(unset_values_become_the_defaults_of_the_row)
{
    const OptimiserKind *kind = optimisers[_i];
    const double nan = (double)NAN;
    Hyper h = { .momentum = nan, .beta1 = 0.25, .beta2 = nan, .decay = nan, .nesterov = true };

    optimiser_complete(kind, &h);
    ck_assert(optimiser_takes(kind, "momentum") ? h.momentum == kind->defaults.momentum
                                                : isnan(h.momentum));
    ck_assert(optimiser_takes(kind, "beta2") ? h.beta2 == kind->defaults.beta2 : isnan(h.beta2));
    ck_assert_double_eq(h.beta1, 0.25);
    ck_assert(optimiser_takes(kind, "weight-decay") && h.decay == kind->defaults.decay);
    ck_assert(h.nesterov && !optimiser_takes(kind, "learning-rate"));
}
END_TEST

START_TEST(an_optimiser_takes_the_numbers_of_its_formula)
{
    ck_assert(!optimiser_takes(&optimiser_adamw, "momentum"));
    ck_assert(!optimiser_takes(&optimiser_muon, "nesterov"));
    ck_assert(optimiser_takes(&optimiser_muon, "momentum"));
    ck_assert(optimiser_takes(&optimiser_muon, "momentum-warmup"));
    ck_assert(optimiser_takes(&optimiser_muon, "ns-steps") &&
              !optimiser_takes(&optimiser_lion, "ns-steps"));
    ck_assert(!optimiser_takes(&optimiser_sgd, "momentum-warmup"));
    ck_assert(optimiser_takes(&optimiser_sgd, "nesterov"));
    ck_assert(!optimiser_takes(&optimiser_sgd, "beta1"));
    ck_assert(optimiser_takes(&optimiser_lion, "beta2"));
    ck_assert_ptr_nonnull(strstr(optimiser_help(&optimiser_adamw).at,
                                 "--learning-rate 0.002 --beta1 0.9 --beta2 0.99 --weight-decay"));
}
END_TEST

Suite *suite_optimiser(void)
{
    Suite *s = suite_create("optimiser");
    TCase *t = group(s, "formulas");
    int rows = 0;

    while (optimisers[rows])
        rows++;
    tcase_add_loop_test(t, elementwise_optimisers_match_the_textbook_for_a_thousand_steps, 0,
                        COUNT(elementwise));
    tcase_add_test(t, the_sign_of_a_zero_is_zero);
    tcase_add_test(t, the_first_step_is_minus_the_rate_times_the_gradients_sign);
    tcase_add_loop_test(t, cautious_decay_is_for_weights_that_their_update_moves_towards_zero, 0,
                        rows);
    tcase_add_loop_test(t, without_a_gradient_matrices_shrink_and_vectors_stay, 0, rows);
    tcase_add_loop_test(t, the_average_is_that_of_all_weights_so_far, 0, rows);
    tcase_add_test(t, the_norm_is_that_of_all_gradients_whatever_the_threads);
    t = group(s, "rows");
    tcase_add_loop_test(t, threads_do_not_change_a_bit_of_an_update, 0, rows);
    tcase_add_test(t, muon_moves_the_matrices_of_blocks_and_adamw_the_rest);
    tcase_add_loop_test(t, no_optimiser_moves_fixed_tensors, 0, rows);
    tcase_add_loop_test(t, weights_moments_and_the_step_suffice_to_resume, 0, rows);
    tcase_add_test(t, checkpoints_name_the_moments_as_they_always_have);
    tcase_add_loop_test(t, every_optimiser_learns, 0, rows);
    tcase_add_loop_test(t, unset_values_become_the_defaults_of_the_row, 0, rows);
    tcase_add_test(t, an_optimiser_takes_the_numbers_of_its_formula);
    return s;
}
