/*
 * Gated linear attention (Yang et al., 2024, arXiv:2312.06635): linear attention without a
 * denominator, whose state has a separate decay for each position and each feature of the keys,
 *
 *     S_t = diag(e^(ga_t)) S_t-1 + k_t v_t^T       o_t = S_t^T q_t
 *     ga_t = ln sigmoid(W2 W1 h_t + b) / 16        elementwise
 *
 * where h is the layer's input after its norm, W1 has 16 rows, and padding has ga = 0. Unrolled,
 * with B_t the sum of ga_s over s <= t,
 *
 *     A_ij = sum over d of q_id k_jd e^(B_id - B_jd)       j in V(i)
 *
 * which is not a function of q_i.k_j. engine/decay_each.c computes both passes by matrix products,
 * and engine/segments.h keeps the exponents in range. With * elementwise, B_id occurs in all terms
 * of row i as a factor e^(B_id) of q_id, and B_jd in all terms of column j as a factor e^(-B_jd) of
 * k_jd, so dB_s = q_s * dq_s - k_s * dk_s, and
 *
 *     dga_t = sum over s >= t of (q_s * dq_s - k_s * dk_s)
 *
 * ga is an operand; the layer computes it, divides q by sqrt(D) beforehand, normalises each head's
 * output, and gates it. Causal only, as in the paper.
 *
 * Plain twin: plain/gla.c.
 */
#include "ops/attention/engine/decay.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

static const DecayRule rule = { .each = true };

static const Projection log_decay = { .f = &activation_log_sigmoid, .by = 1.0 / 16, .rank = 16 };

const Attention attention_gla = {
    .name = "gla",
    .summary = "gated linear attention: an input-dependent decay per feature "
               "(arXiv:2312.06635)",
    .family = "decay",
    .position = "none",
    .traits = CAUSAL_ONLY | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | QUERIES_SCALED | SMOOTH,
    .operands = (const Operand[]){ { .name = "ga",
                                     .shape = "BNHd",
                                     .help = "logarithm of the decay of each feature, at most 0",
                                     .decay = true,
                                     .from = &log_decay },
                                   { 0 } },
    .settings =
        (const Setting[]){
            SETTING_KEY_SIZE, SETTING_OUT_NORM(1), SETTING_OUT_GATE(1), SETTINGS_AROUND, { 0 } },
    .engine = &engine_decay_each,
    .rule = &rule,
    .plain = plain_gla,
};
