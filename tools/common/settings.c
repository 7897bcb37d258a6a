#include "tools/common/settings.h"

#include "ops/base/error.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

enum { ROPE_SCALE_MAX = 1 << 20 };

const char settings_here[] = "the settings of the attention";

/* What a mechanism cannot do. */
static const char *limits(const Attention *a)
{
    return a->traits & BIDIRECTIONAL_ONLY ? "; bidirectional only"
           : a->traits & CAUSAL_ONLY      ? "; causal only"
           : !attention_decodes(a)        ? "; cannot decode"
                                          : "";
}

/* The summary with the limits, in static memory. */
static const char *summary_of(int i)
{
    static char room[128][160];

    if (i >= (int)(sizeof room / sizeof *room))
        BUG("more than %zu attentions", sizeof room / sizeof *room);
    if (!*room[i])
        snprintf(room[i], sizeof *room, "%s%s", attentions[i]->summary, limits(attentions[i]));
    return room[i];
}

Choice settings_attention(int i)
{
    const Attention *a = attentions[i];

    return a ? (Choice){ a->name, summary_of(i), a->alias } : (Choice){ 0 };
}

/* "softmax, gau": the mechanisms with that setting; for NULL, those that support RoPE. */
static Text takers(const char *setting)
{
    Text text = { 0 };

    for (const Attention *const *a = attentions; *a; a++)
        if (setting ? attention_takes(*a, setting) != NULL : (*a)->traits & CAN_ROPE)
            text_add(&text, "%s%s", text.n ? ", " : "", (*a)->name);
    return text;
}

static int taker_count(const char *setting)
{
    int n = 0;

    for (const Attention *const *a = attentions; *a; a++)
        n += attention_takes(*a, setting) != NULL;
    return n;
}

/* The names of a and those after it with that value of the setting; "" if one before it has it. */
static Text sharing(const Attention *const *a, const Setting *of)
{
    Text names = { 0 };

    for (const Attention *const *other = attentions; *other; other++) {
        const Setting *s = attention_takes(*other, of->name);

        if (s && s->value == of->value && other < a)
            return (Text){ 0 };
        if (!s || s->value != of->value)
            continue;
        text_add(&names, "%s%s", names.n ? ", " : "", (*other)->name);
        if (s->both && !((*other)->traits & CAUSAL_ONLY))
            text_add(&names, " (masked: %d)", s->both);
    }
    return names;
}

/* "rms in retnet, decay; all in mamba2": defaults that are not the option's, in static memory. */
static const char *other_defaults(int i)
{
    static char room[SETTINGS_MAX][200];
    const Setting *s = settings_at(i);
    Text text = { 0 };

    for (const Attention *const *a = attentions; *a; a++) {
        const Setting *own = attention_takes(*a, s->name);
        const Text names = own && own->value != s->value ? sharing(a, own) : (Text){ 0 };

        if (names.n)
            text_add(&text, "%s%s in %s", text.n ? "; " : "",
                     own->kind == SETTING_FLAG ? own->value ? "on" : "off"
                                               : setting_print(own, own->value).at,
                     names.at);
    }
    snprintf(room[i], sizeof *room, "%.199s", text.at);
    return text.n ? room[i] : NULL;
}

/* The help text of setting i, in static memory. */
static const char *help_of(int i)
{
    static char room[SETTINGS_MAX][256];
    const Setting *s = settings_at(i);
    enum { FEW = 3 };

    if (taker_count(s->name) > FEW)
        return s->help;
    snprintf(room[i], sizeof *room, "%.100s: %.150s", takers(s->name).at, s->help);
    return room[i];
}

static Option option_of(int i, SettingsOptions *to)
{
    static const OptionKind kinds[] = { [SETTING_NUMBER] = OPTION_INT,
                                        [SETTING_CHOICE] = OPTION_CHOICE,
                                        [SETTING_FLAG] = OPTION_FLAG,
                                        [SETTING_SET] = OPTION_SET };
    const Setting *s = settings_at(i);
    Option o = { .name = s->name, .kind = kinds[s->kind], .max = s->most, .choices = s->choices };

    o.at = s->kind == SETTING_FLAG ? (void *)&to->flag[i] : &to->set.at[i];
    o.help = help_of(i);
    o.others = s->seed && to->has_seed ? "in a new model with a single mechanism: --seed"
                                       : other_defaults(i);
    if (s->length == CONTEXT_IF_ASKED && to->has_context)
        o.also = "context", o.means = SETTING_CONTEXT;
    to->set.at[i] = s->value;
    to->flag[i] = s->value;
    return o;
}

