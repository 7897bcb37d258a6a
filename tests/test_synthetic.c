/* The synthetic tasks: that answers are right, and shapes kept. */
#include "ops/base/error.h"
#include "tests/rows.h"
#include "tests/solutions.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

/* Each word of a vocabulary once. */
typedef char Word[16];

static Word *words_of(const Rows *rows, int vocab)
{
    Word *word = xmalloc((size_t)vocab * sizeof *word);

    for (int i = 0; i < vocab; i++) {
        Text text = synthetic_word(rows->task, rows->s, i);

        if (text.n >= sizeof *word)
            ck_abort_msg("a word of %zu bytes", text.n);
        memcpy(word[i], text.at, text.n + 1);
    }
    return word;
}

static const Solution *solution_of(const Synthetic *task)
{
    const Solution *s = solutions;

    while (s->task && !same_word(s->task, task->name))
        s++;
    ck_assert_msg(s->task != NULL, "nobody has solved %s", task->name);
    return s;
}

/* The number of a word as an answer: a class is a number in print. */
static int answer(const Rows *rows, Word *word, int vocab, const char *said)
{
    if (!said)
        return -1;
    if (rows->task->classes)
        return atoi(said);
    for (int i = 0; i < vocab; i++)
        if (same_word(word[i], said))
            return i;
    return -2;
}

/* One assertion for all: each of Check's costs a system call. */
static void check_row(const Rows *rows, Word *word, int vocab)
{
    const char *print[4000], *say[4000] = { NULL };
    const int T = rows->s.T;
    bool tokens = rows->n >= 1 && (rows->n == T || (rows->task->classes && rows->n < T));
    int wrong = 0;

    ck_assert_int_le(T, COUNT(print));
    for (int t = 0; t < T; t++) {
        tokens &= rows->id[t] >= 0 && rows->id[t] < vocab && (t < rows->n || rows->id[t] == 0);
        print[t] = word[tokens ? rows->id[t] : 0];
    }
    ck_assert(tokens);
    solution_of(rows->task)->solve((Puzzle){ rows->n, print, say });
    while (wrong < T && rows->target[wrong] == answer(rows, word, vocab, say[wrong]))
        wrong++;
    ck_assert_msg(wrong == T, "%s, T %d, row %d: position %d", rows->task->name, T,
                  (int)rows->drawn - 1, wrong);
}

static void check_rows(const char *name, SyntheticShape s, int n)
{
    Rows rows = rows_open(name, s);
    const int vocab = synthetic_vocab(rows.task, s);
    Word *word = words_of(&rows, vocab);

    for (int i = 0; i < n; i++) {
        next_row(&rows);
        check_row(&rows, word, vocab);
    }
    rows_close(&rows);
    free(word);
}

START_TEST(answers_follow_from_the_row)
{
    for (int i = 0; synthetics[i]; i++)
        for (int T = 1; T <= 200; T++)
            if (!synthetic_misfit(synthetics[i], (SyntheticShape){ .T = T }).n)
                check_rows(synthetics[i]->name, (SyntheticShape){ .T = T }, T < 20 ? 50 : 5);
}
END_TEST

