/* The rows of ./bench: kept, written, read again, and compared. */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/bench/bench.h"

#include <math.h>
#include <string.h>

static const Row machine = {
    .group = "machine", .name = "a processor", .seconds = 1, .flops = 4e11
};

/* A row that took `seconds` on a machine with that peak. */
static Rows rows_of(const char *processor, double peak, const char *name, double seconds)
{
    Rows rows = { 0 };

    rows_put(&rows, (Row){ .group = "machine", .name = processor, .seconds = 1, .flops = peak });
    rows_put(&rows, (Row){ .group = "op", .name = name, .seconds = seconds, .held = 100 });
    return rows;
}

static void write_rows(const Rows *rows)
{
    FILE *file = fopen(in_folder("rows"), "w");

    ck_assert_ptr_nonnull(file);
    rows_write(file, (void *)rows);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(rows_are_read_as_they_were_written)
{
    const Row r = { .group = "attention",
                    .name = "relu, length 8, batch 2; 2 x 8",
                    .seconds = 0.5,
                    .flops = 3e9,
                    .bytes = 7e6,
                    .mechanism = "relu",
                    .length = 8,
                    .batch = 2,
                    .forward = 11,
                    .backward = 22,
                    .step = 33,
                    .held = 44 };
    Rows rows = { 0 };

    rows_put(&rows, machine);
    rows_put(&rows, (Row){ .group = "option", .name = "lengths 8,9" });
    rows_put(&rows, r);
    write_rows(&rows);
    Rows again = rows_read(in_folder("rows"));
    const Row *x = rows_find(&again, r.group, r.name);

    ck_assert_int_eq(again.n, 3);
    ck_assert_double_eq(rows_machine(&again)->flops, 4e11);
    ck_assert_ptr_nonnull(rows_find(&again, "option", "lengths 8,9"));
    ck_assert_ptr_nonnull(x);
    ck_assert_double_eq(x->seconds, r.seconds);
    ck_assert_double_eq(x->flops, r.flops);
    ck_assert_double_eq(x->bytes, r.bytes);
    ck_assert_str_eq(x->mechanism, "relu");
    ck_assert_int_eq(x->length, 8);
    ck_assert_int_eq(x->batch, 2);
    ck_assert_double_eq(x->forward, 11);
    ck_assert_double_eq(x->backward, 22);
    ck_assert_double_eq(x->step, 33);
    ck_assert_double_eq(x->held, 44);
    rows_free(&rows);
    rows_free(&again);
}
END_TEST

#define HEAD                                                                                       \
    "group,name,seconds,flop_s,byte_s,share_of_peak,mechanism,length,batch,forward_ns_token,"      \
    "backward_ns_token,bytes_token,decode_ns_token\n"
#define MACHINE "machine,\"a\",1,1,,,,,,,,,\n"

static const struct {
    const char *file, *words;
} damaged[] = {
    { "", "line 1" },
    { "another,head\n", "line 1" },
    { "x," HEAD, "line 1" },
    { "group,name,seconds\n", "line 1" },
    { HEAD, "line 2" },
    { HEAD MACHINE "op,\"x\",1,,,,,,,,,,", "line 3" },            /* no end */
    { HEAD MACHINE "op,\"x\",1,,,,,,,,,\n", "line 3" },           /* a field less */
    { HEAD MACHINE "op,\"x\",1,,,,,,,,,,,\n", "line 3" },         /* a field more */
    { HEAD MACHINE "op,\"x\",,,,,,,,,,,\n", "line 3" },           /* no time */
    { HEAD MACHINE "op,\"x\",0,,,,,,,,,,\n", "line 3" },          /* none at all */
    { HEAD MACHINE "op,\"x\",-1,,,,,,,,,,\n", "line 3" },         /* not one */
    { HEAD MACHINE "op,\"x\",nan,,,,,,,,,,\n", "line 3" },        /* nor this */
    { HEAD MACHINE "op,\"x\",1e300,1e300,,,,,,,,,\n", "line 3" }, /* more work than counts */
    { HEAD MACHINE "op,\"x\",1,,,,,1e10,,,,,\n", "line 3" },      /* a length beyond int */
    { HEAD MACHINE "op,\"x\ny\",1,,,,,,,,,,\n", "line 3" },       /* a name of two lines */
    { HEAD MACHINE "op,\"\033[31m\",1,,,,,,,,,,\n", "line 3" },   /* a name that colours */
    { HEAD "op,\"x\",1,,,,,,,,,,\n", "line 3" },                  /* no machine */
    { HEAD "machine,\"a\",1,,,,,,,,,,\n", "line 3" },             /* which can do nothing */
};

static void read_them(const char *path)
{
    Rows rows = rows_read(path);

    rows_free(&rows);
}

START_TEST(a_damaged_row_is_refused)
{
    const char *path = in_folder("rows");

    put(path, damaged[_i].file, strlen(damaged[_i].file));
    check_dies(read_them, path, EXIT_DATA, damaged[_i].words);
}
END_TEST

START_TEST(the_faster_of_two_measurements_is_kept)
{
    Rows rows = { 0 };
    Row r = { .group = "op", .name = "x", .seconds = 2, .step = 5, .held = 1 };

    rows_put(&rows, r);
    r.seconds = 3, r.step = 4, r.held = 2;
    rows_put(&rows, r);
    ck_assert_int_eq(rows.n, 1);
    ck_assert_double_eq(rows.at->seconds, 2);
    ck_assert_double_eq(rows.at->step, 4);
    ck_assert_double_eq(rows.at->held, 1);
    r.seconds = 1, r.step = 6, r.held = 3;
    rows_put(&rows, r);
    ck_assert_double_eq(rows.at->seconds, 1);
    ck_assert_double_eq(rows.at->step, 4);
    ck_assert_double_eq(rows.at->held, 3);
    r.group = "other";
    rows_put(&rows, r);
    ck_assert_int_eq(rows.n, 2);
    rows_free(&rows);
}
END_TEST

/* What was 1 s at 4e11, now: processor, peak, seconds; what decides, and its verdict. */
static const struct {
    const char *processor;
    double peak, seconds;
    bool by_share;
    double slower;
} changes[] = {
    { "a", 4e11, 1.25, false, 1.25 },    /* slower */
    { "a", 4.04e11, 1.25, false, 1.25 }, /* the same clock, as far as it can be measured */
    { "a", 3.2e11, 1.25, true, 1 },      /* a slower clock, and nothing else */
    { "a", 8e11, 1, true, 2 },           /* a faster one, of no use */
    { "b", 4e11, 1.25, true, 1.25 },     /* another machine of the same speed */
    { "b", 8e11, 0.5, true, 1 },         /* one that is twice as fast */
};

START_TEST(times_are_compared_at_the_same_peak_and_shares_otherwise)
{
    Against a = { .path = "x", .rows = rows_of("a", 4e11, "x", 1), .margin = 0.05 };
    Rows now = rows_of(changes[_i].processor, changes[_i].peak, "x", changes[_i].seconds);
    Change c;

    ck_assert(against_by_share(&a, &now) == changes[_i].by_share);
    ck_assert(against_change(&a, &now, now.at[1], &c));
    ck_assert_double_eq_tol(c.slower, changes[_i].slower, 1e-12);
    ck_assert_double_eq_tol(c.time, changes[_i].seconds, 1e-12);
    ck_assert_double_eq_tol(c.share, 4e11 / changes[_i].peak / changes[_i].seconds, 1e-12);
    ck_assert_double_eq_tol(c.memory, 1, 1e-12);
    ck_assert_int_eq(against_slower(&a, &now), changes[_i].slower > 1.05);
    rows_free(&a.rows);
    rows_free(&now);
}
END_TEST

START_TEST(a_slower_decoding_is_slower)
{
    Against a = { .path = "x", .rows = rows_of("a", 4e11, "x", 1), .margin = 0.05 };
    Rows now = rows_of("a", 4e11, "x", 0.9);
    Change c;

    a.rows.at[1].step = 10, now.at[1].step = 12;
    ck_assert(against_change(&a, &now, now.at[1], &c));
    ck_assert_double_eq_tol(c.slower, 1.2, 1e-12);
    ck_assert_int_eq(against_slower(&a, &now), 1);
    rows_free(&a.rows);
    rows_free(&now);
}
END_TEST

START_TEST(a_new_row_is_not_slower)
{
    Against a = { .path = "x", .rows = rows_of("a", 4e11, "x", 1), .margin = 0.05 };
    Rows now = rows_of("a", 4e11, "y", 100);
    Change c;

    ck_assert(!against_change(&a, &now, now.at[1], &c));
    ck_assert_int_eq(against_slower(&a, &now), 0);
    rows_free(&a.rows);
    rows_free(&now);
}
END_TEST

START_TEST(only_slower_rows_are_measured_again)
{
    Bench b = { .against = { .path = "x", .rows = rows_of("a", 4e11, "x", 1), .margin = 0.05 },
                .rows = rows_of("a", 4e11, "x", 2) };

    rows_put(&b.against.rows, (Row){ .group = "op", .name = "same", .seconds = 1 });
    rows_put(&b.rows, (Row){ .group = "op", .name = "same", .seconds = 1 });
    rows_put(&b.rows, (Row){ .group = "op", .name = "new", .seconds = 1 });
    ck_assert(bench_wanted(&b, "op", "never measured"));
    b.slower_only = true;
    ck_assert(bench_wanted(&b, "op", "x"));
    ck_assert(!bench_wanted(&b, "op", "same"));
    ck_assert(!bench_wanted(&b, "op", "new"));
    ck_assert(!bench_wanted(&b, "op", "never measured"));
    rows_free(&b.against.rows);
    rows_free(&b.rows);
}
END_TEST

/* Where the lines through (64, 1) (256, 4) and (64, 2) (256, 2) meet: at 128. */
START_TEST(crossings_are_interpolated_on_logarithmic_axes)
{
    Growth a = { .n = 2, .length = { 64, 256 }, .time = { 1, 4 } };
    Growth b = { .n = 2, .length = { 64, 256 }, .time = { 2, 2 } };

    ck_assert_double_eq_tol(growth_crossing(&a, &b), 128, 1e-9);
    ck_assert_double_eq(growth_crossing(&b, &a), 0);
    a.time[0] = 3;
    ck_assert_double_eq(growth_crossing(&a, &b), 0);
}
END_TEST

START_TEST(a_crossing_that_reverses_does_not_count)
{
    Growth a = { .n = 3, .length = { 64, 128, 256 }, .time = { 1, 4, 1 } };
    Growth b = { .n = 3, .length = { 64, 128, 256 }, .time = { 2, 2, 2 } };

    ck_assert_double_eq(growth_crossing(&a, &b), 0);
}
END_TEST

START_TEST(a_share_above_one_is_measured_again)
{
    Bench b = { .tape = { .pool = pool_new(2) }, .peak = 1 };
    const Row r = { .group = "op", .name = "x", .seconds = 1, .flops = 1e6 };

    ck_assert_double_lt(bench_share(&b, r), 1);
    ck_assert_double_gt(b.peak, 1e6);
    ck_assert_double_eq(rows_machine(&b.rows)->flops, b.peak);
    double peak = b.peak = 1e30;
    bench_peak(&b);
    ck_assert_double_eq(b.peak, peak);
    rows_free(&b.rows);
    pool_free(b.tape.pool);
}
END_TEST

Suite *suite_bench(void)
{
    Suite *s = suite_create("bench");
    TCase *c = with_folder(s, "rows");

    tcase_add_test(c, rows_are_read_as_they_were_written);
    tcase_add_test(c, the_faster_of_two_measurements_is_kept);
    tcase_add_loop_test(c, a_damaged_row_is_refused, 0, COUNT(damaged));
    c = group(s, "against");
    tcase_add_loop_test(c, times_are_compared_at_the_same_peak_and_shares_otherwise, 0,
                        COUNT(changes));
    tcase_add_test(c, a_slower_decoding_is_slower);
    tcase_add_test(c, a_new_row_is_not_slower);
    tcase_add_test(c, only_slower_rows_are_measured_again);
    c = group(s, "growth");
    tcase_add_test(c, crossings_are_interpolated_on_logarithmic_axes);
    tcase_add_test(c, a_crossing_that_reverses_does_not_count);
    c = group(s, "machine");
    tcase_add_test(c, a_share_above_one_is_measured_again);
    return s;
}
