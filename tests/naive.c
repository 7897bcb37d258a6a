#include "tests/naive.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = 1e-5; /* of both norms */

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

double naive_gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

double naive_silu(double x)
{
    return x / (1 + exp(-x));
}

double naive_swiglu(double a, double b)
{
    return naive_silu(a) * b;
}

void naive_dense(const NaiveDense *d, double *y)
{
    for (int i = 0; i < d->rows; i++) {
        double *yi = y + i * d->out;

        for (int j = 0; j < d->out; j++)
            yi[j] = (d->b ? d->b[j] : 0) + (d->r ? d->r[i * d->out + j] : 0);
        for (int l = 0; l < d->in; l++) {
            double x = d->x[i * d->in + l], fx = d->f ? d->f(x) : x;

            for (int j = 0; j < d->out; j++)
                yi[j] += fx * d->w[j * d->in + l];
        }
    }
}

void naive_embedding(const NaiveEmbedding *e, double *y)
{
    for (int b = 0; b < e->B; b++)
        for (int t = 0; t < e->T; t++)
            for (int c = 0; c < e->C; c++) {
                double sum = e->table[e->id[b * e->T + t] * e->C + c];

                if (e->position)
                    sum += e->position[t * e->C + c];
                y[(b * e->T + t) * e->C + c] = sum;
            }
}

void naive_rmsnorm(const double *x, const double *gain, int n, double *y)
{
    double square = dot(x, x, n) / n;

    for (int i = 0; i < n; i++)
        y[i] = x[i] / sqrt(square + epsilon) * gain[i];
}

void naive_layernorm(const double *x, const double *gain, const double *bias, int n, double *y)
{
    double mean = 0, variance = 0;

    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (x[i] - mean) / sqrt(variance + epsilon) * gain[i] + bias[i];
}

void naive_rope(const double *x, int position, int D, RopeScale scale, double *y)
{
    double s = scale.by > 0 ? scale.by : 1;

    for (int m = 0; m < D / 2; m++) {
        double angle = position * pow(10000, -2.0 * m / D);

        if (scale.kind == ROPE_LINEAR)
            angle /= s;
        else if (D > 2) /* what a base of 10000 s^(D/(D-2)) comes to */
            angle /= pow(s, 2.0 * m / (D - 2));

        y[2 * m] = x[2 * m] * cos(angle) - x[2 * m + 1] * sin(angle);
        y[2 * m + 1] = x[2 * m] * sin(angle) + x[2 * m + 1] * cos(angle);
    }
}

double naive_cross_entropy(const double *x, int target, int V)
{
    double most = -HUGE_VAL, sum = 0;

    if (target == -1)
        return 0;
    for (int i = 0; i < V; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < V; i++)
        sum += exp(x[i] - most);
    return log(sum) + most - x[target];
}
