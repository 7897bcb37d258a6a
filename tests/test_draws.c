/* What the synthetic tasks draw is as likely as it should be. */
#include "tests/rows.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

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
    Rows rows = rows_open("mqar", (SyntheticShape){ .T = T, .items = 1 });
    int count[N + 1] = { 0 };

    for (int i = 0; i < MANY; i++) {
        next_row(&rows);
        count[place_of(&rows, 0)]++;
    }
    for (int i = 1; i <= N; i++)
        check_share(count[i], MANY, place_share(i, N));
    ck_assert_int_gt(count[1] + count[2] + count[3], MANY * 2 / 5);
    rows_close(&rows);
}
END_TEST

START_TEST(queries_of_mqar_fall_on_the_places_that_those_before_left)
{
    enum { T = 12, N = (T - 4) / 2 };
    Rows rows = rows_open("mqar", (SyntheticShape){ .T = T, .items = 2 });
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
    rows_close(&rows);
}
END_TEST

START_TEST(keys_and_values_of_mqar_differ_and_are_any_of_their_half)
{
    enum { V = 21, K = 5, ROWS = MANY / K };
    Rows rows = rows_open("mqar", (SyntheticShape){ .T = 20, .items = K, .symbols = V });
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
    rows_close(&rows);
}
END_TEST

START_TEST(noise_of_mqar_is_any_token_and_changes_no_answer)
{
    enum { T = 32, V = 40, K = 4 };
    const SyntheticShape shape = { .T = T, .items = K, .symbols = V };
    Rows still = rows_open("mqar", shape), rows = rows_open("mqar", shape);
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
    rows_close(&still), rows_close(&rows);
}
END_TEST

START_TEST(what_is_copied_is_any_symbols_at_any_places)
{
    enum { T = 14, M = 4, A = 5 };
    Rows rows = rows_open("selective-copy", (SyntheticShape){ .T = T, .items = M, .symbols = A });
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
    rows_close(&rows);
}
END_TEST

START_TEST(a_row_of_induction_has_triggers_anywhere_and_often_one)
{
    enum { T = 6, PLACES = 3 };
    const SyntheticShape s = { .T = T, .items = 2 };
    Rows one = rows_open("induction", (SyntheticShape){ .T = T }), two = rows_open("induction", s);
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
    rows_close(&one), rows_close(&two);
}
END_TEST

START_TEST(all_keys_are_asked_for_equally_often)
{
    enum { T = 12, K = 5 };
    Rows rows = rows_open("recall", (SyntheticShape){ .T = T, .items = K, .symbols = 4 });
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
    rows_close(&rows);
}
END_TEST

START_TEST(the_values_of_two_keys_are_drawn_apart)
{
    Rows rows = rows_open("recall", (SyntheticShape){ .T = 40, .symbols = 4 });
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
    rows_close(&rows);
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

/* The paper's text with that key, between `before` and `after` words of filler. */
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
    Rows rows = rows_open("passkey", (SyntheticShape){ .T = T });
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
    rows_close(&rows);
}
END_TEST

/* Where the dots of an image of pathfinder are: how far apart in x and y, the larger first, and how
 * far from the border, the nearer dot first. */
enum { SIDE = 32, PLACES = 4 };
typedef struct {
    int place[PLACES];
} Dots;

static int most_of(int a, int b)
{
    return a > b ? a : b;
}

static int from_border(int t)
{
    const int x = t % SIDE, y = t / SIDE;

    return SIDE - 1 - most_of(most_of(x, SIDE - 1 - x), most_of(y, SIDE - 1 - y));
}

static Dots dots_of(const Rows *rows)
{
    int dot[2] = { 0, 0 }, n = 0;

    for (int t = 0; t < rows->n; t++)
        if (rows->id[t] == 255)
            dot[n++ % 2] = t;
    ck_assert_int_eq(n, 2);
    const int x = abs(dot[0] % SIDE - dot[1] % SIDE), y = abs(dot[0] / SIDE - dot[1] / SIDE);
    const int a = from_border(dot[0]), b = from_border(dot[1]);
    return (Dots){ { most_of(x, y), x + y - most_of(x, y), a + b - most_of(a, b), most_of(a, b) } };
}

/* _i: the difficulty */
START_TEST(an_image_of_pathfinder_has_its_paths_and_greys)
{
    static const int lit[] = { 30, 58, 108 };
    Rows rows = rows_open("pathfinder", (SyntheticShape){ .T = 1024, .difficulty = _i });
    int count[256] = { 0 };
    const int n = MANY / 20;

    for (int i = 0; i < n; i++) {
        next_row(&rows);
        for (int t = 0; t < 1024; t++)
            count[rows.id[t]]++;
    }
    ck_assert_int_eq(count[255], 2 * n);
    ck_assert_int_eq(1024 * n - count[0], lit[_i] * n);
    for (int grey = 1; grey < 255; grey++)
        check_share(count[grey], (lit[_i] - 2) * n, grey >= 96 && grey < 192 ? 1 / 96.0 : 0);
    rows_close(&rows);
}
END_TEST

