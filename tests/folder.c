#include "tests/folder.h"

#include "ops/base/file.h"
#include "tests/tests.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

char folder[64], said[16000];

static void folder_open(void)
{
    strcpy(folder, "/tmp/attnc-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

const char *in_folder(const char *name)
{
    static char path[4][400];
    static unsigned last;
    char *to = path[++last % 4];

    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

int files(bool all)
{
    DIR *dir = opendir(folder);
    int n = 0;

    for (struct dirent *e; (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            n++;
            if (all)
                remove(in_folder(e->d_name));
        }
    closedir(dir);
    return n;
}

static void folder_close(void)
{
    files(true);
    rmdir(folder);
}

TCase *with_folder(Suite *s, const char *name)
{
    TCase *t = group(s, name);

    tcase_add_checked_fixture(t, folder_open, folder_close);
    return t;
}

void put(const char *path, const void *at, size_t bytes)
{
    file_replace(path, &(Piece){ at, bytes }, 1);
}

/* All that comes, of which the first part is kept. */
static void listen_to(int from)
{
    char more[1000];
    size_t used = 0;

    for (ssize_t got; (got = read(from, more, sizeof more)) > 0;) {
        size_t room = sizeof said - 1 - used, n = (size_t)got < room ? (size_t)got : room;

        memcpy(said + used, more, n);
        used += n;
    }
    said[used] = 0;
}

__attribute__((weak)) void __lsan_disable(void);

void leaks_are_expected(void)
{
    if (__lsan_disable)
        __lsan_disable();
}

__attribute__((weak)) void __gcov_dump(void);

/* A bug ends with this signal, and without the counters of coverage. */
static void count_and_abort(int sig)
{
    __gcov_dump();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void lift_limit(void)
{
    struct rlimit most;

    getrlimit(RLIMIT_FSIZE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_FSIZE, &most);
}

/* Counters of coverage are written at the end, and would be lost for all tests if cut short. */
void limit_file_size(size_t bytes)
{
    struct rlimit most;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(atexit(lift_limit), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &most), 0);
    most.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
}

int exit_code_through(const int pipes[2], void (*f)(const char *path), const char *path)
{
    int status;

    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        alarm(60);
        leaks_are_expected();
        if (__gcov_dump)
            signal(SIGABRT, count_and_abort);
        f(path);
        exit(0);
    }
    close(pipes[1]);
    listen_to(pipes[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int exit_code_of(void (*f)(const char *path), const char *path)
{
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    const int code = exit_code_through(pipes, f, path);
    close(pipes[0]);
    return code;
}

void check_dies(void (*f)(const char *path), const char *path, int code, const char *words)
{
    const int got = exit_code_of(f, path);
    const char *end = strchr(said, '\n');

    ck_assert_msg(got == code, "exit %d instead of %d: %s", got, code, said);
    ck_assert_msg(strstr(said, words) != NULL, "no '%s' in: %s", words, said);
    ck_assert_msg(strncmp(said, "attn.c: error: ", 15) == 0, "%s", said);
    ck_assert_msg(end && !end[1], "not one line: %s", said);
}

void put_text(const char *name, const char *text)
{
    put(in_folder(name), text, strlen(text));
}

void check_file(const char *path, const void *want, size_t bytes)
{
    size_t got;
    unsigned char *file = file_read(path, &got);

    ck_assert_uint_eq(got, bytes);
    ck_assert_mem_eq(file, want, bytes);
    ck_assert_uint_eq(file[got], 0);
    free(file);
}