START_TEST(answers_are_right_in_rows_of_any_shape)
{
    static const struct {
        const char *task;
        SyntheticShape s;
    } of[] = {
        { "mqar", { .T = 4, .symbols = 5 } },
        { "mqar", { .T = 64, .items = 16, .symbols = 65 } },
        { "mqar", { .T = 1024, .items = 64, .symbols = 8192 } },
        { "mqar", { .T = 1024, .items = 64, .symbols = 256 } },
        { "recall", { .T = 4, .symbols = 4, .items = 1 } },
        { "recall", { .T = 51, .symbols = 5, .items = 3 } },
        { "recall", { .T = 101, .symbols = 2001, .items = 49 } },
        { "in-context-recall", { .T = 4, .symbols = 4 } },
        { "in-context-recall", { .T = 1024, .symbols = 129 } },
        { "noisy-recall", { .T = 4, .symbols = 5 } },
        { "noisy-recall", { .T = 1024, .symbols = 128 } },
        { "fuzzy-recall", { .T = 18, .symbols = 6 } },
        { "fuzzy-recall", { .T = 1000, .symbols = 7 } },
        { "fuzzy-recall", { .T = 128, .test = true } },
        { "modular-arithmetic", { .T = 2 } },
        { "modular-arithmetic", { .T = 1000 } },
        { "induction", { .T = 4, .symbols = 2, .items = 4 } },
        { "induction", { .T = 31, .symbols = 3, .items = 9 } },
        { "copy", { .T = 41, .symbols = 2, .items = 1 } },
        { "reverse", { .T = 41, .symbols = 300, .items = 20 } },
        { "selective-copy", { .T = 40, .symbols = 16, .items = 20 } },
        { "selective-copy", { .T = 1040, .symbols = 16, .items = 16 } },
        { "passkey", { .T = 500, .items = 1 } },
        { "passkey", { .T = 128, .items = 12 } },
        { "listops", { .T = 5, .least = 2 } },
        { "listops", { .T = 64, .least = 16 } },
        { "listops", { .T = 256, .least = 100 } },
        { "listops", { .T = 2000, .least = 1000 } },
        { "pathfinder", { .T = 1024 } },
        { "pathfinder", { .T = 1024, .difficulty = 1 } },
        { "pathfinder", { .T = 1024, .difficulty = 2 } },
        { "pathfinder", { .T = 144, .difficulty = 2 } },
        { "pathfinder", { .T = 3969, .difficulty = 1 } },
    };

    for (int i = 0; i < COUNT(of); i++)
        check_rows(of[i].task, of[i].s, 100);
}
END_TEST

START_TEST(a_task_is_found_by_its_name)
{
    for (int i = 0; synthetics[i]; i++)
        ck_assert_ptr_eq(task_named(synthetics[i]->name), synthetics[i]);
    ck_assert_ptr_null(task_named("copying"));
    ck_assert_ptr_null(task_named(""));
}
END_TEST

START_TEST(no_two_tokens_are_printed_alike)
{
    for (int i = 0; synthetics[i]; i++) {
        Rows rows = { .task = synthetics[i], .s = { .T = 144 } };
        const int vocab = synthetic_vocab(synthetics[i], rows.s);
        Word *word = words_of(&rows, vocab);
        bool alike = false;

        for (int a = 0; a < vocab; a++)
            for (int b = 0; b < a; b++)
                alike |= same_word(word[a], word[b]);
        ck_assert(!alike);
        free(word);
    }
}
END_TEST

START_TEST(every_length_from_the_smallest_is_accepted)
{
    static const struct {
        const char *task;
        int least, step;
    } of[] = {
        { "mqar", 4, 2 },
        { "recall", 4, 1 },
        { "induction", 4, 1 },
        { "copy", 2, 1 },
        { "reverse", 2, 1 },
        { "selective-copy", 2, 1 },
        { "passkey", 66, 1 },
        { "parity", 2, 1 },
        { "cumulative-parity", 1, 1 },
        { "majority", 2, 1 },
        { "listops", 5, 1 },
        { "pathfinder", 144, 0 },
        { "in-context-recall", 4, 2 },
        { "noisy-recall", 4, 2 },
        { "memorization", 2, 2 },
        { "compression", 2, 1 },
        { "fuzzy-recall", 18, 1 },
        { "modular-arithmetic", 2, 2 },
    };
    int tasks = 0;

    while (synthetics[tasks])
        tasks++;
    ck_assert_int_eq(tasks, COUNT(of));
    for (int i = 0; i < COUNT(of); i++)
        for (int T = -2; T <= 5000 && !task_named(of[i].task)->image; T++) {
            Text why = synthetic_misfit(task_named(of[i].task), (SyntheticShape){ .T = T });

            ck_assert_msg((T < of[i].least || (T - of[i].least) % of[i].step) == (why.n > 0),
                          "%s, T %d: %s", of[i].task, T, why.at);
        }
}
END_TEST

