#include "tests/naive.h"

#include <math.h>
#include <string.h>

/* f of each of the n numbers of operand 0. */
static void each(const OpCall *c, double *const *x, double (*f)(double), double *y)
{
    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = f(x[0][i]);
}

static double gelu_of(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

double naive_silu(double x)
{
    return x / (1 + exp(-x));
}

static double relu2_of(double x)
{
    return fmax(x, 0) * fmax(x, 0);
}

static double twice(double x)
{
    return x + x;
}

static double itself(double x)
{
    return x;
}

static void gelu(const OpCall *c, double *const *x, double *y)
{
    each(c, x, gelu_of, y);
}

static void cap(const OpCall *c, double *const *x, double *y)
{
    const double most = c->row->p;

    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = most * tanh(x[0][i] / most);
}

static void relu2(const OpCall *c, double *const *x, double *y)
{
    each(c, x, relu2_of, y);
}

static void silu(const OpCall *c, double *const *x, double *y)
{
    each(c, x, naive_silu, y);
}

static void swiglu(const OpCall *c, double *const *x, double *y)
{
    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = naive_silu(x[0][i]) * x[1][i];
}

static void add(const OpCall *c, double *const *x, double *y)
{
    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = x[0][i] + x[1][i];
}

static void multiply(const OpCall *c, double *const *x, double *y)
{
    for (int i = 0; i < c->size.B * c->size.T * c->size.C; i++)
        y[i] = x[0][i] * x[1][i];
}

static void multiply_with_itself(const OpCall *c, double *const *x, double *y)
{
    for (int i = 0; i < c->size.B * c->size.T * c->size.C; i++)
        y[i] = x[0][i] * x[0][i];
}

static void add_to_itself(const OpCall *c, double *const *x, double *y)
{
    each(c, x, twice, y);
}

/* With the same draws as the row of the table; a draw below p drops the number. */
static void dropout(const OpCall *c, double *const *x, double *y)
{
    Random r = random_stream(3, RANDOM_DROPOUT, 1);
    double p = c->row->p;

    for (size_t i = 0; i < c->x[0]->n; i++)
        y[i] = random_uniform(r, i) < p ? 0 : x[0][i] / (1 - p);
}

static void dropout_of_nothing(const OpCall *c, double *const *x, double *y)
{
    each(c, x, itself, y);
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

static void dense_of(const OpCall *c, double *const *x, double (*f)(double), double *y)
{
    OpSize s = c->size;

    naive_dense(&(NaiveDense){ x[0], x[2], x[3], x[1], f, s.B * s.T, s.C, s.O }, y);
}

static void dense(const OpCall *c, double *const *x, double *y)
{
    dense_of(c, x, NULL, y);
}

static void dense_of_gelu(const OpCall *c, double *const *x, double *y)
{
    dense_of(c, x, gelu_of, y);
}

static void dense_of_silu(const OpCall *c, double *const *x, double *y)
{
    dense_of(c, x, naive_silu, y);
}

static void dense_of_relu2(const OpCall *c, double *const *x, double *y)
{
    dense_of(c, x, relu2_of, y);
}

void naive_rmsnorm(const double *x, const double *gain, double epsilon, int n, double *y)
{
    double square = 0;

    for (int i = 0; i < n; i++)
        square += x[i] * x[i] / n;
    for (int i = 0; i < n; i++)
        y[i] = x[i] / sqrt(square + epsilon) * (gain ? gain[i] : 1);
}

static void rmsnorm(const OpCall *c, double *const *x, double *y)
{
    int C = c->size.C;

    for (int i = 0; i < c->size.B * c->size.T; i++)
        naive_rmsnorm(x[0] + i * C, x[1], c->row->p, C, y + i * C);
}

void naive_layernorm(const double *x, const double *const gain[2], double epsilon, int n, double *y)
{
    double mean = 0, variance = 0;

    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (x[i] - mean) / sqrt(variance + epsilon) * gain[0][i] + gain[1][i];
}

static void layernorm(const OpCall *c, double *const *x, double *y)
{
    int C = c->size.C;

    for (int i = 0; i < c->size.B * c->size.T; i++)
        naive_layernorm(x[0] + i * C, (const double *const[]){ x[1], x[2] }, c->row->p, C,
                        y + i * C);
}

static void scale_offset(const OpCall *c, double *const *x, double *y)
{
    int C = c->size.C;

    for (int i = 0; i < c->size.B * c->size.T * C; i++)
        y[i] = x[1][i % C] * x[0][i] + x[2][i % C];
}

/* Three times, in blocks of `size` numbers. */
static void repeat_blocks(const OpCall *c, const double *x, int size, double *y)
{
    for (int i = 0; i < 3 * c->size.B * c->size.T * c->size.C; i++)
        y[i] = x[i / (3 * size) * size + i % size];
}

static void repeat(const OpCall *c, double *const *x, double *y)
{
    repeat_blocks(c, x[0], c->size.T * c->size.C, y);
}

static void repeat_rows(const OpCall *c, double *const *x, double *y)
{
    repeat_blocks(c, x[0], c->size.C, y);
}

static void scale_rows(const OpCall *c, double *const *x, double *y)
{
    for (int i = 0; i < c->size.B * c->size.T * c->size.C; i++)
        y[i] = x[1][i / c->size.C] * x[0][i];
}

static void scale_positions(const OpCall *c, double *const *x, double *y)
{
    for (int i = 0; i < c->size.B * c->size.T * c->size.C; i++)
        y[i] = x[1][i / c->size.C % c->size.T] * x[0][i];
}

static void mean(const OpCall *c, double *const *x, double *y)
{
    int T = c->size.T, C = c->size.C;

    for (int i = 0; i < c->size.B * C; i++) {
        int b = i / C, n = c->id && c->id[b] < T ? c->id[b] : T;

        y[i] = 0;
        for (int t = 0; t < n; t++)
            y[i] += x[0][(b * T + t) * C + i % C] / n;
    }
}

static void average(const OpCall *c, double *const *x, double *y)
{
    int T = c->size.T, C = c->size.C;

    for (int b = 0; b < c->size.B; b++) {
        int n = c->id && c->id[b] < T ? c->id[b] : T;
        double sum = 0;

        for (int i = 0; i < C; i++)
            y[b * C + i] = 0;
        for (int t = 0; t < n; t++) {
            const double *row = x[0] + (b * T + t) * C;
            double s = 0;

            for (int i = 0; i < C; i++)
                s += row[i] * x[1][i] / sqrt(C);
            sum += exp(s);
            for (int i = 0; i < C; i++)
                y[b * C + i] += exp(s) * row[i];
        }
        for (int i = 0; n > 0 && i < C; i++)
            y[b * C + i] /= sum;
    }
}

static void each_of(const OpCall *c, const double *x, double (*f)(double), double *y)
{
    for (int i = 0; i < c->size.B * c->size.T * c->size.C; i++)
        y[i] = f(x[i]);
}

static double naive_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double naive_log_sigmoid(double x)
{
    return log(naive_sigmoid(x));
}

static double naive_softplus(double x)
{
    return log(1 + exp(x));
}

static double identity(double x)
{
    return x;
}

static void of_sigmoid(const OpCall *c, double *const *x, double *y)
{
    each_of(c, x[0], naive_sigmoid, y);
}

static void of_log_sigmoid(const OpCall *c, double *const *x, double *y)
{
    each_of(c, x[0], naive_log_sigmoid, y);
}

static void of_softplus(const OpCall *c, double *const *x, double *y)
{
    each_of(c, x[0], naive_softplus, y);
}

static void scale_columns(const OpCall *c, const double *A, double by, double *y)
{
    for (int i = 0; i < c->size.B * c->size.T * c->size.C; i++)
        y[i] *= A ? -by * exp(A[i % c->size.C]) : by;
}

static void gate(const OpCall *c, double *const *x, double *y)
{
    each_of(c, x[0], identity, y);
    scale_columns(c, x[1], 0.25, y);
}

static void gate_of_log_sigmoid(const OpCall *c, double *const *x, double *y)
{
    each_of(c, x[0], naive_log_sigmoid, y);
    scale_columns(c, x[1], 2, y);
}

/* y_t = sum over j of w_j x_(t+ahead-j), among the first n positions of each sequence. */
static void convolve(const OpCall *c, double *const *x, int K, int ahead, double *y)
{
    const int T = c->size.T, C = c->size.C;

    for (int i = 0; i < c->size.B * T * C; i++) {
        const int b = i / (T * C), t = i / C % T, n = c->id && c->id[b] < T ? c->id[b] : T;

        y[i] = 0;
        for (int j = 0; j < K; j++)
            if (t < n && t + ahead - j >= 0 && t + ahead - j < n)
                y[i] += x[1][j * C + i % C] * x[0][i + (ahead - j) * C];
    }
}

static void conv(const OpCall *c, double *const *x, double *y)
{
    convolve(c, x, c->row->K, 0, y);
}

static void centred_conv(const OpCall *c, double *const *x, double *y)
{
    convolve(c, x, 3, 1, y);
}

static void l2norm(const OpCall *c, double *const *x, double *y)
{
    const int C = c->size.C;

    for (int i = 0; i < c->size.B * c->size.T; i++) {
        const double *row = x[0] + i * C;
        double square = 0;

        for (int l = 0; l < C; l++)
            square += row[l] * row[l];
        for (int l = 0; l < C; l++)
            y[i * C + l] = row[l] / sqrt(square + 1e-6);
    }
}

/* Rows 0, 2, 4, .. of x. */
static void pick(const OpCall *c, double *const *x, double *y)
{
    const int C = c->size.C;

    for (int i = 0; i < (c->size.T + 1) / 2 * C; i++)
        y[i] = x[0][i / C * 2 * C + i % C];
}

/* Row k of x in row 2 k. */
static void place(const OpCall *c, double *const *x, double *y)
{
    const int C = c->size.C;

    for (int i = 0; i < (2 * c->size.T + 1) * C; i++)
        y[i] = i / C % 2 == 0 && i / C < 2 * c->size.T ? x[0][i / C / 2 * C + i % C] : 0;
}

static void pair(const OpCall *c, double *const *x, double *y)
{
    int C = c->size.C;

    for (int i = 0; i < c->size.B * C; i++) {
        double u = x[0][i / C * 2 * C + i % C], v = x[0][(i / C * 2 + 1) * C + i % C];
        double parts[] = { u, v, u * v, u - v };

        for (int k = 0; k < 4; k++)
            y[i / C * 4 * C + k * C + i % C] = parts[k];
    }
}

/* y[b][t] = table[id[b][t]] + position[OP_FROM + t], or without position */
static void embedding(const OpCall *c, double *const *x, double *y)
{
    int T = c->size.T, C = c->size.C;

    for (int i = 0; i < c->size.B * T * C; i++) {
        int at = i / C, position = OP_FROM + at % T;

        y[i] = x[0][c->id[at] * C + i % C] + (x[1] ? x[1][position * C + i % C] : 0);
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

static void cross_entropy(const OpCall *c, double *const *x, double *y)
{
    for (int i = 0; i < c->size.B * c->size.T; i++)
        y[i] = naive_cross_entropy(x[0] + i * c->size.V, c->id[i], c->size.V);
}

void naive_rope(const double *x, int position, int D, RopeScale scale, double *y)
{
    double s = scale.by > 0 ? scale.by : 1, base = scale.base > 0 ? scale.base : 10000;

    for (int m = 0; m < D / 2; m++) {
        double angle = position * pow(base, -2.0 * m / D);

        if (scale.kind == ROPE_LINEAR)
            angle /= s;
        else if (D > 2) /* what a base times s^(D/(D-2)) comes to */
            angle /= pow(s, 2.0 * m / (D - 2));

        y[2 * m] = x[2 * m] * cos(angle) - x[2 * m + 1] * sin(angle);
        y[2 * m + 1] = x[2 * m] * sin(angle) + x[2 * m + 1] * cos(angle);
    }
}

static const struct {
    const char *name;
    OpFormula *formula;
} formulas[] = {
    { "gelu", gelu },
    { "silu", silu },
    { "relu2", relu2 },
    { "sigmoid", of_sigmoid },
    { "log sigmoid", of_log_sigmoid },
    { "softplus", of_softplus },
    { "gate", gate },
    { "gate of log sigmoid", gate_of_log_sigmoid },
    { "conv", conv },
    { "conv without padding", conv },
    { "centred conv without padding", centred_conv },
    { "cap", cap },
    { "swiglu", swiglu },
    { "add", add },
    { "add to itself", add_to_itself },
    { "multiply", multiply },
    { "multiply with itself", multiply_with_itself },
    { "dropout", dropout },
    { "dropout of nothing", dropout_of_nothing },
    { "dense", dense },
    { "dense of gelu", dense_of_gelu },
    { "dense of silu", dense_of_silu },
    { "dense of relu2", dense_of_relu2 },
    { "rmsnorm", rmsnorm },
    { "l2norm", l2norm },
    { "layernorm", layernorm },
    { "scale and offset", scale_offset },
    { "scale rows", scale_rows },
    { "scale rows by a few numbers", scale_positions },
    { "repeat", repeat },
    { "repeat rows", repeat_rows },
    { "pick", pick },
    { "place", place },
    { "mean", mean },
    { "mean without padding", mean },
    { "average", average },
    { "average without padding", average },
    { "pair", pair },
    { "embedding", embedding },
    { "embedding, repeated tokens", embedding },
    { "embedding, fixed positions", embedding },
    { "cross entropy", cross_entropy },
    { "cross entropy, ignored rows", cross_entropy },
};

OpFormula *naive_op(const char *name)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (strcmp(formulas[i].name, name) == 0)
            return formulas[i].formula;
    return NULL;
}
