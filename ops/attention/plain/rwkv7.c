/*
 * RWKV-7 (Peng et al., 2025, arXiv:2503.14456), with r for q and g for ga:
 *
 *     z_t = S_t-1^T a_t       S_t = diag(e^g_t) S_t-1 + b_t z_t^T + k_t v_t^T       o_t = S_t^T r_t
 *
 * At padding S_t = S_t-1. Backward, from the last position, with R the gradient of S_t:
 *
 *     R += r_t do_t^T        dr_t = S_t do_t
 *     dk_t = R v_t           dv_t = R^T k_t        db_t = R z_t         dz = R^T b_t
 *     da_t = S_t-1 dz        dg_td = e^g_td (R_d . S_t-1,d)
 *     R = diag(e^g_t) R + a_t dz^T
 */
#include "ops/attention/plain/plain.h"

#include <math.h>
#include <string.h>

/* S, R and rows of a position: S_t-1 and S_t are rows of D E numbers. */
typedef struct {
    const PlainHead *x;
    int t;
    const double *g, *a, *b;
    double *before, *S, *z, *dz;
} Position;

static Position position(const PlainHead *x, double *S, double *rows, int t)
{
    const int at = t * x->D, size = x->D * x->E;

    return (Position){ .x = x,
                       .t = t,
                       .g = plain_operand(x, "ga") + at,
                       .a = plain_operand(x, "a") + at,
                       .b = plain_operand(x, "b") + at,
                       .before = S + t * size,
                       .S = S + (t + 1) * size,
                       .z = memset(rows, 0, (size_t)x->E * sizeof *rows),
                       .dz = memset(rows + x->E, 0, (size_t)x->E * sizeof *rows) };
}

static void forward(const Position *p)
{
    const PlainHead *x = p->x;
    const int D = x->D, E = x->E;

    for (int d = 0; d < D; d++)
        plain_add(p->z, p->a[d], p->before + d * E, E);
    for (int d = 0; d < D; d++) {
        double *S = p->S + d * E;

        plain_add(S, p->t < x->length ? exp(p->g[d]) : 1, p->before + d * E, E);
        if (p->t < x->length)
            plain_add(S, p->b[d], p->z, E);
        if (p->t < x->length)
            plain_add(S, x->in.k[p->t * D + d], x->in.v + p->t * E, E);
        plain_add(x->o + p->t * E, x->in.q[p->t * D + d], S, E);
    }
}

static void backward_key(const Position *p, double *R)
{
    const PlainHead *x = p->x;
    const int E = x->E, at = p->t * x->D;

    for (int d = 0; d < x->D; d++) {
        plain_add(p->z, p->a[d], p->before + d * E, E);
        plain_add(p->dz, p->b[d], R + d * E, E);
        plain_add(x->d.v + p->t * E, x->in.k[at + d], R + d * E, E);
    }
    for (int d = 0; d < x->D; d++, R += E) {
        const double *before = p->before + d * E, w = exp(p->g[d]);

        x->d.k[at + d] += plain_dot(R, x->in.v + p->t * E, E);
        plain_gradient(x, "b")[at + d] += plain_dot(R, p->z, E);
        plain_gradient(x, "a")[at + d] += plain_dot(before, p->dz, E);
        plain_gradient(x, "ga")[at + d] += w * plain_dot(R, before, E);
        for (int e = 0; e < E; e++)
            R[e] = w * R[e] + p->a[d] * p->dz[e];
    }
}

void plain_rwkv7(const PlainHead *x)
{
    const int D = x->D, E = x->E;
    double *S = plain_zeros(x, (x->T + 1) * D * E), *R = plain_zeros(x, D * E);
    double *rows = plain_zeros(x, 2 * E);

    for (int t = 0; t < x->T; t++) {
        const Position p = position(x, S, rows, t);

        forward(&p);
    }
    for (int t = x->T - 1; x->g && t >= 0; t--) {
        const Position p = position(x, S, rows, t);

        for (int d = 0; d < D; d++) {
            plain_add(R + d * E, x->in.q[t * D + d], x->g + t * E, E);
            x->d.q[t * D + d] += plain_dot(p.S + d * E, x->g + t * E, E);
        }
        if (t < x->length)
            backward_key(&p, R);
    }
}
