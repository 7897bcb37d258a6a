/* ListOps: its lengths, classes and tokens are as frequent as they should be. */
#include "ops/base/error.h"
#include "tests/rows.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

/* The same integers in both builds: all of them in the one that the planted bugs are tried in. */
enum { SOME = sizeof(real) == sizeof(double) ? MANY : MANY / 4 };

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
    Rows rows = rows_open("listops", s);
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
    rows_close(&rows);
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
    Census arena = census_of((SyntheticShape){ .T = 2000 }, SOME / 4);
    Census small = census_of((SyntheticShape){ .T = 64 }, SOME);
    Census middle = census_of((SyntheticShape){ .T = 256, .least = 100 }, SOME);

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
        Rows rows = rows_open("listops", of[k].s);
        int count[2][256] = { { 0 } }, all = 0;

        for (int i = 0; i < SOME; all++) {
            int n = naive_length(of[k].most, 1, r, &drawn);

            if (of[k].s.least < n && n < of[k].s.T)
                count[0][n]++, i++;
        }
        ck_assert_double_eq_tol(SOME / (double)all, of[k].share, 0.04 * of[k].share);
        for (int i = 0; i < SOME; i++) {
            next_row(&rows);
            count[1][rows.n]++;
        }
        for (int n = 0; n < COUNT(count[0]); n++)
            ck_assert_double_eq_tol(count[0][n], count[1][n],
                                    5 * sqrt(count[0][n] + (double)count[1][n]) + 1e-9);
        rows_close(&rows);
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

Suite *suite_listops(void)
{
    Suite *s = suite_create("listops");
    TCase *t = group(s, "listops");

    tcase_add_test(t, rows_of_listops_are_as_long_and_their_classes_as_frequent_as_the_arenas);
    tcase_add_test(t, lengths_of_listops_are_those_of_all_expressions_that_fit);
    tcase_add_test(t, operators_and_digits_of_listops_are_as_frequent_as_each_other);
    return s;
}
