#include "tests/promises.h"

#include <float.h>
#include <string.h>

static real *copy(Arena *mem, const real *x, size_t n)
{
    real *to = arena_take(mem, n * sizeof *to);

    memcpy(to, x, n * sizeof *to);
    return to;
}

static void forget_gradients(const Subject *s)
{
    for (int j = 0; j < s->n; j++)
        s->x[j]->has_grad = false;
}

/* Forward and backward once more, on whatever is in the gradients already. */
static Outcome again(Arena *mem, const Subject *s, int threads, const real *dy)
{
    Tape tape = tape_open(threads);

    tape.forward_only = !dy;
    Tensor *y = s->f(&tape, s->ctx);
    Outcome o = { .n = y->n, .y = copy(mem, y->data, y->n) };
    ck_assert_uint_le(o.n, WEIGHTS);
    if (dy)
        tape_backward(&tape, y, dy);
    for (int j = 0; j < s->n && dy; j++) {
        ck_assert_msg(s->x[j]->has_grad, "%s: operand %d got no gradient", s->name, j);
        o.dx[j] = copy(mem, s->x[j]->grad, s->x[j]->n);
    }
    tape_close(&tape);
    return o;
}

Outcome outcome(Arena *mem, const Subject *s, int threads, const real *dy)
{
    forget_gradients(s);
    return again(mem, s, threads, dy);
}

const real *weights(void)
{
    static real drawn[WEIGHTS]; /* once: drawing takes longer than most of what they weigh */

    if (drawn[0] == 0)
        fill(drawn, WEIGHTS, 99, 1);
    return drawn;
}

real *weights_new(Arena *mem)
{
    return copy(mem, weights(), WEIGHTS);
}

double *doubles(Arena *mem, const real *x, size_t n)
{
    double *to = arena_take(mem, n * sizeof *to);

    for (size_t i = 0; i < n; i++)
        to[i] = (double)x[i];
    return to;
}

bool same_bits(const real *a, const real *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

bool all_zero(const real *x, size_t n)
{
    size_t i = 0;

    while (i < n && x[i] == 0)
        i++;
    return i == n;
}

bool all_finite(const real *x, size_t n)
{
    size_t i = 0;

    while (i < n && isfinite(x[i]))
        i++;
    return i == n;
}

static double distance_worst(const real *a, const double *b, size_t n)
{
    double worst = 0, size = 0;

    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);

        if (!(d <= 1e300))
            return HUGE_VAL;
        worst = fmax(worst, d);
        size = fmax(size, fabs(b[i]));
    }
    return worst == 0 ? 0 : worst / (size + 1e-300);
}

void check_close(const char *name, const real *a, const double *b, size_t n, double tolerance)
{
    double d = in_double ? distance_worst(a, b, n) : distance_rms(a, b, n);

    ck_assert_msg(d <= tolerance, "%s: %.1e apart, which is more than %.0e", name, d, tolerance);
}

void check_formula(const Subject *s)
{
    Arena *mem = arena_new();
    Outcome o = outcome(mem, s, 1, NULL);
    double *x[OPERANDS], *y = arena_take(mem, o.n * sizeof *y);

    for (int j = 0; j < s->n; j++)
        x[j] = doubles(mem, s->x[j]->data, s->x[j]->n);
    s->naive(s->ctx, x, y);
    check_close(s->name, o.y, y, o.n, forward_tolerance);
    arena_free(mem);
}

/* The formula, weighted by dy, along u for operand j. */
typedef struct {
    const Subject *s;
    const real *dy;
    double **x, *y, *at, *u;
    size_t outputs;
    int j;
} Direction;

static double naive_along(void *ctx, double step)
{
    const Direction *d = ctx;
    size_t n = d->s->x[d->j]->n;
    double sum = 0;

    for (size_t l = 0; l < n; l++)
        d->x[d->j][l] = d->at[l] + step * d->u[l];
    d->s->naive(d->s->ctx, d->x, d->y);
    for (size_t l = 0; l < d->outputs; l++)
        sum += d->y[l] * (double)d->dy[l];
    memcpy(d->x[d->j], d->at, n * sizeof *d->at);
    return sum;
}

void check_slopes(const Subject *s, int from)
{
    Arena *mem = arena_new();
    const real *dy = weights();
    Outcome o = outcome(mem, s, 1, dy);
    double *x[OPERANDS];
    Direction d = { s, dy, x, arena_take(mem, o.n * sizeof(double)), NULL, NULL, o.n, 0 };

    for (int j = 0; j < s->n; j++)
        x[j] = doubles(mem, s->x[j]->data, s->x[j]->n);
    for (int j = from; j < s->n; j++) {
        size_t n = s->x[j]->n;
        real *u = arena_take(mem, n * sizeof *u);
        double got = 0, length = 0;

        fill(u, n, 1000 + (uint64_t)j, 1);
        d.j = j;
        d.u = doubles(mem, u, n);
        d.at = doubles(mem, s->x[j]->data, n);
        for (size_t i = 0; i < n; i++) {
            got += (double)o.dx[j][i] * d.u[i];
            length += (double)o.dx[j][i] * (double)o.dx[j][i];
        }
        double off = fabs(got - slope(naive_along, &d)) / (sqrt(length) + 1e-300);
        ck_assert_msg(off <= (in_double ? 1e-8 : 1e-5),
                      "%s: the gradient of operand %d is %.1e off the formula's slope", s->name, j,
                      off);
    }
    arena_free(mem);
}

