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

/* A mechanism at head h of sequence b. */
typedef struct Mechanism Mechanism;
typedef struct {
    const Mechanism *of;
    const NaiveMix *m;
    int b, h;
} Head;

struct Mechanism {
    const char *name;
    void (*mix)(const Head *at, double *o);    /* o (T, E), where A is not all there is to it */
    void (*matrix)(const Head *at, double *A); /* (T, T), and 0 where i does not see j */
    /* Feature maps: of one number, or of all D numbers of position i. */
    double (*each)(double x);
    void (*all)(const Head *at, const double *x, int i, double *phi);
    bool averages; /* without RoPE: it has an A with rows >= 0 that sum to 1 */
};

static double *numbers(int rows, int columns)
{
    double *x = calloc((size_t)rows * (size_t)columns + 1, sizeof *x);

    if (!x)
        abort();
    return x;
}

/* Where the row of position i begins in (B, T, H, width). */
static size_t row(const Head *at, int i, int width)
{
    const NaiveMix *m = at->m;

    return (((size_t)at->b * (size_t)m->T + (size_t)i) * (size_t)m->H + (size_t)at->h) *
           (size_t)width;
}

/* This head's (T, width) out of (B, T, H, width), and back. */
static double *head(const Head *at, const double *x, int width)
{
    double *y = numbers(at->m->T, width);

    for (int i = 0; i < at->m->T; i++)
        memcpy(y + i * width, x + row(at, i, width), (size_t)width * sizeof *y);
    return y;
}

static void put_head(const Head *at, const double *y, int width, double *x)
{
    for (int i = 0; i < at->m->T; i++)
        memcpy(x + row(at, i, width), y + i * width, (size_t)width * sizeof *y);
}

/* Every row of (T, width) turned by its position, `way` 1, or back, -1. Frees x. */
static double *turned(const Head *at, double *x, int width, int way)
{
    int T = at->m->T;
    double *y = numbers(T, width);

    for (int i = 0; i < T; i++)
        naive_rope(x + i * width, way * i, width, at->m->set.rope_scale, y + i * width);
    free(x);
    return y;
}

static double *head_turned(const Head *at, const double *x, int width)
{
    double *y = head(at, x, width);

    return at->m->set.rope ? turned(at, y, width, 1) : y;
}

bool naive_sees(const NaiveMix *m, int b, int i, int j)
{
    if (m->length && j >= m->length[b])
        return false;
    if (m->causal && j > i)
        return false;
    return m->set.window == 0 || abs(i - j) <= m->set.window;
}

static bool sees(const Head *at, int i, int j)
{
    return naive_sees(at->m, at->b, i, j);
}

/* n_i = |V(i)| */
static int seen(const Head *at, int i)
{
    int n = 0;

    for (int j = 0; j < at->m->T; j++)
        n += sees(at, i, j);
    return n;
}

