/*
 * Lightning attention (Qin et al., 2024, arXiv:2401.04658): the state fades (fading.h), in head h
 * of H in layer l of L, at the rate
 *
 *     8 (h + 1) / H (1 - l / L)
 *
 * or, with the slopes of ALiBi, 2^(-8 (h + 1) / H) (1 - l / L).
 */
#include "ops/attention/plain/fading.h"

#include <math.h>

void plain_lightning(const PlainHead *x)
{
    const PlainMix *m = x->mix;
    double rate = 8.0 * (x->head + 1) / m->H, l = m->layer, L = m->layers;

    if (setting_is(&m->set, "slopes", "alibi"))
        rate = pow(2, -rate);
    plain_fading(x, L > 0 ? rate * (1 - l / L) : rate);
}
