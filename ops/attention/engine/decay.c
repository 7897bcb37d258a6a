/*
 * The scan of decay.h, chunk by chunk, in the notation of chunk.h: C is the chunk's last position,
 * S_0 the state before the chunk. Unrolled,
 *
 *     O    = ((Q K^T) * L) V + diag(before) Q S_0
 *     S_C  = e^(b_C) S_0 + (diag(after) K)^T V
 *
 * where * is elementwise. This is linear in each of Q, K and V. With G the gradient of O, and R
 * that of S_C, from the chunks to the right,
 *
 *     P   = (G V^T) * L                             the gradient of (Q K^T) * L, times L
 *     dQ  = P K + diag(before) G S_0^T
 *     dK  = P^T Q + diag(after) V R^T
 *     dV  = ((Q K^T) * L)^T G + diag(after) K R
 *     R_0 = e^(b_C) R + Q^T diag(before) G          the R of the chunk before
 *
 * The S_0 of each chunk is stored for the backward pass, a sweep to the left. If bidirectional, L
 * is symmetric, and the same sweeps in the opposite directions add the chunks on the other side.
 *
 * dg is that of crossing.h, with W = (Q K^T) * P, into_i = q_i . (row i of diag(before) G S_0^T)
 * and out_j = k_j . (row j of diag(after) V R^T); in the opposite direction these change places,
 * and queries add to out, keys to into. Padded keys are zeroed here, and their g is 0.
 */
#include "ops/attention/engine/decay.h"

#include "ops/attention/engine/crossing.h"
#include "ops/attention/engine/tiles.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    const DecayRule *rule;
    const real *angles; /* (T, D), or NULL */
    Tensor *g;          /* NULL: fixed */
    States left, right; /* those that a chunk finds in the first sweep, and in the second */
    Grad dq, dk, dv, dg;
} Decayed;

/* A chunk of a head, in a sweep. */
typedef struct {
    const Decayed *op;
    Head head;
    int T, length, D, E; /* D and E of the copies */
    int direction;       /* 1: to the right; -1 */
    bool pairs;          /* the sweep that computes the chunks' own pairs, the first of its kind */
    Decays d;
    Rows q, k, v, go, o, dq, dk; /* go: G; o: also dV */
    real *kt, *vt;               /* K and V transposed: (D, TILE), (E, TILE) */
    real *A, *P, *W;             /* (TILE, TILE) */
    real *S, *St;                /* S or R, (D, E); a state transposed, (E, D) */
    Crossing crossing;           /* only with g */
} Chunk;

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

static size_t scratch(const Decayed *op)
{
    size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);
    size_t sums = op->g ? crossing_room(op->s.T) : 0;

    return TILE * (5 * D + 4 * E + 3 * TILE) + DECAYS_ROOM + (size_t)up_to(op->s.D, MR) * E +
           (size_t)up_to(op->s.E, MR) * D + sums + MR; /* MR: the kernel reads beyond a column */
}

static Chunk open(const Decayed *op, int number)
{
    real *free = pool_scratch();
    Chunk x = { .op = op, .head = head_of(&op->in, number), .T = op->s.T };

    x.length = view_of(&op->in, x.head.b).length;
    x.D = up_to(op->s.D, NR), x.E = up_to(op->s.E, NR);
    x.q = rows(&free, x.D), x.k = rows(&free, x.D);
    x.dq = rows(&free, x.D), x.dk = rows(&free, x.D);
    x.v = rows(&free, x.E), x.go = rows(&free, x.E), x.o = rows(&free, x.E);
    x.kt = carve(&free, TILE, x.D), x.vt = carve(&free, TILE, x.E);
    x.A = carve(&free, TILE, TILE), x.P = carve(&free, TILE, TILE), x.W = carve(&free, TILE, TILE);
    x.d = decays_open(&free, !op->in.causal);
    x.S = carve(&free, up_to(op->s.D, MR), x.E), x.St = carve(&free, up_to(op->s.E, MR), x.D);
    if (op->g)
        x.crossing = crossing_open(&free, op->s.T);
    return x;
}

/* The decay of the incoming state at each row, and of each row in the outgoing state. */
static const real *seen(const Chunk *x)
{
    return x->direction > 0 ? x->d.before : x->d.after;
}

static const real *taken(const Chunk *x)
{
    return x->direction > 0 ? x->d.after : x->d.before;
}

