#include "tools/common/options.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "attnc-"
enum { WIDTH = 80, MARGIN = 24 }; /* columns of --help: in total, and of the widest left column */

static const char *const words[] = {
    [OPTION_INT] = "N",          [OPTION_LIST] = "N,N,...",      [OPTION_SEED] = "N",
    [OPTION_REAL] = "X",         [OPTION_DURATION] = "TIME",     [OPTION_TEXT] = "TEXT",
    [OPTION_TEXTS] = "TEXT,...", [OPTION_CHOICE] = "NAME",       [OPTION_PRESET] = "NAME",
    [OPTION_SET] = "NAME,...",   [OPTION_SEQUENCE] = "NAME,...",
};

const char *options_word(const Option *o)
{
    return o->word ? o->word : words[o->kind];
}

static const char *called; /* argv[0]; NULL: unknown */

void options_call(const char *name)
{
    called = name;
}

/* "./train", as the table calls it. */
static Text own_name(const Program *program)
{
    return text_format("%.*s", (int)strcspn(program->usage, " "), program->usage);
}

/* argv[0] without its folder. */
static const char *called_as(void)
{
    const char *slash = strrchr(called, '/');

    return slash ? slash + 1 : called;
}

Text options_name(const Program *program)
{
    if (!called || !*called)
        return own_name(program);
    return text_format("%.100s", strncmp(called, "./", 2) != 0 ? called_as() : called);
}

/* Installed, all programs have this prefix. */
static bool is_installed(void)
{
    return called && strncmp(called_as(), PREFIX, strlen(PREFIX)) == 0;
}

static char *installed(const char *text)
{
    char *all = xmalloc(strlen(text) * strlen(PREFIX) + 1), *to = all;

    for (const char *s = text; *s; s++)
        if (s[0] == '.' && s[1] == '/' && s[2] >= 'a' && s[2] <= 'z' &&
            (s == text || strchr(" (`;>\n", s[-1])))
            to += sprintf(to, PREFIX), s++;
        else
            *to++ = *s;
    *to = 0;
    return all;
}

Text options_installed(const char *text)
{
    char *all = is_installed() ? installed(text) : NULL;
    const Text to = text_format("%s", all ? all : text);

    free(all);
    return to;
}

char *options_named(const Program *program, const char *text)
{
    const Text name = options_name(program), own = own_name(program);

    if (is_installed())
        return installed(text);
    char *all = xmalloc((strlen(text) + 1) * (name.n + 1)), *to = all;
    for (const char *next; (next = strstr(text, own.at)); text = next + own.n)
        to += sprintf(to, "%.*s%s", (int)(next - text), text, name.at);
    strcpy(to, text);
    return all;
}

Text options_usage(const Program *program)
{
    char *usage = options_named(program, program->usage);
    const Text text = text_format("%s", usage);

    free(usage);
    return text;
}

static int columns(const char *s, size_t n)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += (s[i] & 0xc0) != 0x80; /* continuation bytes of UTF-8 do not count */
    return count;
}

