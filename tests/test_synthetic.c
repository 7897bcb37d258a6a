/* The synthetic tasks: that answers are right, shapes kept, and draws as likely as they should. */
#include "data/synthetic.h"
#include "ops/base/error.h"
#include "tests/solutions.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a task, one after the other, in memory of their own size. */
typedef struct {
    const Synthetic *task;
    SyntheticShape s;
    Random r;
    uint64_t drawn;
    int *id, *target, n;
} Rows;

static Rows rows_of(const char *name, SyntheticShape s)
{
    const Synthetic *task = synthetic_find(name);
    const size_t bytes = (size_t)s.T * sizeof(int);

    ck_assert_ptr_nonnull(task);
    ck_assert_str_eq(synthetic_misfit(task, s).at, "");
    return (Rows){ .task = task,
                   .s = s,
                   .r = random_stream(7, RANDOM_TEST, (uint64_t)s.T),
                   .id = xmalloc(bytes),
                   .target = xmalloc(bytes) };
}

static void rows_free(Rows *rows)
{
    free(rows->id), free(rows->target);
}

static void next_row(Rows *rows)
{
    Random r = synthetic_row(rows->r, rows->drawn++);

    rows->n = synthetic_draw(rows->task, rows->s, r, rows->id, rows->target);
}

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
    Rows rows = rows_of(name, s);
    const int vocab = synthetic_vocab(rows.task, s);
    Word *word = words_of(&rows, vocab);

    for (int i = 0; i < n; i++) {
        next_row(&rows);
        check_row(&rows, word, vocab);
    }
    rows_free(&rows);
    free(word);
}

START_TEST(answers_are_what_one_who_reads_the_row_would_say)
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
        { "recall", { .T = 4, .symbols = 4, .items = 1 } },
        { "recall", { .T = 51, .symbols = 5, .items = 3 } },
        { "recall", { .T = 101, .symbols = 2001, .items = 49 } },
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
    };

    for (int i = 0; i < COUNT(of); i++)
        check_rows(of[i].task, of[i].s, 100);
}
END_TEST

START_TEST(a_task_is_found_by_its_name)
{
    for (int i = 0; synthetics[i]; i++)
        ck_assert_ptr_eq(synthetic_find(synthetics[i]->name), synthetics[i]);
    ck_assert_ptr_null(synthetic_find("copying"));
    ck_assert_ptr_null(synthetic_find(""));
}
END_TEST

