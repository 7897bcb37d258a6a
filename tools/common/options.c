#include "tools/common/options.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/build.h"
#include "tools/common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 60 }; /* keeps error messages short, whatever was typed */

/* Whether the n bytes at `given` are one of some names with ',' between them. */
static bool is_alias(const char *given, size_t n, const char *names)
{
    for (size_t m; names; names = names[m] ? names + m + 1 : NULL) {
        char name[SHOWN];

        m = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)m, names);
        if (options_same(given, n, name))
            return true;
    }
    return false;
}

static Option *find(const Program *program, const char *given, size_t n)
{
    for (Option *o = program->options; o->name; o++)
        if (o->kind != OPTION_GROUP &&
            (options_same(given, n, o->name) || is_alias(given, n, o->alias)))
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

/* Options of other programs of this kind, and what there is instead. */
static const char *const elsewhere[][2] = {
    { "epochs", "training is counted in steps: --max-iters, or --max-time" },
    { "device", "everything runs on the processor: --threads" },
    { "cuda", "everything runs on the processor: --threads" },
    { "gpu", "everything runs on the processor: --threads" },
    { "dtype", "--precision float or bf16 is the format of the operands of products" },
    { "compile", "there is nothing to compile" },
    { "init-from",
      "./train --init RUN starts with its weights, ./train --resume RUN continues it" },
    { "eval-only", "./eval RUN evaluates a model" },
    { "decay-lr", "--schedule constant keeps the learning rate" },
    { "dataset", "the files of the text are arguments: ./train FILE..." },
    { "num-epochs", "training is counted in steps: --max-iters, or --max-time" },
    { "num-train-epochs", "training is counted in steps: --max-iters, or --max-time" },
    { "start", "./sample RUN --prompt TEXT continues a text" },
    { "num-samples", "./sample RUN --samples N prints several" },
    { "max-new-tokens",
      "./sample RUN --tokens N sets the length, --sample-tokens that after training" },
    { "out-dir", "the folder of a run is an argument" },
    { "backend", "everything runs in one process: --threads" },
    { "always-save-checkpoint", "the last two checkpoints are always kept, and the best one" },
    { "wandb", "--tensorboard writes files for TensorBoard, and log.jsonl has every number" },
};

/* "wandb" is also --wandb-project. */
static bool is_elsewhere(const char *name, size_t n, const char *known)
{
    const size_t m = strlen(known);

    return n >= m && options_same(name, m, known) && (n == m || name[m] == '-' || name[m] == '_');
}

/* The options that begin with the n bytes at `given`: "--out-norm, --out-gate". */
static Text begun(const Program *program, const char *given, size_t n)
{
    Text names = { 0 };

    for (const Option *o = program->options; n > 1 && o->name; o++)
        if (o->kind != OPTION_GROUP && strlen(o->name) > n && options_begins(o->name, given, n))
            text_add(&names, "%s--%s", names.n ? ", " : "", o->name);
    return names;
}

/* --no-ffn is --ffn none. */
static bool can_be_none(const Option *o)
{
    for (int i = 0; o->kind == OPTION_CHOICE && options_choice(o, i).name; i++)
        if (strcmp(options_choice(o, i).name, "none") == 0)
            return true;
    return false;
}

static void consider(Nearest *near, const Option *o)
{
    options_nearer(near, o->name);
    for (const char *alias = o->alias; alias;
         alias = strchr(alias, ',') ? strchr(alias, ',') + 1 : NULL)
        options_nearer_part(near, alias, strcspn(alias, ","));
}

static noreturn void refuse_name(const Program *program, const char *arg)
{
    const char *name = arg + strspn(arg, "-");
    const size_t n = strcspn(name, "="), no = n > 3 && options_same(name, 3, "no-") ? 3 : 0;
    Nearest near = { .given = name + no, .n = n - no };

    if (!no) {
        options_nearer(&near, "help");
        options_nearer(&near, "version");
    }
    for (const Option *o = program->options; o->name; o++)
        if (no ? o->kind == OPTION_FLAG || can_be_none(o) : o->kind != OPTION_GROUP)
            consider(&near, o);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (is_elsewhere(name, n, elsewhere[i][0]))
            die(EXIT_USAGE, "there is no --%.*s: %s", n < SHOWN ? (int)n : SHOWN, name,
                options_installed(elsewhere[i][1]).at);
    const Text longer = begun(program, name, n); /* "--temp" */
    const Text meant = longer.n || !near.name
                           ? longer
                           : text_format("--%.*s%.*s", (int)no, name, (int)near.length, near.name);
    if (meant.n)
        die(EXIT_USAGE, "unknown option %s: did you mean %s?", text_cut(arg, SHOWN).at, meant.at);
    die(EXIT_USAGE, "unknown option %s: %s lists all", text_cut(arg, SHOWN).at,
        program->summary ? "--help" : "attnc.h"); /* of a program, or of the library */
}

/* Whether standard output is a pipe that is no longer read, as that to `head`: errno may be another
 * call's by now. */
static bool has_no_reader(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

void options_finish(void)
{
    errno = 0;
    const bool failed = fflush(stdout) || ferror(stdout);
    int cause = errno;
    if (failed && cause == 0) /* an earlier write has failed, and its reason is gone */
        cause = write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;

    if (failed && !has_no_reader())
        die(EXIT_IO, "cannot write to standard output: %s", strerror(cause));
}

static noreturn void leave(void)
{
    options_finish();
    exit(EXIT_SUCCESS);
}

/* Iterates over the arguments: an option with its value, or another argument. */
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
        die(EXIT_USAGE, "--%s needs a value: %s", o->name, options_takes(o).at);
    if (!*equals && is_option(value) && !number)
        die(EXIT_USAGE, "--%s needs a value before %s: %s", o->name, text_cut(value, SHOWN).at,
            options_takes(o).at);
    return value;
}

static void find_option(Arguments *a, const char *arg, const char *name, size_t n)
{
    a->value = "on";
    a->option = arg[1] == '-' ? find(a->program, name, n)
                : n == 1      ? find_letter(a->program, *name)
                              : NULL;
    if (!a->option && arg[1] == '-' && n > 3 && options_same(name, 3, "no-")) {
        a->option = find(a->program, name + 3, n - 3);
        a->value = a->option && can_be_none(a->option) ? "none" : "off";
        if (a->option && a->option->kind != OPTION_FLAG && !can_be_none(a->option))
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
    if (strcmp(arg, "--print") == 0) {
        options_page(a->program, a->next < a->argc ? a->argv[a->next] : NULL);
        leave();
    }
    if (strcmp(arg, "--version") == 0) {
        build_print(stdout);
        leave();
    }
    find_option(a, arg, name, (size_t)(equals - name));
    const bool flag = a->option->kind == OPTION_FLAG;

    if (!flag && strcmp(a->value, "none") != 0)
        a->value = next_value(a, equals);
    else if (!flag && *equals)
        die(EXIT_USAGE, "--no-%s takes no value", a->option->name);
    else if (*equals && access(equals + 1, F_OK) == 0)
        die(EXIT_USAGE, "--%s takes no value: write --%s %s", a->option->name, a->option->name,
            text_cut(equals + 1, SHOWN).at);
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

/* `help [OPTION]`, unless there is a file of that name. */
static void read_help(const Program *program, int argc, char **argv)
{
    if (argc < 2 || argc > 3 || strcmp(argv[1], "help") != 0 || access("help", F_OK) == 0)
        return;
    const char *name = argc == 3 ? argv[2] + strspn(argv[2], "-") : NULL;
    const Option *o = name ? options_find(program, name) : NULL;
    if (name && !o)
        refuse_name(program, argv[2]);
    if (o)
        options_help_one(o);
    else
        options_help(program);
    leave();
}

static void apply(const Program *program, const Preset *preset)
{
    for (int i = 0; preset->values[i][0]; i++) {
        const char *name = preset->values[i][0];
        Option *o = find(program, name, strlen(name));

        if (!o || o->kind == OPTION_PRESET)
            BUG("preset %s: no option is called %s", preset->name, name);
        options_take(o, preset->values[i][1]);
    }
}

/*
 * A file opened while a standard stream is closed would get its file descriptor, and then what is
 * printed to that stream. So each such descriptor is opened in a way that makes reading 0, or
 * writing 1 and 2, an error.
 */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            exit(EXIT_IO);
}

/*
 * Three passes: the first finds misspelt names and prints --help, before defaults are changed; the
 * second applies presets; the third sets everything else, overriding presets.
 */
int options_words(const Program *program, int argc, char **argv)
{
    const Arguments start = { .program = program, .argc = argc, .next = 1, .argv = argv };
    Arguments a = start;
    int words = 0;

    while (next(&a))
        ;
    for (a = start; next(&a);)
        if (a.option && a.option->kind == OPTION_PRESET)
            options_take(a.option, a.value);
    for (const Option *o = program->options; o->name; o++)
        if (o->kind == OPTION_PRESET && *(int *)o->at >= 0)
            apply(program, &o->presets[*(int *)o->at]);
    for (a = start; next(&a);)
        if (!a.option)
            argv[words++] = argv[a.next - 1];
        else if (a.option->kind != OPTION_PRESET)
            options_take(a.option, a.value);
    return words;
}

const Option *options_find(const Program *program, const char *name)
{
    return find(program, name, strlen(name));
}

int options_parse(const Program *program, int argc, char **argv)
{
    hold_streams();
    options_call(argc > 0 ? argv[0] : NULL);
    read_help(program, argc, argv); /* which a closed pipe ends without a word */
    file_ignore_signals();
    signals_end();
    return options_words(program, argc, argv);
}

static const Option *option_of(const Program *program, const char *name)
{
    const Option *o = find(program, name, strlen(name));

    if (!o)
        BUG("no option is called %s", name);
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

    return o && (o->given || (o->restored = options_read(o, value)));
}
