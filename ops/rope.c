/*
 * Rotary position embedding (Su et al., 2021, arXiv:2104.09864). Each pair of
 * neighbours turns by an angle that grows with the position t:
 *
 *     w = t * 10000^(-2m/D)
 *     (x_2m, x_2m+1)  ->  (x_2m cos w - x_2m+1 sin w,  x_2m sin w + x_2m+1 cos w)
 *
 * so that the product of a turned q and a turned k depends on the distance of
 * their positions only. A rotation's transpose is the rotation back, so the
 * backward turns the gradient by -w; it needs neither x nor y, and both
 * directions work in place. Angles and their sines are computed in double: a
 * float angle is off by 3e-4 at position 65,000.
 */
#include "ops/error.h"
#include "ops/ops.h"

enum { POSITIONS = 16 };

typedef struct {
    Node node;
    int T, H, D;
    real *turn; /* (T, D): cos w, sin w for each pair */
} Rope;

/* Numbers of a (B, T, H, D) tensor: data forward, gradient backward. */
typedef struct {
    const Rope *op;
    real *x;
    real direction;
} Turn;

static void turn_positions(void *ctx, int begin, int end)
{
    const Turn *turn = ctx;
    int T = turn->op->T, H = turn->op->H, D = turn->op->D;

    for (int i = begin; i < end; i++) {
        const real *w = turn->op->turn + (size_t)(i % T) * (size_t)D;
        real *x = turn->x + (size_t)i * (size_t)(H * D);

        for (int h = 0; h < H; h++, x += D)
            for (int d = 0; d < D; d += 2) {
                real c = w[d], s = w[d + 1] * turn->direction, a = x[d], b = x[d + 1];

                x[d] = a * c - b * s;
                x[d + 1] = a * s + b * c;
            }
    }
}

static void turn_all(Rope *op, real *x, real direction)
{
    int places = (int)(op->node.y->n / (size_t)(op->H * op->D));

    pool_for(op->node.tape->pool, places, POSITIONS, turn_positions, &(Turn){ op, x, direction });
}

static void rope_backward(Node *node)
{
    turn_all((Rope *)node, node->y->grad, -1);
}

static void fill_turns(void *ctx, int begin, int end)
{
    Rope *op = ctx;

    for (int t = begin; t < end; t++)
        for (int d = 0; d < op->D; d += 2) {
            double w = t * pow(10000.0, -(double)d / op->D);
            real *to = op->turn + (size_t)t * (size_t)op->D + d;

            to[0] = R(cos(w)), to[1] = R(sin(w));
        }
}

Tensor *op_rope(Tape *tape, Tensor *x)
{
    Rope *op = tape_node_in_place(tape, sizeof *op, rope_backward, x);

    op->T = x->dim[1], op->H = x->dim[2], op->D = x->dim[3];
    if (op->D % 2)
        BUG("rope: a width of %d has a number without a neighbour", op->D);
    op->turn = arena_take(tape->mem, (size_t)op->T * (size_t)op->D * sizeof(real));
    pool_for(tape->pool, op->T, POSITIONS, fill_turns, op);
    turn_all(op, x->data, 1);
    return x;
}
