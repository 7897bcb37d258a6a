#include "model/form.h"

#include "model/mechanisms.h"
#include "ops/base/error.h"

#include <stdarg.h>

static const Form *const forms[] = { &form_llama, &form_arcee, &form_gpt, NULL };

/* The first setting that is not at its default, or NULL. Ignores settings without effect. */
static const Setting *changed(const Config *c)
{
    const Values plain = settings_default(c->attention);
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++)
        if (c->set.at[i] != plain.at[i] && s->length == NO_LENGTH && s->size != 'd')
            return s;
    return NULL;
}

/* What no form supports, whatever the layers around the attention. */
static Text foreign(const Config *c)
{
    const MixSize size = config_mix_size(c);
    const Setting *other = changed(c);
    Text why = { 0 };

    if (c->task != TASK_CAUSAL)
        text_add(&why, "its task is %s, not causal", task_names[c->task]);
    else if (c->listed || c->attention != &attention_softmax)
        text_add(&why, "its attention is %s, not softmax", config_mechanisms(c).at);
    else if (c->no_residual)
        text_add(&why, "it has no residual connections");
    else if (c->shortcut)
        text_add(&why, "its blocks have a shortcut from the embeddings");
    else if (c->value_embedding)
        text_add(&why, "its layers have value embeddings");
    else if (c->from_last)
        text_add(&why, "it predicts from the last position alone");
    else if (c->logit_cap)
        text_add(&why, "its logits are capped at %d", c->logit_cap);
    else if (other)
        text_add(&why, "its %s is %s, not %s", other->name,
                 setting_print(other, setting(&c->set, other->name)).at,
                 setting_print(other, other->value).at);
    else if (size.D != size.E)
        text_add(&why, "its keys are %d wide and its values %d", size.D, size.E);
    return why;
}

const Form *form_of_config(const Config *c, Text *why)
{
    *why = foreign(c);
    for (int i = 0; !why->n && forms[i]; i++)
        if (forms[i]->position == c->position && forms[i]->ffn == c->ffn &&
            forms[i]->norm == c->norm && (forms[i]->groups || !c->kv_heads))
            return forms[i];
    if (!why->n)
        text_add(why, "no class combines position %s, ffn %s%s layer-norm %s%s",
                 position_names[c->position], ffn_names[c->ffn], c->kv_heads ? "," : " and",
                 norm_names[c->norm], c->kv_heads ? " and n-kv-head" : "");
    return &form_own[c->task];
}

/*
 * Both names of the type, since readers know one or the other. Without the nulls, readers would use
 * default ids that mean other tokens here.
 */
void form_config(const Form *form, const Config *c, const char *end, FILE *out)
{
    const char *type = sizeof(real) == sizeof(double) ? "float64" : "float32";

    fprintf(out, "{\n  \"model_type\": \"%s\"", form->name);
    fprintf(out, ",\n  \"dtype\": \"%s\",\n  \"torch_dtype\": \"%s\"", type, type);
    fprintf(out, ",\n  \"architectures\": [\"%s\"]", form->class_name);
    fprintf(out, ",\n  \"bos_token_id\": null,\n  \"eos_token_id\": %s", end ? end : "null");
    fprintf(out, ",\n  \"tie_word_embeddings\": %s", c->tied ? "true" : "false");
    fprintf(out, ",\n  \"vocab_size\": %d", c->vocab);
    form->config(c, out);
    fprintf(out, "\n}\n");
}

void form_add(FormTensors *to, const Tensor *t, const char *fmt, ...)
{
    char *name = arena_take(to->mem, NAME_MAX_BYTES + 1);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, NAME_MAX_BYTES + 1, fmt, ap);
    va_end(ap);
    if (to->n == to->room)
        BUG("form: more than %d tensors", to->room);
    to->entry[to->n++] = checkpoint_entry(name, t, t->data);
}

/* A form has fewer than two tensors per tensor of ours, including the zeros that it adds. */
FormTensors form_tensors(const Form *form, const Model *model, Arena *mem)
{
    const int room = 2 * model->params.count;
    FormTensors to = { .mem = mem, .room = room };

    to.entry = arena_take(mem, (size_t)room * sizeof *to.entry);
    form->tensors(model, &to);
    return to;
}
