/*
 * Lightning attention (TransNormerLLM: Qin et al., 2024, arXiv:2307.14995; Lightning Attention-2:
 * arXiv:2401.04658): linear attention without a denominator, whose state decays at a fixed rate per
 * head and layer,
 *
 *     S_t = e^g S_t-1 + k_t v_t^T       o_t = S_t^T q_t       g = -8 (h + 1) / H (1 - l / L)
 *
 * for head h of H and layer l of L, both counted from 0: early layers see only nearby positions;
 * even in the last layer a head's weights fall to 1/e in H L / (8 (h + 1)) tokens. With --slopes
 * alibi the rates are ALiBi's,
 *
 *     g = -2^(-8 (h + 1) / H) (1 - l / L)
 *
 * Unrolled, A_ij = e^(g |i - j|) q_i.k_j for j in V(i), which also holds bidirectionally; positions
 * in the padding do not add to the distance.
 * engine/decay.c has the forward and the backward pass. The layer applies silu to q and k,
 * normalises each head's output, which can become much larger than v, and gates it. The authors are
 * those of cosFormer, whose denominator this replaces.
 *
 * Plain twin: plain/lightning.c.
 */
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/settings.h"

#include <math.h>

static double log_decay(const MixSize *s, int head)
{
    const double x = 8.0 * (head + 1) / s->H,
                 left = s->layers ? 1 - (double)s->layer / s->layers : 1;

    return -left * (setting_is(&s->set, "slopes", "alibi") ? exp2(-x) : x);
}

static const DecayRule rule = { .log_decay = log_decay };

static const char *const slopes[] = { "linear", "alibi", NULL };

const Attention attention_lightning = {
    .name = "lightning",
    .summary = "linear, with a fixed decay, faster in early layers (arXiv:2401.04658)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | BY_LAYER | SILU_QK | SMOOTH,
    .settings = (const Setting[]){ SETTING_KEY_SIZE,
                                   SETTING_OUT_NORM(1),
                                   SETTING_OUT_GATE(1),
                                   SETTINGS_AROUND,
                                   { .name = "slopes",
                                     .kind = SETTING_CHOICE,
                                     .choices = slopes,
                                     .help = "decay rate of head h: 8 (h + 1) / H, or "
                                             "ALiBi's 2^(-8 (h + 1) / H)" },
                                   { 0 } },
    .engine = &engine_decay,
    .rule = &rule,
    .plain = plain_lightning,
};
