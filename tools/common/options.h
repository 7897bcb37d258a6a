/*
 * The command line of every program, from one table: parsing, checks, --help and a run's
 * config.json all use the same rows.
 *
 *     static Option options[] = {
 *         { .name = "Model" },
 *         { "n-layer", OPTION_INT, &n_layer, .min = 1, .max = 1000, .help = "blocks" },
 *         { "dropout", OPTION_REAL, &dropout, .max = 1, .below = true, .help = "probability" },
 *         { 0 },
 *     };
 *     static const Program train = { "./train [options] CORPUS...", "Trains ...", options, NULL };
 *     int files = options_parse(&train, argc, argv); // they are argv[0] to argv[files - 1]
 *
 * A value is `--key value` or `--key=value`; a flag is `--key` or `--no-key`. Names cannot be
 * abbreviated; '-' and '_' are equivalent in them. If an option is given twice, the last one
 * counts. `--` ends the options; `-` is an argument. Options on the command line override those of
 * a preset, in any order.
 *
 * Numbers are decimal: spaces, '+', hexadecimal, decimal commas, nan, inf and numbers out of range
 * are errors. No program calls setlocale().
 */
#ifndef TOOLS_COMMON_OPTIONS_H
#define TOOLS_COMMON_OPTIONS_H

#include "ops/base/json.h"
#include "ops/base/text.h"
#include "tools/common/build.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum {
    OPTION_GROUP,    /* not an option: a heading in --help */
    OPTION_FLAG,     /* bool */
    OPTION_INT,      /* int */
    OPTION_LIST,     /* OptionList: 64,128,256 */
    OPTION_SEED,     /* uint64_t */
    OPTION_REAL,     /* double; nan: not set */
    OPTION_DURATION, /* double, seconds: 90, 90s, 1h30m, 2d; nan: not set */
    OPTION_TEXT,     /* const char *, not empty unless `any`; NULL: not set */
    OPTION_TEXTS,    /* OptionTexts: a,b; repeating the option adds to them */
    OPTION_CHOICE,   /* int, the index of the name; -1: not set */
    OPTION_SET,      /* unsigned, a bit per name, as in qv,layers; 0: not set */
    OPTION_SEQUENCE, /* OptionSequence: names in order, as in relu,relu,softmax:window=64 */
    OPTION_PRESET,   /* int, the index of the preset; -1: not set */
} OptionKind;

enum { OPTION_LIST_MAX = 32, OPTION_TEXTS_MAX = 64 };

typedef struct {
    int n, at[OPTION_LIST_MAX];
} OptionList;

typedef struct {
    int n;
    const char *at[OPTION_TEXTS_MAX];
} OptionTexts;

/* The indices of the names, and all of it as it was given; NULL: not given. */
typedef struct {
    int n, at[OPTION_LIST_MAX];
    const char *words;
} OptionSequence;

typedef struct {
    const char *name, *summary; /* summary: its line in a list in --help; may be NULL */
    const char *alias;          /* a former name, which still works, or NULL */
} Choice;

typedef struct {
    const char *name, *summary;
    const char *const (
        *values)[2]; /* option and value ("on", "off" for a flag), ending with NULL */
} Preset;

typedef struct {
    const char *name;
    OptionKind kind;
    void *at;          /* where to store the value; initially the default */
    double min, max;   /* INT, LIST, REAL, DURATION; max <= min or HUGE_VAL: no upper limit */
    bool above, below; /* min itself, or max itself, is not allowed */
    const char *const *choices; /* CHOICE, SET, SEQUENCE: the names, ending with NULL, */
    Choice (*choice)(int i);    /* or the i-th row of a table, whose name is NULL past the end */
    const Preset *presets;      /* PRESET: ends with a row of zeros */
    const char *also;           /* INT, REAL: a word that means the number `means`; NULL: none */
    int means;
    const char *word;   /* the name of the value in --help; NULL: the kind's */
    const char *help;   /* for --help, which appends names and default, */
    const char *others; /* and in which cases the default is another: "4 in mamba2"; NULL: none */
    char letter;        /* 'o': -o is a short form */
    const char *alias;  /* "lr,rate": other names for the option; NULL: none */
    bool any;           /* TEXT, TEXTS: may be empty, begin with '-', or have commas */
    bool given;         /* set by options_parse, and options_config if asked to */
    bool restored;      /* set by options_restore */
} Option;

/* An option of most programs. */
#define THREADS_OPTION(at)                                                                         \
    {                                                                                              \
        "threads", OPTION_INT, &(at), .max = 1024, .help = "threads; 0: all available processors"  \
    }

typedef struct {
    const char *usage, *summary;
    Option *options;   /* ends with a row of zeros */
    const char *notes; /* printed at the end of --help; may be NULL */
} Program;

