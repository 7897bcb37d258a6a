/*
 * SUMS adjacent numbers of a row, and operations on all of them at once: element i of a row goes to
 * sum number i mod SUMS, on every processor. They are held in several native vectors, since
 * compilers split wider vector types through memory and compare them number by number.
 */
#ifndef OPS_KERNEL_LANES_H
#define OPS_KERNEL_LANES_H

#include "ops/kernel/bf16.h"

#ifdef PROOF
enum { SUMS = 4 };
typedef int64_t Whole;
#else
enum { SUMS = 16 };
typedef int32_t Whole;
#endif
enum { PARTS = SUMS / LANES };

typedef Whole Mask __attribute__((vector_size(VECTOR)));
typedef struct {
    Vector part[PARTS];
} Lanes;

static inline Lanes lanes_all(real x)
{
    Lanes y;

    for (int p = 0; p < PARTS; p++)
        y.part[p] = (Vector){ 0 } + x;
    return y;
}

static inline Lanes lanes_at(const real *x)
{
    Lanes y;

    for (int p = 0; p < PARTS; p++)
        y.part[p] = *(const Unaligned *)(x + p * LANES);
    return y;
}

/* x[0] .. x[n-1], and `rest` in the other lanes. */
static inline Lanes lanes_of(const real *x, int n, real rest)
{
    real y[SUMS];

    for (int l = 0; l < SUMS; l++)
        y[l] = l < n ? x[l] : rest;
    return lanes_at(y);
}

/* The first numbers of SUMS pairs, and the second ones. */
#ifdef PROOF
static inline Lanes lanes_first(const Bf16Pair *pair)
{
    real y[SUMS];

    for (int l = 0; l < SUMS; l++)
        y[l] = pair_first(pair[l]);
    return lanes_at(y);
}

static inline Lanes lanes_second(const Bf16Pair *pair)
{
    real y[SUMS];

    for (int l = 0; l < SUMS; l++)
        y[l] = pair_second(pair[l]);
    return lanes_at(y);
}
#else
typedef uint32_t Bits __attribute__((vector_size(VECTOR), aligned(sizeof(Bf16Pair)), may_alias));

static inline Lanes lanes_first(const Bf16Pair *pair)
{
    Lanes y;

    for (int p = 0; p < PARTS; p++)
        y.part[p] = (Vector)(*(const Bits *)(pair + p * LANES) << 16);
    return y;
}

static inline Lanes lanes_second(const Bf16Pair *pair)
{
    Lanes y;

    for (int p = 0; p < PARTS; p++)
        y.part[p] = (Vector)(*(const Bits *)(pair + p * LANES) & 0xffff0000);
    return y;
}
#endif

static inline void lanes_put(real *to, Lanes x)
{
    for (int p = 0; p < PARTS; p++)
        *(Unaligned *)(to + p * LANES) = x.part[p];
}

static inline Lanes lanes_add(Lanes a, Lanes b)
{
    for (int p = 0; p < PARTS; p++)
        a.part[p] += b.part[p];
    return a;
}

static inline Lanes lanes_less(Lanes a, Lanes b)
{
    for (int p = 0; p < PARTS; p++)
        a.part[p] -= b.part[p];
    return a;
}

/* t + a b */
static inline Lanes lanes_multiply_add(Lanes t, Lanes a, Lanes b)
{
    for (int p = 0; p < PARTS; p++)
        t.part[p] += a.part[p] * b.part[p];
    return t;
}

static inline Vector vector_choose(Mask which, Vector a, Vector b)
{
    return (Vector)(((Mask)a & which) | ((Mask)b & ~which));
}

/* The larger of each pair; b where a is NaN. */
static inline Lanes lanes_max(Lanes a, Lanes b)
{
    for (int p = 0; p < PARTS; p++)
        a.part[p] = vector_choose(a.part[p] > b.part[p], a.part[p], b.part[p]);
    return a;
}

/* a in the lanes from .. to-1, and b in the others. */
static inline Lanes lanes_within(Lanes a, int from, int to, Lanes b)
{
    Mask lane;

#pragma GCC unroll 16
    for (int l = 0; l < LANES; l++)
        lane[l] = l;
    for (int p = 0; p < PARTS; p++) {
        Mask inside = (lane >= from - p * LANES) & (lane < to - p * LANES);
        a.part[p] = vector_choose(inside, a.part[p], b.part[p]);
    }
    return a;
}

/* Adds halves while they are vectors: adding single numbers compiles to a dozen shuffles. */
static inline real lanes_sum(Lanes x)
{
    enum { FEW = LANES < 4 ? LANES : 4 };
    typedef real Few __attribute__((vector_size(FEW * sizeof(real))));
    Few few[LANES / FEW];
    real t[FEW];

#pragma GCC unroll 4
    for (int n = PARTS / 2; n > 0; n /= 2)
#pragma GCC unroll 4
        for (int p = 0; p < n; p++)
            x.part[p] += x.part[p + n];
    memcpy(few, &x.part[0], sizeof few);
#pragma GCC unroll 4
    for (int n = LANES / FEW / 2; n > 0; n /= 2)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
            few[i] += few[i + n];
    memcpy(t, &few[0], sizeof t);
    for (int n = FEW / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++)
            t[l] += t[l + n];
    return t[0];
}

static inline real lanes_largest(Lanes x)
{
    real t[SUMS];

    lanes_put(t, x);
#pragma GCC unroll 4
    for (int half = SUMS / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int l = 0; l < half; l++)
            t[l] = t[l + half] > t[l] ? t[l + half] : t[l];
    return t[0];
}

#endif
