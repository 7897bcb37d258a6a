/*
 * For each p, c += (column p of a) (row p of b): NV vectors of b are loaded
 * once and used for MR rows, a number of a is loaded once and used for NV
 * vectors. So MR + NV loads feed MR NV multiply-adds, and the loop is bound by
 * these alone when the register tile is large enough; and since the numbers of
 * a are loaded one by one, their layout does not matter.
 *
 * That holds for a thread that has its core to itself. Where two share a core,
 * each may begin half as many instructions in a cycle, and every one that is not
 * a multiply-add costs time. So there are few others: two turns of the loop are
 * made at once; the layouts of gemm's copies are constants, and one pointer
 * serves all rows; and of every four rows, SINGLE have no load of their own,
 * since a multiply-add may itself take a number from memory and spread it over
 * the lanes. It does so for each of the NV vectors: not of all rows, for a core
 * has a limit of loads as well.
 */
#include "ops/kernel/kernel.h"

enum { SINGLE = VECTOR == 64 ? 2 : 0 };

#ifdef __clang__
enum { GROUP = MR }; /* with more pointers, sums would spill to memory */
#else
enum { GROUP = 4 };
#endif

/* Inlined like a macro, so that sums stay in registers and constants are known. */
#define INLINE static inline __attribute__((always_inline))

INLINE void put(real *c, ptrdiff_t ldc, Vector t[MR][NV], int nv, bool add)
{
    UNROLL
    for (int i = 0; i < MR; i++, c += ldc) {
        UNROLL
        for (int v = 0; v < nv; v++) {
            Unaligned *to = (Unaligned *)(c + v * LANES);
            if (add)
                t[i][v] += *to;
            *to = t[i][v];
        }
    }
}

/*
 * Of each row of c, the first nv vectors. A pointer serves `group` rows of a: all of them if they
 * are `packed`. `again` is the same pointer (k is far below 2^30), but the compiler does not know:
 * it would load a number once and keep it.
 */
INLINE void multiply(real *c, ptrdiff_t ldc, Factors f, bool add, int nv, bool packed)
{
    const int group = packed ? MR : GROUP, single = packed ? SINGLE : 0;
    Vector t[MR][NV], b[NV];
    const real *fa[MR], *fb = f.b, *again[MR];
    real *row = c;

    UNROLL
    for (int i = 0; i < MR; i++) {
        fa[i] = f.a + i * f.rs, again[i] = fa[i] + (f.k >> 30);
        UNROLL
        for (int v = 0; v < nv; v++)
            t[i][v] = (Vector){ 0 };
    }
    for (int i = 0; i < MR; i++, row += ldc) { /* c is next needed when the sums are complete */
        UNROLL
        for (int v = 0; v < nv; v++)
            __builtin_prefetch(row + v * LANES, 1);
    }
#pragma GCC unroll 2
    for (int p = 0; p < f.k; p++, fb += f.ldb) {
        UNROLL
        for (int v = 0; v < nv; v++)
            b[v] = *(const Unaligned *)(fb + v * LANES);
        UNROLL
        for (int i = 0; i < MR; i++) {
            UNROLL
            for (int v = 0; v < nv; v++) {
                const real **from = v > 0 && i % 4 < single ? again : fa;

                t[i][v] += from[i / group * group][i % group * f.rs] * b[v];
            }
        }
        UNROLL
        for (int i = 0; i < MR; i += group)
            fa[i] += f.cs, again[i] += f.cs;
    }
    put(c, ldc, t, nv, add);
}

void kernel(real *c, ptrdiff_t ldc, const Factors *of, bool add)
{
    const Factors f = *of;

    if (f.rs == KC && f.cs == 1)
        multiply(c, ldc, (Factors){ f.a, KC, 1, f.b, f.ldb, f.k }, add, NV, true);
    else if (f.rs == 1)
        multiply(c, ldc, (Factors){ f.a, 1, f.cs, f.b, f.ldb, f.k }, add, NV, true);
    else
        multiply(c, ldc, f, add, NV, false);
}

void kernel_narrow(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    multiply(c, ldc, *f, add, 1, false);
}

void kernel_plain(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < NR; j++) {
            real t = 0;

            for (int p = 0; p < f->k; p++)
                t += f->a[i * f->rs + p * f->cs] * f->b[p * f->ldb + j];
            c[i * ldc + j] = add ? c[i * ldc + j] + t : t;
        }
}
