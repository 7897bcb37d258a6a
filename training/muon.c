/*
 * Muon (Jordan et al., 2024, kellerjordan.github.io/posts/muon). Of all changes dW
 * of a matrix that turn no input of length 1 into more than length 1, the one that
 * goes down the gradient fastest is
 *
 *     dW = -U V^T,    where G = U S V^T is the gradient's singular value decomposition:
 *
 * it has the directions of G, each as large as any other. AdamW gives every number
 * of a matrix a size of its own, and what it makes is mostly of a few directions. So,
 * with Nesterov's momentum (mu) and the decay of AdamW, in each step
 *
 *     M <- mu M + G
 *     O  = orthogonal(G + mu M)
 *     W <- W - rate (0.2 sqrt(max(rows, cols)) O + decay W)
 *
 * orthogonal() needs no decomposition. An odd polynomial of a matrix acts on its
 * singular values alone, since X X^T = U S^2 U^T:
 *
 *     p(X) = a X + b (X X^T) X + c (X X^T)^2 X = U (a S + b S^3 + c S^5) V^T
 *
 * X starts as G + mu M divided by its Frobenius norm, which no singular value
 * exceeds, and p is applied STEPS times. Newton and Schulz would have a = 3/2,
 * b = -1/2, c = 0: all s end at 1, but a small one grows by only 3/2 a step. With
 *
 *     a = 3.4445    b = -4.7750    c = 2.0315
 *
 * it more than triples, and that is worth more than 1 exactly:
 *
 *     p(s) / s > 1.67 for s in (0, 0.68)      what is small grows,
 *     p(s) < 1.203    for s in (0, 1]         not beyond this,
 *     p(s) in [0.68, 1.14] for s in [0.68, 1.203]      and then it stays.
 *
 * Five steps bring whatever is above 0.0015 of the norm into [0.68, 1.21].
 *
 * With A = X X^T a step is P X, where P = a I + b A + c A^2, and the A of the next
 * step is P A P. So X itself is multiplied only in the end, by Q, the product of
 * all P. All of these are polynomials of the first A: they commute, each product
 * of two is symmetric, and half of it is enough to compute.
 *
 * O has min(rows, cols) singular values near 1, thus that sum of squares, and an RMS of
 * 1 / sqrt(max(rows, cols)). The factor makes it 0.2, which is about the RMS of a step
 * of AdamW (Liu et al., 2025, arXiv:2502.16982): so one learning rate and one decay
 * serve both, for the matrices and for what AdamW has to move beside them.
 *
 * If there are fewer columns than rows, all is done to X^T, where it lies, for A is
 * as small as the smaller side:
 *
 *     rows <= cols    A = X X^T    O = Q X          rows > cols    A = X^T X    O = X Q
 */
#include "training/muon.h"

#include "ops/kernel/gemm.h"

#include <string.h>

enum { STEPS = 5, GRAIN = 1 << 13 };

static const real a = R(3.4445), b = R(-4.7750), c = R(2.0315);

typedef struct {
    Muon u;
    Matrix x, o, A, P, Q, T; /* T is none of the others yet */
    double *squares;         /* of each row of G + mu M */
    double norm;
} Work;

static size_t product(int m, int n)
{
    return (size_t)m * (size_t)n;
}

size_t muon_scratch(int rows, int cols)
{
    int n = rows < cols ? rows : cols;

    return (size_t)rows * sizeof(double) +
           (2 * product(rows, cols) + 4 * product(n, n)) * sizeof(real);
}

static Work work_of(const Muon *u, void *scratch)
{
    int n = u->rows < u->cols ? u->rows : u->cols;
    size_t all = product(u->rows, u->cols), square = product(n, n);
    double *squares = scratch;
    real *x = (real *)(squares + u->rows), *A = x + 2 * all;

    return (Work){ .u = *u,
                   .x = matrix(x, u->rows, u->cols),
                   .o = matrix(x + all, u->rows, u->cols),
                   .A = matrix(A, n, n),
                   .P = matrix(A + square, n, n),
                   .Q = matrix(A + 2 * square, n, n),
                   .T = matrix(A + 3 * square, n, n),
                   .squares = squares };
}

