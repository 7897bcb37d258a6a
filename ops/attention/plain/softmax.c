/*
 * Softmax attention (Vaswani et al., 2017, arXiv:1706.03762), with s_ij = q_i.k_j / sqrt(D):
 *
 *     A_ij = e^(tau_i s_ij) / sum over l in V(i) of e^(tau_i s_il)
 *
 * By the quotient rule the derivative of A_ij with respect to s_il is tau_i A_ij ([j = l] - A_il):
 * the first term is from the numerator, the second from the denominator. So
 *
 *     ds_il = sum over j of dA_ij tau_i A_ij ([j = l] - A_il)
 *           = tau_i A_il (dA_il - sum over j of dA_ij A_ij)
 *
 * tau_i is 1 (sqrt), ln(max(n_i, 16)) / ln(n0) (entropy), or max(1, ln(n_i) / ln(n0)) (logn),
 * for the n_i keys that row i sees.
 *
 * Instead of a softmax, A_ij may be another function of x = tau_i s_ij (weight), here with its
 * derivative with respect to x:
 *
 *     sigmoid    1 / (1 + e^(ln n_i - x))                   A_ij (1 - A_ij)
 *     relu       max(x, 0) / n_i                            [x > 0] / n_i
 *     relu2      max(x, 0)^2 / n_i                          2 max(x, 0) / n_i
 *     laplace    (1 + erf((x - mu) / (sigma sqrt 2))) / 2   normal density of x
 *
 * with mean mu = sqrt(1/2) and deviation sigma = sqrt(1 / (4 pi)); or a softmax with one more key,
 * of score 0 and value 0 (softmax1):
 *
 *     A_ij = e^x_ij / (1 + sum over l of e^x_il)
 *
 * whose derivative is that of softmax, or of score b, a learned number per head (sink; Agarwal et
 * al., 2025, arXiv:2508.10925), whose gradient is that of the score of a key with dA = 0; or a
 * softmax with a forget gate (forgetting; Lin et al., 2025, arXiv:2503.02130), with F_i = sum of
 * g_t over t <= i, where padding has g_t = 0:
 *
 *     A_i = softmax of x_ij + F_i - F_j        F_i - F_j = sum of g_t over j < t <= i
 *
 * where each g_t in the sum receives the gradient of x_ij, too.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

void plain_softmax_of(const double *s, double *A, int n)
{
    double most = -HUGE_VAL, sum = 0;

    for (int j = 0; j < n; j++)
        most = fmax(most, s[j]);
    for (int j = 0; j < n; j++)
        sum += exp(s[j] - most);
    for (int j = 0; j < n; j++)
        A[j] = exp(s[j] - most) / sum;
}

void plain_softmax_back(const double *A, const double *dA, double *ds, int n)
{
    const double mean = plain_dot(A, dA, n);

    for (int j = 0; j < n; j++)
        ds[j] = A[j] * (dA[j] - mean);
}

static double tau(const PlainRow *r, const char *scale)
{
    const Values *set = &r->x->mix->set;
    double n = plain_seen(r->x, r->i), n0 = setting_or_zero(set, "base");

    if (setting_is(set, scale, "entropy"))
        return log(fmax(n, 16)) / log(n0);
    return setting_is(set, scale, "logn") ? fmax(1, log(n) / log(n0)) : 1;
}

void plain_softmax_weigh(const PlainRow *r, const char *scale)
{
    double *scaled = plain_zeros(r->x, r->x->T), c = 0;

    plain_add(scaled, tau(r, scale), r->s, r->x->T);
    plain_softmax_of(scaled, r->A, r->x->T);
    for (int j = 0; j < r->x->T; j++)
        c += exp(scaled[j]);
    plain_put_sum(r->x, r->i, c);
}

void plain_softmax_weigh_back(const PlainRow *r, const char *scale)
{
    double *scaled = plain_zeros(r->x, r->x->T);

    plain_softmax_back(r->A, r->dA, scaled, r->x->T);
    plain_add(r->ds, tau(r, scale), scaled, r->x->T);
}

/* x_ij + F_i - F_j, for j <= i. */
static double *faded(const PlainRow *r, const char *scale)
{
    double *x = plain_zeros(r->x, r->x->T), *g = plain_operand(r->x, "g"), sum = 0;
    double t = tau(r, scale);

    for (int j = r->x->T - 1; j >= 0; j--) {
        x[j] = t * r->s[j] + sum;
        sum += j <= r->i && j < r->x->length ? g[j] : 0;
    }
    return x;
}

void plain_forgetting_weigh(const PlainRow *r, const char *scale)
{
    plain_softmax_of(faded(r, scale), r->A, r->x->T);
}

