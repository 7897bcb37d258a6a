/*
 * Orthogonal random features (Choromanski et al., 2021, arXiv:2009.14794, section 2.4): each row
 * of omega is distributed like D independent standard normal variables, as the estimate of
 * e^(q . k) requires, but rows within a block of D are orthogonal, which reduces the variance.
 *
 * A block starts as rows of standard normal samples, which the Gram-Schmidt method
 * orthonormalises, each row against those before it,
 *
 *     w_r <- w_r - sum over s < r of (w_r . w_s) w_s,        w_r <- w_r / |w_r|
 *
 * where each product uses the current w_r; a second round removes the rounding error of the first.
 * Then each row is multiplied by the length of another row of D such samples. If m is not a
 * multiple of D, a head's last block has fewer rows.
 */
#include "ops/attention/engine/directions.h"

#include "ops/base/error.h"

#include <math.h>
#include <stdlib.h>

static double dot(const double *a, const double *b, int D)
{
    double sum = 0;

    for (int d = 0; d < D; d++)
        sum += a[d] * b[d];
    return sum;
}

/* The row of D standard normal samples with this index in the stream. */
static void draw_row(double *w, int D, Random random, size_t number)
{
    for (int d = 0; d < D; d++)
        w[d] = random_normal(random, number * (size_t)D + (size_t)d);
}

static void subtract_rows_before(double *block, int r, int D)
{
    double *w = block + (size_t)r * (size_t)D;

    for (const double *before = block; before < w; before += D) {
        double along = dot(w, before, D);

        for (int d = 0; d < D; d++)
            w[d] -= along * before[d];
    }
}

/* Draws row r of the block, orthogonal to the rows before it; returns the length to give it. */
static double make_row(double *block, int r, int D, Random random, size_t number)
{
    double *w = block + (size_t)r * (size_t)D;

    draw_row(w, D, random, 2 * number + 1);
    double length = sqrt(dot(w, w, D));
    draw_row(w, D, random, 2 * number);
    for (int time = 0; time < 2; time++) {
        subtract_rows_before(block, r, D);
        double by = 1 / sqrt(dot(w, w, D));

        for (int d = 0; d < D; d++)
            w[d] *= by;
    }
    return length;
}

void directions_draw(Tensor *omega, Random random)
{
    int m = omega->dim[1], D = omega->dim[2], rows = tensor_rows(omega);
    double *block = xmalloc((size_t)(m < D ? m : D) * (size_t)D * sizeof *block);

    for (int i = 0; i < rows; i++) {
        int r = i % m % D;
        double length = make_row(block, r, D, random, (size_t)i);

        for (int d = 0; d < D; d++)
            omega->data[(size_t)i * (size_t)D + (size_t)d] =
                R(length * block[(size_t)r * (size_t)D + (size_t)d]);
    }
    free(block);
}

void directions_draw_normal(Tensor *omega, Random random)
{
    for (size_t i = 0; i < omega->n; i++)
        omega->data[i] = R(random_normal(random, i));
}
