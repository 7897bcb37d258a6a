#include "ops/base/arena.h"

#include "ops/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, BLOCK_MIN = 1 << 20, SIZES = 64 };

typedef struct Block {
    struct Block *prev;
    size_t used, size;
    unsigned char *at;
} Block;

typedef struct Given {
    struct Given *next; /* written into the piece itself */
} Given;

struct Arena {
    Block *top;
    size_t total; /* bytes taken from blocks since the reset */
    int sizes;    /* distinct sizes of returned pieces */
    size_t size[SIZES];
    Given *given[SIZES];
};

static Block *block_new(Block *prev, size_t size)
{
    Block *b = xmalloc(sizeof *b);

    *b = (Block){ prev, 0, size, xmalloc_aligned(size) };
    return b;
}

static void blocks_free(Block *b)
{
    while (b) {
        Block *prev = b->prev;

        free(b->at);
        free(b);
        b = prev;
    }
}

Arena *arena_new(void)
{
    Arena *arena = xmalloc(sizeof *arena);

    *arena = (Arena){ .top = block_new(NULL, BLOCK_MIN) };
    return arena;
}

void arena_free(Arena *arena)
{
    blocks_free(arena->top);
    free(arena);
}

static size_t rounded(size_t bytes)
{
    if (bytes > (size_t)-1 / 4)
        die(EXIT_MEMORY, "out of memory (%zu bytes requested)", bytes);
    return bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
}

static int size_index(const Arena *arena, size_t bytes)
{
    int i = 0;

    while (i < arena->sizes && arena->size[i] != bytes)
        i++;
    return i;
}

static void *from_block(Arena *arena, size_t bytes)
{
    Block *b = arena->top;

    if (b->size - b->used < bytes)
        b = arena->top = block_new(b, bytes > b->size ? bytes : b->size);

    void *p = b->at + b->used;
    b->used += bytes;
    arena->total += bytes;
    return p;
}

void *arena_take(Arena *arena, size_t bytes)
{
    bytes = rounded(bytes);
    int i = size_index(arena, bytes);
    void *p = i < arena->sizes ? arena->given[i] : NULL;

    if (p)
        arena->given[i] = arena->given[i]->next;
    else
        p = from_block(arena, bytes);
#ifdef PROOF
    memset(p, 0xff, bytes); /* a read before the first write yields NaN */
#endif
    return p;
}

void *arena_zeros(Arena *arena, size_t bytes)
{
    return memset(arena_take(arena, bytes), 0, bytes);
}

char *arena_string(Arena *arena, const char *s)
{
    return strcpy(arena_take(arena, strlen(s) + 1), s);
}

char *arena_format(Arena *arena, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    size_t n = (size_t)vsnprintf(NULL, 0, fmt, args) + 1;
    char *text = arena_take(arena, n);
    vsnprintf(text, n, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

void arena_give(Arena *arena, void *piece, size_t bytes)
{
    bytes = rounded(bytes);
    int i = size_index(arena, bytes);

    if (i == SIZES)
        return; /* no slot for another size: the piece is free at the reset */
    if (i == arena->sizes) {
        arena->sizes++;
        arena->size[i] = bytes;
        arena->given[i] = NULL;
    }
#ifdef PROOF
    memset(piece, 0xff, bytes); /* as does a read after the last use */
#endif
    Given *g = piece;
    g->next = arena->given[i];
    arena->given[i] = g;
}

void arena_reset(Arena *arena)
{
    if (arena->top->prev) { /* it grew: next time one block holds it all */
        blocks_free(arena->top);
        arena->top = NULL; /* in case there is no memory */
        arena->top = block_new(NULL, arena->total);
    }
    arena->top->used = 0;
    arena->total = 0;
    arena->sizes = 0;
}

size_t arena_held(const Arena *arena)
{
    size_t sum = 0;

    for (const Block *b = arena->top; b; b = b->prev)
        sum += b->size;
    return sum;
}
