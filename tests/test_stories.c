/* The built-in text: that its grammar is what it says, and that its bits are exact. */
#include "data/stories.h"
#include "data/stories_grammar.h"
#include "ops/base/random.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Alternative i of a list with its weight before a story has used any, or NULL after the last;
 * alternative 0 is NULL after the last list. List 0 is how a story begins. */
static const char *alternative(int list, int i, uint64_t *weight)
{
    const char *a = list < COUNT(lists) ? lists[list].text : "";

    for (int skip = i; skip > 0 && *a; skip--) {
        a += strcspn(a, "/");
        a += *a == '/';
    }
    if (!*a)
        return NULL;
    *weight = lists[list].flags & SKEWED ? 10000u / (unsigned)(i + 5) : 1;
    return a;
}

static Stories one(uint64_t seed, uint64_t number)
{
    Stories s = stories_write(seed, number, 1);

    ck_assert_uint_eq(s.next, number + 1);
    return s;
}

START_TEST(the_reader_finds_the_bits_of_the_writer)
{
    size_t bytes = 0;
    double bits = 0;

    for (uint64_t seed = 0; seed < 5; seed++) {
        Stories s = stories_write(seed, seed * 1000, 50000);

        ck_assert_double_eq_tol(stories_bits(s.text, s.bytes), s.bits, 1e-9 * s.bits);
        ck_assert_uint_ge(s.bytes, 50000);
        bytes += s.bytes, bits += s.bits;
        free(s.text);
    }
    printf("stories: %.4f bits per byte\n", bits / (double)bytes);
    ck_assert_double_gt(bits / (double)bytes, 0.3);
    ck_assert_double_lt(bits / (double)bytes, 1.5);
}
END_TEST

START_TEST(a_story_depends_on_its_seed_and_number_alone)
{
    Stories all = stories_write(3, 7, 20000), other = one(4, 7);
    size_t at = 0;

    for (uint64_t number = 7; number < all.next; number++) {
        Stories s = one(3, number);

        ck_assert_mem_eq(all.text + at, s.text, s.bytes);
        at += s.bytes;
        free(s.text);
    }
    ck_assert_uint_eq(at, all.bytes);
    ck_assert_int_ne(memcmp(all.text, other.text, 200), 0);
    free(all.text), free(other.text);
}
END_TEST

START_TEST(pieces_of_the_stories_are_contiguous)
{
    Stories a = stories_write(9, 0, 5000), b = stories_write(9, a.next, 5000);
    Stories both = stories_write(9, 0, a.bytes + b.bytes);

    ck_assert_uint_eq(both.next, b.next);
    ck_assert_uint_eq(both.bytes, a.bytes + b.bytes);
    ck_assert_mem_eq(both.text, a.text, a.bytes);
    ck_assert_mem_eq(both.text + a.bytes, b.text, b.bytes);
    ck_assert_double_eq_tol(both.bits, a.bits + b.bits, 1e-9 * both.bits);
    free(a.text), free(b.text), free(both.text);
}
END_TEST

START_TEST(the_text_is_plain_ascii_and_whole_stories)
{
    Stories s = stories_write(11, 0, 200000);
    size_t ends = 0;

    for (size_t i = 0; i < s.bytes; i++) {
        ck_assert(s.text[i] == '\n' || (s.text[i] >= ' ' && s.text[i] <= '~'));
        ck_assert_ptr_null(strchr("{}|/_", s.text[i]));
        ends += i > 0 && s.text[i] == '\n' && s.text[i - 1] == '\n';
    }
    ck_assert_uint_eq(ends, s.next);
    ck_assert_int_eq(memcmp(s.text + s.bytes - 2, "\n\n", 2), 0);
    ck_assert_uint_gt(s.bytes / s.next, 400);
    ck_assert_uint_lt(s.bytes / s.next, 900);
    free(s.text);
}
END_TEST

/* Two words of equal length change places with each other from `at` on. */
static void swap(char *at, const char *end, const char *a, const char *b)
{
    size_t n = strlen(a);

    for (; at + n <= end; at++)
        if (memcmp(at, a, n) == 0)
            memcpy(at, b, n);
        else if (memcmp(at, b, n) == 0)
            memcpy(at, a, n);
}

START_TEST(text_with_a_wrong_fact_has_probability_zero)
{
    int seen = 0;

    for (uint64_t number = 0; number < 1000; number++) {
        Stories s = one(1, number);
        char *last = NULL;
        int times = 0;

        for (char *p = s.text; p + 5 <= s.text + s.bytes; p++)
            if (memcmp(p, "Felix", 5) == 0)
                last = p, times++;
        if (times >= 3) {
            double bits;

            swap(last, s.text + s.bytes, "Felix", "Oscar");
            bits = stories_bits(s.text, s.bytes);
            ck_assert(bits < 0 || bits > s.bits + 1);
            swap(s.text, last, "Felix", "Oscar");
            ck_assert_double_eq_tol(stories_bits(s.text, s.bytes), s.bits, 1e-9 * s.bits);
            seen++;
        }
        free(s.text);
    }
    ck_assert_int_gt(seen, 20);
}
END_TEST

/* Bytes up to the first slot, the first other form, or the end. */
static size_t plain(const char *alternative)
{
    return strcspn(alternative, "{|/");
}

/* A slot that every alternative of its list meets filled: what it says is no choice. */
static bool filled(const char *at)
{
    static const char *const slot[] = { "{hero}",    "{friend}",   "{animal}",
                                        "{fanimal}", "{Hero:she}", "{Hero:her}" };

    for (int i = 0; i < COUNT(slot); i++)
        if (strncmp(at, slot[i], strlen(slot[i])) == 0)
            return true;
    return false;
}

