#include "tools/common/model_options.h"

#include "model/layer.h"
#include "ops/base/error.h"

#include <string.h>

Text model_positions;
const char model_gammas[] =
    "gated units: standard deviation of the gammas that scale q and k at first; with 3, scores "
    "start near 1, with FLASH's 0.02 near 1e-5, and learn slowly; one (or 0), as in bert4keras: "
    "all are 1";

KeyOption model_option_of(const Setting *key, int value)
{
    const bool opposite = strncmp(key->name, "no_", 3) == 0;
    KeyOption o = { .name = text_format("%s", key->name + (opposite ? 3 : 0)) };

    for (char *s = o.name.at; *s; s++)
        *s = *s == '_' ? '-' : *s;
    o.value = key->kind == SETTING_FLAG ? text_format("%s", (value != 0) != opposite ? "on" : "off")
                                        : setting_print(key, value);
    return o;
}

void model_options_add(Program *program, ModelOptions *options)
{
    model_positions =
        text_format("positions; default: rope if the attention supports it, else learned");
    for (const Attention *const *a = attentions; *a; a++)
        if ((*a)->position)
            text_add(&model_positions, ", but %s for %s", (*a)->position, (*a)->name);
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

void model_options_settle(const Program *program, ModelOptions *options, const Config *was,
                          Config *c)
{
    const Attention *a = c->attention = settings_of(program, &options->mechanism, &c->set);

    if (was)
        settings_keep(program, was, c);
    check_layer(program, a);
    settings_fit_context(&c->set, a, CONTEXT_IF_ASKED, c->context > 1 ? c->context : 2);
    settings_fit_context(&c->set, a, CONTEXT_AT_LEAST, c->context);
    settings_put(&options->mechanism, &c->set);
    if (options->position < 0)
        options->position = position_default(a);
    settings_check_rotated(program, options->position == POSITION_ROPE, "--position rope");
    if (layer_of(a)->one_head && !options_set(program, "n-head"))
        c->heads = 1;
    c->position = options->position;
    c->gamma_init = options->gamma_init > 0 ? options->gamma_init : -1;
    c->tied = options->tied;
    c->bias = options->bias;
    c->no_residual = !options->residual;
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
