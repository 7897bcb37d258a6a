#include "ops/tape.h"

#include "ops/error.h"

#include <limits.h>
#include <string.h>

enum { GRAIN = 1 << 14 };

static void set_shape(Tensor *t, int ndim, const int *dim)
{
    t->ndim = ndim;
    t->n = 1;
    for (int i = 0; i < ndim; i++) {
        t->dim[i] = dim[i];
        t->n *= (size_t)dim[i];
    }
    if (t->n > INT_MAX)
        die(EXIT_MEMORY,
            "a tensor of %zu numbers is more than attn.c can index; make the batch, "
            "the context or the model smaller",
            t->n);
}

Tensor *tensor_new(Arena *mem, int ndim, const int *dim)
{
    Tensor *t = arena_zeros(mem, sizeof *t);

    set_shape(t, ndim, dim);
    t->data = arena_take(mem, t->n * sizeof(real));
    return t;
}

Tensor *tensor_reshape(Tensor *t, int ndim, const int *dim)
{
    size_t n = t->n;

    set_shape(t, ndim, dim);
    if (t->n != n)
        BUG("reshape: %zu elements do not become %zu", n, t->n);
    return t;
}

int tensor_cols(const Tensor *t)
{
    return t->dim[t->ndim - 1];
}

int tensor_rows(const Tensor *t)
{
    return (int)(t->n / (size_t)tensor_cols(t));
}

typedef struct {
    real *to;
    const real *from; /* NULL: the number `by` */
    real by;
} Addition;

static void add_range(void *ctx, int begin, int end)
{
    const Addition *a = ctx;

    for (int i = begin; i < end; i++)
        a->to[i] += a->from ? a->from[i] : a->by;
}

static void add(Tape *tape, Tensor *t, const real *from, real by)
{
    pool_for(tape->pool, (int)t->n, GRAIN, add_range, &(Addition){ t->grad, from, by });
}

static void take_grad(Tape *tape, Tensor *t)
{
    if (!t->grad)
        t->grad = arena_take(tape->mem, t->n * sizeof(real));
}

static Node *push(Tape *tape, size_t size, void (*backward)(Node *self))
{
    Node *node = arena_zeros(tape->mem, size);

    node->backward = backward;
    node->tape = tape;
    if (!tape->forward_only) {
        node->prev = tape->last;
        tape->last = node;
    }
    return node;
}

void *tape_node(Tape *tape, size_t size, void (*backward)(Node *self), int ndim, const int *dim)
{
    Node *node = push(tape, size, backward);

    node->y = tensor_new(tape->mem, ndim, dim);
    if (tape->audit) {
        take_grad(tape, node->y);
        memset(node->y->grad, 0, node->y->n * sizeof(real));
        add(tape, node->y, NULL, 1);
        node->y->has_grad = true;
    }
    return node;
}

void *tape_node_in_place(Tape *tape, size_t size, void (*backward)(Node *self), Tensor *x)
{
    Node *node = push(tape, size, backward);

    node->y = x;
    node->in_place = true;
    return node;
}

Grad tape_grad(Tape *tape, Tensor *x)
{
    bool add = x->has_grad;

    take_grad(tape, x);
    x->has_grad = true;
    return (Grad){ x->grad, add };
}

real *tape_grad_zeroed(Tape *tape, Tensor *x)
{
    Grad dx = tape_grad(tape, x);

    if (!dx.add)
        memset(dx.at, 0, x->n * sizeof(real));
    return dx.at;
}

Grad tape_grad_over(Tape *tape, Tensor *x)
{
    if (!x->grad && !tape->audit)
        x->grad = x->data;
    return tape_grad(tape, x);
}

void tape_grad_pass(Tape *tape, Tensor *y, Tensor *x)
{
    if (!x->grad && !tape->audit) {
        x->grad = y->grad;
        x->has_grad = true;
        if (y->data == y->grad) /* tape_grad_over() */
            y->data = NULL;
        y->grad = NULL;
        return;
    }
    Grad dx = tape_grad(tape, x);
    if (dx.add)
        add(tape, x, y->grad, 0);
    else
        memcpy(dx.at, y->grad, x->n * sizeof(real));
}

/* Nothing reads the result of an undone node again: the next gradient can have its memory. */
static void release(Tape *tape, Tensor *y)
{
    if (y->grad && y->grad != y->data)
        arena_give(tape->mem, y->grad, y->n * sizeof(real));
    if (y->data)
        arena_give(tape->mem, y->data, y->n * sizeof(real));
    y->data = y->grad = NULL;
}

static void undo(Tape *tape, Node *node)
{
    Tensor *y = node->y;

    if (tape->audit)
        add(tape, y, NULL, -1);
    if (y->has_grad)
        node->backward(node);
    if (tape->audit && node->in_place)
        add(tape, y, NULL, 1);
    if (!tape->audit && !node->in_place)
        release(tape, y);
}

void tape_backward(Tape *tape, Tensor *y, const real *dy)
{
    tape_grad_zeroed(tape, y);
    add(tape, y, dy, 0);
    for (Node *node = tape->last; node; node = node->prev)
        undo(tape, node);
    tape->last = NULL;
}

void tape_reset(Tape *tape)
{
    arena_reset(tape->mem);
    tape->last = NULL;
    tape->turns = NULL;
}