static double guard(double x)
{
    return x >= 0 ? fmax(x, 1e-6) : fmin(x, -1e-6);
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double base(const NaiveMix *m)
{
    return m->set.base == 0 ? 512 : m->set.base;
}

/* Softmax of s over V(i), in place; 0 elsewhere, and everywhere if V(i) is empty. */
static void softmax_of_row(const Head *at, int i, double *s)
{
    double most = -HUGE_VAL, sum = 0;

    for (int j = 0; j < at->m->T; j++)
        if (sees(at, i, j))
            most = fmax(most, s[j]);
    for (int j = 0; j < at->m->T; j++) {
        s[j] = sees(at, i, j) ? exp(s[j] - most) : 0;
        sum += s[j];
    }
    for (int j = 0; j < at->m->T && sum > 0; j++)
        s[j] /= sum;
}

/* s_ij = q_i.k_j / sqrt(d), also where i does not see j */
static void scores(const Head *at, double *s)
{
    int T = at->m->T, D = at->m->D;
    double *q = head_turned(at, at->m->q, D), *k = head_turned(at, at->m->k, D);

    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            s[i * T + j] = dot(q + i * D, k + j * D, D) / sqrt(D);
    free(q);
    free(k);
}

/* tau_i sqrt(d) */
static double scale_factor(const NaiveMix *m, Scale scale, int n)
{
    if (scale == SCALE_ENTROPY)
        return log(n > 16 ? n : 16) / log(base(m));
    if (scale == SCALE_LOGN && n > 0)
        return fmax(1, log(n) / log(base(m)));
    return 1;
}

static void softmax_matrix(const Head *at, Scale scale, double *A)
{
    int T = at->m->T;

    scores(at, A);
    for (int i = 0; i < T; i++) {
        double factor = scale_factor(at->m, scale, seen(at, i));

        for (int j = 0; j < T; j++)
            A[i * T + j] *= factor;
        softmax_of_row(at, i, A + i * T);
    }
}

static void softmax(const Head *at, double *A)
{
    softmax_matrix(at, at->m->set.scale, A);
}

static bool is_softmax(const Mechanism *of, Settings set)
{
    return of->matrix == softmax || set.norm >= GAU_SOFTMAX;
}

/* What relu(s)^2 is divided by in row i. */
static double gau_denominator(const Head *at, int i, const double *s)
{
    double n = seen(at, i), sum = 0;

    switch (at->m->set.norm) {
    case GAU_N:
        return n;
    case GAU_FIXED:
        return base(at->m);
    case GAU_N2:
        return n * n;
    default:
        for (int j = 0; j < at->m->T; j++)
            sum += sees(at, i, j) ? relu(s[j]) * relu(s[j]) : 0;
        return guard(sum);
    }
}

static Scale gau_scale(GauNorm norm)
{
    return norm == GAU_ENTROPY ? SCALE_ENTROPY : norm == GAU_LOGN ? SCALE_LOGN : SCALE_SQRT;
}

static void gau(const Head *at, double *A)
{
    int T = at->m->T;

    if (at->m->set.norm >= GAU_SOFTMAX) {
        softmax_matrix(at, gau_scale(at->m->set.norm), A);
        return;
    }
    scores(at, A);
    for (int i = 0; i < T; i++) {
        double *s = A + i * T, denominator = gau_denominator(at, i, s);

        for (int j = 0; j < T; j++)
            s[j] = sees(at, i, j) ? relu(s[j]) * relu(s[j]) / denominator : 0;
    }
}

static double elu_plus_1(double x)
{
    return x >= 0 ? x + 1 : exp(x);
}

static double itself(double x)
{
    return x;
}

static double leaky(double x)
{
    return x >= 0 ? x : 0.01 * x;
}

/* relu(x) cos(pi (i+1) / 2M), beside relu(x) sin(pi (i+1) / 2M), M = max(n, horizon) */
static void cosformer(const Head *at, const double *x, int i, double *phi)
{
    const NaiveMix *m = at->m;
    double M = m->T > m->set.horizon ? m->T : m->set.horizon;
    double angle = acos(-1) * (i + 1) / (2 * M);

    for (int c = 0; c < m->D; c++) {
        phi[c] = relu(x[c]) * cos(angle);
        phi[m->D + c] = relu(x[c]) * sin(angle);
    }
}

/* e^(omega_r.x' - x'.x'/2) / sqrt(m), x' = x d^(-1/4) */
static void performer(const Head *at, const double *x, int i, double *phi)
{
    const NaiveMix *m = at->m;
    const double *omega = m->omega + (size_t)(at->h * m->features) * (size_t)m->D;
    double root = pow(m->D, -0.25);

    (void)i;
    for (int r = 0; r < m->features; r++)
        phi[r] = exp(root * dot(omega + r * m->D, x, m->D) - root * root * dot(x, x, m->D) / 2) /
                 sqrt(m->features);
}

static int features(const Head *at)
{
    return at->of->all == cosformer   ? 2 * at->m->D
           : at->of->all == performer ? at->m->features
                                      : at->m->D;
}

/* phi of every row of q, or psi of every row of k: (T, features) */
static double *mapped(const Head *at, const double *x)
{
    int T = at->m->T, D = at->m->D, F = features(at);
    double *rows = head(at, x, D), *phi = numbers(T, F);

    for (int i = 0; i < T; i++)
        if (at->of->all)
            at->of->all(at, rows + i * D, i, phi + i * F);
        else
            for (int c = 0; c < D; c++)
                phi[i * F + c] = at->of->each(rows[i * D + c]);
    free(rows);
    return phi;
}

/* A_ij = phi(q_i).psi(k_j) / guard(sum over l in V(i) of phi(q_i).psi(k_l)); RoPE turns the upper
 */
static void linear(const Head *at, double *A)
{
    int T = at->m->T, F = features(at);
    double *phi = mapped(at, at->m->q), *psi = mapped(at, at->m->k), *lower = numbers(T, 1);

    for (int i = 0; i < T; i++) {
        for (int l = 0; l < T; l++)
            lower[i] += sees(at, i, l) ? dot(phi + i * F, psi + l * F, F) : 0;
        lower[i] = guard(lower[i]);
    }
    if (at->m->set.rope) {
        phi = turned(at, phi, F, 1);
        psi = turned(at, psi, F, 1);
    }
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            A[i * T + j] = sees(at, i, j) ? dot(phi + i * F, psi + j * F, F) / lower[i] : 0;
    free(phi);
    free(psi);
    free(lower);
}

/* phi_f(q): the softmax over the features of one q */
static void softmax_of_features(const double *q, int D, double *phi)
{
    double most = -HUGE_VAL, sum = 0;

    for (int f = 0; f < D; f++)
        most = fmax(most, q[f]);
    for (int f = 0; f < D; f++)
        sum += exp(q[f] - most);
    for (int f = 0; f < D; f++)
        phi[f] = exp(q[f] - most) / sum;
}

/* A_ij = sum over f of phi_f(q_i) e^(k_jf) / (sum over l in V(i) of e^(k_lf)) */
static void efficient(const Head *at, double *A)
{
    int T = at->m->T, D = at->m->D;
    double *q = head(at, at->m->q, D), *k = head(at, at->m->k, D);
    double *phi = numbers(1, D), *weight = numbers(1, T);

    memset(A, 0, (size_t)T * (size_t)T * sizeof *A);
    for (int i = 0; i < T; i++) {
        softmax_of_features(q + i * D, D, phi);
        for (int f = 0; f < D; f++) {
            for (int j = 0; j < T; j++)
                weight[j] = k[j * D + f];
            softmax_of_row(at, i, weight);
            for (int j = 0; j < T; j++)
                A[i * T + j] += phi[f] * weight[j];
        }
    }
    free(q);
    free(k);
    free(phi);
    free(weight);
}

/*
 * o_i = sum over j in i's own chunk and V(i) of relu(q_i.k_j / sqrt(s))^2 / C v_j
 *     + ql_i^T (sum over the chunks that count of L_c) / (how many count),
 * L_c = sum over the unpadded j in c of kl_j v_j^T / C: so ql_i.kl_j / C / (how many) is in A.
 * Those count that are strictly earlier; without a mask, all with an unpadded key.
 */
static void flash(const Head *at, double *A)
{
    const NaiveMix *m = at->m;
    int T = m->T, D = m->D, C = m->set.chunk == 0 ? 256 : m->set.chunk;
    int length = m->length ? m->length[at->b] : T;
    double *ql = head_turned(at, m->ql, D), *kl = head_turned(at, m->kl, D);

    scores(at, A);
    for (int i = 0; i < T; i++) {
        int count = m->causal ? i / C : (length + C - 1) / C;

        for (int j = 0; j < T; j++) {
            double s = relu(A[i * T + j]);
            bool counts = j < length && (!m->causal || j / C < i / C);

            A[i * T + j] = i / C == j / C && sees(at, i, j) ? s * s / C : 0;
            if (counts)
                A[i * T + j] += dot(ql + i * D, kl + j * D, D) / C / count;
        }
    }
    free(ql);
    free(kl);
}

/* pool(x, w)_i = sum over j in V(i) of softmax_j(w.x_j / sqrt(d)) x_j */
static double *pool(const Head *at, const double *x, const double *w)
{
    int T = at->m->T, D = at->m->D;
    double *y = numbers(T, D), *weight = numbers(1, T);

    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            weight[j] = dot(w, x + j * D, D) / sqrt(D);
        softmax_of_row(at, i, weight);
        for (int j = 0; j < T; j++)
            for (int c = 0; c < D; c++)
                y[i * D + c] += weight[j] * x[j * D + c];
    }
    free(weight);
    return y;
}