START_TEST(impossible_shapes_are_refused_with_a_possible_one)
{
    static const struct {
        const char *task;
        SyntheticShape s;
        const char *words;
    } of[] = {
        { "mqar", { .T = 63 }, "an even number of positions, not 63" },
        { "mqar", { .T = 64, .items = 17 }, "of 17 pairs, at least 68, not 64" },
        { "mqar", { .T = 64, .symbols = 15 }, "4 tokens for each of 4 pairs, not 15" },
        { "mqar", { .T = 64, .least = 3 }, "mqar has no least length" },
        { "recall",
          { .T = 21, .items = 10 },
          "one of 10 pairs needs at least 22 positions, not 21" },
        { "recall", { .T = 20, .symbols = 3 }, "4 symbols, not 3" },
        { "recall", { .T = 20, .noise = true }, "recall has no noise" },
        { "in-context-recall", { .T = 7 }, "an even number of positions from 4 on, not 7" },
        { "noisy-recall", { .T = 2 }, "an even number of positions from 4 on, not 2" },
        { "noisy-recall", { .T = 8, .symbols = 3 }, "4 symbols, not 3" },
        { "fuzzy-recall", { .T = 17 }, "at least 18 positions, not 17" },
        { "fuzzy-recall", { .T = 80, .items = 5 }, "fuzzy-recall has no number of items" },
        { "fuzzy-recall", { .T = 80, .symbols = 5 }, "6 symbols, not 5" },
        { "memorization", { .T = 9 }, "an even number of positions, not 9" },
        { "memorization", { .T = 8, .symbols = 3 }, "4 symbols, not 3" },
        { "compression", { .T = 1 }, "at least 2 positions, not 1" },
        { "compression", { .T = 8, .symbols = 1 }, "at least 2 different symbols, not 1" },
        { "modular-arithmetic", { .T = 7 }, "an even number of positions, not 7" },
        { "induction", { .T = 3 }, "at least 4 positions, not 3" },
        { "induction", { .T = 8, .symbols = 1 }, "at least 2 different symbols, not 1" },
        { "copy", { .T = 19, .items = 10 }, "10 symbols needs at least 20 positions, not 19" },
        { "copy", { .T = 19, .symbols = 1 }, "at least 2 different symbols, not 1" },
        { "copy", { .T = 19, .items = 20 }, "20 items do not fit into 19 positions" },
        { "copy", { .T = 19, .items = -1 }, "sizes of copy must be positive" },
        { "copy", { .T = 19, .symbols = -1 }, "sizes of copy must be positive" },
        { "copy", { .T = 19, .symbols = INT32_MAX }, "at most 1048576 symbols" },
        { "copy", { .T = INT32_MAX }, "1 to 16777216 positions, not 2147483647" },
        { "copy", { .T = 0 }, "1 to 16777216 positions, not 0" },
        { "passkey",
          { .T = 68, .items = 6 },
          "at least 69 positions for a key of 6 digits, not 68" },
        { "passkey", { .T = 1 << 24, .items = 1 << 24 }, "positions for a key" },
        { "parity", { .T = 9, .items = 4 }, "parity has no number of items" },
        { "parity", { .T = 9, .symbols = 4 }, "parity has no alphabet" },
        { "parity", { .T = 1 }, "2 positions, not 1" },
        { "listops", { .T = 4 }, "at least 5 positions, not 4" },
        { "listops", { .T = 64, .least = 33 }, "at most 32" },
        { "listops", { .T = 4000, .least = 1001 }, "at most 1000" },
        { "listops", { .T = 64, .least = -1 }, "must be positive" },
        { "listops", { .T = 64, .difficulty = 1 }, "listops has no difficulty" },
        { "pathfinder", { .T = 1023 }, "squares with sides of 12 to 256: 1024 is 32 x 32" },
        { "pathfinder", { .T = 121 }, "are squares" },
        { "pathfinder", { .T = 257 * 257 }, "are squares" },
        { "pathfinder", { .T = 1024, .noise = true }, "pathfinder has no noise" },
    };

    for (int i = 0; i < COUNT(of); i++) {
        Text why = synthetic_misfit(task_named(of[i].task), of[i].s);

        ck_assert_msg(strstr(why.at, of[i].words) != NULL, "%s: '%s'", of[i].task, why.at);
    }
}
END_TEST

