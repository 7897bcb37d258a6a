#include "tools/common/options.h"

#include "ops/base/text.h"

#include <stdint.h>
#include <string.h>

enum { WIDTH = 80, MARGIN = 24 }; /* columns of --help: all, and the widest common margin */

static const char *const words[] = {
    [OPTION_INT] = "N",          [OPTION_LIST] = "N,N,...",  [OPTION_SEED] = "N",
    [OPTION_REAL] = "X",         [OPTION_DURATION] = "TIME", [OPTION_TEXT] = "TEXT",
    [OPTION_TEXTS] = "TEXT,...", [OPTION_CHOICE] = "NAME",   [OPTION_PRESET] = "NAME",
    [OPTION_SET] = "NAME,...",
};

static const char *word(const Option *o)
{
    return o->word ? o->word : words[o->kind];
}

static bool is_choice(const Option *o)
{
    return o->kind == OPTION_CHOICE || o->kind == OPTION_PRESET;
}

static int columns(const char *s, size_t n)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += (s[i] & 0xc0) != 0x80; /* later bytes of a UTF-8 character take none */
    return count;
}

/* `left` in the margin, and `right` in lines that begin at column `indent`. */
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

/* "qv,layers" */
static Text show_set(const Option *o)
{
    Text text = { 0 };

    for (int i = 0; options_choice(o, i).name; i++)
        if (*(unsigned *)o->at >> i & 1)
            text_add(&text, "%s%s", text.n ? "," : "", options_choice(o, i).name);
    return text;
}

/* The value as --help shows it or, if not for `help`, as JSON; empty if it is not set. */
static Text show(const Option *o, bool help)
{
    const OptionList *list = o->at;
    const OptionTexts *texts = o->at;
    Text text = { 0 };

    if (o->kind == OPTION_FLAG && help)
        text_add(&text, "%s", *(bool *)o->at ? "on" : "off");
    else if (o->kind == OPTION_FLAG)
        text_add(&text, "%s", *(bool *)o->at ? "true" : "false");
    else if (o->kind == OPTION_INT)
        text_add(&text, "%d", *(int *)o->at);
    else if (o->kind == OPTION_SEED)
        text_add(&text, "%ju", (uintmax_t) * (uint64_t *)o->at);
    else if (o->kind == OPTION_LIST)
        for (int i = 0; i < list->n; i++)
            text_add(&text, "%s%d", i ? "," : "", list->at[i]);
    else if (o->kind == OPTION_TEXTS && help)
        for (int i = 0; i < texts->n; i++)
            text_add(&text, "%s%s", i ? "," : "", texts->at[i]);
    else if (o->kind == OPTION_SET)
        text = show_set(o);
    else if (o->kind == OPTION_REAL || o->kind == OPTION_DURATION)
        text = text_number(*(double *)o->at);
    else if (help && o->kind == OPTION_TEXT && *(const char **)o->at)
        text_add(&text, "%s", *(const char **)o->at);
    else if (help && is_choice(o) && *(int *)o->at >= 0)
        text_add(&text, "%s", options_choice(o, *(int *)o->at).name);
    if (help && o->kind == OPTION_DURATION && text.n)
        text_add(&text, "s");
    return text;
}

static Text margin(const Option *o)
{
    Text text = { 0 };

    if (o->letter)
        text_add(&text, "  -%c, --%s", o->letter, o->name);
    else
        text_add(&text, "  --%s%s", o->kind == OPTION_FLAG ? "[no-]" : "", o->name);
    if (o->kind != OPTION_FLAG)
        text_add(&text, " %s", word(o));
    return text;
}

static void print_option(const Option *o, int indent)
{
    Text value = show(o, true), text = { 0 };

    text_add(&text, "%s", o->help);
    if (options_choice(o, 0).summary)
        text_add(&text, ", see below");
    else
        for (int i = 0; options_choice(o, i).name; i++)
            text_add(&text, "%s%s", i ? ", " : ": ", options_choice(o, i).name);
    if (value.n)
        text_add(&text, " (%s)", value.at);
    print_row(margin(o).at, indent, text.at);
}

static void print_choices(const Option *o)
{
    size_t widest = 0;

    for (int i = 0; options_choice(o, i).name; i++)
        widest =
            strlen(options_choice(o, i).name) > widest ? strlen(options_choice(o, i).name) : widest;
    printf("\n--%s %s\n", o->name, word(o));
    for (int i = 0; options_choice(o, i).name; i++) {
        Text left = { 0 };

        text_add(&left, "  %s", options_choice(o, i).name);
        print_row(left.at, (int)widest + 4, options_choice(o, i).summary);
    }
}

void options_help(const Program *program)
{
    size_t widest = strlen("  -h, --help");

    for (const Option *o = program->options; o->name; o++)
        if (o->kind != OPTION_GROUP && margin(o).n > widest && margin(o).n <= MARGIN)
            widest = margin(o).n;
    int indent = (int)widest + 2;
    printf("usage: %s\n\n", program->usage);
    print_row("", 0, program->summary);
    if (program->options->kind != OPTION_GROUP)
        printf("\n");
    for (const Option *o = program->options; o->name; o++)
        if (o->kind == OPTION_GROUP)
            printf("\n%s\n", o->name);
        else
            print_option(o, indent);
    printf("\n");
    print_row("  -h, --help", indent, "print this and exit");
    print_row("  --version", indent, "print the version and exit");
    for (const Option *o = program->options; o->name; o++)
        if (options_choice(o, 0).summary)
            print_choices(o);
    if (program->notes)
        printf("\n%s\n", program->notes);
}

Text options_value(const Option *o)
{
    return show(o, true);
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
    Text text = show(o, false);

    if (o->kind == OPTION_TEXT)
        text_json(*(const char **)o->at, out);
    else if (o->kind == OPTION_TEXTS)
        print_texts(o->at, out);
    else if (is_choice(o))
        text_json(*(int *)o->at < 0 ? NULL : options_choice(o, *(int *)o->at).name, out);
    else if (o->kind == OPTION_SET)
        text_json(text.n ? text.at : NULL, out);
    else if (o->kind == OPTION_LIST)
        fprintf(out, "[%s]", text.at);
    else
        fputs(text.n ? text.at : "null", out);
}

void options_json(const Program *program, FILE *out)
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
    fputs("\n}\n", out);
}
