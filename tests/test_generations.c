/* The last two checkpoints of a run: how files are written so that one of them is always whole. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/calls.h"
#include "tests/folder.h"
#include "tests/job.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void replace(const char *path)
{
    file_replace_keeping(path, "previous", (Piece[]){ { "3", 1 }, { "+", 1 } }, 2);
}

static void replace_and_record(const char *path)
{
    calls_record();
    replace(path);
    calls.on = false;
    fputs(calls.made, stderr);
}

static bool has(const char *name, const char *text)
{
    size_t n;

    if (access(in_folder(name), F_OK) != 0)
        return false;
    char *at = (char *)file_read(in_folder(name), &n);
    const bool same = strcmp(at, text) == 0;
    free(at);
    return same;
}

static void put_two(void)
{
    files(true);
    put(in_folder("model"), "2", 1);
    put(in_folder("previous"), "1", 1);
}

/* Whatever is not synced may be lost, and a renaming may come before the bytes. */
START_TEST(a_file_and_its_folder_are_synced_in_order)
{
    put_two();
    ck_assert_int_eq(exit_code_of(replace_and_record, in_folder("model")), 0);
    ck_assert_str_eq(said, "wwflrrd");
    ck_assert(has("model", "3+") && has("previous", "2"));
    ck_assert_int_eq(files(false), 2);
}
END_TEST

static void replace_until(const char *path)
{
    const int end_at = calls.end_at;

    calls_record();
    calls.end_at = end_at;
    replace(path);
}

/* Before each call: the next save is none the worse for it. */
START_TEST(a_complete_file_exists_at_every_moment)
{
    for (int end = 1; end <= 7; end++) {
        put_two();
        calls.end_at = end;
        ck_assert_int_eq(exit_code_of(replace_until, in_folder("model")), -SIGKILL);
        const bool old = end < 7;
        ck_assert(has("model", old ? "2" : "3+"));
        ck_assert(has("previous", end < 6 ? "1" : "2"));
        replace(in_folder("model"));
        ck_assert(has("model", "3+") && has("previous", old ? "2" : "3+"));
    }
}
END_TEST

/* As after a kill between the two: rename() leaves both names then. */
START_TEST(two_names_of_one_file_become_two_files)
{
    files(true);
    put(in_folder("model"), "2", 1);
    ck_assert_int_eq(link(in_folder("model"), in_folder("previous")), 0);
    replace(in_folder("model"));
    ck_assert(has("model", "3+") && has("previous", "2"));
    ck_assert_int_eq(files(false), 2);
}
END_TEST

START_TEST(the_first_checkpoint_has_no_previous_one)
{
    replace(in_folder("model"));
    ck_assert_int_eq(files(false), 1);
    ck_assert_int_eq(mkdir(in_folder("previous"), 0777), 0);
    put(in_folder("model"), "2", 1);
    check_dies(replace, in_folder("model"), EXIT_IO, "what was there before is untouched");
    ck_assert(has("model", "2"));
    ck_assert_int_eq(files(false), 2);
}
END_TEST

static void replace_with_interruptions(const char *path)
{
    static char text[100];

    memset(text, 'x', sizeof text);
    calls_record();
    calls.interrupts = true;
    file_replace(path, &(Piece){ text, sizeof text }, 1);
}

START_TEST(an_interrupted_or_short_write_is_continued)
{
    char text[101] = "";

    memset(text, 'x', 100);
    ck_assert_int_eq(exit_code_of(replace_with_interruptions, in_folder("model")), 0);
    ck_assert(has("model", text));
}
END_TEST

static const char *failing;
static int failing_with, failing_times, failing_after;

static void replace_with_failures(const char *path)
{
    calls_fail(failing, failing_with, failing_times);
    calls.passing = failing_after;
    replace(path);
    calls.on = false;
    fputs(calls.made, stderr);
}

