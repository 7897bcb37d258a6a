/*
 * Gated DeltaNet (Yang et al., 2024, arXiv:2412.06464): with a decay for each head,
 *
 *     S_t = e^(g_t) (I - beta_t k_t k_t^T) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * computed by plain/delta.c with the same decay for all features.
 */
#include "ops/attention/plain/delta.h"

void plain_gated_delta(const PlainHead *x)
{
    plain_delta(x, plain_operand(x, "g"), 1, plain_gradient(x, "g"));
}