/* The states that chunks find in this sweep, or found in the sweep that this one is the gradient
 * of. */
static const States *states(const Chunk *x)
{
    return x->pairs ? &x->op->left : &x->op->right;
}

/* Every chunk, with states that are zeros at first. */
static void sweep(Chunk *x, int direction, void (*visit)(Chunk *x, int t0))
{
    const int last = (x->T - 1) / TILE * TILE;

    x->direction = direction, x->head.ahead = direction * TILE;
    memset(x->S, 0, (size_t)(up_to(x->op->s.D, MR) * x->E) * sizeof(real));
    memset(x->St, 0, (size_t)(up_to(x->op->s.E, MR) * x->D) * sizeof(real));
    for (int t0 = 0; t0 <= last; t0 += TILE)
        visit(x, direction > 0 ? t0 : last - t0);
}

/* The first writes the chunks' own pairs; bidirectional, there is one more, the other way. */
static void sweep_all(Chunk *x, int direction, void (*visit)(Chunk *x, int t0))
{
    x->pairs = true;
    sweep(x, direction, visit);
    x->pairs = false;
    if (!x->op->in.causal)
        sweep(x, -direction, visit);
}

/* Copies of the rows from t0 on, rotated. */
static void load(const Chunk *x, Rows *to, int t0, const Tensor *from)
{
    to->t0 = t0;
    head_gather(&x->head, *to, from->data, x->op->s.D);
    rows_rotate((Rows){ to->at, to->ld, t0, min(TILE, x->T - t0) }, x->op->angles, x->op->s.D,
                false);
}

/* Zeros where there is padding, which may hold anything. */
static void load_keys(Chunk *x, int t0)
{
    const int n = max(0, min(TILE, x->length - t0));

    if (x->op->g)
        decays_load(&x->d, &x->head, x->op->g, t0, n);
    else
        decays_fixed(&x->d, R(x->op->rule->log_decay(&x->op->s, x->head.h)), n);
    load(x, &x->k, t0, x->op->in.k);
    x->v.t0 = x->o.t0 = x->dq.t0 = x->dk.t0 = t0;
    head_gather(&x->head, x->v, x->op->in.v->data, x->op->s.E);
    rows_clear(x->k, n);
    rows_clear(x->v, n);
}

static void load_queries(Chunk *x, int t0)
{
    load(x, &x->q, t0, x->op->in.q);
}

/* The chunk's own pairs. */
static Tiles tiles_of(const Chunk *x)
{
    const Decayed *op = x->op;
    Tiles t = { .weighting = &weighting_plain,
                .view = view_of(&op->in, x->head.b),
                .tile = TILE,
                .depth = op->s.D,
                .wide = op->s.E,
                .D = x->D,
                .E = x->E,
                .q = x->q.at,
                .g = x->go.at,
                .k = x->k.at,
                .kt = x->kt,
                .v = x->v.at,
                .vt = x->vt,
                .o = x->o.at,
                .s = x->A,
                .ds = x->P,
                .L = x->d.L,
                .adds = true };

    t.view.chunk = TILE;
    t.i0 = t.j0 = x->v.t0;
    return t;
}

/* The second sweep adds to what the first one wrote. */
static Grad onto(const Chunk *x, Grad to)
{
    to.add |= !x->pairs;
    return to;
}

static void forward_chunk(Chunk *x, int t0)
{
    const int D = x->op->s.D;

    load_keys(x, t0);
    load_queries(x, t0);
    states_put(states(x), &x->head, t0, x->S);
    if (x->pairs) {
        Tiles t = tiles_of(x);

        rows_transpose(x->k, x->kt, TILE, D);
        tiles_forward(&t, t0);
    }
    rows_scale(x->q, seen(x));
    rows_multiply(x->o, x->q, D, x->S, x->pairs);
    head_scatter(&x->head, (Grad){ x->op->node.y->data, !x->pairs }, x->o, x->op->s.E);
    rows_scale(x->k, taken(x));
    state_pass(x->S, D, x->d.all, x->k, x->v);
}

static void forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = open(ctx, number);

        sweep_all(&x, 1, forward_chunk);
    }
}

static void put_gradient(const Chunk *x, Grad to, Rows dx)
{
    const int n = min(TILE, x->T - dx.t0);

    rows_rotate((Rows){ dx.at, x->D, dx.t0, n }, x->op->angles, x->op->s.D, true);
    head_scatter(&x->head, onto(x, to), dx, x->op->s.D);
}

