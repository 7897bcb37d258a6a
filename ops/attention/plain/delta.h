/* The delta rule, with a decay or without: see plain/delta.c. */
#ifndef OPS_ATTENTION_PLAIN_DELTA_H
#define OPS_ATTENTION_PLAIN_DELTA_H

#include "ops/attention/plain/plain.h"

/* g has `width` numbers a position, 1 or D; NULL: 0. Needs the operand beta. */
void plain_delta(const PlainHead *x, const double *g, int width, double *dg);

#endif
