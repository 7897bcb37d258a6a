#include "model/checkpoint.h"

#include "model/safetensors.h"
#include "ops/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 40 };

static const char VERSION[] = "2";
static const Dtype real_dtype = sizeof(real) == sizeof(float) ? DTYPE_F32 : DTYPE_F64;

/* A number of the configuration, under the name of its option. */
typedef struct {
    const char *key;
    int *at, least, most;
} Number;

/* A choice of the configuration: an enum, whose values are numbered as the names are. */
typedef struct {
    const char *key;
    int *at;
    const char *const *names;
} Choice;

/* What the metadata hold; saving reads the variables, loading fills them. */
enum { NUMBERS = 15, CHOICES = 7 };
typedef struct {
    int position, ffn, layer_norm, task, tied, bias, gate, share;
    int scale, norm, interaction;
    Number number[NUMBERS];
    Choice choice[CHOICES];
} Fields;

static void describe(Fields *f, Config *c)
{
    const Number number[NUMBERS] = {
        { "attnc.vocab", &c->vocab, 1, 1 << 24 },
        { "attnc.n_layer", &c->layers, 1, 1000 },
        { "attnc.n_head", &c->heads, 1, 1 << 14 },
        { "attnc.n_embd", &c->width, 1, 1 << 14 },
        { "attnc.block_size", &c->context, 1, 1 << 24 },
        { "attnc.tied", &f->tied, 0, 1 },
        { "attnc.bias", &f->bias, 0, 1 },
        { "attnc.base", &c->set.base, 0, 1 << 24 },
        { "attnc.window", &c->set.window, 0, 1 << 24 },
        { "attnc.horizon", &c->set.horizon, 0, 1 << 24 },
        { "attnc.chunk", &c->set.chunk, 0, 1 << 24 },
        { "attnc.key_size", &c->key_size, 0, 1 << 14 },
        { "attnc.features", &c->features, 0, 1 << 20 },
        { "attnc.share", &f->share, 0, (1 << SHARES) - 1 },
        { "attnc.gate", &f->gate, 0, 1 },
    };
    const Choice choice[CHOICES] = {
        { "attnc.position", &f->position, position_names },
        { "attnc.ffn", &f->ffn, ffn_names },
        { "attnc.layer_norm", &f->layer_norm, norm_names },
        { "attnc.task", &f->task, task_names },
        { "attnc.scale", &f->scale, scale_names },
        { "attnc.norm", &f->norm, gau_norm_names },
        { "attnc.interaction", &f->interaction, interaction_names },
    };

    memcpy(f->number, number, sizeof number);
    memcpy(f->choice, choice, sizeof choice);
}

static Fields fields_of(const Config *c)
{
    Fields f = { .position = (int)c->position,
                 .ffn = (int)c->ffn,
                 .layer_norm = (int)c->norm,
                 .task = (int)c->task,
                 .tied = c->tied,
                 .bias = c->bias,
                 .gate = !c->gateless,
                 .share = (int)c->share,
                 .scale = (int)c->set.scale,
                 .norm = (int)c->set.norm,
                 .interaction = (int)c->set.interaction };

    return f;
}

static void fill_in(Config *c, const Fields *f)
{
    c->position = (Position)f->position, c->ffn = (Ffn)f->ffn, c->norm = (NormKind)f->layer_norm;
    c->task = (Task)f->task, c->tied = f->tied, c->bias = f->bias, c->gateless = !f->gate,
    c->share = (unsigned)f->share;
    c->set.scale = (Scale)f->scale, c->set.norm = (GauNorm)f->norm;
    c->set.interaction = (Interaction)f->interaction;
}

static Entry entry_of(const Param *p)
{
    Entry e = { .name = p->name,
                .dtype = real_dtype,
                .ndim = p->tensor->ndim,
                .data = p->tensor->data,
                .bytes = p->tensor->n * sizeof(real) };

    for (int i = 0; i < e.ndim; i++)
        e.dim[i] = (size_t)p->tensor->dim[i];
    return e;
}

void checkpoint_save(const char *path, const Model *model, CheckpointNote note)
{
    Config c = model->config;
    Fields f = fields_of(&c);
    char text[NUMBERS + 2][VALUE_BYTES];
    Meta meta[NUMBERS + CHOICES + 4];
    Entry *entry = xmalloc((size_t)model->params.count * sizeof *entry);
    int n = 0, entries = 0;

    describe(&f, &c);
    meta[n++] = (Meta){ "attnc.version", VERSION };
    meta[n++] = (Meta){ "attnc.attn", c.attention->name };
    for (int i = 0; i < CHOICES; i++)
        meta[n++] = (Meta){ f.choice[i].key, f.choice[i].names[*f.choice[i].at] };
    for (int i = 0; i < NUMBERS; i++) {
        snprintf(text[i], VALUE_BYTES, "%d", *f.number[i].at);
        meta[n++] = (Meta){ f.number[i].key, text[i] };
    }
    snprintf(text[NUMBERS], VALUE_BYTES, "%d", note.step);
    meta[n++] = (Meta){ "attnc.step", text[NUMBERS] };
    snprintf(text[NUMBERS + 1], VALUE_BYTES, "%.9g", note.validation_loss);
    if (isfinite(note.validation_loss))
        meta[n++] = (Meta){ "attnc.val_loss", text[NUMBERS + 1] };
    for (const Param *p = model->params.first; p; p = p->next)
        entry[entries++] = entry_of(p);
    safetensors_write(path, entry, entries, meta, n);
    free(entry);
}