START_TEST(unset_shapes_get_the_tasks_defaults)
{
    static const struct {
        const char *task;
        SyntheticShape s, want;
        int vocab;
        double chance;
    } of[] = {
        { "mqar", { .T = 64 }, { .T = 64, .symbols = 256, .items = 4 }, 256, 1 / 128.0 },
        { "mqar", { .T = 256 }, { .T = 256, .symbols = 512, .items = 16 }, 512, 1 / 256.0 },
        { "mqar", { .T = 8, .symbols = 9 }, { .T = 8, .symbols = 9, .items = 1 }, 9, 0.2 },
        { "recall", { .T = 21 }, { .T = 21, .symbols = 8, .items = 9 }, 10, 0.25 },
        { "recall", { .T = 22, .symbols = 5 }, { .T = 22, .symbols = 5, .items = 10 }, 7, 1 / 3.0 },
        { "in-context-recall", { .T = 20 }, { .T = 20, .symbols = 16 }, 16, 0.125 },
        { "noisy-recall", { .T = 20 }, { .T = 20, .symbols = 16 }, 32, 0.125 },
        { "fuzzy-recall", { .T = 80 }, { .T = 80, .symbols = 15 }, 16, 0.125 },
        { "memorization", { .T = 32 }, { .T = 32, .symbols = 256 }, 257, 1 / 128.0 },
        { "compression", { .T = 32 }, { .T = 32, .symbols = 16 }, 18, 1 / 16.0 },
        { "modular-arithmetic", { .T = 20 }, { .T = 20 }, 9, 0.2 },
        { "induction", { .T = 20 }, { .T = 20, .symbols = 8, .items = 1 }, 10, 0.125 },
        { "copy", { .T = 33 }, { .T = 33, .symbols = 8, .items = 16 }, 10, 0.125 },
        { "reverse", { .T = 9, .items = 2 }, { .T = 9, .symbols = 8, .items = 2 }, 10, 0.125 },
        { "selective-copy", { .T = 33 }, { .T = 33, .symbols = 14, .items = 2 }, 16, 1 / 14.0 },
        { "passkey", { .T = 128 }, { .T = 128, .items = 5 }, 53, 0.1 },
        { "parity", { .T = 8 }, { .T = 8 }, 3, 0.5 },
        { "cumulative-parity", { .T = 8 }, { .T = 8 }, 2, 0.5 },
        { "majority", { .T = 8 }, { .T = 8 }, 3, 0.5 },
        { "listops", { .T = 64 }, { .T = 64, .least = 16 }, 16, 0.1 },
        { "listops", { .T = 2000 }, { .T = 2000, .least = 500 }, 16, 0.1 },
        { "listops", { .T = 256, .least = 100 }, { .T = 256, .least = 100 }, 16, 0.1 },
        { "pathfinder", { .T = 256 }, { .T = 256 }, 256, 0.5 },
    };

    for (int i = 0; i < COUNT(of); i++) {
        const Synthetic *task = task_named(of[i].task);
        SyntheticShape got = synthetic_complete(task, of[i].s), want = of[i].want;

        ck_assert_int_eq(got.T, want.T);
        ck_assert_int_eq(got.least, want.least);
        ck_assert_int_eq(got.symbols, want.symbols);
        ck_assert_int_eq(got.items, want.items);
        ck_assert_int_eq(synthetic_vocab(task, of[i].s), of[i].vocab);
        ck_assert_double_eq_tol(synthetic_chance(task, of[i].s), of[i].chance, 1e-15);
        ck_assert_int_eq(synthetic_vocab(task, want), of[i].vocab);
    }
}
END_TEST

