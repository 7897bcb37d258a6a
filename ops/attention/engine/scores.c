/*
 * The scores of a mechanism whose weights are a function of them (softmax.c, gau.c):
 *
 *     S_ij = q_i . k_j / sqrt(D)
 *
 * with q and k rotated by RoPE if it is on, for all pairs, whether visible or not. The factor of
 * tau_i beyond 1 / sqrt(D) is left out. Sums are in double, so that S has the rank of its factors,
 * at most D, up to their rounding.
 *
 * The sums of a row's weights, for ./analyse, are in double too, with all of tau_i:
 *
 *     c_i = sum over j in V(i) of w(tau_i q_i . k_j)
 *
 * and the weight of the null key (softmax1, sink), if there is one.
 */
#include "ops/attention/engine/bias.h"
#include "ops/attention/engine/pairs.h"

typedef struct {
    const Mix *in;
    const real *angles;
    double *S, *c;
} Scores;

static double dot(const real *x, const real *y, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++)
        sum += (double)x[d] * (double)y[d];
    return sum;
}

/* A thread's copies of q and k, rotated; head_gather() stores whole vectors. */
typedef struct {
    Rows q, k;
    int D;
} Copies;

static Copies copies_of(const Scores *s, int number)
{
    const int T = s->in->q->dim[1], D = s->in->q->dim[3], ld = up_to(D, LANES);
    const Head head = head_of(s->in, number);
    real *scratch = pool_scratch();
    const Copies x = { { carve(&scratch, T, ld), ld, 0, T },
                       { carve(&scratch, T, ld), ld, 0, T },
                       D };

    head_gather(&head, x.q, s->in->q->data, D);
    head_gather(&head, x.k, s->in->k->data, D);
    rows_rotate(x.q, s->angles, D, false);
    rows_rotate(x.k, s->angles, D, false);
    return x;
}

static double product(const Copies *x, int i, int j)
{
    return dot(row_of(x->q.at, i, x->q.ld), row_of(x->k.at, j, x->k.ld), x->D);
}

/* Heads begin .. end-1, counted over all sequences. */
static void score_heads(void *ctx, int begin, int end)
{
    const Scores *s = ctx;
    const int T = s->in->q->dim[1];
    const double by = sqrt((double)s->in->q->dim[3]);

    for (int number = begin; number < end; number++) {
        const Copies x = copies_of(s, number);
        double *S = s->S + (size_t)number * (size_t)T * (size_t)T;

        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                *S++ = product(&x, i, j) / by;
    }
}

static void sum_heads(void *ctx, int begin, int end)
{
    const Scores *s = ctx;
    const int T = s->in->q->dim[1], D = s->in->q->dim[3], n0 = pairs_n0(s->in);
    const Tiling how = pairs_tiling(s->in->attention, &s->in->set);
    double (*weight)(double s) = how.weighting->weight;
    const real *sink = pairs_sink(&how, s->in);

    for (int number = begin; number < end; number++) {
        const Copies x = copies_of(s, number);
        const int H = s->in->q->dim[2];
        const View view = pairs_view(s->in, number / H);
        const double null = how.weighting->null ? weight(sink ? (double)sink[number % H] : 0) : 0;

        for (int i = 0; i < T; i++) {
            const int n = view_count(&view, i);
            const double tau = (double)how.tau(n0, D, n);
            double c = n > 0 ? null : 0;

            for (Span keys = view_run(&view, i, 0); keys.from < keys.to;) {
                for (int j = keys.from; j < keys.to; j++)
                    c += weight(tau * product(&x, i, j));
                keys = view_run(&view, i, keys.to);
            }
            s->c[(size_t)number * (size_t)T + (size_t)i] = c;
        }
    }
}

static void for_heads(Tape *tape, Body *body, Scores s)
{
    const int *dim = s.in->q->dim, B = dim[0], T = dim[1], H = dim[2], D = dim[3];

    if (s.in->rope)
        s.angles = rope_angles(tape, T, D, s.in->rope_scale);
    pool_reserve(tape->pool, 2 * (size_t)T * (size_t)up_to(D, LANES) * sizeof(real));
    pool_for(tape->pool, B * H, 1, body, &s);
    tape_reset(tape);
}

void attention_scores(Tape *tape, const Mix *in, double *S)
{
    for_heads(tape, score_heads, (Scores){ .in = in, .S = S });
}

bool pairs_sums(Tape *tape, const Mix *in, double *c)
{
    const Tiling how = pairs_tiling(in->attention, &in->set);

    if (!how.weighting->weight || how.forgets ||
        bias_is_on(&in->set)) /* scores are without these */
        return false;
    for_heads(tape, sum_heads, (Scores){ .in = in, .c = c });
    return true;
}
