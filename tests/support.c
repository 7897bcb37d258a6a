#include "tests/tests.h"

#include <string.h>

void fill(real *at, size_t n, uint64_t seed, double scale)
{
    Random r = random_stream(seed, RANDOM_TEST, 0);

    for (size_t i = 0; i < n; i++)
        at[i] = R(scale * random_normal(r, i));
}

Tensor *leaf(Arena *mem, uint64_t seed, double scale, int ndim, const int *dim)
{
    Tensor *t = tensor_new(mem, ndim, dim);

    t->grad = arena_take(mem, t->n * sizeof(real));
    fill(t->data, t->n, seed, scale);
    return t;
}

Tape tape_open(int threads)
{
    return (Tape){ .mem = arena_new(), .pool = pool_new(threads) };
}

void tape_close(Tape *tape)
{
    pool_free(tape->pool);
    arena_free(tape->mem);
}

double distance(const real *a, const real *b, size_t n)
{
    double worst = 0, size = 0;

    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]), s = fabs((double)b[i]);

        if (!(d <= 1e300))
            return HUGE_VAL;
        worst = d > worst ? d : worst;
        size = s > size ? s : size;
    }
    return worst == 0 ? 0 : worst / (size + 1e-300);
}

double distance_rms(const real *a, const double *b, size_t n)
{
    double error = 0, size = 0;

    for (size_t i = 0; i < n; i++) {
        double d = (double)a[i] - b[i];

        error += d * d;
        size += b[i] * b[i];
    }
    if (!(error <= 1e300))
        return HUGE_VAL;
    return error == 0 ? 0 : sqrt(error / (size + 1e-300));
}

static double weighted(const Tensor *y, const real *c)
{
    double sum = 0;

    for (size_t i = 0; i < y->n; i++)
        sum += (double)y->data[i] * (double)c[i];
    return sum;
}

static double value(Tape *tape, Function *f, void *ctx, const real *c)
{
    tape_reset(tape);
    return weighted(f(tape, ctx), c);
}

/* dL/dx_i by a central difference of fourth order. */
static double slope(Tape *tape, Function *f, void *ctx, const real *c, real *x)
{
    static const double offset[] = { -2, -1, 1, 2 };
    const double h = 1e-3;
    const real at = *x;
    double d[4];

    for (int i = 0; i < 4; i++) {
        *x = at + R(h * offset[i]);
        d[i] = value(tape, f, ctx, c);
    }
    *x = at;
    return ((d[0] - d[3]) + 8 * (d[2] - d[1])) / (12 * h);
}

static void backward(Tape *tape, Function *f, void *ctx, const real *c, Tensor *const *x, int n)
{
    tape_reset(tape);
    for (int j = 0; j < n; j++)
        x[j]->has_grad = false;
    Tensor *y = f(tape, ctx);
    tape_backward(tape, y, c);
}

void check_gradient(Function *f, void *ctx, Tensor *const *operand, int n)
{
    Tape tape = tape_open(2);
    Arena *mem = arena_new();
    size_t outputs = f(&tape, ctx)->n;
    real *c = arena_take(mem, outputs * sizeof *c), *got[16];

    ck_assert_int_le(n, COUNT(got));
    fill(c, outputs, 17, 1);
    tape.audit = true;
    backward(&tape, f, ctx, c, operand, n);
    for (int j = 0; j < n; j++) {
        ck_assert_msg(operand[j]->has_grad, "operand %d got no gradient", j);
        got[j] = arena_take(mem, operand[j]->n * sizeof(real));
        memcpy(got[j], operand[j]->grad, operand[j]->n * sizeof(real));
    }
    tape.audit = false;
    backward(&tape, f, ctx, c, operand, n);
    for (int j = 0; j < n; j++) {
        double d = distance(operand[j]->grad, got[j], operand[j]->n);
        ck_assert_msg(d <= (in_double ? 1e-13 : 1e-4),
                      "operand %d: the recycling tape differs by %.1e", j, d);
    }
    tape.forward_only = true;
    for (int j = 0; j < n && in_double; j++) {
        real *want = arena_take(mem, operand[j]->n * sizeof(real));

        for (size_t i = 0; i < operand[j]->n; i++)
            want[i] = R(slope(&tape, f, ctx, c, &operand[j]->data[i]));
        double d = distance(got[j], want, operand[j]->n);
        ck_assert_msg(d <= 1e-7, "operand %d: the derivative by hand is %.1e off", j, d);
    }
    arena_free(mem);
    tape_close(&tape);
}
