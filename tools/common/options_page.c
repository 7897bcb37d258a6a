/*
 * --print man, bash, zsh or fish: a manual page, and completion for three shells, from the table of
 * options. `make install` calls it, so it is not in --help.
 */
#include "tools/common/options.h"

#include "ops/base/error.h"
#include "tools/lib/attnc.h"

#include <stdlib.h>
#include <string.h>

/* What completes an argument: nothing, files, or runs, which are folders or checkpoints. */
typedef enum { NO_FILES, FILES, RUNS } Wanted;

/* Of the program's arguments, the words of its usage in capitals. */
static Wanted arguments_of(const Program *p)
{
    Wanted all = NO_FILES;

    for (const char *word = strchr(p->usage, ' '); word; word = strchr(word + 1, ' ')) {
        word += strspn(word, " [");
        if (strncmp(word, "RUN", 3) == 0 || strncmp(word, "DIR", 3) == 0)
            all = all == FILES ? FILES : RUNS;
        else if (*word >= 'A' && *word <= 'Z')
            all = FILES;
    }
    return all;
}

static Wanted value_of(const Option *o)
{
    const char *word = o->kind == OPTION_TEXT && o->word ? o->word : "";

    return strcmp(word, "FILE") == 0 ? FILES : strcmp(word, "FOLDER") == 0 ? RUNS : NO_FILES;
}

/* s without the characters of `special` as they are: each has `before` in front of it. */
static void put(const char *s, const char *special, const char *before)
{
    for (; *s; s++) {
        if (strchr(special, *s))
            fputs(before, stdout);
        putchar(*s);
    }
}

static void put_choices(const Option *o)
{
    for (int i = 0; options_choice(o, i).name; i++)
        printf("%s%s", i ? " " : "", options_choice(o, i).name);
}

/* A line of the manual page; one that begins with a dot or a quote would be a command. */
static void put_roff(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    for (; *s; s++)
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
}

static void put_roff_lines(const char *s)
{
    for (size_t n; *s; s += n + (s[n] == '\n')) {
        char line[512];

        n = strcspn(s, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, s);
        put_roff(line);
        putchar('\n');
    }
}

static void man_option(const Option *o)
{
    if (o->kind == OPTION_GROUP) {
        fputs(".SS ", stdout);
        put_roff(o->name);
        putchar('\n');
        return;
    }
    fputs(".TP\n.B ", stdout);
    if (o->letter)
        printf("\\-%c, ", o->letter);
    fputs(o->kind == OPTION_FLAG ? "\\-\\-[no\\-]" : "\\-\\-", stdout);
    put_roff(o->name);
    if (o->kind != OPTION_FLAG)
        printf(" \\fI%s\\fR", options_word(o));
    putchar('\n');
    put_roff(options_describe(o).at);
    putchar('\n');
}

static void man_choices(const Option *o)
{
    fputs(".SS Values of \\-\\-", stdout);
    put_roff(o->name);
    putchar('\n');
    for (int i = 0; options_choice(o, i).name; i++) {
        fputs(".TP\n.B ", stdout);
        put_roff(options_choice(o, i).name);
        putchar('\n');
        put_roff(options_choice(o, i).summary);
        putchar('\n');
    }
}

/* Without its full stop, as apropos lists it. */
static Text first_sentence(const char *s)
{
    const char *end = strstr(s, ". ");
    const size_t n = end ? (size_t)(end - s) : strlen(s);

    return text_format("%.*s", (int)(n && s[n - 1] == '.' ? n - 1 : n), s);
}

