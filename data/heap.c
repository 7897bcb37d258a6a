#include "data/heap.h"

#include "ops/base/error.h"

void heap_push(Heap *h, uint64_t number)
{
    size_t i = h->n++;

    if (i == h->room) {
        h->room = 2 * h->room + 64;
        h->at = xrealloc(h->at, h->room * sizeof *h->at);
    }
    for (; i > 0 && h->at[(i - 1) / 2] > number; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = number;
}

uint64_t heap_pop(Heap *h)
{
    const uint64_t top = h->at[0], last = h->at[--h->n];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        child += child + 1 < h->n && h->at[child + 1] < h->at[child];
        if (h->at[child] >= last)
            break;
        h->at[i] = h->at[child];
    }
    h->at[i] = last;
    return top;
}
