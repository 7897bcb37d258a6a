/* What a model is judged by: losses of batches and of windows, masked or not. */
#include "data/masking.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/texts.h"
#include "training/evaluate.h"
#include "training/optimiser.h"

#include <stdlib.h>
#include <string.h>

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
    return (Tokens){ .at = at, .n = n, .bytes = n };
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

    return evaluate(tape, &s->model, (Reading){ .source = &source.source, .B = B, .rows = rows });
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

START_TEST(evaluation_of_causal_models_has_no_accuracy)
{
    Small *s = small_open(small_variant(0), 1, 8);
    Tape tape = tape_open(1);

    ck_assert(isnan(judged(&tape, s, noise(s->mem, 100, 11, 4), 2, 0).accuracy));
    tape_close(&tape);
    small_close(s);
}
END_TEST

enum { SEEN = 20, ASKED = 3 }; /* tokens of a window, and targets of it */

/* A masked model with 11 tokens besides the mask. */
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
    return (Evaluation){ sum / targets, (double)right / targets, targets, (double)NAN };
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

START_TEST(masks_are_reproducible_and_differ_between_windows)
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
    ck_assert_double_eq_tol(source_majority(&s->source, 16, 3), 1.0 / 3, 1e-12);
    ck_assert_double_eq_tol(s->source.chance, 1.0 / 3, 1e-12);
    arena_free(mem);
}
END_TEST

/* A task's vocabulary is its symbols and a few words: more tokens than a text can have. */
enum { ANSWERS = 1 << 24 };

static void put_answers(const Source *s, size_t k, Batch row)
{
    (void)s;
    for (int t = 0; t < row.T; t++)
        row.target[t] = t == 0 ? -1 : ANSWERS - 1 - (t == 1 ? (int)k : 0);
}

static size_t three_rows(const Source *s, int T)
{
    (void)s, (void)T;
    return 3;
}

START_TEST(the_most_frequent_answer_may_be_any_token)
{
    const Source s = { .row = put_answers, .rows = three_rows };

    ck_assert_double_eq_tol(source_majority(&s, 3, ANSWERS), 4.0 / 6, 1e-12);
}
END_TEST

START_TEST(a_classifier_distinguishes_texts)
{
    Arena *mem = arena_new();
    const ClassSource *source = three_texts(mem);
    Config c = small_variant(0);
    Tape tape = tape_open(1);

    c.layers = 1, c.context = 16, c.task = TASK_CLASSIFY, c.classes = 3, c.tied = false;
    Small *s = small_open(c, 8, 16);
    Optimiser a = { .kind = &optimiser_adamw, .hyper = { .beta1 = 0.9, .beta2 = 0.99 } };
    const Evaluation before =
        evaluate(&tape, &s->model, (Reading){ .source = &source->source, .B = 4 });
    ck_assert_double_eq_tol(before.loss, log(3), 0.1);
    optimiser_init(&a, &s->model.params, s->mem);
    s->batch.whole = true;
    for (uint64_t step = 0; step < 60; step++) {
        source->source.batch(&source->source, step, s->batch);
        small_learn(s, &tape, 1);
        optimiser_step(&a, tape.pool, 1e-2, 1);
    }
    const Evaluation e = evaluate(&tape, &s->model, (Reading){ .source = &source->source, .B = 4 });
    ck_assert_double_ge(e.accuracy, 0.99);
    ck_assert_double_eq(e.targets, 36);
    tape_close(&tape);
    small_close(s);
    arena_free(mem);
}
END_TEST

/* Rows of one letter, some of which are longer than the context. */
static LabelRows letters(Labels *labels)
{
    static const char *const text =
        "a\txxx\nb\tyy\nc\tzzzz\na\txxxxxxxxxxxxxxxxxxxx\nb\ty\nb\tyyy\n";
    Tokenizer *bytes = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    LabelledTexts all = labelled_text("x", text);

    *labels = labels_of(&all);
    LabelRows rows = label_rows(&all, labels, bytes);
    labelled_free(&all);
    tokenizer_free(bytes);
    return rows;
}

/* With each pool. */
START_TEST(labelled_texts_are_learned)
{
    Labels labels;
    LabelRows rows = letters(&labels);
    Config c = small_variant(0);
    Tape tape = tape_open(1);

    c.layers = 1, c.context = 16, c.task = TASK_CLASSIFY, c.classes = 3, c.tied = false;
    c.vocab = 256, c.pool = _i;
    const LabelSource source = source_labels(&rows, &rows, &c);
    Small *s = small_open(c, 8, 16);
    Optimiser a = { .kind = &optimiser_adamw, .hyper = { .beta1 = 0.9, .beta2 = 0.99 } };
    const Evaluation before =
        evaluate(&tape, &s->model, (Reading){ .source = &source.source, .B = 4 });
    ck_assert_double_lt(before.f1, 0.9);
    ck_assert_double_eq(before.targets, 6);
    optimiser_init(&a, &s->model.params, s->mem);
    s->batch = source_shape(source_batch(&source.source, s->mem, 8 * 16), 8, 16);
    for (size_t k = 0; k < rows.rows; k++) {
        source.source.row(&source.source, k, batch_row(s->batch, 0));
        ck_assert_int_eq(s->batch.target[0], rows.label[k]);
        ck_assert_int_eq(s->batch.id[0], rows.token[rows.start[k]]);
    }
    for (uint64_t step = 0; step < 60; step++) {
        source.source.batch(&source.source, step, s->batch);
        small_learn(s, &tape, 1);
        optimiser_step(&a, tape.pool, 1e-2, 1);
    }
    const Evaluation e = evaluate(&tape, &s->model, (Reading){ .source = &source.source, .B = 4 });
    ck_assert_double_eq(e.accuracy, 1);
    ck_assert_double_eq(e.f1, 1);
    tape_close(&tape);
    small_close(s);
    label_rows_free(&rows);
    labels_free(&labels);
}
END_TEST

