/*
 * Reformer (Kitaev et al., 2020, arXiv:2001.04451): exact attention among positions that are hashed
 * into the same bucket. Keys are the queries, normalised to length 1: k_j = q_j / |q_j|. With N_ij
 * the number of rounds in which row i sees key j,
 *
 *     A_ij = N_ij e^s_ij / sum over l of N_il e^s_il       s_ij = q_i . k_j / sqrt(D)
 *
 * which is the average of the rounds' results, weighted by their sums of e^s. Each of R rounds
 * (--rounds) has its own b / 2 random directions omega, normally distributed, and b buckets
 * (--buckets), one for each direction and its opposite. A row's bucket is that of the nearest one,
 *
 *     h(x) = the index of the largest of [omega x ; -omega x]
 *
 * All positions but padding are sorted by bucket, then by position, and the sorted order is cut
 * into chunks of c (--chunk). A row sees the keys in V(i) of its chunk and of the previous one,
 * except itself, since s_ii would outweigh all others: N_ii = 0, or 1 if i sees no other key in any
 * round. If causal, each bucket is cut into chunks separately: in the order of all buckets, the
 * chunk of a row, and so what it sees, would depend on later positions; the first chunk of a bucket
 * has no previous one. A row in the padding sees no key. (In the paper, keys of other buckets are
 * hidden from a row, and ln N_ij is subtracted from s_ij, so that no key counts twice.)
 *
 * N is piecewise constant, so its derivative counts as 0, and the backward pass is that of a
 * softmax. As in tiles.c, with g the gradient of o, dA_ij = g_i . v_j and delta_i = g_i . o_i, in
 * each round in which i sees j,
 *
 *     ds_ij = e^s_ij / (sum over l of N_il e^s_il) (dA_ij - delta_i)
 *
 * k_j = q_j / |q_j| has the derivative (I - k_j k_j^T) / |q_j|, so summed over the rounds,
 *
 *     dk_j = sum over i and rounds of ds_ij q_i / sqrt(D)
 *     dq_i = sum over j and rounds of ds_ij k_j / sqrt(D) + (dk_i - k_i (k_i . dk_i)) / |q_i|
 *
 * |q| is replaced by 10^-6 where it is smaller, and is then a constant, as in guard().
 *
 * The cost is O(n c R): in each round, each chunk is attention of c rows to 2 c keys (cross.h),
 * whose running sums are carried from one round to the next. Sorting: buckets.h.
 *
 * Plain twin: plain/reformer.c.
 */
#include "ops/attention/engine/buckets.h"
#include "ops/attention/engine/cross.h"
#include "ops/attention/engine/directions.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    Orders orders;
    RowState *row; /* (B, H, T) */
    Grad dq, dv;
} Reformer;

/* Copies of a head's positions, and of a chunk with what it sees, in a thread's scratch memory. */
typedef struct {
    const Reformer *op;
    Head head;
    int number, length;
    real by;                        /* 1 / sqrt(D) */
    Rows q, k, v, o, g, dq, dk, dv; /* by position */
    Cross cross;                    /* by place */
    Chunk chunk;
} Work;

/* The positions of a chunk, or keys that it sees, which cannot be more than there are. */
static int room(const Reformer *op, int chunks)
{
    return up_to(min(op->s.T, chunks * min(op->orders.b.chunk, op->s.T)), TILE);
}

static size_t scratch(const Reformer *op)
{
    const size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);
    const size_t T = (size_t)up_to(op->s.T, TILE), rows = (size_t)room(op, 1);
    const size_t keys = (size_t)room(op, 2), states = sizeof(RowState) / sizeof(real);

    return 4 * T * (D + E) + rows * (2 * D + 2 * E + states) + keys * (2 * D + 2 * E) +
           cross_scratch(op->s.D, op->s.E);
}

static Rows rows(real **free, int n, int ld)
{
    return (Rows){ carve(free, n, ld), ld, 0, n };
}

