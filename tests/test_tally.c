/* Right and wrong answers: what is counted of them, and the rows they are counted on. */
#include "tests/small.h"
#include "tests/suites.h"
#include "tools/common/held_back.h"
#include "training/tally.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 11, ROWS = 40, T = 8, ASKED = 3 };
static const int asked[ASKED] = { 1, 4, 6 };
static const double tolerance = 1e-12;

/* Rows of a model with context 8, and the model's answers. */
typedef struct {
    Source source;
    int id[ROWS][T], said[ROWS][T], target[ROWS][T];
    double loss[ROWS][T];
} Quiz;

static void quiz_row(const Source *source, size_t k, Batch row)
{
    const Quiz *q = (const Quiz *)source;

    memcpy(row.id, q->id[k], sizeof q->id[k]);
    memcpy(row.target, q->target[k], sizeof q->target[k]);
}

static size_t quiz_rows(const Source *source, int length)
{
    (void)source;
    ck_assert_int_eq(length, T);
    return ROWS;
}

/* The answers by the model's logits of row k, alone; a third of the rows have no wrong one. */
static void ask(Quiz *q, const Small *s, int k)
{
    const Random r = random_stream(3, RANDOM_TEST, (uint64_t)k);

    for (int t = 0; t < T; t++)
        q->id[k][t] = (int)random_below(r, (uint64_t)t, VOCAB), q->target[k][t] = -1;
    const real *logits = small_logits(s, q->id[k], 1, T, 1);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < VOCAB; c++)
            if (logits[t * VOCAB + c] > logits[t * VOCAB + q->said[k][t]])
                q->said[k][t] = c;
    for (int i = 0; i < ASKED; i++) {
        const int t = asked[i];
        double sum = 0;

        q->target[k][t] =
            k % 3 == 0 || t == 4 ? q->said[k][t] : (int)random_below(r, 20 + (uint64_t)t, 4);
        for (int c = 0; c < VOCAB; c++)
            sum += exp((double)logits[t * VOCAB + c]);
        q->loss[k][t] = log(sum) - (double)logits[t * VOCAB + q->target[k][t]];
    }
}

static Quiz quiz_of(const Small *s)
{
    Quiz q = { .source = { .row = quiz_row, .rows = quiz_rows, .counted = true } };

    for (int k = 0; k < ROWS; k++)
        ask(&q, s, k);
    return q;
}

static int right_of(const Quiz *q, int k)
{
    int n = 0;

    for (int i = 0; i < ASKED; i++)
        n += q->said[k][asked[i]] == q->target[k][asked[i]];
    return n;
}

/* How often c was asked for, said, or both. */
static void count(const Quiz *q, int c, double n[3])
{
    n[0] = n[1] = n[2] = 0;
    for (int k = 0; k < ROWS; k++)
        for (int i = 0; i < ASKED; i++) {
            n[0] += q->target[k][asked[i]] == c;
            n[1] += q->said[k][asked[i]] == c;
            n[2] += q->target[k][asked[i]] == c && q->said[k][asked[i]] == c;
        }
}

START_TEST(accuracy_and_baselines_match_the_answers)
{
    Small *s = small_open(small_variant(0), 1, T);
    Tape tape = tape_open(2);
    double nats = 0, right = 0, exact = 0, squares = 0, f1 = 0, occur = 0, most = 0;

    small_overwrite(s, 0.5);
    const Quiz q = quiz_of(s);
    const Tally t = tally_take(&tape, &s->model, &q.source, 0, s->mem);
    for (int k = 0; k < ROWS; k++) {
        right += right_of(&q, k), exact += right_of(&q, k) == ASKED;
        for (int i = 0; i < ASKED; i++)
            nats += q.loss[k][asked[i]];
    }
    const double mean = right / (ROWS * ASKED);
    for (int k = 0; k < ROWS; k++)
        squares += pow((double)right_of(&q, k) / ASKED - mean, 2);
    for (int c = 0; c < VOCAB; c++) {
        double n[3];

        count(&q, c, n);
        most = fmax(most, n[0]);
        const double precision = n[1] > 0 ? n[2] / n[1] : 0, recall = n[0] > 0 ? n[2] / n[0] : 0;
        f1 += precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
        occur += n[0] + n[1] > 0;
    }
    ck_assert_double_lt(occur, VOCAB);
    ck_assert_double_gt(exact, ROWS / 3);
    ck_assert_double_lt(exact, ROWS);
    ck_assert_double_eq(t.targets.targets, ROWS * ASKED);
    ck_assert_double_eq(t.rows.targets, ROWS);
    ck_assert_double_eq_tol(score_loss(&t.targets), nats / (ROWS * ASKED),
                            in_double ? tolerance : 1e-5);
    ck_assert_double_eq_tol(tally_accuracy(&t), mean, tolerance);
    ck_assert_double_eq_tol(tally_error(&t), sqrt(squares / (ROWS - 1) / ROWS), tolerance);
    ck_assert_double_eq_tol(tally_exact(&t), exact / ROWS, tolerance);
    ck_assert_double_eq_tol(tally_guess(&t), most / (ROWS * ASKED), tolerance);
    ck_assert_double_eq_tol(tally_f1(&t), f1 / occur, tolerance);
    tape_close(&tape);
    small_close(s);
}
END_TEST

