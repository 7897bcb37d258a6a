/* The plotter: well-formed whatever it is given, small, and true to the extremes. */
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/xml.h"
#include "tools/draw/axis.h"
#include "tools/draw/plot.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const double nowhere = (double)NAN;

enum { MANY = 100000, SIZE_MOST = 200000 };

static char *draw(const Plot *plot)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(out);
    plot_svg(plot, out);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_uint_eq(strlen(text), size);
    return text;
}

/* Draws it on all four kinds of axes; each must be well-formed, small, and free of NaN. */
static void check_plot(Plot plot)
{
    for (int axes = 0; axes < 4; axes++) {
        plot.log_x = axes & 1;
        plot.log_y = axes & 2;
        char *text = draw(&plot), *again = draw(&plot);

        ck_assert(well_formed(text));
        ck_assert_str_eq(text, again);
        ck_assert_uint_lt(strlen(text), SIZE_MOST);
        for (char *d = text; (d = strstr(d, " d=\"")); d++) {
            d += 4;
            for (size_t n = strcspn(d, "\""); n-- > 0;)
                ck_assert_msg(strchr("0123456789.- MLahmvlzh", d[n]), "path %.60s", d);
        }
        free(text);
        free(again);
    }
}

static void check_series(const double *x, const double *y, const double *error, int n)
{
    for (int style = 0; style < 4; style++) {
        Series s = { "series",           x,          y,     error, n, style & 2, style & 1,
                     style & 1 ? 50 : 0, style == 2, "note" };
        PlotLine line = { 1.5, "floor" };

        check_plot((Plot){ "title", "subtitle", "x", "y", false, false, &s, 1, &line, 1 });
    }
}

