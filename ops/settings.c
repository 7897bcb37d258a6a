/* The settings of all mechanisms, by name. */
#include "ops/attention.h"
#include "ops/base/error.h"

#include <string.h>

/* The settings of all rows without duplicates, in order of first appearance. */
typedef struct {
    const Setting *at[SETTINGS_MAX + 1];
    int n;
} Settings;

/* Names are usually the same literal, so comparing addresses first avoids most strcmp() calls. */
static int place_of(const Settings *s, const char *name)
{
    int i = 0;

    for (int same = 0; same < s->n; same++)
        if (s->at[same]->name == name)
            return same;
    while (i < s->n && strcmp(s->at[i]->name, name) != 0)
        i++;
    return i;
}

static void gather(Settings *s, const Setting *of)
{
    for (; of && of->name; of++)
        if (place_of(s, of->name) == s->n) {
            if (s->n == SETTINGS_MAX)
                BUG("more than %d settings", SETTINGS_MAX);
            s->at[s->n++] = of;
        }
}

static const Settings *settings(void)
{
    static Settings all; /* filled in before other threads exist; in the library, under its lock */

    if (all.n == 0)
        for (const Attention *const *a = attentions; *a; a++)
            gather(&all, (*a)->settings);
    return &all;
}

const Setting *settings_at(int i)
{
    return settings()->at[i];
}

const Setting *attention_takes(const Attention *a, const char *name)
{
    const Setting *s = a->settings;

    while (s && s->name && strcmp(s->name, name) != 0)
        s++;
    return s && s->name ? s : NULL;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

int setting_size(const Setting *s, int value, int d)
{
    return value ? value : s->of_key ? s->of_key * d : s->zero;
}

bool setting_matters(const Attention *a, const Values *set, const Setting *s)
{
    for (const Setting *by = a->settings; s->with && by && by->name; by++)
        if (by->kind == SETTING_CHOICE && is_one_of(by->choices[setting(set, by->name)], s->with))
            return true;
    return !s->with;
}

Values settings_default(const Attention *a)
{
    Values values = { { 0 } };
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++) {
        const Setting *own = attention_takes(a, s->name);

        values.at[i] = own ? own->value : s->value;
    }
    return values;
}

Values settings_unsaved(const Attention *a)
{
    Values values = settings_default(a);

    for (const Setting *s = a->settings; s && s->name; s++)
        if (s->was && !setting_parse(s, s->was, setting_at(&values, s->name)))
            BUG("--%s was never %s", s->name, s->was);
    return values;
}

Text settings_misfit(const Attention *a, const Values *set)
{
    Text why = { 0 };

    for (const Setting *s = a->settings; !why.n && s && s->name; s++) {
        const int value = setting(set, s->name);

        if (value < s->least && s->kind == SETTING_CHOICE)
            text_add(&why, "--%s %s does not apply to --attn %s, which has %s", s->name,
                     s->choices[value], a->name, s->choices[s->least]);
        else if (value && s->without && setting(set, s->without))
            text_add(&why, "--%s and --%s exclude each other: give only one", s->name, s->without);
        else if (s->even && value % 2)
            text_add(&why, "--%s is %d: it must be even", s->name, value);
        else if (value < s->least && value && value != SETTING_CONTEXT)
            text_add(&why, "--%s is %d: it must be at least %d (or 0, the default)", s->name, value,
                     s->least);
    }
    return why;
}

void settings_fit_context(Values *values, const Attention *a, SettingLength which, int context)
{
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++)
        if (s->length == which && attention_takes(a, s->name) &&
            values->at[i] < (which == CONTEXT_IF_ASKED ? 0 : context))
            values->at[i] = context;
}

static int place_known(const char *name)
{
    int i = place_of(settings(), name);

    if (!settings_at(i))
        BUG("no mechanism has a setting %s", name);
    return i;
}

int *setting_at(Values *values, const char *name)
{
    return &values->at[place_known(name)];
}

int setting(const Values *values, const char *name)
{
    return values->at[place_known(name)];
}

int setting_or_zero(const Values *values, const char *name)
{
    const int i = place_known(name);

    return values->at[i] ? values->at[i] : settings_at(i)->zero;
}

bool setting_is(const Values *values, const char *name, const char *choice)
{
    const Setting *s = settings_at(place_of(settings(), name));
    int value = setting(values, name), i = 0;

    while (s->choices[i] && strcmp(s->choices[i], choice) != 0)
        i++;
    if (!s->choices[i])
        BUG("--%s has no value %s", name, choice);
    return s->kind == SETTING_SET ? value >> i & 1 : value == i;
}
