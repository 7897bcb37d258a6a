/*
 * The options that the settings of attentions become, from --name to the attention's value; and
 * what rows forbid: directions that an attention does not have, and decoding.
 */
#include "model/mechanisms.h"
#include "tools/common/settings.h"

#include "model/decode.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tools/bench/bench.h"
#include "tools/common/model_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SettingsOptions settings;
static Option setting_options[] = { SETTINGS_HERE, { 0 } };
static Program setting_program = { .options = setting_options };

/* The words of a value that is not the default, and the value. */
static Text other_value(const Setting *s, int *value)
{
    *value = s->kind == SETTING_NUMBER && s->tries[0] ? s->tries[0] : !s->value;
    *value = s->without ? s->value : *value; /* the flag that excludes it is given */
    if (s->kind == SETTING_FLAG)
        return text_format("--%s%s", *value ? "" : "no-", s->name);
    if (s->kind == SETTING_NUMBER)
        return text_format("--%s=%d", s->name, *value);
    return text_format("--%s=%s", s->name, s->choices[s->kind == SETTING_SET ? 0 : *value]);
}

START_TEST(a_setting_reaches_those_that_take_it)
{
    static Text words[SETTINGS_MAX];
    char *argv[SETTINGS_MAX + 1] = { words[0].at };
    int value[SETTINGS_MAX], n = 0;

    for (; settings_at(n); n++) {
        words[n] = other_value(settings_at(n), &value[n]);
        argv[n + 1] = words[n].at;
    }
    settings_add(&setting_program, &settings, true);
    options_parse(&setting_program, n + 1, argv);
    for (const Attention *const *a = attentions; *a; a++) {
        const Values set = settings_part(&setting_program, &settings, *a);

        for (int i = 0; i < n; i++) {
            const Setting *s = settings_at(i);
            const bool takes = attention_takes(*a, s->name);

            ck_assert_msg(set.at[i] == (takes ? value[i] : s->value), "%s, %s: %d", (*a)->name,
                          s->name, set.at[i]);
        }
    }
}
END_TEST

/* Except for what restores an older command line, where the other option is as well. */
START_TEST(a_gate_of_heads_is_that_of_their_output)
{
    static const char *const words[][2] = { { "--gate", NULL },
                                            { "--no-gate", NULL },
                                            { "--gate", "--no-out-gate" },
                                            { "--out-gate", "--no-gate" } };
    static const int gate[] = { 1, 0, 0, 1 };

    settings_add(&setting_program, &settings, true);
    Values set = settings_part(&setting_program, &settings, &attention_relu);
    ck_assert_int_eq(setting(&set, "out-gate"), 0);
    ck_assert(options_restore(&setting_program, "gate", "on"));
    set = settings_part(&setting_program, &settings, &attention_relu);
    ck_assert_int_eq(setting(&set, "out-gate"), 0);
    for (int i = 0; i < COUNT(words); i++) {
        char *argv[] = { (char *)(uintptr_t) "./train", (char *)(uintptr_t)words[i][0],
                         (char *)(uintptr_t)words[i][1], NULL };

        for (Option *o = setting_program.options; o->name; o++)
            o->given = false;
        options_parse(&setting_program, words[i][1] ? 3 : 2, argv);
        set = settings_part(&setting_program, &settings, &attention_relu);
        ck_assert_int_eq(setting(&set, "out-gate"), gate[i]);
        ck_assert_int_eq(setting(&set, "gate"), 1);
    }
}
END_TEST

START_TEST(a_base_is_512_or_the_context_where_that_is_asked_for)
{
    static const char *const words[] = { "context", "5", "0" };
    static const int base[] = { 77, 5, 512 };
    char *argv[] = { (char *)(uintptr_t) "./train", NULL };

    settings.has_context = true;
    settings_add(&setting_program, &settings, true);
    for (int i = 0; i < COUNT(words); i++) {
        const Text word = text_format("--base=%s", words[i]);

        argv[1] = (char *)(uintptr_t)word.at;
        options_parse(&setting_program, 2, argv);
        Values set = settings_part(&setting_program, &settings, &attention_softmax);
        settings_fit_context(&set, &attention_softmax, CONTEXT_IF_ASKED, 77);
        ck_assert_int_eq(setting_or_zero(&set, "base"), base[i]);
    }
}
END_TEST

