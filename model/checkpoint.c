#include "model/checkpoint.h"

#include "ops/base/error.h"
#include "ops/base/hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 40, HASH_DIGITS = 16 };

#define HASH "attnc.hash"

static const char VERSION[] = "3";
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
enum { NUMBERS = 16, CHOICES = 7 };
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
        { "attnc.classes", &c->classes, 0, 1 << 16 },
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

Entry checkpoint_entry(const char *name, const Tensor *shape, real *numbers)
{
    Entry e = { .name = name,
                .dtype = real_dtype,
                .ndim = shape->ndim,
                .data = numbers,
                .bytes = shape->n * sizeof(real) };

    for (int i = 0; i < e.ndim; i++)
        e.dim[i] = (size_t)shape->dim[i];
    return e;
}

/* The name, the type, the shape and the numbers. */
static uint64_t entry_hash(const Entry *e)
{
    uint64_t h = hash_string(hash_string(0, e->name), dtype_name(e->dtype));

    h = hash_bytes(h, e->dim, (size_t)e->ndim * sizeof *e->dim);
    return hash_bytes(h, e->data, e->bytes);
}

/* Of all metadata but the format's own and itself. */
static uint64_t meta_hash(const Meta *meta, int n)
{
    uint64_t sum = 0; /* whatever their order */

    for (int i = 0; i < n; i++)
        if (strncmp(meta[i].key, "attnc.", 6) == 0 && strcmp(meta[i].key, HASH) != 0)
            sum += hash_string(hash_string(0, meta[i].key), meta[i].value);
    return sum;
}

/* What is written into a file, as it grows; strings are in memory of its own. */
typedef struct {
    Arena *mem;
    Meta *meta;
    Entry *entry;
    int metas, entries;
} File;

