#include "tools/common/model_options.h"

#include "model/layer.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"

#include <string.h>

Text model_positions;
const char model_gammas[] =
    "gau, flash-gau: initial standard deviation of the gammas that scale q and k; with 3, scores "
    "start near 1; with FLASH's 0.02, they start near 1e-5 and learn slowly; one (or 0), as in "
    "bert4keras: all are 1";

KeyOption model_option_of(const Setting *key, int value)
{
    const bool opposite = strncmp(key->name, "no_", 3) == 0;
    KeyOption o = { .name = text_format("%s", key->name + (opposite ? 3 : 0)) };

    for (char *s = o.name.at; *s; s++)
        *s = *s == '_' ? '-' : *s;
    o.value = setting_words(key, opposite ? !value : value, ',');
    return o;
}

bool model_has_option(const Config *of, const int *value)
{
    return value != &of->vocab && value != &of->classes && value != &of->from_last;
}

static const char *shown(const KeyOption *o)
{
    return o->value.n ? o->value.at : "nothing";
}

Text model_difference(const Config *one, const Config *other)
{
    Config a = *one, b = *other;
    const Setting *key;
    const Text its = config_mechanisms(one), others = config_mechanisms(other);

    if (strcmp(its.at, others.at) != 0)
        return text_format("--attn %s, not %s", its.at, others.at);
    for (int i = 0; (key = config_key(i)); i++) {
        const int *x = config_value(&a, i), *y = config_value(&b, i);
        const KeyOption its_own = model_option_of(key, *x), asked = model_option_of(key, *y);

        if (*x != *y)
            return text_format("%s%s %s, not %s", model_has_option(&a, x) ? "--" : "",
                               its_own.name.at, shown(&its_own), shown(&asked));
    }
    return (Text){ 0 };
}

/* Adds "; none for mamba2, deltanet": the mechanisms whose default position this is. */
static void add_exceptions(Text *to, const char *position)
{
    const char *before = "; ";

    for (const Attention *const *a = attentions; *a; a++)
        if ((*a)->position && strcmp((*a)->position, position) == 0) {
            if (*before == ';')
                text_add(to, "; %s for ", position), before = "";
            text_add(to, "%s%s", before, (*a)->name), before = ", ";
        }
}

void model_options_add(Program *program, ModelOptions *options)
{
    model_positions =
        text_format("positions; default: rope if the attention supports it, otherwise learned");
    for (const char *const *position = position_names; *position; position++)
        add_exceptions(&model_positions, *position);
    settings_add(program, &options->mechanism, true);
}

static void check_layer(const Program *program, const Attention *a)
{
    if (!layer_of(a)->feed_forward && options_given(program, "ffn"))
        die(EXIT_USAGE, "--ffn does not apply to --attn %s, which has no feed-forward layer",
            a->name);
    if (!layer_of(a)->gammas && options_given(program, "gamma-init"))
        die(EXIT_USAGE, "--gamma-init does not apply to --attn %s, which is not a gated unit",
            a->name);
}

/* The settings after a ':' of part i of --attn; NULL: none. */
static const char *settings_after(const OptionSequence *all, int i)
{
    const char *part = all->words;

    while (part && i-- > 0)
        part += strcspn(part, ",") + 1;
    const size_t n = part ? strcspn(part, ":,") : 0;
    return part && part[n] == ':' ? part + n + 1 : NULL;
}

static bool is_one_mechanism(const OptionSequence *all)
{
    int i = 0;

    while (i < all->n && all->at[i] == all->at[0])
        i++;
    return i == all->n;
}

/* Part i of --attn, with the settings of options, and its own. */
static Mechanism mechanism_of(const Program *program, const ModelOptions *options,
                              const Config *was, const Config *c, int i)
{
    const OptionSequence *all = &options->mechanism.layers;
    const char *own = settings_after(all, i);
    Mechanism m = { .attention = attentions[all->at[i]] };

    m.set = (all->n > 1 ? settings_given_part : settings_part)(program, &options->mechanism,
                                                               m.attention);
    if (c->task != TASK_CAUSAL)
        settings_see_both(program, m.attention, &m.set);
    if (!was && is_one_mechanism(all)) /* another list says all that is not a default */
        settings_seed(program, m.attention, &m.set, options->seed);
    if (own) {
        const Text words = text_format("%.*s", (int)strcspn(own, ","), own);
        const Text why = mechanism_apply(&m, words.at);

        if (why.n)
            die(EXIT_USAGE, "--attn %s: %s", text_cut(all->words, 60).at, why.at);
    }
    return m;
}

static void check_settings(const Program *program, const OptionSequence *all)
{
    const Attention *some[MECHANISMS_MOST + 1] = { NULL };

    if (all->n > MECHANISMS_MOST)
        die(EXIT_USAGE, "--attn %s: at most %d mechanisms", text_cut(all->words, 60).at,
            MECHANISMS_MOST);
    for (int i = 0; i < all->n; i++)
        some[i] = attentions[all->at[i]];
    settings_check_some(program, some);
}

