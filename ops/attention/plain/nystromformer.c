/*
 * Nystromformer (Xiong et al., 2021, arXiv:2102.03902). The n keys that are not padding are cut
 * into m segments (n, if there are fewer keys), whose means are landmarks; segment r begins at
 * floor(r n / m). With softmaxes of rows of products divided by sqrt(D),
 *
 *     F = softmax(Q K~^T)      A = softmax(Q~ K~^T)      B = softmax(Q~ K^T)      O = F Z B V
 *
 * where Z approaches the pseudoinverse of A: Z_0 = A^T / (largest sum of a column), and six times
 *
 *     Z <- 1/4 Z (13 I - A Z (15 I - A Z (7 I - A Z)))
 *
 * Backward: for a product C = X Y it is dX = dC Y^T and dY = X^T dC.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

enum { STEPS = 6 };

typedef struct {
    const PlainHead *x;
    int m, n;
    double *Q, *K, *dQ, *dK; /* landmarks */
    double *A, *dA;
    double *Z[STEPS + 1], *P[STEPS], *U[STEPS], *V[STEPS], *W[STEPS];
} Nystrom;

typedef struct {
    int n, l, m;
} Sizes;

/* c += s a b for a (n, l) and b (l, m); the same with a^T for a (l, n), with b^T for b (m, l). */
static void product(double *c, double s, const double *a, const double *b, Sizes x)
{
    for (int i = 0; i < x.n; i++)
        for (int k = 0; k < x.l; k++)
            plain_add(c + i * x.m, s * a[i * x.l + k], b + k * x.m, x.m);
}

static void product_ta(double *c, double s, const double *a, const double *b, Sizes x)
{
    for (int i = 0; i < x.n; i++)
        for (int k = 0; k < x.l; k++)
            plain_add(c + i * x.m, s * a[k * x.n + i], b + k * x.m, x.m);
}

static void product_tb(double *c, double s, const double *a, const double *b, Sizes x)
{
    for (int i = 0; i < x.n; i++)
        for (int j = 0; j < x.m; j++)
            c[i * x.m + j] += s * plain_dot(a + i * x.l, b + j * x.l, x.l);
}

/* softmax(q k^T / sqrt(D)), and its backward. */
static double *weights(const PlainHead *x, const double *q, const double *k, int n, int m)
{
    double *s = plain_zeros(x, n * m), *A = plain_zeros(x, n * m);

    product_tb(s, 1 / sqrt((double)x->D), q, k, (Sizes){ n, x->D, m });
    for (int i = 0; i < n; i++)
        plain_softmax_of(s + i * m, A + i * m, m);
    return A;
}

typedef struct {
    double *rows, *d;
    int n;
} Side;

static void weights_back(const PlainHead *x, const double *A, const double *dA, Side q, Side k)
{
    double *ds = plain_zeros(x, q.n * k.n);

    for (int i = 0; i < q.n; i++)
        plain_softmax_back(A + i * k.n, dA + i * k.n, ds + i * k.n, k.n);
    product(q.d, 1 / sqrt((double)x->D), ds, k.rows, (Sizes){ q.n, k.n, x->D });
    product_ta(k.d, 1 / sqrt((double)x->D), ds, q.rows, (Sizes){ k.n, q.n, x->D });
}

static int begin(const Nystrom *y, int r)
{
    return r * y->n / y->m;
}

/* Means over segments, and their backward. */
static void means(const Nystrom *y, const double *x, double *to)
{
    for (int r = 0, D = y->x->D; r < y->m; r++)
        for (int i = begin(y, r); i < begin(y, r + 1); i++)
            plain_add(to + r * D, 1.0 / (begin(y, r + 1) - begin(y, r)), x + i * D, D);
}

static void means_back(const Nystrom *y, const double *d, double *dx)
{
    for (int r = 0, D = y->x->D; r < y->m; r++)
        for (int i = begin(y, r); i < begin(y, r + 1); i++)
            plain_add(dx + i * D, 1.0 / (begin(y, r + 1) - begin(y, r)), d + r * D, D);
}

/* s I - a b */
static double *rest(const Nystrom *y, double s, const double *a, const double *b)
{
    double *c = plain_zeros(y->x, y->m * y->m);

    for (int i = 0; i < y->m; i++)
        c[i * y->m + i] = s;
    product(c, -1, a, b, (Sizes){ y->m, y->m, y->m });
    return c;
}

/* The largest sum of a column of A, and which. */
static double widest(const Nystrom *y, int *which)
{
    double most = 0;

    for (int j = 0; j < y->m; j++) {
        double sum = 0;

        for (int i = 0; i < y->m; i++)
            sum += y->A[i * y->m + j];
        if (sum > most)
            most = sum, *which = j;
    }
    return most;
}

