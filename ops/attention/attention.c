#include "ops/attention/attention.h"

#include <string.h>

const Attention *const attentions[] = {
    &attention_softmax,
    NULL,
};

const Attention *attention_find(const char *name)
{
    for (const Attention *const *a = attentions; *a; a++)
        if (strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}
