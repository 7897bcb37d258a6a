/* The tensors of a folder, in one file or several, and how they become parameters. */
#include "ops/base/error.h"
#include "tools/import/import.h"

#include <string.h>

#define INDEX "model.safetensors.index.json"

static Safetensors *add_file(Weights *w, const char *path, Arena *mem)
{
    Safetensors *s = safetensors_read(path);

    w->used[w->files] = arena_zeros(mem, (size_t)s->entries * sizeof(bool));
    return w->file[w->files++] = s;
}

/* The first file, in order, that has the tensor; sets `entry`. */
static int find(const Weights *w, const char *name, const Entry **entry)
{
    for (int f = 0; f < w->files; f++)
        if ((*entry = safetensors_find(w->file[f], name)))
            return f;
    return -1;
}

bool import_has_tensor(const Weights *w, const char *name)
{
    const Entry *e;

    return find(w, name, &e) >= 0;
}

/* A file of the index: a name in the folder, and nothing that leads out of it. */
static void check_name(const char *path, const Json *file)
{
    if (file->kind != JSON_STRING || strchr(file->string, '/') || *file->string == '.')
        die(EXIT_DATA, "%.180s: the file of %.60s is %.60s, which is not the name of a file", path,
            file->name, json_text(file).at);
}

/* Each tensor is in the file that the index names, and in no other. */
static void check_index(const Weights *w, const char *path, const char *const *name,
                        const Json *map)
{
    int tensors = 0;

    for (const Json *j = map->first; j; j = j->next)
        for (int f = 0; f < w->files; f++)
            if ((safetensors_find(w->file[f], j->name) != NULL) != !strcmp(name[f], j->string))
                die(EXIT_DATA, "%.180s: %.60s should be in %.60s%s", path, j->name, j->string,
                    strcmp(name[f], j->string) ? " alone" : "");
    for (int f = 0; f < w->files; f++)
        tensors += w->file[f]->entries;
    if (tensors != map->count)
        die(EXIT_DATA, "%.180s names %d tensors, but the files have %d", path, map->count, tensors);
}

static void read_index(Weights *w, const char *dir, const char *path, Arena *mem)
{
    const Json *map = json_find(foreign_json(mem, path), "weight_map");
    const char *name[FILES_MOST];
    char file[PATH_BYTES];

    if (!map || map->kind != JSON_OBJECT)
        die(EXIT_DATA, "%.180s has no weight_map", path);
    for (const Json *j = map->first; j; j = j->next) {
        int f = 0;

        check_name(path, j);
        while (f < w->files && strcmp(name[f], j->string) != 0)
            f++;
        if (f < w->files)
            continue;
        if (f == FILES_MOST)
            die(EXIT_DATA, "%.180s names more than %d files", path, FILES_MOST);
        name[f] = j->string;
        add_file(w, file_join(file, dir, j->string), mem);
    }
    check_index(w, path, name, map);
}

void import_read_weights(Weights *w, const char *dir, Arena *mem)
{
    char path[PATH_BYTES];

    if (foreign_has(dir, "model.safetensors"))
        add_file(w, file_join(path, dir, "model.safetensors"), mem);
    else if (foreign_has(dir, INDEX))
        read_index(w, dir, file_join(path, dir, INDEX), mem);
    else
        die(EXIT_IO, "%.180s has no model.safetensors%s", dir,
            foreign_has(dir, "pytorch_model.bin")
                ? ", but a pytorch_model.bin: load it with transformers, and save_pretrained()"
                : "");
}

void import_free_weights(Weights *w)
{
    for (int f = 0; f < w->files; f++)
        safetensors_free(w->file[f]);
}

/* IEEE 754's binary16: 1 bit of sign, 5 of exponent, 10 of fraction. */
static double from_half(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double size = exponent == 31  ? fraction ? (double)NAN : HUGE_VAL
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);

    return h >> 15 ? -size : size;
}

/* Number i of a tensor of floating point numbers. */
static double number_at(const Entry *e, size_t i)
{
    const char *at = (const char *)e->data + i * dtype_size(e->dtype);
    uint16_t half;
    uint32_t bits;
    float f;
    double d;

    switch (e->dtype) {
    case DTYPE_F64:
        memcpy(&d, at, sizeof d);
        return d;
    case DTYPE_F32:
        memcpy(&f, at, sizeof f);
        return (double)f;
    case DTYPE_F16:
        memcpy(&half, at, sizeof half);
        return from_half(half);
    default: /* bfloat16 is the first half of a float */
        memcpy(&half, at, sizeof half);
        bits = (uint32_t)half << 16;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    }
}