/* In double: the square of a gradient of 1e30 is no float, nor that of 1e-30. */
static double sum_of_squares(const real *x, int n)
{
    double t[8] = { 0 };

    for (int i = 0; i < n; i++)
        t[i % 8] += (double)x[i] * (double)x[i];
    return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
}

static void add_momentum(void *ctx, int begin, int end)
{
    const Work *w = ctx;
    const real scale = R(w->u.scale), mu = R(w->u.momentum);
    const int cols = w->u.cols;

    for (int i = begin; i < end; i++) {
        const real *g = w->u.g + product(i, cols);
        real *m = w->u.m + product(i, cols), *x = w->x.at + product(i, cols);

        for (int j = 0; j < cols; j++) {
            real gj = g[j] * scale, mj = mu * m[j] + gj;

            m[j] = mj;
            x[j] = gj + mu * mj;
        }
        w->squares[i] = sum_of_squares(x, cols);
    }
}

static void divide_by_norm(void *ctx, int begin, int end)
{
    const Work *w = ctx;
    const double by = w->norm > 0 ? 1 / w->norm : 0;

    for (size_t i = product(begin, w->u.cols); i < product(end, w->u.cols); i++)
        w->x.at[i] = R((double)w->x.at[i] * by);
}

/* P, where it is A^2 yet. */
static void finish_row(void *ctx, int i, int j0, int j1)
{
    const Work *w = ctx;
    const real *A = w->A.at + i * w->A.rs;
    real *P = w->P.at + i * w->P.rs;

    for (int j = j0; j < j1; j++)
        P[j] = b * A[j] + c * P[j];
    if (i >= j0 && i < j1)
        P[i] += a;
}

static void make_P(Pool *pool, Work *w)
{
    gemm(pool,
         (Product){
             .c = w->P, .a = w->A, .b = w->A, .symmetric = true, .finish = finish_row, .ctx = w });
}

static void multiply(Pool *pool, Matrix to, Matrix f, Matrix g)
{
    gemm(pool, (Product){ .c = to, .a = f, .b = g, .symmetric = true });
}

static void orthogonalise(Pool *pool, Work *w)
{
    const bool tall = w->u.rows > w->u.cols;
    const Matrix x = w->x, t = transposed(x);

    multiply(pool, w->A, tall ? t : x, tall ? x : t);
    make_P(pool, w);
    memcpy(w->Q.at, w->P.at, product(w->P.rows, w->P.cols) * sizeof(real));
    for (int step = 1; step < STEPS; step++) {
        Matrix Q = w->Q;

        multiply(pool, w->T, w->P, w->A);
        multiply(pool, w->A, w->T, w->P);
        make_P(pool, w);
        multiply(pool, w->T, w->P, Q);
        w->Q = w->T, w->T = Q;
    }
    gemm(pool, (Product){ .c = w->o, .a = tall ? x : w->Q, .b = tall ? w->Q : x });
}

static void move(void *ctx, int begin, int end)
{
    const Work *w = ctx;
    const int longer = w->u.rows > w->u.cols ? w->u.rows : w->u.cols;
    const real rate = R(w->u.rate), size = R(0.2 * sqrt(longer)), decay = R(w->u.decay);

    for (size_t i = product(begin, w->u.cols); i < product(end, w->u.cols); i++)
        w->u.w[i] -= rate * (size * w->o.at[i] + decay * w->u.w[i]);
}

void muon_step(Pool *pool, const Muon *u, void *scratch)
{
    Work w = work_of(u, scratch);
    int grain = (GRAIN + u->cols - 1) / u->cols;

    pool_for(pool, u->rows, grain, add_momentum, &w);
    for (int i = 0; i < u->rows; i++)
        w.norm += w.squares[i];
    w.norm = sqrt(w.norm);
    pool_for(pool, u->rows, grain, divide_by_norm, &w);
    orthogonalise(pool, &w);
    pool_for(pool, u->rows, grain, move, &w);
}