/* The choices with which a setting has an effect: "--scale entropy, logn". */
static Text effect_with(const Attention *a, const Setting *s)
{
    Text text = { 0 };

    for (const Setting *by = a->settings; by->name; by++)
        for (int i = 0; by->kind == SETTING_CHOICE && by->choices[i]; i++)
            for (const char *const *with = s->with; *with; with++) {
                if (strcmp(*with, by->choices[i]) != 0)
                    continue;
                if (!text.n)
                    text_add(&text, "--%s", by->name);
                text_add(&text, "%s %s", strchr(text.at, ' ') ? "," : "", *with);
            }
    return text;
}

/* A setting that is given, but that no layer uses; such runs exist, so it is no error. */
static void warn_of_idle(const Program *program, const SettingsOptions *given,
                         const Mechanism *list, int n)
{
    const Setting *s, *own;

    for (int i = 0; (s = settings_at(i)); i++) {
        const int value = s->kind == SETTING_FLAG ? given->flag[i] : given->set.at[i];
        bool idle = options_given(program, s->name);
        Text why = { 0 };

        for (int j = 0; idle && j < n; j++) {
            const Mechanism *m = &list[j];

            if (!(own = attention_takes(m->attention, s->name)))
                idle = !s->elsewhere;
            else if (!setting_matters(m->attention, &m->set, own))
                why = text_format("it is for %s", effect_with(m->attention, own).at);
            else if (setting(&m->set, s->name) == value)
                idle = false;
            else if (!why.n)
                why = text_format("--attn %s has its own", m->attention->name);
        }
        if (idle)
            warn("--%s changes nothing: %s", s->name, why.at);
    }
}

/* The mechanisms; a list keeps all that it says, with the settings of options. */
static void settle_mechanisms(const Program *program, ModelOptions *options, const Config *was,
                              Config *c)
{
    static Text words;
    OptionSequence *all = &options->mechanism.layers;
    Mechanism list[MECHANISMS_MOST];

    check_settings(program, all);
    for (int i = 0; i < all->n; i++) {
        list[i] = mechanism_of(program, options, was, c, i);
        check_layer(program, list[i].attention);
    }
    warn_of_idle(program, &options->mechanism, list, all->n);
    for (int i = 0; i < all->n; i++) {
        settings_fit_context(&list[i].set, list[i].attention, CONTEXT_IF_ASKED,
                             c->context > 1 ? c->context : 2);
        settings_fit_context(&list[i].set, list[i].attention, CONTEXT_AT_LEAST, c->context);
    }
    config_arrange(c, list, all->n);
    if (c->listed) {
        words = config_mechanisms(c);
        all->words = words.at;
        return;
    }
    all->n = 1;
    if (was && !was->listed)
        settings_keep(program, was, c);
    settings_put(&options->mechanism, &c->set);
}

/* RoPE if a layer can rotate. */
static int default_position(const Config *c)
{
    for (int i = 0; c->listed && i < c->listed; i++)
        if (c->list[i].attention->traits & CAN_ROPE)
            return POSITION_ROPE;
    return position_default(c->attention);
}

void model_options_settle(const Program *program, ModelOptions *options, const Config *was,
                          Config *c)
{
    settle_mechanisms(program, options, was, c);
    if (options->position < 0)
        options->position = default_position(c);
    settings_check_rotated(program, options->position == POSITION_ROPE, "--position rope");
    if (layer_of(c->attention)->one_head && !options_set(program, "n-head"))
        c->heads = 1;
    c->position = options->position;
    c->gamma_init = options->gamma_init > 0 ? options->gamma_init : -1;
    c->tied = options->tied;
    c->bias = options->bias;
    c->no_residual = !options->residual;
    c->shortcut = options->shortcut;
    c->value_embedding = options->value_embedding;
}

/* "muon, sgd": the optimizers with that option; empty: not an option of optimizers. */
static Text takers(const char *option)
{
    Text text = { 0 };

    for (int i = 0; optimisers[i]; i++)
        if (optimiser_takes(optimisers[i], option))
            text_add(&text, "%s%s", text.n ? ", " : "", optimisers[i]->name);
    return text;
}

void optimiser_options_settle(const Program *program, const OptimiserKind *kind, Optimiser *o)
{
    for (const Option *option = program->options; option->name; option++) {
        Text of = takers(option->name);

        if (option->given && of.n && !optimiser_takes(kind, option->name))
            die(EXIT_USAGE, "--%s does not apply to --optimizer %s; it is for %s", option->name,
                kind->name, of.at);
    }
    o->kind = kind;
    optimiser_complete(kind, &o->hyper);
}

void freeze_tensors(const OptionTexts *frozen, Params *params)
{
    const Param *first = params->first;

    for (int i = 0; i < frozen->n; i++)
        if (params_freeze(params, frozen->at[i]) == 0)
            die(EXIT_USAGE, "--freeze %s matches no tensor; some names are %s, %s, %s",
                frozen->at[i], first->name, first->next->name, first->next->next->name);
    if (params_count(params) == 0)
        die(EXIT_USAGE, "--freeze leaves nothing to train");
}

Choice choice_optimiser(int i)
{
    static Text help;

    if (!optimisers[i])
        return (Choice){ .name = NULL };
    help = optimiser_help(optimisers[i]);
    return (Choice){ .name = optimisers[i]->name, .summary = help.at };
}
