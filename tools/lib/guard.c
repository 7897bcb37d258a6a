#include "tools/lib/guard.h"

#include "tools/common/settings.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local Rescue here;
static _Thread_local bool locked;
static _Thread_local char *copy; /* of the words being read */

const char *attnc_version(void)
{
    return ATTNC_VERSION;
}

const char *attnc_error(void)
{
    return here.line;
}

/* The tables' own strings are filled in when they are asked for. */
static Choice row(int i)
{
    Choice found = { 0 };

    pthread_mutex_lock(&tables);
    for (int at = 0; at <= i; at++) {
        found = settings_attention(at);
        if (!found.name)
            break;
    }
    pthread_mutex_unlock(&tables);
    return i < 0 ? (Choice){ 0 } : found;
}

const char *attnc_mechanism(int i)
{
    return row(i).name;
}

const char *attnc_mechanism_summary(int i)
{
    return row(i).summary;
}

/* Numbers have decimal points here, whatever the locale of the program. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain;
static _Thread_local locale_t callers;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

jmp_buf *guard_enter(void)
{
    pthread_once(&once, make_plain);
    callers = uselocale(plain);
    rescue = &here;
    return &here.back;
}

int guard_leave(void)
{
    rescue = NULL;
    uselocale(callers);
    return ATTNC_OK;
}

int guard_failed(void)
{
    rescue = NULL;
    uselocale(callers);
    guard_unlock();
    return here.code;
}

void guard_unlock(void)
{
    free(copy);
    copy = NULL;
    if (locked)
        pthread_mutex_unlock(&tables);
    locked = false;
}

void guard_given(const void *pointer, const char *name)
{
    if (!pointer)
        die(EXIT_USAGE, "%s is NULL", name);
}

void guard_lock(void)
{
    pthread_mutex_lock(&tables);
    locked = true;
}

/* These end a program. */
static void refuse_help(const char *word)
{
    static const char *const ending[] = { "-h", "--help", "--version", "--print" };

    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (strncmp(word, ending[i], strlen(ending[i])) == 0)
            die(EXIT_USAGE, "unknown option %s", ending[i]);
}

void guard_options(const Program *program, const char *words)
{
    enum { MOST = 256 };
    char *word[MOST], *rest;
    int n = 1; /* after the name of a program */

    for (Option *o = program->options; o->name; o++)
        o->given = o->restored = false;
    words = words ? words : "";
    copy = xmalloc(strlen(words) + 1);
    strcpy(copy, words);
    for (char *w = strtok_r(copy, " \t\n", &rest); w; w = strtok_r(NULL, " \t\n", &rest)) {
        if (n == MOST)
            die(EXIT_USAGE, "more than %d words of options", MOST - 1);
        refuse_help(w);
        word[n++] = w;
    }
    if (options_words(program, n, word) > 0)
        die(EXIT_USAGE, "%s is not an option: %s", text_cut(word[0], 60).at, program->usage);
}
