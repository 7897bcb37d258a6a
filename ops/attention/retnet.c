/*
 * Retention (RetNet: Sun et al., 2023, arXiv:2307.08621): linear attention without a feature map or
 * a denominator, whose state decays at a fixed rate per head,
 *
 *     S_t = a S_t-1 + k_t v_t^T       o_t = S_t^T q_t       a = 1 - 2^(-n-h)
 *
 * with h the head from 0, and n = 5 in the paper. Unrolled, where padding is not counted,
 *
 *     A_ij = a^|i - j| q_i . k_j       j in V(i)
 *
 * which also holds bidirectionally. engine/decay.c has the forward and the backward pass. The layer
 * divides q by sqrt(D); and without a denominator o can become much larger than v, so it normalises
 * each head's output, and gates it.
 *
 * Plain twin: plain/retnet.c.
 */
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/settings.h"

static double log_decay(const MixSize *size, int head)
{
    return log1p(-exp2(-setting_or_zero(&size->set, "decay") - head));
}

static const DecayRule rule = { .log_decay = log_decay };

const Attention attention_retnet = {
    .name = "retnet",
    .summary = "retention: linear, with a fixed decay per head (arXiv:2307.08621)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | QUERIES_SCALED | SMOOTH,
    .settings =
        (const Setting[]){
            SETTING_KEY_SIZE,
            SETTING_OUT_NORM(1),
            SETTING_OUT_GATE(1),
            SETTINGS_AROUND,
            { "decay", SETTING_NUMBER, .most = 20, .least = 1, .zero = 5, .tries = { 1, 2, 12 },
              .help =
                  "the state of head h decays by a factor of 1 - 2^(-N-h) per position (0: 5)" },
            { 0 } },
    .engine = &engine_decay,
    .rule = &rule,
    .plain = plain_retnet,
};
