/*
 * Runs commands and judges what they leave. Each line of standard input is a case, with fields
 * that end at a tab, in which \n \t \e \\ mean what they do in C:
 *
 *     CODES WORDS LIMITS PROGRAM ARGUMENT...
 *
 *     CODES    exit codes that are right, as in 0,3
 *     WORDS    what the error has to say, or nothing
 *     LIMITS   any of as=KB (memory), fsize=KB (files), close=MASK (of descriptors 0, 1 and 2),
 *              full (standard output is /dev/full), from=FILE (standard input), keep (files stay)
 *
 * Commands run in the folder here/, which is empty before each of them. Always: no signal ends
 * them; a failure is one line of at most 400 bytes on stderr, without control characters; a usage
 * error takes 50 ms of processor time at most and creates nothing; no failure takes more than
 * MEMORY MB, or leaves a temporary file or a lock. SLOW=10 is how much more time a sanitizer
 * takes; it has no limit of memory.
 */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIELDS = 11000, SAID = 4096, SECONDS = 20, USAGE = 2, USAGE_MS = 50, MEMORY = 200 };

typedef struct {
    char *codes, *words, *limits, *argv[FIELDS];
} Case;

typedef struct {
    int status;
    double ms, mb;
    char said[SAID];
    size_t bytes;
} Result;

static int cases, failures;
static double slowest, largest;

static void decode(char *s)
{
    char *to = s;

    for (; *s; s++)
        if (*s == '\\' && s[1])
            s++, *to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s == 'e' ? '\033' : *s;
        else
            *to++ = *s;
    *to = 0;
}

static bool split(char *line, Case *c)
{
    char *field[FIELDS + 3];
    int n = 0;

    line[strcspn(line, "\n")] = 0;
    for (char *at = line; at && n < FIELDS + 2; n++) {
        char *end = strchr(at, '\t');

        if (end)
            *end++ = 0;
        decode(field[n] = at);
        at = end;
    }
    field[n] = NULL;
    if (n < 4)
        return false;
    c->codes = field[0], c->words = field[1], c->limits = field[2];
    memcpy(c->argv, field + 3, (size_t)(n - 2) * sizeof *field);
    return true;
}

/* The number behind NAME= in the limits, or -1. */
static long limit(const Case *c, const char *name)
{
    const char *at = strstr(c->limits, name);

    return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static void set_limit(int which, long kb)
{
    if (kb >= 0)
        setrlimit(which, &(struct rlimit){ (rlim_t)kb * 1024, (rlim_t)kb * 1024 });
}

static void onto(int fd, const char *path, int flags)
{
    const int file = open(path, flags, 0666);

    dup2(file, fd);
    close(file);
}

static void child(const Case *c)
{
    const char *from = strstr(c->limits, "from=");
    const long closed = limit(c, "close=");

    onto(0, from ? from + 5 : "/dev/null", O_RDONLY);
    onto(1, strstr(c->limits, "full") ? "/dev/full" : "out", O_WRONLY | O_CREAT | O_TRUNC);
    onto(2, "err", O_WRONLY | O_CREAT | O_TRUNC);
    for (int fd = 0; fd < 3 && closed > 0; fd++)
        if (closed >> fd & 1)
            close(fd);
    set_limit(RLIMIT_AS, limit(c, "as="));
    set_limit(RLIMIT_FSIZE, limit(c, "fsize="));
    if (chdir("here") == 0)
        execv(c->argv[0], c->argv);
    _exit(126);
}

static Result run(const Case *c)
{
    Result r = { .status = 0 };
    struct rusage used;
    const pid_t pid = fork();

    if (pid == 0) {
        alarm(SECONDS);
        child(c);
    }
    wait4(pid, &r.status, 0, &used);
    r.ms = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    r.mb = (double)used.ru_maxrss / 1024;
    FILE *err = fopen("err", "r");
    r.bytes = err ? fread(r.said, 1, SAID - 1, err) : 0;
    r.said[r.bytes] = 0;
    if (err)
        fclose(err);
    return r;
}

static bool among(const char *codes, int code)
{
    for (char *end; *codes; codes = *end ? end + 1 : end)
        if (strtol(codes, &end, 10) == code)
            return true;
    return false;
}

static int left, temporary;

static int look(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    const char *name = path + at->base, *dot = strrchr(name, '.');

    (void)st, (void)flag;
    left += at->level > 0;
    temporary += strcmp(name, ".lock") == 0 || (dot && dot > name && strcmp(dot, ".tmp") == 0);
    return 0;
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag;
    return at->level > 0 ? remove(path) : 0;
}

/* What is wrong with the one line of an error, or NULL. */
static const char *wrong_line(const Case *c, const Result *r)
{
    const char *line = strstr(r->said, "attn.c: error: ");

    if (!line)
        return "no error line";
    if (strstr(line + 1, "attn.c: error: "))
        return "two error lines";
    if (!strstr(line, c->words))
        return "other words";
    const size_t n = strcspn(line, "\n");
    if (n >= 400 || line[n] != '\n')
        return "a line that is too long";
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            return "control characters";
    return NULL;
}

static const char *judge(const Case *c, const Result *r)
{
    const char *slow = getenv("SLOW");
    const int code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;

    left = temporary = 0;
    nftw("here", look, 8, FTW_PHYS);
    if (code < 0)
        return WTERMSIG(r->status) == SIGALRM ? "takes too long" : "ended by a signal";
    if (!among(c->codes, code))
        return "another exit code";
    if (temporary)
        return "a temporary file is left";
    if (code == 0)
        return NULL;
    if (code == USAGE && left)
        return "something was created";
    if (code == USAGE && r->ms > USAGE_MS * (slow ? atof(slow) : 1))
        return "a usage error that takes its time";
    if (!slow && r->mb > MEMORY)
        return "a failure that takes memory";
    slowest = code == USAGE && r->ms > slowest ? r->ms : slowest;
    largest = r->mb > largest ? r->mb : largest;
    return limit(c, "close=") & 4 && limit(c, "close=") > 0 ? NULL : wrong_line(c, r);
}

static void report(const Case *c, const Result *r, const char *wrong)
{
    printf("FAILED: %s (exit %d, %.0f ms, %.0f MB):", wrong,
           WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -WTERMSIG(r->status), r->ms, r->mb);
    for (int i = 0; c->argv[i] && i < 30; i++) {
        printf(" '");
        for (const char *s = c->argv[i]; *s && s < c->argv[i] + 60; s++)
            putchar((unsigned char)*s < 0x20 ? '?' : *s);
        putchar('\'');
    }
    printf(" [%s] %.200s\n", c->limits, r->said);
}

int main(void)
{
    static Case c;
    char *line = NULL;
    size_t room = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (getline(&line, &room, stdin) > 0) {
        if (!split(line, &c))
            return 2;
        const Result r = run(&c);
        const char *wrong = judge(&c, &r);

        cases++;
        if (wrong)
            failures++, report(&c, &r, wrong);
        if (!strstr(c.limits, "keep"))
            nftw("here", drop, 8, FTW_PHYS | FTW_DEPTH);
    }
    printf(
        "%d cases, %d failures; the slowest usage error takes %.0f ms, the largest failure %.0f MB\n",
        cases, failures, slowest, largest);
    return failures > 0;
}
