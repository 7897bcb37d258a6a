/*
 * How fast the machine is can only be measured, and a short measurement sees what the scheduler
 * does at that moment: it may put two threads on one processor and leave them there for as long as
 * both have work. So a measurement is several rounds with pauses between them: a thread that wakes
 * is given a free processor.
 */
#include "ops/kernel/peak.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS_AT_ONCE = MR * NV, ROUNDS = 250000, THREADS_MAX = 1024 };

/* RUNS of about a millisecond in a round; ROUNDS_LEAST of these if all is well. */
enum { RUNS = 10, ROUNDS_LEAST = 3, ROUNDS_MOST = 7 };

/* A smaller share of the threads' summed single speeds is a reason to measure again. */
static const double TOGETHER = 0.95;

/*
 * Each thread multiplies and adds a register tile as large as the kernel's with
 * constants: no memory, no loads, and enough independent sums that the next one
 * need not wait for the last.
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

/* The best of `runs` on this many threads; one thread is the caller. */
static double speed(Pool *pool, int threads, int runs)
{
    real out[THREADS_MAX];
    double best = 0;

    for (int run = 0; run < runs; run++) {
        double start = seconds_now();

        pool_for(pool, threads, 1, multiply_add, out);
        double work = 2.0 * LANES * SUMS_AT_ONCE * ROUNDS * threads;
        best = fmax(best, work / (seconds_now() - start));
    }
    return best;
}

double peak_flops(Pool *pool)
{
    int threads = pool_threads(pool) < THREADS_MAX ? pool_threads(pool) : THREADS_MAX;
    double one = 0, all = 0;

    for (int round = 0;
         round < ROUNDS_LEAST || (round < ROUNDS_MOST && all < TOGETHER * threads * one); round++) {
        if (round > 0)
            pool_pause(pool);
        all = fmax(all, speed(pool, threads, RUNS));
        one = fmax(one, speed(pool, 1, RUNS / 4));
    }
    return all;
}

/* A piece of memory, and a place for the sums so that compilers cannot drop them. */
typedef struct {
    const unsigned *at;
    size_t n; /* of a piece */
    unsigned *sum;
} Reading;

static void read_pieces(void *ctx, int begin, int end)
{
    const Reading *r = ctx;

    for (int piece = begin; piece < end; piece++) {
        const unsigned *from = r->at + (size_t)piece * r->n;
        unsigned sum = 0;

        for (size_t i = 0; i < r->n; i++)
            sum += from[i];
        r->sum[piece] = sum;
    }
}

double peak_bandwidth(Pool *pool, size_t bytes)
{
    enum { PIECE = 1 << 16, TIMES = 8 };
    int pieces = bytes > PIECE ? (int)(bytes / PIECE) : 1;
    unsigned *at = xmalloc_aligned((size_t)pieces * PIECE);
    unsigned *sum = xmalloc((size_t)pieces * sizeof *sum);
    double best = 0;

    memset(at, 1, (size_t)pieces * PIECE);
    for (int round = 0; round < ROUNDS_LEAST; round++) {
        if (round > 0)
            pool_pause(pool);
        for (int run = 0; run < TIMES; run++) {
            double start = seconds_now();

            pool_for(pool, pieces, 4, read_pieces, &(Reading){ at, PIECE / sizeof *at, sum });
            best = fmax(best, (double)pieces * PIECE / (seconds_now() - start));
        }
    }
    free(sum);
    free(at);
    return best;
}