/* The chunk's own pairs, added to what the states give. */
static void backward_pairs(Chunk *x, int t0)
{
    Tiles t = tiles_of(x);

    t.dq = x->dq.at, t.dk = x->dk.at, t.dv = x->o.at;
    t.W = x->op->g ? x->W : NULL;
    if (t.W)
        memset(t.W, 0, (size_t)(TILE * TILE) * sizeof(real));
    rows_transpose(x->k, x->kt, TILE, x->op->s.D);
    rows_transpose(x->v, x->vt, TILE, x->op->s.E);
    tiles_backward(&t, t0);
    if (t.W)
        crossing_pairs(&x->crossing, t0, t.W, x->d.both);
}

/* to = by (rows of `of`) S^T */
static void read_back(const Chunk *x, Rows to, Rows of, real *S, const real *by)
{
    rows_transpose((Rows){ S, x->E, 0, x->op->s.D }, x->St, x->D, x->op->s.E);
    rows_multiply(to, of, x->op->s.E, x->St, false);
    rows_scale(to, by);
}

/* What the rows of a chunk get from the state before it, and its keys from the one after it. */
static void backward_states(Chunk *x, int t0)
{
    const bool left = x->direction < 0;

    read_back(x, x->dq, x->go, states_of(states(x), &x->head, t0), taken(x));
    read_back(x, x->dk, x->v, x->S, seen(x));
    rows_multiply(x->o, x->k, x->op->s.D, x->S, false);
    rows_scale(x->o, seen(x));
    if (x->op->g) {
        rows_dot((left ? x->crossing.into : x->crossing.out) + t0, x->q, x->dq, TILE);
        rows_dot((left ? x->crossing.out : x->crossing.into) + t0, x->k, x->dk, TILE);
    }
}

/* S is R here, and goes on to the chunk before. */
static void backward_chunk(Chunk *x, int t0)
{
    load_keys(x, t0);
    load_queries(x, t0);
    x->go.t0 = t0;
    head_gather(&x->head, x->go, x->op->node.y->grad, x->op->s.E);
    backward_states(x, t0);
    if (x->pairs)
        backward_pairs(x, t0);
    put_gradient(x, x->op->dq, x->dq);
    put_gradient(x, x->op->dk, x->dk);
    head_scatter(&x->head, onto(x, x->op->dv), x->o, x->op->s.E);
    rows_scale(x->go, taken(x));
    state_pass(x->S, x->op->s.D, x->d.all, x->q, x->go);
}

static void backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = open(ctx, number);

        sweep_all(&x, -1, backward_chunk);
        if (x.op->g)
            crossing_put(&x.crossing, &x.head, x.length, x.op->dg);
    }
}

static void decay_backward(Node *node)
{
    Decayed *op = (Decayed *)node;
    Tape *tape = node->tape;

    /* in the order in which they are written: one tensor may be all three */
    op->dq = tape_grad(tape, op->in.q);
    op->dk = tape_grad(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    if (op->g)
        op->dg = tape_grad(tape, op->g);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static Tensor *decay_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Decayed *op = tape_node(tape, sizeof *op, decay_backward, 4, in->v->dim);

    op->in = *in, op->s = s, op->rule = in->attention->rule;
    op->g = op->rule->log_decay ? NULL : mix_tensor(in, "g");
    op->left = states_keep(&op->node, in, state_size(s.D, s.E));
    op->right = in->causal ? (States){ 0 } : states_keep(&op->node, in, state_size(s.D, s.E));
    op->angles = in->rope ? rope_angles(tape, s.T, s.D, in->rope_scale) : NULL;
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* q S and the sum of k v^T, and the pairs inside a chunk. */
static double decay_cost(const MixSize *s)
{
    const int sides = s->causal ? 1 : 2;

    return sides * s->H * (2.0 * s->D * s->E + 0.5 * fmin(TILE, s->T) * (s->D + s->E));
}

/* The states between chunks. */
static MixMemory decay_memory(const MixSize *s)
{
    return (MixMemory){ .kept = (s->causal ? 1 : 2) * states_cost(s, state_size(s->D, s->E)) };
}

const Engine engine_decay = {
    .mix = decay_mix,
    .step = decay_step,
    .state = decay_state,
    .cost = decay_cost,
    .memory = decay_memory,
};
