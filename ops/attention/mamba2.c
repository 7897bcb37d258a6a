/*
 * Mamba-2 (Dao and Gu, 2024, arXiv:2405.21060): a state-space model, which is linear attention
 * whose state has a separate decay for each head and position. The step size Delta_t depends on the
 * input; it scales the input, and a longer step also forgets more:
 *
 *     S_t = e^(g_t) S_t-1 + B_t (Delta_t x_t)^T       y_t = S_t^T C_t + D x_t
 *     Delta_t = softplus(w.h_t + b)       g_t = -e^A Delta_t
 *
 * where h is the layer's input after its norm; w, b, A and D are learned for each head; and C, B
 * and x are called q, k and v elsewhere, all after a short convolution and silu. All heads share C
 * and B. Unrolled, with G_t the sum of g_s over s <= t,
 *
 *     M_ij = e^(-|G_i - G_j|) C_i.B_j Delta_j + [i = j] D       j in V(i)
 *
 * which also holds bidirectionally. The mix is the scan of decay.c: its operands are q = C, k = B,
 * v = Delta x, and g, and padding has g = 0. The layer computes the rest (model/heads.c,
 * model/around.c), with a gate z = h W_z^T and a norm over all heads together:
 *
 *     o = rmsnorm(y * silu(z)) W_o^T
 *
 * Backward, where engine/decay.c computes dq, dk, dv and dg of each head from dy:
 *
 *     dC_t = sum over heads of dq_t       dB_t = sum over heads of dk_t
 *     dx_t = Delta_t dv_t + D dy_t        dD = sum over t of x_t.dy_t
 *     dDelta_t = x_t.dv_t - e^A dg_t      dA = sum over t of g_t dg_t
 *
 * and, with softplus' = sigmoid, dw = sum over t of dDelta_t sigmoid(w.h_t + b) h_t, and db the
 * same without h_t. Initially e^A is uniform from 1 to 16, ln Delta (from b) uniform from ln 0.001
 * to ln 0.1, and D is 1. The paper's block is twice as wide inside and also replaces the
 * feed-forward layer, and its convolution has a bias; here the layer is as wide as that of other
 * mechanisms, and a feed-forward layer follows (--no-ffn: none).
 *
 * Plain twin: plain/mamba2.c.
 */
#include "ops/attention/engine/decay.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

static const DecayRule rule = { .log_decay = NULL };

static const Projection step = { .f = &activation_softplus,
                                 .step = true,
                                 .draw = rates_draw_steps,
                                 .rate = true,
                                 .draw_rate = rates_draw };

const Attention attention_mamba2 = {
    .name = "mamba2",
    .summary = "state-space model: input-dependent step sizes scale values and decays "
               "(arXiv:2405.21060)",
    .position = "none",
    .traits = HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH,
    .operands = (const Operand[]){ { .name = "g",
                                     .shape = "BNH",
                                     .help = "logarithm of the decay, at most 0",
                                     .decay = true,
                                     .from = &step },
                                   { 0 } },
    .settings =
        (const Setting[]){ SETTING_KEY_SIZE,
                           SETTING_OUT_NORM(2),
                           SETTING_OUT_GATE(1),
                           SETTING_CONV(4),
                           SETTING_CONV_SILU,
                           SETTING_QK_NORM(0),
                           { .name = "share-keys",
                             .kind = SETTING_FLAG,
                             .value = 1,
                             .layer = true,
                             .help = "share q and k (a state space's C and B) between all heads" },
                           { .name = "skip",
                             .kind = SETTING_FLAG,
                             .value = 1,
                             .layer = true,
                             .help = "add v, times a learned scalar per head, to the output" },
                           { 0 } },
    .engine = &engine_decay,
    .rule = &rule,
    .plain = plain_mamba2,
};
