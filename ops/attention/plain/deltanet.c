/*
 * DeltaNet (Schlag et al., 2021, arXiv:2102.11174): a state that does not decay,
 *
 *     S_t = (I - beta_t k_t k_t^T) S_t-1 + beta_t k_t v_t^T       o_t = S_t^T q_t
 *
 * computed by plain/delta.c without g.
 */
#include "ops/attention/plain/delta.h"

void plain_deltanet(const PlainHead *x)
{
    plain_delta(x, NULL, 1, NULL);
}
