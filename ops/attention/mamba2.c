/*
 * Mamba-2 (Dao and Gu, 2024, arXiv:2405.21060): a state space model, which is linear attention on a
 * state that fades by a number of its own for each head and position. It takes its input in steps
 * whose size depends on the input, and a longer step also forgets more:
 *
 *     S_t = e^(g_t) S_t-1 + B_t (Delta_t x_t)^T       y_t = S_t^T C_t + D x_t
 *     Delta_t = softplus(w.h_t + b)       g_t = -e^A Delta_t
 *
 * where h is the normed input of the layer; w, b, A and D are learned for each head; and C, B and x
 * are what is q, k and v elsewhere, all after a short convolution and silu. All heads share C
 * and B. Unrolled, with G_t the sum of g_s over s <= t,
 *
 *     M_ij = e^(-|G_i - G_j|) C_i.B_j Delta_j + [i = j] D       j in V(i)
 *
 * which also holds bidirectionally. The mix is the scan, that of decay.c: its operands are q = C,
 * k = B, v = Delta x, and g, and padding has g = 0. The layer does the rest (model/heads.c,
 * model/around.c), and gates: with z = h W_z^T, of all heads together,
 *
 *     o = rmsnorm(y * silu(z)) W_o^T
 *
 * Backward, where engine/decay.c gives dq, dk, dv and dg of each head, from dy:
 *
 *     dC_t = sum over heads of dq_t       dB_t = sum over heads of dk_t
 *     dx_t = Delta_t dv_t + D dy_t        dD = sum over t of x_t.dy_t
 *     dDelta_t = x_t.dv_t - e^A dg_t      dA = sum over t of g_t dg_t
 *
 * and those of w and b through softplus. A starts evenly from 1 to 16 in e^A, Delta evenly from
 * 0.001 to 0.1 in its logarithm, D at 1. The paper's block is twice as wide inside and also takes
 * the place of the feed-forward layer, and its convolution has a bias; here the layer is as wide as
 * that of other mechanisms, and a feed-forward layer follows (--no-ffn: none).
 *
 * The same in plain loops: plain/mamba2.c.
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
    .summary = "a state space: its input sets the size of steps, which scales values and decays "
               "(arXiv:2405.21060)",
    .position = "none",
    .traits = HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH,
    .operands = (const Operand[]){ { .name = "g",
                                     .shape = "BNH",
                                     .help = "logarithm of the decay, at most 0",
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
                             .help = "all heads have the same q and k: C and B of a state space" },
                           { .name = "skip",
                             .kind = SETTING_FLAG,
                             .value = 1,
                             .layer = true,
                             .help = "add v to each head's output, times a learned number" },
                           { 0 } },
    .engine = &engine_decay,
    .rule = &rule,
    .plain = plain_mamba2,
};
