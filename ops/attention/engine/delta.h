/*
 * Attention with the delta rule: the value that the state stores for a key is replaced, not added
 * to. In general a position reads the state along one vector and adds to it along another,
 *
 *     S_t = w_t S_t-1 + b_t u_t^T (+ k_t v_t^T)       u_t = x_t + S_t-1^T a_t       o_t = S_t^T q_t
 *
 * where w_t = e^(g_t) multiplies the rows of S. The delta rule has b_t = k_t and
 *
 *     u_t = beta_t (v_t - S_t-1^T (w_t k_t))       x_t = beta_t v_t       a_t = -beta_t w_t k_t
 *
 * Padding does not change the state. The derivation is at the head of delta_scan.c.
 */
#ifndef OPS_ATTENTION_ENGINE_DELTA_H
#define OPS_ATTENTION_ENGINE_DELTA_H

#include "ops/attention.h"
#include "ops/attention/engine/settings.h"

typedef struct {
    const char *decay; /* the operand of g: "g" (B, N, H) or "ga" (B, N, H, d); NULL: w is 1 */
    bool own; /* a and b are operands, x is 0, and k v^T is added; else beta is an operand */
} DeltaRule;

/* The engine; Attention.rule is the DeltaRule. */
extern const Engine engine_delta;

/* beta, and the settings of mechanisms with it: a convolution with silu, and normalised keys. */
extern const Projection delta_beta;
#define OPERAND_BETA                                                                               \
    {                                                                                              \
        .name = "beta", .shape = "BNH", .help = "share of a key's old value that is replaced",     \
        .from = &delta_beta                                                                        \
    }
#define SETTINGS_OF_DELTA(gated)                                                                   \
    SETTING_KEY_SIZE, SETTING_OUT_NORM(1), SETTING_OUT_GATE(gated), SETTING_CONV(4),               \
        SETTING_CONV_SILU, SETTING_QK_NORM(1),                                                     \
    {                                                                                              \
        .name = "negative", .kind = SETTING_FLAG, .layer = true,                                   \
        .help = "let beta range up to 2, so that a key can reverse the sign of its old value"      \
    }

/* For delta_scan.c: decoding. */
void delta_step(const Step *s);
size_t delta_state(const MixSize *size);

#endif
