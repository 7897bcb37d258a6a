/* The values of options: parsing them, and describing valid ones. */
#include "tools/common/options.h"

#include "ops/base/error.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60, LISTED = 180 }; /* keeps error messages short, whatever was typed */

Choice options_choice(const Option *o, int i)
{
    if (o->kind == OPTION_PRESET)
        return (Choice){ o->presets[i].name, o->presets[i].summary, NULL };
    if (o->kind != OPTION_CHOICE && o->kind != OPTION_SET && o->kind != OPTION_SEQUENCE)
        return (Choice){ 0 };
    return o->choice ? o->choice(i) : (Choice){ .name = o->choices[i] };
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

/* The word that stands for a number. */
static bool is_word(const Option *o, const char *s)
{
    return o->also && strcmp(s, o->also) == 0;
}

static bool read_int(const Option *o, const char *s)
{
    int value;

    if (is_word(o, s))
        value = o->means;
    else if (!read_whole(o, s, &s, &value) || *s)
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
    size_t n = digits(p), after = p[n] == '.' ? digits(p + n + 1) : 0;
    char *stop;

    p += n;
    if (n + after > 0 && *p == '.')
        p += 1 + after;
    n += after;
    if (n && (*p == 'e' || *p == 'E')) {
        p += 1 + (p[1] == '-' || p[1] == '+');
        p += n = digits(p);
    }
    *end = p;
    *value = strtod(s, &stop) + 0.0; /* -0 becomes 0 */
    if (n && stop < p)
        BUG("strtod reads only %d bytes of a number: a program called setlocale()",
            (int)(stop - s));
    s += strcspn(s, "123456789eE"); /* 1e-999 is 0 as a double */
    return n && isfinite(*value) && !(*value == 0 && s < p && *s <= '9');
}

static bool read_real(const Option *o, const char *s)
{
    double value;

    if (is_word(o, s))
        value = o->means;
    else if (!options_number(s, &s, &value) || *s || !within(o, value))
        return false;
    *(double *)o->at = value;
    return true;
}

/* Seconds, or numbers with units from the largest to the smallest: 1h30m. */
static bool read_duration(const Option *o, const char *s)
{
    static const char units[] = "dhms";
    const char *left = units, *unit = units;
    double sum = 0, value;

    if (options_number(s, &unit, &value) && !*unit)
        return read_real(o, s);
    for (; *s; s = unit + 1) {
        if (!options_number(s, &unit, &value) || value < 0 || !*unit || !strchr(left, *unit))
            return false;
        left = strchr(left, *unit) + 1;
        sum += value * (double[]){ 86400, 3600, 60, 1 }[left - 1 - units];
    }
    if (left == units || !isfinite(sum) || !within(o, sum))
        return false;
    *(double *)o->at = sum;
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
        size_t n = o->any ? strlen(s) : strcspn(s, ",");

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

/* The index of the name in the first n bytes of s, or -1. */
static int choice_of(const Option *o, const char *s, size_t n)
{
    for (int i = 0; options_choice(o, i).name; i++) {
        const Choice c = options_choice(o, i);

        if (options_same(s, n, c.name))
            return i;
        if (c.alias && options_same(s, n, c.alias)) {
            warn("%s is now called %s", c.alias, c.name);
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

/* The first part of a set that is not one of its names; it ends at a ',' or the end. */
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

/* The name of a part; what follows a ':' is for others to parse. */
static size_t name_length(const char *part)
{
    return strcspn(part, ",:");
}

/* The first part of a sequence whose name is unknown, or that is one too many. */
static const char *wrong_name(const Option *o, const char *s, OptionSequence *to)
{
    *to = (OptionSequence){ .words = s };
    for (;; s++) {
        const int i = choice_of(o, s, name_length(s));

        if (i < 0 || to->n == OPTION_LIST_MAX)
            return s;
        to->at[to->n++] = i;
        s += strcspn(s, ",");
        if (!*s)
            return NULL;
    }
}

static bool read_sequence(const Option *o, const char *s)
{
    OptionSequence all;

    if (wrong_name(o, s, &all))
        return false;
    *(OptionSequence *)o->at = all;
    return true;
}

/* How to parse a kind, and its valid values in words; a range and an example follow. */
static const struct {
    bool (*read)(const Option *o, const char *value);
    const char *takes;
    bool in_range;
    const char *example;
} kinds[] = {
    [OPTION_FLAG] = { read_flag, "on or off", false, "" },
    [OPTION_INT] = { read_int, "a whole number", true, "" },
    [OPTION_LIST] = { read_list, "whole numbers", true, ", such as 64,128,256" },
    [OPTION_SEED] = { read_seed, "a whole number from 0 to 18446744073709551615", false, "" },
    [OPTION_REAL] = { read_real, "a number", true, ", such as 0.5 or 1e-4" },
    [OPTION_DURATION] = { read_duration, "seconds", true, ", such as 90s, 10m or 1h30m" },
    [OPTION_TEXT] = { read_text, "a text; put one that begins with '-' after '='", false, "" },
    [OPTION_TEXTS] = { read_texts, "at most 64 texts, separated by commas", false, "" },
    [OPTION_CHOICE] = { read_choice, "one of ", false, "" },
    [OPTION_SET] = { read_set, "names separated by commas, from ", false, "" },
    [OPTION_SEQUENCE] = { read_sequence, "one of, or several separated by commas, ", false, "" },
    [OPTION_PRESET] = { read_choice, "one of ", false, "" },
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

Text options_names(const Option *o)
{
    Text text = { 0 };

    for (int i = 0; options_choice(o, i).name; i++)
        text_add(&text, "%s%s", i ? ", " : "", options_choice(o, i).name);
    return text;
}

Text options_takes(const Option *o)
{
    Text text = text_format("%s", o->kind == OPTION_TEXTS && o->any
                                      ? "a text that is not empty, at most 64 times"
                                      : kinds[o->kind].takes);

    if (kinds[o->kind].in_range)
        add_range(&text, o);
    text_add(&text, "%s%s%s%s", options_names(o).at, kinds[o->kind].example, o->also ? "; or " : "",
             o->also ? o->also : "");
    return text_cut(text.at, LISTED);
}

bool options_read(const Option *o, const char *value)
{
    return kinds[o->kind].read(o, value);
}

Text options_instead(const Option *o, const char *value)
{
    unsigned ignored;
    OptionSequence none;
    const char *wrong = o->kind == OPTION_SET        ? wrong_part(o, value, &ignored)
                        : o->kind == OPTION_SEQUENCE ? wrong_name(o, value, &none)
                                                     : value;
    const char *end = o->kind == OPTION_SET ? "," : o->kind == OPTION_SEQUENCE ? ",:" : "";
    const char *near = options_nearest(o, wrong, strcspn(wrong, end));
    Text text = options_takes(o);

    if (near)
        text_add(&text, " (did you mean %s?)", near);
    return text;
}

void options_take(Option *o, const char *value)
{
    o->given = true;
    if (!options_read(o, value))
        die(EXIT_USAGE, "--%s %s: must be %s", o->name, *value ? text_cut(value, SHOWN).at : "''",
            options_instead(o, value).at);
}

/* As it was given; a default has names alone. */
static Text options_sequence(const Option *o)
{
    const OptionSequence *all = o->at;
    Text text = { 0 };

    if (all->words && all->n > 1)
        return text_format("%s", all->words);
    for (int i = 0; i < all->n; i++)
        text_add(&text, "%s%s", i ? "," : "", options_choice(o, all->at[i]).name);
    return text;
}

Text options_value(const Option *o)
{
    const OptionList *list = o->at;
    const OptionTexts *texts = o->at;
    Text text = { 0 };

    if (o->kind == OPTION_FLAG)
        text_add(&text, "%s", *(bool *)o->at ? "on" : "off");
    else if (o->kind == OPTION_INT)
        text_add(&text, "%d", *(int *)o->at);
    else if (o->kind == OPTION_SEED)
        text_add(&text, "%ju", (uintmax_t) * (uint64_t *)o->at);
    else if (o->kind == OPTION_LIST)
        for (int i = 0; i < list->n; i++)
            text_add(&text, "%s%d", i ? "," : "", list->at[i]);
    else if (o->kind == OPTION_TEXTS)
        for (int i = 0; i < texts->n; i++)
            text_add(&text, "%s%s", i ? "," : "", texts->at[i]);
    else if (o->kind == OPTION_REAL || o->kind == OPTION_DURATION)
        text = text_number(*(double *)o->at);
    else if (o->kind == OPTION_TEXT && *(const char **)o->at)
        text_add(&text, "%s", *(const char **)o->at);
    if (o->kind == OPTION_SEQUENCE)
        return options_sequence(o);
    for (int i = 0; options_choice(o, i).name; i++)
        if (o->kind == OPTION_SET ? *(unsigned *)o->at >> i & 1 : *(int *)o->at == i)
            text_add(&text, "%s%s", text.n ? "," : "", options_choice(o, i).name);
    if (o->kind == OPTION_DURATION && text.n)
        text_add(&text, "s");
    return text;
}
