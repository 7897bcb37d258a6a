/*
 * RWKV-7 (Peng et al., 2025, arXiv:2503.14456): a generalised delta rule. Each row of the state has
 * its own decay; the state is read along one vector, and the result is added along another,
 *
 *     S_t = diag(e^(g_t)) S_t-1 + b_t (S_t-1^T a_t)^T + k_t v_t^T       o_t = S_t^T r_t
 *
 * where r_t is the operand q, and g_t, with D entries, the operand ga. With a = -c and b = eta * c
 * for a vector c of length 1 and eta between 0 and 1 for each feature (* is elementwise), it is a
 * delta rule that removes the value stored for c and adds the new value for k. The layer computes
 *
 *     g_t = -e^(-1/2) sigmoid(W2 W1 h_t + z)       so e^(g_t) is at least 0.54
 *     c_t = x_t / |x_t|,  x_t = W_c h_t + z'       in each head
 *     eta_t = sigmoid(W_eta h_t + z'')
 *
 * with W1 of 16 rows and learned biases z; the paper derives c from k, and scales k down where eta
 * is small.
 *
 * Backward, with do_t the gradient of o_t and R_t that of S_t, from the last position to the first:
 *
 *     R_t  = r_t do_t^T + diag(e^(g_t+1)) R_t+1 + a_t+1 (R_t+1^T b_t+1)^T
 *     dr_t = S_t do_t             dk_t = R_t v_t             dv_t = R_t^T k_t
 *     da_t = S_t-1 R_t^T b_t      db_t = R_t S_t-1^T a_t
 *     dg_td = sum over e of R_t,de e^(g_td) S_t-1,de
 *
 * engine/delta_scan.c computes both passes for whole chunks of positions, by matrix products.
 *
 * Plain twin: plain/rwkv7.c.
 */
#include "ops/attention/engine/delta.h"

#include "ops/attention/engine/settings.h"
#include "ops/ops.h"

enum { RANK = 16 };

static const DeltaRule rule = { .decay = "ga", .own = true };

static const Projection decay = { .f = &activation_sigmoid,
                                  .by = -0.6065306597126334,
                                  .rank = RANK };
static const Projection taken = { .by = -1 };
static const Projection put = { .f = &activation_sigmoid, .by = -1, .times = "a" };

const Attention attention_rwkv7 = {
    .name = "rwkv7",
    .summary = "the delta rule with separate removal and replacement keys (arXiv:2503.14456)",
    .position = "none",
    .traits = CAUSAL_ONLY | HAS_MATRIX | IS_LINEAR | BY_DISTANCE | SMOOTH,
    .operands =
        (const Operand[]){ { .name = "ga",
                             .shape = "BNHd",
                             .help = "logarithm of the decay of each feature, at most 0",
                             .decay = true,
                             .from = &decay },
                           { .name = "a",
                             .shape = "BNHd",
                             .help = "removal key: the vector along which the state is read",
                             .unit = true,
                             .from = &taken },
                           { .name = "b",
                             .shape = "BNHd",
                             .help = "replacement key: the vector along which that is added back",
                             .unit = true,
                             .from = &put },
                           { 0 } },
    .settings =
        (const Setting[]){
            SETTING_KEY_SIZE, SETTING_OUT_NORM(1), SETTING_OUT_GATE(1), SETTINGS_AROUND, { 0 } },
    .engine = &engine_delta,
    .rule = &rule,
    .plain = plain_rwkv7,
};
