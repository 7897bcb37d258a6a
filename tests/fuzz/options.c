/* Command lines: words separated by 0. What is accepted is within the limits of its option. */
#include "tools/common/options.h"

#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, LIST_MOST = 100 };

static const char *const names[] = { "sqrt", "entropy", "logn", NULL };
static const Preset presets[] = {
    { "small", "a preset", (const char *const[][2]){ { "number", "3" }, { "flag", "on" }, { 0 } } },
    { 0 },
};

static bool flag;
static int number, choice, preset;
static uint64_t seed;
static double real, duration;
static unsigned set;
static const char *text;
static OptionList list;
static OptionTexts texts;

static Option options[] = {
    { .name = "Group" },
    { "flag", OPTION_FLAG, &flag, .help = "a flag" },
    { "number", OPTION_INT, &number, .min = -3, .max = 1000, .help = "an int", .letter = 'n' },
    { "list", OPTION_LIST, &list, .min = 1, .max = LIST_MOST, .help = "a list" },
    { "seed", OPTION_SEED, &seed, .help = "a seed" },
    { "real", OPTION_REAL, &real, .max = 1, .below = true, .alias = "share,r", .help = "a real" },
    { "duration", OPTION_DURATION, &duration, .help = "a time" },
    { "text", OPTION_TEXT, &text, .help = "a text" },
    { "texts", OPTION_TEXTS, &texts, .help = "some" },
    { "choice", OPTION_CHOICE, &choice, .choices = names, .help = "one" },
    { "set", OPTION_SET, &set, .choices = names, .help = "any" },
    { "preset", OPTION_PRESET, &preset, .presets = presets, .help = "many" },
    { 0 },
};
static const Program program = { "./fuzz [options]", "Is fuzzed.", options, NULL };

typedef struct {
    int argc;
    char *argv[WORDS + 2];
} Line;

static void reset(void)
{
    flag = false, number = 0, choice = preset = -1, seed = 0, real = 0, duration = 0, set = 0;
    text = NULL;
    list.n = texts.n = 0;
    for (Option *o = options; o->name; o++)
        o->given = o->restored = false;
}

static void parse(void *ctx)
{
    Line *line = ctx;
    const int rest = options_parse(&program, line->argc, line->argv);

    FUZZ_CHECK(rest >= 0 && rest < line->argc);
    FUZZ_CHECK(number >= -3 && number <= 1000);
    FUZZ_CHECK(real >= 0 && real < 1 && duration >= 0 && isfinite(duration));
    FUZZ_CHECK(choice >= -1 && choice < 3 && set < 8 && preset >= -1 && preset < 1);
    FUZZ_CHECK(list.n >= 0 && list.n <= OPTION_LIST_MAX && texts.n <= OPTION_TEXTS_MAX);
    for (int i = 0; i < list.n; i++)
        FUZZ_CHECK(list.at[i] >= 1 && list.at[i] <= LIST_MOST);
    FUZZ_CHECK(!text || *text);
    for (Option *o = options; o->name; o++)
        if (o->given && o->kind != OPTION_PRESET && o->kind != OPTION_TEXTS &&
            o->kind != OPTION_TEXT) /* their values are cut for a message */
            FUZZ_CHECK(options_read(o, options_value(o).at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *words = fuzz_copy(data, n);
    static char name[] = "fuzz";
    Line line = { 1, { name } };

    for (char *c = (char *)words; c < (char *)words + n && line.argc <= WORDS; c += strlen(c) + 1)
        line.argv[line.argc++] = c;
    reset();
    fuzz_run(parse, &line);
    free(words);
    return 0;
}