START_TEST(a_fifth_of_the_pairs_of_noisy_recall_are_noise_of_any_tokens)
{
    enum { PAIRS = 20, SYMBOLS_OF_ROW = 16, NOISE = 16 };
    Rows rows = rows_open("noisy-recall", (SyntheticShape){ .T = 2 * PAIRS + 2 });
    int pairs = 0, count[NOISE] = { 0 };

    for (int i = 0; i < MANY / PAIRS; i++) {
        next_row(&rows);
        for (int t = 0; t < 2 * PAIRS; t += 2)
            if (rows.id[t] >= SYMBOLS_OF_ROW) {
                pairs++;
                count[rows.id[t] - SYMBOLS_OF_ROW]++;
                count[rows.id[t + 1] - SYMBOLS_OF_ROW]++;
            }
    }
    check_share(pairs, MANY, 0.2 * (PAIRS - 1) / PAIRS); /* one is certain to be a pair */
    for (int i = 0; i < NOISE; i++)
        check_share(count[i], 2 * pairs, 1.0 / NOISE);
    rows_close(&rows);
}
END_TEST

START_TEST(all_keys_of_memorization_are_asked_for_equally_often)
{
    enum { KEYS = 128, PAIRS = 16 };
    Rows rows = rows_open("memorization", (SyntheticShape){ .T = 2 * PAIRS });
    int count[KEYS] = { 0 };

    for (int i = 0; i < MANY / PAIRS; i++) {
        next_row(&rows);
        for (int t = 0; t < 2 * PAIRS; t += 2)
            count[rows.id[t]]++;
    }
    for (int key = 0; key < KEYS; key++)
        check_share(count[key], MANY / PAIRS * PAIRS, 1.0 / KEYS);
    rows_close(&rows);
}
END_TEST

START_TEST(all_symbols_of_compression_are_equally_likely)
{
    enum { SYMBOLS_OF_ROW = 16, LENGTH = 32 };
    Rows rows = rows_open("compression", (SyntheticShape){ .T = LENGTH });
    int count[SYMBOLS_OF_ROW + 1] = { 0 };

    for (int i = 0; i < MANY / LENGTH; i++) {
        next_row(&rows);
        for (int t = 0; t < LENGTH - 1; t++)
            count[rows.id[t]]++;
    }
    for (int i = 1; i <= SYMBOLS_OF_ROW; i++)
        check_share(count[i], MANY / LENGTH * (LENGTH - 1), 1.0 / SYMBOLS_OF_ROW);
    rows_close(&rows);
}
END_TEST

/* Of the last key of many rows. */
static void count_keys(SyntheticShape s, int keys, int tokens[4], int token[])
{
    Rows rows = rows_open("fuzzy-recall", s);

    for (int i = 0; i < MANY; i++) {
        int end = s.T, n = 0;

        next_row(&rows);
        while (rows.id[end - 1] >= keys)
            end--;
        while (n < 4 && rows.id[end - 1 - n] < keys)
            token[rows.id[end - 1 - n++]]++;
        ck_assert(n >= 1 && n <= 3);
        tokens[n]++;
    }
    rows_close(&rows);
}

START_TEST(keys_of_fuzzy_recall_have_one_to_three_tokens_of_any_kind)
{
    enum { KEYS = 7 };
    int tokens[4] = { 0 }, tested[4] = { 0 }, token[KEYS] = { 0 };

    count_keys((SyntheticShape){ .T = 30 }, KEYS, tokens, token);
    for (int n = 1; n <= 3; n++)
        check_share(tokens[n], MANY, 1.0 / 3);
    for (int k = 0; k < KEYS; k++)
        check_share(token[k], 2 * MANY, 1.0 / KEYS);
    count_keys((SyntheticShape){ .T = 30, .test = true }, KEYS, tested, token);
    ck_assert_int_eq(tested[3], MANY);
}
END_TEST

/* Were it always in the same place, positions would be enough; and keys have values of their own.
 */
START_TEST(what_is_asked_in_fuzzy_recall_was_anywhere)
{
    enum { T = 60, KEYS = 100 };
    Rows rows =
        rows_open("fuzzy-recall", (SyntheticShape){ .T = T, .symbols = 2 * KEYS, .test = true });
    int quarter[4] = { 0 }, same = 0;

    for (int i = 0; i < MANY; i++) {
        int key = T, place = 0, second;

        next_row(&rows);
        while (rows.id[key - 1] >= KEYS)
            key--;
        key -= 3;
        while (memcmp(rows.id + place, rows.id + key, 3 * sizeof *rows.id) != 0)
            place++;
        ck_assert_int_lt(place, key);
        quarter[4 * place / T]++;
        for (place = 0; rows.id[place] >= KEYS;)
            place++;
        for (second = place + 3; rows.id[second] >= KEYS;)
            second++;
        same += rows.id[place + 3] == rows.id[second + 3];
    }
    check_share(same, MANY, 1.0 / KEYS);
    for (int q = 0; q < 3; q++)
        ck_assert_int_gt(quarter[q], MANY / 6);
    rows_close(&rows);
}
END_TEST

