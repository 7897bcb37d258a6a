/*
 * The exponential, in a form that compilers turn into vector code, and sums and
 * maxima of rows with a fixed order of additions. The C library's expf() is a
 * call for each number, and a plain sum is one long chain of additions that no
 * compiler may reorder: either would cost more than a matrix product.
 */
#ifndef OPS_ELEMENTARY_H
#define OPS_ELEMENTARY_H

#include "ops/real.h"

#include <stdint.h>
#include <string.h>

/*
 * e^x to 2 units in the last place; 0 below -104, infinite above 88.73, NaN for NaN.
 *
 *     e^x = 2^n e^r,   n = round(x / ln 2),   r = x - n ln 2,   |r| <= ln 2 / 2
 *
 * e^r is its Taylor series up to r^7 / 7! (the rest is below 6e-9). Adding
 * 1.5 * 2^23 rounds to an integer and leaves it in the low bits of the sum. ln 2
 * is split so that n times its high part is exact. 2^n is multiplied in two
 * halves, so that neither overflows.
 */
static inline float exp_rest(float x, uint32_t *bits) /* e^r, and the bits of the sum */
{
    const float shift = 12582912.0f;
    float sum = x * 1.44269504f + shift, n = sum - shift;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f, p;

    p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    memcpy(bits, &sum, sizeof *bits);
    return p;
}

static inline float exp_float(float x)
{
    float c = x > 89.0f ? 89.0f : x, a, b;
    uint32_t bits, low, high;

    c = c < -104.0f ? -104.0f : c;
    float p = exp_rest(c, &bits);
    bits -= 0x4b400000; /* n, as an integer */
    uint32_t half = (bits + 0x100) / 2 - 0x80;
    low = (half + 127) << 23;
    high = (bits - half + 127) << 23;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    return p * a * b;
}

static inline real exp_real(real x)
{
#ifdef PROOF
    return exp(x);
#else
    return exp_float(x);
#endif
}

/* The same where 2^n needs no halves, which costs less: from -87 to 87. */
static inline float exp_near_float(float x)
{
    uint32_t bits;
    float p = exp_rest(x, &bits), power;

    /* n in the exponent's place: of shift nothing is left there */
    bits = (bits << 23) + 0x3f800000;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline real exp_near(real x)
{
#ifdef PROOF
    return exp(x);
#else
    return exp_near_float(x);
#endif
}

/* Beyond this, next to 1, e^-x is nothing, and still a normal number. */
#ifdef PROOF
#define FADED R(700)
#else
#define FADED R(87)
#endif

/* e^x for x <= 0, and 0 below -FADED: for weights beside one that is 1. */
static inline real exp_below(real x)
{
    return x < -FADED ? 0 : exp_near(x < -FADED ? -FADED : x);
}

/* 1 / (1 + e^-z), and 0 below -FADED. */
static inline real sigmoid(real z)
{
    real c = z < -FADED ? -FADED : z > FADED ? FADED : z;

    return z < -FADED ? 0 : 1 / (1 + exp_near(-c));
}

/* Partial sums of a row: element i goes to number i mod SUMS. */
#ifdef PROOF
enum { SUMS = 4 };
typedef int64_t Whole;
#else
enum { SUMS = 16 };
typedef int32_t Whole;
#endif
typedef real Lanes
    __attribute__((vector_size(SUMS * sizeof(real)), aligned(sizeof(real)), may_alias));
typedef Whole LaneMask __attribute__((vector_size(SUMS * sizeof(real))));

static inline Lanes lanes_at(const real *x)
{
    return *(const Lanes *)x;
}

/* Of each pair the larger; b where a is NaN. */
static inline Lanes lanes_max(Lanes a, Lanes b)
{
    LaneMask larger = a > b;

    return (Lanes)(((LaneMask)a & larger) | ((LaneMask)b & ~larger));
}

/* a in the lanes from .. to-1, and b in the others. */
static inline Lanes lanes_within(Lanes a, int from, int to, Lanes b)
{
    LaneMask lane, inside;

#pragma GCC unroll 16
    for (int l = 0; l < SUMS; l++)
        lane[l] = l;
    inside = (lane >= from) & (lane < to);
    return (Lanes)(((LaneMask)a & inside) | ((LaneMask)b & ~inside));
}

/* By halves while these are vectors: of single numbers compilers make a dozen shuffles. */
static inline real sum_up(Lanes of)
{
    typedef real Half __attribute__((vector_size(SUMS / 2 * sizeof(real))));
    typedef real Quarter __attribute__((vector_size(SUMS / 4 * sizeof(real))));
    Half half[2];
    Quarter quarter[2];
    real t[SUMS / 4];

    memcpy(half, &of, sizeof half);
    half[0] += half[1];
    memcpy(quarter, half, sizeof quarter);
    quarter[0] += quarter[1];
    memcpy(t, quarter, sizeof t);
    for (int n = SUMS / 8; n > 0; n /= 2)
        for (int l = 0; l < n; l++)
            t[l] += t[l + n];
    return t[0];
}

static inline real largest(Lanes of)
{
    real t[SUMS];

    memcpy(t, &of, sizeof t);
#pragma GCC unroll 4
    for (int half = SUMS / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int l = 0; l < half; l++)
            t[l] = t[l + half] > t[l] ? t[l + half] : t[l];
    return t[0];
}

/* A short one in the order of a product's sums: decoding then adds as the whole sequence does. */
static inline real row_dot(const real *a, const real *b, int n)
{
    Lanes t = { 0 };
    real rest = 0;
    int i = 0;

    for (; i + SUMS <= n; i += SUMS)
        t += lanes_at(a + i) * lanes_at(b + i);
    for (; i < n; i++)
        rest += a[i] * b[i];
    return sum_up(t) + rest;
}

static inline real row_sum(const real *a, int n)
{
    Lanes t = { 0 };
    int i = 0;

    for (; i + SUMS <= n; i += SUMS)
        t += lanes_at(a + i);
    for (int l = 0; i + l < n; l++)
        t[l] += a[i + l];
    return sum_up(t);
}

/* The largest of a[0] .. a[n-1] and `least`; NaN only if all that it saw were NaN. */
static inline real row_max(const real *a, int n, real least)
{
    Lanes t = (Lanes){ 0 } + least;
    int i = 0;

    for (; i + SUMS <= n; i += SUMS)
        t = lanes_max(lanes_at(a + i), t);
    for (int l = 0; i + l < n; l++)
        t[l] = a[i + l] > t[l] ? a[i + l] : t[l];
    return largest(t);
}

/* x_i = e^(x_i - top), where top is the largest; returns the sum of the results. */
static inline real row_exp(real *x, int n, real top)
{
    for (int i = 0; i < n; i++)
        x[i] = exp_below(x[i] - top);
    return row_sum(x, n);
}

#endif