static void clear(Rows x)
{
    memset(x.at, 0, (size_t)x.n * (size_t)x.ld * sizeof(real));
}

static bool hide(const void *ctx, int i, int j0, real *s)
{
    const Work *w = ctx;
    const int own = w->chunk.from - w->chunk.before + i - j0; /* its place among the keys */
    const int keys = min(TILE, w->chunk.to - w->chunk.before - j0);

    if (own >= 0 && own < TILE)
        s[own] = -R(HUGE_VAL);
    for (int j = max(0, own); w->op->in.causal && j < TILE; j++)
        s[j] = -R(HUGE_VAL);
    return w->op->in.causal ? own > 0 : keys > (own >= 0 && own < keys);
}

static Cross cross_open(const Reformer *op, real **free)
{
    const int D = up_to(op->s.D, NR), E = up_to(op->s.E, NR), n = room(op, 1), m = room(op, 2);
    Cross x = { .D = op->s.D, .E = op->s.E, .hide = hide };

    x.q = rows(free, n, D), x.dq = rows(free, n, D);
    x.o = rows(free, n, E), x.g = rows(free, n, E);
    x.k = rows(free, m, D), x.dk = rows(free, m, D);
    x.v = rows(free, m, E), x.dv = rows(free, m, E);
    x.row = (RowState *)carve(free, n, sizeof(RowState) / sizeof(real));
    cross_carve(&x, free);
    return x;
}

static Work open(const Reformer *op, int number)
{
    const int D = up_to(op->s.D, NR), E = up_to(op->s.E, NR), T = up_to(op->s.T, TILE);
    real *free = pool_scratch();
    Work w = { .op = op, .head = head_of(&op->in, number), .number = number };

    bool guarded;

    w.length = view_of(&op->in, w.head.b).length;
    w.by = 1 / sqrt(R(op->s.D));
    w.q = rows(&free, T, D), w.dq = rows(&free, T, D);
    w.k = rows(&free, T, D), w.dk = rows(&free, T, D);
    w.v = rows(&free, T, E), w.dv = rows(&free, T, E);
    w.o = rows(&free, T, E), w.g = rows(&free, T, E);
    w.cross = cross_open(op, &free);
    head_gather(&w.head, w.q, op->in.q->data, op->s.D);
    head_gather(&w.head, w.v, op->in.v->data, op->s.E);
    for (int t = 0; t < w.length; t++) {
        const real by = buckets_inverse(&op->orders.b, row_of(w.q.at, t, D), &guarded);

        for (int d = 0; d < D; d++)
            row_of(w.k.at, t, D)[d] = row_of(w.q.at, t, D)[d] * by;
    }
    return w;
}

/* Copies rows of positions at[0] .. times a number; and adds such rows to those of positions. */
static void gather(Rows to, Rows from, const int *at, real by)
{
    for (int i = 0; i < to.n; i++)
        for (int d = 0; d < to.ld; d++)
            row_of(to.at, i, to.ld)[d] = by * row_of(from.at, at[i], from.ld)[d];
}

static void scatter(Rows to, Rows from, const int *at)
{
    for (int i = 0; i < from.n; i++)
        for (int d = 0; d < to.ld; d++)
            row_of(to.at, at[i], to.ld)[d] += row_of(from.at, i, from.ld)[d];
}

static RowState *state_of(const Work *w, int t)
{
    return w->op->row + (size_t)w->number * (size_t)w->op->s.T + t;
}

/* The next chunk: its rows and their states, and its keys; false if there is none. */
static bool next_chunk(Work *w, const Order *o)
{
    const bool some = order_next(o, &w->op->orders.b, &w->chunk);
    const int *rows = o->at + w->chunk.from, *keys = o->at + w->chunk.before;
    Cross *x = &w->cross;

    x->ctx = w;
    x->q.n = x->o.n = x->g.n = x->dq.n = w->chunk.to - w->chunk.from;
    x->k.n = x->v.n = x->dk.n = x->dv.n = w->chunk.to - w->chunk.before;
    if (!some)
        return false;
    gather(x->q, w->q, rows, w->by);
    gather(x->k, w->k, keys, 1);
    gather(x->v, w->v, keys, 1);
    for (int i = 0; i < x->q.n; i++)
        x->row[i] = *state_of(w, rows[i]);
    return true;
}

