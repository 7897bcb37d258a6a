/*
 * Kimi Delta Attention (Kimi Team, 2025, arXiv:2510.26692): a decay for each feature,
 *
 *     S_t = (I - beta_t k_t k_t^T) diag(e^(g_t)) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * computed by plain/delta.c, with the operand ga as g.
 */
#include "ops/attention/plain/delta.h"

void plain_kda(const PlainHead *x)
{
    plain_delta(x, plain_operand(x, "ga"), x->D, plain_gradient(x, "ga"));
}
