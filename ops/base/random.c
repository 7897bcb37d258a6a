/*
 * The i-th number of a stream is a hash of key + i * phi, as in splitmix64
 * (Steele, Lea and Flood, 2014) with Stafford's thirteenth mixing constants;
 * the key is a hash of seed, purpose and part.
 */
#include "ops/base/random.h"

#include <math.h>

static const uint64_t PHI = 0x9e3779b97f4a7c15;

Random random_stream(uint64_t seed, int purpose, uint64_t of)
{
    uint64_t key = random_mix(seed + PHI);

    key = random_mix((key ^ (uint64_t)purpose) + PHI);
    return (Random){ random_mix((key ^ of) + PHI) };
}

double random_uniform(Random r, uint64_t i)
{
    return (double)(random_bits(r, i) >> 11) * 0x1p-53;
}

/* Box and Muller: a radius and an angle from two draws of the stream. */
double random_normal(Random r, uint64_t i)
{
    double u = 1 - random_uniform(r, 2 * i), v = random_uniform(r, 2 * i + 1);

    return sqrt(-2 * log(u)) * cos(6.28318530717958647692 * v);
}

/* The high half of a 64 by 64 bit product; the bias is below n / 2^64. */
uint64_t random_below(Random r, uint64_t i, uint64_t n)
{
    uint64_t x = random_bits(r, i), low = (x & 0xffffffff) * (n & 0xffffffff);
    uint64_t a = (x >> 32) * (n & 0xffffffff), b = (x & 0xffffffff) * (n >> 32);
    uint64_t middle = (low >> 32) + (a & 0xffffffff) + (b & 0xffffffff);

    return (x >> 32) * (n >> 32) + (a >> 32) + (b >> 32) + (middle >> 32);
}
