/* Whole files, in and out: what is refused, what is read, and that a write is all or nothing. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "tests/calls.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char new[] = "what is written in the place of an old file, in two pieces";
enum { NEW = sizeof new - 1 };

static void write_new(const char *path)
{
    file_replace(path, (Piece[]){ { new, 30 }, { new + 30, NEW - 30 } }, 2);
}

static void read_whole(const char *path)
{
    size_t bytes;

    free(file_read(path, &bytes));
}

START_TEST(special_files_are_refused_immediately)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[400];
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    check_dies(read_whole, "", EXIT_IO, "cannot open ''");
    check_dies(read_whole, in_folder("missing"), EXIT_IO, "No such file");
    check_dies(read_whole, folder, EXIT_IO, "is a directory, not a regular file");
    check_dies(read_whole, "/dev/zero", EXIT_IO, "is a device");
    ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
    check_dies(read_whole, in_folder("fifo"), EXIT_IO, "is a FIFO");
    strcpy(path, in_folder("socket"));
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    check_dies(read_whole, path, EXIT_IO, "is a socket");
    close(fd);
    strcpy(path, in_folder("loop"));
    ck_assert_int_eq(symlink(path, path), 0);
    check_dies(read_whole, path, EXIT_IO, "cannot open");
}
END_TEST

static const char *failing;
static int failing_with;

static void read_with_failures(const char *path)
{
    calls_fail(failing, failing_with, 1);
    read_whole(path);
}

static void check_unread(const char *call, int error, const char *words)
{
    failing = call, failing_with = error;
    check_dies(read_with_failures, in_folder("text"), EXIT_IO, words);
}

START_TEST(a_file_that_cannot_be_read_is_an_io_error)
{
    put(in_folder("text"), "text", 4);
    check_unread("o", EACCES, "cannot open");
    check_unread("s", EIO, "cannot read");
    check_unread("i", EIO, "text: Input/output error");
    failing = "i", failing_with = EWOULDBLOCK;
    ck_assert_int_eq(exit_code_of(read_with_failures, in_folder("text")), 0);
}
END_TEST

static void read_text(const char *path)
{
    size_t bytes;

    free(file_read_text(path, &bytes, 0));
}

/* After as much text as there is room for. */
static void read_more_text(const char *path)
{
    size_t bytes;

    free(file_read_text(path, &bytes, (size_t)-1));
}

START_TEST(a_text_too_large_to_tokenize_is_refused_with_advice)
{
    char path[400];

    strcpy(path, in_folder("text"));
    put(path, "text", 4);
    read_text(path);
    check_dies(read_more_text, path, EXIT_DATA, "there is room for 0 MB of text");
    /* a third of the memory: tokens would take twice as much */
    const int made = truncate(path, (off_t)(machine_memory() / 3));
    if (made == 0)
        check_dies(read_text, path, EXIT_DATA, "use a part of it, such as that of head -c ");
}
END_TEST

START_TEST(a_file_larger_than_half_of_memory_is_refused_with_its_size)
{
    char path[400];

    strcpy(path, in_folder("sparse"));
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    const int made = ftruncate(fd, (off_t)1 << 42);
    close(fd);
    if (made == 0)
        check_dies(read_whole, path, EXIT_DATA, SIZE_MAX > UINT32_MAX ? "4398.0 GB" : "4.3 GB");
}
END_TEST

START_TEST(a_file_is_read_whole)
{
    static const size_t size[] = { 0, 1, 65535, 65536, 65537, 3000000 };
    char path[400], *text = xmalloc(3000000);

    for (int i = 0; i < 3000000; i++)
        text[i] = (char)(i * 31 % 251);
    strcpy(path, in_folder("whole"));
    for (int i = 0; i < COUNT(size); i++) {
        put(path, text, size[i]);
        check_file(path, text, size[i]);
    }
    free(text);
}
END_TEST

START_TEST(a_file_of_unknown_size_is_read_to_its_end)
{
    size_t bytes;

    if (access("/proc/self/maps", R_OK) == 0) {
        unsigned char *maps = file_read("/proc/self/maps", &bytes);

        ck_assert_uint_gt(bytes, 100);
        ck_assert_uint_eq(maps[bytes - 1], '\n');
        free(maps);
    }
}
END_TEST

