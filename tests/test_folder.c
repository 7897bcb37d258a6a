/* The folder of a run: who may use it, and what becomes of the files in it. */
#include "training/folder.h"

#include "ops/base/error.h"
#include "tests/calls.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_run(const char *text)
{
    static const char *const name[] = { "model.safetensors",
                                        "previous.safetensors",
                                        "best.safetensors",
                                        "log.jsonl",
                                        "config.json",
                                        "loss.svg",
                                        "events.out.tfevents.1.x.1.0",
                                        "eval.csv" };

    for (int i = 0; i < COUNT(name); i++)
        put_text(name[i], text);
}
enum { RUN_FILES = 8 };

static bool is_there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void check_text(const char *name, const char *text)
{
    check_file(in_folder(name), text, strlen(text));
}

static void lock(const char *path)
{
    folder_lock(path);
}

static void lock_and_unlock(const char *path)
{
    folder_lock(path);
    folder_unlock();
}

static void check_new(const char *path)
{
    folder_check(path, false);
}

static void check_overwrite(const char *path)
{
    folder_check(path, true);
}

/* A process that has locked the folder and waits; with `f` it did that before. */
static pid_t holder(void (*f)(const char *path))
{
    int pipes[2];
    char ready;

    ck_assert_int_eq(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        leaks_are_expected();
        folder_lock(folder);
        if (f)
            f(folder);
        ck_assert_int_eq(write(pipes[1], "", 1), 1);
        pause();
        _exit(0);
    }
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], &ready, 1), 1);
    close(pipes[0]);
    return child;
}

