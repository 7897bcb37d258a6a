/*
 * Random feature attention (RFA: Peng et al., 2021, arXiv:2103.02143): random features whose
 * product is, in expectation, the Gaussian kernel of q and k of length 1, e^(-|q' - k'|^2 / 2),
 * which is softmax's weight e^(q' . k') up to a constant factor,
 *
 *     A_ij ~ sum over r of cos(omega_r . (q'_i - k'_j))        q' = q / |q|, k' = k / |k|
 *
 * for m random directions omega_r, normally distributed. As cos(a - b) = sin a sin b + cos a cos b,
 * that is a product of features:
 *
 *     phi(x) = psi(x) = [sin(omega x') ; cos(omega x')]        x' = x / |x|
 *
 * Weights may be negative, and so may denominators. |x| is replaced by 10^-6 where it is smaller,
 * and is then a constant, as in guard().
 *
 * Backward, with y = omega x', and ds and dc the gradients of its sines and cosines:
 *
 *     dy = ds * cos(y) - dc * sin(y)
 *     domega_r = sum of dy_r x' over all rows of q and k        with --learn-omega
 *     dx' = omega^T dy
 *     dx = (dx' - x' (x' . dx')) / |x|
 *
 * The code divides y instead of x: y = (omega x) / |x|. So with u = dy / |x|, domega_r is the sum
 * of u_r x, and dx = omega^T u - x' (x' . omega^T u).
 *
 * With --gated (section 3.2 of the paper) the state decays, as in decay.c, by a factor a_t for each
 * head and position, which the layer computes from its input h after the norm,
 *
 *     S_t = a_t S_t-1 + psi(k_t) v_t^T       o_t = S_t^T phi(q_t)       a_t = sigmoid(w.h_t + b)
 *
 * or A_ij = e^(-|B_i - B_j|) phi(q_i).psi(k_j) for j in V(i), with B_t the sum of ln a_s over s <=
 * t, which also holds bidirectionally. The operand is g = ln a. (The paper multiplies psi by 1 -
 * a_t, and divides by the same sum without v. Here there is no denominator, as in other mechanisms
 * with a decay; --out-norm rms keeps o about as large as v.) The scan is that of engine/decay.c.
 *
 * Plain twin: plain/rfa.c.
 */
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/decay_features.h"
#include "ops/attention/engine/directions.h"
#include "ops/attention/engine/head.h"
#include "ops/attention/engine/head_matrix.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

static int sines_and_cosines(int D, int m)
{
    (void)D;
    return 2 * m;
}

static const void *lay_out(Node *node, const Mix *in)
{
    return head_matrix(node, mix_tensor(in, "omega"), 1);
}

/* |x|, whose square may be beyond the range of floats; NaN stays. */
static double length_of(const real *x, int D)
{
    double square = 0;

    for (int d = 0; d < D; d++)
        square += (double)x[d] * (double)x[d];
    return sqrt(square);
}

/* 1 / |x|, or of the guard. */
static real inverse(double length)
{
    return R(1 / (length < (double)GUARD ? (double)GUARD : length));
}

/* Sines of y times a number, in place, and cosines. */
static void replace(real *restrict y, real by, int n, real *restrict c)
{
    for (int j = 0; j < n; j++) {
        const real angle = y[j] * by;

        y[j] = sin_real(angle), c[j] = cos_real(angle);
    }
}

static void rfa_apply(const MapRows *m, const real *x, real *f)
{
    if (m->prepared)
        head_matrix_multiply(m->prepared, m, x, f);
    else
        head_matrix_row(mix_tensor(m->in, "omega"), 1, m, x, f);
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf)
        replace(f, inverse(length_of(x, m->D)), m->F / 2, f + m->F / 2);
}

/* Replaces the first half of df by u. */
static void chain_features(const MapRows *m, const real *x, const real *f, real *df)
{
    const int half = m->F / 2;

    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf, df += m->ldf) {
        const real by = inverse(length_of(x, m->D));

        for (int j = 0; j < half; j++)
            df[j] = (df[j] * f[half + j] - df[half + j] * f[j]) * by;
    }
}

/* dx less its part along x, unless the guard acts. */
static void leave_length(const MapRows *m, const real *x, real *dx)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, dx += m->ldx) {
        const double length = length_of(x, m->D);
        const real by = inverse(length), along = row_dot(x, dx, m->D) * by;

        for (int d = 0; d < m->D && length >= (double)GUARD; d++)
            dx[d] -= x[d] * by * along;
    }
}

static void rfa_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    chain_features(m, x, f, df);
    head_matrix_back(m->prepared, m, df, dx);
    leave_length(m, x, dx);
    head_matrix_learn(m->prepared, m, x, df);
}

static const FeatureMap map = { .features = sines_and_cosines,
                                .apply = rfa_apply,
                                .chain = rfa_chain,
                                .prepare = lay_out,
                                .learn = { "omega", "omega" } };

static bool is_gated(const Values *set)
{
    return setting(set, "gated");
}

static Tensor *rfa_mix(Tape *tape, const Mix *in)
{
    return (is_gated(&in->set) ? decay_features_mix : linear_mix)(tape, in);
}

static void rfa_step(const Step *s)
{
    (is_gated(&s->in->set) ? decay_features_step : linear_step)(s);
}

static size_t rfa_state(const MixSize *s)
{
    return (is_gated(&s->set) ? decay_features_state : linear_state)(s);
}

static double rfa_cost(const MixSize *s)
{
    return (is_gated(&s->set) ? decay_features_cost : linear_cost)(s);
}

static MixMemory rfa_memory(const MixSize *s)
{
    return (is_gated(&s->set) ? decay_features_memory : linear_memory)(s);
}

/* Factors that depend on both i and j leave A any rank. */
static int rfa_rank(const MixSize *s)
{
    return is_gated(&s->set) ? s->T : linear_rank(s);
}

static bool rfa_sums(Tape *tape, const Mix *in, double *c)
{
    return !is_gated(&in->set) && linear_sums(tape, in, c);
}

static unsigned traits(const Values *set)
{
    return linear_traits(set) | (is_gated(set) ? BY_DISTANCE | SMOOTH : SIGNED | QUOTIENT);
}

static const Engine engine = {
    .mix = rfa_mix,
    .step = rfa_step,
    .state = rfa_state,
    .cost = rfa_cost,
    .memory = rfa_memory,
    .rotated = linear_rotated,
    .rank = rfa_rank,
    .sums = rfa_sums,
};

const Attention attention_rfa = {
    .name = "rfa",
    .summary = "linear, random Fourier features of normalised q and k (arXiv:2103.02143)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | BOUNDED,
    .more_traits = traits,
    .operands = (const Operand[]){ OPERAND_OMEGA(directions_draw_normal),
                                   { .name = "g",
                                     .shape = "BNH",
                                     .help = "logarithm of the decay, at most 0",
                                     .decay = true,
                                     .with = "gated",
                                     .from = &decay_projection },
                                   { 0 } },
    .settings =
        (const Setting[]){ SETTING_FEATURES(2, "random directions per head, 2 features each "
                                               "(0: 2 times the width of a key)"),
                           SETTING_LEARN_OMEGA,
                           { .name = "gated",
                             .kind = SETTING_FLAG,
                             .tries = { 1 },
                             .without = "window",
                             .help =
                                 "decay the state by a learned, input-dependent gate instead of "
                                 "dividing by a denominator" },
                           SETTING_ROPE_AT(0, 0),
                           SETTING_WINDOW,
                           SETTINGS_OF_HEADS,
                           { 0 } },
    .engine = &engine,
    .rule = &map,
    .plain = plain_rfa,
};
