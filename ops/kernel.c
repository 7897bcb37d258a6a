/*
 * For each p, c += (column p of a) (row p of b): NV vectors of b are loaded
 * once and used for MR rows, a number of a is loaded once and used for NV
 * vectors. So MR + NV loads feed MR NV multiply-adds, and the loop is bound by
 * these alone when the register tile is large enough; and since the numbers of
 * a are loaded one by one, their layout does not matter.
 */
#include "ops/kernel.h"

void kernel(real *c, ptrdiff_t ldc, Factors f, bool add)
{
    Vector t[MR][NV], b[NV];
    const real *fa = f.a, *fb = f.b;

#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
            t[i][v] = (Vector){ 0 };
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++) /* c is next needed when the sums are complete */
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
            __builtin_prefetch(c + i * ldc + v * LANES, 1);
    for (int p = 0; p < f.k; p++, fa += f.cs, fb += f.ldb) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
            b[v] = *(const Unaligned *)(fb + v * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
            for (int v = 0; v < NV; v++)
                t[i][v] += fa[i * f.rs] * b[v];
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) {
            Unaligned *to = (Unaligned *)(c + i * ldc + v * LANES);
            if (add)
                t[i][v] += *to;
            *to = t[i][v];
        }
}

void kernel_plain(real *c, ptrdiff_t ldc, Factors f, bool add)
{
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < NR; j++) {
            real t = 0;

            for (int p = 0; p < f.k; p++)
                t += f.a[i * f.rs + p * f.cs] * f.b[p * f.ldb + j];
            c[i * ldc + j] = add ? c[i * ldc + j] + t : t;
        }
}