START_TEST(values_of_two_keys_in_context_are_independent)
{
    enum { T = 40 };
    Rows rows = rows_open("in-context-recall", (SyntheticShape){ .T = T, .symbols = 4 });
    int both = 0, same = 0;

    for (int i = 0; i < MANY; i++) {
        int value[2] = { -1, -1 };

        next_row(&rows);
        for (int t = 0; t < T; t += 2)
            value[rows.id[t]] = rows.id[t + 1];
        if (value[0] >= 0 && value[1] >= 0) {
            both++;
            same += value[0] == value[1];
        }
    }
    ck_assert_int_gt(both, MANY * 9 / 10);
    check_share(same, both, 0.5);
    rows_close(&rows);
}
END_TEST

/* With two keys, one of them often rare, either is the last with the same probability. */
START_TEST(the_last_key_in_context_is_any_of_those_before)
{
    Rows rows = rows_open("in-context-recall", (SyntheticShape){ .T = 12, .symbols = 4 });
    int both = 0, rare = 0;

    for (int i = 0; i < MANY; i++) {
        int ones = 0;

        next_row(&rows);
        for (int t = 0; t < 10; t += 2)
            ones += rows.id[t];
        if (ones == 1 || ones == 4) {
            both++;
            rare += rows.id[10] == (ones == 1);
        }
    }
    check_share(both, MANY, 10 / 32.0);
    check_share(rare, both, 0.5);
    rows_close(&rows);
}
END_TEST

/* The best that one can do who knows nothing but the distance. _i: the difficulty */
/* How far the shares of the two answers below some number are apart, in rows. */
static int most_apart(int count[2][SIDE])
{
    int most = 0;

    for (int d = 0, below = 0; d < SIDE; d++) {
        below += count[1][d] - count[0][d];
        most = abs(below) > most ? abs(below) : most;
    }
    return most;
}

START_TEST(the_places_of_the_dots_do_not_reveal_the_answer)
{
    static const int images[] = { MANY / 4, MANY / 4, MANY / 20 }; /* hard ones take long */
    Rows rows = rows_open("pathfinder", (SyntheticShape){ .T = SIDE * SIDE, .difficulty = _i });
    int count[PLACES][2][SIDE] = { 0 }, joined = 0, apart = 0;
    const int n = images[_i];

    for (int i = 0; i < n; i++) {
        const Dots dots = (next_row(&rows), dots_of(&rows));

        for (int p = 0; p < PLACES; p++)
            count[p][rows.target[0]][dots.place[p]]++;
        joined += rows.target[0], apart += dots.place[0];
    }
    check_share(joined, n, 0.5);
    ck_assert_int_gt(apart, 5 * n);
    for (int p = 0; p < PLACES; p++)
        ck_assert_msg(most_apart(count[p]) < 0.02 * n + 2 * sqrt(n), "place %d: %d of %d", p,
                      most_apart(count[p]), n);
    rows_close(&rows);
}
END_TEST

Suite *suite_draws(void)
{
    Suite *s = suite_create("draws");
    TCase *t = group(s, "draws");

    tcase_add_test(t, queries_of_mqar_are_at_places_by_the_power_law);
    tcase_add_test(t, queries_of_mqar_fall_on_the_places_that_those_before_left);
    tcase_add_test(t, keys_and_values_of_mqar_differ_and_are_any_of_their_half);
    tcase_add_test(t, noise_of_mqar_is_any_token_and_changes_no_answer);
    tcase_add_test(t, what_is_copied_is_any_symbols_at_any_places);
    tcase_add_test(t, a_row_of_induction_has_triggers_anywhere_and_often_one);
    tcase_add_test(t, all_keys_are_asked_for_equally_often);
    tcase_add_test(t, the_values_of_two_keys_are_drawn_apart);
    tcase_add_test(t, a_fifth_of_the_pairs_of_noisy_recall_are_noise_of_any_tokens);
    tcase_add_test(t, all_keys_of_memorization_are_asked_for_equally_often);
    tcase_add_test(t, all_symbols_of_compression_are_equally_likely);
    tcase_add_test(t, keys_of_fuzzy_recall_have_one_to_three_tokens_of_any_kind);
    tcase_add_test(t, what_is_asked_in_fuzzy_recall_was_anywhere);
    tcase_add_test(t, values_of_two_keys_in_context_are_independent);
    tcase_add_test(t, the_last_key_in_context_is_any_of_those_before);
    tcase_add_test(t, a_passkey_is_anywhere_in_the_text_of_the_paper);
    tcase_add_loop_test(t, an_image_of_pathfinder_has_its_paths_and_greys, 0, 3);
    tcase_add_loop_test(t, the_places_of_the_dots_do_not_reveal_the_answer, 0, 3);
    return s;
}
