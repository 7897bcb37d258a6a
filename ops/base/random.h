/*
 * Random numbers without a state: a draw depends on the seed, on what it is
 * for, and on its index, never on what was drawn before or by which thread.
 * So batch 1,000 can be made without the 999 before it, a dropout mask need not
 * be stored for the backward, and a resumed run meets the same numbers.
 */
#ifndef OPS_BASE_RANDOM_H
#define OPS_BASE_RANDOM_H

#include <stdint.h>

typedef struct {
    uint64_t key;
} Random;

/* What a sequence of draws is for. A checkpoint outlives a build: never renumber. */
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
};

/* The sequence of that seed and purpose; `of` parts it further (a layer, a step). */
Random random_stream(uint64_t seed, int purpose, uint64_t of);

/* Stafford's thirteenth mixer of 64 bits. */
static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Here, so that a loop over i can be vector code. */
static inline uint64_t random_bits(Random r, uint64_t i)
{
    return random_mix(r.key + (i + 1) * 0x9e3779b97f4a7c15);
}

double random_uniform(Random r, uint64_t i);             /* in [0, 1) */
double random_normal(Random r, uint64_t i);              /* mean 0, variance 1 */
uint64_t random_below(Random r, uint64_t i, uint64_t n); /* 0 .. n-1, n >= 1 */

#endif