/* The exit code; what is there afterwards is new, or as it was. */
static int replaced_although(const char *calls_that_fail, int error, int times)
{
    put_two();
    failing = calls_that_fail, failing_with = error, failing_times = times;
    const int code = exit_code_of(replace_with_failures, in_folder("model"));
    const bool new = *calls_that_fail == 'd' || code == 0;
    ck_assert(has("model", new ? "3+" : "2"));
    ck_assert(has("previous", new ? "2" : "1"));
    ck_assert_int_eq(files(false), 2);
    return code;
}

START_TEST(a_file_system_may_lack_links_and_syncs_of_folders)
{
    static const int no_links[] = { EPERM, ENOTSUP, EMLINK, ENOSYS };

    for (int i = 0; i < COUNT(no_links); i++) {
        ck_assert_int_eq(replaced_although("l", no_links[i], 1), 0);
        ck_assert_str_eq(said, "wwflrrd");
    }
    ck_assert_int_eq(replaced_although("l", EIO, 1), EXIT_IO);
    ck_assert_int_eq(replaced_although("lr", EPERM, 2), EXIT_IO);
    ck_assert_int_eq(replaced_although("d", EINVAL, 1), 0);
    ck_assert_int_eq(replaced_although("d", EIO, 1), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "but its folder cannot be synced"));
}
END_TEST

START_TEST(a_sync_is_repeated_if_it_was_interrupted_and_only_then)
{
    ck_assert_int_eq(replaced_although("f", EINTR, 2), 0);
    ck_assert_str_eq(said, "wwffflrrd");
    ck_assert_int_eq(replaced_although("d", EINTR, 2), 0);
    ck_assert_str_eq(said, "wwflrrddd");
    ck_assert_int_eq(replaced_although("f", EIO, 1), EXIT_IO);
}
END_TEST

START_TEST(a_write_that_fails_or_does_nothing_replaces_no_file)
{
    ck_assert_int_eq(replaced_although("w", EIO, 1), EXIT_IO);
    ck_assert_int_eq(replaced_although("w", 0, 1), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "No space left on device"));
    ck_assert_int_eq(replaced_although("r", EIO, 1), EXIT_IO);
}
END_TEST

/* In the place of the temporary file. */
static void replace_beside_a_folder(const char *path)
{
    char name[100];

    snprintf(name, sizeof name, ".model.%ld.tmp", (long)getpid());
    mkdir(in_folder(name), 0777);
    replace(path);
}

START_TEST(a_temporary_file_that_cannot_be_made_leaves_the_old_one)
{
    put_two();
    check_dies(replace_beside_a_folder, in_folder("model"), EXIT_IO, "cannot write");
    ck_assert(has("model", "2") && has("previous", "1"));
    ck_assert_int_eq(replaced_although("o", EACCES, 100), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "cannot write into the folder"));
    failing_after = 1;
    ck_assert_int_eq(replaced_although("o", EACCES, 100), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "Permission denied"));
}
END_TEST

static int step_in(const char *name)
{
    Safetensors *s = safetensors_read(in_folder(name));
    const int step = atoi(safetensors_meta(s, "attnc.step"));

    safetensors_free(s);
    return step;
}

/* Another bit, 5000 bytes before the end. */
static void damage(const char *name)
{
    size_t n;
    unsigned char *at = file_read(in_folder(name), &n);

    at[n - 5000] ^= 4;
    put(in_folder(name), at, n);
    free(at);
}

START_TEST(a_read_that_is_interrupted_or_short_goes_on)
{
    size_t n;

    put(in_folder("text"), "once upon a time", 16);
    calls_record();
    calls.interrupts = true;
    unsigned char *at = file_read(in_folder("text"), &n);
    calls.on = false;
    ck_assert_uint_eq(n, 16);
    ck_assert_str_eq((char *)at, "once upon a time");
    free(at);
}
END_TEST

