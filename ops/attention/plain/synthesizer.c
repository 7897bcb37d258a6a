/*
 * Synthesizer (Tay et al., 2020, arXiv:2005.00743): a softmax over j in V(i) of scores that do not
 * depend on k,
 *
 *     s_ij = sum over d of max(q_id, 0) W_dj (dense)        s_ij = R_ij (random)
 *
 * Backward, with ds that of plain/softmax.c:
 *
 *     dq_id = [q_id > 0] sum over j of ds_ij W_dj      dW_dj = sum over i of ds_ij max(q_id, 0)
 *     dR_ij = ds_ij
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

static bool is_dense(const PlainHead *x)
{
    return setting_is(&x->mix->set, "kind", "dense");
}

static double score(const PlainHead *x, int i, int j)
{
    const int c = x->mix->context;
    double s = 0;

    if (!is_dense(x))
        return plain_operand(x, "r")[i * c + j];
    for (int d = 0; d < x->D; d++)
        s += fmax(x->in.q[i * x->D + d], 0) * plain_operand(x, "w")[d * c + j];
    return s;
}

static void back(const PlainHead *x, int i, int j, double ds)
{
    const int c = x->mix->context;

    if (!is_dense(x))
        plain_gradient(x, "r")[i * c + j] += ds;
    for (int d = 0; d < x->D && is_dense(x); d++) {
        const double q = x->in.q[i * x->D + d];

        if (q > 0) {
            x->d.q[i * x->D + d] += ds * plain_operand(x, "w")[d * c + j];
            plain_gradient(x, "w")[d * c + j] += ds * q;
        }
    }
}

void plain_synthesizer(const PlainHead *x)
{
    const int T = x->T, E = x->E;

    for (int i = 0; i < T; i++) {
        double *s = plain_zeros(x, T), *A = plain_zeros(x, T), *dA = plain_zeros(x, T);
        double *ds = plain_zeros(x, T);

        if (plain_seen(x, i) == 0)
            continue;
        for (int j = 0; j < T; j++)
            s[j] = plain_sees(x, i, j) ? score(x, i, j) : -HUGE_VAL;
        plain_softmax_of(s, A, T);
        for (int j = 0; j < T; j++)
            plain_add(x->o + i * E, A[j], x->in.v + j * E, E);
        for (int j = 0; j < T && x->g; j++) {
            dA[j] = plain_sees(x, i, j) ? plain_dot(x->g + i * E, x->in.v + j * E, E) : 0;
            plain_add(x->d.v + j * E, A[j], x->g + i * E, E);
        }
        plain_softmax_back(A, dA, ds, T);
        for (int j = 0; j < T && x->g; j++)
            if (plain_sees(x, i, j))
                back(x, i, j, ds[j]);
    }
}
