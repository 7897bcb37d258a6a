/* The options that the settings of attentions become: from --name to the attention's value. */
#include "tools/common/settings.h"

#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

static SettingsOptions settings;
static Option setting_options[] = { SETTINGS_HERE, { 0 } };
static Program setting_program = { .options = setting_options };

/* The words of a value that is not the default, and the value. */
static Text other_value(const Setting *s, int *value)
{
    *value = s->kind == SETTING_NUMBER && s->tries[0] ? s->tries[0] : !s->value;
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
        check_dies(read_rope_scale, wrong[i], EXIT_USAGE, "takes linear:S or ntk:S");
    ck_assert(settings_rope_scale("linear:1").kind == ROPE_LINEAR);
    ck_assert(settings_rope_scale("ntk:2.5").kind == ROPE_NTK);
    ck_assert_double_eq(settings_rope_scale("ntk:2.5").by, 2.5);
    ck_assert_double_eq(settings_rope_scale(NULL).by, 0);
    ck_assert_str_eq(settings_rope_scale_text(settings_rope_scale("ntk:2.5")).at, "ntk:2.5");
    ck_assert_str_eq(settings_rope_scale_text(settings_rope_scale(NULL)).at, "none");
}
END_TEST

Suite *suite_settings(void)
{
    Suite *s = suite_create("settings");
    TCase *t = group(s, "settings");

    tcase_add_test(t, a_setting_reaches_those_that_take_it);
    tcase_add_test(t, without_options_a_row_has_its_own_defaults);
    tcase_add_test(t, a_scale_of_angles_is_read_strictly);
    return s;
}
