#include "tests/tests.h"

#include <string.h>

TCase *group(Suite *s, const char *name)
{
    TCase *t = tcase_create(name);

    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return t;
}

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

double slope(Curve *f, void *ctx)
{
    const double h = 1e-3;

    return (f(ctx, -2 * h) - 8 * f(ctx, -h) + 8 * f(ctx, h) - f(ctx, 2 * h)) / (12 * h);
}

/* The weighted outputs, when n numbers at x are x0 and a step along u. */
typedef struct {
    Tape *tape;
    Function *f;
    void *ctx;
    const real *c;
    real *x;
    const real *x0, *u;
    size_t n;
} Line;

static double loss_along(void *ctx, double step)
{
    const Line *l = ctx;

    for (size_t i = 0; i < l->n; i++)
        l->x[i] = l->x0[i] + R(step) * l->u[i];
    tape_reset(l->tape);
    double sum = weighted(l->f(l->tape, l->ctx), l->c);
    memcpy(l->x, l->x0, l->n * sizeof(real));
    return sum;
}

static void backward(Tape *tape, Function *f, void *ctx, const real *c, Tensor *const *x, int n)
{
    tape_reset(tape);
    for (int j = 0; j < n; j++)
        x[j]->has_grad = false;
    Tensor *y = f(tape, ctx);
    tape_backward(tape, y, c);
}

/* `got` at the elements of one operand, all or `most` of them: how far it is off. */
static double off_at_elements(Line l, const Tensor *x, const real *got, size_t most)
{
    static const real one = 1;
    size_t n = x->n < most ? x->n : most;
    Arena *mem = arena_new();
    Random r = random_stream(n, RANDOM_TEST, 1);
    real *want = arena_take(mem, n * sizeof *want), *have = arena_take(mem, n * sizeof *have);

    l.u = &one, l.n = 1;
    for (size_t i = 0; i < n; i++) {
        size_t at = x->n == n ? i : (size_t)random_below(r, i, x->n);
        real x0 = x->data[at];

        l.x = x->data + at, l.x0 = &x0;
        want[i] = R(slope(loss_along, &l));
        have[i] = got[at];
    }
    double off = distance(have, want, n);
    arena_free(mem);
    return off;
}

static double off_along_a_direction(Line l, const Tensor *x, const real *got)
{
    Arena *mem = arena_new();
    real *x0 = arena_take(mem, x->n * sizeof *x0), *u = arena_take(mem, x->n * sizeof *u);
    double want, have = 0, length = 0;

    memcpy(x0, x->data, x->n * sizeof *x0);
    fill(u, x->n, 23, 1 / sqrt((double)x->n));
    l.x = x->data, l.x0 = x0, l.u = u, l.n = x->n;
    want = slope(loss_along, &l);
    for (size_t i = 0; i < x->n; i++) {
        have += (double)got[i] * (double)u[i];
        length += (double)got[i] * (double)got[i] / (double)x->n;
    }
    arena_free(mem);
    return fabs(have - want) / (sqrt(length) + 1e-300);
}

void check_gradient(Function *f, void *ctx, Tensor *const *operand, int n)
{
    check_gradient_of(f, ctx, operand, n, SIZE_MAX);
}

void check_gradient_of(Function *f, void *ctx, Tensor *const *operand, int n, size_t most)
{
    Tape tape = tape_open(2);
    Arena *mem = arena_new();
    size_t outputs = f(&tape, ctx)->n;
    real *c = arena_take(mem, outputs * sizeof *c), *got[64];

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
        ck_assert_msg(d <= (in_double ? 1e-12 : 1e-3),
                      "operand %d: the recycling tape differs by %.1e", j, d);
    }
    tape_close(&tape);
    tape = tape_open(1);
    for (int j = 0; j < n && in_double; j++) {
        Line l = { .tape = &tape, .f = f, .ctx = ctx, .c = c };
        double d = off_at_elements(l, operand[j], got[j], most);

        if (!(d > 1e-7) && operand[j]->n > most)
            d = off_along_a_direction(l, operand[j], got[j]);
        ck_assert_msg(d <= 1e-7, "operand %d: the derivative by hand is %.1e off", j, d);
    }
    arena_free(mem);
    tape_close(&tape);
}
