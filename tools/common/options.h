/*
 * The command line of every program, from one table: what is parsed, checked,
 * printed by --help and written to a run's config.json are the same rows.
 *
 *     static Option options[] = {
 *         { .name = "Model" },
 *         { "n-layer", OPTION_INT, &n_layer, .min = 1, .max = 1000, .help = "blocks" },
 *         { "dropout", OPTION_REAL, &dropout, .max = 1, .below = true, .help = "share dropped" },
 *         { 0 },
 *     };
 *     static const Program train = { "./train [options] CORPUS...", "Trains ...", options, NULL };
 *     int files = options_parse(&train, argc, argv); // they are argv[0] to argv[files - 1]
 *
 * A value is `--key value` or `--key=value`; a flag is `--key` or `--no-key`.
 * Names are written in full; '-' and '_' are the same in them. The last of an
 * option given twice counts. `--` ends the options, `-` is not one. What a
 * preset sets, an option on the command line overrides, wherever it stands.
 *
 * Numbers are decimal: a space, '+', hex, a decimal comma, nan, inf and what
 * does not fit its type or range are refused. No program calls setlocale().
 */
#ifndef TOOLS_COMMON_OPTIONS_H
#define TOOLS_COMMON_OPTIONS_H

#include "ops/base/text.h"

#include <stdbool.h>
#include <stdio.h>

extern const char attn_version[];

typedef enum {
    OPTION_GROUP,    /* no option: a heading in --help */
    OPTION_FLAG,     /* bool */
    OPTION_INT,      /* int */
    OPTION_LIST,     /* OptionList: 64,128,256 */
    OPTION_SEED,     /* uint64_t */
    OPTION_REAL,     /* double; nan: not set */
    OPTION_DURATION, /* double, seconds: 90, 90s, 1h30m, 2d; nan: not set */
    OPTION_TEXT,     /* const char *, never empty but for `any`; NULL: not set */
    OPTION_TEXTS,    /* OptionTexts: a,b; given again it adds to them */
    OPTION_CHOICE,   /* int, the index of the name; -1: not set */
    OPTION_SET,      /* unsigned, a bit for each name of qv,layers; 0: not set */
    OPTION_PRESET,   /* the same, of the preset */
} OptionKind;

enum { OPTION_LIST_MAX = 32, OPTION_TEXTS_MAX = 64 };

typedef struct {
    int n, at[OPTION_LIST_MAX];
} OptionList;

typedef struct {
    int n;
    const char *at[OPTION_TEXTS_MAX];
} OptionTexts;

typedef struct {
    const char *name, *summary; /* with a summary --help gives it a line of its own */
    const char *alias;          /* an older name, which still works, or NULL */
} Choice;

typedef struct {
    const char *name, *summary;
    const char *const (*values)[2]; /* option and value ("on", "off" for a flag), ended by NULL */
} Preset;

typedef struct {
    const char *name;
    OptionKind kind;
    void *at;                   /* where the value goes; what is there before is the default */
    double min, max;            /* of INT, LIST, REAL, DURATION; max <= min or HUGE_VAL: no end */
    bool above, below;          /* min itself, max itself, is not allowed */
    const char *const *choices; /* CHOICE, SET: the names, ended by NULL, */
    Choice (*choice)(int i);    /* or the i-th row of a table, whose name is NULL past the end */
    const Preset *presets;      /* PRESET: ended by a row of zeros */
    const char *word;           /* what --help calls the value; NULL: by kind */
    const char *help;           /* one line; names and default are appended */
    char letter;                /* 'o': -o is the same */
    const char *alias;          /* "lr,rate": other names that are the same; NULL: none */
    bool any;      /* TEXT, TEXTS: what begins with '-' is a value too, nothing, a ',' */
    bool given;    /* set by options_parse */
    bool restored; /* set by options_restore */
} Option;

typedef struct {
    const char *usage, *summary;
    Option *options;   /* ended by a row of zeros */
    const char *notes; /* printed as it is at the end of --help; may be NULL */
} Program;

/*
 * Fills in the values and moves the arguments that are no options to the front
 * of argv, in order; returns their number. --help and --version print and exit.
 * Every mistake ends in die(EXIT_USAGE). Standard streams that are closed stay useless, but no file
 * gets their numbers.
 */
int options_parse(const Program *program, int argc, char **argv);

/* At the end of a program: dies (EXIT_IO) if standard output has not taken all that was printed. */
void options_finish(void);

/* What --help prints, to stdout. */
void options_help(const Program *program);

/* The i-th name that a choice, a set or a preset takes; its name is NULL past the end, and for
 * others. */
Choice options_choice(const Option *o, int i);

/* Of those names the one that `given`, n bytes of it, was probably meant to be; NULL: none is near.
 */
const char *options_nearest(const Option *o, const char *given, size_t n);

/* The same among any names: all of them are shown to options_nearer() one by one. */
typedef struct {
    const char *given;
    size_t n;
    const char *name; /* the nearest so far; NULL: none is near */
    size_t distance;
} Nearest;

void options_nearer(Nearest *near, const char *name);

/* Whether the command line or its preset set this option. */
bool options_given(const Program *program, const char *name);

/* The same, or options_restore() did. */
bool options_set(const Program *program, const char *name);

/* The value of an option as the command line takes it; empty: it is not set. */
Text options_value(const Option *o);

/* What it takes, in words: "a whole number from 1 to 8"; and the names of a choice: "a, b". */
Text options_takes(const Option *o);
Text options_names(const Option *o);

/* Sets the value. False: the option takes no such value; options_take() dies (EXIT_USAGE) of it. */
bool options_read(const Option *o, const char *value);
void options_take(Option *o, const char *value);

/* Whether the n bytes at `given` are that name, with '-' and '_' the same. */
bool options_same(const char *given, size_t n, const char *name);

/* Sets an option, unless the command line or its preset did. False: there is none of that name, or
 * it takes no such value. */
bool options_restore(const Program *program, const char *name, const char *value);

/* The number [-]digits[.digits][e[-+]digits] that s begins with, and where it ends; false: there is
 * none, or it is not finite. */
bool options_number(const char *s, const char **end, double *value);

/* All values as a JSON object, a line each, names with '_'; null: not set. Numbers read back the
 * same; a byte that is no UTF-8 becomes U+FFFD. */
void options_json(const Program *program, FILE *out);

#endif