/* What is not given is what the row says, whatever other rows say. */
START_TEST(without_options_a_row_has_its_own_defaults)
{
    settings_add(&setting_program, &settings, true);
    options_parse(&setting_program, 1, (char *[]){ (char *)(uintptr_t) "./train" });
    for (const Attention *const *a = attentions; *a; a++) {
        const Values set = settings_part(&setting_program, &settings, *a);

        for (const Setting *s = (*a)->settings; s && s->name; s++)
            ck_assert_int_eq(setting(&set, s->name), s->value);
    }
}
END_TEST

START_TEST(zero_stands_for_the_number_that_the_row_names)
{
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++) {
        Values set = { { 0 } };

        ck_assert_int_eq(setting_or_zero(&set, s->name), s->zero);
        set.at[i] = 7;
        ck_assert_int_eq(setting_or_zero(&set, s->name), 7);
    }
    ck_assert_int_eq(attention_takes(&attention_flash_gau, "chunk")->zero, 256);
}
END_TEST

START_TEST(a_setting_applies_only_with_the_setting_it_depends_on)
{
    static const struct {
        const Attention *a;
        const char *choice, *name, *setting;
        bool matters;
    } row[] = {
        { &attention_gau, "norm", "n", "base", false },
        { &attention_gau, "norm", "fixed", "base", true },
        { &attention_gau, "norm", "entropy", "base", true },
        { &attention_gau, "norm", "softmax", "base", false },
        { &attention_gau, "norm", "n", "window", true },
        { &attention_softmax, "scale", "sqrt", "base", false },
        { &attention_softmax, "scale", "logn", "base", true },
    };

    for (int i = 0; i < COUNT(row); i++) {
        Config c = { .attention = row[i].a, .set = settings_default(row[i].a) };

        small_set(&c, row[i].choice, row[i].name);
        ck_assert_msg(setting_matters(row[i].a, &c.set,
                                      attention_takes(row[i].a, row[i].setting)) == row[i].matters,
                      "row %d", i);
    }
}
END_TEST

/* Formulas that have changed since: files of older versions mean the old ones. */
START_TEST(a_file_without_the_key_means_the_old_formula)
{
    static const char *const row[][3] = {
        { "cosformer", "rope-ladder", "2d" },
        { "fastformer", "products", "first" },
        { "relu", "rope-at", "after" },
    };

    for (int i = 0; i < COUNT(row); i++) {
        const Attention *a = attention_find(row[i][0]);
        const Values old = settings_unsaved(a);

        ck_assert_msg(setting_is(&old, row[i][1], row[i][2]), "%s", row[i][1]);
    }
}
END_TEST

START_TEST(a_value_is_read_strictly)
{
    static const char *const names[] = { "on", "one", NULL };
    static const Setting choice = { .name = "a-b-c", .kind = SETTING_CHOICE, .choices = names },
                         set = { .kind = SETTING_SET, .choices = names },
                         flag = { .kind = SETTING_FLAG },
                         number = { .kind = SETTING_NUMBER, .least = 3, .most = 9 },
                         or_zero = { .kind = SETTING_NUMBER, .least = 3, .most = 9, .zero = 5 };
    static const struct {
        const Setting *s;
        const char *words;
        int value; /* -1: it has none */
    } row[] = {
        { &choice, "on", 0 },    { &choice, "one", 1 }, { &choice, "o", -1 },
        { &choice, "ones", -1 }, { &choice, "", -1 },   { &choice, "0", -1 },
        { &set, "0", 0 },        { &set, "3", 3 },      { &set, "4", -1 },
        { &flag, "1", 1 },       { &flag, "2", -1 },    { &number, "3", 3 },
        { &number, "9", 9 },     { &number, "2", -1 },  { &number, "10", -1 },
        { &number, "0", -1 },    { &number, "-4", -1 }, { &number, " 4", -1 },
        { &number, "4 ", -1 },   { &number, "", -1 },   { &number, "4294967300", -1 },
        { &or_zero, "0", 0 },    { &or_zero, "2", -1 },
    };

    for (int i = 0; i < COUNT(row); i++) {
        int value;
        const bool valid = setting_parse(row[i].s, row[i].words, &value);

        ck_assert_msg(valid ? value == row[i].value : row[i].value < 0, "%s", row[i].words);
        if (valid)
            ck_assert_str_eq(setting_print(row[i].s, value).at, row[i].words);
    }
    ck_assert_str_eq(setting_key(&choice).at, "a_b_c");
}
END_TEST