/* Of four classes one is neither asked for nor given. */
START_TEST(macro_f1_is_the_mean_over_the_answers_that_occur)
{
    static const int pair[][2] = { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 1 }, { 2, 0 } };
    Arena *mem = arena_new();
    Answers a = answers_new(mem, 4);

    for (int i = 0; i < COUNT(pair); i++)
        answers_add(&a, pair[i][0], pair[i][1]);
    /* precision and recall: 1/2 and 1/2, 2/3 and 1, 0 and 0 */
    ck_assert_double_eq_tol(answers_f1(&a), (0.5 + 0.8 + 0) / 3, 1e-15);
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
    check_dies(learn_from_too_little, "validation", EXIT_DATA, "needs 17 of each");
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
    Optimiser a = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };
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

START_TEST(noise_is_not_predictable)
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
    Optimiser a = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };
    Tokens first = text(s->mem, 1), second = text(s->mem, 2);
    const TextSource source = source_of(&c, first);

    optimiser_init(&a, &s->model.params, s->mem);
    for (int step = 0; step < STEPS; step++) {
        source.source.batch(&source.source, (uint64_t)step, s->batch);
        small_learn(s, &tape, 16.0 / masking_targets(0, 16));
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
    return (Tokens){ .at = at, .n = N, .bytes = N };
}

/*
 * Of noise nothing is known but what is seen: nothing where the mask is, else a
 * token that is right with probability p; if it is not, each other is as likely.
 */
START_TEST(masked_noise_is_predicted_only_if_visible)
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

START_TEST(masked_tokens_are_predicted_from_their_context)
{
    const Evaluation e = learn_masked(four_in_order);

    ck_assert_double_le(e.loss, 0.5);
    ck_assert_double_ge(e.accuracy, 0.85);
}
END_TEST

START_TEST(a_text_is_shuffled_if_asked_for)
{
    enum { B = 3, T = 8 };
    Arena *mem = arena_new();
    TextSource s = source_text(noise(mem, 200, 50, 1), noise(mem, 20, 50, 2), T, -1);
    int id[3][B * T], target[3][B * T];

    s.source.seed = 9;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        s.shuffled = shuffled;
        s.source.batch(&s.source, 4, (Batch){ .B = B, .T = T, .id = id[0], .target = target[0] });
        tokens_batch(s.train, 9, 4, (Batch){ .B = B, .T = T, .id = id[1], .target = target[1] });
        tokens_shuffled(s.train, 9, 4, (Batch){ .B = B, .T = T, .id = id[2], .target = target[2] });
        ck_assert_mem_eq(id[0], id[1 + shuffled], sizeof *id);
        ck_assert_mem_ne(id[0], id[2 - shuffled], sizeof *id);
    }
    arena_free(mem);
}
END_TEST

Suite *suite_evaluate(void)
{
    Suite *s = suite_create("evaluate");
    TCase *t = group(s, "losses");

    tcase_add_test(t, two_half_batches_are_one_batch);
    tcase_add_test(t, evaluation_is_the_mean_loss_of_the_windows_whatever_the_batch);
    tcase_add_test(t, evaluation_of_causal_models_has_no_accuracy);
    tcase_add_test(t, evaluation_of_a_masked_model_is_of_its_targets_whatever_the_batch);
    tcase_add_test(t, masks_are_reproducible_and_differ_between_windows);
    tcase_add_test(t, a_window_is_from_the_text_whose_number_is_asked_for);
    tcase_add_test(t, the_most_frequent_answer_may_be_any_token);
    tcase_add_test(t, a_classifier_distinguishes_texts);
    tcase_add_loop_test(t, labelled_texts_are_learned, POOL_MEAN, POOL_FIRST + 1);
    tcase_add_test(t, macro_f1_is_the_mean_over_the_answers_that_occur);
    tcase_add_test(t, evaluation_drops_nothing_and_leaves_the_tape_as_it_was);
    tcase_add_test(t, noise_is_not_predictable);
    tcase_add_test(t, masked_noise_is_predicted_only_if_visible);
    tcase_add_test(t, masked_tokens_are_predicted_from_their_context);
    tcase_add_test(t, a_text_is_shuffled_if_asked_for);
    tcase_add_test(t, a_text_has_to_hold_a_window_and_the_token_after_it);
    return s;
}