static Text shape_text(int ndim, const size_t *dim)
{
    Text text = { 0 };

    for (int d = 0; d < ndim; d++)
        text_add(&text, "%s%zu", d ? "," : "[", dim[d]);
    text_add(&text, ndim ? "]" : "[]");
    return text;
}

static void check_shape(const Import *in, const Taken *t, const Entry *e)
{
    const size_t rows = (size_t)t->out;
    const size_t want[2][2] = { { rows, (size_t)t->in }, { (size_t)t->in, (size_t)t->all } };
    const bool conv = t->all && t->in;
    const size_t alone = t->all ? (size_t)t->all : rows, *dim = t->in ? want[conv] : &alone;
    const int ndim = t->in ? 2 : 1;

    if (e->ndim != ndim || memcmp(e->dim, dim, (size_t)ndim * sizeof *dim) != 0)
        die(EXIT_DATA, "%.180s: %.100s is %s, but by config.json it must be %s", in->dir, e->name,
            shape_text(e->ndim, e->dim).at, shape_text(ndim, dim).at);
    if (e->dtype != DTYPE_F32 && e->dtype != DTYPE_F16 && e->dtype != DTYPE_BF16 &&
        e->dtype != DTYPE_F64)
        die(EXIT_DATA, "%.180s: %.100s is in %s; it must be F32, F16, BF16 or F64", in->dir,
            e->name, dtype_name(e->dtype));
}

static Tensor *parameter(Import *in, const char *name)
{
    for (const Param *p = in->model->params.first; p; p = p->next)
        if (strcmp(p->name, name) == 0) {
            in->filled++;
            return p->tensor;
        }
    BUG("there is no parameter %s", name);
}

/* Their row of our row. */
static int row_of(const Taken *t, int row)
{
    if (!t->D)
        return row;
    const int d = row % t->D;

    return row - d + d / 2 + d % 2 * (t->D / 2);
}

static void fill(const Import *in, Tensor *to, const Taken *t, const Entry *e)
{
    const int cols = t->in ? t->in : 1;
    const double times = t->times > 0 ? t->times : 1;

    for (int o = 0; o < t->out; o++)
        for (int i = 0; i < cols; i++) {
            const size_t row = (size_t)(t->from + row_of(t, o));
            const size_t at =
                t->all ? (size_t)i * (size_t)t->all + row : row * (size_t)cols + (size_t)i;
            const real x = R(number_at(e, at) * times);

            if (!isfinite(x))
                die(EXIT_DATA, "%.180s: number %zu of %.100s is not finite", in->dir, at, e->name);
            to->data[(size_t)o * (size_t)cols + (size_t)i] = x;
        }
}

void import_take(Import *in, const Taken *t)
{
    const Entry *e;
    const int f = find(&in->weights, t->theirs, &e);

    if (f < 0)
        die(EXIT_DATA, "%.180s has no tensor %s", in->dir, t->theirs);
    in->weights.used[f][e - in->weights.file[f]->entry] = true;
    check_shape(in, t, e);
    if (in->model)
        fill(in, parameter(in, t->ours), t, e);
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Tensors of old files that hold no parameters: masks, and the angles of RoPE. */
static bool is_buffer(const char *name)
{
    static const char *const ends[] = { ".attn.bias", ".attn.masked_bias", ".attention.bias",
                                        ".attention.masked_bias", "rotary_emb.inv_freq" };

    for (int i = 0; i < (int)(sizeof ends / sizeof *ends); i++)
        if (ends_in(name, ends[i]))
            return true;
    return false;
}

/* A tied head that was saved all the same. */
static bool is_copy(const Import *in, const Entry *e)
{
    const Entry *table = NULL;

    if (!in->config.tied || strcmp(e->name, "lm_head.weight") != 0)
        return false;
    for (int i = 0; !table && i < 3; i++)
        find(&in->weights,
             (const char *[]){ "model.embed_tokens.weight", "transformer.wte.weight",
                               "wte.weight" }[i],
             &table);
    if (table->dtype != e->dtype || table->bytes != e->bytes ||
        memcmp(table->data, e->data, e->bytes) != 0)
        die(EXIT_DATA,
            "%.180s: lm_head.weight is not the embedding, but config.json ties them "
            "(tie_word_embeddings)",
            in->dir);
    return true;
}

void import_check_rest(const Import *in)
{
    const Weights *w = &in->weights;

    for (int f = 0; f < w->files; f++)
        for (int i = 0; i < w->file[f]->entries; i++) {
            const Entry *e = &w->file[f]->entry[i];

            if (!w->used[f][i] && !is_buffer(e->name) && !is_copy(in, e))
                die(EXIT_DATA, "%.180s has a tensor %.100s, which such a model does not have",
                    in->dir, e->name);
        }
}