static const char *printed(File *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *printed(File *f, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    size_t n = (size_t)vsnprintf(NULL, 0, fmt, args) + 1;
    char *text = arena_take(f->mem, n);
    vsnprintf(text, n, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

static void put_meta(File *f, const char *key, const char *value)
{
    f->meta[f->metas++] = (Meta){ key, value };
}

static void put_config(File *file, const Config *of)
{
    Config c = *of;
    Fields f = fields_of(&c);

    describe(&f, &c);
    put_meta(file, "attnc.version", VERSION);
    put_meta(file, "attnc.attn", c.attention->name);
    for (int i = 0; i < CHOICES; i++)
        put_meta(file, f.choice[i].key, f.choice[i].names[*f.choice[i].at]);
    for (int i = 0; i < NUMBERS; i++)
        put_meta(file, f.number[i].key, printed(file, "%d", *f.number[i].at));
}

static void put_entry(File *file, Entry e)
{
    file->entry[file->entries++] = e;
    put_meta(file, printed(file, HASH ".%s", e.name),
             printed(file, "%016llx", (unsigned long long)entry_hash(&e)));
}

void checkpoint_save(const char *path, const Model *model, Beside beside)
{
    Arena *mem = arena_new();
    size_t entries = (size_t)(model->params.count + beside.entries);
    size_t metas = entries + NUMBERS + CHOICES + 3 + (size_t)beside.metas;
    File file = { .mem = mem,
                  .meta = arena_take(mem, metas * sizeof(Meta)),
                  .entry = arena_take(mem, entries * sizeof(Entry)) };

    put_config(&file, &model->config);
    for (int i = 0; i < beside.metas; i++)
        put_meta(&file, beside.meta[i].key, beside.meta[i].value);
    for (const Param *p = model->params.first; p; p = p->next)
        put_entry(&file, checkpoint_entry(p->name, p->tensor, p->tensor->data));
    for (int i = 0; i < beside.entries; i++)
        put_entry(&file, beside.entry[i]);
    put_meta(&file, HASH,
             printed(&file, "%016llx", (unsigned long long)meta_hash(file.meta, file.metas)));
    safetensors_write(path, file.entry, file.entries, file.meta, file.metas);
    arena_free(mem);
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
    if (c.task == TASK_CLASSIFY && c.classes < 1)
        die(EXIT_DATA, "%s says classes, and has none", path);
    if (why.n)
        die(EXIT_DATA, "%s: its configuration does not fit together: %s", path, why.at);
    return c;
}

static void check_hash(const Safetensors *s, const char *path, const char *key, uint64_t is)
{
    char want[HASH_DIGITS + 1];

    snprintf(want, sizeof want, "%016llx", (unsigned long long)is);
    if (strcmp(meta_of(s, path, key), want) != 0)
        die(EXIT_DATA, "%s is damaged: %s is %.40s, and the file's is %s", path, key,
            safetensors_meta(s, key), want);
}

static void check_hashes(const Safetensors *s, const char *path)
{
    char key[NAME_MAX_BYTES + 32];

    check_hash(s, path, HASH, meta_hash(s->meta, s->metas));
    for (int i = 0; i < s->entries; i++) {
        snprintf(key, sizeof key, HASH ".%s", s->entry[i].name);
        check_hash(s, path, key, entry_hash(&s->entry[i]));
    }
}

void checkpoint_fill(const Safetensors *s, const char *path, Entry want)
{
    const Entry *e = safetensors_find(s, want.name);
    real *to = (real *)(uintptr_t)want.data;
    bool fits = e && e->dtype == want.dtype && e->ndim == want.ndim &&
                memcmp(e->dim, want.dim, (size_t)want.ndim * sizeof *want.dim) == 0;

    if (!e)
        die(EXIT_DATA, "%s has no tensor %s", path, want.name);
    if (!fits)
        die(EXIT_DATA, "%s: %s is %s of %d dimensions from %zu, the model wants %s of %d from %zu",
            path, want.name, dtype_name(e->dtype), e->ndim, e->ndim ? e->dim[0] : 1,
            dtype_name(want.dtype), want.ndim, want.dim[0]);
    memcpy(to, e->data, want.bytes);
    for (size_t i = 0; i < want.bytes / sizeof(real); i++)
        if (!isfinite(to[i]))
            die(EXIT_DATA, "%s: number %zu of %s is not finite", path, i, want.name);
}

static bool is_beside(const Entry *e)
{
    return strncmp(e->name, BESIDE, strlen(BESIDE)) == 0;
}

/* Before there is a model: numbers of a file that claims a giant must not be believed. */
static void check_size(const Safetensors *s, const char *path, const Config *c)
{
    double positions = c->position == POSITION_LEARNED ? (double)c->context * c->width : 0;
    double parameters = config_matrix_parameters(c) + config_fixed_parameters(c) + positions;
    size_t size = 0;

    for (int i = 0; i < s->entries; i++)
        size += is_beside(&s->entry[i]) ? 0 : s->entry[i].bytes / sizeof(real);
    if (parameters > (double)size) /* there are more: tables, gains, biases */
        die(EXIT_DATA, "%s has fewer numbers than its configuration asks for", path);
}

Safetensors *checkpoint_load(const char *path, Model *model, Arena *mem)
{
    Safetensors *s = safetensors_read(path);
    Config c = load_config(s, path);
    int entries = 0;

    check_size(s, path, &c);
    model_init(model, c, mem, 0);
    for (int i = 0; i < s->entries; i++)
        entries += !is_beside(&s->entry[i]);
    if (entries != model->params.count)
        die(EXIT_DATA, "%s has %d tensors, its configuration asks for %d", path, entries,
            model->params.count);
    for (const Param *p = model->params.first; p; p = p->next)
        checkpoint_fill(s, path, checkpoint_entry(p->name, p->tensor, p->tensor->data));
    check_hashes(s, path); /* last, so that what is wrong is said by its name where it has one */
    return s;
}

Text checkpoint_difference(const Config *saved, const Config *other)
{
    Config c[2] = { *saved, *other };
    Fields f[2] = { fields_of(&c[0]), fields_of(&c[1]) };
    Text text = { 0 };

    for (int i = 0; i < 2; i++)
        describe(&f[i], &c[i]);
    if (saved->attention != other->attention)
        text_add(&text, "attn is %s, not %s", saved->attention->name, other->attention->name);
    for (int i = 0; i < NUMBERS && !text.n; i++)
        if (*f[0].number[i].at != *f[1].number[i].at)
            text_add(&text, "%s is %d, not %d", f[0].number[i].key + 6, *f[0].number[i].at,
                     *f[1].number[i].at);
    for (int i = 0; i < CHOICES && !text.n; i++)
        if (*f[0].choice[i].at != *f[1].choice[i].at)
            text_add(&text, "%s is %s, not %s", f[0].choice[i].key + 6,
                     f[0].choice[i].names[*f[0].choice[i].at],
                     f[1].choice[i].names[*f[1].choice[i].at]);
    return text;
}
