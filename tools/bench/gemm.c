/* Matrix products: square ones, and those of a dense layer. */
#include "tools/bench/bench.h"

#include "ops/base/machine.h"
#include "ops/kernel/gemm.h"

typedef struct {
    Bench *b;
    Product p;
} GemmCase;

static double run(void *ctx)
{
    GemmCase *c = ctx;
    double start = seconds_now();

    gemm(c->b->tape.pool, c->p);
    return seconds_now() - start;
}

static void bench_product(Bench *b, const char *name, Product p)
{
    GemmCase c = { b, p };
    char title[96];

    c.p.precision = b->tape.precision;
    snprintf(title, sizeof title, "%s  %d x %d x %d%s", name, p.c.rows, p.a.cols, p.c.cols,
             bench_precision(b));
    if (!bench_wanted(b, "gemm", title))
        return;
    bench_row(b, (Row){ .group = "gemm",
                        .name = title,
                        .seconds = bench_best(b, run, &c),
                        .flops = 2.0 * p.c.rows * p.c.cols * p.a.cols });
}

void bench_gemm(Bench *b)
{
    static const int square[] = { 256, 512, 1024, 2048 }, wide[] = { 256, 1024 };
    enum { ROWS = 4096 };

    printf("\nMatrix product: rows x sum x columns\n");
    for (int i = 0; i < 4; i++) {
        int n = square[i];
        size_t size = (size_t)n * (size_t)n;

        bench_product(b, "c = a b",
                      (Product){ .c = matrix(bench_numbers(b, size), n, n),
                                 .a = matrix(bench_numbers(b, size), n, n),
                                 .b = matrix(bench_numbers(b, size), n, n) });
    }
    for (int i = 0; i < 4; i++) {
        int in = wide[i / 2], out = wide[i % 2];
        Matrix x = matrix(bench_numbers(b, (size_t)(ROWS * in)), ROWS, in);
        Matrix y = matrix(bench_numbers(b, (size_t)(ROWS * out)), ROWS, out);
        Matrix w = matrix(bench_numbers(b, (size_t)(in * out)), out, in);

        bench_product(b, "y = x W^T", (Product){ .c = y, .a = x, .b = transposed(w) });
        bench_product(b, "dx = dy W", (Product){ .c = x, .a = y, .b = w });
        bench_product(b, "dW = dy^T x",
                      (Product){ .c = w, .a = transposed(y), .b = x, .over_batch = true });
        bench_clear(b);
    }
}