/* They part before the end of either, and before a slot that is still open. */
static bool part(const char *a, const char *b)
{
    while (!strchr("|/", *a) && !strchr("|/", *b)) {
        size_t n = *a == '{' ? strcspn(a, "}") : 1;

        if ((*a == '{' && !filled(a)) || (*b == '{' && !filled(b)))
            return false;
        if (strncmp(a, b, n) != 0)
            return true;
        a += n, b += n;
    }
    return false;
}

START_TEST(no_alternative_is_a_prefix_of_another)
{
    const char *a, *b;
    uint64_t w;
    int pairs = 0;

    for (int list = 0; alternative(list, 0, &w); list++)
        for (int i = 0; (a = alternative(list, i, &w)) != NULL; i++) {
            ck_assert_uint_gt(w, 0);
            ck_assert_int_lt(i, 64);
            for (int j = 0; j < i; j++, pairs++) {
                b = alternative(list, j, &w);
                ck_assert_msg(part(a, b), "list %d: %.30s, %.30s", list, a, b);
            }
        }
    ck_assert_int_gt(pairs, 5000);
}
END_TEST

/* A clash of heads stops the reader; here every alternative is met, in many contexts. */
START_TEST(much_text_is_unambiguous)
{
    Stories s = stories_write(21, 0, in_double ? 400000 : 2000000);

    ck_assert_double_eq_tol(stories_bits(s.text, s.bytes), s.bits, 1e-9 * s.bits);
    free(s.text);
}
END_TEST

START_TEST(openings_occur_as_often_as_their_weights_say)
{
    enum { N = 4000 };
    int count[64] = { 0 };
    uint64_t w, total = 0;
    const char *a;

    for (uint64_t number = 0; number < N; number++) {
        Stories s = one(31, number);
        int fits = 0;

        for (int i = 0; (a = alternative(0, i, &w)) != NULL; i++)
            if (memcmp(s.text, a, plain(a)) == 0)
                count[i]++, fits++;
        ck_assert_int_eq(fits, 1);
        free(s.text);
    }
    for (int i = 0; alternative(0, i, &w); i++)
        total += w;
    for (int i = 0; alternative(0, i, &w); i++) {
        double p = (double)w / (double)total;

        ck_assert_double_eq_tol(count[i], N * p, 5 * sqrt(N * p * (1 - p)));
    }
}
END_TEST

START_TEST(equal_weights_are_equally_frequent)
{
    static const char *const day[] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday" };
    enum { N = 4000 };
    int count[7] = { 0 }, with = 0;

    for (uint64_t number = 0; number < N; number++) {
        Stories s = one(41, number);

        if (memcmp(s.text, "On a ", 5) == 0) {
            const char *at = memchr(s.text + 5, ' ', 20);

            for (int d = 0; d < 7; d++)
                count[d] += memcmp(at + 1, day[d], strlen(day[d])) == 0;
            with++;
        }
        free(s.text);
    }
    for (int d = 0; d < 7; d++)
        ck_assert_double_eq_tol(count[d], with / 7.0, 5 * sqrt(with * 6 / 49.0));
}
END_TEST

START_TEST(other_texts_have_no_entropy_and_do_not_crash)
{
    Stories s = stories_write(51, 0, 1000);
    Random r = random_stream(1, RANDOM_TEST, 0);
    double mean = s.bits / (double)s.next;

    ck_assert_double_eq(stories_bits("", 0), 0);
    ck_assert_double_eq(stories_bits("\n\n", 2), -1);
    ck_assert_double_gt(mean, 100);
    for (size_t n = 1; n < s.bytes; n++) {
        char *cut = malloc(n); /* as long as the text, so that a sanitizer sees a step too far */
        bool whole = n > 1 && s.text[n - 1] == '\n' && s.text[n - 2] == '\n';

        memcpy(cut, s.text, n);
        ck_assert_int_eq(stories_bits(cut, n) >= 0, whole);
        free(cut);
    }
    for (uint64_t i = 0; i < 1500; i++) {
        size_t at = random_below(r, 2 * i, s.bytes);
        char was = s.text[at], is = (char)random_below(r, 2 * i + 1, 256);
        double bits;

        s.text[at] = is;
        bits = stories_bits(s.text, s.bytes);
        ck_assert(bits == -1 || (bits > 0 && isfinite(bits)));
        s.text[at] = was;
    }
    free(s.text);
}
END_TEST

Suite *suite_stories(void)
{
    Suite *s = suite_create("stories");
    TCase *t = tcase_create("stories");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_reader_finds_the_bits_of_the_writer);
    tcase_add_test(t, a_story_depends_on_its_seed_and_number_alone);
    tcase_add_test(t, pieces_of_the_stories_are_contiguous);
    tcase_add_test(t, the_text_is_plain_ascii_and_whole_stories);
    tcase_add_test(t, text_with_a_wrong_fact_has_probability_zero);
    tcase_add_test(t, no_alternative_is_a_prefix_of_another);
    tcase_add_test(t, much_text_is_unambiguous);
    tcase_add_test(t, openings_occur_as_often_as_their_weights_say);
    tcase_add_test(t, equal_weights_are_equally_frequent);
    tcase_add_test(t, other_texts_have_no_entropy_and_do_not_crash);
    suite_add_tcase(s, t);
    return s;
}