/* W [g_j; k_j] */
static void concatenated(const Head *at, const double *g, const double *k, double *p)
{
    int D = at->m->D;
    const double *W = at->m->concat + (size_t)at->h * 2 * (size_t)D * (size_t)D;

    for (int c = 0; c < D; c++)
        p[c] = dot(W + c * 2 * D, g, D) + dot(W + c * 2 * D + D, k, D);
}

/* p_j of g_j and k_j */
static void interact(const Head *at, const double *g, const double *k, double *p)
{
    Interaction how = at->m->set.interaction;

    if (how == INTERACTION_CONCAT)
        concatenated(at, g, k, p);
    else
        for (int c = 0; c < at->m->D; c++)
            p[c] = how == INTERACTION_MUL ? g[c] * k[c] : g[c] + k[c];
}

/* g = pool(q, w_q), p_j of g_j and k_j, h = pool(p, w_k), u_i = h_i * v_i */
static void fastformer(const Head *at, double *u)
{
    const NaiveMix *m = at->m;
    int T = m->T, D = m->D;
    double *q = head(at, m->q, D), *k = head(at, m->k, D), *v = head(at, m->v, D);
    double *g = pool(at, q, m->pool_q + at->h * D), *p = numbers(T, D);

    for (int j = 0; j < T; j++)
        interact(at, g + j * D, k + j * D, p + j * D);
    double *h = pool(at, p, m->pool_k + at->h * D);
    for (int i = 0; i < T * D; i++)
        u[i] = h[i] * v[i];
    free(q);
    free(k);
    free(v);
    free(g);
    free(p);
    free(h);
}