/* Adds what a round sees to the sums of all rows. */
static void forward_round(Work *w, int round)
{
    const Order o = orders_at(&w->op->orders, w->number, round);
    const Cross *x = &w->cross;

    for (w->chunk = (Chunk){ 0 }; next_chunk(w, &o);) {
        const int *rows = o.at + w->chunk.from;

        gather(x->o, w->o, rows, 1);
        cross_add(x);
        for (int i = 0; i < x->q.n; i++) {
            *state_of(w, rows[i]) = x->row[i];
            memcpy(row_of(w->o.at, rows[i], w->o.ld), row_of(x->o.at, i, x->o.ld),
                   (size_t)x->o.ld * sizeof(real));
        }
    }
}

/* A row that has seen no other key sees itself. */
static bool is_alone(const Work *w, int t)
{
    return t < w->length && state_of(w, t)->c == 0;
}

static void forward(void *ctx, int begin, int end)
{
    const Reformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);
        Cross all = { .E = op->s.E, .q = w.q, .o = w.o, .row = state_of(&w, 0) };

        all.q.n = op->s.T;
        cross_start(&all);
        for (int r = 0; r < op->orders.b.rounds; r++)
            forward_round(&w, r);
        cross_finish(&all);
        for (int t = 0; t < op->s.T; t++)
            if (is_alone(&w, t))
                memcpy(row_of(w.o.at, t, w.o.ld), row_of(w.v.at, t, w.v.ld),
                       (size_t)op->s.E * sizeof(real));
        head_scatter(&w.head, (Grad){ op->node.y->data, false }, w.o, op->s.E);
    }
}

/* Adds to the gradients of all positions those of a round. */
static void backward_round(Work *w, int round)
{
    const Order o = orders_at(&w->op->orders, w->number, round);
    const Cross *x = &w->cross;

    for (w->chunk = (Chunk){ 0 }; next_chunk(w, &o);) {
        gather(x->g, w->g, o.at + w->chunk.from, 1);
        clear(x->dq), clear(x->dk), clear(x->dv);
        cross_backward(x);
        cross_scale(x->dq, w->op->s.D, w->by);
        scatter(w->dq, x->dq, o.at + w->chunk.from);
        scatter(w->dk, x->dk, o.at + w->chunk.before);
        scatter(w->dv, x->dv, o.at + w->chunk.before);
    }
}

/* Adds to dq what goes through k, without its part along k unless |q| is the guard. */
static void add_keys(const Work *w)
{
    const int D = w->op->s.D;

    for (int t = 0; t < w->length; t++) {
        const real *k = row_of(w->k.at, t, w->k.ld), *dk = row_of(w->dk.at, t, w->dk.ld);
        real *dq = row_of(w->dq.at, t, w->dq.ld);
        bool guarded;
        const real by = buckets_inverse(&w->op->orders.b, row_of(w->q.at, t, w->q.ld), &guarded);
        const real along = guarded ? 0 : row_dot(k, dk, D);

        for (int d = 0; d < D; d++)
            dq[d] += (dk[d] - k[d] * along) * by;
    }
}

