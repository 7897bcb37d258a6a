/*
 * The delta rule (Schlag et al., 2021, arXiv:2102.11174), on a state that decays first:
 *
 *     Z_t = diag(e^g_t) S_t-1        u_t = beta_t (v_t - Z_t^T k_t)
 *     S_t = Z_t + k_t u_t^T          o_t = S_t^T q_t
 *
 * which is S_t = (I - beta_t k_t k_t^T) Z_t + beta_t k_t v_t^T. At padding S_t = S_t-1.
 *
 * Backward, from the last position to the first, with R_t the gradient of S_t, and do_t that of
 * o_t, since g is the decay's logarithm here:
 *
 *     R_t += q_t do_t^T        dq_t = S_t do_t
 *     du = R_t^T k_t           dv_t = beta_t du             dbeta_t = du . (v_t - Z_t^T k_t)
 *     dZ = R_t - k_t dv_t^T    dk_t = R_t u_t - Z_t dv_t    dg_td = sum over e of dZ_de Z_de
 *     R_t-1 = diag(e^g_t) dZ
 *
 * If all features share one decay, its gradient is the sum of dg_td over d.
 */
#include "ops/attention/plain/delta.h"

#include <math.h>
#include <string.h>

typedef struct {
    const PlainHead *x;
    const double *g, *beta;
    double *dg, *dbeta, *S, *R; /* S_t is rows D t .. D t + D - 1, and S_-1 those before S */
    double *Z, *rest, *du;      /* (D, E); v - Z^T k; (E) */
    int width;
} State;

static double decay(const State *s, int t, int d)
{
    return s->g ? exp(s->g[t * s->width + d % s->width]) : 1;
}

/* Z and v - Z^T k, from S_t-1 */
static void correct(const State *s, int t)
{
    const int D = s->x->D, E = s->x->E;
    const double *before = s->S + (t - 1) * D * E;

    memcpy(s->rest, s->x->in.v + t * E, (size_t)E * sizeof(double));
    for (int d = 0; d < D; d++)
        for (int e = 0; e < E; e++) {
            s->Z[d * E + e] = decay(s, t, d) * before[d * E + e];
            s->rest[e] -= s->x->in.k[t * D + d] * s->Z[d * E + e];
        }
}

static void forward(const State *s, int t)
{
    const int D = s->x->D, E = s->x->E;
    double *S = s->S + t * D * E;

    memcpy(S, S - D * E, (size_t)(D * E) * sizeof *S);
    if (t < s->x->length)
        correct(s, t);
    for (int d = 0; d < D; d++, S += E) {
        if (t < s->x->length)
            memcpy(S, s->Z + d * E, (size_t)E * sizeof *S);
        if (t < s->x->length)
            plain_add(S, s->beta[t] * s->x->in.k[t * D + d], s->rest, E);
        plain_add(s->x->o + t * E, s->x->in.q[t * D + d], S, E);
    }
}

/* The gradients of k, v, beta and g, and R_t-1 */
static void backward_key(const State *s, int t)
{
    const PlainHead *x = s->x;
    const int D = x->D, E = x->E;
    const double *k = x->in.k + t * D;

    correct(s, t);
    memset(s->du, 0, (size_t)E * sizeof(double));
    for (int d = 0; d < D; d++)
        plain_add(s->du, k[d], s->R + d * E, E);
    plain_add(x->d.v + t * E, s->beta[t], s->du, E);
    s->dbeta[t] += plain_dot(s->du, s->rest, E);
    for (int d = 0; d < D; d++) {
        double *R = s->R + d * E, *Z = s->Z + d * E;

        x->d.k[t * D + d] += s->beta[t] * (plain_dot(R, s->rest, E) - plain_dot(Z, s->du, E));
        plain_add(R, -s->beta[t] * k[d], s->du, E);
        if (s->g)
            s->dg[t * s->width + d % s->width] += plain_dot(R, Z, E);
        for (int e = 0; e < E; e++)
            R[e] *= decay(s, t, d);
    }
}

void plain_delta(const PlainHead *x, const double *g, int width, double *dg)
{
    const int D = x->D, E = x->E;
    State s = { .x = x, .g = g, .dg = dg, .width = width };

    s.beta = plain_operand(x, "beta"), s.dbeta = plain_gradient(x, "beta");
    s.S = plain_zeros(x, (x->T + 1) * D * E) + D * E;
    s.R = plain_zeros(x, D * E), s.Z = plain_zeros(x, D * E);
    s.rest = plain_zeros(x, E), s.du = plain_zeros(x, E);
    for (int t = 0; t < x->T; t++)
        forward(&s, t);
    for (int t = x->T - 1; x->g && t >= 0; t--) {
        for (int d = 0; d < D; d++) {
            plain_add(s.R + d * E, x->in.q[t * D + d], x->g + t * E, E);
            x->d.q[t * D + d] += plain_dot(s.S + (t * D + d) * E, x->g + t * E, E);
        }
        if (t < x->length)
            backward_key(&s, t);
    }
}
