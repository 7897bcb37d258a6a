/* What a terminal gets to see of a sample. */
#include "data/stops.h"
#include "ops/base/error.h"
#include "ops/base/text.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* What a stream has printed so far. */
typedef struct {
    Stream stream;
    char *at;
    size_t n;
} Printer;

static void printer_open(Printer *p, bool raw)
{
    *p = (Printer){ .stream.raw = raw };
    p->stream.out = open_memstream(&p->at, &p->n);
    ck_assert_ptr_nonnull(p->stream.out);
}

static void print(Printer *p, const char *bytes, size_t n)
{
    ck_assert(stream_write(&p->stream, (Bytes){ (const unsigned char *)bytes, n }));
}

static void printer_close(Printer *p)
{
    fclose(p->stream.out);
    free(p->at);
}

/* Prints the bytes in one piece, and one by one. */
static void check_printed(const char *bytes, size_t n, bool raw, const char *want, size_t wanted)
{
    for (size_t piece = 1; piece <= n; piece += n > 1 ? n - 1 : 1) {
        Printer p;

        printer_open(&p, raw);
        for (size_t i = 0; i < n; i += piece)
            print(&p, bytes + i, piece);
        ck_assert(stream_end(&p.stream));
        ck_assert_uint_eq(p.n, wanted);
        ck_assert_mem_eq(p.at, want, wanted);
        printer_close(&p);
    }
}

#define PRINTS(bytes, want) check_printed(bytes, sizeof(bytes) - 1, false, want, sizeof(want) - 1)
#define NO "\xef\xbf\xbd" /* U+FFFD */

START_TEST(single_line_output_turns_newlines_into_spaces)
{
    Printer p;

    printer_open(&p, false);
    p.stream.one_line = true;
    print(&p, "a\n\nb\tc\r", 7);
    ck_assert(stream_end(&p.stream));
    ck_assert_mem_eq(p.at, "a  b\tc?", 7);
    printer_close(&p);
}
END_TEST

/* The bytes up to n that are whole characters, all of them valid. */
static size_t complete(const char *bytes, size_t n)
{
    size_t at = 0;
    uint32_t code;

    for (int length; at < n; at += (size_t)length)
        if (!(length = utf8_decode((const unsigned char *)bytes + at, n - at, &code)))
            break;
    return at;
}

START_TEST(however_characters_are_cut_into_tokens_they_are_printed_whole_and_at_once)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\n\xf0\x9f\x98\x80z";
    enum { N = sizeof text - 1 };

    for (unsigned cuts = 0; cuts < 1u << (N - 1); cuts++) {
        Printer p;

        printer_open(&p, false);
        for (size_t from = 0, i = 1; i <= N; i++)
            if (i == N || cuts >> (i - 1) & 1) {
                print(&p, text + from, i - from);
                from = i;
                ck_assert_uint_eq(p.n, complete(text, i));
                ck_assert_mem_eq(p.at, text, p.n);
            }
        printer_close(&p);
    }
}
END_TEST

/* Unicode's Bidi_Control. */
static bool turns(uint32_t code)
{
    static const uint32_t all[] = { 0x61c,  0x200e, 0x200f, 0x202a, 0x202b, 0x202c,
                                    0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069 };

    for (int i = 0; i < COUNT(all); i++)
        if (code == all[i])
            return true;
    return false;
}

static void die_of(const char *name)
{
    die(EXIT_DATA, "<%s>", name);
}

/* One '?' for each character, or for each byte that is none. */
START_TEST(messages_contain_no_control_characters)
{
    static const char *const row[][2] = {
        { "\xe2\x80\xae", "?" },
        { "\xe2\x80\xaa-\xe2\x80\xad", "?-?" },
        { "\xe2\x81\xa6", "?" },
        { "\xe2\x81\xa9.", "?." },
        { "\xe2\x80\x8e", "?" },
        { "\xe2\x80\x8f", "?" },
        { "\xd8\x9c", "?" },
        { "\xc2\x9b\xc2\x80", "??" },
        { "\x9b\xff\xe2\x80", "????" },
        { "\033[m\n\x7f", "?[m??" },
        { "\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac" },
        { "", "" },
    };

    for (int i = 0; i < COUNT(row); i++) {
        Text text = text_format("%s", row[i][0]), in_json = { 0 };
        char *json = NULL;
        size_t n;

        check_dies(die_of, row[i][0], EXIT_DATA, text_format("<%s>\n", row[i][1]).at);
        text_plain(text.at);
        ck_assert_str_eq(text.at, row[i][1]);
        FILE *out = open_memstream(&json, &n);
        text_json(row[i][0], out);
        fclose(out);
        text_add(&in_json, "%s", json);
        text_plain(in_json.at);
        ck_assert_str_eq(in_json.at, json);
        free(json);
    }
}
END_TEST

