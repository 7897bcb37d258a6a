/*
 * Poolingformer (Zhang et al., 2021, arXiv:2105.04371): exact attention to nearby keys, plus exact
 * attention to means of keys in a wider window. With windows w1 (--near) and w2 (--far), and pools
 * of kappa positions (--pool-size), one every xi positions (--pool-stride),
 *
 *     o_i = sum over V1(i) of A_ij v_j + sum over P(i) of B_ip v~_p
 *
 *     A_ij = softmax_j(q_i . k_j / sqrt(D))       over V1(i), the j in V(i) with |i - j| <= w1
 *     B_ip = softmax_p(q_i . k~_p / sqrt(D))      over P(i)
 *
 * Pool p consists of the positions xi p .. xi p + kappa - 1; k~_p and v~_p are the means over those
 * that exist and are not padding; a pool without any is in no P(i). P(i) contains the other pools
 * all of whose kappa positions, those that do not exist included, are at most w2 away from i and,
 * if causal, not after i. A row that sees no pool has only the first term; the weights of other
 * rows sum to 2. (The paper's second level uses new projections of the first one's output; here
 * both use the same q, k and v.)
 *
 * Both terms are computed by cross.h over a band of keys or of pools, so the cost is linear.
 * Backward, both terms have the gradients of exact attention (tiles.c), with their own delta_i, for
 * which the result of the second term is stored. By the derivative of a mean, with |p| the number
 * of positions that pool p averages,
 *
 *     dk_j += sum over pools p that contain j of dk~_p / |p|       dv_j likewise, from dv~_p
 *
 * Decoding: pools.h.
 *
 * Plain twin: plain/poolingformer.c.
 */
#include "ops/attention/engine/cross.h"
#include "ops/attention/engine/pools.h"
#include "ops/attention/engine/settings.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    Pools pools;
    RowState *row; /* (2, B, H, T) */
    real *second;  /* (B, T, H, E): the second term */
    Grad dq, dk, dv;
} Poolingformer;

/* Keys, or pools, of a head; and their gradients. */
typedef struct {
    Rows k, v, dk, dv;
} Side;

/* A head, and the scratch memory of its thread. */
typedef struct {
    const Poolingformer *op;
    Head head;
    View view;
    int number, pools;
    real by;
    Rows q, o, g, dq; /* a tile */
    Side side[2];
    Cross cross;
} Work;

/* What a row of a tile sees: of a side, from key `from` on. */
typedef struct {
    const Work *w;
    bool pooled;
    int i0, from;
} Sight;

/* The pools with a position before n. */
static int pool_count(const Pools *p, int n)
{
    return (n + p->stride - 1) / p->stride;
}

static Span pool_span(const Work *w, int p)
{
    const Pools *pools = &w->op->pools;
    const int from = p * pools->stride;

    return (Span){ from, min(from + pools->size, w->view.length) };
}

static Span seen(const Work *w, bool pooled, int i)
{
    const Poolingformer *op = w->op;

    if (pooled)
        return pools_seen(&op->pools, op->in.causal, w->pools, i);
    return view_keys(&w->view, i);
}

static bool hide(const void *ctx, int i, int j0, real *s)
{
    const Sight *sight = ctx;
    const Span keys = seen(sight->w, sight->pooled, sight->i0 + i);
    const int from = keys.from - sight->from - j0, to = keys.to - sight->from - j0;

    for (int j = 0; j < TILE; j++)
        s[j] = j >= from && j < to ? s[j] : -R(HUGE_VAL);
    return from < min(to, TILE) && to > 0;
}

static size_t scratch(const Poolingformer *op)
{
    const size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);
    const size_t T = (size_t)up_to(op->s.T, TILE);
    const size_t P = (size_t)up_to(pool_count(&op->pools, op->s.T), TILE);

    return cross_scratch(op->s.D, op->s.E) + 2 * (TILE + T + P) * (D + E);
}

/* n rows, with room for this many. */
static Rows rows(real **free, int n, int room, int ld)
{
    return (Rows){ carve(free, up_to(room, TILE), ld), ld, 0, n };
}

static void clear(Rows x)
{
    memset(x.at, 0, (size_t)up_to(x.n, TILE) * (size_t)x.ld * sizeof(real));
}

/* The means over pools, and their gradients for the positions. */
static void average(const Work *w, Rows to, Rows from)
{
    clear(to);
    for (int p = 0; p < to.n; p++) {
        const Span of = pool_span(w, p);
        real *mean = row_of(to.at, p, to.ld);

        for (int j = of.from; j < of.to; j++)
            for (int d = 0; d < to.ld; d++)
                mean[d] += row_of(from.at, j, from.ld)[d] / R(of.to - of.from);
    }
}

