/*
 * Attention with a state that is corrected: what a key would read is replaced, not added to. In
 * general a position takes something out of the state along one vector, and puts something in along
 * another,
 *
 *     S_t = w_t S_t-1 + b_t u_t^T (+ k_t v_t^T)       u_t = x_t + S_t-1^T a_t       o_t = S_t^T q_t
 *
 * where w_t = e^(g_t) multiplies the rows of S. The delta rule has b_t = k_t and
 *
 *     u_t = beta_t (v_t - S_t-1^T (w_t k_t))       x_t = beta_t v_t       a_t = -beta_t w_t k_t
 *
 * Padding neither adds to the state nor fades it. The derivation is at the head of delta_scan.c.
 */
#ifndef OPS_ATTENTION_ENGINE_DELTA_H
#define OPS_ATTENTION_ENGINE_DELTA_H

#include "ops/attention.h"
#include "ops/attention/engine/settings.h"

typedef struct {
    const char *decay; /* the operand g: "g" (B, N, H) or "ga" (B, N, H, d); NULL: w is 1 */
    bool own;          /* a and b are operands, x is 0, and k v^T is added; else beta is one */
} DeltaRule;

/* The engine; the row's rule is its DeltaRule. */
extern const Engine engine_delta;

/* Beta, and the settings of mechanisms with it: a convolution with silu, and keys of length 1. */
extern const Projection delta_beta;
#define OPERAND_BETA                                                                               \
    {                                                                                              \
        .name = "beta", .shape = "BNH", .help = "how much of what the state has is replaced",      \
        .from = &delta_beta                                                                        \
    }
#define SETTINGS_OF_DELTA(gated)                                                                   \
    SETTING_KEY_SIZE, SETTING_OUT_NORM(1), SETTING_OUT_GATE(gated), SETTING_CONV(4),               \
        SETTING_CONV_SILU, SETTING_QK_NORM(1),                                                     \
    {                                                                                              \
        .name = "negative", .kind = SETTING_FLAG, .layer = true,                                   \
        .help = "beta is up to 2, not 1: keys can change the sign of what the state has"           \
    }

/* For delta_scan.c: decoding. */
void delta_step(const Step *s);
size_t delta_state(const MixSize *size);

#endif
