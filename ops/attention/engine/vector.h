/* Loops over a row of numbers, short enough to be inlined, and vector code. */
#ifndef OPS_ATTENTION_ENGINE_VECTOR_H
#define OPS_ATTENTION_ENGINE_VECTOR_H

#include "ops/base/real.h"

/* y += s x */
static inline void vector_add(real *restrict y, real s, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += s * x[i];
}

/* y *= x */
static inline void vector_multiply(real *restrict y, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] *= x[i];
}

/* y += s x z */
static inline void vector_add_products(real *restrict y, real s, const real *restrict x,
                                       const real *restrict z, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += s * x[i] * z[i];
}

#endif
