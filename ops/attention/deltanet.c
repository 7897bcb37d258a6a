/*
 * DeltaNet (Schlag et al., 2021, arXiv:2102.11174; in parallel form: Yang et al., 2024,
 * arXiv:2406.06484): linear attention that overwrites. Before the value of a key is added to the
 * state, a share beta_t of the value that the state already stores for this key is removed,
 *
 *     S_t = (I - beta_t k_t k_t^T) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * or S_t = S_t-1 + k_t u_t^T with u_t = beta_t (v_t - S_t-1^T k_t): a step of gradient descent, of
 * size beta_t, on the squared error |S^T k_t - v_t|^2 / 2. The layer normalises keys to length 1,
 * so that I - beta k k^T has the eigenvalues 1 and 1 - beta. With beta = sigmoid(w.h + b) they are
 * not negative; with --negative, beta = 2 sigmoid(w.h + b), they can approach -1, and the state can
 * change its sign from one position to the next, which counting modulo 2 requires (Grazzi et al.,
 * 2024, arXiv:2411.12537).
 *
 * Backward, with g the gradient of o. S_t is used in o_t, in S_t+1 and in u_t+1, so its gradient
 * R_t, computed from the last position to the first, is
 *
 *     R_t  = q_t g_t^T + R_t+1 - beta_t+1 k_t+1 du_t+1^T
 *     du_t = R_t^T k_t         dv_t    = beta_t du_t
 *     dq_t = S_t g_t           dbeta_t = du_t . (v_t - S_t-1^T k_t)
 *     dk_t = R_t u_t - beta_t S_t-1 du_t
 *
 * engine/delta_scan.c computes both passes for whole chunks of positions, by matrix products.
 *
 * Plain twin: plain/deltanet.c.
 */
#include "ops/attention/engine/delta.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

static const DeltaRule rule = { .decay = NULL };

const Attention attention_deltanet = {
    .name = "deltanet",
    .summary = "the delta rule: a key's old value is replaced by its new one (arXiv:2406.06484)",
    .family = "delta",
    .position = "none",
    .traits = CAUSAL_ONLY | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH | UNIT_KEYS,
    .operands = (const Operand[]){ OPERAND_BETA, { 0 } },
    .settings = (const Setting[]){ SETTINGS_OF_DELTA(0), { 0 } },
    .engine = &engine_delta,
    .rule = &rule,
    .plain = plain_deltanet,
};
