/* A folder as a model: what config.json says, and the tensors that it asks for. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/import/import.h"

#include <string.h>

static void read_json(Import *in, const char *dir)
{
    *in = (Import){ .dir = dir, .mem = arena_new() };
    if (!file_is_folder(dir))
        die(EXIT_IO, "%.180s is not a folder", dir);
    if (!foreign_has(dir, "config.json"))
        die(EXIT_IO, "%.180s has no config.json: it is not a model that transformers saved", dir);
    in->json = foreign_json(in->mem, file_join(in->path, dir, "config.json"));
}

/* What all classes have in common. */
static void read_config(Import *in)
{
    Config *c = &in->config;

    in->class = import_class(in);
    *c = (Config){ .attention = &attention_softmax, .task = TASK_CAUSAL };
    c->set = settings_default(c->attention);
    c->vocab = key_number(in, "vocab_size", 1, 1 << 24);
    if (json_find(in->json, "quantization_config"))
        die(EXIT_DATA, "%.180s has a quantization_config: save the model in float32 first",
            in->path);
    in->end = key_end(in);
    in->class->config(in);
    const int hidden = c->hidden;
    c->hidden = 0;
    if (hidden != config_hidden(c)) /* a default stays one */
        c->hidden = hidden;
    if (c->vocab > TOKENS_MAX)
        die(EXIT_DATA, "%.180s: vocab_size is %d; attn.c's models have at most %d tokens", in->path,
            c->vocab, TOKENS_MAX);
    const Text why = config_misfit(c);
    if (why.n)
        die(EXIT_DATA, "%.180s: %s", in->path, why.at);
}

void import_open(Import *in, const char *dir)
{
    read_json(in, dir);
    read_config(in);
    import_read_weights(&in->weights, dir, in->mem);
    in->class->tensors(in);
    import_check_rest(in);
}

void import_close(Import *in)
{
    import_free_weights(&in->weights);
    arena_free(in->mem);
}

/* Learned positions beyond the context are left out. */
static void shorten(Model *model, int context)
{
    Tensor *position = model->position;

    model->config.context = context;
    if (position) {
        position->dim[0] = context;
        position->n = (size_t)context * (size_t)model->config.width;
    }
}

void import_fill(Import *in, Model *model, int context)
{
    int biases = 0;

    if (context > in->config.context)
        die(EXIT_USAGE, "--block-size %d: the model's context is %d", context, in->config.context);
    model_init_undrawn(model, in->config, in->mem);
    in->model = model;
    in->class->tensors(in);
    for (const Param *p = model->params.first; p; p = p->next)
        biases += strstr(p->name, ".bias") != NULL;
    if (in->filled > model->params.count || in->filled + biases < model->params.count)
        BUG("%d of %d parameters", in->filled, model->params.count);
    if (context)
        shorten(model, context);
}