START_TEST(the_xml_checker_rejects_invalid_xml)
{
    static const char *const bad[] = { "",
                                       "<a>",
                                       "<a></b>",
                                       "<a>&b;</a>",
                                       "<a>&</a>",
                                       "<a b=c/>",
                                       "<a b=\"<\"/>",
                                       "<a/><a/>",
                                       "<a>\x1b</a>",
                                       "<a>\xff</a>",
                                       "<a>\xc0\x80</a>",
                                       "<a>\xed\xa0\x80</a>",
                                       "<a>]]></a>",
                                       "x<a/>" };

    ck_assert(well_formed("<a b=\"&#60;\"><c/>é&lt;</a>\n"));
    for (int i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!well_formed(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(a_hostile_name_cannot_break_the_xml)
{
    static const char *const name[] = { "<script>alert(1)</script>",
                                        "]]>",
                                        "\x1b]0;title\x07",
                                        "\xff\xfe\xc0\x80",
                                        "a\"b'c&amp;",
                                        "\xed\xa0\x80\xef\xbf\xbf",
                                        "half a character \xe2\x82",
                                        "-->",
                                        "line\nline\ttab\r\n",
                                        "\xc2\x9b"
                                        "31m",
                                        "\xe2\x80\xaereversed",
                                        "\xf4\x90\x80\x80",
                                        "naïve 中文 \xf0\x9f\x98\x80",
                                        "",
                                        NULL };
    double x[] = { 1, 2, 3 };

    for (int i = 0; i < COUNT(name); i++) {
        Series s = { name[i], x, x, NULL, 3, true, i % 2, 0, false, name[i] };
        PlotLine line = { 2, name[i] };
        const char *t = name[i];

        check_plot((Plot){ t, t, t, t, false, false, &s, 1, &line, 1 });
        char *text = draw(&(Plot){ t, t, t, t, false, false, &s, 1, &line, 1 });
        ck_assert_ptr_null(strstr(text, "<script"));
        ck_assert_ptr_null(strstr(text, "\xe2\x80\xae"));
        free(text);
    }
}
END_TEST

START_TEST(a_long_name_is_cut_short)
{
    static char name[MANY];
    double x[] = { 1, 2, 3 };
    Series s = { name, x, x, NULL, 3, true, false, 0, false, name };

    memset(name, '"', sizeof name - 1);
    check_plot((Plot){ name, name, name, name, false, false, &s, 1, &(PlotLine){ 2, name }, 1 });
}
END_TEST

START_TEST(unusual_data_are_drawn)
{
    double up[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, flat[] = { 3, 3, 3, 3, 3, 3, 3, 3 };
    double gaps[] = { nowhere, 1, nowhere, nowhere, 2, 3, HUGE_VAL, -HUGE_VAL };
    double huge[] = { 1e300, -1e300, 1e-300, -1e-300, 0, 1e308, -1e308, 5e-324 };
    double tiny[] = { 1e-300, 2e-300, 3e-300, 1e-300, 2e-300, 1e-310, 0, 1e-299 };
    double close[] = { 1, 1 + 1e-15, 1, 1, 1 - 1e-15, 1, 1, 1 };
    double below[] = { -1, 0, -3, 0.5, 0, 2, -7, 4 },
           none[] = { nowhere, nowhere, nowhere, nowhere, 0, 0, 0, 0 };
    const double *kind[] = { up, flat, gaps, huge, tiny, close, below, none };

    for (int i = 0; i < COUNT(kind); i++)
        for (int j = 0; j < COUNT(kind); j++)
            for (int n = 0; n <= 8; n += n < 2 ? 1 : 6)
                check_series(kind[i], kind[j], (i + j) % 2 ? kind[(i + 2 * j) % 8] : NULL, n);
}
END_TEST

START_TEST(a_chart_of_nothing_says_so)
{
    double x[] = { 1, 2 }, y[] = { nowhere, nowhere }, low[] = { 0, -1 };
    Series s[] = { { .name = "empty" },
                   { "not numbers", x, y, NULL, 2, true, true, 9, false, NULL },
                   { "below", x, low, NULL, 2, true, true, 0, false, NULL } };
    PlotLine line = { 1, "floor" };
    Plot plot = { .log_y = true, .series = s, .n_series = 3, .lines = &line, .n_lines = 1 };

    for (int n = 0; n <= 3; n++) {
        plot.n_series = n;
        char *text = draw(&plot);

        ck_assert(well_formed(text));
        ck_assert_ptr_nonnull(strstr(text, "no data"));
        free(text);
    }
}
END_TEST

START_TEST(a_long_series_is_small_and_keeps_its_extremes)
{
    static double x[MANY], y[MANY], wild[MANY], log_x[MANY];
    Series s[8];

    for (int i = 0; i < MANY; i++) {
        x[i] = i;
        log_x[i] = exp2(i * 20. / MANY);
        y[i] = random_normal(random_stream(1, RANDOM_TEST, 0), (uint64_t)i) / 100;
        wild[i] = i % 2 ? y[i] : nowhere;
    }
    y[34567] = 10, y[76543] = -10;
    check_series(x, wild, NULL, MANY);
    check_series(log_x, y, y, MANY);
    for (int i = 0; i < 8; i++)
        s[i] = (Series){ "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
                         x,
                         y,
                         y,
                         MANY,
                         true,
                         true,
                         50,
                         false,
                         NULL };
    check_plot((Plot){ .series = s, .n_series = 8 });

    s[0] = (Series){ "one", x, y, NULL, MANY, false, false, 0, false, NULL };
    char *text = draw(&(Plot){ .series = s, .n_series = 1 });
    /* the axis is from -15 to 15 and 378 pixels high, from 478 up to 100: 10 and -10 are at 163,
     * 415 */
    ck_assert_ptr_nonnull(strstr(text, " 163 "));
    ck_assert_ptr_nonnull(strstr(text, " 415 "));
    free(text);
}
END_TEST

START_TEST(a_gap_breaks_the_line)
{
    double x[] = { 1, 2, 3, 4, 5, 6, 7 }, y[] = { 1, 2, nowhere, 4, nowhere, 6, 7 };
    char *text = draw(&(Plot){ .series = &(Series){ .x = x, .y = y, .n = 7 }, .n_series = 1 });
    char *path = strstr(text, "<path class=\"line\" d=\"") + 22;
    int moves = 0, dots = 0;

    for (; *path != '"'; path++)
        moves += *path == 'M', dots += *path == 'h';
    ck_assert_int_eq(moves, 3);
    ck_assert_int_eq(dots, 1);
    free(text);
}
END_TEST

START_TEST(a_point_has_a_tooltip_with_its_values)
{
    double x[] = { 250, 500, 750 }, y[] = { 2, 1.875, 1.9 }, error[] = { 0.5, 0.25, 0.125 };
    Series s = { "validation", x, y, error, 3, true, true, 0, false, NULL };
    char *text = draw(&(Plot){ .series = &s, .n_series = 1 });

    ck_assert_ptr_nonnull(strstr(text, "<title>validation: 1.875 ± 0.25 at 500</title>"));
    ck_assert_ptr_nonnull(strstr(text, ">best 1.875 at 500</text>"));
    free(text);
    x[0] = 1796071711000, x[1] = 1796071711001, x[2] = 1796071711002.5;
    text = draw(&(Plot){ .series = &s, .n_series = 1 });
    ck_assert_ptr_nonnull(strstr(text, "<title>validation: 1.875 ± 0.25 at 1796071711001</title>"));
    ck_assert_ptr_nonnull(
        strstr(text, "<title>validation: 1.9 ± 0.125 at 1.79607171×10¹²</title>"));
    free(text);
}
END_TEST

START_TEST(a_shadow_has_the_colour_of_the_next_and_no_label)
{
    double x[] = { 1, 2 };
    Series s[20];

    for (int i = 0; i < 20; i++)
        s[i] = (Series){ .name = "same", .x = x, .y = x, .n = 2, .shadow = i % 2 == 0 };
    char *text = draw(&(Plot){ .series = s, .n_series = 4 });
    ck_assert_int_eq(times(text, "<g class=\"s0 d0\">"), 3); /* two lines and a label */
    ck_assert_int_eq(times(text, "<g class=\"s1 d0\">"), 3);
    ck_assert_int_eq(times(text, "<g class=\"s2 d0\">"), 0);
    ck_assert_int_eq(times(text, "class=\"line thin\""), 2);
    free(text);
    text = draw(&(Plot){ .series = s, .n_series = 20 });
    ck_assert_int_eq(times(text, "<g class=\"s1 d1\">"), 3);
    ck_assert_int_eq(times(text, "class=\"name\""), 10);
    ck_assert_ptr_null(strstr(text, "more"));
    free(text);
}
END_TEST

START_TEST(a_note_is_below_the_name_and_in_tooltips)
{
    double x[] = { 1, 2 };
    Series s = { .name = "run", .x = x, .y = x, .n = 2, .note = "sliding <16>" };
    char *text = draw(&(Plot){ .series = &s, .n_series = 1 });

    ck_assert_ptr_nonnull(strstr(text, "<title>run, sliding &#60;16&#62;: 2 at 2</title>"));
    ck_assert_ptr_nonnull(strstr(text, ">sliding &#60;16&#62;</text>"));
    free(text);
}
END_TEST

START_TEST(labels_never_overlap)
{
    static Series s[100];
    double x[] = { 1, 2 }, y[] = { 1, 1 }, last = 0;

    for (int i = 0; i < 100; i++)
        s[i] = (Series){ "same", x, y, NULL, 2, false, i % 3 == 0, 0, false, NULL };
    for (int n = 1; n <= 100; n += n < 25 ? 1 : 25) {
        char *text = draw(&(Plot){ .series = s, .n_series = n });

        ck_assert(well_formed(text));
        last = 0;
        for (char *p = text; (p = strstr(p, "<text class=\"name\"")); p++) {
            double at = strtod(strstr(p, "y=\"") + 3, NULL);
            ck_assert_double_ge(at - last, 17.9);
            last = at;
        }
        ck_assert_double_lt(last, 500);
        free(text);
    }
}
END_TEST

START_TEST(ticks_are_1_2_or_5_and_cover_the_range)
{
    Random r = random_stream(3, RANDOM_TEST, 0);
    double tick[TICKS_MAX];

    for (uint64_t i = 0; i < 20000; i++) {
        double scale = pow(10, (double)random_below(r, 4 * i, 600) - 300);
        double lo = random_normal(r, 4 * i + 1) * scale;
        double hi = lo + fabs(random_normal(r, 4 * i + 2)) * scale + 1e-9 * scale;
        int most = 3 + (int)random_below(r, 4 * i + 3, 10), n = axis_ticks(lo, hi, most, tick);
        double step = (tick[n - 1] - tick[0]) / (n - 1);
        double lead = step / pow(10, floor(log10(step) + 1e-6));

        ck_assert_int_ge(n, 2);
        ck_assert_int_le(n, most);
        ck_assert_double_le(tick[0], lo + 1e-5 * step);
        ck_assert_double_ge(tick[n - 1], hi - 1e-5 * step);
        ck_assert(fabs(lead - 1) < 1e-4 || fabs(lead - 2) < 1e-4 || fabs(lead - 5) < 1e-4);
        for (int j = 0; j < n; j++)
            ck_assert_double_eq_tol(tick[j] / step, round(tick[j] / step), 1e-3);
    }
}
END_TEST

static void check_labels(Axis axis, double lo, double hi, const char *labels)
{
    char all[1000] = "";

    axis_see(&axis, lo);
    axis_see(&axis, hi);
    axis_fit(&axis);
    for (int i = 0; i < axis.n; i++)
        if (axis.label[i].n)
            strcat(strcat(all, all[0] ? " " : ""), axis.label[i].at);
    ck_assert_str_eq(all, labels);
}

START_TEST(labels_are_what_a_reader_would_write)
{
    check_labels(axis_new(false, false), 1, 2000, "0 500 1000 1500 2000");
    check_labels(axis_new(false, false), 0, 100000, "0 20k 40k 60k 80k 100k");
    check_labels(axis_new(false, false), 1, 4, "1 2 3 4");
    check_labels(axis_new(false, false), 1, 4.5, "1.0 1.5 2.0 2.5 3.0 3.5 4.0 4.5");
    check_labels(axis_new(false, false), 7, 7, "6.5 7.0 7.5");
    check_labels(axis_new(false, true), 1.4, 2.9, "1.0 1.5 2.0 2.5 3.0");
    check_labels(axis_new(false, true), -1e-9, 1e-9,
                 "−1.5×10⁻⁹ −1.0×10⁻⁹ −0.5×10⁻⁹ 0 "
                 "0.5×10⁻⁹ 1.0×10⁻⁹ 1.5×10⁻⁹");
    check_labels(axis_new(true, false), 64, 1024, "64 128 256 512 1024");
    check_labels(axis_new(true, false), 10, 1e6, "10 100 1000 10k 100k 1M");
    check_labels(axis_new(true, false), 1e-9, 1, "10⁻⁹ 10⁻⁸ 10⁻⁷ 10⁻⁶ 10⁻⁵ 10⁻⁴ 0.001 0.01 0.1 1");
    check_labels(axis_new(true, false), 3, 60, "5 10 20 50");
}
END_TEST

START_TEST(numbers_have_the_digits_asked_for)
{
    static const struct {
        double v;
        int digits;
        const char *text;
    } number[] = { { 0, 6, "0" },
                   { 1.5, 6, "1.5" },
                   { -2.25, 3, "−2.25" },
                   { 1e300, 6, "1×10³⁰⁰" },
                   { 1.23456789, 4, "1.235" },
                   { 9.9999, 3, "10" },
                   { 2000, 9, "2000" },
                   { 1e-300, 4, "1×10⁻³⁰⁰" },
                   { 0.000123, 3, "0.000123" },
                   { (double)NAN, 3, "NaN" },
                   { -HUGE_VAL, 3, "−∞" } };

    for (int i = 0; i < COUNT(number); i++)
        ck_assert_str_eq(number_text(number[i].v, number[i].digits).at, number[i].text);
}
END_TEST

START_TEST(a_locale_with_commas_changes_nothing)
{
    static const char *const name[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8" };
    double x[] = { 0.1, 0.25, 0.7 };
    Plot plot = { .series = &(Series){ .x = x, .y = x, .n = 3, .points = true }, .n_series = 1 };
    char *before = draw(&plot);

    for (int i = 0; i < COUNT(name); i++)
        setlocale(LC_ALL, name[i]);
    char *after = draw(&plot);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

Suite *suite_plot(void)
{
    Suite *s = suite_create("plot");
    TCase *t = tcase_create("plot");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_xml_checker_rejects_invalid_xml);
    tcase_add_test(t, a_hostile_name_cannot_break_the_xml);
    tcase_add_test(t, a_long_name_is_cut_short);
    tcase_add_test(t, unusual_data_are_drawn);
    tcase_add_test(t, a_chart_of_nothing_says_so);
    tcase_add_test(t, a_long_series_is_small_and_keeps_its_extremes);
    tcase_add_test(t, a_gap_breaks_the_line);
    tcase_add_test(t, a_point_has_a_tooltip_with_its_values);
    tcase_add_test(t, a_shadow_has_the_colour_of_the_next_and_no_label);
    tcase_add_test(t, a_note_is_below_the_name_and_in_tooltips);
    tcase_add_test(t, labels_never_overlap);
    tcase_add_test(t, ticks_are_1_2_or_5_and_cover_the_range);
    tcase_add_test(t, labels_are_what_a_reader_would_write);
    tcase_add_test(t, numbers_have_the_digits_asked_for);
    tcase_add_test(t, a_locale_with_commas_changes_nothing);
    suite_add_tcase(s, t);
    return s;
}