START_TEST(every_character_of_unicode_that_is_no_control_character_is_printed)
{
    Printer p;
    char *all = xmalloc(0x110000 * 4);
    size_t n = 0;

    for (uint32_t code = ' '; code < 0x110000; code++)
        if ((code < 0x7f || code >= 0xa0) && (code < 0xd800 || code >= 0xe000) && !turns(code))
            n += (size_t)utf8_encode((unsigned char *)all + n, code);
    printer_open(&p, false);
    for (size_t i = 0; i < n; i += 1021)
        print(&p, all + i, n - i < 1021 ? n - i : 1021);
    ck_assert_uint_eq(p.n, n);
    ck_assert_mem_eq(p.at, all, n);
    printer_close(&p);
    free(all);
}
END_TEST

START_TEST(direction_controls_become_question_marks)
{
    Printer p;
    unsigned char c[4];
    size_t n = 0;

    printer_open(&p, false);
    for (uint32_t code = 0x80; code < 0x10000; code++)
        if (turns(code) && ++n)
            print(&p, (char *)c, (size_t)utf8_encode(c, code));
    ck_assert_uint_eq(p.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(p.at[i], '?');
    printer_close(&p);
}
END_TEST

/* Half a character at the end, too. */
START_TEST(invalid_bytes_can_be_left_out)
{
    Printer p;

    printer_open(&p, false);
    p.stream.skip = true;
    print(&p,
          "a\xff\xc3"
          "b\xe2\x82"
          "c\xc3\xa9\xe2",
          10);
    ck_assert(stream_end(&p.stream));
    fflush(p.stream.out);
    ck_assert_uint_eq(p.n, 5);
    ck_assert_mem_eq(p.at, "abc\xc3\xa9", 5);
    printer_close(&p);
}
END_TEST

/* Whatever the pieces in which the text comes: what is before the stop string that ends first. */
static void check_stops(const char *text, const char *const *stops, int n, const char *want)
{
    size_t length = strlen(text);

    for (size_t piece = 1; piece <= length; piece++) {
        Printer p;
        printer_open(&p, false);
        Stops s = { .text = stops, .n = n, .out = &p.stream };

        for (size_t i = 0; i < length; i += piece)
            ck_assert(stops_write(&s, (Bytes){ (const unsigned char *)text + i,
                                               piece < length - i ? piece : length - i }));
        ck_assert(stops_end(&s));
        ck_assert_int_eq(s.met, strlen(want) < length);
        ck_assert_uint_eq(p.n, strlen(want));
        ck_assert_mem_eq(p.at, want, p.n);
        stops_free(&s);
        printer_close(&p);
    }
}

START_TEST(text_ends_before_a_stop_string)
{
    static const char *const one[] = { "aab" }, *const some[] = { "\n\n", "end", "nd x" };
    static const char *const nested[][2] = { { "c", "abc" }, { "abc", "c" } };

    check_stops("no such thing", one, 1, "no such thing");
    check_stops("aaaab and more", one, 1, "aa");
    check_stops("aab", one, 1, "");
    check_stops("it is aa", one, 1, "it is aa");
    check_stops("one\ntwo\n\nthree", some, 3, "one\ntwo");
    check_stops("the end x", some, 3, "the ");
    check_stops("the en", some, 3, "the en");
    check_stops("hello abc world", nested[0], 2, "hello ");
    check_stops("hello abc world", nested[1], 2, "hello ");
    check_stops("anything", NULL, 0, "anything");
}
END_TEST

/* The tables 3-8 to 3-11 of the Unicode standard, and what else is no UTF-8. */
START_TEST(each_broken_character_is_replaced_once)
{
    PRINTS("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", NO NO NO NO NO NO NO NO "A");
    PRINTS("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", NO NO NO NO NO NO NO NO "A");
    PRINTS("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", NO NO NO NO NO "A" NO NO "B");
    PRINTS("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", NO NO NO NO "A");
    PRINTS("\xe2\x82\xe2\x82\xac", NO "\xe2\x82\xac");
    PRINTS("\xf4\x8f\xbf\xbf\xf5\xbf", "\xf4\x8f\xbf\xbf" NO NO);
}
END_TEST

START_TEST(a_character_that_is_not_complete_at_the_end_is_replaced)
{
    PRINTS("\xc3", NO);
    PRINTS("a\xe2\x82", "a" NO);
    PRINTS("\xf0\x9f\x98", NO);
    PRINTS("a", "a");
    PRINTS("\xc3\xa9", "\xc3\xa9");
}
END_TEST

START_TEST(control_characters_do_not_reach_the_terminal)
{
    PRINTS("\x1b[2J\r\a\b\x7f", "?[2J????");
    check_printed("a\0b", 3, false, "a?b", 3);
    PRINTS("a\tb\nc", "a\tb\nc");
    PRINTS("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "???\xc2\xa0");
}
END_TEST

START_TEST(raw_bytes_are_printed_as_they_are)
{
    static const char bytes[] = "\x1b[2J\xff\xe2\x82\0\xc3";

    check_printed(bytes, sizeof bytes - 1, true, bytes, sizeof bytes - 1);
}
END_TEST

START_TEST(nothing_is_printed_for_no_bytes)
{
    for (int raw = 0; raw < 2; raw++) {
        Printer p;

        printer_open(&p, raw);
        ck_assert(stream_write(&p.stream, (Bytes){ NULL, 0 })); /* NULL is none of fwrite's */
        ck_assert(stream_end(&p.stream));
        ck_assert_uint_eq(p.n, 0);
        printer_close(&p);
    }
}
END_TEST

START_TEST(write_errors_are_detected)
{
    Stream s = { .out = fopen("/dev/full", "w") };

    if (!s.out)
        return;
    ck_assert(!stream_write(&s, (Bytes){ (const unsigned char *)"a", 1 }));
    fclose(s.out);
}
END_TEST

static void print_much(const char *kind)
{
    static const unsigned char block[1 << 20];
    Printer p;

    printer_open(&p, *kind == 'r');
    setrlimit(RLIMIT_AS, &(struct rlimit){ 400 << 20, 400 << 20 });
    for (int i = 0; i < 1 << 10; i++)
        if (!stream_write(&p.stream, (Bytes){ block, sizeof block }))
            die(EXIT_MEMORY, "the stream says so");
}

/* In memory, neither ferror() nor fclose() does. */
START_TEST(a_stream_that_runs_out_of_memory_says_so)
{
    if (sanitized)
        return; /* their memory has other limits */
    check_dies(print_much, "raw", EXIT_MEMORY, "the stream says so");
    check_dies(print_much, "shown", EXIT_MEMORY, "the stream says so");
}
END_TEST

Suite *suite_stream(void)
{
    Suite *s = suite_create("stream");
    TCase *t = group(s, "stream");

    tcase_add_test(t, messages_contain_no_control_characters);
    tcase_add_test(t, however_characters_are_cut_into_tokens_they_are_printed_whole_and_at_once);
    tcase_add_test(t, direction_controls_become_question_marks);
    tcase_add_test(t, invalid_bytes_can_be_left_out);
    tcase_add_test(t, text_ends_before_a_stop_string);
    tcase_add_test(t, every_character_of_unicode_that_is_no_control_character_is_printed);
    tcase_add_test(t, each_broken_character_is_replaced_once);
    tcase_add_test(t, a_character_that_is_not_complete_at_the_end_is_replaced);
    tcase_add_test(t, control_characters_do_not_reach_the_terminal);
    tcase_add_test(t, raw_bytes_are_printed_as_they_are);
    tcase_add_test(t, nothing_is_printed_for_no_bytes);
    tcase_add_test(t, single_line_output_turns_newlines_into_spaces);
    tcase_add_test(t, write_errors_are_detected);
    tcase_add_test(t, a_stream_that_runs_out_of_memory_says_so);
    return s;
}