/* o_i = sum over j in V(i) of A_ij v_j */
static void weigh(const Head *at, double *o)
{
    int T = at->m->T, E = at->m->E;
    double *A = numbers(T, T), *v = head(at, at->m->v, E);

    at->of->matrix(at, A);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            for (int e = 0; e < E && A[i * T + j] != 0; e++)
                o[i * E + e] += A[i * T + j] * v[j * E + e];
    free(A);
    free(v);
}

/*
 * From the gradient dA of a row of A to that of its scores. A = softmax(factor s):
 *     ds_j = factor A_j (dA_j - sum over l of A_l dA_l)
 * A = relu(s)^2 / x, where x is a constant, or without the guard the sum over relu(s)^2:
 *     ds_j = 2 relu(s_j) (dA_j - sum over l of A_l dA_l) / x, without that sum for a constant
 */
static void row_gradient(const Head *at, int i, const double *s, const double *A, double *dA)
{
    const NaiveMix *m = at->m;
    bool soft = is_softmax(at->of, m->set);
    Scale scale = at->of->matrix == softmax ? m->set.scale : gau_scale(m->set.norm);
    double factor = scale_factor(m, scale, seen(at, i)), mean = dot(A, dA, m->T);
    double x = soft ? 1 : gau_denominator(at, i, s);

    if (!soft && (m->set.norm != GAU_SUM || x <= 1e-6))
        mean = 0;
    for (int j = 0; j < m->T; j++)
        dA[j] = !sees(at, i, j) ? 0
                : soft          ? factor * A[j] * (dA[j] - mean)
                                : 2 * relu(s[j]) * (dA[j] - mean) / x;
}

