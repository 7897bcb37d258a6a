#include "training/transfer.h"

#include "model/layer.h"
#include "ops/base/error.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 6 }; /* named in a list */

static const Param *find(const Params *in, const char *name)
{
    for (const Param *p = in->first; p; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* The head of the other model: a tied one is its embedding. */
static const Param *find_source(const Model *to, const Model *from, const char *name)
{
    const bool tokens = to->config.task != TASK_CLASSIFY && from->config.task != TASK_CLASSIFY;
    const bool head = strcmp(name, "head") == 0;

    if (head && !tokens && config_outputs(&to->config) != config_outputs(&from->config))
        return NULL;
    if (head && tokens && from->config.tied)
        name = "embed";
    return find(&from->params, name);
}

static bool has_rows_of_tokens(const Model *of, const char *name)
{
    return strcmp(name, "embed") == 0 || strstr(name, "value_embed") ||
           (strcmp(name, "head") == 0 && of->config.task != TASK_CLASSIFY);
}

static bool same_shape(const Tensor *a, const Tensor *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

/* The rows to copy, or -1 if the tensors do not fit. */
static int common_rows(const Model *to, const Param *p, const Tensor *from)
{
    const Tensor *t = p->tensor;
    const bool table = strcmp(p->name, "position") == 0 || has_rows_of_tokens(to, p->name);

    if (same_shape(t, from))
        return t->dim[0];
    if (!table || t->dim[1] != from->dim[1])
        return -1;
    return t->dim[0] < from->dim[0] ? t->dim[0] : from->dim[0];
}

static noreturn void die_misfit(const Param *p, const Tensor *from)
{
    Text shape[2] = { { 0 }, { 0 } };
    const Tensor *const of[2] = { p->tensor, from };

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < of[k]->ndim; i++)
            text_add(&shape[k], "%s%d", i ? " x " : "", of[k]->dim[i]);
    die(EXIT_USAGE,
        "--init: %.80s is %s in this model and %s in the run; the options that set its "
        "shape must be those of the run",
        p->name, shape[0].at, shape[1].at);
}

typedef struct {
    int n;
    Text at;
} Names;

static void name_once(Names *names, const char *name)
{
    char before[128], inside[128];

    snprintf(before, sizeof before, "%s,", name);
    snprintf(inside, sizeof inside, " %s,", name);
    const bool first = strncmp(names->at.at, before, strlen(before)) == 0;
    if (first || strstr(names->at.at, inside))
        return;
    if (names->n++ < NAMES)
        text_add(&names->at, "%s%s,", names->n > 1 ? " " : "", name);
}

/*
 * A tensor that `other` does not have: one name for those of a block that it does not have either,
 * "blocks.4", and one for the same tensor of other blocks, "blocks.*.attn.wq".
 */
static void name_missing(Names *names, const char *name, const Params *other)
{
    int block, end = 0;
    char part[96];

    if (sscanf(name, "blocks.%d.%n", &block, &end) != 1 || end == 0) {
        name_once(names, name);
        return;
    }
    for (const Param *p = other->first; p; p = p->next)
        if (strncmp(p->name, name, (size_t)end) == 0) {
            snprintf(part, sizeof part, "blocks.*.%s", name + end);
            name_once(names, part);
            return;
        }
    snprintf(part, sizeof part, "blocks.%d", block);
    name_once(names, part);
}

static Text named(Names *names)
{
    if (names->n > 0)
        names->at.at[--names->at.n] = 0; /* the last comma */
    if (names->n > NAMES)
        text_add(&names->at, " and more");
    return names->at;
}

static void copy_rows(const Param *p, const Tensor *from, int rows, Names *initialised)
{
    const Tensor *t = p->tensor;

    memcpy(t->data, from->data, t->n / (size_t)t->dim[0] * (size_t)rows * sizeof(real));
    if (rows < t->dim[0])
        name_once(initialised, text_format("%s from row %d on", p->name, rows).at);
}

/* What the other model has and this one does not use. */
static Text unused(const Model *to, const Model *from, bool same_tokens)
{
    Names left = { 0 };

    for (const Param *p = from->params.first; p; p = p->next) {
        const Param *mine = find(&to->params, p->name);
        const bool copied = mine && find_source(to, from, p->name) == p &&
                            (same_tokens || !has_rows_of_tokens(to, p->name));

        if (!copied)
            name_missing(&left, p->name, &to->params);
    }
    return named(&left);
}

Transfer transfer_weights(Model *to, const Model *from, bool same_tokens)
{
    Transfer result = { 0 };
    Names initialised = { 0 };

    const bool same_layer = layer_of(to->config.attention) == layer_of(from->config.attention);

    if (to->config.width != from->config.width ||
        (same_layer && to->config.heads != from->config.heads))
        die(EXIT_USAGE, "--init: the run has --n-embd %d and --n-head %d, not %d and %d",
            from->config.width, from->config.heads, to->config.width, to->config.heads);
    for (const Param *p = to->params.first; p; p = p->next) {
        const Param *source = find_source(to, from, p->name);

        if (!source || (!same_tokens && has_rows_of_tokens(to, p->name))) {
            name_missing(&initialised, p->name, &from->params);
            continue;
        }
        const int rows = common_rows(to, p, source->tensor);
        if (rows < 0)
            die_misfit(p, source->tensor);
        copy_rows(p, source->tensor, rows, &initialised);
        result.copied++;
    }
    result.initialised = named(&initialised);
    result.left = unused(to, from, same_tokens);
    return result;
}