/* Of any two operands, one has a gradient already in a pass in which the other has none. */
void check_backward_adds(const Subject *s)
{
    Arena *mem = arena_new();
    const real *dy = weights();
    Outcome once = outcome(mem, s, 1, dy);

    for (int bit = 1; bit <= s->n; bit *= 2) {
        for (int j = 0; j < s->n; j++) {
            s->x[j]->has_grad = (j + 1) & bit;
            if (s->x[j]->has_grad)
                memcpy(s->x[j]->grad, once.dx[j], s->x[j]->n * sizeof(real));
        }
        Outcome o = again(mem, s, 1, dy);

        for (int j = 0; j < s->n; j++) {
            real *want = copy(mem, once.dx[j], s->x[j]->n);

            for (size_t i = 0; ((j + 1) & bit) && i < s->x[j]->n; i++)
                want[i] *= 2;
            double d = distance(o.dx[j], want, s->x[j]->n);
            ck_assert_msg(d <= (in_double ? 1e-12 : 1e-5), "%s: operand %d: %.1e off in pass %d",
                          s->name, j, d, bit);
        }
    }
    arena_free(mem);
}

void check_no_upstream_no_gradient(const Subject *s)
{
    Arena *mem = arena_new();
    real *dy = weights_new(mem);

    memset(dy, 0, WEIGHTS * sizeof *dy);
    Outcome o = outcome(mem, s, 1, dy);
    for (int j = 0; j < s->n; j++)
        ck_assert_msg(all_zero(o.dx[j], s->x[j]->n), "%s: operand %d", s->name, j);
    arena_free(mem);
}

void check_twice_upstream_twice_gradient(const Subject *s)
{
    const double least_normal = in_double ? DBL_MIN : (double)FLT_MIN;
    Arena *mem = arena_new();
    real *dy = weights_new(mem);
    Outcome once = outcome(mem, s, 1, dy);

    for (int i = 0; i < WEIGHTS; i++)
        dy[i] *= 2;
    Outcome twice = outcome(mem, s, 1, dy);
    for (int j = 0; j < s->n; j++) {
        for (size_t i = 0; i < s->x[j]->n; i++) {
            once.dx[j][i] *= 2;
            if (fabs((double)twice.dx[j][i]) < least_normal) /* it has lost bits that 2 has not */
                twice.dx[j][i] = once.dx[j][i];
        }
        ck_assert_msg(same_bits(twice.dx[j], once.dx[j], s->x[j]->n), "%s: operand %d", s->name, j);
    }
    arena_free(mem);
}

void check_threads(const Subject *s)
{
    static const int threads[] = { 2, 7 };
    Arena *mem = arena_new();
    const real *dy = weights();
    Outcome one = outcome(mem, s, 1, dy);

    for (int t = 0; t < COUNT(threads); t++) {
        Outcome o = outcome(mem, s, threads[t], dy);

        ck_assert_msg(same_bits(o.y, one.y, o.n), "%s: another result with %d threads", s->name,
                      threads[t]);
        for (int j = 0; j < s->n; j++)
            ck_assert_msg(same_bits(o.dx[j], one.dx[j], s->x[j]->n),
                          "%s: another gradient of operand %d with %d threads", s->name, j,
                          threads[t]);
    }
    arena_free(mem);
}

void check_operands_untouched(const Subject *s)
{
    Arena *mem = arena_new();
    real *before[OPERANDS];

    for (int j = 0; j < s->n; j++)
        before[j] = copy(mem, s->x[j]->data, s->x[j]->n);
    outcome(mem, s, 1, weights());
    for (int j = 0; j < s->n; j++)
        ck_assert_msg(same_bits(s->x[j]->data, before[j], s->x[j]->n), "%s: operand %d", s->name,
                      j);
    arena_free(mem);
}

void check_alone_as_in_batch(const Outcome *in_batch, int B, const Subject *one, int b, int batched)
{
    Arena *mem = arena_new();
    const size_t n = in_batch->n / (size_t)B;
    Outcome alone = outcome(mem, one, 1, weights() + (size_t)b * n);

    ck_assert_uint_eq(alone.n, n);
    ck_assert_msg(same_bits(alone.y, in_batch->y + (size_t)b * n, n),
                  "%s: sequence %d has another result", one->name, b);
    for (int j = 0; j < batched; j++) {
        size_t size = one->x[j]->n;

        ck_assert_msg(same_bits(alone.dx[j], in_batch->dx[j] + (size_t)b * size, size),
                      "%s: sequence %d has another gradient of operand %d", one->name, b, j);
    }
    arena_free(mem);
}

Tensor *sequence(Arena *mem, const Tensor *t, int b)
{
    int dim[4] = { 1 };

    for (int i = 1; i < t->ndim; i++)
        dim[i] = t->dim[i];
    Tensor *one = leaf(mem, 0, 0, t->ndim, dim);
    memcpy(one->data, t->data + (size_t)b * one->n, one->n * sizeof(real));
    return one;
}