static void invert(Nystrom *y)
{
    const int m = y->m;
    const Sizes square = { m, m, m };
    int which = 0;
    double *one = plain_zeros(y->x, m * m), c = widest(y, &which);

    for (int i = 0; i < m; i++)
        one[i * m + i] = 1;
    for (int k = 0; k <= STEPS; k++)
        y->Z[k] = plain_zeros(y->x, m * m);
    product_ta(y->Z[0], 1 / c, y->A, one, square);
    for (int k = 0; k < STEPS; k++) {
        y->P[k] = plain_zeros(y->x, m * m);
        product(y->P[k], 1, y->A, y->Z[k], square);
        y->U[k] = rest(y, 7, y->P[k], one);
        y->V[k] = rest(y, 15, y->P[k], y->U[k]);
        y->W[k] = rest(y, 13, y->P[k], y->V[k]);
        product(y->Z[k + 1], 0.25, y->Z[k], y->W[k], square);
    }
}

/* Adds to dA, from the gradient of the last Z. */
static void invert_back(Nystrom *y, double *dZ)
{
    const int m = y->m;
    const Sizes square = { m, m, m };
    int which = 0;
    double c = widest(y, &which), dc = 0;

    for (int k = STEPS - 1; k >= 0; k--) {
        double *before = plain_zeros(y->x, m * m), *dW = plain_zeros(y->x, m * m);
        double *dV = plain_zeros(y->x, m * m), *dU = plain_zeros(y->x, m * m);
        double *dP = plain_zeros(y->x, m * m);

        product_tb(before, 0.25, dZ, y->W[k], square);
        product_ta(dW, 0.25, y->Z[k], dZ, square);
        product_tb(dP, -1, dW, y->V[k], square);
        product_ta(dV, -1, y->P[k], dW, square);
        product_tb(dP, -1, dV, y->U[k], square);
        product_ta(dU, -1, y->P[k], dV, square);
        plain_add(dP, -1, dU, m * m);
        product_tb(y->dA, 1, dP, y->Z[k], square);
        product_ta(before, 1, y->A, dP, square);
        dZ = before;
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            y->dA[i * m + j] += dZ[j * m + i] / c;
            dc -= dZ[j * m + i] * y->A[i * m + j] / (c * c);
        }
    for (int i = 0; i < m; i++)
        y->dA[i * m + which] += dc;
}

void plain_nystromformer(const PlainHead *x)
{
    const int n = x->length, most = setting_or_zero(&x->mix->set, "landmarks");
    const int m = most < n ? most : n, D = x->D, E = x->E, T = x->T;
    Nystrom y = { .x = x, .m = m, .n = n };

    if (n == 0)
        return;
    y.Q = plain_zeros(x, m * D), y.K = plain_zeros(x, m * D);
    means(&y, x->in.q, y.Q);
    means(&y, x->in.k, y.K);
    double *F = weights(x, x->in.q, y.K, T, m), *B = weights(x, y.Q, x->in.k, m, n);
    y.A = weights(x, y.Q, y.K, m, m);
    invert(&y);
    double *BV = plain_zeros(x, m * E), *ZBV = plain_zeros(x, m * E);
    product(BV, 1, B, x->in.v, (Sizes){ m, n, E });
    product(ZBV, 1, y.Z[STEPS], BV, (Sizes){ m, m, E });
    product(x->o, 1, F, ZBV, (Sizes){ T, m, E });
    if (!x->g)
        return;

    double *dF = plain_zeros(x, T * m), *dZBV = plain_zeros(x, m * E), *dB = plain_zeros(x, m * n);
    double *dBV = plain_zeros(x, m * E), *dZ = plain_zeros(x, m * m);
    y.dA = plain_zeros(x, m * m), y.dQ = plain_zeros(x, m * D), y.dK = plain_zeros(x, m * D);
    product_tb(dF, 1, x->g, ZBV, (Sizes){ T, E, m });
    product_ta(dZBV, 1, F, x->g, (Sizes){ m, T, E });
    product_tb(dZ, 1, dZBV, BV, (Sizes){ m, E, m });
    product_ta(dBV, 1, y.Z[STEPS], dZBV, (Sizes){ m, m, E });
    product_tb(dB, 1, dBV, x->in.v, (Sizes){ m, E, n });
    product_ta(x->d.v, 1, B, dBV, (Sizes){ n, m, E });
    invert_back(&y, dZ);
    weights_back(x, F, dF, (Side){ x->in.q, x->d.q, T }, (Side){ y.K, y.dK, m });
    weights_back(x, B, dB, (Side){ y.Q, y.dQ, m }, (Side){ x->in.k, x->d.k, n });
    weights_back(x, y.A, y.dA, (Side){ y.Q, y.dQ, m }, (Side){ y.K, y.dK, m });
    means_back(&y, y.dQ, x->d.q);
    means_back(&y, y.dK, x->d.k);
}