/* Reads a pipe that gives a byte at a time and sometimes nothing yet. */
START_TEST(standard_input_is_read_to_its_end)
{
    int pipes[2], status;
    size_t bytes;

    fflush(NULL);
    ck_assert_int_eq(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[0], STDIN_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
        unsigned char *got = file_read("-", &bytes);
        bool same = bytes == 100000;
        for (size_t i = 0; same && i < bytes; i++)
            same = got[i] == (unsigned char)(i % 251);
        free(got);
        exit(!same);
    }
    close(pipes[0]);
    for (int i = 0; i < 100000; i++) {
        unsigned char c = (unsigned char)(i % 251);

        if (i % 10000 == 0)
            poll(NULL, 0, 2);
        ck_assert_int_eq(write(pipes[1], &c, 1), 1);
    }
    close(pipes[1]);
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

START_TEST(a_file_may_shrink_and_grow_while_it_is_read)
{
    char path[400], *text = xmalloc(1 << 20);

    memset(text, 'x', 1 << 20);
    strcpy(path, in_folder("alive"));
    put(path, text, 1 << 20);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int fd = open(path, O_WRONLY);

        for (unsigned i = 0; i < 1000000; i++)
            if (ftruncate(fd, (off_t)(i * 7919 % (2 << 20))))
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 100; i++) {
        size_t bytes;
        unsigned char *got = file_read(path, &bytes);

        ck_assert_uint_le(bytes, 2 << 20);
        for (size_t k = 0; k < bytes; k += 1000)
            ck_assert(got[k] == 'x' || got[k] == 0);
        ck_assert_uint_eq(got[bytes], 0);
        free(got);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(text);
}
END_TEST

static size_t limit;

static void write_within_a_limit(const char *path)
{
    limit_file_size(limit);
    write_new(path);
}

START_TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    char path[400];

    strcpy(path, in_folder("model"));
    put(path, "old", 3);
    for (limit = 0; limit < NEW; limit++) {
        check_dies(write_within_a_limit, path, EXIT_IO, "untouched");
        check_file(path, "old", 3);
        ck_assert_int_eq(files(false), 1);
    }
    ck_assert_int_eq(exit_code_of(write_within_a_limit, path), 0);
    check_file(path, new, NEW);
    ck_assert_int_eq(files(false), 1);
}
END_TEST

START_TEST(an_impossible_path_is_reported)
{
    char path[400];

    check_dies(write_new, in_folder("no/model"), EXIT_IO, "No such file");
    check_dies(write_new, in_folder("model/"), EXIT_IO, "names no file");
    check_dies(write_new, folder, EXIT_IO, "is a directory");
    check_dies(write_new, "", EXIT_IO, "names no file");
    check_dies(write_new, "/dev/full", EXIT_IO, "is a device");
    put(in_folder("file"), "old", 3);
    check_dies(write_new, in_folder("file/model"), EXIT_IO, "Not a directory");
    memset(path, 'n', 300);
    path[300] = 0;
    check_dies(write_new, in_folder(path), EXIT_IO, "name too long");
    ck_assert_int_eq(files(false), 1);
}
END_TEST

/* More than the memory that is left, without a look at what comes of it. */
static int stream; /* a standard one */

static void write_to_stream(const char *path)
{
    dup2(open(path, O_RDONLY), stream);
    write_new(path);
}

