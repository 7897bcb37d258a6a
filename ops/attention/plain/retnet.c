/*
 * The retention of RetNet (Sun et al., 2023, arXiv:2307.08621): in head h the state fades
 * (fading.h) by a factor of 1 - 2^(-n-h) at each position.
 */
#include "ops/attention/plain/fading.h"

#include <math.h>

void plain_retnet(const PlainHead *x)
{
    plain_fading(x, -log(1 - pow(2, -setting_or_zero(&x->mix->set, "decay") - x->head)));
}
