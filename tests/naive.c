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

/* Where the row of position i, head h, sequence b begins in (B, T, H, width). */
static size_t row(const NaiveMix *m, int b, int i, int h, int width)
{
    return (((size_t)b * (size_t)m->T + (size_t)i) * (size_t)m->H + (size_t)h) * (size_t)width;
}

bool naive_sees(const NaiveMix *m, int b, int i, int j)
{
    if (m->length && j >= m->length[b])
        return false;
    return !m->causal || j <= i;
}

/* Row i of the attention matrix of head h of sequence b: 0 where i does not see. */
typedef void Weights(const NaiveMix *m, int b, int h, int i, double *A);

/* softmax over j in V(i) of q_i.k_j / sqrt(d) */
static void softmax_weights(const NaiveMix *m, int b, int h, int i, double *A)
{
    const double *q = m->q + row(m, b, i, h, m->D);
    double most = -HUGE_VAL, sum = 0;

    for (int j = 0; j < m->T; j++) {
        A[j] = dot(q, m->k + row(m, b, j, h, m->D), m->D) / sqrt((double)m->D);
        if (naive_sees(m, b, i, j) && A[j] > most)
            most = A[j];
    }
    for (int j = 0; j < m->T; j++) {
        A[j] = naive_sees(m, b, i, j) ? exp(A[j] - most) : 0;
        sum += A[j];
    }
    for (int j = 0; j < m->T && sum > 0; j++)
        A[j] /= sum;
}

/* o_i = sum over j in V(i) of A_ij v_j */
static void weigh(const NaiveMix *m, Weights *weights, double *o)
{
    double *A = malloc((size_t)m->T * sizeof *A);

    for (int b = 0; b < m->B; b++)
        for (int h = 0; h < m->H; h++)
            for (int i = 0; i < m->T; i++) {
                double *oi = o + row(m, b, i, h, m->E);

                weights(m, b, h, i, A);
                memset(oi, 0, (size_t)m->E * sizeof *oi);
                for (int j = 0; j < m->T; j++)
                    for (int e = 0; e < m->E; e++)
                        oi[e] += A[j] * m->v[row(m, b, j, h, m->E) + (size_t)e];
            }
    free(A);
}

static void softmax(const NaiveMix *m, double *o)
{
    weigh(m, softmax_weights, o);
}

/*
 * With s_ij = q_i.k_j / sqrt(d) and dA_ij = do_i.v_j:
 *     dv_j += A_ij do_i,    ds_ij = A_ij (dA_ij - sum over l of A_il dA_il),
 *     dq_i += ds_ij k_j / sqrt(d),    dk_j += ds_ij q_i / sqrt(d)
 */
static void softmax_row_gradient(const NaiveMix *m, int b, int h, int i, NaiveGradient d, double *A)
{
    const double *dO = d.o + row(m, b, i, h, m->E);
    size_t qi = row(m, b, i, h, m->D);
    double mean = 0;

    softmax_weights(m, b, h, i, A);
    for (int j = 0; j < m->T; j++)
        mean += A[j] * dot(dO, m->v + row(m, b, j, h, m->E), m->E);
    for (int j = 0; j < m->T; j++) {
        size_t kj = row(m, b, j, h, m->D), vj = row(m, b, j, h, m->E);
        double ds = A[j] * (dot(dO, m->v + vj, m->E) - mean);

        for (int e = 0; e < m->E; e++)
            d.v[vj + (size_t)e] += A[j] * dO[e];
        for (size_t c = 0; c < (size_t)m->D; c++) {
            d.q[qi + c] += ds * m->k[kj + c] / sqrt((double)m->D);
            d.k[kj + c] += ds * m->q[qi + c] / sqrt((double)m->D);
        }
    }
}

static void softmax_gradient(const NaiveMix *m, NaiveGradient d)
{
    double *A = malloc((size_t)m->T * sizeof *A);
    size_t n = row(m, m->B, 0, 0, 1);

    memset(d.q, 0, n * (size_t)m->D * sizeof *d.q);
    memset(d.k, 0, n * (size_t)m->D * sizeof *d.k);
    memset(d.v, 0, n * (size_t)m->E * sizeof *d.v);
    for (int b = 0; b < m->B; b++)
        for (int h = 0; h < m->H; h++)
            for (int i = 0; i < m->T; i++)
                softmax_row_gradient(m, b, h, i, d, A);
    free(A);
}

static const struct {
    const char *name;
    void (*mix)(const NaiveMix *m, double *o);
    void (*gradient)(const NaiveMix *m, NaiveGradient d); /* or NULL */
    bool averages;
} formulas[] = {
    { "softmax", softmax, softmax_gradient, true },
};

enum { FORMULAS = sizeof formulas / sizeof *formulas };

static int find(const char *name)
{
    int i = 0;

    while (i < FORMULAS && strcmp(formulas[i].name, name) != 0)
        i++;
    return i;
}

bool naive_attention(const char *name, const NaiveMix *m, double *o)
{
    int i = find(name);

    if (i < FORMULAS)
        formulas[i].mix(m, o);
    return i < FORMULAS;
}

bool naive_attention_gradient(const char *name, const NaiveMix *m, NaiveGradient d)
{
    int i = find(name);

    if (i == FORMULAS || !formulas[i].gradient)
        return false;
    formulas[i].gradient(m, d);
    return true;
}

bool naive_attention_averages(const char *name)
{
    int i = find(name);

    return i < FORMULAS && formulas[i].averages;
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

void naive_rope(const double *x, int position, int D, double *y)
{
    for (int m = 0; m < D / 2; m++) {
        double angle = position * pow(10000, -2.0 * m / D);

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