static const char *meta_of(const Safetensors *s, const char *path, const char *key)
{
    const char *value = safetensors_meta(s, key);

    if (!value)
        die(EXIT_DATA, "%s says nothing about %s: it is no checkpoint of attn.c", path, key);
    return value;
}

static void load_number(const Safetensors *s, const char *path, const Number *number)
{
    const char *value = meta_of(s, path, number->key);
    char *end;
    long n = strtol(value, &end, 10);

    if (*value < '0' || *value > '9' || *end || n < number->least || n > number->most)
        die(EXIT_DATA, "%s: %s is '%.40s', not a number from %d to %d", path, number->key, value,
            number->least, number->most);
    *number->at = (int)n;
}

static void load_choice(const Safetensors *s, const char *path, const Choice *choice)
{
    const char *value = meta_of(s, path, choice->key);

    for (*choice->at = 0; choice->names[*choice->at]; ++*choice->at)
        if (strcmp(choice->names[*choice->at], value) == 0)
            return;
    die(EXIT_DATA, "%s: %s is '%.40s', which this version does not know", path, choice->key, value);
}

static Config load_config(const Safetensors *s, const char *path)
{
    Config c = { .vocab = 0 };
    Fields f;

    if (strcmp(meta_of(s, path, "attnc.version"), VERSION) != 0)
        die(EXIT_DATA, "%s is of format %.40s, this program reads %s", path,
            safetensors_meta(s, "attnc.version"), VERSION);
    c.attention = attention_find(meta_of(s, path, "attnc.attn"));
    if (!c.attention)
        die(EXIT_DATA, "%s: this version has no attention called '%.40s'", path,
            safetensors_meta(s, "attnc.attn"));
    describe(&f, &c);
    for (int i = 0; i < NUMBERS; i++)
        load_number(s, path, &f.number[i]);
    for (int i = 0; i < CHOICES; i++)
        load_choice(s, path, &f.choice[i]);
    fill_in(&c, &f);
    Text why = config_misfit(&c);
    if (why.n)
        die(EXIT_DATA, "%s: its configuration does not fit together: %s", path, why.at);
    return c;
}

static void load_tensor(const Safetensors *s, const char *path, const Param *p)
{
    const Entry *e = safetensors_find(s, p->name), want = entry_of(p);
    bool fits = e && e->dtype == want.dtype && e->ndim == want.ndim &&
                memcmp(e->dim, want.dim, (size_t)want.ndim * sizeof *want.dim) == 0;

    if (!e)
        die(EXIT_DATA, "%s has no tensor %s", path, p->name);
    if (!fits)
        die(EXIT_DATA, "%s: %s is %s of %d dimensions from %zu, the model wants %s of %d from %zu",
            path, p->name, dtype_name(e->dtype), e->ndim, e->ndim ? e->dim[0] : 1,
            dtype_name(want.dtype), want.ndim, want.dim[0]);
    memcpy(p->tensor->data, e->data, want.bytes);
    for (size_t i = 0; i < p->tensor->n; i++)
        if (!isfinite(p->tensor->data[i]))
            die(EXIT_DATA, "%s: number %zu of %s is not finite", path, i, p->name);
}

void checkpoint_load(const char *path, Model *model, Arena *mem)
{
    Safetensors *s = safetensors_read(path);
    Config c = load_config(s, path);
    double positions = c.position == POSITION_LEARNED ? (double)c.context * c.width : 0;
    double parameters = config_matrix_parameters(&c) + config_fixed_parameters(&c) + positions;
    size_t size = 0;

    for (int i = 0; i < s->entries; i++)
        size += s->entry[i].bytes / sizeof(real);
    if (parameters > (double)size) /* there are more: tables, gains, biases */
        die(EXIT_DATA, "%s has fewer numbers than its configuration asks for", path);
    model_init(model, c, mem, 0);
    if (s->entries != model->params.count)
        die(EXIT_DATA, "%s has %d tensors, its configuration asks for %d", path, s->entries,
            model->params.count);
    for (const Param *p = model->params.first; p; p = p->next)
        load_tensor(s, path, p);
    safetensors_free(s);
}
