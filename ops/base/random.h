/*
 * Random numbers without state: a draw depends only on the seed, its purpose and its
 * index, not on earlier draws or on the thread. So batch 1,000 needs none of those
 * before it, a dropout mask need not be stored for the backward pass, and a resumed
 * run draws the same numbers.
 */
#ifndef OPS_BASE_RANDOM_H
#define OPS_BASE_RANDOM_H

#include <stdint.h>

typedef struct {
    uint64_t key;
} Random;

/* The purpose of a stream. Checkpoints outlive builds: never renumber. */
enum {
    RANDOM_WEIGHTS = 1,
    RANDOM_BATCH = 2,
    RANDOM_DROPOUT = 3,
    RANDOM_SAMPLE = 4,
    RANDOM_STORY = 5,
    RANDOM_TEST = 6,
    RANDOM_MASK = 7,
    RANDOM_LENGTH = 8,
    RANDOM_HELD_BACK = 9,
    RANDOM_REDRAW = 10,
    RANDOM_PATTERN = 11,
    RANDOM_EPOCH = 12,
};

/* The stream of a seed and purpose; `of` divides it further (a layer, a step). */
Random random_stream(uint64_t seed, int purpose, uint64_t of);

/* Stafford's thirteenth mixer of 64 bits. */
static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Inline, so that a loop over i can be vectorised. */
static inline uint64_t random_bits(Random r, uint64_t i)
{
    return random_mix(r.key + (i + 1) * 0x9e3779b97f4a7c15);
}

double random_uniform(Random r, uint64_t i);             /* in [0, 1) */
double random_normal(Random r, uint64_t i);              /* mean 0, variance 1 */
uint64_t random_below(Random r, uint64_t i, uint64_t n); /* 0 .. n-1, n >= 1 */

#endif
