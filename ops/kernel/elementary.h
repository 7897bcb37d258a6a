/*
 * The exponential, in a form that compilers turn into vector code, and sums and maxima of rows with
 * a fixed order of additions. The C library's expf() is a call per number, and a plain sum is one
 * long chain of additions that a compiler may not reorder: either would cost more than a matrix
 * product.
 */
#ifndef OPS_KERNEL_ELEMENTARY_H
#define OPS_KERNEL_ELEMENTARY_H

#include "ops/kernel/lanes.h"

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

/* The same for -87 to 87, where 2^n needs no halves: faster. */
static inline float exp_near_float(float x)
{
    uint32_t bits;
    float p = exp_rest(x, &bits), power;

    /* n in the exponent bits; the shift drops out */
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

/* Beyond this, e^-x is negligible compared to 1, but still a normal number. */
#ifdef PROOF
#define FADED R(700)
#else
#define FADED R(87)
#endif

/* e^x for x <= 0, and 0 below -FADED: for weights whose maximum is 1. */
static inline real exp_below(real x)
{
    return x < -FADED ? 0 : exp_near(x < -FADED ? -FADED : x);
}

/* Beyond this, e^-x times what is far from 1 is soon a denormal number, with which products take a
 * hundred times as long. */
#ifdef PROOF
#define LOST R(600)
#else
#define LOST R(64)
#endif

/* e^x for x <= 0, and 0 below -LOST: for factors of what is added to larger numbers. */
static inline real exp_lasting(real x)
{
    return x < -LOST ? 0 : exp_real(x);
}

/*
 * sin x and cos x, within 10^-7 for |x| up to 8000; beyond 10^6 they are only some number from -1
 * to 1. NaN for NaN.
 *
 *     x = n pi / 2 + r,   |r| <= pi / 4
 *
 * The sine and cosine of r are their Taylor series up to r^9 and r^10; they change places where n
 * is odd. pi / 2 is split like ln 2 above.
 */
static inline float sin_float(float x, uint32_t quarter) /* sin(x + quarter pi / 2) */
{
    const float shift = 12582912.0f;
    float c = x > 1e6f ? 1e6f : x, s, y;
    uint32_t n, bits;

    c = c < -1e6f ? -1e6f : c;
    float sum = c * 0.636619772f + shift, whole = sum - shift;
    float r = c - whole * 1.5703125f - whole * 4.83751296997e-4f - whole * 7.5497899549e-8f;
    const float t = r * r;

    memcpy(&n, &sum, sizeof n);
    n += quarter;
    s = r + r * t * (-1.0f / 6 + t * (1.0f / 120 + t * (-1.0f / 5040 + t * (1.0f / 362880))));
    y = -1.0f / 720 + t * (1.0f / 40320 + t * (-1.0f / 3628800));
    y = 1 + t * (-0.5f + t * (1.0f / 24 + t * y));
    y = n & 1 ? y : s;
    memcpy(&bits, &y, sizeof bits);
    bits ^= (n & 2) << 30;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline real sin_real(real x)
{
#ifdef PROOF
    return sin(x);
#else
    return sin_float(x, 0);
#endif
}

static inline real cos_real(real x)
{
#ifdef PROOF
    return cos(x);
#else
    return sin_float(x, 1);
#endif
}

/* 1 / (1 + e^-z), and 0 below -FADED. */
static inline real sigmoid(real z)
{
    real c = z < -FADED ? -FADED : z > FADED ? FADED : z;

    return z < -FADED ? 0 : 1 / (1 + exp_near(-c));
}

/*
 * a b + c, explicitly rounded once: where a condition makes c or a b a constant, compilers may
 * split a product from its sum in vectors, and not in what is left of a row.
 */
static inline real fused(real a, real b, real c)
{
#if defined PROOF || !defined __FP_FAST_FMAF
    return a * b + c;
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/*
 * ln(1 + e^x), and ln(1 / (1 + e^-x)), with the rounding errors of one number of their size:
 *
 *     ln(1 + e^x) = max(x, 0) + ln(1 + z),   z = e^-|x|,   0 < z <= 1
 *     ln(1 + z)   = 2 artanh t = 2 (t + t^3 / 3 + t^5 / 5 + ..),   t = z / (2 + z) <= 1/3
 *
 * TERMS terms; the rest is below t^(2 TERMS) < 9^-TERMS of the sum.
 */
static inline real log_terms(real x, real *t) /* ln(1 + z) = 2 t times this */
{
    enum { TERMS = sizeof(real) > sizeof(float) ? 18 : 8 };
    const real z = exp_below(x < 0 ? x : -x), part = z / (2 + z), square = part * part;
    real sum = 0;

    for (int k = TERMS - 1; k >= 0; k--)
        sum = sum * square + R(1.0 / (2 * k + 1));
    *t = part;
    return sum;
}

static inline real softplus(real x)
{
    real t, sum = log_terms(x, &t);

    return fused(2 * t, sum, x > 0 ? x : 0);
}

static inline real log_sigmoid(real x)
{
    real t, sum = log_terms(x, &t);

    return (x < 0 ? x : 0) - 2 * (t * sum); /* 2 is exact, fused or not */
}

/* Short rows are added in the order of a matrix product, so decoding matches whole sequences. */
static inline real row_dot(const real *a, const real *b, int n)
{
    Lanes t = lanes_all(0);
    real rest = 0;
    int i = 0;

    for (; i + SUMS <= n; i += SUMS)
        t = lanes_multiply_add(t, lanes_at(a + i), lanes_at(b + i));
    for (; i < n; i++)
        rest += a[i] * b[i];
    return lanes_sum(t) + rest;
}

/*
 * row_dot() of a and each of DOTS rows of b, which lie `apart`, to places `step` apart. Every
 * number of a is loaded once for all rows, whose sums do not wait for each other. n is a multiple
 * of SUMS: a compiler may round single products in other places here than there.
 */
enum { DOTS = 4 };
static inline void row_dots(const real *a, const real *b, size_t apart, int n, real *to,
                            size_t step)
{
    Lanes t[DOTS];

    for (int k = 0; k < DOTS; k++)
        t[k] = lanes_all(0);
    for (int i = 0; i < n; i += SUMS)
        for (int k = 0; k < DOTS; k++)
            t[k] = lanes_multiply_add(t[k], lanes_at(a + i), lanes_at(b + (size_t)k * apart + i));
    for (int k = 0; k < DOTS; k++)
        to[(size_t)k * step] = lanes_sum(t[k]) + 0;
}

/*
 * row_dot() of a row of n pairs (bf16.h) and a row b in which the numbers at even places come
 * first, then those at odd ones. pairs_dots(): the same for DOTS such rows; n is a multiple of
 * SUMS.
 */
static inline real pairs_dot(const Bf16Pair *a, const real *b, int n)
{
    Lanes t = lanes_all(0), u = t;
    real rest = 0;
    int i = 0;

    for (; i + SUMS <= n; i += SUMS) {
        t = lanes_multiply_add(t, lanes_first(a + i), lanes_at(b + i));
        u = lanes_multiply_add(u, lanes_second(a + i), lanes_at(b + n + i));
    }
    for (; i < n; i++)
        rest += pair_first(a[i]) * b[i] + pair_second(a[i]) * b[n + i];
    return lanes_sum(lanes_add(t, u)) + rest;
}

static inline void pairs_dots(const Bf16Pair *a, const real *b, size_t apart, int n, real *to,
                              size_t step)
{
    Lanes t[DOTS], u[DOTS];

    for (int k = 0; k < DOTS; k++)
        t[k] = u[k] = lanes_all(0);
    for (int i = 0; i < n; i += SUMS) {
        const Lanes first = lanes_first(a + i), second = lanes_second(a + i);

        for (int k = 0; k < DOTS; k++) {
            const real *its = b + (size_t)k * apart + i;

            t[k] = lanes_multiply_add(t[k], first, lanes_at(its));
            u[k] = lanes_multiply_add(u[k], second, lanes_at(its + n));
        }
    }
    for (int k = 0; k < DOTS; k++)
        to[(size_t)k * step] = lanes_sum(lanes_add(t[k], u[k])) + 0;
}

static inline real row_sum(const real *a, int n)
{
    Lanes t = lanes_all(0);
    int i = 0;

    for (; i + SUMS <= n; i += SUMS)
        t = lanes_add(t, lanes_at(a + i));
    if (i < n)
        t = lanes_add(t, lanes_of(a + i, n - i, 0));
    return lanes_sum(t);
}

/*
 * The largest of a[0] .. a[n-1] and `least`; NaN only if all of them are NaN. Four chains at once,
 * since each comparison waits for the one before.
 */
static inline real row_max(const real *a, int n, real least)
{
    Lanes t[4];
    int i = 0;

    for (int k = 0; k < 4; k++)
        t[k] = lanes_all(least);
    for (; i + 4 * SUMS <= n; i += 4 * SUMS)
        for (int k = 0; k < 4; k++)
            t[k] = lanes_max(lanes_at(a + i + k * SUMS), t[k]);
    for (; i + SUMS <= n; i += SUMS)
        t[0] = lanes_max(lanes_at(a + i), t[0]);
    if (i < n)
        t[0] = lanes_max(lanes_of(a + i, n - i, least), t[0]);
    return lanes_largest(lanes_max(lanes_max(t[0], t[1]), lanes_max(t[2], t[3])));
}

/* x_i = e^(x_i - top), where top is the largest; returns the sum of the results, as row_sum(). */
static inline real row_exp(real *x, int n, real top)
{
    Lanes t = lanes_all(0);
    int i = 0;

    for (; i + SUMS <= n; i += SUMS) {
        for (int l = 0; l < SUMS; l++)
            x[i + l] = exp_below(x[i + l] - top);
        t = lanes_add(t, lanes_at(x + i));
    }
    if (i < n) {
        for (int l = i; l < n; l++)
            x[l] = exp_below(x[l] - top);
        t = lanes_add(t, lanes_of(x + i, n - i, 0));
    }
    return lanes_sum(t);
}

#endif