static void backward(void *ctx, int begin, int end)
{
    const Reformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);
        Cross all = { .E = op->s.E, .q = w.q, .o = w.o, .g = w.g, .row = state_of(&w, 0) };

        all.q.n = op->s.T;
        head_gather(&w.head, w.o, op->node.y->data, op->s.E);
        head_gather(&w.head, w.g, op->node.y->grad, op->s.E);
        clear(w.dq), clear(w.dk), clear(w.dv);
        cross_delta(&all);
        for (int r = 0; r < op->orders.b.rounds; r++)
            backward_round(&w, r);
        for (int t = 0; t < op->s.T; t++)
            for (int e = 0; e < op->s.E && is_alone(&w, t); e++)
                row_of(w.dv.at, t, w.dv.ld)[e] += row_of(w.g.at, t, w.g.ld)[e];
        add_keys(&w);
        head_scatter(&w.head, op->dq, w.dq, op->s.D);
        head_scatter(&w.head, op->dv, w.dv, op->s.E);
    }
}

static void reformer_backward(Node *node)
{
    Reformer *op = (Reformer *)node;
    Tape *tape = node->tape;

    op->dq = tape_grad(tape, op->in.q);
    tape_grad_zeroed(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static Tensor *reformer_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Reformer *op = tape_node(tape, sizeof *op, reformer_backward, 4, in->v->dim);
    const size_t rows = (size_t)(in->q->dim[0] * s.H) * (size_t)s.T;

    op->in = *in, op->s = s;
    op->row = tape_keep(&op->node, rows * sizeof *op->row);
    orders_find(&op->orders, &op->node, &op->in);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* The keys that a row sees in each round, if buckets are of one size; the products of the hash. */
static double reformer_cost(const MixSize *s)
{
    const Buckets b = buckets_sized(s);
    const double keys =
        s->causal ? fmin(0.5 * s->T / b.buckets, 1.5 * b.chunk) : fmin(s->T, 2.0 * b.chunk);

    return s->H * b.rounds * (keys * (s->D + s->E) + 0.5 * b.buckets * s->D);
}

/* The orders, and the state of a row. */
static MixMemory reformer_memory(const MixSize *s)
{
    const Buckets b = buckets_sized(s);
    const double ints = b.rounds * (1 + (double)b.buckets / s->T);

    return (MixMemory){ s->H * (ints * sizeof(int) + sizeof(RowState)) / sizeof(real), 0 };
}

static const Engine engine = {
    .mix = reformer_mix,
    .step = buckets_step,
    .state = buckets_state,
    .cost = reformer_cost,
    .memory = reformer_memory,
};

const Attention attention_reformer = {
    .name = "reformer",
    .summary =
        "softmax over the keys near the query in the order of their hashes, O(n) (arXiv:2001.04451)",
    .traits = HAS_MATRIX | IS_LINEAR | AVERAGES | SMOOTH | BLOCKED | ALONE_FIXED | KEYLESS,
    .keys_are_q = true,
    .operands = (const Operand[]){ { .name = "omega",
                                     .shape = "Hrbd",
                                     .help = "random directions of the hash, b / 2 per round",
                                     .draw = directions_draw_normal },
                                   { 0 } },
    .settings = (const Setting[]){ { .name = "buckets",
                                     .most = 1 << 16,
                                     .layer = true,
                                     .size = 'b',
                                     .even = true,
                                     .zero = 16,
                                     .tries = { 2, 4, 6, 8 },
                                     .pattern = true,
                                     .help = "number of hash buckets, even (0: 16)" },
                                   { .name = "rounds",
                                     .most = 1 << 10,
                                     .layer = true,
                                     .size = 'r',
                                     .zero = 2,
                                     .tries = { 2, 3, 1, 2 },
                                     .pattern = true,
                                     .help = "rounds of hashing, each with new directions (0: 2)" },
                                   { .name = "chunk",
                                     .value = 64,
                                     .most = 1 << 24,
                                     .zero = 256,
                                     .tries = { 2, 3, 16, 1 },
                                     .pattern = true,
                                     .help = "positions per chunk (0: 256)" },
                                   SETTING_KEY_SIZE,
                                   SETTING_OUT_NORM(0),
                                   SETTING_OUT_GATE(0),
                                   { 0 } },
    .engine = &engine,
    .plain = plain_reformer,
};