START_TEST(a_value_has_words)
{
    static const char *const names[] = { "on", "one", "two", NULL };
    static const Setting choice = { .kind = SETTING_CHOICE, .choices = names },
                         set = { .kind = SETTING_SET, .choices = names },
                         flag = { .kind = SETTING_FLAG }, number = { .most = 9 };
    static const struct {
        const Setting *s;
        int value;
        char between;
        const char *words;
    } row[] = {
        { &set, 0, ',', "" },     { &set, 5, ',', "on,two" }, { &set, 6, '+', "one+two" },
        { &flag, 0, ',', "off" }, { &flag, 1, ',', "on" },    { &choice, 1, ',', "one" },
        { &number, 7, ',', "7" },
    };
    int value;

    for (int i = 0; i < COUNT(row); i++) {
        ck_assert_str_eq(setting_words(row[i].s, row[i].value, row[i].between).at, row[i].words);
        ck_assert(setting_parse_words(row[i].s, row[i].words, row[i].between, &value));
        ck_assert_int_eq(value, row[i].value);
    }
    ck_assert(!setting_parse_words(&set, "on+two", ',', &value));
    ck_assert(!setting_parse_words(&set, "tw", ',', &value));
    ck_assert(!setting_parse_words(&flag, "1", ',', &value));
}
END_TEST

static void read_rope_scale(const char *words)
{
    settings_rope_scale(words);
}

START_TEST(a_scale_of_angles_is_read_strictly)
{
    static const char *const wrong[] = { "linear",    "linear:",   "linear:0.9", "linear:x",
                                         "linear:4x", "linear: 4", "ntk:nan",    "ntk:inf",
                                         "ntk:-4",    "ntk:1e9",   "yarn:4",     "linearx:4",
                                         ":4",        "4",         "NTK:4" };

    for (int i = 0; i < COUNT(wrong); i++)
        check_dies(read_rope_scale, wrong[i], EXIT_USAGE, "must be linear:S or ntk:S");
    ck_assert(settings_rope_scale("linear:1").kind == ROPE_LINEAR);
    ck_assert(settings_rope_scale("ntk:2.5").kind == ROPE_NTK);
    ck_assert_double_eq(settings_rope_scale("ntk:2.5").by, 2.5);
    ck_assert_double_eq(settings_rope_scale(NULL).by, 0);
    ck_assert_str_eq(settings_rope_scale_text(settings_rope_scale("ntk:2.5")).at, "ntk:2.5");
    ck_assert_str_eq(settings_rope_scale_text(settings_rope_scale(NULL)).at, "none");
}
END_TEST

/* Rows that are only causal, that are only bidirectional, and that cannot decode. */
static Attention causal, both_sides, stepless;
static Engine without_step;
static const Attention *const of_all_kinds[] = { &attention_softmax, &causal, &both_sides,
                                                 &stepless, NULL };

static void make_kinds(void)
{
    without_step = *attention_softmax.engine, without_step.step = NULL;
    causal = both_sides = stepless = attention_softmax;
    causal.traits |= CAUSAL_ONLY, both_sides.traits |= BIDIRECTIONAL_ONLY;
    stepless.engine = &without_step;
}

START_TEST(a_task_that_the_attention_cannot_do_is_refused)
{
    static const char *const want[][3] = { { NULL, NULL, NULL },
                                           { NULL, "softmax is causal only: the task mlm",
                                             "softmax is causal only: the task classify" },
                                           { "softmax is bidirectional only: choose --task mlm" },
                                           { NULL, NULL, NULL } };
    Config c = small_variant(0);

    c.tied = false;
    for (int i = 0; of_all_kinds[i]; i++)
        for (c.task = TASK_CAUSAL; c.task <= TASK_CLASSIFY; c.task++) {
            c.attention = of_all_kinds[i];
            const Text why = config_misfit(&c);

            ck_assert_msg(want[i][c.task] ? strstr(why.at, want[i][c.task]) != NULL : why.n == 0,
                          "%d, %s: %s", i, task_names[c.task], why.at);
        }
}
END_TEST

