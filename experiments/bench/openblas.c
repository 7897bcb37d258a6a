/*
 * gemm against OpenBLAS, on the shapes of ./bench --only gemm: by turns in one process, since the
 * speed of a shared machine drifts, and the best of each. OPENBLAS_CORETYPE chooses OpenBLAS's
 * kernels.
 *
 *     openblas THREADS SECONDS        a row of CSV for each shape, SECONDS each
 */
#include "ops/base/arena.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/random.h"
#include "ops/kernel/gemm.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

static const double TURN = 0.06; /* seconds */

typedef struct {
    Pool *pool;
    Arena *mem;
    double seconds;
    uint64_t filled;
} Machine;

static Matrix operand(Machine *m, int rows, int cols)
{
    size_t n = (size_t)rows * (size_t)cols;
    real *at = arena_take(m->mem, n * sizeof *at);
    Random r = random_stream(1, RANDOM_TEST, m->filled++);

    for (size_t i = 0; i < n; i++)
        at[i] = R(random_uniform(r, i) - 0.5);
    return matrix(at, rows, cols);
}

/* How BLAS sees an operand: row after row, or turned over. */
static CBLAS_TRANSPOSE turned(Matrix m)
{
    return m.cs == 1 ? CblasNoTrans : CblasTrans;
}

static int leading(Matrix m)
{
    return (int)(m.cs == 1 ? m.rs : m.cs);
}

static void ours(const Machine *m, Product p)
{
    gemm(m->pool, p);
}

static void theirs(const Machine *m, Product p)
{
    (void)m;
    cblas_sgemm(CblasRowMajor, turned(p.a), turned(p.b), p.c.rows, p.c.cols, p.a.cols, 1, p.a.at,
                leading(p.a), p.b.at, leading(p.b), 0, p.c.at, leading(p.c));
}

/*
 * The best of a turn, which lasts longer than the threads of the other one stay awake, waiting for
 * work on the processors that are needed here.
 */
static double turn(const Machine *m, Product p, void (*multiply)(const Machine *, Product))
{
    double start = seconds_now(), now = start, best = HUGE_VAL;

    for (int run = 0; run < 3 || now - start < TURN; run++) {
        double from = seconds_now();

        multiply(m, p);
        now = seconds_now();
        best = fmin(best, now - from);
    }
    return best;
}

/* Both have to find the same: else a figure is of two different products. */
static void check(const Machine *m, const char *name, Product p)
{
    size_t n = (size_t)p.c.rows * (size_t)p.c.cols;
    real *found = arena_take(m->mem, n * sizeof *found);

    ours(m, p);
    for (size_t i = 0; i < n; i++) {
        found[i] = p.c.at[i];
        p.c.at[i] = NAN;
    }
    theirs(m, p);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(found[i] - p.c.at[i]) < R(1e-4) * sqrt(R(p.a.cols))))
            die(EXIT_FAILED, "%s: element %zu is %g, and OpenBLAS's %g", name, i, (double)found[i],
                (double)p.c.at[i]);
}

static void compare(const Machine *m, const char *name, Product p)
{
    double start = seconds_now(), us = HUGE_VAL, them = HUGE_VAL;
    double flops = 2.0 * p.c.rows * p.c.cols * p.a.cols;

    check(m, name, p);
    for (int run = 0; run < 2 || seconds_now() - start < m->seconds; run++) {
        us = fmin(us, turn(m, p, ours));
        them = fmin(them, turn(m, p, theirs));
    }
    printf("%s,%d,%d,%d,%d,%.1f,%.1f,%s\n", name, p.c.rows, p.a.cols, p.c.cols,
           pool_threads(m->pool), flops / us / 1e9, flops / them / 1e9, openblas_get_corename());
    fflush(stdout);
}

static void compare_all(Machine *m)
{
    static const int square[] = { 256, 512, 1024, 2048 }, wide[] = { 256, 1024 };
    enum { ROWS = 4096 };

    for (int i = 0; i < 4; i++) {
        int n = square[i];

        Matrix c = operand(m, n, n), a = operand(m, n, n), b = operand(m, n, n);

        compare(m, "c = a b", (Product){ .c = c, .a = a, .b = b });
    }
    for (int i = 0; i < 4; i++) {
        int in = wide[i / 2], out = wide[i % 2];
        Matrix x = operand(m, ROWS, in), y = operand(m, ROWS, out), w = operand(m, out, in);
        Matrix dx = operand(m, ROWS, in), xw = operand(m, ROWS, out), dw = operand(m, out, in);

        compare(m, "y = x W^T", (Product){ .c = xw, .a = x, .b = transposed(w) });
        compare(m, "dx = dy W", (Product){ .c = dx, .a = y, .b = w });
        compare(m, "dW = dy^T x",
                (Product){ .c = dw, .a = transposed(y), .b = x, .over_batch = true });
    }
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[1]) : 0;

    if (threads < 1)
        die(EXIT_USAGE, "usage: openblas THREADS SECONDS");
    openblas_set_num_threads(threads);
    Machine m = { .pool = pool_new(threads), .mem = arena_new(), .seconds = atof(argv[2]) };

    compare_all(&m);
    pool_free(m.pool);
    arena_free(m.mem);
    return 0;
}
