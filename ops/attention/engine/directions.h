/* Random directions omega (H, m, D), fixed or learned: of Performer and RFA. */
#ifndef OPS_ATTENTION_ENGINE_DIRECTIONS_H
#define OPS_ATTENTION_ENGINE_DIRECTIONS_H

#include "ops/base/random.h"
#include "ops/tape.h"

/* Fills omega: orthogonal within blocks, see directions.c; or independent. */
void directions_draw(Tensor *omega, Random random);
void directions_draw_normal(Tensor *omega, Random random);

#define OPERAND_OMEGA(rule)                                                                        \
    {                                                                                              \
        .name = "omega", .shape = "Hmd", .help = "random directions", .draw = rule,                \
        .learn = "learn-omega"                                                                     \
    }
#define SETTING_FEATURES(times, its_help)                                                          \
    {                                                                                              \
        .name = "features", .most = 1 << 20, .layer = true, .size = 'm', .of_key = times,          \
        .tries = { 6, 9 }, .help = its_help                                                        \
    }
#define SETTING_LEARN_OMEGA                                                                        \
    {                                                                                              \
        .name = "learn-omega", .kind = SETTING_FLAG, .tries = { 1 },                               \
        .help = "train the random directions"                                                      \
    }

#endif
