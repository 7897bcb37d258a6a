/* Options from a configuration: what options_json() prints sets them to the same values. */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/options.h"

#include <stdlib.h>
#include <string.h>

static int layers = 4, kind = -1, preset = -1;
static bool tied;
static uint64_t seed = 1337;
static double rate = (double)NAN, limit = 90;
static OptionList lengths;
static OptionTexts by;
static OptionSequence order;
static const char *name;

static const char *const kinds[] = { "gelu", "swiglu", NULL };
static const char *const deep[][2] = { { "n-layer", "12" }, { "kind", "swiglu" }, { NULL } };
static const Preset presets[] = { { "deep", "many layers", deep }, { 0 } };
static Option options[] = {
    { .name = "All" },
    { "preset", OPTION_PRESET, &preset, .presets = presets, .help = "a set" },
    { "n-layer", OPTION_INT, &layers, .min = 1, .max = 1000, .help = "blocks" },
    { "kind", OPTION_CHOICE, &kind, .choices = kinds, .help = "of layers" },
    { "order", OPTION_SEQUENCE, &order, .choices = kinds, .help = "of layers" },
    { "tied", OPTION_FLAG, &tied, .help = "weights" },
    { "seed", OPTION_SEED, &seed, .help = "of draws" },
    { "rate", OPTION_REAL, &rate, .help = "of learning" },
    { "limit", OPTION_DURATION, &limit, .help = "of time" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = 99, .help = "of rows" },
    { "by", OPTION_TEXTS, &by, .help = "columns" },
    { "name", OPTION_TEXT, &name, .help = "of a file" },
    { "left", OPTION_INT, &(int){ 5 }, .help = "out" },
    { 0 },
};
static const Program program = { "./x", "Does x.", options, NULL };

static bool skip(const char *option, const Json *value, const Json *config)
{
    return strcmp(option, "left") == 0 || strcmp(option, "note") == 0 || !value || !config;
}

/* With the arguments of a command line, ended by NULL. */
static const char *command[4];
static bool given; /* what the file changes counts as given */

static void configure(const char *json)
{
    Arena *mem = arena_new();
    char *argv[4];
    int argc = 1;
    Text why;

    argv[0] = (char[]){ "./x" };
    for (; argc < 4 && command[argc - 1]; argc++)
        argv[argc] = memcpy(xmalloc(64), command[argc - 1], strlen(command[argc - 1]) + 1);
    options_parse(&program, argc, argv);
    options_config(&program, json_read(mem, json, strlen(json), &why), "a.json", skip, given, mem);
    options_json(&program, "", stderr);
    for (const Option *o = options; !command[0] && o->name; o++)
        if (o->kind != OPTION_GROUP && options_given(&program, o->name))
            fprintf(stderr, "given: %s\n", o->name);
    if (order.n)
        fprintf(stderr, "%d in order, the last %s\n", order.n, kinds[order.at[order.n - 1]]);
}

static void check_sets(const char *json, const char *want)
{
    ck_assert_msg(exit_code_of(configure, json) == 0, "%s", said);
    ck_assert_msg(strstr(said, want) != NULL, "no %s in %s", want, said);
}

START_TEST(a_member_of_the_object_sets_its_option)
{
    check_sets("{}", "\"n_layer\": 4,");
    check_sets("{\"n_layer\": 7}", "\"n_layer\": 7,");
    check_sets("{\"n-layer\": 7}", "\"n_layer\": 7,");
    check_sets("{\"kind\": \"swiglu\"}", "\"kind\": \"swiglu\"");
    check_sets("{\"kind\": null}", "\"kind\": null");
    check_sets("{\"tied\": true}", "\"tied\": true");
    check_sets("{\"order\": \"gelu,gelu:x=1,swiglu\"}", "3 in order, the last swiglu");
    check_sets("{\"rate\": 1e-300}", "\"rate\": 1e-300");
    check_sets("{\"rate\": 0.1}", "\"rate\": 0.1,");
    check_sets("{\"limit\": \"1h30m\"}", "\"limit\": 5400");
    check_sets("{\"lengths\": [8, 64]}", "\"lengths\": [8,64]");
    check_sets("{\"lengths\": []}", "\"lengths\": []");
    check_sets("{\"by\": [\"a\", \"b\"]}", "\"by\": [\"a\",\"b\"]");
    check_sets("{\"name\": \"\\u00e9 x\"}", "\"name\": \"\xc3\xa9 x\"");
    check_sets("{\"seed\": 18446744073709551615}", "\"seed\": 18446744073709551615");
    check_sets("{\"seed\": 9007199254740993}", "\"seed\": 9007199254740993");
    check_sets("{\"note\": {\"any\": 1}, \"left\": 9}", "\"left\": 5");
}
END_TEST

