/*
 * An arena: memory that is allocated piece by piece and freed all at once.
 * There are two: the run's (parameters, optimiser) and the step's (activations
 * and their gradients).
 *
 *     block:  [ piece | piece | piece | .... free .... ]      -> older block
 *     given:  size -> piece, piece      pieces returned before the reset
 *
 * The backward pass returns an activation after its last use, and the next gradient of that size
 * takes its place: so returned pieces are kept by size and used first. A step allocates the same
 * few sizes repeatedly.
 */
#ifndef OPS_BASE_ARENA_H
#define OPS_BASE_ARENA_H

#include <stddef.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena);

/* Uninitialised memory (NaN in the proof build), aligned for any vector unit. */
void *arena_take(Arena *arena, size_t bytes);
/* The same, all zeros. */
void *arena_zeros(Arena *arena, size_t bytes);
/* A copy of a string; and one that is printed. */
char *arena_string(Arena *arena, const char *s);
char *arena_format(Arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns a piece before the reset; `bytes` is the size it was taken with. */
void arena_give(Arena *arena, void *piece, size_t bytes);

/*
 * Frees all pieces. The arena keeps its memory, in one block as large as the most
 * it ever held, so a training step after the first never calls malloc.
 */
void arena_reset(Arena *arena);

/* The size of its memory in bytes. */
size_t arena_held(const Arena *arena);

#endif
