#include "ops/rope.h"

#include "ops/error.h"

enum { POSITIONS = 64 };

/* In double: a float angle is off by 3e-4 at position 65,000. */
void rope_position(real *turns, int t, int D)
{
    for (int d = 0; d < D; d += 2) {
        double w = t * pow(10000.0, -(double)d / D);

        turns[d] = R(cos(w)), turns[d + 1] = R(sin(w));
    }
}

void rope_turn(real *restrict x, const real *restrict turns, int D, bool back)
{
    real direction = back ? -1 : 1;

    for (int d = 0; d < D; d += 2) {
        real c = turns[d], s = turns[d + 1] * direction, a = x[d], b = x[d + 1];

        x[d] = a * c - b * s;
        x[d + 1] = a * s + b * c;
    }
}

static void fill_turns(void *ctx, int begin, int end)
{
    const TapeTurns *turns = ctx;

    for (int t = begin; t < end; t++)
        rope_position(turns->at + (size_t)t * (size_t)turns->D, t, turns->D);
}

const real *rope_turns(Tape *tape, int positions, int D)
{
    if (D % 2)
        BUG("rope: a width of %d has a number without a neighbour", D);
    for (TapeTurns *turns = tape->turns; turns; turns = turns->next)
        if (turns->D == D && turns->positions >= positions)
            return turns->at;

    TapeTurns *turns = arena_take(tape->mem, sizeof *turns);
    *turns = (TapeTurns){ tape->turns, positions, D, NULL };
    turns->at = arena_take(tape->mem, (size_t)positions * (size_t)D * sizeof(real));
    pool_for(tape->pool, positions, POSITIONS, fill_turns, turns);
    return (tape->turns = turns)->at;
}
