/* What all sections of ./bench share: repeating, filling operands, printing. */
#include "tools/bench/bench.h"

#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "ops/base/random.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/peak.h"

#include <math.h>
#include <string.h>

enum { LEAST_RUNS = 3, PAUSES = 2 };

bool bench_wanted(const Bench *b, const char *group, const char *name)
{
    const Row *r = rows_find(&b->rows, group, name);
    Change c;

    return !b->slower_only ||
           (r && against_change(&b->against, &b->rows, *r, &c) && c.slower > 1 + b->against.margin);
}

void bench_keep(Bench *b, Row r)
{
    rows_put(&b->rows, r);
    if (b->csv)
        file_print(b->csv, rows_write, &b->rows);
}

void bench_peak(Bench *b)
{
    double peak = peak_flops(b->tape.pool);
    Text name = machine_name();

    if (peak <= b->peak)
        return;
    b->peak = peak;
    text_add(&name, ", %d threads, vectors of %d bits", pool_threads(b->tape.pool), VECTOR * 8);
    for (char *c = name.at; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == '"' ? ' ' : *c;
    bench_keep(b, (Row){ .group = "machine", .name = name.at, .seconds = 1, .flops = peak });
}

double bench_share(Bench *b, Row r)
{
    if (r.flops / r.seconds > b->peak)
        bench_peak(b);
    return r.flops / r.seconds / b->peak;
}

void bench_row_end(Bench *b, Row r)
{
    if (b->against.path)
        against_print_row(&b->against, &b->rows, r);
    putchar('\n');
    fflush(stdout);
    bench_keep(b, r);
}

void bench_row(Bench *b, Row r)
{
    int shown = (int)strcspn(r.name, ";");

    printf("%-44.*s %10.3f ms", shown, r.name, 1e3 * r.seconds);
    if (r.flops > 0) {
        double share = bench_share(b, r);

        printf(" %9.1f GFLOP/s %6.1f%%", r.flops / r.seconds / 1e9, 100 * share);
    } else
        printf(" %9.1f GB/s", r.bytes / r.seconds / 1e9);
    bench_row_end(b, r);
}

bool bench_again(const Bench *b, int runs, double start)
{
    if (runs < PAUSES)
        pool_pause(b->tape.pool);
    return runs < LEAST_RUNS || seconds_now() - start < b->seconds;
}

double bench_best(const Bench *b, double (*body)(void *ctx), void *ctx)
{
    double start = seconds_now(), best = HUGE_VAL;

    for (int run = 0; bench_again(b, run, start); run++)
        best = fmin(best, body(ctx));
    return best;
}

void bench_fill(Bench *b, real *at, size_t n)
{
    Random r = random_stream(1, RANDOM_TEST, b->filled++);

    for (size_t i = 0; i < n; i++)
        at[i] = R(random_uniform(r, i) - 0.5);
}

real *bench_numbers(Bench *b, size_t n)
{
    real *at = arena_take(b->mem, n * sizeof *at);

    bench_fill(b, at, n);
    return at;
}

Tensor *bench_operand(Bench *b, int ndim, const int *dim)
{
    Tensor *t = tensor_new(b->mem, ndim, dim);

    t->grad = arena_take(b->mem, t->n * sizeof(real));
    bench_fill(b, t->data, t->n);
    return t;
}

void bench_clear(Bench *b)
{
    arena_free(b->mem);
    arena_free(b->tape.mem);
    b->mem = arena_new();
    b->tape = (Tape){ .mem = arena_new(), .pool = b->tape.pool, .precision = b->tape.precision };
}

const char *bench_precision(const Bench *b)
{
    static const char *const word[] = { "", ", bf16", ", bf16-tiles" };

    return word[b->tape.precision];
}
