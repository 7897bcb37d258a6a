/*
 * Gated DeltaNet (Yang, Kautz and Hatamizadeh, 2024, arXiv:2412.06464): the delta rule with the
 * decay of Mamba-2, so that the state can also be cleared,
 *
 *     S_t = e^(g_t) (I - beta_t k_t k_t^T) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * or S_t = e^(g_t) S_t-1 + k_t u_t^T with u_t = beta_t (v_t - e^(g_t) S_t-1^T k_t), and
 *
 *     beta_t = sigmoid(w.h_t + b')       g_t = -e^A softplus(w'.h_t + b)
 *
 * for each head; A, w, w', b and b' are learned, and A and b are initialised as in Mamba-2
 * (mamba2.c). deltanet.c derives the gradients without a decay; with it, e^(g_t) S_t-1 takes the
 * place of S_t-1. With Z_t = e^(g_t) S_t-1, R_t the gradient of S_t, and do_t that of o_t,
 *
 *     du_t  = R_t^T k_t
 *     dZ_t  = R_t - beta_t k_t du_t^T
 *     R_t-1 = q_t-1 do_t-1^T + e^(g_t) dZ_t
 *     dg_t  = sum over d, e of dZ_t,de Z_t,de
 *
 * engine/delta_scan.c computes both passes for whole chunks of positions, by matrix products.
 *
 * Plain twin: plain/gated_delta.c.
 */
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/delta.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

static const DeltaRule rule = { .decay = "g" };

static const Projection rate = {
    .f = &activation_softplus, .draw = rates_draw_steps, .rate = true, .draw_rate = rates_draw
};

const Attention attention_gated_delta = {
    .name = "gated-delta",
    .summary = "the delta rule with an input-dependent decay per head (arXiv:2412.06464)",
    .family = "delta",
    .position = "none",
    .traits = CAUSAL_ONLY | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH | UNIT_KEYS,
    .operands = (const Operand[]){ OPERAND_BETA,
                                   { .name = "g",
                                     .shape = "BNH",
                                     .help = "logarithm of the decay, at most 0",
                                     .decay = true,
                                     .from = &rate },
                                   { 0 } },
    .settings = (const Setting[]){ SETTINGS_OF_DELTA(1), { 0 } },
    .engine = &engine_delta,
    .rule = &rule,
    .plain = plain_gated_delta,
};
