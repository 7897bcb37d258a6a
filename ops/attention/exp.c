/*
 * Linear attention with the exponential of each entry as a feature:
 *
 *     phi(x) = psi(x) = e^x
 *     A_ij   = sum over f of e^(q_if + k_jf) / sum over l, f of e^(q_if + k_lf)        l in V(i)
 *
 * With entries up to +-60 a term lies between e^-120 and e^120, but floats end at e^88. Each of
 * e^q, e^k and z_if = sum over l of e^k_lf is a float; only their products may overflow. So each
 * row of phi is multiplied by a power of two, which does not round:
 *
 *     phi_if = e^q_if 2^-p_i,       2^p_i ~ max over f of e^q_if z_if
 *
 * The largest term of the row is then near 1, and terms that underflow are negligible. 2^-p_i
 * cancels in A, so it is treated as a constant in the gradient:
 *
 *     dq_if = dphi_if phi_if          dk_jf = dpsi_jf psi_jf
 *
 * The guard is multiplied by 2^-p_i as well. p_i depends only on q_i and keys that row i sees.
 *
 * Plain twin: plain/exp.c.
 */
#include "ops/attention/engine/features.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

#include <string.h>

enum { FAR = 4096 }; /* 2^+-FAR is out of range; clamps what would not fit an int, and NaN */

static int one(int F)
{
    (void)F;
    return 1;
}

/* n with 2^n <= x < 2^(n+1); for 0 one less than the least exponent of a normal number. */
static inline real exponent(real x)
{
#ifdef PROOF
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return R((int)(bits >> 52 & 0x7ff) - 1023);
#else
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return R((int)(bits >> 23 & 0xff) - 127);
#endif
}

static void exp_measure(const real *q, const real *z, int F, real *p)
{
    real most = -R(HUGE_VAL);

    for (int f = 0; f < F; f++) {
        real term = q[f] * R(1.4426950408889634) + exponent(z[f]);

        most = term > most ? term : most;
    }
    *p = most > -FAR ? rint(most < FAR ? most : FAR) : -FAR;
}

static void exp_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        int p = m->key ? 0 : (int)m->stat[r], half = p / 2;
        real low = ldexp(R(1), -half), high = ldexp(R(1), half - p);

        for (int d = 0; d < m->D; d++)
            f[d] = exp_real(x[d]) * low * high;
    }
}

static void exp_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                      real *restrict df, real *restrict dx)
{
    (void)x;
    for (int r = 0; r < m->n; r++, f += m->ldf, df += m->ldf, dx += m->ldx)
        for (int d = 0; d < m->D; d++)
            dx[d] = df[d] * f[d];
}

static const FeatureMap map = {
    .features = features_same,
    .apply = exp_apply,
    .chain = exp_chain,
    .stats = one,
    .measure = exp_measure,
    .shifted = true,
};

const Attention attention_exp = {
    .name = "exp",
    .summary = "linear, features e^x",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | SMOOTH | QUOTIENT | EXACT_TO_60,
    .more_traits = linear_traits,
    .settings =
        (const Setting[]){ SETTING_ROPE_AT(0, 0), SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_exp,
};
