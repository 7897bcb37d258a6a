/*
 * TensorBoard's files: bytes that its own reader has accepted, and a reader from
 * the format's description alone, which checks everything that it passes.
 */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/tensorboard.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VALUES = 8, EVENTS = 64 };

typedef struct {
    const unsigned char *at, *end;
} Part;

/* A field: a number, or a part. */
typedef struct {
    int number;
    uint64_t bits;
    Part part;
} Field;

typedef struct {
    Part tag, text;
    float number;
    bool is_number, is_text;
} Value;

typedef struct {
    double wall;
    int64_t step;
    Part version;
    bool starts;
    int n;
    Value value[VALUES];
} Event;

/* The division, bit by bit. */
static uint32_t remainder_of(const unsigned char *at, size_t n)
{
    uint32_t r = 0xffffffff;

    for (size_t i = 0; i < 8 * n; i++) {
        const uint32_t out = (r ^ (uint32_t)at[i / 8] >> i % 8) & 1;

        r = r >> 1 ^ (out ? 0x82f63b78 : 0);
    }
    return ~r;
}

static uint64_t little(Part *from, int bytes)
{
    uint64_t x = 0;

    ck_assert(from->end - from->at >= bytes);
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)*from->at++ << 8 * i;
    return x;
}

static uint64_t varint(Part *from)
{
    uint64_t x = 0, byte = 0x80;

    for (int shift = 0; byte & 0x80; shift += 7) {
        byte = little(from, 1);
        ck_assert_int_le(shift, 63);
        ck_assert(shift < 63 || byte <= 1);
        x |= (byte & 0x7f) << shift;
    }
    return x;
}

static Part part_of(Part *from, uint64_t bytes)
{
    const Part p = { from->at, from->at + bytes };

    ck_assert_uint_le(bytes, (uint64_t)(from->end - from->at));
    from->at = p.end;
    return p;
}

static bool next_field(Part *message, Field *f)
{
    if (message->at == message->end)
        return false;
    const uint64_t key = varint(message);

    *f = (Field){ .number = (int)(key >> 3) };
    switch (key & 7) {
    case 0:
        f->bits = varint(message);
        break;
    case 1:
        f->bits = little(message, 8);
        break;
    case 2:
        f->part = part_of(message, varint(message));
        break;
    case 5:
        f->bits = little(message, 4);
        break;
    default:
        ck_abort_msg("field %d is stored as %d", f->number, (int)(key & 7));
    }
    return true;
}

static bool part_is(Part p, const char *text)
{
    return (size_t)(p.end - p.at) == strlen(text) && !memcmp(p.at, text, strlen(text));
}

static Part only_field(Part message, int number)
{
    Field f;

    ck_assert(next_field(&message, &f));
    ck_assert_int_eq(f.number, number);
    ck_assert(message.at == message.end);
    return f.part;
}

/* dtype DT_STRING, a shape of one dimension of size 1, the string. */
static Part text_of(Part tensor)
{
    Part text = { NULL, NULL };
    int seen = 0;

    for (Field f; next_field(&tensor, &f); seen |= 1 << f.number)
        if (f.number == 1)
            ck_assert_uint_eq(f.bits, 7);
        else if (f.number == 2) {
            Part size = only_field(f.part, 2);

            ck_assert(next_field(&size, &f) && f.number == 1 && f.bits == 1);
            f.number = 2;
        } else if (f.number == 8)
            text = f.part;
    ck_assert_int_eq(seen, 1 << 1 | 1 << 2 | 1 << 8);
    return text;
}

static Value value_of(Part message)
{
    Value v = { .is_number = false };

    for (Field f; next_field(&message, &f);)
        if (f.number == 1)
            v.tag = f.part;
        else if (f.number == 2) {
            const uint32_t bits = (uint32_t)f.bits;

            v.is_number = true;
            memcpy(&v.number, &bits, sizeof bits);
        } else if (f.number == 8)
            v.text = text_of(f.part);
        else if (f.number == 9)
            v.is_text = part_is(only_field(only_field(f.part, 1), 1), "text");
        else
            ck_abort_msg("a value has a field %d", f.number);
    return v;
}

static void read_field(Event *e, Field f)
{
    Part part = f.part;

    switch (f.number) {
    case 1:
        memcpy(&e->wall, &f.bits, sizeof f.bits);
        break;
    case 2:
        memcpy(&e->step, &f.bits, sizeof f.bits);
        break;
    case 3:
        e->version = part;
        break;
    case 5:
        for (Field v; next_field(&part, &v);) {
            ck_assert(v.number == 1 && e->n < VALUES);
            e->value[e->n++] = value_of(v.part);
        }
        break;
    case 7:
        ck_assert(next_field(&part, &f) && f.number == 1 && f.bits == 1 && part.at == part.end);
        e->starts = true;
        break;
    default:
        ck_abort_msg("an event has a field %d", f.number);
    }
}

