#include "ops/tape.h"

#include "ops/base/error.h"

#include <limits.h>
#include <string.h>

enum { GRAIN = 1 << 14 };

static void set_shape(Tensor *t, int ndim, const int *dim)
{
    t->ndim = ndim;
    t->n = 1;
    double n = 1;
    for (int i = 0; i < ndim; i++) {
        t->dim[i] = dim[i];
        t->n *= (size_t)dim[i], n *= dim[i];
    }
    if (n > INT_MAX)
        die(EXIT_MEMORY,
            "a tensor of %.0f numbers is too large for attn.c: make the batch, "
            "the context or the model smaller",
            n);
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
        BUG("reshape: %zu elements, not %zu", n, t->n);
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

/* A part being computed: its nodes so far, and the one whose result is known. */
struct Making {
    int nodes, last; /* 0: none */
    Tensor *y;
};

static Node *push(Tape *tape, size_t size, void (*backward)(Node *self))
{
    Node *node = arena_zeros(tape->mem, size);

    node->backward = backward;
    node->tape = tape;
    if (tape->making)
        tape->making->nodes++;
    if (!tape->forward_only || tape->making) {
        node->prev = tape->last;
        tape->last = node;
    }
    return node;
}

void *tape_node(Tape *tape, size_t size, void (*backward)(Node *self), int ndim, const int *dim)
{
    Node *node = push(tape, size, backward);

    node->known = tape->making && tape->making->nodes == tape->making->last;
    node->y = node->known ? tape->making->y : tensor_new(tape->mem, ndim, dim);
    if (tape->audit) {
        if (!node->known)
            memset(tape_grad(tape, node->y).at, 0, node->y->n * sizeof(real));
        add(tape, node->y, NULL, 1);
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

/* The header of a piece of kept memory, whose contents stay aligned. */
typedef struct Kept {
    _Alignas(64) struct Kept *next;
    size_t bytes;
} Kept;

void *tape_keep(Node *node, size_t bytes)
{
    Kept *kept = arena_take(node->tape->mem, bytes + sizeof *kept);

    *kept = (Kept){ node->kept, bytes + sizeof *kept };
    node->kept = kept;
    return kept + 1;
}

Grad tape_grad(Tape *tape, Tensor *x)
{
    bool add = x->has_grad;

    if (!x->grad)
        x->grad = arena_take(tape->mem, x->n * sizeof(real));
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

/* The results of a node that has run backward are never read again: frees their memory. */
static void release(Tape *tape, Node *node, const Tensor *but)
{
    Tensor *y = node->y;

    while (node->kept) {
        Kept *kept = node->kept;

        node->kept = kept->next;
        arena_give(tape->mem, kept, kept->bytes);
    }
    if (node->in_place || y == but)
        return;
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
    if (!tape->audit)
        release(tape, node, NULL);
}

static void undo_all(Tape *tape)
{
    for (Node *node = tape->last; node; node = node->prev)
        undo(tape, node);
    tape->last = NULL;
}

void tape_backward(Tape *tape, Tensor *y, const real *dy)
{
    tape_grad_zeroed(tape, y);
    add(tape, y, dy, 0);
    undo_all(tape);
}

typedef struct {
    Node node;
    TapePart *f;
    void *ctx;
    Tensor *x;
    int last; /* the number of the node that computed y, if it was the last */
} PartNode;

/* Runs f on an empty tape. */
static Tensor *make_part(Tape *tape, PartNode *part)
{
    struct Making making = { .last = part->last, .y = part->node.y }, *before = tape->making;

    tape->last = NULL;
    tape->making = &making;
    Tensor *y = part->f(tape, part->ctx, part->x);
    tape->making = before;
    if (tape->last && tape->last->y == y && !tape->last->in_place)
        part->last = making.nodes;
    return y;
}

static void part_backward(Node *node)
{
    Tape *tape = node->tape;
    Tensor *y = make_part(tape, (PartNode *)node);

    if (y != node->y)
        tape_grad_pass(tape, node->y, y);
    undo_all(tape);
}

Tensor *tape_part(Tape *tape, TapePart *f, void *ctx, Tensor *x)
{
    PartNode part = { .f = f, .ctx = ctx, .x = x };
    Node *before = tape->last;

    if (!tape->recompute && !tape->forward_only)
        return f(tape, ctx, x);
    Tensor *y = make_part(tape, &part);
    for (Node *node = tape->last; node; node = node->prev)
        release(tape, node, y);
    tape->last = before;
    PartNode *op = (PartNode *)push(tape, sizeof *op, part_backward);
    part.node = op->node;
    *op = part;
    return op->node.y = y;
}

void tape_reset(Tape *tape)
{
    arena_reset(tape->mem);
    tape->last = NULL;
    tape->angles = NULL;
    if (tape->decoding)
        tape->decoding->next = &tape->decoding->first;
}
