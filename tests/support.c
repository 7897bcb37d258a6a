#include "tests/tests.h"

#include "ops/base/error.h"
#include "ops/base/random.h"

#include <stdlib.h>
#include <string.h>

TCase *group(Suite *s, const char *name)
{
    TCase *t = tcase_create(name);

    tcase_set_timeout(t, 600); /* with sanitizers, on a busy machine */
    suite_add_tcase(s, t);
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

/* The first n numbers of fill() at the scale 1, of which a process draws each once. */
static const double *normals(uint64_t seed, size_t n)
{
    enum { SEEDS = 32 };
    static struct {
        double *at;
        size_t n;
    } drawn[SEEDS];
    const Random r = random_stream(seed, RANDOM_TEST, 0);

    ck_assert_uint_lt(seed, SEEDS);
    if (drawn[seed].n < n)
        drawn[seed].at = xrealloc(drawn[seed].at, n * sizeof(double));
    for (; drawn[seed].n < n; drawn[seed].n++)
        drawn[seed].at[drawn[seed].n] = random_normal(r, drawn[seed].n);
    return drawn[seed].at;
}

Tensor *leaf_again(Arena *mem, uint64_t seed, double scale, int ndim, const int *dim)
{
    Tensor *t = tensor_new(mem, ndim, dim);
    const double *x = normals(seed, t->n);

    t->grad = arena_take(mem, t->n * sizeof(real));
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = R(scale * x[i]);
    return t;
}

void check_gradient(const char *name, Function *f, void *ctx, Tensor *const *operand, int n)
{
    check_gradient_of(name, f, ctx, operand, n, SIZE_MAX);
}

void check_gradient_of(const char *name, Function *f, void *ctx, Tensor *const *operand, int n,
                       size_t most)
{
    Tape tape = tape_open(1);
    Arena *mem = arena_new();
    size_t outputs = f(&tape, ctx)->n;
    real *c = arena_take(mem, outputs * sizeof *c), *got[80];

    ck_assert_int_le(n, COUNT(got));
    Loss loss = { &tape, f, ctx, c };

    fill(c, outputs, 17, 1);
    tape.audit = true;
    derivative_by_hand(loss, operand, n);
    for (int j = 0; j < n; j++) {
        ck_assert_msg(operand[j]->has_grad, "%s: operand %d got no gradient", name, j);
        got[j] = arena_take(mem, operand[j]->n * sizeof(real));
        memcpy(got[j], operand[j]->grad, operand[j]->n * sizeof(real));
    }
    tape.audit = false;
    derivative_by_hand(loss, operand, n);
    for (int j = 0; j < n; j++) {
        double d = distance(operand[j]->grad, got[j], operand[j]->n);
        /* They round differently, as those of the other start at 1; memory that is used twice would
         * change them by their own size. */
        ck_assert_msg(d <= (in_double ? 1e-11 : 1e-3),
                      "%s: operand %d: the recycling tape differs by %.1e", name, j, d);
    }
    for (int j = 0; j < n && in_double && !sanitized; j++) {
        double d = derivative_off(loss, operand[j], got[j], most, (uint64_t)j);
        ck_assert_msg(d <= DERIVATIVE_TOLERANCE,
                      "%s: operand %d: the derivative by hand is %.1e off", name, j, d);
    }
    arena_free(mem);
    tape_close(&tape);
}