/* The name of what the option of a setting sets in a mechanism: --gate may mean --out-gate. */
static const char *meant(const Attention *a, const Setting *s)
{
    return attention_takes(a, s->name) || !s->elsewhere ? s->name : s->elsewhere;
}

/* The i-th setting, if the program has an option for it. */
static const Setting *offered(const Program *program, int i)
{
    const Option *o = program->options;

    while (o->name && strcmp(o->name, settings_at(i)->name) != 0)
        o++;
    return o->name ? settings_at(i) : NULL;
}

void settings_add(Program *program, SettingsOptions *s, bool layers)
{
    int n = 0, at = 0;

    while (program->options[n].name)
        n++;
    Option *all = xmalloc(((size_t)n + SETTINGS_MAX + 1) * sizeof *all), *to = all;
    while (program->options[at].name && program->options[at].name != settings_here)
        *to++ = program->options[at++];
    for (int i = 0; settings_at(i); i++) {
        const Option o = option_of(i, s);

        if (layers || !settings_at(i)->layer)
            *to++ = o;
    }
    while (at < n)
        *to++ = program->options[++at];
    program->options = all;
}

static noreturn void refuse(const char *option, const Attention *a, Text of)
{
    die(EXIT_USAGE, "--%s does not apply to --attn %s; it is for %s", option, a->name, of.at);
}

void settings_check(const Program *program, const char *option, const Attention *a)
{
    if (options_given(program, option) && !attention_takes(a, option))
        refuse(option, a, takers(option));
}

void settings_check_rope(const Program *program, const char *option, const Attention *a)
{
    if (options_given(program, option) && !(a->traits & CAN_ROPE))
        refuse(option, a, takers(NULL));
}

void settings_check_rotated(const Program *program, bool rope, const char *by)
{
    for (int i = 0; !rope && settings_at(i); i++)
        if (settings_at(i)->rope && options_given(program, settings_at(i)->name))
            die(EXIT_USAGE, "--%s needs %s", settings_at(i)->name, by);
}

void settings_check_layer(const Program *program, const Attention *a)
{
    if ((options_given(program, "layer") || options_given(program, "layers")) &&
        !(a->traits & BY_LAYER))
        die(EXIT_USAGE, "--layer and --layers mean nothing to --attn %s", a->name);
}

const char *settings_given(const Program *program)
{
    for (int i = 0; settings_at(i); i++)
        if (offered(program, i) && options_given(program, settings_at(i)->name))
            return settings_at(i)->name;
    return NULL;
}

void settings_check_some(const Program *program, const Attention *const *some)
{
    for (int i = 0; settings_at(i); i++) {
        const Attention *const *a = some;

        while (*a && !attention_takes(*a, meant(*a, settings_at(i))))
            a++;
        if (!*a && offered(program, i))
            settings_check(program, settings_at(i)->name, *some);
    }
}

/* A restored option has its own meaning only, and yields to the option that has no other. */
static bool is_set(const Program *program, const Setting *s, const char *name)
{
    return strcmp(s->name, name) == 0
               ? options_set(program, name)
               : options_given(program, s->name) && !options_given(program, name);
}

/* Whether an option was given that sets this. */
static bool is_given(const Program *program, const Attention *a, const char *name)
{
    bool given = options_given(program, name);

    for (int i = 0; settings_at(i); i++)
        given |= strcmp(meant(a, settings_at(i)), name) == 0 &&
                 options_given(program, settings_at(i)->name);
    return given;
}

static Values part_of(const Program *program, const SettingsOptions *s, const Attention *a,
                      bool restored)
{
    Values set = settings_default(a);

    for (int i = 0; settings_at(i); i++) {
        const Setting *it = settings_at(i);
        const char *name = meant(a, it);

        if (offered(program, i) && attention_takes(a, name) && is_set(program, it, name) &&
            (restored || options_given(program, it->name)))
            *setting_at(&set, name) = it->kind == SETTING_FLAG ? s->flag[i] : s->set.at[i];
    }
    const Text wrong = settings_misfit(a, &set);
    if (wrong.n)
        die(EXIT_USAGE, "%s", wrong.at);
    return set;
}

Values settings_part(const Program *program, const SettingsOptions *s, const Attention *a)
{
    return part_of(program, s, a, true);
}

Values settings_given_part(const Program *program, const SettingsOptions *s, const Attention *a)
{
    return part_of(program, s, a, false);
}

