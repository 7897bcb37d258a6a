#include "ops/params.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

void params_init(Params *params, Arena *mem, uint64_t seed)
{
    *params = (Params){ .mem = mem, .seed = seed };
    params->end = &params->first;
}

static Param *add(Params *params, const char *name, int ndim, const int *dim)
{
    Param *p = arena_zeros(params->mem, sizeof *p);

    p->name = arena_string(params->mem, name);
    p->tensor = tensor_new(params->mem, ndim, dim);
    *params->end = p;
    params->end = &p->next;
    params->count++;
    return p;
}

static Param *add_trained(Params *params, const char *name, int ndim, const int *dim)
{
    Param *p = add(params, name, ndim, dim);

    p->tensor->grad = arena_take(params->mem, p->tensor->n * sizeof(real));
    p->decay = ndim >= 2;
    return p;
}

/* The stream of the newest parameter. */
static Random random_of(const Params *params)
{
    return random_stream(params->seed, RANDOM_WEIGHTS, (uint64_t)params->count);
}

static Param *add_normal(Params *params, const char *name, double std, int ndim, const int *dim)
{
    Param *p = add_trained(params, name, ndim, dim);
    const Random r = random_of(params);

    for (size_t i = 0; !params->undrawn && i < p->tensor->n; i++)
        p->tensor->data[i] = R(std * random_normal(r, i));
    return p;
}

Tensor *params_normal(Params *params, const char *name, double std, int ndim, const int *dim)
{
    Param *p = add_normal(params, name, std, ndim, dim);

    p->matrix = ndim >= 2;
    return p->tensor;
}

Tensor *params_table(Params *params, const char *name, double std, int rows, int width)
{
    return add_normal(params, name, std, SHAPE(rows, width))->tensor;
}

Tensor *params_constant(Params *params, const char *name, double value, int n)
{
    Param *p = add_trained(params, name, 1, &n);

    for (int i = 0; i < n; i++)
        p->tensor->data[i] = R(value);
    return p->tensor;
}

Tensor *params_drawn(Params *params, const char *name, Random *random, int ndim, const int *dim)
{
    Param *p = add_trained(params, name, ndim, dim);

    p->matrix = ndim > 2;
    *random = random_of(params);
    return p->tensor;
}

Tensor *params_fixed(Params *params, const char *name, Random *random, int ndim, const int *dim)
{
    Param *p = add(params, name, ndim, dim);

    p->fixed = true;
    *random = random_of(params);
    return p->tensor;
}

/* blocks.0 matches blocks.0.attn.wq. */
static bool matches(const char *pattern, const char *name)
{
    char part[256];

    for (const char *end = name; end; end = strchr(end + 1, '.')) {
        snprintf(part, sizeof part, "%.*s", (int)(end - name), name);
        if (end > name && fnmatch(pattern, part, 0) == 0)
            return true;
    }
    return fnmatch(pattern, name, 0) == 0;
}

int params_freeze(Params *params, const char *pattern)
{
    int n = 0;

    for (Param *p = params->first; p; p = p->next)
        if (matches(pattern, p->name))
            p->fixed = true, n++;
    return n;
}

static const Bf16Pair *pairs_of(const Tensor *t, Arena *mem)
{
    const int rows = tensor_rows(t), cols = tensor_cols(t);
    const size_t pairs = (size_t)(cols + 1) / 2;
    Bf16Pair *to = arena_take(mem, (size_t)rows * pairs * sizeof *to);

    for (int i = 0; i < rows; i++)
        bf16_row((real *)(to + (size_t)i * pairs), t->data + (size_t)i * (size_t)cols, cols);
    return to;
}

void params_narrow(Params *params, Precision precision)
{
    params->precision = precision;
    for (Param *p = params->first; p; p = p->next)
        if (p->tensor->ndim == 2)
            p->tensor->pairs = pairs_of(p->tensor, params->mem);
}

size_t params_count(const Params *params)
{
    size_t n = 0;

    for (const Param *p = params->first; p; p = p->next)
        n += p->fixed ? 0 : p->tensor->n;
    return n;
}

void params_zero_grad(Params *params)
{
    for (Param *p = params->first; p; p = p->next)
        p->tensor->has_grad = false;
}