static void spread(const Work *w, Rows dx, Rows dmean)
{
    for (int p = 0; p < dmean.n; p++) {
        const Span of = pool_span(w, p);

        for (int j = of.from; j < of.to; j++)
            for (int d = 0; d < dx.ld; d++)
                row_of(dx.at, j, dx.ld)[d] += row_of(dmean.at, p, dmean.ld)[d] / R(of.to - of.from);
    }
}

static Work open(const Poolingformer *op, int number)
{
    const int D = up_to(op->s.D, NR), E = up_to(op->s.E, NR);
    real *free = pool_scratch();
    Work w = { .op = op, .head = head_of(&op->in, number), .number = number };

    w.by = 1 / sqrt(R(op->s.D));
    w.view = view_of(&op->in, w.head.b);
    w.view.window = op->pools.near;
    w.pools = pool_count(&op->pools, w.view.length);
    w.q = rows(&free, TILE, TILE, D), w.dq = rows(&free, TILE, TILE, D);
    w.o = rows(&free, TILE, TILE, E), w.g = rows(&free, TILE, TILE, E);
    for (int i = 0; i < 2; i++) {
        const int n = i ? w.pools : w.view.length;
        const int room = i ? pool_count(&op->pools, op->s.T) : op->s.T;

        w.side[i].k = rows(&free, n, room, D), w.side[i].v = rows(&free, n, room, E);
        w.side[i].dk = rows(&free, n, room, D), w.side[i].dv = rows(&free, n, room, E);
    }
    w.cross = (Cross){ .D = op->s.D, .E = op->s.E, .hide = hide };
    cross_carve(&w.cross, &free);
    head_gather(&w.head, w.side[0].k, op->in.k->data, op->s.D);
    head_gather(&w.head, w.side[0].v, op->in.v->data, op->s.E);
    average(&w, w.side[1].k, w.side[0].k);
    average(&w, w.side[1].v, w.side[0].v);
    return w;
}

static void load_rows(Work *w, int i0)
{
    w->q.t0 = w->dq.t0 = w->o.t0 = w->g.t0 = i0;
    w->q.n = w->dq.n = w->o.n = w->g.n = min(TILE, w->op->s.T - i0);
    head_gather(&w->head, w->q, w->op->in.q->data, w->op->s.D);
    cross_scale(w->q, w->op->s.D, w->by);
}

/* Some of the rows of x, from a tile's first on. */
static Rows slice(Rows x, Span keys)
{
    return (Rows){ row_of(x.at, keys.from, x.ld), x.ld, 0, keys.to - keys.from };
}

/* The loaded rows against the tiles of keys, or of pools, that any of them sees. */
static Cross cross_of(const Work *w, bool pooled, Sight *sight)
{
    const Side *side = &w->side[pooled];
    const int i0 = w->q.t0, heads = w->op->in.q->dim[0] * w->op->s.H;
    Span keys = { min(side->k.n, seen(w, pooled, i0).from) / TILE * TILE,
                  seen(w, pooled, i0 + w->q.n - 1).to };
    Cross x = w->cross;

    keys.to = max(keys.from, min(side->k.n, up_to(keys.to, TILE)));
    *sight = (Sight){ w, pooled, i0, keys.from };
    x.ctx = sight;
    x.row = w->op->row + (size_t)(pooled * heads + w->number) * (size_t)w->op->s.T + i0;
    x.q = w->q, x.o = w->o, x.g = w->g, x.dq = w->dq;
    x.k = slice(side->k, keys), x.v = slice(side->v, keys);
    x.dk = slice(side->dk, keys), x.dv = slice(side->dv, keys);
    return x;
}

static void forward_rows(Work *w, int i0)
{
    const Poolingformer *op = w->op;
    Sight sight;

    load_rows(w, i0);
    for (int pooled = 1; pooled >= 0; pooled--) {
        const Cross x = cross_of(w, pooled, &sight);

        cross_start(&x);
        cross_add(&x);
        cross_finish(&x);
        head_scatter(&w->head, (Grad){ op->node.y->data, !pooled }, w->o, op->s.E);
        if (pooled)
            head_scatter(&w->head, (Grad){ op->second, false }, w->o, op->s.E);
    }
}

static void forward(void *ctx, int begin, int end)
{
    const Poolingformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);

        for (int i0 = 0; i0 < op->s.T; i0 += TILE)
            forward_rows(&w, i0);
    }
}

/* The result of a term: the second, or y without it. */
static void load_result(const Work *w, bool pooled)
{
    const Poolingformer *op = w->op;

    for (int i = 0; i < w->o.n; i++) {
        const size_t at = head_place(&w->head, w->o.t0 + i, op->s.E);

        for (int e = 0; e < op->s.E; e++) {
            const real second = op->second[at + (size_t)e];

            row_of(w->o.at, i, w->o.ld)[e] =
                pooled ? second : op->node.y->data[at + (size_t)e] - second;
        }
    }
}