START_TEST(a_file_that_could_not_be_closed_replaces_none)
{
    ck_assert_int_eq(replaced_although("c", EIO, 1), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "Input/output error"));
    ck_assert_int_eq(replaced_although("c", EINTR, 1), 0); /* closed all the same */
}
END_TEST

START_TEST(a_run_keeps_its_last_two_checkpoints)
{
    job.options.stop_at = 3;
    check_trains();
    ck_assert_int_ne(access(in_folder("previous.safetensors"), F_OK), 0);
    job.resume = true, job.options.stop_at = 6;
    check_trains();
    ck_assert_int_eq(step_in("previous.safetensors"), 4);
    ck_assert_int_eq(step_in("model.safetensors"), 6);
    job.options.stop_at = 0;
    check_trains();
    ck_assert_int_eq(step_in("previous.safetensors"), 10); /* from before the last evaluation */
    ck_assert_int_eq(step_in("model.safetensors"), 10);
}
END_TEST

static void print_step(const char *path)
{
    Saved *s = saved_read(path, false);

    fprintf(stderr, "step %d, %d\n", s->progress.step, s->previous);
    saved_free(s);
}

static void check_step(int step, bool previous)
{
    ck_assert_int_eq(exit_code_of(print_step, folder), 0);
    const char *end = strchr(said, '\n');
    const Text want = text_format("step %d, %d\n", step, previous);
    ck_assert_str_eq(previous ? end + 1 : said, want.at);
}

START_TEST(the_previous_checkpoint_replaces_a_damaged_one)
{
    check_trains();
    check_step(10, false);
    damage("model.safetensors");
    check_step(10, true);
    ck_assert_int_eq(strncmp(said, "attn.c: warning: ", 17), 0);
    ck_assert_ptr_nonnull(strstr(said, "/model.safetensors is damaged: attnc.hash."));
    ck_assert_ptr_nonnull(strstr(said, "; using the previous checkpoint, previous.safetensors"));
    remove(in_folder("model.safetensors"));
    check_step(10, true);
    ck_assert_ptr_nonnull(strstr(said, "No such file"));
    check_dies(print_step, in_folder("model.safetensors"), EXIT_IO, "No such file");
    put(in_folder("model.safetensors"), "", 0);
    check_step(10, true);
    damage("previous.safetensors");
    check_dies(print_step, folder, EXIT_DATA, "/model.safetensors (0 bytes) is not");
    ck_assert_ptr_nonnull(strstr(said, "the previous checkpoint fails, too: "));
    ck_assert_ptr_nonnull(strstr(said, "/previous.safetensors is damaged"));
}
END_TEST

/* The system takes the path of the folder, and with the name of a file it would be too long. */
START_TEST(a_path_that_is_too_long_is_refused)
{
    enum { LONGEST = 4090 };
    char path[LONGEST + 1];
    const size_t padded = (LONGEST - strlen(folder)) / 2 * 2;

    check_trains();
    for (size_t i = 0; i < padded; i++)
        path[i] = "/."[i % 2];
    strcpy(path + padded, folder);
    check_dies(print_step, path, EXIT_IO, "the path /././");
    ck_assert_ptr_nonnull(strstr(said, "... is too long"));
    strcpy(path + padded - 100, folder);
    ck_assert_int_eq(exit_code_of(print_step, path), 0);
}
END_TEST

START_TEST(the_best_weights_have_no_previous_file)
{
    check_trains();
    damage("best.safetensors");
    check_dies(print_step, in_folder("best.safetensors"), EXIT_DATA, "is damaged");
    check_step(10, false);
}
END_TEST

