#include "model/form.h"

#include "ops/base/error.h"

#include <stdarg.h>

static const Form *const forms[] = { &form_llama, &form_arcee, &form_gpt, NULL };

static const bool in_double = sizeof(real) == sizeof(double);

/* What no form has, whatever is around the attention. */
static Text foreign(const Config *c)
{
    const MixSize size = config_mix_size(c);
    Text why = { 0 };

    if (c->task != TASK_CAUSAL)
        text_add(&why, "its task is %s, not causal", task_names[c->task]);
    else if (c->attention != &attention_softmax)
        text_add(&why, "its attention is %s, not softmax", c->attention->name);
    else if (c->set.scale != SCALE_SQRT)
        text_add(&why, "its scale is %s, not sqrt", scale_names[c->set.scale]);
    else if (c->set.window != 0)
        text_add(&why, "its window is %d, not all", c->set.window);
    else if (size.D != size.E)
        text_add(&why, "its keys are %d wide and its values %d", size.D, size.E);
    return why;
}

const Form *form_of_config(const Config *c, Text *why)
{
    *why = foreign(c);
    for (int i = 0; !why->n && forms[i]; i++)
        if (forms[i]->position == c->position && forms[i]->ffn == c->ffn &&
            forms[i]->norm == c->norm)
            return forms[i];
    if (!why->n)
        text_add(why, "position %s, ffn %s and layer-norm %s do not go together there",
                 position_names[c->position], ffn_names[c->ffn], norm_names[c->norm]);
    return NULL;
}

static void put_number(FILE *out, const char *name, int value)
{
    fprintf(out, ",\n  \"%s\": %d", name, value);
}

static void put_word(FILE *out, const char *name, const char *value)
{
    fprintf(out, ",\n  \"%s\": \"%s\"", name, value);
}

/* With the names of ./train's options. */
static void own_config(const Config *c, FILE *out)
{
    const struct {
        const char *name;
        int value;
    } number[] = {
        { "vocab_size", c->vocab },    { "n_layer", c->layers },     { "n_head", c->heads },
        { "n_embd", c->width },        { "block_size", c->context }, { "tied", c->tied },
        { "bias", c->bias },           { "base", c->set.base },      { "window", c->set.window },
        { "horizon", c->set.horizon }, { "chunk", c->set.chunk },    { "features", c->features },
        { "key_size", c->key_size },   { "gate", !c->gateless },
    };

    put_word(out, "attn", c->attention->name);
    put_word(out, "task", task_names[c->task]);
    put_word(out, "position", position_names[c->position]);
    put_word(out, "ffn", ffn_names[c->ffn]);
    put_word(out, "layer_norm", norm_names[c->norm]);
    put_word(out, "scale", scale_names[c->set.scale]);
    put_word(out, "norm", gau_norm_names[c->set.norm]);
    put_word(out, "interaction", interaction_names[c->set.interaction]);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        put_number(out, number[i].name, number[i].value);
    for (int i = 0; i < SHARES; i++)
        fprintf(out, ",\n  \"share_%s\": %d", share_names[i], c->share >> i & 1);
}

/*
 * Both names of the type, of which readers know one or the other. No token ends
 * a text here; left out, the ends would be tokens that mean something else.
 */
void form_config(const Form *form, const Config *c, FILE *out)
{
    const char *type = in_double ? "float64" : "float32";

    fprintf(out, "{\n  \"model_type\": \"%s\"", form ? form->name : "attn.c");
    put_word(out, "dtype", type);
    put_word(out, "torch_dtype", type);
    if (form) {
        fprintf(out, ",\n  \"architectures\": [\"%s\"]", form->class_name);
        fprintf(out, ",\n  \"bos_token_id\": null,\n  \"eos_token_id\": null");
        fprintf(out, ",\n  \"tie_word_embeddings\": %s", c->tied ? "true" : "false");
        put_number(out, "vocab_size", c->vocab);
        form->config(c, out);
    } else {
        own_config(c, out);
    }
    fprintf(out, "\n}\n");
}

void form_add(FormTensors *to, const Tensor *t, const char *fmt, ...)
{
    char *name = arena_take(to->mem, NAME_MAX_BYTES + 1);
    Entry e = { .name = name, .ndim = t->ndim, .data = t->data, .bytes = t->n * sizeof(real) };
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, NAME_MAX_BYTES + 1, fmt, ap);
    va_end(ap);
    e.dtype = in_double ? DTYPE_F64 : DTYPE_F32;
    for (int d = 0; d < t->ndim; d++)
        e.dim[d] = (size_t)t->dim[d];
    if (to->n == to->room)
        BUG("form: more than %d tensors", to->room);
    to->entry[to->n++] = e;
}

/* A form has fewer than two tensors for each of ours, the zeros that it adds among them. */
FormTensors form_tensors(const Form *form, const Model *model, Arena *mem)
{
    const int room = 2 * model->params.count;
    FormTensors to = { .mem = mem, .room = room };

    to.entry = arena_take(mem, (size_t)room * sizeof *to.entry);
    if (form)
        form->tensors(model, &to);
    for (const Param *p = form ? NULL : model->params.first; p; p = p->next)
        form_add(&to, p->tensor, "%s", p->name);
    return to;
}
