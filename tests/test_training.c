/* How a model is trained: AdamW, clipping, the schedule, evaluation, the loop. */
#include "data/corpus.h"
#include "data/masking.h"
#include "data/stories.h"
#include "model/checkpoint.h"
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/evaluate.h"
#include "training/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AdamW as the paper writes it, on one tensor. */
typedef struct {
    double *w, *m, *v;
    size_t n;
    double decay;
} Textbook;

static Textbook textbook_open(Arena *mem, const Tensor *t, double decay)
{
    size_t bytes = t->n * sizeof(double);

    return (Textbook){ doubles(mem, t->data, t->n), arena_zeros(mem, bytes),
                       arena_zeros(mem, bytes), t->n, decay };
}

static void textbook_step(Textbook *b, const real *g, int t, double rate, double scale)
{
    for (size_t i = 0; i < b->n; i++) {
        double d = (double)g[i] * scale;

        b->m[i] = 0.9 * b->m[i] + 0.1 * d;
        b->v[i] = 0.999 * b->v[i] + 0.001 * d * d;
        double mhat = b->m[i] / (1 - pow(0.9, t)), vhat = b->v[i] / (1 - pow(0.999, t));
        b->w[i] -= rate * (mhat / (sqrt(vhat) + 1e-8) + b->decay * b->w[i]);
    }
}

/* A matrix and a vector, and AdamW for them. */
typedef struct {
    Arena *mem;
    Pool *pool;
    Params params;
    Optimiser optimiser;
    Tensor *matrix, *vector;
} Pair;