static void end(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

static void save(const char *path)
{
    (void)path;
    lock_and_unlock(folder); /* which it has already, and does not have then */
    folder_lock(folder);
    folder_check(folder, true);
}

START_TEST(a_run_in_use_is_refused_to_other_processes)
{
    for (int i = 0; i < 2; i++) {
        put_text(".lock", "4194304000\n"); /* of a process that was killed */
        const pid_t process = holder(i ? save : NULL);
        const Text words =
            text_format("process %ld is using the run in %s;", (long)process, folder);

        put_text("log.jsonl", "x");
        check_dies(lock, folder, EXIT_IO, words.at);
        check_dies(check_new, folder, EXIT_IO, words.at);
        check_dies(check_overwrite, folder, EXIT_IO, words.at);
        check_text(".lock", text_format("%ld\n", (long)process).at);
        end(process);
        ck_assert_int_eq(exit_code_of(lock_and_unlock, folder), 0);
        ck_assert(!is_there(".lock"));
    }
}
END_TEST

START_TEST(a_lock_is_released_when_its_process_ends_or_is_killed)
{
    end(holder(NULL));
    ck_assert(is_there(".lock"));
    ck_assert_int_eq(exit_code_of(check_new, folder), 0);
    ck_assert_int_eq(exit_code_of(lock_and_unlock, folder), 0);
    ck_assert_int_eq(files(false), 0);
}
END_TEST

static void lock_and_die(const char *path)
{
    folder_lock(path);
    die(EXIT_DATA, "for another reason");
}

START_TEST(a_process_that_fails_releases_its_lock)
{
    check_dies(lock_and_die, folder, EXIT_DATA, "for another reason");
    ck_assert_int_eq(files(false), 0);
}
END_TEST

/* The seconds and all of when the folder was changed. */
static struct timespec changed(void)
{
    struct stat info;

    ck_assert_int_eq(stat(folder, &info), 0);
    return info.st_mtim;
}

START_TEST(an_existing_run_is_not_replaced_by_a_new_one)
{
    static const char *const telling[] = {
        "model.safetensors", "config.json",          "loss.svg",
        "best.safetensors",  "previous.safetensors", "tokenizer.json"
    };

    put_text("notes", "mine");
    check_new(folder);
    check_new(in_folder("nowhere"));
    ck_assert(!folder_has_run(folder) && !folder_has_run(in_folder("nowhere")));
    for (int i = 0; i < 6; i++) { /* of another program */
        put_text(telling[i], "x");
        check_dies(check_new, folder, EXIT_USAGE, telling[i]);
        check_dies(check_overwrite, folder, EXIT_USAGE, "choose another folder");
        remove(in_folder(telling[i]));
    }
    put_text("log.jsonl", "x"); /* of one that was killed early */
    check_dies(check_new, folder, EXIT_USAGE, "but no checkpoint: --overwrite starts over");
    put_text("previous.safetensors", "x");
    const struct timespec before = changed();
    ck_assert(folder_has_run(folder));
    check_dies(check_new, folder, EXIT_USAGE, "--resume continues it, --overwrite starts over");
    check_overwrite(folder);
    const struct timespec after = changed();
    ck_assert_int_eq(files(false), 3);
    ck_assert(before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec);
}
END_TEST

static void open_run(const char *path)
{
    run_open(path, NULL, false, &(Origin){ 0 });
}

START_TEST(a_run_that_appears_meanwhile_is_not_overwritten)
{
    put_text("log.jsonl", "x");
    check_dies(open_run, folder, EXIT_USAGE, "has a run already");
    ck_assert_int_eq(files(false), 1);
    check_text("log.jsonl", "x");
}
END_TEST

static void put_aside(const char *path)
{
    folder_lock(path);
    folder_put_aside();
    put_text("log.jsonl", "new");
    put_text("best.safetensors", "new");
    put_text("events.out.tfevents.2.x.2.0", "new");
}

static void overwrite_and_save(const char *path)
{
    put_aside(path);
    ck_assert_int_eq(files(false), 6); /* notes, what is new, .lock and .replaced */
    ck_assert(is_there(".replaced/loss.svg"));
    put_text("model.safetensors", "new");
    folder_drop();
    folder_unlock();
}

START_TEST(an_overwritten_run_is_removed_once_the_new_one_is_saved)
{
    put_run("old");
    put_text("notes", "mine");
    ck_assert_int_eq(exit_code_of(overwrite_and_save, folder), 0);
    ck_assert_int_eq(files(false), 5);
    check_text("notes", "mine");
    check_text("model.safetensors", "new");
    check_text("best.safetensors", "new");
}
END_TEST

static void overwrite_and_die(const char *path)
{
    put_aside(path);
    die(EXIT_FAILED, "diverged");
}

static void lock_and_find_weights(const char *path)
{
    folder_lock(path);
    if (!is_there("model.safetensors"))
        die(EXIT_FAILED, "no weights");
    folder_unlock();
}

static void check_old_run(void)
{
    ck_assert_int_eq(files(false), RUN_FILES + 1);
    check_text("notes", "mine");
    check_text("model.safetensors", "old");
    check_text("best.safetensors", "old");
    check_text("log.jsonl", "old");
    check_text("events.out.tfevents.1.x.1.0", "old");
}

START_TEST(an_overwritten_run_is_restored_if_the_new_one_saves_nothing)
{
    put_run("old");
    put_text("notes", "mine");
    ck_assert_int_eq(exit_code_of(overwrite_and_die, folder), EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(said, "is not overwritten: the new one saved nothing"));
    check_old_run();
    const pid_t process = holder(put_aside);
    ck_assert(is_there(".replaced/model.safetensors") && !is_there("model.safetensors"));
    end(process);
    check_dies(check_new, folder, EXIT_USAGE, "--resume");
    ck_assert_int_eq(exit_code_of(lock_and_find_weights, folder), 0);
    check_old_run();
}
END_TEST

static const char *failing;
static int failing_with, failing_times, failing_after;

static void with_failures(const char *path, void (*f)(const char *path))
{
    calls_fail(failing, failing_with, failing_times);
    calls.passing = failing_after;
    f(path);
}

static void overwrite_with_failures(const char *path)
{
    with_failures(path, put_aside);
}

/* The old run is there at the end, or after the next start. */
static void check_not_overwritten(const char *calls_that_fail, int times, int after, int error,
                                  const char *words)
{
    failing = calls_that_fail, failing_with = error, failing_times = times, failing_after = after;
    const int code = exit_code_of(overwrite_with_failures, folder);
    ck_assert_int_eq(code, error == ENOMEM ? EXIT_MEMORY : EXIT_IO);
    ck_assert_msg(strstr(said, words) != NULL, "no '%s' in: %s", words, said);
    ck_assert_int_eq(exit_code_of(lock_and_find_weights, folder), 0);
    check_old_run();
}

START_TEST(what_cannot_be_put_aside_is_not_overwritten)
{
    put_run("old");
    put_text("notes", "mine");
    check_not_overwritten("r", 100, 2, EIO, "error: cannot move ");
    check_not_overwritten("m", 1, 0, ENOSPC, "/.replaced: No space left on device");
    /* Opened are the folder, its lock, itself to list it, .replaced, and after that is made: */
    check_not_overwritten("o", 1, 4, EIO, "/.replaced: Input/output error");
    check_not_overwritten("o", 1, 5, EMFILE, "cannot list the files");
    check_not_overwritten("o", 1, 5, ENOMEM, "cannot list the files");
    check_not_overwritten("e", 100, 2, EIO, "cannot list the files");
}
END_TEST

/* Another program's, or one that a network keeps while it is open. */
START_TEST(a_foreign_file_among_those_put_aside_does_not_matter)
{
    put_run("old");
    ck_assert_int_eq(mkdir(in_folder(".replaced"), 0777), 0);
    put_text(".replaced/mine", "mine");
    put_aside(folder);
    put_text("model.safetensors", "new");
    folder_drop();
    folder_unlock();
    check_text("model.safetensors", "new");
    check_text(".replaced/mine", "mine");
}
END_TEST

static void fail_after_overwriting(const char *path)
{
    with_failures(path, overwrite_and_die);
}

/* Opened are six as above, the sign that all is aside, a folder and a file for each of three new
 * texts, .replaced, and then the lists of the new files and of those in it. */
START_TEST(weights_and_log_are_restored_without_a_list_of_files)
{
    put_run("old");
    failing = "o", failing_with = ENOMEM, failing_times = 2, failing_after = 14;
    ck_assert_int_eq(exit_code_of(fail_after_overwriting, folder), EXIT_FAILED);
    check_text("model.safetensors", "old");
    check_text("log.jsonl", "old");
    ck_assert(is_there(".replaced/eval.csv"));
}
END_TEST

static void overwrite_a_log(const char *path)
{
    put_aside(path);
    put_text("model.safetensors", "new");
    folder_drop();
    folder_unlock();
}

START_TEST(a_run_without_weights_is_overwritten_as_well)
{
    put_text("log.jsonl", "old");
    ck_assert_int_eq(exit_code_of(overwrite_a_log, folder), 0);
    check_text("log.jsonl", "new");
    check_text("model.safetensors", "new");
    ck_assert_int_eq(files(false), 4);
}
END_TEST

static void lock_with_failures(const char *path)
{
    with_failures(path, lock_and_unlock);
    folder_lock(path);
    folder_lock(path); /* which it is already */
}

static int locked_although(const char *calls_that_fail, int error)
{
    failing = calls_that_fail, failing_with = error, failing_times = 1, failing_after = 0;
    const int code = exit_code_of(lock_with_failures, folder);
    ck_assert_int_eq(files(false), 0);
    return code;
}

START_TEST(a_lock_is_tried_again_or_done_without)
{
    ck_assert_int_eq(locked_although("k", ENOLCK), 0); /* a file system without locks */
    ck_assert_ptr_nonnull(strstr(said, "cannot be locked (No locks available)"));
    ck_assert_int_eq(locked_although("k", EAGAIN), 0); /* unlocked since */
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(locked_although("k", EACCES), 0);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(locked_although("s", EIO), 0);
    ck_assert_str_eq(said, "");
}
END_TEST

static void lock_without_room(const char *path)
{
    limit_file_size(0);
    folder_lock(path);
}

START_TEST(a_folder_that_cannot_be_made_or_written_is_an_error)
{
    put_text("file", "");
    check_dies(folder_make, in_folder("file"), EXIT_IO, "is not a folder");
    check_dies(folder_make, in_folder("file/run"), EXIT_IO, "cannot create the folder");
    check_dies(check_new, in_folder("file/more/run"), EXIT_IO, "/file is not a folder");
    ck_assert_int_eq(exit_code_of(check_new, in_folder("more/run")), 0);
    check_dies(lock_without_room, folder, EXIT_IO, ".lock: File too large");
    ck_assert_int_eq(files(false), 1);
}
END_TEST

/* Between the first file that is put aside and the last, and after the new run's first checkpoint.
 */
START_TEST(overwriting_may_be_killed_at_any_point)
{
    put_run("old");
    put_text("notes", "mine");
    ck_assert_int_eq(mkdir(in_folder(".replaced"), 0777), 0);
    ck_assert_int_eq(exit_code_of(lock_and_unlock, folder), 0);
    check_old_run();
    ck_assert_int_eq(mkdir(in_folder(".replaced"), 0777), 0);
    rename(in_folder("model.safetensors"), in_folder(".replaced/model.safetensors"));
    ck_assert_int_eq(exit_code_of(lock_and_unlock, folder), 0);
    check_old_run();
    ck_assert_int_eq(mkdir(in_folder(".replaced"), 0777), 0);
    put_text(".replaced/model.safetensors", "older");
    ck_assert_int_eq(exit_code_of(lock_and_unlock, folder), 0);
    check_old_run();
}
END_TEST

START_TEST(temporary_files_of_killed_runs_are_removed_and_no_others)
{
    static const char *const theirs[] = { ".model.safetensors..tmp",
                                          ".model.safetensors.x.tmp",
                                          ".notes.12.tmp",
                                          "model.safetensors.12.tmp",
                                          ".log.jsonl",
                                          ".log.jsonlx.12.tmp",
                                          ".log.jsonl.12.tmpx" };

    put_text(".model.safetensors.123.tmp", "half");
    put_text(".loss.svg.1.tmp", "half");
    for (int i = 0; i < COUNT(theirs); i++)
        put_text(theirs[i], "mine");
    ck_assert_int_eq(exit_code_of(lock_and_unlock, folder), 0);
    ck_assert_int_eq(files(false), COUNT(theirs));
    for (int i = 0; i < COUNT(theirs); i++)
        check_text(theirs[i], "mine");
}
END_TEST

static void check_place(const char *path)
{
    const Text away = text_format("%s.away", path);

    folder_check_place(); /* nothing to check yet */
    folder_lock(path);
    folder_check_place();
    ck_assert_int_eq(rename(path, away.at), 0);
    if (strchr(path, '+'))
        ck_assert_int_eq(mkdir(path, 0777), 0);
    folder_check_place();
}

START_TEST(a_folder_that_was_moved_or_replaced_gets_no_checkpoint)
{
    static const char *const name[] = { "moved", "replaced+" };

    for (int i = 0; i < COUNT(name); i++) {
        ck_assert_int_eq(mkdir(in_folder(name[i]), 0777), 0);
        check_dies(check_place, in_folder(name[i]), EXIT_IO, "was moved, removed or replaced");
    }
}
END_TEST

START_TEST(a_folder_that_cannot_be_locked_is_an_error)
{
    put_text("file", "");
    check_dies(lock, in_folder("nowhere"), EXIT_IO, "No such file");
    check_dies(lock, in_folder("file"), EXIT_IO, "Not a directory");
    ck_assert_int_eq(symlink("file", in_folder(".lock")), 0); /* what it leads to is not written */
    check_dies(lock, folder, EXIT_IO, "cannot write");
    check_text("file", "");
}
END_TEST

/* Writes a line of the log for which there is room, and half of the next. */
static void log_beyond_the_limit(const char *path)
{
    const Origin none = { 0 };
    Run *run = run_open(path, NULL, false, &none);
    struct stat log;

    run_log(run, (LogLine){ .step = 1, .split = "train", .loss = 1 });
    ck_assert_int_eq(stat(in_folder("run/log.jsonl"), &log), 0);
    limit_file_size((size_t)log.st_size * 3 / 2);
    run_log(run, (LogLine){ .step = 2, .split = "train", .loss = 1 });
}

START_TEST(a_log_that_cannot_be_written_ends_the_run)
{
    check_dies(log_beyond_the_limit, in_folder("run"), EXIT_IO, "run/log.jsonl: File too large");
    ck_assert(!is_there("run/.lock"));
}
END_TEST

/* Whatever its name, and whether or not other files of a run are there. */
START_TEST(a_text_that_a_run_would_replace_is_recognised)
{
    static const char *const own[] = { "log.jsonl", "config.json", "eval.csv",
                                       "events.out.tfevents.1" };
    static const char *const others[] = { "corpus.txt", "log.json", "eval.csv.gz" };

    for (int i = 0; i < COUNT(own); i++) {
        put_text(own[i], "x");
        ck_assert(folder_replaces(folder, in_folder(own[i])));
        ck_assert(!folder_replaces("/", in_folder(own[i])));
    }
    for (int i = 0; i < COUNT(others); i++) {
        put_text(others[i], "x");
        ck_assert(!folder_replaces(folder, in_folder(others[i])));
    }
    ck_assert_int_eq(link(in_folder("log.jsonl"), in_folder("linked")), 0);
    ck_assert(folder_replaces(folder, in_folder("linked")));
}
END_TEST

Suite *suite_folder(void)
{
    Suite *s = suite_create("folder");
    TCase *t = with_folder(s, "folder");

    tcase_add_test(t, a_run_in_use_is_refused_to_other_processes);
    tcase_add_test(t, a_lock_is_released_when_its_process_ends_or_is_killed);
    tcase_add_test(t, a_process_that_fails_releases_its_lock);
    tcase_add_test(t, an_existing_run_is_not_replaced_by_a_new_one);
    tcase_add_test(t, a_run_that_appears_meanwhile_is_not_overwritten);
    tcase_add_test(t, an_overwritten_run_is_removed_once_the_new_one_is_saved);
    tcase_add_test(t, an_overwritten_run_is_restored_if_the_new_one_saves_nothing);
    tcase_add_test(t, what_cannot_be_put_aside_is_not_overwritten);
    tcase_add_test(t, a_foreign_file_among_those_put_aside_does_not_matter);
    tcase_add_test(t, weights_and_log_are_restored_without_a_list_of_files);
    tcase_add_test(t, a_run_without_weights_is_overwritten_as_well);
    tcase_add_test(t, a_lock_is_tried_again_or_done_without);
    tcase_add_test(t, a_folder_that_cannot_be_made_or_written_is_an_error);
    tcase_add_test(t, overwriting_may_be_killed_at_any_point);
    tcase_add_test(t, temporary_files_of_killed_runs_are_removed_and_no_others);
    tcase_add_test(t, a_folder_that_cannot_be_locked_is_an_error);
    tcase_add_test(t, a_folder_that_was_moved_or_replaced_gets_no_checkpoint);
    tcase_add_test(t, a_log_that_cannot_be_written_ends_the_run);
    tcase_add_test(t, a_text_that_a_run_would_replace_is_recognised);
    return s;
}
