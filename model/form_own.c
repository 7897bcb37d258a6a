/*
 * Our own classes for transformers (tools/export/modeling_attnc.py), which compute every model. The
 * tensors keep their names, with what PyTorch puts around those of a module:
 *
 *     blocks.0.attn.wq         model.blocks.0.attn.wq.weight
 *     blocks.0.attn.wq.bias    model.blocks.0.attn.wq.bias
 *     head                     head.weight
 *
 * and the configuration has the names of ./train's options.
 */
#include "model/form.h"
#include "model/mechanisms.h"

#include <string.h>

static bool is_bias(const char *name)
{
    const size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, ".bias") == 0;
}

static void own_tensors(const Model *model, FormTensors *to)
{
    for (const Param *p = model->params.first; p; p = p->next)
        form_add(to, p->tensor, "%s%s%s", strcmp(p->name, "head") == 0 ? "" : "model.", p->name,
                 is_bias(p->name) ? "" : ".weight");
}

/* After a comma and what separates it from the key before. */
static void put_value(const Setting *key, int value, const char *space, FILE *out)
{
    const Text name = setting_key(key);

    for (int bit = 0; key->kind == SETTING_SET && key->choices[bit]; bit++)
        fprintf(out, ",%s\"%s_%s\": %d", space, name.at, key->choices[bit], value >> bit & 1);
    if (key->kind == SETTING_CHOICE)
        fprintf(out, ",%s\"%s\": \"%s\"", space, name.at, key->choices[value]);
    if (key->kind == SETTING_NUMBER || key->kind == SETTING_FLAG)
        fprintf(out, ",%s\"%s\": %d", space, name.at, value);
}

/* The mechanisms of a list, each with all its settings. */
static void put_list(const Config *c, FILE *out)
{
    for (int i = 0; i < c->listed; i++) {
        const Mechanism *m = &c->list[i];

        fprintf(out, "%s{ \"attn\": \"%s\"", i ? ",\n    " : ",\n  \"mechanisms\": [\n    ",
                m->attention->name);
        for (const Setting *s = m->attention->settings; s && s->name; s++)
            put_value(s, setting(&m->set, s->name), " ", out);
        fprintf(out, " }");
    }
    if (c->listed)
        fprintf(out, "\n  ]");
}

/* "tied" and "vocab" have names of transformers, which form_config() writes; what the class does
 * not compute is never exported. */
static bool is_written(Config *c, int i)
{
    const int *value = config_value(c, i);

    return value != &c->vocab && value != &c->tied && value != &c->logit_cap &&
           value != &c->shortcut && value != &c->value_embedding && value != &c->from_last &&
           config_has(c, i);
}

static void own_config(const Config *of, FILE *out)
{
    const char *class_name = form_own[of->task].class_name;
    Config c = *of;
    const Setting *key;

    fprintf(out,
            ",\n  \"auto_map\": {\n    \"AutoConfig\": \"configuration_attnc.AttncConfig\",\n"
            "    \"AutoModel\": \"modeling_attnc.AttncModel\",\n"
            "    \"AutoModel%s\": \"modeling_attnc.%s\"\n  }",
            strstr(class_name, "For"), class_name);
    fprintf(out, ",\n  \"attn\": \"%s\"", config_mechanism_names(&c).at);
    for (int i = 0; (key = config_key(i)); i++)
        if (is_written(&c, i))
            put_value(key, *config_value(&c, i), "\n  ", out);
    put_list(&c, out);
}

/* Whether the source has config.NAME, or getattr(config, "NAME") for a word of Python. */
static bool has_key(const char *source, const char *name)
{
    return strstr(source, text_format("config.%s", name).at) ||
           strstr(source, text_format("getattr(config, \"%s\")", name).at);
}

/* Whether the source reads the setting, or each value of a set, from the configuration. */
static bool reads(const char *source, const Setting *s)
{
    static const char *const itself[] = { "", NULL };
    const char *const *choice = s->kind == SETTING_SET ? s->choices : itself;
    bool all = true;

    for (; *choice && all; choice++) {
        const char *join = **choice ? "_" : "";

        all = has_key(source, text_format("%s%s%s", setting_key(s).at, join, *choice).at);
    }
    return all;
}

/* A value of a setting with which the layer computes an operand, if the source does not name it. */
static Text value_lacks(const Config *c, const char *source)
{
    for (const Operand *o = c->attention->operands; o && o->name; o++)
        if (o->from && o->is && setting_is(&c->set, o->with, o->is) &&
            !strstr(source, text_format("\"%s\"", o->is).at))
            return text_format("--%s %s", o->with, o->is);
    return (Text){ 0 };
}

/* The same of the layers with one mechanism. */
static Text part_lacks(const Config *c, const char *source)
{
    const Values plain = settings_default(c->attention);
    const Setting *s = c->attention->settings;

    while (s && s->name &&
           (setting(&c->set, s->name) == setting(&plain, s->name) || reads(source, s)))
        s++;
    if (!strstr(source, text_format("\"%s\":", c->attention->name).at))
        return text_format("--attn %s", c->attention->name);
    return s && s->name ? text_format("--%s", s->name) : value_lacks(c, source);
}

Text form_lacks(const Config *c, const char *source)
{
    Text what = { 0 };

    if (!strstr(source, text_format("class %s(", form_own[c->task].class_name).at))
        return text_format("--task %s", task_names[c->task]);
    if (c->logit_cap && !strstr(source, "config.logit_cap"))
        return text_format("--logit-cap %d", c->logit_cap);
    if (c->shortcut && !strstr(source, "config.shortcut"))
        return text_format("--shortcut");
    if (c->value_embedding && !strstr(source, "config.value_embedding"))
        return text_format("--value-embedding");
    if (c->kv_heads && !strstr(source, "config.n_kv_head"))
        return text_format("--n-kv-head %d", c->kv_heads);
    if (c->from_last)
        return text_format("predictions from the last position");
    if (c->ffn == FFN_RELU2 && !strstr(source, "\"relu2\""))
        return text_format("--ffn relu2");
    for (int i = 0; !what.n && i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        what = part_lacks(&part, source);
    }
    return what;
}

#define OWN(kind)                                                                                  \
    {                                                                                              \
        .name = "attnc", .class_name = "AttncFor" kind, .own = true, .config = own_config,         \
        .tensors = own_tensors                                                                     \
    }
const Form form_own[] = { [TASK_CAUSAL] = OWN("CausalLM"),
                          [TASK_MLM] = OWN("MaskedLM"),
                          [TASK_CLASSIFY] = OWN("SequenceClassification") };
