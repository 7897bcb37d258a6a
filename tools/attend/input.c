#include "tools/attend/input.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"

#include <limits.h>
#include <string.h>

enum { NAME_SHOWN = 40 };

/* "[2,7,3,5]" */
static Text shape_of(const Entry *e)
{
    Text text = { 0 };

    for (int d = 0; d < e->ndim; d++)
        text_add(&text, "%s%zu", d ? "," : "[", e->dim[d]);
    text_add(&text, e->ndim ? "]" : "[]");
    return text;
}

Text input_wanted(const Input *in, const char *shape)
{
    Text text = { 0 };

    for (const char *c = shape; *c; c++) {
        const size_t size = in->size[(int)*c];

        text_add(&text, "%s", c == shape ? "[" : ",");
        if (size)
            text_add(&text, "%zu", size);
        else
            text_add(&text, *c == 'D' ? "2d" : "%c", *c);
    }
    text_add(&text, "]");
    return text;
}

/* The message names the tensor that determined the required size. */
static noreturn void refuse_shape(const Input *in, const Entry *e, const char *shape)
{
    const Entry *q = in->operand[0], *v = in->operand[2];
    const Entry *said = v && strchr(shape, 'e') ? v : q;

    if (!said)
        die(EXIT_DATA, "%s: %s is %s, but it must be %s", in->path.at, e->name, shape_of(e).at,
            input_wanted(in, shape).at);
    if (strcmp(input_wanted(in, shape).at, shape_of(said).at) == 0)
        die(EXIT_DATA, "%s: %s is %s, but %s is %s: they must be the same", in->path.at, e->name,
            shape_of(e).at, said->name, shape_of(said).at);
    die(EXIT_DATA, "%s: %s is %s, but %s is %s: it must be %s", in->path.at, e->name,
        shape_of(e).at, said->name, shape_of(said).at, input_wanted(in, shape).at);
}

static void check_shape(Input *in, const Entry *e, const char *shape)
{
    bool fits = (size_t)e->ndim == strlen(shape);

    for (int d = 0; fits && d < e->ndim; d++) {
        const size_t size = in->size[(int)shape[d]];

        fits = size == 0 || size == e->dim[d];
    }
    if (!fits)
        refuse_shape(in, e, shape);
    if (e->bytes / dtype_size(e->dtype) > INT_MAX)
        die(EXIT_MEMORY, "%s: %s is %s, but a tensor can have at most %d numbers", in->path.at,
            e->name, shape_of(e).at, INT_MAX);
    for (int d = 0; d < e->ndim; d++)
        in->size[(int)shape[d]] = e->dim[d];
    in->size['D'] = 2 * in->size['d'];
}

/* A tensor of IN, checked for one of two types and its shape, or NULL. */
static const Entry *find(Input *in, const char *name, const Dtype type[2], const char *shape)
{
    const Entry *e = safetensors_find(in->file, name);

    if (e && e->dtype != type[0] && e->dtype != type[1])
        die(EXIT_DATA, "%s: %s is in %s, but it must be in %s or %s", in->path.at, name,
            dtype_name(e->dtype), dtype_name(type[0]), dtype_name(type[1]));
    if (e)
        check_shape(in, e, shape);
    return e;
}

/* --rope rotates pairs of entries of q and k, or of features. */
static void check_pairs(const Input *in, bool rope)
{
    const MixSize size = {
        .attention = in->attention, .D = (int)in->size['d'], .m = (int)in->size['m'], .set = in->set
    };
    const int wide = attention_rotated(&size);

    if (rope && wide % 2 != 0)
        die(EXIT_DATA, "%s: --rope rotates pairs of numbers, but %c is %d: it must be even",
            in->path.at, size.m ? 'm' : 'd', wide);
}

static const Entry *find_operand(Input *in, const Operand *o)
{
    static const Dtype real_type[] = { DTYPE_F32, DTYPE_F64 };
    const Entry *e = find(in, o->name, real_type, o->shape);

    if (!e)
        die(EXIT_DATA, "%s has no tensor %s, which %s needs: %s in F32 or F64", in->path.at,
            o->name, in->attention->name, input_wanted(in, o->shape).at);
    return e;
}

void input_inspect(Input *in, bool rope)
{
    static const Dtype real_type[] = { DTYPE_F32, DTYPE_F64 }, whole[] = { DTYPE_I32, DTYPE_I64 };
    const Operand *o;

    for (int i = 0; (o = attention_operand(in->attention, i)); i++)
        if (attention_needs(in->attention, &in->set, i))
            in->operand[i] = find_operand(in, o);
    in->size['e'] = in->operand[2]->dim[3];
    in->dout = find(in, "dout", real_type, "BNHe");
    in->lengths = find(in, "lengths", whole, "B");
    check_pairs(in, rope);
    if (in->size['c'] && in->size['N'] > in->size['c'])
        die(EXIT_DATA, "%s: there are %zu positions, but %s has operands for %zu at most",
            in->path.at, in->size['N'], in->attention->name, in->size['c']);
}

static bool is_known(const char *name)
{
    const Operand *o;

    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; (o = attention_operand(*a, i)); i++)
            if (strcmp(name, o->name) == 0)
                return true;
    return strcmp(name, "dout") == 0 || strcmp(name, "lengths") == 0;
}

/* Warns of names that are probably misspelt: tensors that no mechanism uses. */
void input_warn_of_others(const Input *in)
{
    const char *first = NULL;
    int others = 0;

    for (int i = 0; i < in->file->entries; i++)
        if (!is_known(in->file->entry[i].name) && others++ == 0)
            first = in->file->entry[i].name;
    if (others == 1)
        warn("%s: ignoring the tensor %s, which no attention uses", in->path.at,
             text_cut(first, NAME_SHOWN).at);
    else if (others > 1)
        warn("%s: ignoring the tensors %s and %d more, which no attention uses", in->path.at,
             text_cut(first, NAME_SHOWN).at, others - 1);
}

static double numbers_of(const Entry *e)
{
    return e ? (double)(e->bytes / dtype_size(e->dtype)) : 0;
}

/* Fails early, since overcommitted memory would only fail in the middle. */
void input_check_memory(const Input *in, bool with_matrix)
{
    const double BNH = (double)in->size['B'] * (double)in->size['N'] * (double)in->size['H'];
    double sum = 0, file = 0, here = machine_memory();

    for (int i = 0; i < in->file->entries; i++)
        file += (double)in->file->entry[i].bytes;
    for (int i = 0; i < OPERANDS_MAX; i++)
        sum += (in->dout ? 2 : 1) * numbers_of(in->operand[i]);
    sum += (in->dout ? 3 : 1) * numbers_of(in->operand[2]);
    if (with_matrix)
        sum += BNH * (double)in->size['N'];
    if (file + sum * sizeof(real) > here)
        die(EXIT_MEMORY, "%s: this would take %s, but the machine has %s: %s", in->path.at,
            text_memory(file + sum * sizeof(real)).at, text_memory(here).at,
            with_matrix ? "leave out --matrix, or use fewer sequences" : "use fewer sequences");
}
