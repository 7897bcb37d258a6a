#include "ops/attention/engine/bias.h"

#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

bool bias_is_on(const Values *set)
{
    return setting_is(set, "rel-bias", "rope");
}

Bias bias_of(const Mix *in, int h, const real *angles)
{
    const int D = in->q->dim[3];

    return (Bias){ .a = mix_tensor(in, "rel_a")->data + h * D,
                   .b = mix_tensor(in, "rel_b")->data + h * D,
                   .angles = angles,
                   .D = D,
                   .T = in->q->dim[1] };
}

const real *bias_angles(Tape *tape, const Mix *in)
{
    const int D = in->q->dim[3];

    return rope_angles(tape, in->q->dim[1], D - D % 2, in->rope_scale);
}

/* row = R x, or R^T x */
static void turn(const Bias *of, const real *x, const real *angles, bool back, real *row)
{
    memcpy(row, x, (size_t)of->D * sizeof *row);
    rope_rotate(row, angles, of->D - of->D % 2, back);
}

static const real *angles_at(const Bias *x, int t)
{
    return x->angles + (size_t)t * (size_t)(x->D - x->D % 2);
}

real bias_before(const Bias *x, const real *angles, real *row)
{
    turn(x, x->a, angles, false, row);
    return row_dot(row, x->b, x->D);
}

void bias_fill(const Bias *x, real *w, real *row)
{
    for (int t = 0; t < x->T; t++) {
        turn(x, x->b, angles_at(x, t), false, row);
        w[x->T + t] = row_dot(x->a, row, x->D);
        w[x->T - t] = bias_before(x, angles_at(x, t), row);
    }
}

static void add(real *to, real by, const real *row, int D)
{
    for (int d = 0; d < D; d++)
        to[d] += by * row[d];
}

void bias_back(const Bias *x, const real *dw, real *da, real *db, real *row)
{
    const int D = x->D;

    add(da, dw[x->T], x->b, D);
    add(db, dw[x->T], x->a, D);
    for (int t = 1; t < x->T; t++) {
        const real after = dw[x->T + t], before = dw[x->T - t], *angles = angles_at(x, t);

        turn(x, x->b, angles, false, row), add(da, after, row, D);
        turn(x, x->b, angles, true, row), add(da, before, row, D);
        turn(x, x->a, angles, true, row), add(db, after, row, D);
        turn(x, x->a, angles, false, row), add(db, before, row, D);
    }
}