START_TEST(a_row_depends_on_its_random_numbers_alone)
{
    enum { T = 144 };
    int id[2][T], target[2][T];
    const SyntheticShape s = { .T = T };
    const size_t bytes = sizeof id[0];

    for (int i = 0; synthetics[i]; i++)
        for (uint64_t n = 0; n < 20; n++) {
            const Random r = synthetic_row(random_stream(3, RANDOM_TEST, 0), n);
            const Random other = synthetic_row(random_stream(4, RANDOM_TEST, 0), n);
            const Random next = synthetic_row(random_stream(3, RANDOM_TEST, 0), n + 1);

            memset(id[0], 77, bytes), memset(id[1], -5, bytes);
            memset(target[0], -5, bytes), memset(target[1], 77, bytes);
            int length = synthetic_draw(synthetics[i], s, r, id[0], target[0]);
            ck_assert_int_eq(synthetic_draw(synthetics[i], s, r, id[1], target[1]), length);
            ck_assert_mem_eq(id[0], id[1], bytes);
            ck_assert_mem_eq(target[0], target[1], bytes);
            synthetic_draw(synthetics[i], s, other, id[1], target[1]);
            ck_assert_mem_ne(id[0], id[1], bytes);
            synthetic_draw(synthetics[i], s, next, id[1], target[1]);
            ck_assert_mem_ne(id[0], id[1], bytes);
        }
}
END_TEST

/* The share that the most frequent answer has of all answers, in the first rows of a stream. */
static double majority(const Synthetic *task, SyntheticShape s, Random r, int rows)
{
    const size_t answers = (size_t)(task->classes ? task->classes : synthetic_vocab(task, s));
    int *id = xmalloc(2 * (size_t)s.T * sizeof *id), *target = id + s.T, most = 0, all = 0;
    int *count = memset(xmalloc(answers * sizeof *count), 0, answers * sizeof *count);

    for (int i = 0; i < rows; i++) {
        synthetic_draw(task, s, synthetic_row(r, (uint64_t)i), id, target);
        for (int t = 0; t < s.T; t++)
            if (target[t] >= 0) {
                int n = ++count[target[t]];

                most = n > most ? n : most;
                all++;
            }
    }
    free(id), free(count);
    return (double)most / all;
}

START_TEST(no_answer_is_more_frequent_than_chance)
{
    enum { ROWS = 4000, T = 144 };

    for (int i = 0; synthetics[i]; i++) {
        const SyntheticShape s = { .T = T };
        const double p = synthetic_chance(synthetics[i], s);
        double got = majority(synthetics[i], s, random_stream(5, RANDOM_TEST, 1), ROWS);

        if (synthetics[i]->classes)
            continue;
        ck_assert_double_ge(got, p);
        ck_assert_double_le(got, p + 5 * sqrt(p * (1 - p) / ROWS));
    }
}
END_TEST

Suite *suite_synthetic(void)
{
    Suite *s = suite_create("synthetic");
    TCase *t = group(s, "rows");

    tcase_add_test(t, answers_follow_from_the_row);
    tcase_add_test(t, answers_are_right_in_rows_of_any_shape);
    tcase_add_test(t, a_row_depends_on_its_random_numbers_alone);
    tcase_add_test(t, no_two_tokens_are_printed_alike);
    tcase_add_test(t, a_task_is_found_by_its_name);
    tcase_add_test(t, no_answer_is_more_frequent_than_chance);
    t = group(s, "shapes");
    tcase_add_test(t, every_length_from_the_smallest_is_accepted);
    tcase_add_test(t, impossible_shapes_are_refused_with_a_possible_one);
    tcase_add_test(t, unset_shapes_get_the_tasks_defaults);
    return s;
}
