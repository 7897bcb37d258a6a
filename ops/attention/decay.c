/*
 * Linear attention with a decay that depends on the position: the scan that RetNet, Mamba-2 (Dao
 * and Gu, 2024, arXiv:2405.21060), mLSTM and gated retention have in common. There is no feature
 * map and no denominator; the state decays by one factor per head and position,
 *
 *     S_t = e^(g_t) S_t-1 + k_t v_t^T       o_t = S_t^T q_t       g_t = ln sigmoid(w.h_t + b)
 *
 * where h is the layer's input after its norm, so g_t <= 0. Unrolled, with B_t the sum of g_s over
 * s <= t,
 *
 *     A_ij = e^(-|B_i - B_j|) q_i.k_j       j in V(i)
 *
 * which also holds bidirectionally. g is an operand, and padding has g = 0. engine/decay.c has the
 * forward and the backward pass, engine/crossing.h the gradient of g: g_t is in the exponent of
 * every pair with one position before t and the other at t or after it. As dA_ij = do_i.v_j,
 *
 *     dg_t = sum over the pairs with j < t <= i (or i < t <= j) of A_ij dA_ij
 *
 * Without a denominator, o can become much larger than v, so the layer normalises each head's
 * output, and gates it.
 *
 * Plain twin: plain/decay.c.
 */
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

static const DecayRule rule = { .log_decay = NULL };

/* From 2 in the first head to 6 in the last: they forget within 8 to 400 positions at first. */
static void spread(Tensor *b, Random random)
{
    (void)random;
    for (size_t h = 0; h < b->n; h++)
        b->data[h] = R(2 + 4.0 * (double)h / (double)(b->n > 1 ? b->n - 1 : 1));
}

const Projection decay_projection = { .f = &activation_log_sigmoid, .draw = spread };

const Attention attention_decay = {
    .name = "decay",
    .summary = "linear, with an input-dependent decay per head (arXiv:2405.21060)",
    .family = "decay",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH,
    .operands = (const Operand[]){ { .name = "g",
                                     .shape = "BNH",
                                     .help = "logarithm of the decay, at most 0",
                                     .decay = true,
                                     .from = &decay_projection },
                                   { 0 } },
    .settings =
        (const Setting[]){
            SETTING_KEY_SIZE, SETTING_OUT_NORM(1), SETTING_OUT_GATE(1), SETTINGS_AROUND, { 0 } },
    .engine = &engine_decay,
    .rule = &rule,
    .plain = plain_decay,
};
