/* A binary heap with the smallest number on top: heap[i] <= heap[2i + 1], heap[2i + 2].
 */
#ifndef DATA_HEAP_H
#define DATA_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Starts as { 0 }; at[0] is the smallest of n; free(at). */
typedef struct {
    uint64_t *at;
    size_t n, room;
} Heap;

void heap_push(Heap *h, uint64_t number);
uint64_t heap_pop(Heap *h); /* of n >= 1 */

#endif