START_TEST(no_two_tokens_are_printed_alike)
{
    for (int i = 0; synthetics[i]; i++) {
        Rows rows = { .task = synthetics[i], .s = { .T = 128 } };
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

START_TEST(every_length_from_the_smallest_on_will_do)
{
    static const struct {
        const char *task;
        int least, step;
    } of[] = {
        { "mqar", 4, 2 },     { "recall", 4, 1 },  { "induction", 4, 1 },
        { "copy", 2, 1 },     { "reverse", 2, 1 }, { "selective-copy", 2, 1 },
        { "passkey", 66, 1 }, { "parity", 2, 1 },  { "cumulative-parity", 1, 1 },
        { "majority", 2, 1 }, { "listops", 5, 1 },
    };
    int tasks = 0;

    while (synthetics[tasks])
        tasks++;
    ck_assert_int_eq(tasks, COUNT(of));
    for (int i = 0; i < COUNT(of); i++)
        for (int T = -2; T <= 5000; T++) {
            Text why = synthetic_misfit(synthetic_find(of[i].task), (SyntheticShape){ .T = T });

            ck_assert_msg((T < of[i].least || (T - of[i].least) % of[i].step) == (why.n > 0),
                          "%s, T %d: %s", of[i].task, T, why.at);
        }
}
END_TEST

START_TEST(a_shape_that_cannot_be_is_told_what_could)
{
    static const struct {
        const char *task;
        SyntheticShape s;
        const char *words;
    } of[] = {
        { "mqar", { .T = 63 }, "an even number of positions, not 63" },
        { "mqar", { .T = 64, .items = 17 }, "of 17 pairs, 68 or more, not 64" },
        { "mqar", { .T = 64, .symbols = 64 }, "more tokens than the 64 positions, not 64" },
        { "mqar", { .T = 64, .least = 3 }, "mqar takes no least length" },
        { "recall",
          { .T = 21, .items = 10 },
          "one of 10 pairs takes 22 positions or more, not 21" },
        { "recall", { .T = 20, .symbols = 3 }, "4 symbols, not 3" },
        { "recall", { .T = 20, .noise = true }, "recall takes no noise" },
        { "induction", { .T = 3 }, "4 positions or more, not 3" },
        { "induction", { .T = 8, .symbols = 1 }, "2 different symbols or more, not 1" },
        { "copy", { .T = 19, .items = 10 }, "10 symbols takes 20 positions or more, not 19" },
        { "copy", { .T = 19, .symbols = 1 }, "2 different symbols or more, not 1" },
        { "copy", { .T = 19, .items = 20 }, "20 items do not fit into 19 positions" },
        { "copy", { .T = 19, .items = -1 }, "a size of copy is positive" },
        { "copy", { .T = 19, .symbols = -1 }, "a size of copy is positive" },
        { "copy", { .T = 19, .symbols = INT32_MAX }, "at most 1048576 symbols" },
        { "copy", { .T = INT32_MAX }, "1 to 16777216 positions, not 2147483647" },
        { "copy", { .T = 0 }, "1 to 16777216 positions, not 0" },
        { "passkey",
          { .T = 68, .items = 6 },
          "69 positions or more for a key of 6 digits, not 68" },
        { "passkey", { .T = 1 << 24, .items = 1 << 24 }, "positions or more for a key" },
        { "parity", { .T = 9, .items = 4 }, "parity takes no number of items" },
        { "parity", { .T = 9, .symbols = 4 }, "parity takes no alphabet" },
        { "parity", { .T = 1 }, "2 positions, not 1" },
        { "listops", { .T = 4 }, "5 positions or more, not 4" },
        { "listops", { .T = 64, .least = 33 }, "up to 32 would do" },
        { "listops", { .T = 4000, .least = 1001 }, "up to 1000 would do" },
        { "listops", { .T = 64, .least = -1 }, "is positive" },
    };

    for (int i = 0; i < COUNT(of); i++) {
        Text why = synthetic_misfit(synthetic_find(of[i].task), of[i].s);

        ck_assert_msg(strstr(why.at, of[i].words) != NULL, "%s: '%s'", of[i].task, why.at);
    }
}
END_TEST

START_TEST(what_a_shape_does_not_say_the_task_completes)
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
        { "induction", { .T = 20 }, { .T = 20, .symbols = 8, .items = 1 }, 10, 0.125 },
        { "copy", { .T = 33 }, { .T = 33, .symbols = 8, .items = 16 }, 10, 0.125 },
        { "reverse", { .T = 9, .items = 2 }, { .T = 9, .symbols = 8, .items = 2 }, 10, 0.125 },
        { "selective-copy", { .T = 33 }, { .T = 33, .symbols = 8, .items = 8 }, 10, 0.125 },
        { "passkey", { .T = 128 }, { .T = 128, .items = 5 }, 53, 0.1 },
        { "parity", { .T = 8 }, { .T = 8 }, 3, 0.5 },
        { "cumulative-parity", { .T = 8 }, { .T = 8 }, 2, 0.5 },
        { "majority", { .T = 8 }, { .T = 8 }, 3, 0.5 },
        { "listops", { .T = 64 }, { .T = 64, .least = 16 }, 16, 0.1 },
        { "listops", { .T = 2000 }, { .T = 2000, .least = 500 }, 16, 0.1 },
        { "listops", { .T = 256, .least = 100 }, { .T = 256, .least = 100 }, 16, 0.1 },
    };

    for (int i = 0; i < COUNT(of); i++) {
        const Synthetic *task = synthetic_find(of[i].task);
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
    enum { T = 128 };
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

/* `count` of n draws is what a probability of p gives, to five standard deviations. */
static void check_share(int count, int n, double p)
{
    ck_assert_double_eq_tol(count, n * p, 5 * sqrt(n * p * (1 - p)) + 1e-9);
}

START_TEST(no_answer_is_more_frequent_than_chance)
{
    enum { ROWS = 4000, T = 128 };

    for (int i = 0; synthetics[i]; i++) {
        const SyntheticShape s = { .T = T };
        const double p = synthetic_chance(synthetics[i], s);
        double got = synthetic_majority(synthetics[i], s, random_stream(5, RANDOM_TEST, 1), ROWS);

        if (synthetics[i]->classes)
            continue;
        ck_assert_double_ge(got, p);
        ck_assert_double_le(got, p + 5 * sqrt(p * (1 - p) / ROWS));
    }
}
END_TEST

START_TEST(the_majority_is_that_of_the_first_rows_of_a_stream)
{
    enum { ROWS = 50 };
    Rows rows = rows_of("passkey", (SyntheticShape){ .T = 90, .items = 3 });
    int count[10] = { 0 }, most = 0;

    for (int i = 0; i < ROWS; i++) {
        next_row(&rows);
        for (int t = 0; t < rows.s.T; t++)
            if (rows.target[t] >= 0)
                count[rows.target[t]]++;
    }
    for (int c = 0; c < 10; c++)
        most = count[c] > most ? count[c] : most;
    ck_assert_double_eq_tol(synthetic_majority(rows.task, rows.s, rows.r, ROWS),
                            most / (3.0 * ROWS), 1e-15);
    rows_free(&rows);
}
END_TEST

enum { MANY = 20000 };

/* Of place i = 1 .. n, by the weights of the paper. */
static double place_share(int i, int n)
{
    double sum = 0;

    for (int j = 1; j <= n; j++)
        sum += 0.01 * pow(j, 0.01 - 1);
    return 0.01 * pow(i, 0.01 - 1) / sum;
}

/* The place of the query for the key of a pair, from 1 on. */
static int place_of(const Rows *rows, int pair)
{
    int after = 2 * synthetic_complete(rows->task, rows->s).items, t = after;

    while (rows->id[t] != rows->id[2 * pair])
        t++;
    return (t - after) / 2 + 1;
}

START_TEST(queries_of_mqar_are_at_places_by_the_power_law)
{
    enum { T = 64, N = (T - 2) / 2 };
    Rows rows = rows_of("mqar", (SyntheticShape){ .T = T, .items = 1 });
    int count[N + 1] = { 0 };

    for (int i = 0; i < MANY; i++) {
        next_row(&rows);
        count[place_of(&rows, 0)]++;
    }
    for (int i = 1; i <= N; i++)
        check_share(count[i], MANY, place_share(i, N));
    ck_assert_int_gt(count[1] + count[2] + count[3], MANY * 2 / 5);
    rows_free(&rows);
}
END_TEST

START_TEST(queries_of_mqar_fall_on_the_places_that_those_before_left)
{
    enum { T = 12, N = (T - 4) / 2 };
    Rows rows = rows_of("mqar", (SyntheticShape){ .T = T, .items = 2 });
    int count[N + 1][N + 1] = { { 0 } };

    for (int i = 0; i < MANY; i++) {
        next_row(&rows);
        count[place_of(&rows, 0)][place_of(&rows, 1)]++;
    }
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
            double p = place_share(i, N), q = place_share(j, N) / (1 - p);

            check_share(count[i][j], MANY, i == j ? 0 : p * q);
        }
    rows_free(&rows);
}
END_TEST

START_TEST(keys_and_values_of_mqar_differ_and_are_any_of_their_half)
{
    enum { V = 21, K = 5, ROWS = MANY / K };
    Rows rows = rows_of("mqar", (SyntheticShape){ .T = 20, .items = K, .symbols = V });
    int count[2][V] = { { 0 } };
    bool twice = false;

    for (int i = 0; i < ROWS; i++) {
        int seen[2][V] = { { 0 } };

        next_row(&rows);
        for (int t = 0; t < 2 * K; t++)
            count[t % 2][rows.id[t]]++, seen[t % 2][rows.id[t]]++;
        for (int c = 0; c < V; c++)
            twice |= seen[0][c] > 1 || seen[1][c] > 1;
    }
    ck_assert(!twice);
    for (int c = 0; c < V; c++) {
        check_share(count[0][c], ROWS, c >= 1 && c < V / 2 ? K / (V / 2 - 1.0) : 0);
        check_share(count[1][c], ROWS, c >= V / 2 ? K / (V - V / 2.0 + 0.5) : 0);
    }
    rows_free(&rows);
}
END_TEST

START_TEST(noise_of_mqar_is_any_token_and_changes_no_answer)
{
    enum { T = 32, V = 40, K = 4 };
    const SyntheticShape shape = { .T = T, .items = K, .symbols = V };
    Rows still = rows_of("mqar", shape), rows = rows_of("mqar", shape);
    int count[V] = { 0 }, blanks = 0;
    bool changed = false;

    rows.s.noise = true;
    for (int i = 0; i < MANY / 10; i++) {
        next_row(&still), next_row(&rows);
        ck_assert_mem_eq(rows.target, still.target, T * sizeof *rows.target);
        for (int t = 0; t < T; t++)
            if (still.id[t] == 0)
                count[rows.id[t]]++, blanks++;
            else
                changed |= rows.id[t] != still.id[t];
    }
    ck_assert(!changed);
    ck_assert_int_eq(blanks, MANY / 10 * (T - 3 * K));
    for (int c = 0; c < V; c++)
        check_share(count[c], blanks, 1.0 / V);
    rows_free(&still), rows_free(&rows);
}
END_TEST

START_TEST(what_is_copied_is_any_symbols_at_any_places)
{
    enum { T = 14, M = 4, A = 5 };
    Rows rows = rows_of("selective-copy", (SyntheticShape){ .T = T, .items = M, .symbols = A });
    int place[T - M] = { 0 }, symbol[A + 1] = { 0 };

    for (int i = 0; i < MANY; i++) {
        next_row(&rows);
        for (int t = 0; t < T - M; t++)
            if (rows.id[t])
                place[t]++, symbol[rows.id[t]]++;
    }
    for (int t = 0; t < T - M; t++)
        check_share(place[t], MANY, (double)M / (T - M));
    for (int c = 1; c <= A; c++)
        check_share(symbol[c], M * MANY, 1.0 / A);
    rows_free(&rows);
}
END_TEST

START_TEST(a_row_of_induction_has_triggers_anywhere_and_often_one)
{
    enum { T = 6, PLACES = 3 };
    const SyntheticShape s = { .T = T, .items = 2 };
    Rows one = rows_of("induction", (SyntheticShape){ .T = T }), two = rows_of("induction", s);
    int place[T] = { 0 }, pairs = 0;

    for (int i = 0; i < MANY; i++) {
        int triggers = 0;

        next_row(&one), next_row(&two);
        for (int t = 0; t < T - 1; t++) {
            place[t] += one.id[t] == synthetic_vocab(one.task, s) - 1;
            triggers += two.id[t] == synthetic_vocab(two.task, s) - 1;
        }
        pairs += triggers == 2;
    }
    for (int t = 0; t < T; t++)
        check_share(place[t], MANY, t < PLACES ? 1.0 / PLACES : 0);
    check_share(pairs, MANY, 0.5 * 2 / (PLACES * PLACES)); /* two draws, that fall on 0 and 2 */
    rows_free(&one), rows_free(&two);
}
END_TEST

START_TEST(a_key_is_recalled_as_often_as_another_however_often_it_is_there)
{
    enum { T = 12, K = 5 };
    Rows rows = rows_of("recall", (SyntheticShape){ .T = T, .items = K, .symbols = 4 });
    int single = 0, asked = 0, ones = 0;

    for (int i = 0; i < MANY; i++) {
        int times = 0;

        next_row(&rows);
        for (int k = 0; k < K; k++)
            times += rows.id[2 * k] == 1;
        ones += times;
        single += times == 1;
        asked += times == 1 && rows.id[T - 1] == 1;
    }
    check_share(ones, K * MANY, 0.5);
    check_share(single, MANY, K / 32.0);
    check_share(asked, single, 0.5);
    rows_free(&rows);
}
END_TEST

START_TEST(the_values_of_two_keys_are_drawn_apart)
{
    Rows rows = rows_of("recall", (SyntheticShape){ .T = 40, .symbols = 4 });
    int differ = 0, both = 0;

    for (int i = 0; i < MANY; i++) {
        int value[3] = { 0 };

        next_row(&rows);
        for (int t = 0; t < 38; t += 2)
            value[rows.id[t]] = rows.id[t + 1];
        both += value[1] && value[2];
        differ += value[1] && value[2] && value[1] != value[2];
    }
    check_share(differ, both, 0.5);
    rows_free(&rows);
}
END_TEST

/* The words of a row one after the other, with a blank after each. */
static Text print(const Rows *rows, int from, int to)
{
    Text all = { 0 };

    for (int t = from; t < to; t++)
        text_add(&all, "%s ", synthetic_word(rows->task, rows->s, rows->id[t]).at);
    return all;
}

/* So many words of a text that begins with the filler twice. */
static void add_filler(Text *to, int words)
{
    const char *at =
        "The grass is green . The sky is blue . The sun is yellow . Here we go . There and back "
        "again . The grass is green . The sky is blue . The sun is yellow . Here we go . There and "
        "back again . ";

    while (words > 0) {
        words -= *at == ' ';
        text_add(to, "%c", *at++);
    }
}

/* The paper's text with that key, after so many words of filler and before so many. */
static Text paper(const char *key, int before, int after)
{
    Text text = { 0 };

    text_add(&text, "There is an important info hidden inside a lot of irrelevant text . Find it "
                    "and memorize them . I will quiz you about the important information there . ");
    add_filler(&text, before);
    text_add(&text, "The pass key is %s. Remember it . %sis the pass key . ", key, key);
    add_filler(&text, after);
    text_add(&text, "What is the pass key ? The pass key is %s", key);
    return text;
}

START_TEST(a_passkey_is_anywhere_in_the_text_of_the_paper)
{
    enum { FILLER = 40, T = 66 + FILLER };
    Rows rows = rows_of("passkey", (SyntheticShape){ .T = T });
    int place[FILLER + 1] = { 0 };

    for (int i = 0; i < MANY / 10; i++) {
        int before = -29 - 4;

        next_row(&rows);
        for (int t = 0; rows.id[t] >= 10; t++)
            before++;
        Text key = print(&rows, T - 4, T), row = print(&rows, 0, T);
        text_add(&key, "%d ", rows.target[T - 1]);
        text_add(&row, "%d ", rows.target[T - 1]);
        ck_assert_str_eq(row.at, paper(key.at, before, FILLER - before).at);
        place[before]++;
    }
    for (int n = 0; n <= FILLER; n++)
        check_share(place[n], MANY / 10, 1.0 / (FILLER + 1));
    rows_free(&rows);
}
END_TEST

/* The rows of listops, by their lengths, classes and tokens. */
typedef struct {
    double mean, median, token[16], class[10];
} Census;

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static Census census_of(SyntheticShape s, int n)
{
    Rows rows = rows_of("listops", s);
    int *length = xmalloc((size_t)n * sizeof *length);
    Census c = { .mean = 0 };
    bool fit = true;

    s = synthetic_complete(rows.task, s);
    for (int i = 0; i < n; i++) {
        next_row(&rows);
        fit &= s.least < rows.n && rows.n < s.T;
        length[i] = rows.n;
        c.mean += (double)rows.n / n;
        c.class[rows.target[0]] += 1.0 / n;
        for (int t = 0; t < rows.n; t++)
            c.token[rows.id[t]] += 1.0 / rows.n / n;
    }
    ck_assert(fit);
    qsort(length, (size_t)n, sizeof *length, ascending);
    c.median = length[n / 2];
    free(length);
    rows_free(&rows);
    return c;
}

static double most_frequent(const Census *c)
{
    double most = 0;

    for (int i = 0; i < 10; i++)
        most = c->class[i] > most ? c->class[i] : most;
    return most;
}

START_TEST(rows_of_listops_are_as_long_and_their_classes_as_frequent_as_the_arenas)
{
    Census arena = census_of((SyntheticShape){ .T = 2000 }, MANY / 4);
    Census small = census_of((SyntheticShape){ .T = 64 }, MANY);
    Census middle = census_of((SyntheticShape){ .T = 256, .least = 100 }, MANY);

    ck_assert_double_eq_tol(arena.mean, 1032, 15);
    ck_assert_double_eq_tol(arena.median, 957, 25);
    ck_assert_double_eq_tol(most_frequent(&arena), 0.165, 0.01);
    ck_assert_double_eq_tol(most_frequent(&small), 0.12, 0.01);
    ck_assert_double_eq_tol(most_frequent(&middle), 0.156, 0.01);
}
END_TEST

/* The length of an expression as the Arena's program draws it. */
static int naive_length(const int most[2], int depth, Random r, uint64_t *drawn)
{
    if (depth == most[0] || random_uniform(r, (*drawn)++) > 0.25)
        return 1;
    int n = 2 + (int)random_below(r, (*drawn)++, (uint64_t)most[1] - 1), length = 2;

    for (int i = 0; i < n; i++)
        length += naive_length(most, depth + 1, r, drawn);
    return length;
}

START_TEST(lengths_of_listops_are_those_of_all_expressions_that_fit)
{
    static const struct {
        SyntheticShape s;
        int most[2];  /* depth and arguments */
        double share; /* of expressions that fit */
    } of[] = { { { .T = 64, .least = 16 }, { 6, 5 }, 0.084 },
               { { .T = 256, .least = 100 }, { 10, 10 }, 0.019 },
               { { .T = 8, .least = 3 }, { 6, 5 }, 0.0995 } };
    const Random r = random_stream(1, RANDOM_TEST, 2);
    uint64_t drawn = 0;

    for (int k = 0; k < COUNT(of); k++) {
        Rows rows = rows_of("listops", of[k].s);
        int count[2][256] = { { 0 } }, all = 0;

        for (int i = 0; i < MANY; all++) {
            int n = naive_length(of[k].most, 1, r, &drawn);

            if (of[k].s.least < n && n < of[k].s.T)
                count[0][n]++, i++;
        }
        ck_assert_double_eq_tol(MANY / (double)all, of[k].share, 0.04 * of[k].share);
        for (int i = 0; i < MANY; i++) {
            next_row(&rows);
            count[1][rows.n]++;
        }
        for (int n = 0; n < COUNT(count[0]); n++)
            ck_assert_double_eq_tol(count[0][n], count[1][n],
                                    5 * sqrt(count[0][n] + (double)count[1][n]) + 1e-9);
        rows_free(&rows);
    }
}
END_TEST

START_TEST(operators_and_digits_of_listops_are_as_frequent_as_each_other)
{
    Census c = census_of((SyntheticShape){ .T = 64 }, MANY);
    double operators = c.token[1] + c.token[2] + c.token[3] + c.token[4], digits = 0;

    for (int i = 6; i < 16; i++)
        digits += c.token[i];
    ck_assert_double_eq_tol(operators, c.token[5], 1e-12);
    ck_assert_double_eq(c.token[0], 0);
    for (int i = 1; i <= 4; i++)
        ck_assert_double_eq_tol(c.token[i] / operators, 0.25, 0.005);
    for (int i = 6; i < 16; i++)
        ck_assert_double_eq_tol(c.token[i] / digits, 0.1, 0.003);
}
END_TEST

Suite *suite_synthetic(void)
{
    Suite *s = suite_create("synthetic");
    TCase *t = group(s, "rows");

    tcase_add_test(t, answers_are_what_one_who_reads_the_row_would_say);
    tcase_add_test(t, answers_are_right_in_rows_of_any_shape);
    tcase_add_test(t, a_row_depends_on_its_random_numbers_alone);
    tcase_add_test(t, no_two_tokens_are_printed_alike);
    tcase_add_test(t, a_task_is_found_by_its_name);
    t = group(s, "shapes");
    tcase_add_test(t, every_length_from_the_smallest_on_will_do);
    tcase_add_test(t, a_shape_that_cannot_be_is_told_what_could);
    tcase_add_test(t, what_a_shape_does_not_say_the_task_completes);
    t = group(s, "frequencies");
    tcase_add_test(t, no_answer_is_more_frequent_than_chance);
    tcase_add_test(t, the_majority_is_that_of_the_first_rows_of_a_stream);
    tcase_add_test(t, queries_of_mqar_are_at_places_by_the_power_law);
    tcase_add_test(t, queries_of_mqar_fall_on_the_places_that_those_before_left);
    tcase_add_test(t, keys_and_values_of_mqar_differ_and_are_any_of_their_half);
    tcase_add_test(t, noise_of_mqar_is_any_token_and_changes_no_answer);
    tcase_add_test(t, what_is_copied_is_any_symbols_at_any_places);
    tcase_add_test(t, a_row_of_induction_has_triggers_anywhere_and_often_one);
    tcase_add_test(t, a_key_is_recalled_as_often_as_another_however_often_it_is_there);
    tcase_add_test(t, the_values_of_two_keys_are_drawn_apart);
    tcase_add_test(t, a_passkey_is_anywhere_in_the_text_of_the_paper);
    tcase_add_test(t, rows_of_listops_are_as_long_and_their_classes_as_frequent_as_the_arenas);
    tcase_add_test(t, lengths_of_listops_are_those_of_all_expressions_that_fit);
    tcase_add_test(t, operators_and_digits_of_listops_are_as_frequent_as_each_other);
    return s;
}
