/*
 * Muon (Jordan et al., 2024, kellerjordan.github.io/posts/muon), for matrices between
 * activations; AdamW moves the rest. Of all changes dW of a matrix that map no input of
 * length 1 to an output longer than 1, the one that follows the negative gradient best is
 *
 *     dW = -U V^T,    where G = U S V^T is the gradient's singular value decomposition:
 *
 * it has the directions of G, all of the same size. AdamW scales every number of a
 * matrix by itself, and its updates are dominated by a few directions. So, with
 * Nesterov's momentum (mu) and decoupled weight decay, in each step
 *
 *     M <- mu M + G
 *     O  = orthogonal(G + mu M)
 *     W <- W - rate (0.2 sqrt(max(rows, cols)) O + decay W)
 *
 * With a warm-up of N updates, mu rises linearly from 0.85 to its value: the first gradients
 * soon point elsewhere, and a long memory would keep following them.
 *
 * orthogonal() needs no decomposition. An odd polynomial of a matrix acts on its
 * singular values alone, since X X^T = U S^2 U^T:
 *
 *     p(X) = a X + b (X X^T) X + c (X X^T)^2 X = U (a S + b S^3 + c S^5) V^T
 *
 * X starts as G + mu M divided by its Frobenius norm, which no singular value
 * exceeds, and p is applied --ns-steps times. Newton and Schulz would have a = 3/2,
 * b = -1/2, c = 0: all s converge to 1, but a small one grows by only 3/2 a step. With
 *
 *     a = 3.4445    b = -4.7750    c = 2.0315
 *
 * it more than triples, which is worth more than convergence to exactly 1:
 *
 *     p(s) / s > 1.67 for s in (0, 0.68)               small values grow,
 *     p(s) < 1.203    for s in (0, 1]                  but not beyond this bound,
 *     p(s) in [0.68, 1.14] for s in [0.68, 1.203]      and then they stay.
 *
 * Five steps bring all values above 0.0015 of the norm into [0.68, 1.21], three those above 0.018.
 *
 * With A = X X^T a step is P X, where P = a I + b A + c A^2, and the A of the next
 * step is P A P. So X itself is multiplied only at the end, by Q, the product of
 * all P. All of these are polynomials of the first A: they commute, each product
 * of two is symmetric, and only half of it needs to be computed.
 *
 * This works for a few steps only. The eigenvalues of A are squares, but a small one is mostly
 * rounding error, and may be computed as a negative number. Each step multiplies it by about
 * a^2 = 11.9, and what starts below 0 has no bound. So after five steps X is multiplied by Q, and A
 * is computed again.
 *
 * O has min(rows, cols) singular values near 1, so the sum of its squares is that, and its
 * RMS is 1 / sqrt(max(rows, cols)). The factor makes it 0.2, about the RMS of an AdamW
 * update (Liu et al., 2025, arXiv:2502.16982), so that one learning rate and one decay
 * serve both Muon's matrices and AdamW's parameters.
 *
 * If there are fewer columns than rows, everything is done to X^T, without moving it, for
 * A is as small as the smaller side:
 *
 *     rows <= cols    A = X X^T    O = Q X          rows > cols    A = X^T X    O = X Q
 */
#include "training/optimiser.h"

#include "ops/kernel/gemm.h"

#include <string.h>

static const real a = R(3.4445), b = R(-4.7750), c = R(2.0315);

typedef struct {
    const Update *u;
    real *w, *m;
    const real *g;
    int rows, cols;
    Matrix x, o, A, P, Q, T; /* T is free */
    double *squares;         /* of each row of G + mu M */
    double norm;
} Work;

static size_t product(int m, int n)
{
    return (size_t)m * (size_t)n;
}

static PoolRoom room(int rows, int cols)
{
    const int n = rows < cols ? rows : cols, longer = rows < cols ? cols : rows;
    const PoolRoom gram = gemm_room(longer, n), end = gemm_room(n, longer);

    return (PoolRoom){ gram.scratch, gram.shared > end.shared ? gram.shared : end.shared };
}

static size_t scratch(int rows, int cols)
{
    int n = rows < cols ? rows : cols;

    return (size_t)rows * sizeof(double) +
           (2 * product(rows, cols) + 4 * product(n, n)) * sizeof(real);
}

static real momentum_of(const Update *u)
{
    const double mu = u->hyper->momentum, first = fmin(0.85, mu);
    const double done =
        u->step <= u->hyper->momentum_warmup ? (u->step - 1.0) / u->hyper->momentum_warmup : 1;

    return R(first + (mu - first) * done);
}