START_TEST(a_causal_model_with_a_decoding_step_continues_texts)
{
    static const bool want[][3] = { { true }, { true }, { false }, { false } };
    Config c = small_variant(0);

    for (int i = 0; of_all_kinds[i]; i++)
        for (c.task = TASK_CAUSAL; c.task <= TASK_CLASSIFY; c.task++) {
            c.attention = of_all_kinds[i];
            ck_assert_msg(config_decodes(&c) == want[i][c.task], "%d, %s", i, task_names[c.task]);
        }
}
END_TEST

static void decode_without_step(const char *ignored)
{
    Small *s = small_open(small_variant(0), 1, 8);

    (void)ignored;
    s->model.config.attention = &stepless;
    decoder_new(&s->model, pool_new(1), 8, 1);
}

START_TEST(a_decoder_of_an_attention_without_a_step_is_refused)
{
    check_dies(decode_without_step, "", EXIT_USAGE, "softmax attention cannot decode");
}
END_TEST

static Option none[1];
static const Program no_options = { .options = none };

START_TEST(a_section_has_the_attentions_that_it_can_measure)
{
    static const Attention *const want[][4] = {
        [NEED_CAUSAL] = { &attention_softmax, &causal, &stepless },
        [NEED_BOTH_SIDES] = { &attention_softmax, &both_sides, &stepless },
        [NEED_DECODING] = { &attention_softmax, &causal },
    };
    Mechanisms m = { .attentions = { &stepless, &stepless, &stepless, &stepless, &stepless },
                     .program = &no_options };

    bench_take(&m, of_all_kinds, (Need)_i);
    for (int i = 0; i < COUNT(*want) && (i == 0 || want[_i][i - 1]); i++)
        ck_assert_ptr_eq(m.attentions[i], want[_i][i]);
}
END_TEST

static const struct {
    const Attention *named[3];
    Need need;
    const char *words; /* NULL: it is taken */
} wishes[] = {
    { { &attention_softmax, &causal }, NEED_CAUSAL, NULL },
    { { &attention_softmax, &causal }, NEED_BOTH_SIDES, "causal only: leave out --bidirectional" },
    { { &attention_softmax, &both_sides }, NEED_CAUSAL, "bidirectional only: add --bidirectional" },
    { { &attention_softmax, &both_sides }, NEED_DECODING, "cannot decode" },
    { { &attention_softmax, &stepless }, NEED_CAUSAL, NULL },
    { { &attention_softmax, &stepless }, NEED_DECODING, "cannot decode" },
};

static void wish(const char *number)
{
    const Mechanisms m = { .program = &no_options };

    bench_check_need(&m, wishes[atoi(number)].named, wishes[atoi(number)].need);
}

START_TEST(an_attention_that_is_named_and_cannot_be_measured_is_refused)
{
    const Text number = text_format("%d", _i);

    if (wishes[_i].words)
        check_dies(wish, number.at, EXIT_USAGE, wishes[_i].words);
    else
        wish(number.at);
}
END_TEST

/* Command lines that rows may forbid, without their --attn NAME. */
static const struct {
    unsigned trait; /* 0: all that cannot decode */
    const char *program, *words[3], *why;
} lines[] = {
    { CAUSAL_ONLY, "./train", { "--task", "mlm" }, "is causal only: the task mlm" },
    { CAUSAL_ONLY, "./bench", { "--bidirectional" }, "is causal only: leave out" },
    { CAUSAL_ONLY, "./attend", { "in", "out" }, "is causal only: add --causal" },
    { BIDIRECTIONAL_ONLY,
      "./train",
      { NULL },
      "is bidirectional only: choose --task mlm, or another attention" },
    { BIDIRECTIONAL_ONLY, "./bench", { NULL }, "is bidirectional only: add" },
    { BIDIRECTIONAL_ONLY, "./attend", { "--causal", "in", "out" }, "only: leave out --causal" },
    { 0, "./bench", { "--only", "decode" }, "cannot decode" },
    { 0, "./attend", { "--steps", "in", "out" }, "cannot decode" },
};
static const char *name;

static void execute(const char *number)
{
    const int i = atoi(number);
    const char *word[7] = { lines[i].program, "--attn", name };

    memcpy(word + 3, lines[i].words, sizeof lines[i].words);
    execv(*word, (char *const *)(uintptr_t)word);
    _exit(127);
}

START_TEST(programs_refuse_options_that_the_row_excludes)
{
    const Text number = text_format("%d", _i);

    for (const Attention *const *a = attentions; *a; a++)
        if (lines[_i].trait ? (*a)->traits & lines[_i].trait : !attention_decodes(*a)) {
            name = (*a)->name;
            check_dies(execute, number.at, EXIT_USAGE, lines[_i].why);
        }
}
END_TEST