static Pair *pair_open(int rows, int cols, double decay)
{
    Arena *mem = arena_new();
    Pair *p = arena_zeros(mem, sizeof *p);

    p->mem = mem, p->pool = pool_new(2);
    params_init(&p->params, mem, 3);
    p->matrix = params_normal(&p->params, "matrix", 1, SHAPE(rows, cols));
    p->vector = params_constant(&p->params, "vector", 0.7, cols);
    p->optimiser = (Optimiser){ .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = decay };
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

START_TEST(adamw_is_the_textbooks_for_a_thousand_steps)
{
    const Schedule schedule = { 1e-2, 1e-3, 100, 900, SCHEDULE_COSINE, 0 };
    Pair *p = pair_open(7, 5, 0.1);
    Textbook matrix = textbook_open(p->mem, p->matrix, 0.1);
    Textbook vector = textbook_open(p->mem, p->vector, 0);

    for (int t = 1; t <= 1000; t++) {
        double rate = schedule_rate(&schedule, t), scale = t % 3 ? 1 : 0.25;

        give_gradients(p, (uint64_t)t, t % 7 ? 1 : 1e-3);
        textbook_step(&matrix, p->matrix->grad, t, rate, scale);
        textbook_step(&vector, p->vector->grad, t, rate, scale);
        optimiser_step(&p->optimiser, p->pool, rate, scale);
        ck_assert(!p->matrix->has_grad && !p->vector->has_grad);
    }
    check_close("matrix", p->matrix->data, matrix.w, matrix.n, in_double ? 1e-12 : 1e-4);
    check_close("vector", p->vector->data, vector.w, vector.n, in_double ? 1e-12 : 1e-4);
    pair_close(p);
}
END_TEST

START_TEST(the_first_step_is_the_rate_against_the_gradients_sign)
{
    static const double size[] = { 1e-4, 1, 1e4 };

    for (int k = 0; k < COUNT(size); k++) {
        Pair *p = pair_open(40, 30, 0);
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

START_TEST(without_a_gradient_matrices_shrink_and_vectors_stay)
{
    Pair *p = pair_open(7, 5, 0.1);
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

/* The square root of a plain sum. */
static double plain_norm(const Params *params)
{
    double sum = 0;

    for (const Param *p = params->first; p; p = p->next)
        for (size_t i = 0; p->tensor->has_grad && i < p->tensor->n; i++)
            sum += (double)p->tensor->grad[i] * (double)p->tensor->grad[i];
    return sqrt(sum);
}

START_TEST(the_norm_is_that_of_all_gradients_whatever_the_threads)
{
    Pair *p = pair_open(301, 83, 0); /* more than one piece, and no whole number of them */

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

START_TEST(the_rate_rises_in_a_line_and_falls_in_half_a_cosine)
{
    const Schedule s = { 1, 0.1, 10, 110, SCHEDULE_COSINE, 0 };

    for (int step = 1; step <= 10; step++)
        ck_assert_double_eq_tol(schedule_rate(&s, step), step / 10.0, 1e-15);
    ck_assert_double_eq_tol(schedule_rate(&s, 35), 0.1 + 0.9 * (1 + sqrt(0.5)) / 2, 1e-12);
    ck_assert_double_eq_tol(schedule_rate(&s, 60), 0.55, 1e-12);
    ck_assert_double_eq(schedule_rate(&s, 110), 0.1);
    ck_assert_double_eq(schedule_rate(&s, 100000), 0.1);
    for (int step = 11; step <= 111; step++)
        ck_assert_double_le(schedule_rate(&s, step), schedule_rate(&s, step - 1));
}
END_TEST

START_TEST(a_schedule_without_a_rise_or_a_fall_is_sound)
{
    static const int edge[][2] = { { 0, 10 }, { 1, 10 }, { 5, 5 }, { 9, 5 },
                                   { 0, 0 },  { 0, 1 },  { 5, 6 }, { 1, 1 } };

    for (int i = 0; i < COUNT(edge); i++)
        for (int step = 1; step <= 20; step++) {
            const Schedule s = { 1, 0.1, edge[i][0], edge[i][1], SCHEDULE_COSINE, 0 };
            double rate = schedule_rate(&s, step);

            ck_assert_double_gt(rate, 0);
            ck_assert_double_le(rate, 1);
            if (step >= edge[i][0] && step >= edge[i][1])
                ck_assert_double_eq(rate, 0.1);
        }
    ck_assert_double_eq(schedule_rate(&(Schedule){ 1, 0.1, 5, 6, SCHEDULE_COSINE, 0 }, 5), 1);
}
END_TEST

START_TEST(two_half_batches_are_one_batch)
{
    for (int i = 0; i < VARIANTS; i += 5) {
        Small *whole = small_open(small_variant(i), 4, 8),
              *half = small_open(small_variant(i), 4, 8);
        Tape tape = tape_open(2);
        double loss = small_learn(whole, &tape, 1);

        half->batch.B = 2;
        double parts = small_learn(half, &tape, 0.5) / 2;
        half->batch.id += 16, half->batch.target += 16;
        parts += small_learn(half, &tape, 0.5) / 2;
        ck_assert_double_eq_tol(parts, loss, in_double ? 1e-12 : 1e-6);
        for (int j = 0; j < whole->subject.n; j++) {
            const Tensor *x = whole->subject.x[j];
            const real *g = half->subject.x[j]->grad;
            double size = plain_norm(&whole->model.params);

            for (size_t k = 0; k < x->n; k++)
                ck_assert_double_eq_tol((double)g[k], (double)x->grad[k],
                                        size * (in_double ? 1e-12 : 1e-6));
        }
        tape_close(&tape);
        small_close(whole), small_close(half);
    }
}
END_TEST

/* n random tokens below `vocab`. */
static Tokens noise(Arena *mem, size_t n, uint64_t vocab, uint64_t seed)
{
    Token *at = arena_take(mem, n * sizeof *at);
    Random r = random_stream(seed, RANDOM_TEST, 3);

    for (size_t i = 0; i < n; i++)
        at[i] = (Token)random_below(r, i, vocab);
    return (Tokens){ at, n, n };
}

/* That text to learn from and to be judged by, as the model's task has it. */
static TextSource source_of(const Config *c, Tokens text)
{
    TextSource s = source_text(text, text, c->context, c->task == TASK_MLM ? config_mask(c) : -1);

    s.source.seed = 1;
    return s;
}

static Evaluation judged(Tape *tape, const Small *s, Tokens text, int B, size_t rows)
{
    TextSource source = source_of(&s->model.config, text);

    return evaluate(tape, &s->model, &source.source, B, rows);
}

/* The mean loss on the windows of those numbers, one by one. */
static double direct_loss(const Small *s, Tokens text, const size_t *window, size_t n)
{
    int T = s->model.config.context, id[8], target[8];
    Tape tape = tape_open(1);
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        tokens_window(text, window[k], (Batch){ .B = 1, .T = T, .id = id, .target = target });
        tape_reset(&tape);
        const Tensor *loss =
            op_cross_entropy(&tape, model_logits(&tape, &s->model, id, 1, T, 0), target);
        for (int t = 0; t < T; t++)
            sum += (double)loss->data[t];
    }
    tape_close(&tape);
    return sum / (double)(n * (size_t)T);
}

START_TEST(evaluation_is_the_mean_loss_of_the_windows_whatever_the_batch)
{
    static const size_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, three[] = { 0, 3, 7 };
    Small *s = small_open(small_variant(0), 1, 8);
    Tokens text = noise(s->mem, 11 * 8 + 5, 11, 4);
    Tape tape = tape_open(2);

    small_overwrite(s, 0.3);
    double want = direct_loss(s, text, all, 11), of_three = direct_loss(s, text, three, 3);
    for (int batch = 1; batch <= 13; batch += 3) {
        ck_assert_double_eq_tol(judged(&tape, s, text, batch, 0).loss, want, 1e-12);
        ck_assert_double_eq_tol(judged(&tape, s, text, batch, 99).loss, want, 1e-12);
        ck_assert_double_eq_tol(judged(&tape, s, text, batch, 3).loss, of_three, 1e-12);
    }
    tape_close(&tape);
    small_close(s);
}
END_TEST

START_TEST(evaluation_of_what_is_not_masked_has_no_accuracy)
{
    Small *s = small_open(small_variant(0), 1, 8);
    Tape tape = tape_open(1);

    ck_assert(isnan(judged(&tape, s, noise(s->mem, 100, 11, 4), 2, 0).accuracy));
    tape_close(&tape);
    small_close(s);
}
END_TEST

enum { SEEN = 20, ASKED = 3 }; /* tokens of a window, and targets of it */

/* A model of 11 tokens and their mask, with windows of so many tokens. */
static Small *open_masked(void)
{
    Config c = small_variant(0);

    c.vocab = 12, c.context = SEEN, c.task = TASK_MLM;
    Small *s = small_open(c, 1, SEEN);
    small_overwrite(s, 0.6);
    return s;
}

static Batch window(int *id, int *target)
{
    return (Batch){ .B = 1, .T = SEEN, .id = id, .target = target };
}

/* Loss and accuracy of n windows, every `apart`-th, one by one. */
static Evaluation direct_evaluation(const Small *s, Tokens text, size_t n, size_t apart)
{
    int id[SEEN], target[SEEN], targets = 0, right = 0;
    const TextSource source = source_of(&s->model.config, text);
    Tape tape = tape_open(1);
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        source.source.row(&source.source, k * apart, window(id, target));
        tape_reset(&tape);
        const Tensor *logits = model_logits(&tape, &s->model, id, 1, SEEN, 0);
        for (int t = 0; t < SEEN; t++) {
            const real *x = logits->data + t * 12;
            double total = 0;
            int above = 0;

            for (int c = 0; c < 12 && target[t] >= 0; c++) {
                total += exp((double)x[c]);
                above += x[c] > x[target[t]];
            }
            targets += target[t] >= 0;
            right += target[t] >= 0 && above == 0;
            sum += target[t] >= 0 ? log(total) - (double)x[target[t]] : 0;
        }
    }
    tape_close(&tape);
    ck_assert_int_eq(targets, ASKED * (int)n);
    ck_assert(right > 0 && right < targets);
    return (Evaluation){ sum / targets, (double)right / targets, targets };
}

START_TEST(evaluation_of_a_masked_model_is_of_its_targets_whatever_the_batch)
{
    Small *s = open_masked();
    Tokens text = noise(s->mem, 60 * SEEN + 5, 11, 4);
    Tape tape = tape_open(2);
    const Evaluation all = direct_evaluation(s, text, 60, 1),
                     some = direct_evaluation(s, text, 20, 3);

    for (int batch = 1; batch <= 61; batch += 7) {
        const Evaluation e = judged(&tape, s, text, batch, 0),
                         of_some = judged(&tape, s, text, batch, 20);

        ck_assert_double_eq_tol(e.loss, all.loss, in_double ? 1e-12 : 1e-5);
        ck_assert_double_eq_tol(e.accuracy, all.accuracy, 1e-12);
        ck_assert_double_eq_tol(of_some.loss, some.loss, in_double ? 1e-12 : 1e-5);
        ck_assert_double_eq_tol(of_some.accuracy, some.accuracy, 1e-12);
    }
    tape_close(&tape);
    small_close(s);
}
END_TEST

START_TEST(windows_are_masked_the_same_every_time_and_no_two_of_them_alike)
{
    Small *s = open_masked();
    Tokens text = noise(s->mem, 12 * SEEN, 11, 4);
    const TextSource source = source_of(&s->model.config, text);
    int id[10][SEEN], target[10][SEEN], again[SEEN], aim[SEEN];

    for (size_t k = 0; k < 10; k++)
        source.source.row(&source.source, k, window(id[k], target[k]));
    for (size_t k = 10; k-- > 0;) {
        source.source.row(&source.source, k, window(again, aim));
        ck_assert_mem_eq(again, id[k], sizeof again);
        ck_assert_mem_eq(aim, target[k], sizeof aim);
        for (int t = 0; t < SEEN; t++)
            ck_assert(aim[t] == -1 || aim[t] == text.at[k * SEEN + (size_t)t]);
        ck_assert(k == 0 || memcmp(aim, target[k - 1], sizeof aim) != 0);
    }
    small_close(s);
}
END_TEST

/* Texts that use 3 tokens each. */
static ClassSource *three_texts(Arena *mem)
{
    ClassSource *s = arena_zeros(mem, sizeof *s);

    s->n = 3;
    for (int i = 0; i < 3; i++) {
        s->train[i] = noise(mem, 400 + 100 * (size_t)i, 3, (uint64_t)i);
        s->validation[i] = noise(mem, 200 + 40 * (size_t)i, 3, 10 + (uint64_t)i);
        for (size_t k = 0; k < s->train[i].n; k++)
            s->train[i].at[k] = (Token)(s->train[i].at[k] + 3 * i);
        for (size_t k = 0; k < s->validation[i].n; k++)
            s->validation[i].at[k] = (Token)(s->validation[i].at[k] + 3 * i);
    }
    source_classes(s, 16);
    s->source.seed = 5;
    return s;
}

START_TEST(a_window_is_from_the_text_whose_number_is_asked_for)
{
    Arena *mem = arena_new();
    const ClassSource *s = three_texts(mem);
    Batch b = source_shape(source_batch(&s->source, mem, 16 * 30), 30, 16);
    int of_class[3] = { 0 };
    size_t rows = s->source.rows(&s->source, 16);

    ck_assert_uint_eq(rows, 3 * (200 / 16)); /* as many of each as the shortest has */
    for (uint64_t number = 0; number < 20; number++) {
        s->source.batch(&s->source, number, b);
        for (int i = 0; i < 30 * 16; i++)
            ck_assert_int_eq(b.id[i] / 3, b.target[i / 16]);
        for (int i = 0; i < 30; i++)
            of_class[b.target[i]]++;
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_ge(of_class[i], 150);
    for (size_t k = 0; k < rows; k++) {
        s->source.row(&s->source, k, batch_row(b, 7));
        for (int t = 0; t < 16; t++)
            ck_assert_int_eq(b.id[7 * 16 + t] / 3, b.target[7]);
    }
    ck_assert_double_eq_tol(source_majority(&s->source, 16), 1.0 / 3, 1e-12);
    ck_assert_double_eq_tol(s->source.chance, 1.0 / 3, 1e-12);
    arena_free(mem);
}
END_TEST

START_TEST(texts_are_told_apart)
{
    Arena *mem = arena_new();
    const ClassSource *source = three_texts(mem);
    Config c = small_variant(0);
    Tape tape = tape_open(1);

    c.layers = 1, c.context = 16, c.task = TASK_CLASSIFY, c.classes = 3, c.tied = false;
    Small *s = small_open(c, 8, 16);
    Optimiser a = { .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8 };
    const Evaluation before = evaluate(&tape, &s->model, &source->source, 4, 0);
    ck_assert_double_eq_tol(before.loss, log(3), 0.1);
    optimiser_init(&a, &s->model.params, s->mem);
    s->batch.whole = true;
    for (uint64_t step = 0; step < 60; step++) {
        source->source.batch(&source->source, step, s->batch);
        small_learn(s, &tape, 1);
        optimiser_step(&a, tape.pool, 1e-2, 1);
    }
    const Evaluation e = evaluate(&tape, &s->model, &source->source, 4, 0);
    ck_assert_double_ge(e.accuracy, 0.99);
    ck_assert_double_eq(e.targets, 36);
    tape_close(&tape);
    small_close(s);
    arena_free(mem);
}
END_TEST

static void learn_from_too_little(const char *which)
{
    Arena *mem = arena_new();
    Tokens enough = noise(mem, 17, 3, 1), little = noise(mem, 16, 3, 1);

    source_text(*which == 't' ? little : enough, *which == 'v' ? little : enough, 16, -1);
}

START_TEST(a_text_has_to_hold_a_window_and_the_token_after_it)
{
    ck_assert_int_eq(exit_code_of(learn_from_too_little, "none"), 0);
    check_dies(learn_from_too_little, "train", EXIT_DATA, "16 tokens to train on and 17");
    check_dies(learn_from_too_little, "validation", EXIT_DATA, "takes 17 of each");
}
END_TEST

START_TEST(evaluation_drops_nothing_and_leaves_the_tape_as_it_was)
{
    Small *s = small_open(small_variant(0), 1, 8);
    Tokens text = noise(s->mem, 100, 11, 4);
    Tape tape = tape_open(1);
    double plain = judged(&tape, s, text, 2, 0).loss;

    s->model.config.dropout = 0.5;
    ck_assert_double_eq(judged(&tape, s, text, 2, 0).loss, plain);
    ck_assert(!tape.forward_only);
    ck_assert_ptr_null(tape.last);
    tape.forward_only = true;
    judged(&tape, s, text, 2, 0);
    ck_assert(tape.forward_only);
    tape_close(&tape);
    small_close(s);
}
END_TEST

/* The validation loss after training on noise of 16 tokens; `leak`: the targets are the inputs. */
static double loss_on_noise(bool leak)
{
    Config c = small_variant(0);
    Tape tape = tape_open(1);
    double loss;

    c.vocab = 16, c.layers = 1, c.context = 16;
    Small *s = small_open(c, 8, 16);
    Tokens text = noise(s->mem, 60000, 16, 1), other = noise(s->mem, 8000, 16, 2);
    Optimiser a = { .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1 };
    Batch b = s->batch;

    optimiser_init(&a, &s->model.params, s->mem);
    for (uint64_t step = 0; step < (leak ? 100 : 300); step++) {
        tokens_batch(text, 1, step, b);
        s->batch.target = leak ? b.id : b.target;
        small_learn(s, &tape, 1);
        optimiser_step(&a, tape.pool, 3e-3, 1);
    }
    loss = leak ? small_learn(s, &tape, 1) : judged(&tape, s, other, 8, 0).loss;
    tape_close(&tape);
    small_close(s);
    return loss;
}

START_TEST(noise_cannot_be_foretold)
{
    double loss = loss_on_noise(false);

    ck_assert_double_ge(loss, log(16) - 0.02);
    ck_assert_double_le(loss, log(16) + 0.1);
    ck_assert_double_le(loss_on_noise(true), 1); /* what a leak would look like */
}
END_TEST

/* Loss and accuracy on the second text of a masked model of 4 tokens that learned the first. */
static Evaluation learn_masked(Tokens (*text)(Arena *mem, uint64_t seed))
{
    enum { STEPS = 400 };
    Config c = small_variant(0);
    Tape tape = tape_open(1);

    c.vocab = 5, c.layers = 1, c.context = 16, c.task = TASK_MLM;
    Small *s = small_open(c, 8, 16);
    Optimiser a = { .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1 };
    Tokens first = text(s->mem, 1), second = text(s->mem, 2);
    const TextSource source = source_of(&c, first);

    optimiser_init(&a, &s->model.params, s->mem);
    for (int step = 0; step < STEPS; step++) {
        source.source.batch(&source.source, (uint64_t)step, s->batch);
        small_learn(s, &tape, 16.0 / masking_targets(16));
        optimiser_step(&a, tape.pool, 5e-3 * (1 - 0.9 * step / STEPS), 1);
    }
    const Evaluation e = judged(&tape, s, second, 8, 0);
    tape_close(&tape);
    small_close(s);
    return e;
}

static Tokens four_at_random(Arena *mem, uint64_t seed)
{
    return noise(mem, 40000, 4, seed);
}

/* Four tokens in their order, again and again. */
static Tokens four_in_order(Arena *mem, uint64_t seed)
{
    enum { N = 40000 };
    Token *at = arena_take(mem, N * sizeof *at);

    for (size_t i = 0; i < N; i++)
        at[i] = (Token)((i + seed) % 4);
    return (Tokens){ at, N, N };
}

/*
 * Of noise nothing is known but what is seen: nothing where the mask is, else a
 * token that is right with probability p; if it is not, each other is as likely.
 */
START_TEST(masked_noise_is_known_only_where_it_is_seen)
{
    const double p = (0.1 + 0.1 / 4) / 0.2, q = 1 - p;
    const double least = 0.8 * log(4) - 0.2 * (p * log(p) + q * log(q / 3));
    const Evaluation e = learn_masked(four_at_random);

    ck_assert_double_ge(e.loss, least - 0.01);
    ck_assert_double_le(e.loss, log(4) - 0.01); /* what is seen is used */
    ck_assert_double_ge(e.accuracy, 0.25);
    ck_assert_double_le(e.accuracy, 0.8 / 4 + 0.2 * p + 0.02);
}
END_TEST

START_TEST(masked_tokens_are_told_from_those_around_them)
{
    const Evaluation e = learn_masked(four_in_order);

    ck_assert_double_le(e.loss, 0.5);
    ck_assert_double_ge(e.accuracy, 0.85);
}
END_TEST

/* A run in the test's folder, on its file "text". */
static struct {
    TrainOptions options;
    uint64_t seed;
    bool resume;
    int threads;
    Config config;
    volatile sig_atomic_t stop;
} job;

static void job_open(void)
{
    Stories s = stories_write(2, 0, 4000);

    put(in_folder("text"), s.text, s.bytes);
    free(s.text);
    job.threads = 1, job.stop = 0, job.seed = 7, job.resume = false;
    job.config = small_variant(0);
    job.config.vocab = 128, job.config.context = 16;
    job.options = (TrainOptions){
        .batch = 3,
        .accumulation = 2,
        .steps = 10,
        .schedule = { .rate = 1e-2, .least = 1e-3, .warmup = 3, .decay = 10 },
        .optimiser = { .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1 },
        .clip = 0.9,
        .eval_interval = 4,
        .eval_iters = 2,
        .log_interval = 3,
        .peak = 1e9,
    };
}

/* The text of the folder, in two parts, as tokens. */
static TextSource lesson_open(void)
{
    const char *path = in_folder("text");
    Corpus corpus = corpus_read((CorpusFiles){ &path, 1, NULL, 0.1 });
    Tokenizer *t = tokenizer_learn("byte", corpus.train);
    TextSource s = source_text(tokens_of(t, corpus.train), tokens_of(t, corpus.validation), 16,
                               job.config.task == TASK_MLM ? config_mask(&job.config) : -1);

    s.source.seed = job.seed;
    corpus_free(&corpus);
    tokenizer_free(t);
    return s;
}

static void lesson_close(TextSource *s)
{
    tokens_free(&s->train);
    tokens_free(&s->validation);
}

/* Trains in a process of its own, as progress goes to stderr: from the start, or on. */
static void do_job(const char *path)
{
    Tape tape = tape_open(job.threads);
    Arena *mem = arena_new();
    TextSource source = lesson_open();
    const Origin origin = { .task = "causal" };
    Saved *from = job.resume ? saved_read(path, false) : NULL;
    Run *run = from ? run_resume(path, from->progress, &origin) : run_open(path, NULL, &origin);
    Model model;

    if (from) {
        model = from->model;
        model.config.dropout = job.config.dropout;
    } else {
        model_init(&model, job.config, mem, job.seed);
    }
    train(&(Training){ &tape, &model, &source.source, run, from, &job.stop }, &job.options);
    run_close(run);
    if (from)
        saved_free(from);
    lesson_close(&source);
    tape_close(&tape);
    arena_free(mem);
}

static void check_trains(void)
{
    int code = exit_code_of(do_job, folder);

    ck_assert_msg(code == 0, "exit %d: %s", code, said);
}

static Model model_of(const char *name, Arena *mem)
{
    Model model;

    safetensors_free(checkpoint_load(in_folder(name), &model, mem));
    return model;
}

/* What train() promises, written down once more. */
static void train_by_hand(Model *model, Tokens text, Arena *mem)
{
    enum { N = 3 * 16 };
    const bool masked = model->config.task == TASK_MLM;
    const TrainOptions *o = &job.options;
    Optimiser a = o->optimiser;
    int id[N], target[N];
    real dy[N];
    int clipped = 0;
    Tape tape = tape_open(2);

    optimiser_init(&a, &model->params, mem);
    for (int i = 0; i < N; i++)
        dy[i] = R(1.0 / (masked ? 3 * 2 : N) / 2);
    for (int step = 1; step <= o->steps; step++) {
        for (uint64_t number = 2 * (uint64_t)step - 2; number < 2 * (uint64_t)step; number++) {
            Batch b = { .B = 3, .T = 16, .id = id, .target = target };

            tokens_batch(text, job.seed, number, b);
            if (masked)
                masking_apply(b, 128, job.seed, number);
            tape_reset(&tape);
            tape_backward(&tape, model_losses(&tape, model, b, number), dy);
        }
        double norm = gradient_norm(tape.pool, mem, &model->params);
        double scale = fmin(1, o->clip / norm);
        ck_assert_double_le(scale * norm, fmin(norm, o->clip) * (1 + 1e-6));
        optimiser_step(&a, tape.pool, schedule_rate(&o->schedule, step), scale);
        clipped += scale < 1;
    }
    ck_assert(clipped > 0 && clipped < o->steps);
    tape_close(&tape);
}

START_TEST(a_run_is_batches_clipped_gradients_and_adamw)
{
    Arena *mem = arena_new();
    Model by_hand;

    job.config.dropout = 0.1;
    if (_i == TASK_MLM)
        job.config.task = TASK_MLM, job.config.vocab = 129, job.options.clip = 1.5;
    TextSource lesson = lesson_open();
    check_trains();
    model_init(&by_hand, job.config, mem, job.seed);
    train_by_hand(&by_hand, lesson.train, mem);
    const Model trained = model_of("model.safetensors", mem);
    ck_assert(same_parameters(&trained, &by_hand));
    lesson_close(&lesson);
    arena_free(mem);
}
END_TEST

/* The files as they are, in memory for free(). */
typedef struct {
    unsigned char *at[2];
    size_t n[2];
} Weights;

static Weights trained_weights(int threads)
{
    Weights w;

    job.threads = threads;
    check_trains();
    w.at[0] = file_read(in_folder("model.safetensors"), &w.n[0]);
    w.at[1] = file_read(in_folder("best.safetensors"), &w.n[1]);
    return w;
}

static void check_same_files(const Weights *a, const Weights *b, const char *what)
{
    for (int i = 0; i < 2; i++)
        ck_assert_msg(a->n[i] == b->n[i] && memcmp(a->at[i], b->at[i], a->n[i]) == 0,
                      "%s: the %s weights differ", what, i ? "best" : "last");
}

static void let_go(Weights w)
{
    free(w.at[0]), free(w.at[1]);
}

START_TEST(a_run_leaves_the_same_weights_again_and_with_any_threads)
{
    static const int threads[] = { 1, 2, 3, 7 };
    Weights first = trained_weights(1);

    for (int t = 0; t < COUNT(threads); t++) {
        Weights w = trained_weights(threads[t]);

        check_same_files(&w, &first, "the same run");
        let_go(w);
    }
    let_go(first);
}
END_TEST

/* Mechanisms with parameters, states and frames of their own; each with another optimiser. */
static void choose_model(int i)
{
    job.options.optimiser.kind = i % 2 ? OPTIMISER_MUON : OPTIMISER_ADAMW;
    job.options.optimiser.momentum = 0.95;

    static const char *const name[] = { "softmax", "cosformer", "gau", "performer", "fastformer" };

    job.config.attention = attention_find(name[i]);
    job.config.position = POSITION_NONE;
    job.config.heads = i == 2 ? 1 : 2;
    job.config.dropout = 0.1;
}

/* Cut after these steps; 4 and 8 are those with an evaluation, whose first is the best of both. */
START_TEST(a_run_that_was_cut_ends_like_one_that_was_not)
{
    static const int cuts[][3] = { { 1 }, { 4 }, { 7 }, { 9 }, { 2, 3 }, { 4, 8 }, { 1, 7, 8 } };

    choose_model(_i);
    const Weights whole = trained_weights(1);
    for (int c = 0; c < COUNT(cuts); c++) {
        char what[64];

        job.resume = false;
        for (int i = 0; i < 3 && cuts[c][i]; i++) {
            job.options.stop_at = cuts[c][i];
            check_trains();
            job.resume = true;
        }
        job.options.stop_at = 0;
        const Weights w = trained_weights(2);
        snprintf(what, sizeof what, "model %d, cut after step %d", _i, cuts[c][0]);
        check_same_files(&w, &whole, what);
        let_go(w);
    }
    let_go(whole);
}
END_TEST

START_TEST(a_run_that_was_complete_can_be_made_longer)
{
    const Weights whole = trained_weights(1);

    job.options.steps = 7; /* the schedule is still that of 10 */
    check_trains();
    job.options.steps = 10, job.resume = true;
    const Weights longer = trained_weights(1);
    check_same_files(&longer, &whole, "7 steps and 3 more");
    const Weights again = trained_weights(1); /* nothing is left to do */
    check_same_files(&again, &whole, "and none");
    size_t n;
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    ck_assert_ptr_null(strstr(log, "\"step\":7,\"split\":\"val\"")); /* none was due */
    const char *end = strstr(log, "\"final\"");
    ck_assert(end && !strstr(end + 1, "\"final\""));
    free(log);
    let_go(whole), let_go(longer), let_go(again);
}
END_TEST

START_TEST(the_last_weights_may_be_the_best_but_not_for_a_run_that_goes_on)
{
    Arena *mem = arena_new();

    for (int steps = 3; steps <= 6; steps += 3) { /* before an evaluation is due, and after one */
        job.options.steps = steps;
        check_trains();
        const Model last = model_of("model.safetensors", mem),
                    best = model_of("best.safetensors", mem);
        ck_assert(same_parameters(&last, &best));
        Safetensors *file = safetensors_read(in_folder("model.safetensors"));
        ck_assert_str_eq(safetensors_meta(file, "attnc.best_step"), steps < 4 ? "0" : "4");
        safetensors_free(file);
    }
    arena_free(mem);
}
END_TEST

static void put_more(const char *path, const char *text)
{
    FILE *out = fopen(path, "a");

    ck_assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

START_TEST(the_log_of_a_run_that_was_cut_tells_every_step_once)
{
    static const char *const cut[] = { "\"step\":1,",  "\"step\":3,", "\"step\":4,", "\"step\":5,",
                                       "\"step\":6,",  "\"step\":8,", "\"step\":9,", "\"step\":10,",
                                       "\"step\":10,", "\"final\"" };
    int lines = 0;
    size_t n;

    job.options.stop_at = 5;
    check_trains();
    put_more(in_folder("log.jsonl"),
             "{\"step\":6,\"split\":\"train\",\"loss\":9}\n{\"step\":7,\"sp");
    job.options.stop_at = 0, job.resume = true;
    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        ck_assert_int_lt(lines, COUNT(cut));
        ck_assert_msg(strstr(line, cut[lines]) != NULL, "line %d: %s", lines, line);
        ck_assert_ptr_null(strstr(line, "\"loss\":9}"));
    }
    ck_assert_int_eq(lines, COUNT(cut));
    free(log);
}
END_TEST

START_TEST(every_batch_has_one_of_the_lengths_and_as_many_tokens)
{
    static const int length[] = { 4, 8, 16 };

    job.options.length = length, job.options.lengths = 3;
    const Weights mixed = trained_weights(1), again = trained_weights(2);
    check_same_files(&again, &mixed, "lengths, drawn again");
    job.options.lengths = 1;
    const Weights shorter = trained_weights(1);
    ck_assert(memcmp(mixed.at[0], shorter.at[0], mixed.n[0]) != 0);
    job.options.length = length + 2;
    const Weights one = trained_weights(1);
    job.options.lengths = 0;
    const Weights plain = trained_weights(1);
    check_same_files(&one, &plain, "the context as the only length");
    let_go(mixed), let_go(again), let_go(shorter), let_go(one), let_go(plain);
}
END_TEST

START_TEST(the_checkpoints_say_how_good_they_are)
{
    static const char *const name[] = { "model.safetensors", "best.safetensors" };
    static const char *const key[] = { "attnc.val_loss", "attnc.best_val_loss" };
    static const char *const step[] = { "10", "10" };
    TextSource lesson = lesson_open();
    Arena *mem = arena_new();
    Tape tape = tape_open(2);

    check_trains();
    for (int i = 0; i < 2; i++) {
        const Model model = model_of(name[i], mem);
        Safetensors *file = safetensors_read(in_folder(name[i]));
        double loss = evaluate(&tape, &model, &lesson.source, 3, i == 0 ? 0 : 6).loss;

        ck_assert_double_eq(atof(safetensors_meta(file, key[i])), loss);
        ck_assert_str_eq(safetensors_meta(file, "attnc.step"), step[i]);
        safetensors_free(file);
    }
    tape_close(&tape);
    arena_free(mem);
    lesson_close(&lesson);
}
END_TEST

/* Passes `"key":` if it comes next, and gives back where the value starts; NULL if it does not. */
static const char *key_at(const char *at, char key[20])
{
    int n = 0;

    return sscanf(at, "\"%19[a-z_]\":%n", key, &n) == 1 && n ? at + n : NULL;
}

/* {"step":3,"split":"train",...}, all other values finite numbers; returns the fields. */
static int fields_of(const char *line)
{
    char key[20], split[8];
    int n = 0, step, fields = 2;

    ck_assert_int_eq(sscanf(line, "{\"step\":%d,\"split\":\"%7[a-z]\"%n", &step, split, &n), 2);
    ck_assert(!strcmp(split, "train") || !strcmp(split, "val") || !strcmp(split, "final"));
    for (line += n; *line == ','; fields++) {
        char *end;
        const char *value = key_at(line + 1, key);

        ck_assert_ptr_nonnull(value);
        ck_assert(isfinite(strtod(value, &end)) && end > value);
        line = end;
    }
    ck_assert_str_eq(line, "}");
    return fields;
}

START_TEST(every_line_of_the_log_is_a_json_object)
{
    size_t n;
    int lines = 0;

    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    ck_assert(n > 0 && log[n - 1] == '\n');
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_int_eq(fields_of(line), strstr(line, "\"train\"") ? 10 : 7);
        lines++;
    }
    ck_assert_int_eq(lines, 5 + 4);    /* steps 1, 3, 6, 9, 10; after 4, 8, 10, and of all rows */
    ck_assert_int_eq(files(false), 4); /* text, log, last and best weights */
    free(log);
}
END_TEST

START_TEST(the_log_of_a_masked_run_has_an_accuracy_and_no_bits_of_a_byte)
{
    size_t n;

    job.config.task = TASK_MLM, job.config.vocab = 129;
    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        bool validation = !strstr(line, "\"train\"");

        ck_assert_int_eq(fields_of(line), validation ? 7 : 9);
        ck_assert_int_eq(strstr(line, "\"accuracy\"") != NULL, validation);
        ck_assert_ptr_null(strstr(line, "bits_per_byte"));
    }
    ck_assert_ptr_nonnull(strstr(said, "accuracy "));
    ck_assert_ptr_null(strstr(said, "bits/byte"));
    free(log);
}
END_TEST

START_TEST(a_run_that_is_asked_to_stop_leaves_its_weights)
{
    Arena *mem = arena_new();

    job.stop = 2;
    check_trains();
    model_of("model.safetensors", mem); /* dies if a number is not finite */
    ck_assert_int_eq(files(false), 3); /* nothing was evaluated: whoever stops a run waits for it */
    Safetensors *file = safetensors_read(in_folder("model.safetensors"));
    ck_assert_str_eq(safetensors_meta(file, "attnc.step"), "1");
    safetensors_free(file);
    arena_free(mem);
}
END_TEST

START_TEST(a_run_that_diverges_before_it_is_evaluated_leaves_no_weights)
{
    job.options.schedule.rate = in_double ? 1e300 : 1e30;
    job.options.schedule.warmup = 0;
    job.options.eval_interval = 100;
    ck_assert_int_eq(exit_code_of(do_job, folder), EXIT_FAILED);
    ck_assert_msg(strstr(said, "no weights were saved") != NULL, "%s", said);
    ck_assert_int_eq(files(false), 2); /* text and log */
}
END_TEST

START_TEST(a_run_that_diverges_later_leaves_finite_weights)
{
    Arena *mem = arena_new();

    job.options.schedule =
        (Schedule){ .rate = 1e-3, .least = in_double ? 1e300 : 1e30, .warmup = 4, .decay = 4 };
    job.options.eval_interval = 1;
    ck_assert_int_eq(exit_code_of(do_job, folder), EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(said, "the best weights so far are in"));
    Model best = model_of("best.safetensors", mem); /* dies if a number is not finite */
    for (const Param *p = best.params.first; p; p = p->next)
        ck_assert(all_finite(p->tensor->data, p->tensor->n));
    arena_free(mem);
}
END_TEST

Suite *suite_training(void)
{
    Suite *s = suite_create("training");
    TCase *t = group(s, "optimiser");

    tcase_add_test(t, adamw_is_the_textbooks_for_a_thousand_steps);
    tcase_add_test(t, the_first_step_is_the_rate_against_the_gradients_sign);
    tcase_add_test(t, without_a_gradient_matrices_shrink_and_vectors_stay);
    tcase_add_test(t, the_norm_is_that_of_all_gradients_whatever_the_threads);
    tcase_add_test(t, the_rate_rises_in_a_line_and_falls_in_half_a_cosine);
    tcase_add_test(t, a_schedule_without_a_rise_or_a_fall_is_sound);
    t = group(s, "losses");
    tcase_add_test(t, two_half_batches_are_one_batch);
    tcase_add_test(t, evaluation_is_the_mean_loss_of_the_windows_whatever_the_batch);
    tcase_add_test(t, evaluation_of_what_is_not_masked_has_no_accuracy);
    tcase_add_test(t, evaluation_of_a_masked_model_is_of_its_targets_whatever_the_batch);
    tcase_add_test(t, windows_are_masked_the_same_every_time_and_no_two_of_them_alike);
    tcase_add_test(t, a_window_is_from_the_text_whose_number_is_asked_for);
    tcase_add_test(t, texts_are_told_apart);
    tcase_add_test(t, evaluation_drops_nothing_and_leaves_the_tape_as_it_was);
    tcase_add_test(t, noise_cannot_be_foretold);
    tcase_add_test(t, masked_noise_is_known_only_where_it_is_seen);
    tcase_add_test(t, masked_tokens_are_told_from_those_around_them);
    t = with_folder(s, "run");
    tcase_add_test(t, a_text_has_to_hold_a_window_and_the_token_after_it);
    tcase_add_checked_fixture(t, job_open, NULL);
    tcase_add_loop_test(t, a_run_is_batches_clipped_gradients_and_adamw, TASK_CAUSAL, TASK_MLM + 1);
    tcase_add_test(t, a_run_leaves_the_same_weights_again_and_with_any_threads);
    tcase_add_loop_test(t, a_run_that_was_cut_ends_like_one_that_was_not, 0, 5);
    tcase_add_test(t, a_run_that_was_complete_can_be_made_longer);
    tcase_add_test(t, the_last_weights_may_be_the_best_but_not_for_a_run_that_goes_on);
    tcase_add_test(t, the_log_of_a_run_that_was_cut_tells_every_step_once);
    tcase_add_test(t, every_batch_has_one_of_the_lengths_and_as_many_tokens);
    tcase_add_test(t, the_checkpoints_say_how_good_they_are);
    tcase_add_test(t, every_line_of_the_log_is_a_json_object);
    tcase_add_test(t, the_log_of_a_masked_run_has_an_accuracy_and_no_bits_of_a_byte);
    tcase_add_test(t, a_run_that_is_asked_to_stop_leaves_its_weights);
    tcase_add_test(t, a_run_that_diverges_before_it_is_evaluated_leaves_no_weights);
    tcase_add_test(t, a_run_that_diverges_later_leaves_finite_weights);
    return s;
}
