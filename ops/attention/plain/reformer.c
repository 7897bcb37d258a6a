/*
 * Reformer (Kitaev et al., 2020, arXiv:2001.04451): softmax over keys of similar direction, where
 * the keys are the queries, of length 1: k_j = q_j / |q_j|, with 10^-6 for a smaller |q_j|, a
 * constant. Each round has its own directions; with y their products with q, the bucket of a
 * position is the index of the largest of y_1, y_2, ... and -y_1, -y_2, ... All positions but
 * padding are sorted by bucket, then by position, and cut into chunks. In a round a position sees
 * its chunk and the previous one; if causal, each bucket is cut separately, and only earlier
 * positions are seen.
 *
 *     N_ij = the number of rounds in which i sees j      N_ii = 0, or 1 if i sees no other in any
 *     A_ij = N_ij e^s_ij / sum over l of N_il e^s_il     s_ij = q_i.k_j / sqrt(D)
 *
 * Backward: N is a constant. With ds that of a softmax of s_ij + ln N_ij,
 *
 *     dk_j = sum over i of ds_ij q_i / sqrt(D)
 *     dq_i = sum over j of ds_ij k_j / sqrt(D) + (dk_i - [|q_i| >= 10^-6] k_i (k_i.dk_i)) / |q_i|
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

static int bucket(const PlainHead *x, int i, int round)
{
    const int half = setting_or_zero(&x->mix->set, "buckets") / 2;
    const double *omega = plain_operand(x, "omega") + round * half * x->D;
    double most = -HUGE_VAL;
    int best = 0;

    for (int c = 0; c < 2 * half; c++) {
        const double y = plain_dot(omega + c % half * x->D, x->in.q + i * x->D, x->D);

        if ((c < half ? y : -y) > most)
            most = c < half ? y : -y, best = c;
    }
    return best;
}

/* The chunks of a round, counted over all keys, or in each bucket. */
static void cut(const PlainHead *x, const double *buckets, double *chunk)
{
    const int size = setting_or_zero(&x->mix->set, "chunk");

    for (int i = 0; i < x->length; i++) {
        int before = 0;

        for (int j = 0; j < x->length; j++)
            before +=
                (buckets[j] < buckets[i] && !x->mix->causal) || (buckets[j] == buckets[i] && j < i);
        chunk[i] = before / size;
    }
}

/* N (T, T), without its diagonal. */
static double *count_rounds(const PlainHead *x)
{
    const int T = x->T, rounds = setting_or_zero(&x->mix->set, "rounds");
    double *N = plain_zeros(x, T * T), *h = plain_zeros(x, T), *chunk = plain_zeros(x, T);

    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < x->length; i++)
            h[i] = bucket(x, i, r);
        cut(x, h, chunk);
        for (int i = 0; i < x->length; i++)
            for (int j = 0; j < x->length; j++)
                N[i * T + j] += i != j && plain_sees(x, i, j) &&
                                (chunk[j] == chunk[i] || chunk[j] == chunk[i] - 1) &&
                                (h[j] == h[i] || !x->mix->causal);
    }
    return N;
}

static double *shorten(const PlainHead *x)
{
    double *k = plain_zeros(x, x->T * x->D);

    for (int j = 0; j < x->length; j++) {
        const double *q = x->in.q + j * x->D;

        plain_add(k + j * x->D, 1 / fmax(sqrt(plain_dot(q, q, x->D)), 1e-6), q, x->D);
    }
    return k;
}

/* Row i, with the row of N. */
static void attend(const PlainHead *x, int i, double *N, const double *k, double *dk)
{
    const int T = x->T, D = x->D, E = x->E;
    double *s = plain_zeros(x, T), *A = plain_zeros(x, T), *dA = plain_zeros(x, T);
    double *ds = plain_zeros(x, T), others = 0;

    for (int j = 0; j < T; j++)
        others += N[j];
    N[i] = others == 0;
    for (int j = 0; j < T; j++)
        s[j] = N[j] > 0
                   ? plain_dot(x->in.q + i * D, k + j * D, D) / sqrt((double)D) + log((double)N[j])
                   : -HUGE_VAL;
    plain_softmax_of(s, A, T);
    for (int j = 0; j < T; j++)
        plain_add(x->o + i * E, A[j], x->in.v + j * E, E);
    for (int j = 0; j < T && x->g; j++) {
        dA[j] = N[j] > 0 ? plain_dot(x->g + i * E, x->in.v + j * E, E) : 0;
        plain_add(x->d.v + j * E, A[j], x->g + i * E, E);
    }
    plain_softmax_back(A, dA, ds, T);
    for (int j = 0; j < T && x->g; j++) {
        plain_add(x->d.q + i * D, ds[j] / sqrt((double)D), k + j * D, D);
        plain_add(dk + j * D, ds[j] / sqrt((double)D), x->in.q + i * D, D);
    }
}

void plain_reformer(const PlainHead *x)
{
    const int D = x->D;
    double *N = count_rounds(x), *k = shorten(x), *dk = plain_zeros(x, x->T * D);

    for (int i = 0; i < x->length; i++)
        attend(x, i, N + i * x->T, k, dk);
    for (int j = 0; j < x->length; j++) {
        const double *q = x->in.q + j * D, length = sqrt(plain_dot(q, q, D));

        plain_add(x->d.q + j * D, 1 / fmax(length, 1e-6), dk + j * D, D);
        if (length >= 1e-6)
            plain_add(x->d.q + j * D, -plain_dot(k + j * D, dk + j * D, D) / length, k + j * D, D);
    }
}