/* Whatever the row itself can do. */
static const struct {
    const char *words[9], *why;
} with_settings[] = {
    { { "./train", "--attn", "softmax", "--weight", "forgetting", "--task", "mlm" },
      "--attn softmax with --weight forgetting is causal only: the task mlm" },
    { { "./bench", "--attn", "gau", "--norm", "forgetting", "--bidirectional" },
      "--attn gau with --norm forgetting is causal only: leave out --bidirectional" },
    { { "./attend", "--attn", "local", "--weight", "forgetting", "in", "out" },
      "--attn local with --weight forgetting is causal only: add --causal" },
};

static void execute_with(const char *number)
{
    char *const *word = (char *const *)(uintptr_t)with_settings[atoi(number)].words;

    execv(*word, word);
    _exit(127);
}

START_TEST(programs_refuse_options_that_a_setting_excludes)
{
    check_dies(execute_with, text_format("%d", _i).at, EXIT_USAGE, with_settings[_i].why);
}
END_TEST

START_TEST(a_setting_may_exclude_a_direction)
{
    static const struct {
        const Attention *attention;
        const char *setting, *why;
    } rows[] = { { &attention_softmax, "weight", "with --weight forgetting is causal only" },
                 { &attention_gau, "norm", "with --norm forgetting is causal only" } };

    for (int i = 0; i < COUNT(rows); i++) {
        const Attention *a = rows[i].attention;
        Values set = settings_default(a);

        ck_assert_uint_eq(attention_refuses(a, &set, false).n, 0);
        ck_assert(setting_parse(attention_takes(a, rows[i].setting), "forgetting",
                                setting_at(&set, rows[i].setting)));
        ck_assert_str_eq(attention_refuses(a, &set, false).at, rows[i].why);
        ck_assert_uint_eq(attention_refuses(a, &set, true).n, 0);
    }
}
END_TEST

START_TEST(a_key_is_the_option_that_sets_it)
{
    static const struct {
        const char *key;
        int value;
        const char *option, *words;
    } rows[] = { { "n_layer", 3, "n-layer", "3" },
                 { "bias", 1, "bias", "on" },
                 { "bias", 0, "bias", "off" },
                 { "no_residual", 1, "residual", "off" },
                 { "no_residual", 0, "residual", "on" },
                 { "out-gate", 1, "out-gate", "on" },
                 { "position", POSITION_NONE, "position", "none" } };

    for (int i = 0; i < COUNT(rows); i++) {
        const Setting *key;
        int k = 0;

        while ((key = config_key(k++)) && strcmp(key->name, rows[i].key) != 0)
            ;
        ck_assert_msg(key != NULL, "there is no key %s", rows[i].key);
        const KeyOption o = model_option_of(key, rows[i].value);
        ck_assert_str_eq(o.name.at, rows[i].option);
        ck_assert_str_eq(o.value.at, rows[i].words);
    }
}
END_TEST

START_TEST(a_list_of_mechanisms_is_read_as_it_is_printed)
{
    static const char *const rows[][2] = {
        { "softmax", "softmax" },
        { "softmax,softmax", "softmax" },
        { "retnet,softmax", "retnet,softmax" },
        { "retnet:out-norm=none,softmax:window=7:out_gate:scale=logn",
          "retnet:out-norm=none,softmax:scale=logn:window=7:out-gate=on" },
        { "fastformer:share=qv+pools,flash", "fastformer:share=qv+pools,flash-gau" },
        { "relu,relu:window=0,relu:window=3", "relu,relu,relu:window=3" }
    };

    for (int i = 0; i < COUNT(rows); i++) {
        Config c = { .layers = 2 }, again = c;

        ck_assert_str_eq(config_read_mechanisms(&c, rows[i][0]).at, "");
        ck_assert_str_eq(config_mechanisms(&c).at, rows[i][1]);
        ck_assert_str_eq(config_read_mechanisms(&again, rows[i][1]).at, "");
        ck_assert_str_eq(model_difference(&c, &again).at, "");
    }
}
END_TEST

