#include "model/layer.h"

#include "ops/base/error.h"

#include <string.h>

static const Layer *const layers[] = { &layer_heads, &layer_pooled, &layer_gated, NULL };

const Layer *layer_of(const Attention *a)
{
    const Layer *const *l = layers;

    while (*l && a->layer && strcmp((*l)->name, a->layer) != 0)
        l++;
    if (!*l)
        BUG("%s: no layer is called %s", a->name, a->layer);
    return *l;
}
