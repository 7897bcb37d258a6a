/*
 * The two scales. With base b, pair m is rotated by f_m = b^(-2m/D) per position: from f_0 = 1,
 * the highest frequency, down to f_(D/2-1) = b^(-(D-2)/D), the lowest.
 *
 * Linear (Chen et al., 2023, arXiv:2306.15595) interpolates positions: t / s for t divides every
 * frequency by s. The highest frequencies, which distinguish neighbours, see them s times closer
 * than ever in training.
 *
 * NTK (bloc97, 2023; Peng et al., 2023, arXiv:2309.00071, section 3.1) chooses a base b' that
 * divides the lowest frequency by s and keeps the highest:
 *
 *     b'^(-(D-2)/D) = b^(-(D-2)/D) / s     so     b' = b s^(D/(D-2))
 *
 * which divides f_m by s^(2m/(D-2)). With D = 2 the only pair has the highest frequency.
 */
#include "ops/rope.h"

#include "ops/base/error.h"

enum { POSITIONS = 64 };

const char *const rope_kind_names[] = { "linear", "ntk", NULL };

/* The tables of a step, found by D and scale. */
typedef struct Angles {
    struct Angles *next;
    int positions, D;
    RopeScale scale;
    real *at;
} Angles;

/* In double: a float angle is off by 3e-4 at position 65,000. */
void rope_position(real *angles, int t, int D, RopeScale scale)
{
    double s = scale.by > 0 ? scale.by : 1;
    double b = scale.base > 0 ? scale.base : 10000;
    double base = scale.kind == ROPE_NTK ? b * pow(s, D / (D - 2.0)) : b;
    double at = scale.kind == ROPE_NTK ? t : t / s;

    for (int d = 0; d < D; d += 2) {
        double w = at * pow(base, -(double)d / D);

        angles[d] = R(cos(w)), angles[d + 1] = R(sin(w));
    }
}

void rope_rotate(real *restrict x, const real *restrict angles, int D, bool back)
{
    real direction = back ? -1 : 1;

    for (int d = 0; d < D; d += 2) {
        real c = angles[d], s = angles[d + 1] * direction, a = x[d], b = x[d + 1];

        x[d] = a * c - b * s;
        x[d + 1] = a * s + b * c;
    }
}

static void fill_angles(void *ctx, int begin, int end)
{
    const Angles *angles = ctx;

    for (int t = begin; t < end; t++)
        rope_position(angles->at + (size_t)t * (size_t)angles->D, t, angles->D, angles->scale);
}

const real *rope_angles(Tape *tape, int positions, int D, RopeScale scale)
{
    if (D % 2)
        BUG("rope: the width %d is odd", D);
    for (const Angles *angles = tape->angles; angles; angles = angles->next)
        if (angles->D == D && angles->positions >= positions && angles->scale.kind == scale.kind &&
            angles->scale.by == scale.by && angles->scale.base == scale.base)
            return angles->at;

    Angles *angles = arena_take(tape->mem, sizeof *angles);
    *angles = (Angles){ tape->angles, positions, D, scale, NULL };
    angles->at = arena_take(tape->mem, (size_t)positions * (size_t)D * sizeof(real));
    pool_for(tape->pool, positions, POSITIONS, fill_angles, angles);
    return (tape->angles = angles)->at;
}
