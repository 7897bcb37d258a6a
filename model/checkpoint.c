#include "model/checkpoint.h"

#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/hash.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"

#include <stdio.h>
#include <string.h>

enum { HASH_DIGITS = 16 };

#define HASH "attnc.hash"
#define PATH "%.200s"

/*
 * Since version 4 the configuration's keys are CONFIG.<name>, and settings at their defaults are
 * left out: so a file does not mention settings that its mechanism does not have, and stays valid
 * when settings are added. Where a formula has changed, a setting names both forms, and a file
 * without the key means the old one (Setting.was). Version 3 had "attnc.<name>" for all of them.
 */
#define CONFIG "attnc.config."
static const char VERSION[] = "4", OLDEST[] = "3";
static const Dtype real_dtype = sizeof(real) == sizeof(float) ? DTYPE_F32 : DTYPE_F64;

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

/* The hash of name, type, shape and numbers. */
static uint64_t entry_hash(const Entry *e)
{
    uint64_t h = hash_string(hash_string(0, e->name), dtype_name(e->dtype)), dim[ENTRY_RANK_MAX];

    for (int i = 0; i < e->ndim; i++)
        dim[i] = e->dim[i];
    h = hash_numbers(h, dim, (size_t)e->ndim * sizeof *dim, sizeof *dim);
    return hash_numbers(h, e->data, e->bytes, dtype_size(e->dtype));
}

/* The hash of all "attnc." metadata except itself. */
static uint64_t meta_hash(const Meta *meta, int n)
{
    uint64_t sum = 0; /* independent of their order */

    for (int i = 0; i < n; i++)
        if (strncmp(meta[i].key, "attnc.", 6) == 0 && strcmp(meta[i].key, HASH) != 0)
            sum += hash_string(hash_string(0, meta[i].key), meta[i].value);
    return sum;
}

/* The contents of a file to write; strings are copied. */
typedef struct {
    Arena *mem;
    Meta *meta;
    Entry *entry;
    int metas, entries;
} File;

/* As it is read back, which is what is hashed: in JSON a byte that is not UTF-8 becomes U+FFFD. */
static const char *as_utf8(Arena *mem, const char *s)
{
    const unsigned char *from = (const unsigned char *)s;
    uint32_t code;
    int n;

    while (*from && (n = utf8_decode(from, UTF8_MOST, &code)))
        from += n;
    if (!*from)
        return s;
    unsigned char *clean = arena_take(mem, 3 * strlen(s) + 1), *to = clean;
    for (from = (const unsigned char *)s; *from; from += n ? n : 1) {
        n = utf8_decode(from, UTF8_MOST, &code);
        to += utf8_encode(to, n ? code : 0xFFFD);
    }
    *to = 0;
    return (const char *)clean;
}

static void put_meta(File *f, const char *key, const char *value)
{
    f->meta[f->metas++] = (Meta){ key, as_utf8(f->mem, value) };
}

static void put_config(File *file, const Config *of)
{
    const Values values = settings_unsaved(of->attention);
    Config c = *of, plain = { .set = values };
    const Setting *key;

    put_meta(file, "attnc.version", VERSION);
    put_meta(file, "attnc.attn", arena_string(file->mem, config_mechanisms(&c).at));
    for (int i = 0; (key = config_key(i)); i++) {
        const int value = *config_value(&c, i);

        if (value != *config_value(&plain, i) && (!c.listed || config_has(&c, i)))
            put_meta(file, arena_format(file->mem, CONFIG "%s", setting_key(key).at),
                     arena_string(file->mem, setting_print(key, value).at));
    }
}

static void put_entry(File *file, Entry e)
{
    file->entry[file->entries++] = e;
    put_meta(file, arena_format(file->mem, HASH ".%s", e.name),
             arena_format(file->mem, "%016llx", (unsigned long long)entry_hash(&e)));
}

void checkpoint_save(const char *path, const Model *model, Contents beside)
{
    Arena *mem = arena_new();
    int keys = 0;

    while (config_key(keys))
        keys++;
    size_t entries = (size_t)(model->params.count + beside.entries);
    size_t metas = entries + (size_t)(keys + 3 + beside.metas);
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
             arena_format(mem, "%016llx", (unsigned long long)meta_hash(file.meta, file.metas)));
    safetensors_write(path,
                      (Contents){ file.entry, file.entries, file.meta, file.metas, beside.as });
    arena_free(mem);
}

static const char *meta_of(const Safetensors *s, const char *path, const char *key)
{
    const char *value = safetensors_meta(s, key);

    if (!value)
        die(EXIT_DATA, PATH " has no %s: it is not a checkpoint of attn.c", path, key);
    return value;
}

static bool is_version(const Safetensors *s, const char *version)
{
    return strcmp(safetensors_meta(s, "attnc.version"), version) == 0;
}

