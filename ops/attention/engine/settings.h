/* Settings that several mechanisms share. */
#ifndef OPS_ATTENTION_ENGINE_SETTINGS_H
#define OPS_ATTENTION_ENGINE_SETTINGS_H

#include "ops/attention.h"

#define SETTING_WINDOW                                                                             \
    {                                                                                              \
        .name = "window", .most = 1 << 24, .tries = { 2, 5, 70 },                                  \
        .help = "attend only to keys at most N positions away (0: all)"                            \
    }
#define SETTING_BASE                                                                               \
    {                                                                                              \
        .name = "base", .most = 1 << 24, .least = 2, .zero = 512, .length = CONTEXT_IF_ASKED,      \
        .with = (const char *const[]){ "entropy", "logn", "fixed", NULL }, .tries = { 5, 20 },     \
        .help =                                                                                    \
            "reference length n0 of entropy, logn and fixed; 0: 512; context: the model's context" \
    }
#define SETTING_KEY_SIZE_BY(by_default)                                                            \
    {                                                                                              \
        .name = "key-size", .value = by_default, .most = 1 << 14, .layer = true, .size = 'd',      \
        .help = "width of q and k per head (0: that of v; gau, flash-gau: 128 for all heads)"      \
    }
#define SETTING_KEY_SIZE SETTING_KEY_SIZE_BY(0)
extern const char *const out_norm_names[], *const rope_at_names[], *const rel_bias_names[];
extern const char *const qk_norm_names[];
#define SETTING_REL_BIAS                                                                           \
    {                                                                                              \
        .name = "rel-bias", .kind = SETTING_CHOICE, .choices = rel_bias_names, .quiet = true,      \
        .help = "add a learned, distance-dependent bias to the scores: (R_i a).(R_j b), where R "  \
                "rotates as RoPE does, as in FLASH's code"                                         \
    }
#define OPERANDS_REL_BIAS                                                                          \
    { .name = "rel_a",                                                                             \
      .shape = "Hd",                                                                               \
      .help = "a of the distance bias",                                                            \
      .with = "rel-bias",                                                                          \
      .is = "rope" },                                                                              \
    {                                                                                              \
        .name = "rel_b", .shape = "Hd", .help = "b of the distance bias", .with = "rel-bias",      \
        .is = "rope"                                                                               \
    }
#define SETTING_ROPE_AT(by_default, first)                                                         \
    {                                                                                              \
        .name = "rope-at", .kind = SETTING_CHOICE, .value = by_default, .least = first,            \
        .choices = rope_at_names, .rope = true,                                                    \
        .help =                                                                                    \
            "apply RoPE to the features (in the numerator), or to q and k before the feature map"  \
    }
#define SETTING_OUT_NORM(by_default)                                                                \
    {                                                                                               \
        .name = "out-norm", .kind = SETTING_CHOICE, .value = by_default,                            \
        .choices = out_norm_names, .layer = true,                                                   \
        .help =                                                                                     \
            "normalise each head's output, without a gain; all: all heads together, after the gate" \
    }
#define SETTING_OUT_GATE(by_default)                                                               \
    {                                                                                              \
        .name = "out-gate", .kind = SETTING_FLAG, .value = by_default, .layer = true,              \
        .help = "multiply the heads' outputs by silu(x W), W learned; --gate means the same"       \
    }
#define SETTING_CONV(by_default)                                                                   \
    {                                                                                              \
        .name = "conv", .value = by_default, .most = 16, .layer = true,                            \
        .both = (by_default) ? ((by_default)-1) / 2 * 2 + 1 : 0, /* it has a middle */             \
            .help =                                                                                \
                "depthwise convolution of q, k and v over N positions (0: none; masked models: "   \
                "N odd)"                                                                           \
    }
#define SETTING_CONV_SILU                                                                          \
    {                                                                                              \
        .name = "conv-silu", .kind = SETTING_FLAG, .value = 1, .layer = true,                      \
        .help = "apply silu after --conv"                                                          \
    }
#define SETTING_QK_NORM(by_default)                                                                \
    {                                                                                              \
        .name = "qk-norm", .kind = SETTING_CHOICE, .value = by_default, .choices = qk_norm_names,  \
        .layer = true,                                                                             \
        .help = "normalise q and k in each head: to length 1, or by RMSNorm with a learned gain"   \
    }
/* Of every layer; of one with heads; those defaults, and others. */
#define SETTINGS_AROUND SETTING_CONV(0), SETTING_CONV_SILU, SETTING_QK_NORM(0)
#define SETTINGS_OF_HEADS                                                                          \
    SETTING_KEY_SIZE, SETTING_OUT_NORM(0), SETTING_OUT_GATE(0), SETTINGS_AROUND
#define SETTING_GATE                                                                               \
    {                                                                                              \
        .name = "gate", .kind = SETTING_FLAG, .value = 1, .layer = true, .elsewhere = "out-gate",  \
        .help = "multiply the output by a learned gate; in multi-head attention: --out-gate"       \
    }
#define SETTINGS_OF_UNIT SETTING_KEY_SIZE, SETTING_CONV(0), SETTING_QK_NORM(0), SETTING_GATE

#endif