/* The damaged one is never kept: it would be all there is while the next one is written. */
START_TEST(a_run_resumes_from_the_checkpoint_before_a_damaged_one)
{
    const Weights whole = trained_weights(1);

    job.options.stop_at = 6;
    check_trains();
    ck_assert_int_eq(step_in("previous.safetensors"), 4);
    damage("model.safetensors");
    job.resume = true, job.options.stop_at = 5;
    check_trains();
    ck_assert_ptr_nonnull(strstr(said, "warning: "));
    ck_assert_int_eq(step_in("previous.safetensors"), 4);
    check_step(5, false);
    damage("model.safetensors");
    job.options.stop_at = 9;
    check_trains();
    ck_assert_int_eq(step_in("previous.safetensors"), 8); /* the first that was saved since */
    job.options.stop_at = 0;
    const Weights w = trained_weights(1);
    check_same_files(&w, &whole, "after damage");
    weights_free(w), weights_free(whole);
}
END_TEST

/* In the length of its header, and all over the rest. */
START_TEST(damage_anywhere_selects_the_previous_checkpoint)
{
    size_t n;

    check_trains();
    unsigned char *at = file_read(in_folder("model.safetensors"), &n);
    int silent = open("/dev/null", O_WRONLY), kept = dup(STDERR_FILENO);
    dup2(silent, STDERR_FILENO);
    for (size_t i = 0; i < n; i += i < 15 ? 1 : n / 100) {
        at[i] ^= 1u << i % 8;
        put(in_folder("model.safetensors"), at, n);
        Saved *s = saved_read(folder, false);
        ck_assert(s->previous && s->progress.step == 10);
        saved_free(s);
        at[i] ^= 1u << i % 8;
    }
    dup2(kept, STDERR_FILENO);
    close(silent), close(kept);
    free(at);
}
END_TEST

static void read_folder(const char *path)
{
    saved_free(saved_read(path, false));
}

/* What a run killed before its first checkpoint leaves: the files of the other one, aside. */
START_TEST(a_run_that_was_being_replaced_is_named)
{
    const char *const says = "if it was killed, ./train --resume brings the other one back";

    check_dies(read_folder, folder, EXIT_IO, "is not a run's folder");
    ck_assert_int_eq(mkdir(in_folder(".replaced"), 0777), 0);
    check_dies(read_folder, folder, EXIT_IO, "is not a run's folder");
    put(in_folder(".replaced/model.safetensors"), "x", 1);
    check_dies(read_folder, folder, EXIT_IO, says);
}
END_TEST

Suite *suite_generations(void)
{
    Suite *s = suite_create("generations");
    TCase *t = with_folder(s, "generations");

    tcase_add_test(t, a_file_system_may_lack_links_and_syncs_of_folders);
    tcase_add_test(t, a_sync_is_repeated_if_it_was_interrupted_and_only_then);
    tcase_add_test(t, a_write_that_fails_or_does_nothing_replaces_no_file);
    tcase_add_test(t, a_temporary_file_that_cannot_be_made_leaves_the_old_one);
    tcase_add_test(t, a_file_and_its_folder_are_synced_in_order);
    tcase_add_test(t, a_complete_file_exists_at_every_moment);
    tcase_add_test(t, two_names_of_one_file_become_two_files);
    tcase_add_test(t, the_first_checkpoint_has_no_previous_one);
    tcase_add_test(t, an_interrupted_or_short_write_is_continued);
    t = with_folder(s, "of a run");
    tcase_add_checked_fixture(t, job_open, NULL);
    tcase_add_test(t, a_read_that_is_interrupted_or_short_goes_on);
    tcase_add_test(t, a_file_that_could_not_be_closed_replaces_none);
    tcase_add_test(t, a_run_keeps_its_last_two_checkpoints);
    tcase_add_test(t, the_previous_checkpoint_replaces_a_damaged_one);
    tcase_add_test(t, a_path_that_is_too_long_is_refused);
    tcase_add_test(t, the_best_weights_have_no_previous_file);
    tcase_add_test(t, a_run_resumes_from_the_checkpoint_before_a_damaged_one);
    tcase_add_test(t, damage_anywhere_selects_the_previous_checkpoint);
    tcase_add_test(t, a_run_that_was_being_replaced_is_named);
    return s;
}