static void backward_rows(Work *w, int i0)
{
    const Poolingformer *op = w->op;
    Sight sight;

    load_rows(w, i0);
    head_gather(&w->head, w->g, op->node.y->grad, op->s.E);
    clear(w->dq);
    for (int pooled = 0; pooled < 2; pooled++) {
        const Cross x = cross_of(w, pooled, &sight);

        load_result(w, pooled);
        cross_delta(&x);
        cross_backward(&x);
    }
    cross_scale(w->dq, op->s.D, w->by);
    head_scatter(&w->head, op->dq, w->dq, op->s.D);
}

/* Of all positions: zeros where there is padding. */
static void put(const Work *w, Grad to, Rows dx, int width)
{
    const int n = w->view.length, T = w->op->s.T;

    memset(row_of(dx.at, n, dx.ld), 0, (size_t)(T - n) * (size_t)dx.ld * sizeof(real));
    dx.n = T;
    head_scatter(&w->head, to, dx, width);
}

static void backward(void *ctx, int begin, int end)
{
    const Poolingformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);

        for (int i = 0; i < 2; i++) {
            clear(w.side[i].dk);
            clear(w.side[i].dv);
        }
        for (int i0 = 0; i0 < op->s.T; i0 += TILE)
            backward_rows(&w, i0);
        spread(&w, w.side[0].dk, w.side[1].dk);
        spread(&w, w.side[0].dv, w.side[1].dv);
        put(&w, op->dk, w.side[0].dk, op->s.D);
        put(&w, op->dv, w.side[0].dv, op->s.E);
    }
}

static void poolingformer_backward(Node *node)
{
    Poolingformer *op = (Poolingformer *)node;

    /* in the order of writing: one tensor may be all three */
    op->dq = tape_grad(node->tape, op->in.q);
    op->dk = tape_grad(node->tape, op->in.k);
    op->dv = tape_grad(node->tape, op->in.v);
    pool_reserve(node->tape->pool, scratch(op) * sizeof(real));
    pool_for(node->tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static Tensor *poolingformer_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Poolingformer *op = tape_node(tape, sizeof *op, poolingformer_backward, 4, in->v->dim);
    const size_t rows = (size_t)(in->q->dim[0] * s.H) * (size_t)s.T;

    op->in = *in, op->s = s, op->pools = pools_of(&in->set);
    op->row = tape_keep(&op->node, 2 * rows * sizeof *op->row);
    op->second = tape_keep(&op->node, in->v->n * sizeof(real));
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* The keys and the pools that a row sees, and the means. */
static double poolingformer_cost(const MixSize *s)
{
    const Pools p = pools_of(&s->set);
    const double all = s->causal ? 0.5 * s->T : s->T, sides = s->causal ? 1 : 2;
    const double near = fmin(all, sides * p.near + 1), far = fmin(all, sides * p.far + 1);

    return s->H * (s->D + s->E) * (near + (far + p.size) / p.stride);
}

/* The second term; the states of both. */
static MixMemory poolingformer_memory(const MixSize *s)
{
    return (MixMemory){ s->H * (s->E + 2.0 * (double)(sizeof(RowState) / sizeof(real))), 0 };
}

static const Engine engine = {
    .mix = poolingformer_mix,
    .step = pools_step,
    .state = pools_state,
    .cost = poolingformer_cost,
    .memory = poolingformer_memory,
};

const Attention attention_poolingformer = {
    .name = "poolingformer",
    .summary = "a window of keys and a wider window of pooled keys, O(n) (arXiv:2105.04371)",
    .traits = HAS_MATRIX | IS_LINEAR | PLACED | SMOOTH | ALONE_FIXED,
    .settings =
        (const Setting[]){ { .name = "near",
                             .most = 1 << 24,
                             .least = 1,
                             .zero = 128,
                             .tries = { 2, 5, 70 },
                             .help = "attend to the keys at most N positions away (0: 128)" },
                           { .name = "far",
                             .most = 1 << 24,
                             .least = 1,
                             .zero = 512,
                             .tries = { 3, 9, 100 },
                             .help = "attend to pools of keys at most N positions away (0: 512)" },
                           { .name = "pool-size",
                             .most = 1 << 24,
                             .least = 1,
                             .zero = 5,
                             .tries = { 2, 3, 13 },
                             .help = "positions per pool (0: 5)" },
                           { .name = "pool-stride",
                             .most = 1 << 24,
                             .least = 1,
                             .zero = 4,
                             .tries = { 3, 1, 7 },
                             .help = "positions from the start of one pool to the next (0: 4)" },
                           SETTINGS_OF_HEADS,
                           { 0 } },
    .engine = &engine,
    .plain = plain_poolingformer,
};
