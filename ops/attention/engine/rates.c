#include "ops/attention/engine/decay.h"

#include <math.h>

/* Delta = softplus(b), so b = ln(e^Delta - 1). */
void rates_draw_steps(Tensor *b, Random random)
{
    for (size_t h = 0; h < b->n; h++)
        b->data[h] = R(log(expm1(1e-3 * pow(100, random_uniform(random, h)))));
}

void rates_draw(Tensor *A, Random random)
{
    for (size_t h = 0; h < A->n; h++)
        A->data[h] = R(log(1 + 15 * random_uniform(random, h)));
}
