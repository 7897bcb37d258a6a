/*
 * The scan of Mamba-2 (Dao and Gu, 2024, arXiv:2405.21060) as a recurrence: q is C, k is B, and v
 * is the input times the step size. With S_t the state after position t,
 *
 *     S_t = e^g_t S_t-1 + k_t v_t^T       o_t = S_t^T q_t
 *
 * and g_t = 0, k_t = 0 at padding. Backward, with R the gradient of S_t, from the last position:
 *
 *     R += q_t do_t^T        dq_t = S_t do_t       dk_t = R v_t       dv_t = R^T k_t
 *     dg_t = e^g_t times the sum of R * S_t-1, entry by entry       R <- e^g_t R
 *
 * If bidirectional, the weight of a pair is e to the sum of g_s over min(i, j) < s <= max(i, j). So
 * a second scan, from the right, adds the later positions, which its state U_t contains:
 *
 *     U_t-1 = e^g_t (U_t + k_t v_t^T)      o_t += U_t^T q_t
 *
 * Its backward pass starts at the first position, with P the gradient of U_t-1:
 *
 *     dg_t += sum over d, e of P_de U_t-1,de
 *     P <- e^g_t P         dk_t += P v_t       dv_t += P^T k_t
 *     P += q_t do_t^T      dq_t += U_t do_t
 */
#include "ops/attention/plain/plain.h"

#include <math.h>

static double fading(const PlainHead *x, int t)
{
    return t < x->length ? exp(plain_operand(x, "g")[t]) : 1;
}

/* o_t += S^T q_t; and backward, with R the gradient of S. */
static void read_state(const PlainHead *x, int t, const double *S)
{
    for (int d = 0; d < x->D; d++)
        plain_add(x->o + t * x->E, x->in.q[t * x->D + d], S + d * x->E, x->E);
}

static void read_back(const PlainHead *x, int t, const double *S, double *R)
{
    for (int d = 0; d < x->D; d++) {
        plain_add(R + d * x->E, x->in.q[t * x->D + d], x->g + t * x->E, x->E);
        x->d.q[t * x->D + d] += plain_dot(S + d * x->E, x->g + t * x->E, x->E);
    }
}

/* S += k_t v_t^T; and backward. */
static void write_state(const PlainHead *x, int t, double *S)
{
    for (int d = 0; t < x->length && d < x->D; d++)
        plain_add(S + d * x->E, x->in.k[t * x->D + d], x->in.v + t * x->E, x->E);
}

static void write_back(const PlainHead *x, int t, const double *R)
{
    for (int d = 0; t < x->length && d < x->D; d++) {
        x->d.k[t * x->D + d] += plain_dot(R + d * x->E, x->in.v + t * x->E, x->E);
        plain_add(x->d.v + t * x->E, x->in.k[t * x->D + d], R + d * x->E, x->E);
    }
}

/* Backward of e^g_t S, with R the gradient of that before, and of S afterwards. */
static void fade_back(const PlainHead *x, int t, const double *S, double *R)
{
    const double a = fading(x, t);

    if (t < x->length)
        plain_gradient(x, "g")[t] += a * plain_dot(R, S, x->D * x->E);
    for (int i = 0; i < x->D * x->E; i++)
        R[i] *= a;
}

static void from_the_left(const PlainHead *x)
{
    const int n = x->D * x->E;
    double *S = plain_zeros(x, (x->T + 1) * n) + n, *R = plain_zeros(x, n);

    for (int t = 0; t < x->T; t++) {
        plain_add(S + t * n, fading(x, t), S + (t - 1) * n, n);
        write_state(x, t, S + t * n);
        read_state(x, t, S + t * n);
    }
    for (int t = x->T - 1; x->g && t >= 0; t--) {
        read_back(x, t, S + t * n, R);
        write_back(x, t, R);
        fade_back(x, t, S + (t - 1) * n, R);
    }
}

/* V_t is U_t with position t's own pair. */
static void from_the_right(const PlainHead *x)
{
    const int n = x->D * x->E;
    double *U = plain_zeros(x, (x->T + 1) * n) + n, *V = plain_zeros(x, x->T * n);
    double *P = plain_zeros(x, n);

    for (int t = x->T - 1; t >= 0; t--) {
        read_state(x, t, U + t * n);
        plain_add(V + t * n, 1, U + t * n, n);
        write_state(x, t, V + t * n);
        plain_add(U + (t - 1) * n, fading(x, t), V + t * n, n);
    }
    for (int t = 0; x->g && t < x->T; t++) {
        fade_back(x, t, V + t * n, P);
        write_back(x, t, P);
        read_back(x, t, U + t * n, P);
    }
}

void plain_mamba2(const PlainHead *x)
{
    from_the_left(x);
    if (!x->mix->causal)
        from_the_right(x);
}
