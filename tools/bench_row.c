/* What every section of ./bench does: repeat, fill operands, report. */
#include "tools/bench.h"

#include "ops/machine.h"
#include "ops/random.h"

#include <math.h>

enum { LEAST_RUNS = 3 };

void bench_csv_header(FILE *csv)
{
    fputs("group,name,seconds,flop_s,byte_s,share_of_peak,mechanism,length,batch,"
          "forward_ns_token,backward_ns_token,bytes_token,decode_ns_token\n",
          csv);
}

/* Nothing where the number does not apply. */
static void field(FILE *csv, double x)
{
    fputc(',', csv);
    if (x > 0)
        fprintf(csv, "%.9g", x);
}

void bench_csv(const Bench *b, Row r)
{
    if (!b->csv)
        return;
    fprintf(b->csv, "%s,\"%s\"", r.group, r.name);
    field(b->csv, r.seconds);
    field(b->csv, r.flops / r.seconds);
    field(b->csv, r.bytes / r.seconds);
    field(b->csv, r.flops / r.seconds / b->peak);
    fprintf(b->csv, ",%s", r.mechanism ? r.mechanism : "");
    field(b->csv, r.length);
    field(b->csv, r.batch);
    field(b->csv, r.forward);
    field(b->csv, r.backward);
    field(b->csv, r.held);
    field(b->csv, r.step);
    fputc('\n', b->csv);
    fflush(b->csv); /* a run that is stopped leaves what it has measured */
}

void bench_row(const Bench *b, Row r)
{
    double flops = r.flops / r.seconds, bytes = r.bytes / r.seconds;

    printf("%-44s %10.3f ms", r.name, 1e3 * r.seconds);
    if (r.flops > 0)
        printf(" %9.1f GFLOP/s %6.1f%%", flops / 1e9, 100 * flops / b->peak);
    else
        printf(" %9.1f GB/s", bytes / 1e9);
    putchar('\n');
    fflush(stdout);
    bench_csv(b, r);
}

bool bench_again(const Bench *b, int runs, double start)
{
    return runs < LEAST_RUNS || seconds_now() - start < b->seconds;
}

double bench_best(const Bench *b, double (*body)(void *ctx), void *ctx)
{
    double start = seconds_now(), best = HUGE_VAL;

    for (int run = 0; bench_again(b, run, start); run++)
        best = fmin(best, body(ctx));
    return best;
}

static void fill(Bench *b, real *at, size_t n)
{
    Random r = random_stream(1, RANDOM_TEST, b->filled++);

    for (size_t i = 0; i < n; i++)
        at[i] = R(random_uniform(r, i) - 0.5);
}

real *bench_numbers(Bench *b, size_t n)
{
    real *at = arena_take(b->mem, n * sizeof *at);

    fill(b, at, n);
    return at;
}

Tensor *bench_operand(Bench *b, int ndim, const int *dim)
{
    Tensor *t = tensor_new(b->mem, ndim, dim);

    t->grad = arena_take(b->mem, t->n * sizeof(real));
    fill(b, t->data, t->n);
    return t;
}

void bench_clear(Bench *b)
{
    arena_free(b->mem);
    arena_free(b->tape.mem);
    b->mem = arena_new();
    b->tape = (Tape){ .mem = arena_new(), .pool = b->tape.pool };
}