START_TEST(a_file_that_is_a_standard_stream_is_not_replaced)
{
    char path[400];

    strcpy(path, in_folder("own"));
    put(path, "own", 3);
    for (stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        ck_assert_int_eq(exit_code_of(write_to_stream, path), EXIT_USAGE);
    stream = STDOUT_FILENO;
    check_dies(write_to_stream, path, EXIT_USAGE, "is standard input, output or error already");
    check_file(path, "own", 3);
}
END_TEST

static void put_much(FILE *out, void *blocks)
{
    static char block[1 << 16];

    for (int i = 0; i < *(int *)blocks; i++)
        fwrite(block, 1, sizeof block, out);
    fputs("end", out);
}

static void print_much(const char *path)
{
    int blocks = 1 << 14;

    setrlimit(RLIMIT_AS, &(struct rlimit){ 400 << 20, 400 << 20 });
    file_print(path, put_much, &blocks);
}

START_TEST(a_text_that_runs_out_of_memory_is_not_written_in_part)
{
    int blocks = 10;
    size_t n;
    char *text = print_to_memory(put_much, &blocks, &n);

    ck_assert_uint_eq(n, (10 << 16) + 3);
    ck_assert_str_eq(text + (10 << 16), "end");
    free(text);
    put(in_folder("page"), "old", 3);
    if (sanitized)
        return; /* their memory has other limits */
    check_dies(print_much, in_folder("page"), EXIT_MEMORY, "out of memory for a text");
    check_file(in_folder("page"), "old", 3);
    ck_assert_int_eq(files(false), 1);
}
END_TEST

/* By links of both kinds, and by other names of the same path; what does not exist is itself. */
START_TEST(paths_of_one_file_are_found)
{
    enum { N = 9 };
    static const int want[N] = { 0, 1, 0, 1, 0, 5, 6, 1, 8 };
    const char *path[N];

    put(in_folder("a"), "x", 1), put(in_folder("b"), "x", 1), put(in_folder("c"), "x", 1);
    ck_assert_int_eq(symlink("a", in_folder("soft")), 0);
    ck_assert_int_eq(link(text_format("%s", in_folder("b")).at, in_folder("hard")), 0);
    for (int i = 0; i < N; i++) {
        static const char *const name[N] = { "a",    "b",    "soft", "hard", "./a",
                                             "none", "none", "b",    "c" };
        static Text kept[N];

        kept[i] = text_format("%s", in_folder(name[i]));
        path[i] = kept[i].at;
    }
    int *first = file_firsts(path, N);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(first[i], want[i]);
        for (int k = 0; k < N; k++)
            ck_assert_int_eq(file_same(path[i], path[k]), i != 5 && i != 6 && want[i] == want[k]);
    }
    free(first);
    free(file_firsts(path, 0));
}
END_TEST

START_TEST(a_stale_temporary_file_does_not_prevent_writing)
{
    char name[100];

    snprintf(name, sizeof name, ".model.%ld.tmp", (long)getpid());
    char torn[2 * NEW];
    put(in_folder(name), memset(torn, 'x', sizeof torn), sizeof torn);
    write_new(in_folder("model"));
    check_file(in_folder("model"), new, NEW);
    ck_assert_int_eq(files(false), 1);
}
END_TEST

START_TEST(a_symbolic_link_is_replaced_and_its_target_kept)
{
    char target[400];

    strcpy(target, in_folder("target"));
    put(target, "old", 3);
    ck_assert_int_eq(symlink(target, in_folder("link")), 0);
    write_new(in_folder("link"));
    check_file(target, "old", 3);
    check_file(in_folder("link"), new, NEW);
}
END_TEST

START_TEST(every_character_survives_encoding_and_decoding)
{
    unsigned char at[4];
    uint32_t back;

    for (uint32_t code = 0; code <= 0x110000; code++) {
        const int length = utf8_encode(at, code);
        const bool valid = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);

        ck_assert_int_eq(utf8_decode(at, (size_t)length, &back), valid ? length : 0);
        ck_assert(!valid || back == code);
        ck_assert(length == 1 || utf8_decode(at, (size_t)length - 1, &back) == 0);
    }
}
END_TEST

Suite *suite_file(void)
{
    Suite *s = suite_create("file");
    TCase *t = with_folder(s, "files");

    tcase_add_test(t, special_files_are_refused_immediately);
    tcase_add_test(t, a_file_that_cannot_be_read_is_an_io_error);
    tcase_add_test(t, a_text_too_large_to_tokenize_is_refused_with_advice);
    tcase_add_test(t, a_file_larger_than_half_of_memory_is_refused_with_its_size);
    tcase_add_test(t, a_file_is_read_whole);
    tcase_add_test(t, a_file_of_unknown_size_is_read_to_its_end);
    tcase_add_test(t, standard_input_is_read_to_its_end);
    tcase_add_test(t, a_file_may_shrink_and_grow_while_it_is_read);
    tcase_add_test(t, a_failed_write_leaves_the_old_file_and_nothing_else);
    tcase_add_test(t, an_impossible_path_is_reported);
    tcase_add_test(t, a_file_that_is_a_standard_stream_is_not_replaced);
    tcase_add_test(t, a_text_that_runs_out_of_memory_is_not_written_in_part);
    tcase_add_test(t, paths_of_one_file_are_found);
    tcase_add_test(t, a_stale_temporary_file_does_not_prevent_writing);
    tcase_add_test(t, a_symbolic_link_is_replaced_and_its_target_kept);
    tcase_add_test(t, every_character_survives_encoding_and_decoding);
    return s;
}