/* A missing key that is not required means the default. */
static void load_value(const Safetensors *s, const char *path, int i, Config *c)
{
    const Setting *key = config_key(i);
    char name[NAME_MAX_BYTES + 32];

    snprintf(name, sizeof name, "%s%s", is_version(s, OLDEST) ? "attnc." : CONFIG,
             setting_key(key).at);
    if (c->listed && !config_has(c, i) && safetensors_meta(s, name))
        die(EXIT_DATA, PATH ": %s is for a single mechanism, not for a list", path, name);
    const char *words = config_needs(i) ? meta_of(s, path, name) : safetensors_meta(s, name);
    if (words && !setting_parse(key, words, config_value(c, i)))
        die(EXIT_DATA, PATH ": %s is '%.40s', which this version does not know", path, name, words);
}

/* An unknown setting with a value other than "0" changes the model: refuses it. */
static void refuse_unknown(const Safetensors *s, const char *path)
{
    const size_t n = strlen(CONFIG);

    for (int m = 0; m < s->metas; m++) {
        const Setting *key = NULL;

        if (strncmp(s->meta[m].key, CONFIG, n) != 0 || strcmp(s->meta[m].value, "0") == 0)
            continue;
        for (int i = 0; (key = config_key(i)); i++)
            if (strcmp(setting_key(key).at, s->meta[m].key + n) == 0)
                break;
        if (!key)
            die(EXIT_DATA, PATH ": %.60s is '%.40s', a setting that this version does not know",
                path, s->meta[m].key, s->meta[m].value);
    }
}

static Config load_config(const Safetensors *s, const char *path)
{
    Config c = { .vocab = 0 };

    if (strcmp(meta_of(s, path, "attnc.version"), VERSION) != 0 && !is_version(s, OLDEST))
        die(EXIT_DATA, PATH " has format %.40s, but this program reads %s to %s", path,
            safetensors_meta(s, "attnc.version"), OLDEST, VERSION);
    Text why = config_read_mechanisms(&c, meta_of(s, path, "attnc.attn"));
    if (why.n)
        die(EXIT_DATA, PATH ": %s", path, why.at);
    for (int i = 0; config_key(i); i++)
        load_value(s, path, i, &c);
    refuse_unknown(s, path);
    why = config_misfit(&c);
    if (c.task == TASK_CLASSIFY && c.classes < 1)
        die(EXIT_DATA, PATH " is a classifier without classes", path);
    if (why.n)
        die(EXIT_DATA, PATH ": its configuration does not fit together: %s", path, why.at);
    return c;
}

static void check_hash(const Safetensors *s, const char *path, const char *key, uint64_t is)
{
    char want[HASH_DIGITS + 1];

    snprintf(want, sizeof want, "%016llx", (unsigned long long)is);
    if (strcmp(meta_of(s, path, key), want) != 0)
        die(EXIT_DATA, PATH " is damaged: %s is %.40s, but the contents give %s", path, key,
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
        die(EXIT_DATA, PATH " has no tensor %s", path, want.name);
    if (!fits)
        die(EXIT_DATA,
            PATH ": %s is %s with %d dimensions from %zu, but the model needs %s with %d from %zu",
            path, want.name, dtype_name(e->dtype), e->ndim, e->ndim ? e->dim[0] : 1,
            dtype_name(want.dtype), want.ndim, want.dim[0]);
    memcpy(to, e->data, want.bytes);
    for (size_t i = 0; i < want.bytes / sizeof(real); i++)
        if (!isfinite(to[i]))
            die(EXIT_DATA, PATH ": number %zu of %s is not finite", path, i, want.name);
}

static bool is_beside(const Entry *e)
{
    return strncmp(e->name, BESIDE, strlen(BESIDE)) == 0;
}

/* Checked before the model is allocated: an invalid file may claim a huge one. */
static void check_size(const Safetensors *s, const char *path, const Config *c)
{
    double positions = c->position == POSITION_LEARNED ? (double)c->context * c->width : 0;
    double parameters = config_matrix_parameters(c) + config_fixed_parameters(c) + positions;
    size_t size = 0;

    if (c->position == POSITION_SINUSOIDAL && /* a table that is not in the file */
        (double)c->context * c->width * sizeof(real) > machine_memory())
        die(EXIT_MEMORY, PATH ": its table of %d positions does not fit into memory", path,
            c->context);
    for (int i = 0; i < s->entries; i++)
        size += is_beside(&s->entry[i]) ? 0 : s->entry[i].bytes / sizeof(real);
    if (parameters > (double)size) /* a lower bound: tables, gains and biases are not counted */
        die(EXIT_DATA, PATH " has fewer numbers than its configuration needs", path);
}

void checkpoint_model(const Safetensors *s, const char *path, Model *model, Arena *mem)
{
    Config c = load_config(s, path);
    int entries = 0;

    check_size(s, path, &c);
    model_init_undrawn(model, c, mem);
    for (int i = 0; i < s->entries; i++)
        entries += !is_beside(&s->entry[i]);
    if (entries != model->params.count)
        die(EXIT_DATA, PATH " has %d tensors, but its configuration needs %d", path, entries,
            model->params.count);
    for (const Param *p = model->params.first; p; p = p->next)
        checkpoint_fill(s, path, checkpoint_entry(p->name, p->tensor, p->tensor->data));
    check_hashes(s, path); /* last, since the errors above are more specific */
}
