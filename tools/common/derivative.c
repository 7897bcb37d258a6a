#include "tools/common/derivative.h"

#include "ops/base/random.h"

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

/*
 * From five points at distance h, with f_n = f(nh):
 *
 *     d    = (f_-2 - 8 f_-1 + 8 f_1 - f_2) / 12h                off by h^4 f'''''/30
 *     bend = |f_-2 - 4 f_-1 + 6 f_0 - 4 f_1 + f_2| / 12h        = h^3 |f''''|/12
 *
 * If f or its derivative has a kink between the points, like max(x, 0) and its square, the error of
 * d is about the bend, and does not vanish as a power of h: the points must move together until the
 * kink lies outside. So h is reduced until the bend vanishes, and the d with the smallest bend is
 * used. With a still smaller h, the rounding of f would dominate.
 */
double slope(Curve *f, void *ctx)
{
    double best = nan(""), least = HUGE_VAL;

    for (double h = 1e-3; h > 1e-6; h /= 8) {
        double a = f(ctx, -2 * h), b = f(ctx, -h), c = f(ctx, 0), d = f(ctx, h), e = f(ctx, 2 * h);
        double by = ((a - e) + 8 * (d - b)) / (12 * h); /* a constant gives 0 */
        double bend = fabs(a - 4 * b + 6 * c - 4 * d + e) / (12 * h);

        if (bend < least)
            least = bend, best = by;
        if (bend <= 1e-9 * fabs(by) + 1e-10 * fabs(c))
            break;
    }
    return best;
}

/* The loss where the n numbers at x are x0 plus a step along u. */
typedef struct {
    Loss loss;
    real *x;
    const real *x0, *u;
    size_t n;
} Line;

static double loss_along(void *ctx, double step)
{
    const Line *l = ctx;
    double sum = 0;

    for (size_t i = 0; i < l->n; i++)
        l->x[i] = l->x0[i] + R(step) * l->u[i];
    tape_reset(l->loss.tape);
    const Tensor *y = l->loss.f(l->loss.tape, l->loss.ctx);
    for (size_t i = 0; i < y->n; i++)
        sum += (double)y->data[i] * (double)l->loss.weight[i];
    memcpy(l->x, l->x0, l->n * sizeof(real));
    return sum;
}

void derivative_by_hand(Loss l, Tensor *const *x, int n)
{
    tape_reset(l.tape);
    for (int j = 0; j < n; j++)
        x[j]->has_grad = false;
    Tensor *y = l.f(l.tape, l.ctx);
    tape_backward(l.tape, y, l.weight);
}

double derivative_along(Loss l, Tensor *x, const real *u)
{
    Arena *mem = arena_new();
    real *x0 = arena_take(mem, x->n * sizeof *x0);
    Line line = { l, x->data, x0, u, x->n };

    memcpy(x0, x->data, x->n * sizeof *x0);
    double d = slope(loss_along, &line);
    arena_free(mem);
    return d;
}

double derivative_of_along(const Tensor *x, const real *got, const real *u)
{
    double sum = 0;

    for (size_t i = 0; i < x->n; i++)
        sum += (double)got[i] * (double)u[i];
    return sum;
}

/* How far a gradient is off along a random direction of all elements, relative to their size. */
static double off_along(Loss l, Tensor *x, const real *got)
{
    Arena *mem = arena_new();
    real *u = arena_take(mem, x->n * sizeof *u);
    double length = 0;

    fill(u, x->n, 23, 1 / sqrt((double)x->n));
    for (size_t i = 0; i < x->n; i++)
        length += (double)got[i] * (double)got[i] / (double)x->n;
    double off = fabs(derivative_of_along(x, got, u) - derivative_along(l, x, u));
    arena_free(mem);
    return off / (sqrt(length) + 1e-300);
}

static size_t largest(const real *x, size_t n)
{
    size_t at = 0;

    for (size_t i = 1; i < n; i++)
        if (!(fabs((double)x[i]) <= fabs((double)x[at])))
            at = i;
    return at;
}

double derivative_off(Loss l, Tensor *x, const real *got, size_t most, uint64_t seed)
{
    static const real one = 1;
    size_t n = x->n < most ? x->n : most;
    Arena *mem = arena_new();
    Random r = random_stream(seed, RANDOM_TEST, 1);
    real *want = arena_take(mem, n * sizeof *want), *have = arena_take(mem, n * sizeof *have);

    for (size_t i = 0; i < n; i++) {
        size_t at = x->n == n ? i : i == 0 ? largest(got, x->n) : random_below(r, i, x->n);
        real x0 = x->data[at];
        Line line = { l, x->data + at, &x0, &one, 1 };

        want[i] = R(slope(loss_along, &line));
        have[i] = got[at];
    }
    double off = distance(have, want, n), along = n < x->n ? off_along(l, x, got) : 0;
    arena_free(mem);
    return off > along ? off : along;
}