/* n tokens of a text, all of them `token`. */
static Tokens repeated(Arena *mem, size_t n, Token token)
{
    Token *at = arena_take(mem, n * sizeof *at);

    for (size_t i = 0; i < n; i++)
        at[i] = token;
    return (Tokens){ .at = at, .n = n, .bytes = n };
}

/* Any number of rows, spread evenly, has about the same number from each text. */
START_TEST(evaluation_windows_are_spread_evenly_over_texts)
{
    static const int label[] = { 2, 0, 2, 1 };
    Arena *mem = arena_new();
    ClassSource *s = arena_zeros(mem, sizeof *s);

    s->n = 4, s->label = label;
    for (int i = 0; i < 4; i++)
        s->validation[i] = repeated(mem, 160 + 16 * (size_t)i, (Token)i);
    source_held_back_classes(s);
    const size_t all = s->source.rows(&s->source, 4);
    ck_assert_uint_eq(all, 4 * 40);
    for (size_t n = 4; n <= all; n++) {
        const Batch row = source_shape(source_batch(&s->source, mem, 4), 1, 4);
        int of[4] = { 0 };

        for (size_t k = 0; k < n; k++) {
            s->source.row(&s->source, k * all / n, row);
            ck_assert_int_eq(row.target[0], label[row.id[0]]);
            of[row.id[0]]++;
        }
        for (int i = 0; i < 4; i++)
            ck_assert_int_le(abs(of[i] * 4 - (int)n), 4);
    }
    arena_free(mem);
}
END_TEST

/* The shape of a run of that task at length T. */
static HeldBack held_back_of(const Synthetic *task, SyntheticShape shape)
{
    HeldBack h = { .task = task, .shape = shape };

    h.shape = synthetic_alphabet(task, shape);
    h.rows = source_rows(task, h.shape);
    return h;
}

START_TEST(longer_rows_use_the_trained_vocabulary)
{
    for (int i = 0; synthetics[i]; i++) {
        const HeldBack h = held_back_of(synthetics[i], (SyntheticShape){ .T = 256 });
        const int vocab = synthetic_vocab(h.task, h.shape);

        for (int length = 16; length <= 1024; length *= 2) {
            Arena *mem = arena_new();
            const Batch row = source_shape(source_batch(&h.rows.source, mem, length), 1, length);

            if (!held_back_misfit(&h, length).n)
                for (size_t k = 0; k < 20; k++) {
                    h.rows.source.row(&h.rows.source, k, row);
                    for (int t = 0; t < length; t++)
                        ck_assert(row.id[t] >= 0 && row.id[t] < vocab);
                }
            arena_free(mem);
        }
    }
}
END_TEST

START_TEST(the_items_of_longer_rows_grow_unless_the_run_set_them)
{
    const Synthetic *const mqar = &synthetic_mqar;
    const HeldBack grows = held_back_of(mqar, (SyntheticShape){ .T = 64 }),
                   stays = held_back_of(mqar, (SyntheticShape){ .T = 64, .items = 3 }),
                   none = held_back_of(&synthetic_parity, (SyntheticShape){ .T = 64 });

    ck_assert_int_eq(held_back_items(&grows, 64), 4);
    ck_assert_int_eq(held_back_items(&grows, 1024), 64);
    ck_assert_int_eq(held_back_items(&stays, 1024), 3);
    ck_assert_int_eq(held_back_items(&none, 1024), 0);
    ck_assert_uint_eq(held_back_misfit(&grows, 1024).n, 0);
    ck_assert_ptr_nonnull(strstr(held_back_misfit(&grows, 2048).at, "4 tokens for each of 128"));
}
END_TEST

Suite *suite_tally(void)
{
    Suite *s = suite_create("tally");
    TCase *t = group(s, "tally");

    tcase_add_test(t, accuracy_and_baselines_match_the_answers);
    tcase_add_test(t, evaluation_windows_are_spread_evenly_over_texts);
    tcase_add_test(t, longer_rows_use_the_trained_vocabulary);
    tcase_add_test(t, the_items_of_longer_rows_grow_unless_the_run_set_them);
    return s;
}
