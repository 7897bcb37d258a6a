/*
 * An arena: memory that is handed out piece by piece and taken back all at
 * once. There are two: the run's (parameters, optimiser) and the step's
 * (activations and their gradients).
 *
 *     block:  [ piece | piece | piece | .... free .... ]      -> older block
 *     given:  size -> piece, piece      pieces handed back before the reset
 *
 * Backward frees an activation when it has been used for the last time, and
 * the next gradient of that size moves in: so the pieces that come back are
 * kept by size and looked at first. A step asks for a handful of sizes, again
 * and again.
 */
#ifndef OPS_BASE_ARENA_H
#define OPS_BASE_ARENA_H

#include <stddef.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena);

/* `bytes` that hold anything (NaN in the proof build), aligned for any vector unit. */
void *arena_take(Arena *arena, size_t bytes);
/* The same, all zeros. */
void *arena_zeros(Arena *arena, size_t bytes);
/* A copy of a string. */
char *arena_string(Arena *arena, const char *s);
/* Hands a piece back before the reset. `bytes` is what it was asked for with. */
void arena_give(Arena *arena, void *piece, size_t bytes);

/*
 * Takes everything back. The arena keeps its memory, in one block as large as
 * the most it ever held, so a training step after the first calls malloc for
 * nothing.
 */
void arena_reset(Arena *arena);

/* The bytes of memory that it holds. */
size_t arena_held(const Arena *arena);

#endif