void plain_forgetting_back(const PlainRow *r, const char *scale)
{
    double *dx = plain_zeros(r->x, r->x->T), *dg = plain_gradient(r->x, "g"), sum = 0;

    plain_softmax_back(r->A, r->dA, dx, r->x->T);
    plain_add(r->ds, tau(r, scale), dx, r->x->T);
    for (int t = 0; t <= r->i && t < r->x->length; t++) {
        dg[t] += sum;
        sum += dx[t];
    }
}

static const double pi = 3.14159265358979323846;

static double sigmoid_of(double x, double n)
{
    return 1 / (1 + exp(log(n) - x));
}

static double sigmoid_slope(double x, double n)
{
    return sigmoid_of(x, n) * (1 - sigmoid_of(x, n));
}

static double relu_of(double x, double n)
{
    return fmax(x, 0) / n;
}

static double relu_slope(double x, double n)
{
    return (x > 0) / n;
}

static double relu2_of(double x, double n)
{
    return fmax(x, 0) * fmax(x, 0) / n;
}

static double relu2_slope(double x, double n)
{
    return 2 * fmax(x, 0) / n;
}

static double laplace_of(double x, double n)
{
    (void)n;
    return (1 + erf((x - sqrt(0.5)) / (sqrt(1 / (4 * pi)) * sqrt(2)))) / 2;
}

static double laplace_slope(double x, double n)
{
    double sigma = sqrt(1 / (4 * pi)), z = (x - sqrt(0.5)) / sigma;

    (void)n;
    return exp(-z * z / 2) / (sigma * sqrt(2 * pi));
}

static const struct {
    const char *name;
    double (*of)(double x, double n), (*slope)(double x, double n);
    bool mean; /* the sum of a row is divided by n */
} weights[] = { { "sigmoid", sigmoid_of, sigmoid_slope, false },
                { "relu", relu_of, relu_slope, true },
                { "relu2", relu2_of, relu2_slope, true },
                { "laplace", laplace_of, laplace_slope, false } };
enum { WEIGHTS = sizeof weights / sizeof *weights };

/* The index of the weight that depends on its own score only, or -1. */
static int own_weight(const PlainRow *r)
{
    for (int i = 0; i < WEIGHTS; i++)
        if (setting_is(&r->x->mix->set, "weight", weights[i].name))
            return i;
    return -1;
}

static bool has_sink(const PlainRow *r)
{
    return setting_is(&r->x->mix->set, "weight", "sink");
}

/* T scores and that of the null key, b or 0; their softmax, and the sum of their exponentials. */
static double *with_null(const PlainRow *r)
{
    double *s = plain_zeros(r->x, r->x->T + 1);

    plain_add(s, tau(r, "scale"), r->s, r->x->T);
    s[r->x->T] = has_sink(r) ? *plain_operand(r->x, "sink") : 0;
    return s;
}

static void weigh_with_null(const PlainRow *r)
{
    int T = r->x->T;
    double *s = with_null(r), *A = plain_zeros(r->x, T + 1);

    plain_softmax_of(s, A, T + 1);
    plain_add(r->A, 1, A, T);
    plain_put_sum(r->x, r->i, exp(s[T]) / A[T]);
}

static void sink_back(const PlainRow *r)
{
    int T = r->x->T;
    double *A = plain_zeros(r->x, T + 1), *dA = plain_zeros(r->x, T + 1);
    double *ds = plain_zeros(r->x, T + 1);

    plain_softmax_of(with_null(r), A, T + 1);
    plain_add(dA, 1, r->dA, T);
    plain_softmax_back(A, dA, ds, T + 1);
    plain_add(r->ds, tau(r, "scale"), ds, T);
    *plain_gradient(r->x, "sink") += ds[T];
}

static void weigh(const PlainRow *r)
{
    int which = own_weight(r);
    double n = plain_seen(r->x, r->i), t = tau(r, "scale"), c = 0;

    if (setting_is(&r->x->mix->set, "weight", "softmax1") || has_sink(r))
        weigh_with_null(r);
    else if (setting_is(&r->x->mix->set, "weight", "forgetting"))
        plain_forgetting_weigh(r, "scale");
    else if (which < 0)
        plain_softmax_weigh(r, "scale");
    for (int j = 0; which >= 0 && j < r->x->T; j++)
        c += r->A[j] = weights[which].of(t * r->s[j], n);
    if (which >= 0)
        plain_put_sum(r->x, r->i, weights[which].mean ? n * c : c);
}

static void back(const PlainRow *r)
{
    int which = own_weight(r);
    double n = plain_seen(r->x, r->i), t = tau(r, "scale");

    if (setting_is(&r->x->mix->set, "weight", "forgetting"))
        plain_forgetting_back(r, "scale");
    else if (has_sink(r))
        sink_back(r);
    else if (which < 0)
        plain_softmax_weigh_back(r, "scale");
    for (int j = 0; which >= 0 && j < r->x->T; j++)
        r->ds[j] = t * weights[which].slope(t * r->s[j], n) * r->dA[j];
}

void plain_softmax(const PlainHead *x)
{
    plain_pairs(x, weigh, back);
}
