/*
 * Poolingformer (Zhang et al., 2021, arXiv:2105.04371): a softmax over the keys in V(i) at most w1
 * away, plus one over pools: the means of the keys and values at positions xi p .. xi p + kappa -
 * 1, without padding. Row i sees pool p if all of these positions are at most w2 away from i and,
 * if causal, not after i, and at least one of them is not padding.
 *
 *     o_i = sum over j of A_ij v_j + sum over p of A'_ip v~_p
 *
 * Backward: both softmaxes as in plain/softmax.c, with s = q.k / sqrt(D); each of the n positions
 * in a mean receives 1/n of its gradient.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>
#include <stdlib.h>

static int value(const PlainHead *x, const char *name)
{
    return setting_or_zero(&x->mix->set, name);
}

/* Whether row i sees pool p; its positions are from .. to-1. */
static bool sees_pool(const PlainHead *x, int i, int p, int *from, int *to)
{
    const int first = p * value(x, "pool-stride"), last = first + value(x, "pool-size") - 1;

    *from = first, *to = last + 1 < x->length ? last + 1 : x->length;
    return *from < *to && abs(i - first) <= value(x, "far") && abs(i - last) <= value(x, "far") &&
           (last <= i || !x->mix->causal);
}

/* Keys and pools that row i sees: each is the mean of a range of positions. */
typedef struct {
    int n, *from, *to;
    double *k, *v;
} Seen;

static void look(const PlainHead *x, Seen *s, int from, int to)
{
    const int n = s->n++;

    s->from[n] = from, s->to[n] = to;
    for (int j = from; j < to; j++) {
        plain_add(s->k + n * x->D, 1.0 / (to - from), x->in.k + j * x->D, x->D);
        plain_add(s->v + n * x->E, 1.0 / (to - from), x->in.v + j * x->E, x->E);
    }
}

static Seen nothing(const PlainHead *x)
{
    const int T = x->T, ints = T * (int)sizeof(int) / (int)sizeof(double) + 1;

    return (Seen){ .from = (int *)plain_zeros(x, ints),
                   .to = (int *)plain_zeros(x, ints),
                   .k = plain_zeros(x, T * x->D),
                   .v = plain_zeros(x, T * x->E) };
}

/* Adds a softmax of row i over what it sees, and its gradients. */
static void attend(const PlainHead *x, int i, const Seen *seen)
{
    const int D = x->D, E = x->E, n = seen->n;
    double *s = plain_zeros(x, n), *A = plain_zeros(x, n), *dA = plain_zeros(x, n);
    double *ds = plain_zeros(x, n);

    for (int p = 0; p < n; p++)
        s[p] = plain_dot(x->in.q + i * D, seen->k + p * D, D) / sqrt((double)D);
    plain_softmax_of(s, A, n);
    for (int p = 0; p < n; p++)
        plain_add(x->o + i * E, A[p], seen->v + p * E, E);
    for (int p = 0; p < n && x->g; p++)
        dA[p] = plain_dot(x->g + i * E, seen->v + p * E, E);
    plain_softmax_back(A, dA, ds, n);
    for (int p = 0; p < n && x->g; p++) {
        const double share = 1.0 / (seen->to[p] - seen->from[p]);

        plain_add(x->d.q + i * D, ds[p] / sqrt((double)D), seen->k + p * D, D);
        for (int j = seen->from[p]; j < seen->to[p]; j++) {
            plain_add(x->d.k + j * D, share * ds[p] / sqrt((double)D), x->in.q + i * D, D);
            plain_add(x->d.v + j * E, share * A[p], x->g + i * E, E);
        }
    }
}

void plain_poolingformer(const PlainHead *x)
{
    for (int i = 0; i < x->T; i++) {
        Seen keys = nothing(x), pools = nothing(x);

        for (int j = 0; j < x->T; j++)
            if (plain_sees(x, i, j) && abs(i - j) <= value(x, "near"))
                look(x, &keys, j, j + 1);
        for (int p = 0, from, to; p < x->T; p++)
            if (sees_pool(x, i, p, &from, &to))
                look(x, &pools, from, to);
        attend(x, i, &keys);
        attend(x, i, &pools);
    }
}