START_TEST(a_list_with_a_mistake_says_which)
{
    static const char *const rows[][2] = {
        { "softmax,sofmax", "no attention called 'sofmax'" },
        { "softmax,,relu", "no attention called ''" },
        { "relu,softmax:windw=3", "softmax has no setting 'windw'; it has scale, " },
        { "relu,softmax:window=x", "window cannot be 'x' in softmax: it takes a number from 0 to" },
        { "relu,softmax:window", "window cannot be '' in softmax" },
        { "relu,softmax:scale=x", "scale cannot be 'x' in softmax: it takes sqrt, entropy, logn" },
        { "fastformer:share=qv+x,relu", "it takes qv, layers, pools, heads, or several with '+'" },
        { "retnet:out-gate=maybe,relu", "cannot be 'maybe' in retnet: it takes on or off" },
        { "gau:conv=1,relu,elu,exp,softmax,leaky,identity,efficient,gau", "more than 8" }
    };

    for (int i = 0; i < COUNT(rows); i++) {
        Config c = { .layers = 2 };
        const Text why = config_read_mechanisms(&c, rows[i][0]);

        ck_assert_msg(strstr(why.at, rows[i][1]) != NULL, "%s: %s", rows[i][0], why.at);
    }
}
END_TEST

START_TEST(the_layers_of_a_model_take_the_mechanisms_of_its_list_in_turn)
{
    Config c = { .layers = 5 };

    ck_assert_str_eq(config_read_mechanisms(&c, "relu,softmax,relu").at, "");
    ck_assert_str_eq(config_mechanism_names(&c).at, "relu+softmax+relu");
    for (int l = 0; l < c.layers; l++)
        ck_assert_str_eq(config_layer(&c, l).attention->name, l % 3 == 1 ? "softmax" : "relu");
    ck_assert_int_eq(config_parts(&c), 3);
    for (int i = 0; i < 3; i++) /* equal entries are one part */
        ck_assert_int_eq(config_part(&c, i).layers, 3 - i * (i + 1) / 2);
    ck_assert(config_set(&c, "window", 4) && !config_set(&c, "chunk", 4));
    ck_assert_str_eq(config_mechanisms(&c).at, "relu:window=4,softmax:window=4,relu:window=4");
    ck_assert(config_traits(&c) & CAN_ROPE && !(config_traits(&c) & IS_LINEAR));
}
END_TEST

Suite *suite_settings(void)
{
    Suite *s = suite_create("settings");
    TCase *t = group(s, "settings");

    tcase_add_test(t, a_setting_reaches_those_that_take_it);
    tcase_add_test(t, a_gate_of_heads_is_that_of_their_output);
    tcase_add_test(t, a_base_is_512_or_the_context_where_that_is_asked_for);
    tcase_add_test(t, without_options_a_row_has_its_own_defaults);
    tcase_add_test(t, zero_stands_for_the_number_that_the_row_names);
    tcase_add_test(t, a_setting_applies_only_with_the_setting_it_depends_on);
    tcase_add_test(t, a_file_without_the_key_means_the_old_formula);
    tcase_add_test(t, a_value_is_read_strictly);
    tcase_add_test(t, a_value_has_words);
    tcase_add_test(t, a_setting_may_exclude_a_direction);
    tcase_add_test(t, a_key_is_the_option_that_sets_it);
    tcase_add_test(t, a_list_of_mechanisms_is_read_as_it_is_printed);
    tcase_add_test(t, a_list_with_a_mistake_says_which);
    tcase_add_test(t, the_layers_of_a_model_take_the_mechanisms_of_its_list_in_turn);
    tcase_add_test(t, a_scale_of_angles_is_read_strictly);

    make_kinds();
    t = group(s, "refusals");
    tcase_add_test(t, a_task_that_the_attention_cannot_do_is_refused);
    tcase_add_test(t, a_causal_model_with_a_decoding_step_continues_texts);
    tcase_add_test(t, a_decoder_of_an_attention_without_a_step_is_refused);
    tcase_add_loop_test(t, a_section_has_the_attentions_that_it_can_measure, 0, NEED_DECODING + 1);
    tcase_add_loop_test(t, an_attention_that_is_named_and_cannot_be_measured_is_refused, 0,
                        COUNT(wishes));
    tcase_add_loop_test(t, programs_refuse_options_that_the_row_excludes, 0, COUNT(lines));
    tcase_add_loop_test(t, programs_refuse_options_that_a_setting_excludes, 0,
                        COUNT(with_settings));
    return s;
}
