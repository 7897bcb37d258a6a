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

bool has_flag(const Config *c, const char *name)
{
    return attention_takes(c->attention, name) && setting(&c->set, name);
}

int own_heads(const Config *c, const MixSize *s, char of)
{
    if (of != 'v' && has_flag(c, "share-keys"))
        return 1;
    return (of == 'k' || of == 'v') && c->kv_heads ? c->kv_heads : s->H;
}

int own_columns(const Config *c, const MixSize *s, char of)
{
    return own_heads(c, s, of) * (of == 'v' ? s->E : s->D);
}