static Work work_of(const Update *u)
{
    int rows = u->rows, cols = u->cols;
    int n = rows < cols ? rows : cols;
    size_t all = product(rows, cols), square = product(n, n);
    double *squares = u->scratch;
    real *x = (real *)(squares + rows), *A = x + 2 * all;

    return (Work){ .u = u,
                   .w = u->t->data + u->first,
                   .m = u->moment[0] + u->first,
                   .g = u->t->grad + u->first,
                   .rows = rows,
                   .cols = cols,
                   .x = matrix(x, rows, cols),
                   .o = matrix(x + all, rows, cols),
                   .A = matrix(A, n, n),
                   .P = matrix(A + square, n, n),
                   .Q = matrix(A + 2 * square, n, n),
                   .T = matrix(A + 3 * square, n, n),
                   .squares = squares };
}

static void add_momentum(void *ctx, int begin, int end)
{
    const Work *w = ctx;
    const real scale = R(w->u->scale), mu = momentum_of(w->u);
    const int cols = w->cols;

    for (int i = begin; i < end; i++) {
        const real *g = w->g + product(i, cols);
        real *m = w->m + product(i, cols), *x = w->x.at + product(i, cols);

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

    for (size_t i = product(begin, w->cols); i < product(end, w->cols); i++)
        w->x.at[i] = R((double)w->x.at[i] * by);
}

/* P, where A^2 is until now. */
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

/* o: x after `steps` steps, with one A. */
static void iterate(Pool *pool, Work *w, int steps)
{
    const bool tall = w->rows > w->cols;
    const Matrix x = w->x, t = transposed(x);

    multiply(pool, w->A, tall ? t : x, tall ? x : t);
    make_P(pool, w);
    memcpy(w->Q.at, w->P.at, product(w->P.rows, w->P.cols) * sizeof(real));
    for (int step = 1; step < steps; step++) {
        Matrix Q = w->Q;

        multiply(pool, w->T, w->P, w->A);
        multiply(pool, w->A, w->T, w->P);
        make_P(pool, w);
        multiply(pool, w->T, w->P, Q);
        w->Q = w->T, w->T = Q;
    }
    gemm(pool, (Product){ .c = w->o, .a = tall ? x : w->Q, .b = tall ? w->Q : x });
}

static void orthogonalise(Pool *pool, Work *w)
{
    enum { AT_A_TIME = 5 };
    int left = w->u->hyper->ns_steps;

    for (; left > AT_A_TIME; left -= AT_A_TIME) {
        const Matrix x = w->x;

        iterate(pool, w, AT_A_TIME);
        w->x = w->o, w->o = x;
    }
    iterate(pool, w, left);
}

static void move(void *ctx, int begin, int end)
{
    const Work *w = ctx;
    const int longer = w->rows > w->cols ? w->rows : w->cols;
    const real rate = R(w->u->rate), size = R(0.2 * sqrt((double)longer));

    for (size_t i = product(begin, w->cols); i < product(end, w->cols); i++) {
        const real decay = update_decay(w->u, w->o.at[i], w->w[i]);

        w->w[i] -= rate * (size * w->o.at[i] + decay * w->w[i]);
    }
}

static void move_matrix(Pool *pool, const Update *u)
{
    Work w = work_of(u);
    int grain = (OPTIMISER_GRAIN + w.cols - 1) / w.cols;

    pool_for(pool, w.rows, grain, add_momentum, &w);
    for (int i = 0; i < w.rows; i++)
        w.norm += w.squares[i];
    w.norm = sqrt(w.norm);
    pool_for(pool, w.rows, grain, divide_by_norm, &w);
    orthogonalise(pool, &w);
    pool_for(pool, w.rows, grain, move, &w);
}

const OptimiserKind optimiser_muon = {
    .name = "muon",
    .summary = "Muon: orthogonalised updates for the blocks' matrices, AdamW for the rest",
    .moment = { "momentum" },
    .rate = 8e-3,
    .warmup = 30,
    .defaults = { .momentum = 0.95, .beta1 = 0.9, .beta2 = 0.99, .decay = 0.1, .ns_steps = 5 },
    .momentum_warmup = true,
    .rest = &optimiser_adamw,
    .scratch = scratch,
    .room = room,
    .matrix = move_matrix,
};