/* Prints `left`, and `right` wrapped from column `indent` on. */
static void print_row(const char *left, int indent, const char *right)
{
    int column = columns(left, strlen(left));

    fputs(left, stdout);
    if (column && column + 2 > indent) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", indent - column, "");
    column = indent;
    for (size_t n; *right; right += n + strspn(right + n, " ")) {
        n = strcspn(right, " ");
        if (column > indent && column + 1 + columns(right, n) > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        fwrite(right, 1, n, stdout);
        column += columns(right, n);
    }
    putchar('\n');
}

static Text margin(const Option *o)
{
    Text text = o->letter ? text_format("  -%c, --%s", o->letter, o->name)
                          : text_format("  --%s%s", o->kind == OPTION_FLAG ? "[no-]" : "", o->name);

    if (o->kind != OPTION_FLAG)
        text_add(&text, " %s", options_word(o));
    return text;
}

/* Whether the help itself says what the default is: "0: all", "default: a tenth of the peak". */
static bool has_default(const char *help, const char *value)
{
    return strstr(help, "default: ") || (*value == '0' && atof(value) == 0 && strstr(help, "0: "));
}

Text options_describe(const Option *o)
{
    const Text value = options_value(o);
    Text text = text_format("%s", o->help);

    if (options_choice(o, 0).summary)
        text_add(&text, ", see below");
    else if (options_choice(o, 0).name)
        text_add(&text, ": %s", options_names(o).at);
    if (value.n && !has_default(o->help, value.at))
        text_add(&text, " (%s)", value.at);
    if (o->others) {
        const bool closed = text.at[text.n - 1] == ')';

        text.n -= closed;
        text_add(&text, "%s%s)", closed ? "; " : " (", o->others);
    }
    for (const char *name = o->alias; name; name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL)
        text_add(&text, "%s --%.*s", name == o->alias ? "; also" : ",", (int)strcspn(name, ","),
                 name);
    return text;
}

static void print_choices(const Option *o)
{
    int widest = 0;
    Choice c;

    for (int i = 0; (c = options_choice(o, i)).name; i++)
        widest = (int)strlen(c.name) > widest ? (int)strlen(c.name) : widest;
    printf("\n--%s %s\n", o->name, options_word(o));
    for (int i = 0; (c = options_choice(o, i)).name; i++)
        print_row(text_format("  %s", c.name).at, widest + 4, c.summary);
}

void options_help_one(const Option *option)
{
    print_row(margin(option).at, (int)margin(option).n + 2, options_describe(option).at);
    if (options_choice(option, 0).summary)
        print_choices(option);
}

void options_help(const Program *program)
{
    size_t widest = strlen("  -h, --help");

    for (const Option *o = program->options; o->name; o++)
        if (o->kind != OPTION_GROUP && margin(o).n > widest && margin(o).n <= MARGIN)
            widest = margin(o).n;
    int indent = (int)widest + 2;
    printf("usage: %s\n\n", options_usage(program).at);
    print_row("", 0, options_installed(program->summary).at);
    if (program->options->kind != OPTION_GROUP)
        printf("\n");
    for (const Option *o = program->options; o->name; o++)
        if (o->kind == OPTION_GROUP)
            printf("\n%s\n", o->name);
        else
            print_row(margin(o).at, indent, options_describe(o).at);
    printf("\n");
    print_row("  -h, --help", indent, "print this and exit; also `help`, or `help OPTION`");
    print_row("  --version", indent, "print the version and how it was built, and exit");
    for (const Option *o = program->options; o->name; o++)
        if (options_choice(o, 0).summary)
            print_choices(o);
    if (program->notes) {
        char *notes = options_named(program, program->notes);

        printf("\n%s\n", notes);
        free(notes);
    }
}

static void print_texts(const OptionTexts *texts, FILE *out)
{
    fputc('[', out);
    for (int i = 0; i < texts->n; i++) {
        fputs(i ? "," : "", out);
        text_json(texts->at[i], out);
    }
    fputc(']', out);
}

static void print_json(const Option *o, FILE *out)
{
    const Text value =
        o->kind == OPTION_DURATION ? text_number(*(double *)o->at) : options_value(o);

    if (o->kind == OPTION_FLAG)
        fputs(*(bool *)o->at ? "true" : "false", out);
    else if (o->kind == OPTION_TEXT)
        text_json(*(const char **)o->at, out);
    else if (o->kind == OPTION_TEXTS)
        print_texts(o->at, out);
    else if (o->kind == OPTION_LIST)
        fprintf(out, "[%s]", value.at);
    else if (options_choice(o, 0).name)
        text_json(value.n ? value.at : NULL, out);
    else
        fputs(value.n ? value.at : "null", out);
}

void options_json(const Program *program, const char *more, FILE *out)
{
    const char *before = "{\n";

    for (const Option *o = program->options; o->name; o++) {
        if (o->kind == OPTION_GROUP)
            continue;
        fprintf(out, "%s  \"", before);
        for (const char *c = o->name; *c; c++)
            fputc(*c == '-' ? '_' : *c, out);
        fputs("\": ", out);
        print_json(o, out);
        before = ",\n";
    }
    fprintf(out, "%s%s%s\n}\n", *more ? before : "", *more ? "  " : "", more);
}