/* dq_i += ds_ij k_j / sqrt(d), dk_j += ds_ij q_i / sqrt(d), of what RoPE turned; and turned back */
static void scores_gradient(const Head *at, const double *ds, NaiveGradient d)
{
    int T = at->m->T, D = at->m->D;
    double *q = head_turned(at, at->m->q, D), *k = head_turned(at, at->m->k, D);
    double *dq = numbers(T, D), *dk = numbers(T, D);

    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            for (int c = 0; c < D && ds[i * T + j] != 0; c++) {
                dq[i * D + c] += ds[i * T + j] / sqrt(D) * k[j * D + c];
                dk[j * D + c] += ds[i * T + j] / sqrt(D) * q[i * D + c];
            }
    if (at->m->set.rope) {
        dq = turned(at, dq, D, -1);
        dk = turned(at, dk, D, -1);
    }
    put_head(at, dq, D, d.q);
    put_head(at, dk, D, d.k);
    free(q);
    free(k);
    free(dq);
    free(dk);
}

/* dv_j = sum over i of A_ij do_i,    dA_ij = do_i.v_j */
static void head_gradient(const Head *at, NaiveGradient d)
{
    int T = at->m->T, E = at->m->E;
    double *dO = head(at, d.o, E), *v = head(at, at->m->v, E), *dv = numbers(T, E);
    double *s = numbers(T, T), *A = numbers(T, T), *dA = numbers(T, T);

    scores(at, s);
    at->of->matrix(at, A);
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) {
            dA[i * T + j] = dot(dO + i * E, v + j * E, E);
            for (int e = 0; e < E; e++)
                dv[j * E + e] += A[i * T + j] * dO[i * E + e];
        }
        row_gradient(at, i, s + i * T, A + i * T, dA + i * T);
    }
    put_head(at, dv, E, d.v);
    scores_gradient(at, dA, d);
    free(dO);
    free(v);
    free(dv);
    free(s);
    free(A);
    free(dA);
}

static const Mechanism mechanisms[] = {
    { "softmax", weigh, softmax, .averages = true },
    { "relu", weigh, linear, .each = relu },
    { "elu", weigh, linear, .each = elu_plus_1, .averages = true },
    { "exp", weigh, linear, .each = exp, .averages = true },
    { "cosformer", weigh, linear, .all = cosformer },
    { "performer", weigh, linear, .all = performer, .averages = true },
    { "identity", weigh, linear, .each = itself },
    { "leaky", weigh, linear, .each = leaky },
    { "efficient", weigh, efficient, .averages = true },
    { "fastformer", .mix = fastformer },
    { "gau", weigh, .matrix = gau },
    { "flash", weigh, .matrix = flash },
    { .name = NULL },
};

static const Mechanism *find(const char *name)
{
    const Mechanism *of = mechanisms;

    while (of->name && strcmp(of->name, name) != 0)
        of++;
    return of->name ? of : NULL;
}

bool naive_attention(const char *name, const NaiveMix *m, double *o)
{
    Head at = { find(name), m, 0, 0 };

    for (at.b = 0; at.of && at.b < m->B; at.b++)
        for (at.h = 0; at.h < m->H; at.h++) {
            double *oh = numbers(m->T, m->E);

            at.of->mix(&at, oh);
            put_head(&at, oh, m->E, o);
            free(oh);
        }
    return at.of;
}

bool naive_attention_gradient(const char *name, const NaiveMix *m, NaiveGradient d)
{
    Head at = { find(name), m, 0, 0 };

    if (!at.of || (at.of->matrix != softmax && at.of->matrix != gau))
        return false;
    for (at.b = 0; at.b < m->B; at.b++)
        for (at.h = 0; at.h < m->H; at.h++)
            head_gradient(&at, d);
    return true;
}

bool naive_attention_averages(const char *name, Settings set)
{
    const Mechanism *of = find(name);

    if (of && (of->matrix == softmax || of->matrix == gau))
        return is_softmax(of, set);
    return of && of->averages && !set.rope;
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
