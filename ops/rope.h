/*
 * Rotary position embedding (Su et al., 2021, arXiv:2104.09864). Each pair of
 * neighbours turns by an angle that grows with the position t:
 *
 *     w = t * 10000^(-2m/D)
 *     (x_2m, x_2m+1)  ->  (x_2m cos w - x_2m+1 sin w,  x_2m sin w + x_2m+1 cos w)
 *
 * so that the product of a turned q and a turned k depends on the distance of
 * their positions only. A rotation's transpose is the rotation back, so the
 * gradient of a turned row is turned by -w; nothing has to be kept for it.
 *
 * It is no op of its own: whoever copies rows turns the copies.
 */
#ifndef OPS_ROPE_H
#define OPS_ROPE_H

#include "ops/tape.h"

/*
 * (positions, D): cos w, sin w for each pair and position, for as long as the step
 * lasts; made once for all who ask with the same D. D is even.
 */
const real *rope_turns(Tape *tape, int positions, int D);

/* cos w, sin w of one position, for each pair. */
void rope_position(real *turns, int t, int D);

/* Turns a row of D numbers by its row of the table, or back. */
void rope_turn(real *x, const real *turns, int D, bool back);

#endif