const Attention *settings_of(const Program *program, const SettingsOptions *s, Values *set)
{
    const Attention *a = attentions[s->attention];

    settings_check_some(program, (const Attention *const[]){ a, NULL });
    *set = settings_part(program, s, a);
    return a;
}

void settings_seed(const Program *program, const Attention *a, Values *set, uint64_t seed)
{
    for (const Setting *s = a->settings; s && s->name; s++)
        if (s->seed && !options_set(program, s->name))
            *setting_at(set, s->name) = (int)(seed & INT_MAX);
}

void settings_see_both(const Program *program, const Attention *a, Values *set)
{
    for (const Setting *s = a->settings; s && s->name; s++)
        if (s->both && !options_set(program, s->name))
            *setting_at(set, s->name) = s->both;
}

void settings_keep(const Program *program, const Config *was, Config *c)
{
    for (int i = 0; c->attention == was->attention && settings_at(i); i++)
        if (!is_given(program, c->attention, settings_at(i)->name))
            c->set.at[i] = was->set.at[i];
}

void settings_put(SettingsOptions *s, const Values *set)
{
    s->set = *set;
    for (int i = 0; settings_at(i); i++)
        s->flag[i] = set->at[i];
}

RopeScale settings_rope_scale(const char *words)
{
    RopeScale scale = { 0 };

    for (int i = 0; words && rope_kind_names[i]; i++) {
        size_t n = strlen(rope_kind_names[i]);
        const char *end;

        if (strncmp(words, rope_kind_names[i], n) == 0 && words[n] == ':' &&
            options_number(words + n + 1, &end, &scale.by) && !*end && scale.by >= 1 &&
            scale.by <= ROPE_SCALE_MAX) {
            scale.kind = (RopeKind)i;
            return scale;
        }
    }
    if (words)
        die(EXIT_USAGE,
            "--rope-scale %s: must be linear:S or ntk:S, with S from 1 to %d, such as linear:4",
            text_cut(words, 60).at, ROPE_SCALE_MAX);
    return scale;
}

Text settings_rope_scale_text(RopeScale scale)
{
    Text text = { 0 };

    if (scale.by > 0)
        text_add(&text, "%s:%s", rope_kind_names[scale.kind], text_number(scale.by).at);
    else
        text_add(&text, "none");
    return text;
}

__attribute__((format(printf, 2, 3))) static void add(Text *text, const char *fmt, ...)
{
    char words[64];
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    text_add(text, "%s%s", text->n ? ", " : "", words);
}

/* A size that is 0 is shown as what it means. */
static void add_size(Text *text, const Setting *s, int value, const MixSize *size)
{
    if (s->size == 'd' && size->D != size->E)
        add(text, "keys of %d", size->D);
    if (s->size != 'd')
        add(text, "%d %s", setting_size(s, value, size->D), s->name);
}

static void add_setting(Text *text, const Setting *s, int value, const MixSize *size)
{
    if (s->kind == SETTING_CHOICE && !((s->layer || s->rope || s->quiet) && value == s->value))
        add(text, "%s %s", s->name, s->choices[value]);
    if (s->kind == SETTING_NUMBER && s->size)
        add_size(text, s, value, size);
    if (s->kind == SETTING_NUMBER && !s->size && !s->seed && (value || s->zero))
        add(text, "%s %d", s->name, value ? value : s->zero);
    if (s->kind == SETTING_FLAG && value != s->value)
        add(text, "%s%s", value ? "" : "no ", s->name);
    for (int bit = 0; s->kind == SETTING_SET && s->choices[bit]; bit++)
        if (value >> bit & 1)
            add(text, "shared %s", s->choices[bit]);
}

Text settings_text(const Config *c)
{
    const MixSize size = config_mix_size(c);
    Text text = { 0 };

    for (const Setting *s = c->listed ? NULL : c->attention->settings; s && s->name; s++)
        if (setting_matters(c->attention, &c->set, s) && (!s->rope || c->position == POSITION_ROPE))
            add_setting(&text, s, setting(&c->set, s->name), &size);
    if (c->kv_heads)
        add(&text, "%d head%s of keys and values", c->kv_heads, c->kv_heads > 1 ? "s" : "");
    if (c->no_residual)
        add(&text, "no residual");
    if (c->shortcut)
        add(&text, "shortcut");
    if (c->value_embedding)
        add(&text, "value embeddings");
    if (c->from_last)
        add(&text, "from the last position");
    if (c->logit_cap)
        add(&text, "logit cap %d", c->logit_cap);
    if (c->rope_scale.by > 0)
        add(&text, "rope scale %s", settings_rope_scale_text(c->rope_scale).at);
    return text;
}