static void check_sum(Part *from, Part of)
{
    const uint32_t r = remainder_of(of.at, (size_t)(of.end - of.at));

    ck_assert_uint_eq(little(from, 4), (uint32_t)((r >> 15 | r << 17) + 0xa282ead8u));
}

/* All events of a file in memory: their number. */
static int events_of(Part file, Event event[EVENTS])
{
    int n = 0;

    for (; file.at < file.end; n++) {
        const Part length = { file.at, file.at + 8 };
        const uint64_t bytes = little(&file, 8);

        ck_assert_int_lt(n, EVENTS);
        check_sum(&file, length);
        Part message = part_of(&file, bytes);
        check_sum(&file, message);
        event[n] = (Event){ .step = 0 };
        for (Field f; next_field(&message, &f);)
            read_field(&event[n], f);
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The n-th file of the folder in the order of their names. */
static const char *name_of(int n)
{
    static char name[4][300];
    DIR *dir = opendir(folder);
    int all = 0;

    for (struct dirent *e; (e = readdir(dir));)
        if (*e->d_name != '.')
            snprintf(name[all++ % 4], sizeof *name, "%s", e->d_name);
    closedir(dir);
    qsort(name, (size_t)all, sizeof *name, by_name);
    ck_assert_int_lt(n, all);
    return name[n];
}

/* The events of the n-th file, which stay until the next is read. */
static int events_in(int n, Event event[EVENTS])
{
    static unsigned char *file;
    size_t bytes;

    free(file);
    file = file_read(in_folder(name_of(n)), &bytes);
    return events_of((Part){ file, file + bytes }, event);
}

static const unsigned char golden[] = {
    0x18, 0,    0,    0,    0,    0,    0,    0,    0xa3, 0x7f, 0x4b, 0x22, 0x09, 0,   0,
    0,    0,    0,    0,    0xf0, 0x3f, 0x1a, 0x0d, 'b',  'r',  'a',  'i',  'n',  '.', 'E',
    'v',  'e',  'n',  't',  ':',  '2',  0x86, 0xbf, 0x57, 0x7a, 0x20, 0,    0,    0,   0,
    0,    0,    0,    0x29, 0xed, 0xa9, 0x50, 0x09, 0,    0,    0,    0,    0,    0,   0,
    0x40, 0x10, 0x01, 0x2a, 0x13, 0x0a, 0x11, 0x0a, 0x0a, 't',  'r',  'a',  'i',  'n', '/',
    'l',  'o',  's',  's',  0x15, 0,    0,    0,    0x3f, 0xbe, 0x96, 0x67, 0x04,
};

START_TEST(the_bytes_are_those_that_tensorboard_has_accepted)
{
    Tensorboard *t = tensorboard_open(folder, (Instant){ -1, 1.0 });
    size_t bytes;

    tensorboard_scalars(t, (Instant){ 1, 2.0 }, &(Scalar){ "train/loss", 0.5 }, 1);
    unsigned char *file = file_read(in_folder(name_of(0)), &bytes);
    ck_assert_uint_eq(bytes, sizeof golden);
    ck_assert_mem_eq(file, golden, sizeof golden);
    free(file);
    tensorboard_close(t);
}
END_TEST

static char long_tag[] =
    "train/0123456789012345678901234567890123456789012345678901234567890123456789"
    "0123456789012345678901234567890123456789012345678901234567890123456789";

START_TEST(every_step_and_every_number_is_read_back)
{
    static const int64_t steps[] = { 0,       1,  127, 128,       1 << 14,   (int64_t)1 << 53,
                                     1 << 30, -1, -64, INT64_MAX, INT64_MIN, INT64_MIN + 1 };
    const Scalar all[] = { { "train/loss", 0.1 },   { "val/loss", (double)NAN },
                           { "lr", 3e-4 },          { "grad_norm", (double)INFINITY },
                           { "zero", -0.0 },        { "tiny", 1e-42 },
                           { long_tag, -123456.7 }, { "", 0 } };
    Tensorboard *t = tensorboard_open(folder, (Instant){ -1, 1e9 });
    Event event[EVENTS];

    for (int i = 0; i < COUNT(steps); i++) {
        const Instant at = { steps[i], 1e9 + i / 7.0 };

        tensorboard_scalars(t, at, all, i % COUNT(all) + 1);
        ck_assert_int_eq(events_in(0, event), i + 2); /* whole, while the file is open */
        const Event *e = &event[i + 1];
        ck_assert(e->step == at.step && e->wall == at.wall && !e->starts);
        ck_assert_int_eq(e->n, i % COUNT(all) + 1);
        for (int v = 0; v < e->n; v++) {
            const float want = (float)all[v].value;

            ck_assert(e->value[v].is_number && part_is(e->value[v].tag, all[v].tag));
            ck_assert(isnan(want) ? isnan(e->value[v].number)
                                  : !memcmp(&want, &e->value[v].number, sizeof want));
        }
    }
    tensorboard_close(t);
}
END_TEST

START_TEST(a_text_is_one_string_of_the_text_plugin)
{
    const size_t sizes[] = { 0, 100, 20000 };
    Tensorboard *t = tensorboard_open(folder, (Instant){ -1, 1e9 });
    Event event[EVENTS];

    for (int i = 0; i < COUNT(sizes); i++) {
        char *text = calloc(sizes[i] + 1, 1);

        memset(text, 'a' + i, sizes[i]);
        tensorboard_text(t, (Instant){ 0, 1e9 }, "config/text_summary", text);
        ck_assert_int_eq(events_in(0, event), i + 2);
        const Value *v = &event[i + 1].value[0];
        ck_assert(v->is_text && !v->is_number && part_is(v->tag, "config/text_summary"));
        ck_assert(part_is(v->text, text) && event[i + 1].n == 1);
        free(text);
    }
    tensorboard_scalars(t, (Instant){ 1, 1e9 }, &(Scalar){ "lr", 1 }, 1);
    ck_assert_int_eq(events_in(0, event), COUNT(sizes) + 2);
    ck_assert_int_eq(event[COUNT(sizes) + 1].n, 1);
    tensorboard_close(t);
}
END_TEST

START_TEST(a_resumed_run_states_its_first_step)
{
    static const int64_t steps[] = { -1, 0, 41 };
    Event event[EVENTS];

    for (int i = 0; i < COUNT(steps); i++) {
        tensorboard_close(tensorboard_open(folder, (Instant){ steps[i], 1e9 + i }));
        const int n = events_in(i, event);

        ck_assert(part_is(event[0].version, "brain.Event:2") && event[0].step == 0);
        ck_assert_int_eq(n, steps[i] < 0 ? 1 : 2);
        ck_assert(n == 1 || (event[1].starts && event[1].step == steps[i]));
    }
}
END_TEST

/* TensorBoard reads the files of a folder in the order of their names. */
START_TEST(a_file_is_named_by_its_time_and_replaces_none)
{
    char begin[100], end[100];
    Tensorboard *early = tensorboard_open(folder, (Instant){ -1, 987654321.9 }),
                *late = tensorboard_open(folder, (Instant){ 5, 1234567890.9 }),
                *again = tensorboard_open(folder, (Instant){ 5, 1234567890.1 });
    const char *const names[] = { name_of(0), name_of(1), name_of(2) };

    for (int i = 0; i < COUNT(names); i++) {
        snprintf(begin, sizeof begin, "events.out.tfevents.%s.", i ? "1234567890" : "0987654321");
        snprintf(end, sizeof end, ".%ld.%d", (long)getpid(), i == 2);
        ck_assert_msg(!strncmp(names[i], begin, strlen(begin)), "%s", names[i]);
        ck_assert_msg(strlen(names[i]) > strlen(begin) + strlen(end), "%s", names[i]);
        ck_assert_str_eq(names[i] + strlen(names[i]) - strlen(end), end);
    }
    tensorboard_close(early), tensorboard_close(late), tensorboard_close(again);
}
END_TEST

/* The system may set its clock between two readings, but hardly each time. */
START_TEST(the_moment_is_in_seconds_since_1970)
{
    bool between = false;

    for (int i = 0; i < 5 && !between; i++) {
        const time_t before = time(NULL);
        const Instant now = instant_now(7);

        ck_assert_int_eq(now.step, 7);
        between = now.wall >= (double)before - 1 && now.wall <= (double)time(NULL) + 1;
    }
    ck_assert(between);
}
END_TEST

static void fill_a_small_disk(const char *path)
{
    Tensorboard *t = tensorboard_open(path, (Instant){ -1, 1e9 });

    limit_file_size(sizeof golden - 1);
    tensorboard_scalars(t, (Instant){ 1, 1e9 }, &(Scalar){ "train/loss", 1 }, 1);
}

static void open_nowhere(const char *path)
{
    tensorboard_close(tensorboard_open(path, (Instant){ -1, 1e9 }));
}

START_TEST(a_file_that_cannot_be_written_is_named)
{
    check_dies(open_nowhere, in_folder("nowhere"), EXIT_IO,
               "nowhere/events.out.tfevents.1000000000");
    check_dies(fill_a_small_disk, folder, EXIT_IO, "/events.out.tfevents.1000000000.");
}
END_TEST

Suite *suite_tensorboard(void)
{
    Suite *s = suite_create("tensorboard");
    TCase *t = with_folder(s, "files");

    tcase_add_test(t, the_bytes_are_those_that_tensorboard_has_accepted);
    tcase_add_test(t, every_step_and_every_number_is_read_back);
    tcase_add_test(t, a_text_is_one_string_of_the_text_plugin);
    tcase_add_test(t, a_resumed_run_states_its_first_step);
    tcase_add_test(t, a_file_is_named_by_its_time_and_replaces_none);
    tcase_add_test(t, the_moment_is_in_seconds_since_1970);
    tcase_add_test(t, a_file_that_cannot_be_written_is_named);
    return s;
}
