/*
 * cosFormer (Qin et al., 2022, arXiv:2202.08791): relu features, and a weight that decreases with
 * the distance,
 *
 *     A_ij ~ relu(q_i) . relu(k_j) cos(pi (i - j) / 2M)
 *
 * a product of features, as cos(a - b) = cos a cos b + sin a sin b. With a_t = pi (t + 1) / 2M,
 *
 *     phi(q_i) = [relu(q_i) cos a_i ; relu(q_i) sin a_i]
 *     psi(k_j) = [relu(k_j) cos a_j ; relu(k_j) sin a_j]
 *
 * Backward, with dc and ds the gradients of the two halves of phi or psi, for x = q_i or k_i:
 *
 *     dx = dc cos a_i + ds sin a_i    where x > 0, else 0
 *
 * RoPE rotates relu(x) by R_t (engine/linear.h). Both halves carry the same ladder of frequencies,
 * of width D, so the weight of the numerator stays a function of i - j:
 *
 *     R_i phi(q_i) . R_j psi(k_j) = cos(a_i - a_j) (R_i relu(q_i)) . (R_j relu(k_j))
 *
 * One ladder over all 2D features (--rope-ladder 2d, as before version 0.2) would give the cosines
 * the fast frequencies and the sines the slow ones: with R for the former and S for the latter,
 * cos a_i cos a_j R_i-j + sin a_i sin a_j S_i-j is not a function of i - j.
 *
 * As in relu.c, a row may have a denominator of 0 and, with RoPE, a numerator that is not, which is
 * then divided by the guard.
 *
 * M is the horizon, or the length T if that is greater: with M >= T no weight is negative. In a
 * model the horizon is the context, so that sequences of all lengths use the same M.
 *
 * Decoding beyond M. The weight of a pair becomes negative where i - j > M. A larger M would change
 * all weights from those in training, and the first token would depend on how many follow. So M is
 * kept, and a key is dropped before it is M positions away. Subtracting it from the state would
 * leave its rounding error behind. Instead, a new state can begin at any position, because only
 * differences of positions matter. Two states suffice, each starting M/2 positions after the other:
 *
 *     state 0   [ -------- M positions -------- ]
 *     state 1                  [ -------- M positions -------- ]
 *     state 0                                  [ -------- ...
 *
 * Every key is added to both; the output is that of the older one. So a query sees the last M/2
 * to M positions, all with their trained weights, in constant time and memory.
 *
 * Plain twin: plain/cosformer.c.
 */
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/settings.h"
#include "ops/decoding.h"

#include <string.h>

static int twice(int D, int m)
{
    (void)m;
    return 2 * D;
}

/* pi / 2M */
static double unit(const MapRows *m)
{
    int horizon = setting(&m->in->set, "horizon");

    return acos(-1.0) / (2.0 * (horizon > m->T ? horizon : m->T));
}

static void cosformer_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    const double by = unit(m);

    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        const double a = by * (m->t0 + r + 1);
        real c = R(cos(a)), s = R(sin(a));

        for (int d = 0; d < m->D; d++) {
            real relu = x[d] < 0 ? 0 : x[d]; /* NaN stays */

            f[d] = relu * c;
            f[m->D + d] = relu * s;
        }
    }
}

static void cosformer_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                            real *restrict df, real *restrict dx)
{
    const double by = unit(m);

    (void)f;
    for (int r = 0; r < m->n; r++, x += m->ldx, df += m->ldf, dx += m->ldx) {
        const double a = by * (m->t0 + r + 1);
        real c = R(cos(a)), s = R(sin(a));

        for (int d = 0; d < m->D; d++)
            dx[d] = x[d] > 0 ? df[d] * c + df[m->D + d] * s : 0;
    }
}

static int cosformer_ladder(const MixSize *size)
{
    return setting_is(&size->set, "rope-ladder", "d") ? size->D : 2 * size->D;
}

static const FeatureMap map = { .features = twice,
                                .apply = cosformer_apply,
                                .chain = cosformer_chain,
                                .ladder = cosformer_ladder };

static unsigned of_ladder(const Values *set)
{
    return setting_is(set, "rope-ladder", "d") ? 0 : BY_POSITION;
}

/* The positions of one state; 0: one state covers all positions. */
static int reach_of(const Values *set, int most)
{
    int M = setting(set, "horizon");

    return M > 0 && most > M ? M : 0;
}

static size_t cosformer_state(const MixSize *size)
{
    return linear_state(size) * (reach_of(&size->set, size->T) ? 2 : 1);
}

/* State k begins at position k M/2; the older of the two in use has number `older`. */
typedef struct {
    const Step *s;
    size_t size;
    int half, older;
} Turns;

/* Steps the older state (0), the newer one (1), or both. */
static void step_state(void *ctx, int first, int end)
{
    const Turns *x = ctx;

    for (int i = first; i < end; i++) {
        int k = x->older + i;
        Step s = *x->s;

        s.t -= k * x->half;
        s.state += (size_t)(k % 2) * x->size;
        s.state_only |= i > 0;
        if (s.t == 0)
            memset(s.state, 0, x->size * sizeof(real));
        linear_step(&s);
    }
}

static void cosformer_step(const Step *s)
{
    MixSize size = mix_size(s->in);
    const int most = s->tape->decoding->most, M = reach_of(&s->in->set, most), half = (M + 1) / 2;

    if (!M) {
        linear_step(s);
        return;
    }
    size.T = most;
    Turns x = { s, linear_state(&size), half, s->t < M ? 0 : (s->t - M) / half + 1 };
    pool_for(s->tape->pool, s->t >= (x.older + 1) * half ? 2 : 1, 1, step_state, &x);
}

static const Engine engine = {
    .mix = linear_mix,
    .sums = linear_sums,
    .step = cosformer_step,
    .state = cosformer_state,
    .cost = linear_cost,
    .memory = linear_memory,
    .rotated = linear_rotated,
    .rank = linear_rank,
};

static const char *const ladders[] = { "2d", "d", NULL };

const Attention attention_cosformer = {
    .name = "cosformer",
    .summary = "linear, relu features times cos and sin of the position (arXiv:2202.08791)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | RECTIFIED | KINKED | QUOTIENT,
    .more_traits = of_ladder,
    .settings =
        (const Setting[]){
            { .name = "horizon",
              .most = 1 << 24,
              .length = CONTEXT_AT_LEAST,
              .tries = { 40, 4096, 3 },
              .help =
                  "length M at which the angles reach 90 degrees (0: the context; at least the context)" },
            { .name = "rope-ladder",
              .kind = SETTING_CHOICE,
              .value = 1,
              .was = "2d",
              .choices = ladders,
              .rope = true,
              .help =
                  "width over which RoPE's frequencies are spread (2d: as before version 0.2)" },
            SETTING_WINDOW,
            SETTINGS_OF_HEADS,
            { 0 } },
    .engine = &engine,
    .rule = &map,
    .plain = plain_cosformer,
};