START_TEST(the_command_line_comes_first)
{
    command[0] = "--n-layer", command[1] = "9";
    check_sets("{\"n_layer\": 7, \"tied\": true}", "\"n_layer\": 9,");
    ck_assert_ptr_nonnull(strstr(said, "\"tied\": true"));
    command[0] = NULL;
}
END_TEST

START_TEST(a_preset_comes_before_all_other_options)
{
    check_sets("{\"preset\": \"deep\"}", "\"n_layer\": 12,");
    ck_assert_ptr_nonnull(strstr(said, "\"kind\": \"swiglu\""));
    check_sets("{\"n_layer\": 7, \"preset\": \"deep\"}", "\"n_layer\": 7,");
    ck_assert_ptr_nonnull(strstr(said, "\"kind\": \"swiglu\""));
    command[0] = "--n-layer=9";
    check_sets("{\"preset\": \"deep\"}", "\"n_layer\": 9,");
    command[0] = NULL;
}
END_TEST

START_TEST(what_a_file_changes_counts_as_given_if_asked_to)
{
    check_sets("{\"n_layer\": 7}", "");
    ck_assert_ptr_null(strstr(said, "given: "));
    given = true;
    check_sets("{\"n_layer\": 4, \"rate\": null, \"limit\": \"1m30s\"}", "");
    ck_assert_ptr_null(strstr(said, "given: "));
    check_sets("{\"n_layer\": 7}", "given: n-layer\n");
    check_sets("{\"rate\": 0.1, \"by\": [\"a\"]}", "given: rate\ngiven: by\n");
    check_sets("{\"kind\": \"gelu\", \"preset\": \"deep\"}", "\"kind\": \"gelu\"");
    ck_assert_ptr_nonnull(strstr(said, "given: preset\ngiven: n-layer\ngiven: kind\n"));
    given = false;
}
END_TEST

START_TEST(unknown_options_and_invalid_values_are_refused)
{
    static const char *const bad[][2] = {
        { "{\"n_layers\": 7}", "a.json: unknown option n_layers: did you mean n-layer?" },
        { "{\"zzzzzzzz\": 7}", "a.json: unknown option zzzzzzzz\n" },
        { "{\"n_layer\": 0}", "a.json: n-layer is '0': must be a whole number from 1 to 1000" },
        { "{\"n_layer\": 1.5}", "n-layer is '1.5'" },
        { "{\"n_layer\": {}}", "n-layer is '{}'" },
        { "{\"n_layer\": [1, 2]}", "n-layer is '1,2'" },
        { "{\"lengths\": [1, [2]]}", "lengths is '{}'" },
        { "{\"lengths\": [1, null]}", "lengths is '{}'" },
        { "{\"tied\": 1}", "tied is '1': must be on or off" },
        { "{\"kind\": \"relu\"}", "kind is 'relu': must be one of gelu, swiglu" },
        { "{\"preset\": \"flat\"}", "preset is 'flat': must be one of deep" },
        { "{\"order\": \"gelu,relu\"}", "order is 'gelu,relu': must be one of" },
        { "{\"seed\": 18446744073709551616}", "seed is '18446744073709551616'" },
        { "{\"seed\": -1}", "seed is '-1'" },
    };

    for (int i = 0; i < COUNT(bad); i++)
        check_dies(configure, bad[i][0], EXIT_DATA, bad[i][1]);
}
END_TEST

START_TEST(printed_options_are_read_back_unchanged)
{
    static char first[16000];

    command[0] = "--lengths=8,9", command[1] = "--rate=0.30000000000000004";
    command[2] = "--seed=18446744073709551615";
    ck_assert_int_eq(exit_code_of(configure, "{}"), 0);
    strcpy(first, said);
    command[0] = NULL;
    ck_assert_int_eq(exit_code_of(configure, first), 0);
    ck_assert_str_eq(said, first);
}
END_TEST

Suite *suite_configured(void)
{
    Suite *s = suite_create("configured");
    TCase *t = group(s, "configuration");

    tcase_add_test(t, a_member_of_the_object_sets_its_option);
    tcase_add_test(t, the_command_line_comes_first);
    tcase_add_test(t, a_preset_comes_before_all_other_options);
    tcase_add_test(t, what_a_file_changes_counts_as_given_if_asked_to);
    tcase_add_test(t, unknown_options_and_invalid_values_are_refused);
    tcase_add_test(t, printed_options_are_read_back_unchanged);
    return s;
}
