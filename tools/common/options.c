#include "tools/common/options.h"

#include "ops/base/error.h"
#include "ops/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SHOWN and LISTED keep an error line short whatever was typed; the others are columns of --help.
 */
enum { SHOWN = 60, LISTED = 180, WIDTH = 80, LEFT = 24 };

const char attn_version[] = "0.1";

static char dashed(char c)
{
    return c == '_' ? '-' : c;
}

static bool begins(const char *name, const char *given, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dashed(given[i]) != dashed(name[i]))
            return false;
    return true;
}

static bool same(const char *given, size_t n, const char *name)
{
    return begins(name, given, n) && !name[n];
}

static Option *find(const Program *program, const char *given, size_t n)
{
    for (Option *o = program->options; o->name; o++)
        if (o->kind != OPTION_GROUP && same(given, n, o->name))
            return o;
    return NULL;
}

static Option *find_letter(const Program *program, char letter)
{
    for (Option *o = program->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

Choice options_choice(const Option *o, int i)
{
    if (o->kind == OPTION_PRESET)
        return (Choice){ o->presets[i].name, o->presets[i].summary, NULL };
    if (o->kind != OPTION_CHOICE && o->kind != OPTION_SET)
        return (Choice){ 0 };
    return o->choice ? o->choice(i) : (Choice){ .name = o->choices[i] };
}

/* Insertions, deletions and changes that make a (n bytes) b; a long name is far from all. */
static size_t distance(const char *a, size_t n, const char *b)
{
    size_t row[SHOWN + 1], m = strlen(b);

    if (n > SHOWN || m > SHOWN)
        return SIZE_MAX / 4;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (dashed(a[i - 1]) != dashed(b[j - 1]));

            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[m];
}

void options_nearer(Nearest *near, const char *name)
{
    size_t m = strlen(name), d = distance(near->given, near->n, name);

    if (near->n >= 3 && begins(name, near->given, near->n))
        d = 1;
    if (2 * d <= (near->n > m ? near->n : m) && (!near->name || d < near->distance)) {
        near->name = name;
        near->distance = d;
    }
}

const char *options_nearest(const Option *o, const char *given, size_t n)
{
    Nearest near = { .given = given, .n = n };

    for (int i = 0; options_choice(o, i).name; i++)
        options_nearer(&near, options_choice(o, i).name);
    return near.name;
}

static noreturn void refuse_name(const Program *program, const char *arg)
{
    const char *name = arg + strspn(arg, "-");
    Nearest near = { .given = name, .n = strcspn(name, "=") };

    options_nearer(&near, "help");
    options_nearer(&near, "version");
    for (const Option *o = program->options; o->name; o++)
        if (o->kind != OPTION_GROUP)
            options_nearer(&near, o->name);
    if (near.name)
        die(EXIT_USAGE, "unknown option %s: did you mean --%s?", text_cut(arg, SHOWN).at,
            near.name);
    die(EXIT_USAGE, "unknown option %s: --help lists all", text_cut(arg, SHOWN).at);
}

static bool bounded(const Option *o)
{
    return o->max > o->min && isfinite(o->max);
}

static bool within(const Option *o, double x)
{
    bool low = o->above ? x > o->min : x >= o->min;

    return low && (!bounded(o) || (o->below ? x < o->max : x <= o->max));
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

static bool read_flag(const Option *o, const char *s)
{
    *(bool *)o->at = strcmp(s, "on") == 0;
    return *(bool *)o->at || strcmp(s, "off") == 0;
}

static bool read_whole(const Option *o, const char *s, const char **end, int *value)
{
    size_t sign = *s == '-', n = digits(s + sign);

    *end = s + sign + n;
    errno = 0;
    long long x = strtoll(s, NULL, 10);
    if (!n || errno || x < INT_MIN || x > INT_MAX || !within(o, (double)x))
        return false;
    *value = (int)x;
    return true;
}

static bool read_int(const Option *o, const char *s)
{
    int value;

    if (!read_whole(o, s, &s, &value) || *s)
        return false;
    *(int *)o->at = value;
    return true;
}

static bool read_list(const Option *o, const char *s)
{
    OptionList list = { 0 };

    do {
        if (list.n == OPTION_LIST_MAX || !read_whole(o, s, &s, &list.at[list.n++]))
            return false;
    } while (*s++ == ',');
    if (s[-1])
        return false;
    *(OptionList *)o->at = list;
    return true;
}

static bool read_seed(const Option *o, const char *s)
{
    if (s[digits(s)])
        return false;
    errno = 0;
    *(uint64_t *)o->at = strtoull(s, NULL, 10);
    return !errno;
}

bool options_number(const char *s, const char **end, double *value)
{
    const char *p = s + (*s == '-');
    size_t n = digits(p);
    char *stop;

    p += n;
    if (n && *p == '.')
        p += 1 + (n = digits(p + 1));
    if (n && (*p == 'e' || *p == 'E')) {
        p += 1 + (p[1] == '-' || p[1] == '+');
        p += n = digits(p);
    }
    *end = p;
    *value = strtod(s, &stop) + 0.0; /* -0 becomes 0 */
    if (n && stop < p)
        BUG("strtod reads only %d bytes of a number: a program called setlocale()",
            (int)(stop - s));
    return n && isfinite(*value);
}

static bool read_real(const Option *o, const char *s)
{
    double value;

    if (!options_number(s, &s, &value))
        return false;
    if (o->kind == OPTION_DURATION && *s) {
        value *= *s == 's' ? 1 : *s == 'm' ? 60 : *s == 'h' ? 3600 : (double)NAN;
        s++;
    }
    if (*s || !isfinite(value) || !within(o, value))
        return false;
    *(double *)o->at = value;
    return true;
}

static bool read_text(const Option *o, const char *s)
{
    *(const char **)o->at = s;
    return true;
}

static bool read_texts(const Option *o, const char *s)
{
    OptionTexts *texts = o->at;

    for (;; s++) {
        size_t n = strcspn(s, ",");

        if (!n || texts->n == OPTION_TEXTS_MAX)
            return false;
        char *part = memcpy(xmalloc(n + 1), s, n);
        part[n] = 0;
        texts->at[texts->n++] = part;
        s += n;
        if (!*s)
            return true;
    }
}

/* The index of the name that is n bytes of s, or -1. */
static int choice_of(const Option *o, const char *s, size_t n)
{
    for (int i = 0; options_choice(o, i).name; i++) {
        const Choice c = options_choice(o, i);

        if (same(s, n, c.name))
            return i;
        if (c.alias && same(s, n, c.alias)) {
            warn("%s is called %s now", c.alias, c.name);
            return i;
        }
    }
    return -1;
}

static bool read_choice(const Option *o, const char *s)
{
    int i = choice_of(o, s, strlen(s));

    if (i >= 0)
        *(int *)o->at = i;
    return i >= 0;
}

/* The first part of a set that is no name of it; where that ends is the end of the text, or a ','.
 */
static const char *wrong_part(const Option *o, const char *s, unsigned *set)
{
    for (*set = 0;; s++) {
        size_t n = strcspn(s, ",");
        int i = choice_of(o, s, n);

        if (i < 0)
            return s;
        *set |= 1u << i;
        s += n;
        if (!*s)
            return NULL;
    }
}

static bool read_set(const Option *o, const char *s)
{
    unsigned set;

    if (wrong_part(o, s, &set))
        return false;
    *(unsigned *)o->at = set;
    return true;
}

/* How a kind's value is read, and what it takes: the range follows the words, then an example. */
static const struct {
    bool (*read)(const Option *o, const char *value);
    const char *takes;
    bool in_range;
    const char *example;
} kinds[] = {
    [OPTION_FLAG] = { read_flag, "on or off", false, "" },
    [OPTION_INT] = { read_int, "a whole number", true, "" },
    [OPTION_LIST] = { read_list, "whole numbers", true, ", written like 64,128,256" },
    [OPTION_SEED] = { read_seed, "a whole number from 0 to 18446744073709551615", false, "" },
    [OPTION_REAL] = { read_real, "a number", true, ", written like 0.5 or 1e-4" },
    [OPTION_DURATION] = { read_real, "seconds", true, ", written like 90s, 10m or 1.5h" },
    [OPTION_TEXT] = { read_text, "a text; one that begins with '-' goes after =", false, "" },
    [OPTION_TEXTS] = { read_texts, "at most 64 texts, with ',' between two", false, "" },
    [OPTION_CHOICE] = { read_choice, "", false, "" },
    [OPTION_SET] = { read_set, "names, with ',' between two, of ", false, "" },
    [OPTION_PRESET] = { read_choice, "", false, "" },
};

static void add_range(Text *text, const Option *o)
{
    bool whole = o->kind == OPTION_INT || o->kind == OPTION_LIST;
    double min = whole && o->min < INT_MIN ? INT_MIN : o->min;
    double max = bounded(o) ? o->max : whole ? INT_MAX : HUGE_VAL;

    if (isfinite(min))
        text_add(text, " %s %s",
                 o->above        ? "above"
                 : isfinite(max) ? "from"
                                 : "of at least",
                 text_number(min).at);
    if (isfinite(max))
        text_add(text, " %s %s", o->below ? "to below" : "to", text_number(max).at);
}

static Text takes(const Option *o)
{
    Text text = { 0 };

    text_add(&text, "%s", kinds[o->kind].takes);
    if (kinds[o->kind].in_range)
        add_range(&text, o);
    for (int i = 0; options_choice(o, i).name; i++)
        text_add(&text, "%s%s", i ? ", " : "", options_choice(o, i).name);
    text_add(&text, "%s", kinds[o->kind].example);
    return text_cut(text.at, LISTED);
}

static void set(Option *o, const char *value)
{
    unsigned ignored;
    Text hint = { 0 };

    o->given = true;
    if (kinds[o->kind].read(o, value))
        return;
    const char *wrong = o->kind == OPTION_SET ? wrong_part(o, value, &ignored) : value;
    const char *near = options_nearest(o, wrong, strcspn(wrong, o->kind == OPTION_SET ? "," : ""));
    if (near)
        text_add(&hint, " (did you mean %s?)", near);
    die(EXIT_USAGE, "--%s %s: takes %s%s", o->name, text_cut(value, SHOWN).at, takes(o).at,
        hint.at);
}

static noreturn void leave(void)
{
    if (fflush(stdout) || ferror(stdout))
        die(EXIT_IO, "cannot write to standard output: %s", strerror(errno));
    exit(EXIT_SUCCESS);
}

/* The arguments one after the other: an option with its value, or a word that is no option. */
typedef struct {
    const Program *program;
    int argc, next;
    char **argv;
    bool ended; /* by -- */
    Option *option;
    const char *value;
} Arguments;

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static const char *next_value(Arguments *a, const char *equals)
{
    const Option *o = a->option;
    bool missing = !*equals && a->next == a->argc;
    const char *value = *equals ? equals + 1 : a->next < a->argc ? a->argv[a->next++] : "";
    bool number = value[0] == '-' && strspn(value + 1, ".0123456789");

    if (o->any && !missing)
        return value;
    if (!*value)
        die(EXIT_USAGE, "--%s needs a value: %s", o->name, takes(o).at);
    if (!*equals && is_option(value) && !number)
        die(EXIT_USAGE, "--%s needs a value before %s: %s", o->name, text_cut(value, SHOWN).at,
            takes(o).at);
    return value;
}

static void find_option(Arguments *a, const char *arg, const char *name, size_t n)
{
    a->value = "on";
    a->option = arg[1] == '-' ? find(a->program, name, n)
                : n == 1      ? find_letter(a->program, *name)
                              : NULL;
    if (!a->option && arg[1] == '-' && n > 3 && begins("no-", name, 3)) {
        a->value = "off";
        a->option = find(a->program, name + 3, n - 3);
        if (a->option && a->option->kind != OPTION_FLAG)
            a->option = NULL;
    }
    if (!a->option)
        refuse_name(a->program, arg);
}

static void read_option(Arguments *a, const char *arg)
{
    const char *name = arg + 1 + (arg[1] == '-');
    const char *equals = name + strcspn(name, "=");

    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
        options_help(a->program);
        leave();
    }
    if (strcmp(arg, "--version") == 0) {
        printf("attn.c %s\n", attn_version);
        leave();
    }
    find_option(a, arg, name, (size_t)(equals - name));
    if (a->option->kind != OPTION_FLAG)
        a->value = next_value(a, equals);
    else if (*equals)
        die(EXIT_USAGE, "--%s takes no value: write --%s or --no-%s", a->option->name,
            a->option->name, a->option->name);
}

static bool next(Arguments *a)
{
    if (!a->ended && a->next < a->argc && strcmp(a->argv[a->next], "--") == 0) {
        a->ended = true;
        a->next++;
    }
    if (a->next >= a->argc)
        return false;
    const char *arg = a->argv[a->next++];
    a->option = NULL;
    if (!a->ended && is_option(arg))
        read_option(a, arg);
    return true;
}

static void apply(const Program *program, const Preset *preset)
{
    for (int i = 0; preset->values[i][0]; i++) {
        const char *name = preset->values[i][0];
        Option *o = find(program, name, strlen(name));

        if (!o || o->kind == OPTION_PRESET)
            BUG("preset %s: there is no option %s", preset->name, name);
        set(o, preset->values[i][1]);
    }
}

/*
 * A file opened while a standard stream is closed would take its number, and get what is printed
 * there. So each number is held by something that refuses: what 0 gives is an error, as is what
 * 1 and 2 take.
 */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            exit(EXIT_IO);
}

/*
 * Three walks: the first finds the mistakes in names and prints --help while
 * the defaults are untouched, the second sets presets only, the third all else,
 * over what the presets have set.
 */
int options_parse(const Program *program, int argc, char **argv)
{
    const Arguments start = { .program = program, .argc = argc, .next = 1, .argv = argv };
    Arguments a = start;
    int words = 0;

    hold_streams();
    while (next(&a))
        ;
    for (a = start; next(&a);)
        if (a.option && a.option->kind == OPTION_PRESET)
            set(a.option, a.value);
    for (const Option *o = program->options; o->name; o++)
        if (o->kind == OPTION_PRESET && *(int *)o->at >= 0)
            apply(program, &o->presets[*(int *)o->at]);
    for (a = start; next(&a);)
        if (!a.option)
            argv[words++] = argv[a.next - 1];
        else if (a.option->kind != OPTION_PRESET)
            set(a.option, a.value);
    return words;
}

static const Option *option_of(const Program *program, const char *name)
{
    const Option *o = find(program, name, strlen(name));

    if (!o)
        BUG("there is no option %s", name);
    return o;
}

bool options_given(const Program *program, const char *name)
{
    return option_of(program, name)->given;
}

bool options_set(const Program *program, const char *name)
{
    return options_given(program, name) || option_of(program, name)->restored;
}

bool options_restore(const Program *program, const char *name, const char *value)
{
    Option *o = find(program, name, strlen(name));

    return o && (o->given || (o->restored = kinds[o->kind].read(o, value)));
}