static void put_man(const Program *p, const char *name)
{
    const Text usage = options_usage(p);

    fputs(".TH \"", stdout);
    for (const char *c = name; *c; c++)
        putchar(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    printf("\" 1 \"\" \"attn.c %s\" \"User Commands\"\n.SH NAME\n", ATTNC_VERSION);
    put_roff(name);
    fputs(" \\- ", stdout);
    put_roff(first_sentence(options_installed(p->summary).at).at);
    fputs("\n.SH SYNOPSIS\n", stdout);
    put_roff_lines(usage.at);
    fputs(".SH DESCRIPTION\n", stdout);
    put_roff_lines(options_installed(p->summary).at);
    fputs(".SH OPTIONS\n", stdout);
    for (const Option *o = p->options; o->name; o++)
        man_option(o);
    fputs(".SS Help\n.TP\n.B \\-h, \\-\\-help\nprint a summary and exit\n"
          ".TP\n.B \\-\\-version\nprint the version and exit\n",
          stdout);
    for (const Option *o = p->options; o->name; o++)
        if (options_choice(o, 0).summary)
            man_choices(o);
    if (p->notes) {
        char *notes = options_named(p, p->notes);

        fputs(".SH NOTES\n.nf\n", stdout);
        put_roff_lines(notes);
        fputs(".fi\n", stdout);
        free(notes);
    }
    fputs(".SH EXIT STATUS\n0 done, 1 the run failed, 2 usage, 3 out of memory, 4 input or output, "
          "5 invalid data, 130 interrupted.\n",
          stdout);
}

static void bash_files(Wanted wanted)
{
    printf("compopt -o filenames; mapfile -t COMPREPLY < <(%s)",
           wanted == FILES ? "compgen -f -- \"$cur\""
                           : "compgen -d -- \"$cur\"; compgen -f -X '!*.safetensors' -- \"$cur\"");
}

static void bash_option(const Option *o)
{
    printf("    --%s", o->name);
    if (o->letter)
        printf(" | -%c", o->letter);
    fputs(") ", stdout);
    if (value_of(o)) {
        bash_files(value_of(o));
        fputs("; ", stdout);
    } else if (options_choice(o, 0).name) {
        fputs("mapfile -t COMPREPLY < <(compgen -W '", stdout);
        put_choices(o);
        fputs("' -- \"$cur\"); ", stdout);
    }
    fputs("return ;;\n", stdout);
}

static void put_bash(const Program *p, const char *name)
{
    char function[64];

    snprintf(function, sizeof function, "_%s", name);
    for (char *c = function; (c = strpbrk(c, "-.+")); c++)
        *c = '_';
    printf("%s()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    # --name=value is three words\n"
           "    if [[ $cur == = ]]; then cur=\n"
           "    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
           "    COMPREPLY=()\n    case $prev in\n",
           function);
    for (const Option *o = p->options; o->name; o++)
        if (o->kind != OPTION_GROUP && o->kind != OPTION_FLAG)
            bash_option(o);
    fputs("    esac\n    if [[ $cur == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '--help --version",
          stdout);
    for (const Option *o = p->options; o->name; o++)
        if (o->kind == OPTION_FLAG)
            printf(" --%s --no-%s", o->name, o->name);
        else if (o->kind != OPTION_GROUP)
            printf(" --%s", o->name);
    fputs("' -- \"$cur\")\n", stdout);
    if (arguments_of(p)) {
        fputs("    else\n        ", stdout);
        bash_files(arguments_of(p));
        putchar('\n');
    }
    printf("    fi\n}\ncomplete -F %s %s\n", function, name);
}

static const char *zsh_files(Wanted wanted)
{
    return wanted == FILES  ? "_files"
           : wanted == RUNS ? "_path_files -g \"*.safetensors(-.) *(-/)\""
                            : " ";
}

/* '--name=[help]:WORD:(one other)' */
static void zsh_option(const Option *o, const char *no)
{
    printf(" \\\n    '--%s%s%s[", no, o->name, o->kind == OPTION_FLAG ? "" : "=");
    for (const char *c = options_describe(o).at; *c; c++)
        if (*c == '\'')
            fputs("'\\''", stdout);
        else
            put((char[]){ *c, 0 }, "[]\\", "\\");
    putchar(']');
    if (o->kind != OPTION_FLAG)
        printf(":%.*s:", (int)strcspn(options_word(o), ":"), options_word(o));
    if (options_choice(o, 0).name) {
        putchar('(');
        put_choices(o);
        putchar(')');
    } else if (o->kind != OPTION_FLAG) {
        fputs(zsh_files(value_of(o)), stdout);
    }
    putchar('\'');
}

static void put_zsh(const Program *p, const char *name)
{
    printf("#compdef %s\n_arguments '(- *)'{-h,--help}'[print help]' \\\n"
           "    '(- *)--version[print the version]'",
           name);
    for (const Option *o = p->options; o->name; o++)
        if (o->kind != OPTION_GROUP)
            zsh_option(o, "");
    for (const Option *o = p->options; o->name; o++)
        if (o->kind == OPTION_FLAG)
            zsh_option(o, "no-");
    if (arguments_of(p))
        printf(" \\\n    '*:file:%s'", zsh_files(arguments_of(p)));
    putchar('\n');
}

static void fish_option(const char *name, const Option *o, const char *no)
{
    printf("complete -c %s -l %s%s", name, no, o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (value_of(o)) {
        fputs(" -r -F", stdout);
    } else if (o->kind != OPTION_FLAG) {
        fputs(" -x -a '", stdout);
        put_choices(o);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    put(options_describe(o).at, "'\\", "\\");
    fputs("'\n", stdout);
}

static void put_fish(const Program *p, const char *name)
{
    if (arguments_of(p) != FILES)
        printf("complete -c %s -f\n", name);
    if (arguments_of(p) == RUNS)
        printf("complete -c %s -a '(__fish_complete_directories) *.safetensors'\n", name);
    printf("complete -c %s -s h -l help -d 'print help'\n"
           "complete -c %s -l version -d 'print the version'\n",
           name, name);
    for (const Option *o = p->options; o->name; o++)
        if (o->kind != OPTION_GROUP)
            fish_option(name, o, "");
    for (const Option *o = p->options; o->name; o++)
        if (o->kind == OPTION_FLAG)
            fish_option(name, o, "no-");
}

void options_page(const Program *program, const char *format)
{
    static const struct {
        const char *format;
        void (*print)(const Program *p, const char *name);
    } formats[] = {
        { "man", put_man }, { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish }
    };
    const Text name = options_name(program);

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (format && strcmp(format, formats[i].format) == 0) {
            formats[i].print(program, name.at);
            return;
        }
    die(EXIT_USAGE, "--print takes man, bash, zsh or fish");
}
