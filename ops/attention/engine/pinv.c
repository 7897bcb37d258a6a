/*
 * Razavi's iteration, as in Nystromformer (Xiong et al., 2021, arXiv:2102.03902, equation 11).
 * With P = A Z,
 *
 *     U = 7 I - P      V = 15 I - P U      W = 13 I - P V      Z' = Z W / 4
 *
 * from Z_0 = A^T / (|A|_1 |A|_inf), where |A|_inf, the largest sum of a row, is 1 for a softmax,
 * and |A|_1 = c is the largest sum of a column. (The authors' code takes the maximum of c over a
 * whole batch; a sequence then depends on the others in its batch.)
 *
 * Backward, each step from the gradient of its Z',
 *
 *     dZ = dZ' W^T / 4                dW = Z^T dZ' / 4
 *     dP = -dW V^T - dV U^T - dU      dV = -P^T dW            dU = -P^T dV
 *     dA = dA + dP Z^T                dZ = dZ + A^T dP
 *
 * After six steps Z still depends on Z_0, so c does not count as a constant. With m the column with
 * the largest sum,
 *
 *     dA = dA + dZ_0^T / c            dc = -sum over all of dZ_0 * Z_0 / c
 *     dA_im = dA_im + dc              in all rows i
 *
 * and from A to its scores as in tiles.c: dS_ij = A_ij (dA_ij - sum over l of A_il dA_il).
 */
#include "ops/attention/engine/pinv.h"

#include "ops/kernel/elementary.h"
#include "ops/kernel/transpose.h"

#include <string.h>

static int rows_of(int M)
{
    return up_to(M, MR);
}

size_t pinv_scratch(int M)
{
    return (size_t)PINV_MATRICES * (size_t)rows_of(M) * (size_t)up_to(M, NR) + MR;
}

Pinv pinv_carve(int M, real **free)
{
    Pinv p = { .M = M, .ld = up_to(M, NR) };
    real **const each[] = { &p.A, &p.dA, &p.dZ, &p.P,  &p.U,  &p.V,
                            &p.W, &p.dP, &p.dU, &p.dV, &p.dW, &p.t };

    for (int i = 0; i <= PINV_STEPS; i++)
        p.Z[i] = carve(free, rows_of(M), p.ld);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        *each[i] = carve(free, rows_of(M), p.ld);
    p.dS = p.dA;
    return p;
}

static Rows all(const Pinv *p, const real *x)
{
    return (Rows){ (real *)x, p->ld, 0, rows_of(p->M) };
}

static void times(const Pinv *p, real *c, const real *a, const real *b, bool add)
{
    rows_multiply(all(p, c), all(p, a), p->M, b, add);
}

static void times_transposed(const Pinv *p, real *c, const real *a, const real *b, bool add)
{
    transpose(p->t, p->ld, (Strided){ b, p->ld, 1, p->M, p->M });
    times(p, c, a, p->t, add);
}

/* c = a^T b */
static void transposed_times(const Pinv *p, real *c, const real *a, const real *b)
{
    memset(c, 0, (size_t)(rows_of(p->M) * p->ld) * sizeof(real));
    rows_multiply_over(c, p->M, all(p, a), all(p, b), p->M);
}

/* x = s x, and x = d I - x. */
static void scale(const Pinv *p, real *x, real s)
{
    for (int i = 0; i < p->M; i++)
        for (int j = 0; j < p->M; j++)
            x[i * p->ld + j] *= s;
}

static void from_diagonal(const Pinv *p, real *x, real d)
{
    scale(p, x, -1);
    for (int i = 0; i < p->M; i++)
        x[i * p->ld + i] += d;
}

/* P, U, V and W of a step. */
static void factors(const Pinv *p, const real *Z)
{
    times(p, p->P, p->A, Z, false);
    memcpy(p->U, p->P, (size_t)(rows_of(p->M) * p->ld) * sizeof(real));
    from_diagonal(p, p->U, 7);
    times(p, p->V, p->P, p->U, false);
    from_diagonal(p, p->V, 15);
    times(p, p->W, p->P, p->V, false);
    from_diagonal(p, p->W, 13);
}

/* The largest sum of a column, and which. */
static void find_widest(Pinv *p)
{
    p->sum = 0, p->widest = 0;
    for (int j = 0; j < p->M; j++) {
        real sum = 0;

        for (int i = 0; i < p->M; i++)
            sum += p->A[i * p->ld + j];
        if (sum > p->sum)
            p->sum = sum, p->widest = j;
    }
}

static void softmax(const Pinv *p)
{
    for (int i = 0; i < p->M; i++) {
        real *a = row_of(p->A, i, p->ld);
        const real sum = row_exp(a, p->M, row_max(a, p->M, -R(HUGE_VAL)));

        for (int j = 0; j < p->M; j++)
            a[j] /= sum;
    }
}

/* dS in place of dA. */
static void softmax_backward(const Pinv *p)
{
    for (int i = 0; i < p->M; i++) {
        const real *a = row_of(p->A, i, p->ld);
        real *ds = row_of(p->dS, i, p->ld), sum = row_dot(a, ds, p->M);

        for (int j = 0; j < p->M; j++)
            ds[j] = a[j] * (ds[j] - sum);
    }
}

void pinv_forward(Pinv *p)
{
    softmax(p);
    find_widest(p);
    transpose(p->Z[0], p->ld, (Strided){ p->A, p->ld, 1, p->M, p->M });
    scale(p, p->Z[0], 1 / p->sum);
    for (int k = 0; k < PINV_STEPS; k++) {
        factors(p, p->Z[k]);
        times(p, p->Z[k + 1], p->Z[k], p->W, false);
        scale(p, p->Z[k + 1], R(0.25));
    }
}

/* dZ of a step from that of the next; adds to dA. */
static void step_backward(const Pinv *p, const real *Z)
{
    const size_t bytes = (size_t)(rows_of(p->M) * p->ld) * sizeof(real);

    factors(p, Z);
    scale(p, p->dZ, R(0.25));
    transposed_times(p, p->dW, Z, p->dZ);
    times_transposed(p, p->dP, p->dZ, p->W, false);
    memcpy(p->dZ, p->dP, bytes);
    scale(p, p->dW, -1);
    times_transposed(p, p->dP, p->dW, p->V, false);
    transposed_times(p, p->dV, p->P, p->dW);
    scale(p, p->dV, -1);
    times_transposed(p, p->dP, p->dV, p->U, true);
    transposed_times(p, p->dU, p->P, p->dV);
    for (int i = 0; i < p->M * p->ld; i++)
        p->dP[i] -= p->dU[i];
    times_transposed(p, p->dA, p->dP, Z, true);
    rows_multiply_over(p->dZ, p->M, all(p, p->A), all(p, p->dP), p->M);
}

void pinv_backward(const Pinv *p)
{
    real dc = 0;

    memset(p->dA, 0, (size_t)(rows_of(p->M) * p->ld) * sizeof(real));
    for (int k = PINV_STEPS - 1; k >= 0; k--)
        step_backward(p, p->Z[k]);
    for (int i = 0; i < p->M; i++)
        for (int j = 0; j < p->M; j++) {
            p->dA[j * p->ld + i] += p->dZ[i * p->ld + j] / p->sum;
            dc -= p->dZ[i * p->ld + j] * p->Z[0][i * p->ld + j] / p->sum;
        }
    for (int i = 0; i < p->M; i++)
        p->dA[i * p->ld + p->widest] += dc;
    softmax_backward(p);
}
