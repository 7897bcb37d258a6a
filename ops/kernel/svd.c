/*
 * Singular values by one-sided Jacobi rotations (Hestenes, 1958). Multiplying by an orthogonal
 * matrix changes no singular value, and the singular values of a matrix with orthogonal rows are
 * their lengths. So the rows are made orthogonal, two at a time. With alpha = p.p, beta = q.q,
 * gamma = p.q and a rotation by the angle whose tangent is t = s / c,
 *
 *     p' = c p - s q        p'.q' = c^2 ((1 - t^2) gamma - t (beta - alpha))
 *     q' = s p + c q              = 0  where  t^2 + 2 zeta t - 1 = 0,
 *                                      zeta = (beta - alpha) / (2 gamma)
 *
 *     t = sign(zeta) / (|zeta| + sqrt(1 + zeta^2))       the root of at most 45 degrees
 *     |p'|^2 = alpha - t gamma,   |q'|^2 = beta + t gamma
 *
 * so the longer row gains what the shorter loses. On A A^T, which is never computed, it is Jacobi's
 * rotation: the Frobenius norm stays, the sum of squares on the diagonal grows by 2 gamma^2, and
 * that off the diagonal shrinks by the same. A sweep rotates every pair once, (0,1) (0,2) ... (1,2)
 * ...; with angles of at most 45 degrees sweeps converge (Forsythe and Henrici, 1960),
 * quadratically in the end: 6 to 12 sweeps suffice, of n^2 / 2 pairs and 12 m operations each for n
 * rows of m numbers.
 *
 * The longer row of a pair comes first (de Rijk, 1989), so a sweep without rotations leaves the
 * lengths sorted. A row below the rounding error of the whole matrix is skipped: in a matrix of low
 * rank most rows are such errors.
 */
#include "ops/kernel/svd.h"

#include "ops/base/error.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* LANES: independent sums, since a compiler may not reorder a single one. */
enum { LANES = 8, SWEEPS_MOST = 60 };

typedef struct {
    double alpha, beta, gamma;
} Products;

static Products products(const double *restrict p, const double *restrict q, int n)
{
    double pp[LANES] = { 0 }, qq[LANES] = { 0 }, pq[LANES] = { 0 };
    Products sum = { 0, 0, 0 };
    int j = 0;

    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++) {
            pp[l] += p[j + l] * p[j + l];
            qq[l] += q[j + l] * q[j + l];
            pq[l] += p[j + l] * q[j + l];
        }
    for (int l = 0; j < n; j++, l++) {
        pp[l] += p[j] * p[j];
        qq[l] += q[j] * q[j];
        pq[l] += p[j] * q[j];
    }
    for (int l = 0; l < LANES; l++)
        sum.alpha += pp[l], sum.beta += qq[l], sum.gamma += pq[l];
    return sum;
}

/* p, q <- a p + b q, a q - b p */
static void turn(double *restrict p, double *restrict q, int n, double a, double b)
{
    for (int j = 0; j < n; j++) {
        double x = p[j], y = q[j];

        p[j] = a * x + b * y;
        q[j] = a * y - b * x;
    }
}

/* Makes two rows orthogonal, the longer one first; returns whether they changed. */
static bool orthogonalise(double *p, double *q, int n, double least)
{
    const Products of = products(p, q, n);
    const bool longer = of.beta > of.alpha, /* q, that is */
        turned = fmin(of.alpha, of.beta) > least * least &&
                 fabs(of.gamma) > n * DBL_EPSILON * sqrt(of.alpha) * sqrt(of.beta);
    double c = 1, s = 0;

    if (turned) {
        double zeta = (of.beta - of.alpha) / (2 * of.gamma);
        double t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));

        c = 1 / sqrt(1 + t * t), s = c * t;
    }
    if (longer)
        turn(p, q, n, s, c);
    else if (turned)
        turn(p, q, n, c, -s);
    return turned;
}

static bool sweep(double *a, int rows, int cols, double least)
{
    const size_t n = (size_t)cols;
    bool turned = false;

    for (int i = 0; i < rows; i++)
        for (int j = i + 1; j < rows; j++)
            turned |= orthogonalise(a + (size_t)i * n, a + (size_t)j * n, cols, least);
    return turned;
}

/* Divides by the power of two above the largest number, so that no square is too large or too
 * small; returns it, 0 of zeros, NaN where a number is not finite. */
static double scale_down(double *a, size_t n)
{
    double largest = 0;
    int power;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]))
            return (double)NAN;
        largest = fmax(largest, fabs(a[i]));
    }
    frexp(largest, &power);
    for (size_t i = 0; i < n; i++)
        a[i] = ldexp(a[i], -power);
    return largest > 0 ? ldexp(1, power) : 0;
}

static double length_of(const double *a, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

void svd_values(double *a, int rows, int cols, double *s)
{
    const size_t n = (size_t)rows * (size_t)cols;
    const double by = scale_down(a, n), least = by > 0 ? DBL_EPSILON * length_of(a, n) : 0;
    int sweeps = 0;

    while (by > 0 && sweep(a, rows, cols, least))
        if (++sweeps == SWEEPS_MOST)
            BUG("svd: a %d x %d matrix has not converged", rows, cols);
    for (int i = 0; i < rows && i < cols; i++)
        s[i] = by * (by > 0 ? length_of(a + (size_t)i * (size_t)cols, (size_t)cols) : 1);
}

/* 90% of the sum, with a tolerance for rounding. */
static const double HELD = 0.9 * (1 - 1e-12);

Rank svd_rank(const double *s, int n, double tolerance)
{
    Rank r = { 0, 0, 0 };
    double sum = 0, held = 0, entropy = 0;

    for (int k = 0; k < n; k++)
        sum += s[k];
    if (!(sum > 0))
        return (Rank){ sum, sum, sum };
    for (int k = 0; k < n; k++) {
        const double p = s[k] / sum;

        r.rank += s[k] > tolerance * s[0];
        r.holding += held < HELD;
        held += p;
        entropy -= p > 0 ? p * log(p) : 0;
    }
    r.effective = exp(entropy);
    return r;
}
