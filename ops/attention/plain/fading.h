/*
 * A state that fades at a fixed rate, without a denominator:
 *
 *     S_t = e^-rate S_t-1 + k_t v_t^T       o_t = S_t^T q_t
 *
 * which padding does not change. Unrolled, for j in V(i),
 *
 *     A_ij = e^(-rate n_ij) q_i.k_j       n_ij: the distance of i and j, not counting padding
 *
 * which is linear in q and in k.
 */
#ifndef OPS_ATTENTION_PLAIN_FADING_H
#define OPS_ATTENTION_PLAIN_FADING_H

#include "ops/attention/plain/plain.h"

void plain_fading(const PlainHead *x, double rate);

#endif
