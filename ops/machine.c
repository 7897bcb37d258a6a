#include "ops/machine.h"

#include "ops/kernel.h"

#include <time.h>
#include <unistd.h>

enum { SUMS_AT_ONCE = MR * NV, ROUNDS = 250000, RUNS = 40 };

typedef real Vector __attribute__((vector_size(VECTOR)));

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double machine_memory(void)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? pages * page : 1e30;
}

int machine_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (int)n : 1;
}

/*
 * Each thread multiplies and adds a register tile as large as the kernel's with
 * constants: no memory, no loads, and enough independent sums that the next one
 * need not wait for the last. The runs together are long enough (some 60 ms) for
 * the system to give each thread a processor of its own.
 */
static void multiply_add(void *ctx, int begin, int end)
{
    real *out = ctx;
    Vector t[SUMS_AT_ONCE], factor = (Vector){ 0 } + R(0.5), step = (Vector){ 0 } + R(1);

#pragma GCC unroll 32
    for (int i = 0; i < SUMS_AT_ONCE; i++)
        t[i] = (Vector){ 0 } + R(i + begin);
    for (int n = 0; n < ROUNDS; n++)
#pragma GCC unroll 32
        for (int i = 0; i < SUMS_AT_ONCE; i++)
            t[i] = t[i] * factor + step;
    for (int piece = begin; piece < end; piece++) {
        out[piece] = 0;
        for (int i = 0; i < SUMS_AT_ONCE; i++)
            out[piece] += t[i][0];
    }
}

double machine_peak(Pool *pool)
{
    enum { THREADS_MAX = 1024 };
    real out[THREADS_MAX];
    int threads = pool_threads(pool) < THREADS_MAX ? pool_threads(pool) : THREADS_MAX;
    double best = 0;

    for (int run = 0; run < RUNS; run++) {
        double start = seconds_now();

        pool_for(pool, threads, 1, multiply_add, out);
        double work = 2.0 * LANES * SUMS_AT_ONCE * ROUNDS * threads;
        double speed = work / (seconds_now() - start);
        best = speed > best ? speed : best;
    }
    return best;
}