/*
 * Fills in the values and moves all other arguments to the front of argv, in order; returns their
 * number. --help, `help [OPTION]` and --version print and exit. Mistakes end in die(EXIT_USAGE). If
 * standard streams are closed, their file descriptors are reserved, so that no file gets them;
 * writing to a closed pipe or past the file size limit makes the call fail.
 */
int options_parse(const Program *program, int argc, char **argv);

/* The same for words that are not a program's command line: leaves standard streams alone. */
int options_words(const Program *program, int argc, char **argv);

/* At the end of a program: dies (EXIT_IO) if standard output could not be written, unless its
 * reader has closed the pipe. */
void options_finish(void);

/*
 * Prints --help to stdout, or what it says about one option; and a manual page or completion
 * ("man", "bash", "zsh", "fish").
 */
void options_help(const Program *program);
void options_help_one(const Option *option);
void options_page(const Program *program, const char *format);

/*
 * The program as it was called, ./train or attnc-train; its usage with this name; and a text that
 * names it, to be released with free(). options_parse() sets it with options_call().
 */
Text options_name(const Program *program);
Text options_usage(const Program *program);
char *options_named(const Program *program, const char *text);
void options_call(const char *name);

/* A short text for messages: where programs are installed, ./eval becomes attnc-eval. */
Text options_installed(const char *text);

/* The help of an option with its names, default and aliases; the name of its value. */
Text options_describe(const Option *o);
const char *options_word(const Option *o);

/* What an option takes that cannot be `value`: "one of ... (did you mean softmax?)". */
Text options_instead(const Option *o, const char *value);

/* The i-th name of a choice, a set or a preset; NULL past the end or for other kinds. */
Choice options_choice(const Option *o, int i);

/* Which of these names the n bytes `given` are probably a misspelling of, or NULL. */
const char *options_nearest(const Option *o, const char *given, size_t n);

/* The same for any list of names: call options_nearer() for each of them. */
typedef struct {
    const char *given;
    size_t n;
    const char *name; /* the nearest so far, and how many of its bytes; or NULL */
    size_t length;
    size_t distance;
} Nearest;

void options_nearer(Nearest *near, const char *name);
void options_nearer_part(Nearest *near, const char *name, size_t n); /* its first n bytes */

/* Whether the command line, its preset or a file like one set this option. */
bool options_given(const Program *program, const char *name);

/* The same, or options_restore() did. */
bool options_set(const Program *program, const char *name);

/* The value of an option as on the command line; empty if it is not set. */
Text options_value(const Option *o);

/* The valid values, in words: "a whole number from 1 to 8"; and the names of a choice: "a, b". */
Text options_takes(const Option *o);
Text options_names(const Option *o);

/* Sets the value. If it is not valid, returns false, or dies (EXIT_USAGE). */
bool options_read(const Option *o, const char *value);
void options_take(Option *o, const char *value);

/* Whether the n bytes at `given` are that name, or its beginning, where '-' equals '_'. */
bool options_same(const char *given, size_t n, const char *name);
bool options_begins(const char *name, const char *given, size_t n);

/* Sets an option unless the command line or its preset did. False: no such option, or not valid. */
bool options_restore(const Program *program, const char *name, const char *value);

/* The option of that name, or NULL. */
const Option *options_find(const Program *program, const char *name);

/*
 * Sets options from the members of a JSON object in the file `path`, such as one that
 * options_json() printed, as options_restore() does; an empty value leaves the default. Those for
 * which `skip` returns true are left alone. Dies (EXIT_DATA) if there is no such option, or its
 * value is not valid. If `given`, those that change a value count as given, so that they are
 * refused where they do not apply. Values may be stored in `mem` or in the object.
 */
typedef bool SkipOption(const char *name, const Json *value, const Json *config);
void options_config(const Program *program, const Json *config, const char *path, SkipOption *skip,
                    bool given, Arena *mem);

/* Whether an entry of config.json is a fact of the run, not an option: when, where and from what it
 * was made. */
bool options_fact(const char *key);

/* Whether an entry can change the numbers of a run, and not only its speed, how far it has got,
 * what it prints and what it saves. */
bool options_matter(const char *key);

/* Whether two runs' entries `texts` have the same hashes, as far as there are any. */
bool options_same_texts(const Json *a, const Json *b);

/* Whether an entry is a mechanism's seed and equal to the run's, as it is unless it was given. */
bool options_follow_seed(const Json *config, const char *key);

/* Parses the number [-]digits[.digits][e[-+]digits] at s, and returns its end in `end`; false:
 * there is none, or it is not finite, or too small for a double. */
bool options_number(const char *s, const char **end, double *value);

/* Prints all values as a JSON object, one per line, names with '_'; null: not set. Numbers are
 * exact; a byte that is not UTF-8 becomes U+FFFD. `more`: members that follow, or "". */
void options_json(const Program *program, const char *more, FILE *out);

#endif
