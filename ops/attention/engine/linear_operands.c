/* The operands of feature maps: their gradients, and what they cost. */
#include "ops/attention/engine/linear.h"

#include <string.h>

/* The operand of q's map, or of k's; NULL: none. */
static const Operand *operand_of(const Attention *a, int key)
{
    const char *name = ((const FeatureMap *)a->rule)->learn[key];
    const Operand *o = a->operands;

    while (name && strcmp(o->name, name) != 0)
        o++;
    return name ? o : NULL;
}

static const Operand *learned(const Attention *a, const Values *set, int key)
{
    const Operand *o = operand_of(a, key);

    return o && operand_learned(o, set) ? o : NULL;
}

static size_t learned_bytes(const Linear *op, int key)
{
    return (size_t)(op->B * op->H) * linear_learned_size(op->w[key]->dim[1], op->D) * sizeof(real);
}

/* If q and k share the operand, they share one buffer. */
void linear_open_learned(Linear *op, Arena *mem)
{
    for (int key = 0; key < 2; key++) {
        const Operand *o = learned(op->in.attention, &op->in.set, key);

        op->w[key] = o ? mix_tensor(&op->in, o->name) : NULL;
        if (!o)
            op->dw[key] = NULL;
        else if (key && op->w[1] == op->w[0])
            op->dw[1] = op->dw[0];
        else
            op->dw[key] = arena_zeros(mem, learned_bytes(op, key));
    }
}

/* Adds the gradients of all sequences, in order, without the padding. */
static void add_learned(const Linear *op, int key, real *dw)
{
    const int R = op->w[key]->dim[1];
    const size_t size = linear_learned_size(R, op->D);

    for (int number = 0; number < op->B * op->H; number++) {
        const real *from = op->dw[key] + (size_t)number * size;
        real *to = dw + (size_t)(number % op->H * R) * (size_t)op->D;

        for (int r = 0; r < R; r++, from += up_to(op->D, NR), to += op->D)
            for (int d = 0; d < op->D; d++)
                to[d] += from[d];
    }
}

void linear_close_learned(const Linear *op, Tape *tape)
{
    for (int key = 0; key < 2; key++)
        if (op->w[key] && !(key && op->w[1] == op->w[0])) {
            add_learned(op, key, tape_grad_zeroed(tape, op->w[key]));
            arena_give(tape->mem, op->dw[key], learned_bytes(op, key));
        }
}

/* Numbers of these gradients per head. */
double linear_learned_numbers(const MixSize *s)
{
    const Operand *of[] = { learned(s->attention, &s->set, 0), learned(s->attention, &s->set, 1) };
    double n = 0;

    for (int key = 0; key < 2; key++)
        if (of[key] && !(key && of[1] == of[0]))
            n += (double)linear_learned_size(operand_dimension(s, of[key]->shape[1]), s->D);
    return n;
}

double linear_maps_cost(const MixSize *s)
{
    double rows = 0;

    for (int key = 0; key < 2; key++) {
        const Operand *w = operand_of(s->attention, key);

        rows += w ? operand_dimension(s, w->shape[1]) : 0;
    }
    return s->H * rows * s->D;
}
