/*
 * DeltaNet (Schlag et al., 2021, arXiv:2102.11174; in parallel: Yang et al., 2024,
 * arXiv:2406.06484): linear attention that overwrites. Before a key's value is put into the state,
 * part of what the state already has under that key is taken out,
 *
 *     S_t = (1 - beta_t k_t k_t^T) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * or S_t = S_t-1 + k_t u_t^T with u_t = beta_t (v_t - S_t-1^T k_t): a step of gradient descent, of
 * size beta_t, on the squared error |S^T k_t - v_t|^2 / 2. For keys of length 1, which the layer
 * sees to, 1 - beta k k^T has the eigenvalues 1 and 1 - beta. With beta = sigmoid(w.h) they are not
 * negative; with --negative, beta = 2 sigmoid(w.h), they reach -1, and a state can change its sign
 * from one position to the next, as counting modulo 2 takes (Grazzi et al., 2024,
 * arXiv:2411.12537).
 *
 * Backward, with g the gradient of o and R_t that of S_t, which gets R_t+1 too, from the right:
 *
 *     R_t  = q_t g_t^T + R_t+1 - beta_t+1 k_t+1 (R_t+1^T k_t+1)^T
 *     dx_t = R_t^T k_t         dv_t    = beta_t dx_t
 *     dq_t = S_t g_t           dbeta_t = dx_t . (v_t - S_t-1^T k_t)
 *     dk_t = R_t u_t - beta_t S_t-1 dx_t
 *
 * engine/delta_scan.c does both for whole chunks of positions, with matrix products.
 *
 * The same in plain loops: plain/deltanet.c.
 */
#include "ops/attention/engine/delta.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

static const DeltaRule rule = { .decay = NULL };

const Attention attention_deltanet = {
    .name = "deltanet",
    .summary = "linear, the state is corrected instead of added to (arXiv:2406.06484)",
    .family = "delta",
    .position = "none",
    .traits = CAUSAL_ONLY | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH | UNIT_KEYS,
    .operands = (const Operand[]){ OPERAND_BETA, { 0 } },
    .settings = (const Setting[]){ SETTINGS_OF_DELTA(0), { 0 } },
    .engine = &engine_delta,
    .rule = &rule,
    .plain = plain_deltanet,
};
