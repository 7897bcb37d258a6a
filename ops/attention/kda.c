/*
 * Kimi Delta Attention (Kimi Team, 2025, arXiv:2510.26692): the delta rule with a separate decay
 * for each feature of the keys, that is for each row of the state,
 *
 *     S_t = (I - beta_t k_t k_t^T) diag(e^(g_t)) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * or S_t = diag(e^(g_t)) S_t-1 + k_t u_t^T with u_t = beta_t (v_t - S_t-1^T (e^(g_t) * k_t)), where
 * * is elementwise, g_t has D entries (the operand is called ga), and
 *
 *     beta_t = sigmoid(w.h_t + b')       g_t = -e^A softplus(W2 W1 h_t + b)
 *
 * with W1 of 16 rows; A and b are initialised as in Mamba-2 (mamba2.c). The paper has one A per
 * head; here there is one per feature. gated_delta.c has the derivative for one g_t per head. Here,
 * with Z_t = diag(e^(g_t)) S_t-1, whose gradient is computed as there,
 *
 *     R_t-1 = q_t-1 do_t-1^T + diag(e^(g_t)) dZ_t
 *     dg_td = sum over e of dZ_t,de Z_t,de
 *
 * engine/delta_scan.c computes both passes for whole chunks of positions, by matrix products.
 *
 * Plain twin: plain/kda.c.
 */
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/delta.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

enum { RANK = 16 };

static const DeltaRule rule = { .decay = "ga" };

static const Projection rate = { .f = &activation_softplus,
                                 .rank = RANK,
                                 .draw = rates_draw_steps,
                                 .rate = true,
                                 .draw_rate = rates_draw };

const Attention attention_kda = {
    .name = "kda",
    .summary = "the delta rule with an input-dependent decay per feature (arXiv:2510.26692)",
    .family = "delta",
    .position = "none",
    .traits = CAUSAL_ONLY | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH | UNIT_KEYS,
    .operands = (const Operand[]){ OPERAND_BETA,
                                   { .name = "ga",
                                     .shape = "BNHd",
                                     .help = "logarithm of the decay of each feature, at most 0",
                                     .decay = true,
                                     .from = &rate },
                                   { 0 } },
    .settings = (const Setting[]){ SETTINGS_OF_DELTA(1), { 0 } },
    .engine = &engine_delta,
    .rule = &rule,
    .plain = plain_kda,
};
