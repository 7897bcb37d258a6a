/*
 * Fastformer (Wu et al., 2021, arXiv:2108.09084), of one head: no query meets a
 * key; both are pooled (pooling.c), and what is left of them meets the values.
 *
 *     g_i = pool(q, w_q)_i               the queries that i sees
 *     p_j = g_j * k_j                    for each key, elementwise
 *     h_i = pool(p, w_k)_i
 *     u_i = h_i * v_i
 *
 * In the paper a row sees the whole sequence and g and h are one vector each. The
 * causal form is not in it: there row i has the pools of the prefix that ends at
 * i, and p_j is made of the g of its own row. Both are one walk over the keys;
 * causal rows read the pools on the way, the others at the end. Two other
 * interactions are the paper's ablation:
 *
 *     p_j = g_j + k_j                    p_j = W [g_j; k_j]
 *
 * Backward is the same walk from the end, with dp_j and dg from pooling.c:
 *
 *     dv_i = du_i * h_i                  dh_i = du_i * v_i
 *     dg_j = dp_j * k_j                  dk_j = dp_j * g_j             (mul)
 *     dg_j = dk_j = dp_j                                               (add)
 *     [dg_j; dk_j] = W^T dp_j            dW = sum of dp_j [g_j; k_j]^T (concat)
 *
 * Where all rows see the whole sequence, h gets the sum of all dh_i and g that of
 * all dg_j. The forward keeps nothing: the backward of a head makes its g, p and
 * h again, T x D numbers each in its thread's scratch.
 *
 * w_q, w_k and W are the same for the whole batch: each sequence has a sum of its
 * own, and these are added in the order of the sequences.
 */
#include "ops/attention/head.h"
#include "ops/attention/pooling.h"
#include "ops/elementary.h"
#include "ops/error.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    int B, T, H, D;
    Grad dq, dk, dv, dw_q, dw_k, dW;
    real *partial; /* (B, H): dw_q, dw_k and dW of one head, one after the other */
} Fastformer;

/* One head of one sequence, in a thread's scratch. */
typedef struct {
    const Fastformer *op;
    int head, n; /* keys from n on are padding */
    size_t at;   /* where its position 0 is in a (B, T, H, D) tensor */
    Pooling g, h;
    real *p;                  /* (T, D), or (D) without a way back */
    real *to_p, *to_g, *to_k; /* (D): dp_j, dg_j, dk_j; by turns dh_i, dv_i and dq_j too */
    real *dW;
} Walk;

static size_t place(const Walk *x, int t)
{
    return x->at + (size_t)t * (size_t)(x->op->H * x->op->D);
}

/* The last key that row i sees. */
static int last(const Walk *x, int i)
{
    return x->op->in.causal ? min(i, x->n - 1) : x->n - 1;
}

static real *p_of(const Walk *x, int j)
{
    return x->g.rows ? x->p + (size_t)j * (size_t)x->op->D : x->p;
}

/* Numbers in the W of a head, if there is one. */
static size_t matrix_size(const Mix *in)
{
    size_t D = (size_t)in->q->dim[3];

    return in->set.interaction == INTERACTION_CONCAT ? 2 * D * D : 0;
}

static void interact(const Mix *in, int head, const real *g, const real *k, real *restrict p)
{
    int D = in->q->dim[3];

    if (in->set.interaction == INTERACTION_CONCAT) {
        const real *W = in->concat->data + (size_t)head * matrix_size(in);

        for (int d = 0; d < D; d++, W += 2 * D)
            p[d] = row_dot(W, g, D) + row_dot(W + D, k, D);
    } else {
        bool add = in->set.interaction == INTERACTION_ADD;

        for (int d = 0; d < D; d++)
            p[d] = add ? g[d] + k[d] : g[d] * k[d];
    }
}

/* u_i = h_i * v_i, and zeros where the pool has no key. */
static void meet(const Pooling *h, const real *restrict v, real *restrict u)
{
    bool empty = *h->l == 0;

    for (int d = 0; d < h->D; d++)
        u[d] = empty ? 0 : h->y[d] * v[d];
}

/* g, p and h of the whole head, and u if it is wanted. */
static void walk(Walk *x, real *u)
{
    const Mix *in = &x->op->in;
    int T = x->op->T, span = in->causal ? 1 : T;

    for (int at = 0; at < T; at += span) {
        for (int j = at; j < min(at + span, x->n); j++)
            pooling_add(&x->g, j, in->q->data + place(x, j));
        for (int j = at; j < min(at + span, x->n); j++) {
            const real *g = pooling_row(&x->g, last(x, j));

            interact(in, x->head, g, in->k->data + place(x, j), p_of(x, j));
            pooling_add(&x->h, j, p_of(x, j));
        }
        for (int i = at; u && i < at + span; i++)
            meet(&x->h, in->v->data + place(x, i), u + place(x, i));
    }
}

/* The head of that number, its pools empty, with a way back for so many keys (or 0). */
static Walk walk_open(const Fastformer *op, int number, int keys)
{
    int D = op->D, b = number / op->H, head = number % op->H;
    size_t size = pooling_size(D, keys);
    real *pools = pool_scratch(), *rows = pools + 2 * size;
    Walk x = { .op = op, .head = head, .n = op->in.length ? op->in.length[b] : op->T };

    x.n = min(x.n, op->T);
    x.at = ((size_t)b * (size_t)(op->T * op->H) + (size_t)head) * (size_t)D;
    x.to_p = rows, x.to_g = rows + D, x.to_k = rows + 2 * D, x.p = rows + 3 * D;
    x.g = pooling_at(pools, op->in.pool_q->data + head * D, D, keys);
    x.h = pooling_at(pools + size, op->in.pool_k->data + head * D, D, keys);
    memset(x.g.y, 0, pooling_state(D) * sizeof(real));
    memset(x.h.y, 0, pooling_state(D) * sizeof(real));
    return x;
}

/* What that needs of a thread's scratch. */
static void reserve(const Fastformer *op, int keys)
{
    size_t rows = (size_t)(3 + (keys > 0 ? keys : 1)) * (size_t)op->D;

    pool_reserve(op->node.tape->pool, (2 * pooling_size(op->D, keys) + rows) * sizeof(real));
}

static void forward_heads(void *ctx, int begin, int end)
{
    const Fastformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Walk x = walk_open(op, number, 0);

        walk(&x, op->node.y->data);
    }
}

/* to += by * from. */
static void add_times(real *restrict to, real by, const real *restrict from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += by * from[i];
}

/* dp_j becomes dg_j and dk_j, and is added to dW. */
static void interact_back(Walk *x, const real *restrict g, const real *restrict k)
{
    const Mix *in = &x->op->in;
    const real *restrict dp = x->to_p;
    real *restrict dg = x->to_g, *restrict dk = x->to_k;
    bool mul = in->set.interaction == INTERACTION_MUL, add = in->set.interaction == INTERACTION_ADD;
    int D = x->op->D;

    for (int d = 0; d < D; d++) {
        dg[d] = mul ? dp[d] * k[d] : add ? dp[d] : 0;
        dk[d] = mul ? dp[d] * g[d] : add ? dp[d] : 0;
    }
    if (mul || add)
        return;
    const real *W = in->concat->data + (size_t)x->head * matrix_size(in);
    for (int d = 0; d < D; d++, W += 2 * D) {
        add_times(dg, dp[d], W, D);
        add_times(dk, dp[d], W + D, D);
        add_times(x->dW + 2 * d * D, dp[d], g, D);
        add_times(x->dW + 2 * d * D + D, dp[d], k, D);
    }
}

static void meet_back(Walk *x, int i)
{
    const Fastformer *op = x->op;
    const real *restrict du = op->node.y->grad + place(x, i);
    const real *restrict v = op->in.v->data + place(x, i), *h = pooling_row(&x->h, last(x, i));
    real *restrict dh = x->to_p, *restrict dv = x->to_k;

    for (int d = 0; d < op->D; d++) {
        dh[d] = du[d] * v[d];
        dv[d] = du[d] * h[d];
    }
    grad_add(op->dv, place(x, i), dv, op->D);
    pooling_row_back(&x->h, last(x, i), dh);
}

static void key_back(Walk *x, int j)
{
    const Fastformer *op = x->op;

    pooling_add_back(&x->h, j, p_of(x, j), x->to_p);
    interact_back(x, pooling_row(&x->g, last(x, j)), op->in.k->data + place(x, j));
    grad_add(op->dk, place(x, j), x->to_k, op->D);
    pooling_row_back(&x->g, last(x, j), x->to_g);
}

static void query_back(Walk *x, int j)
{
    const Fastformer *op = x->op;

    pooling_add_back(&x->g, j, op->in.q->data + place(x, j), x->to_p);
    grad_add(op->dq, place(x, j), x->to_p, op->D);
}

static void walk_back(Walk *x)
{
    int T = x->op->T, span = x->op->in.causal ? 1 : T;

    for (int at = T - span; at >= 0; at -= span) {
        for (int i = at + span - 1; i >= at; i--)
            meet_back(x, i);
        for (int j = min(at + span, x->n) - 1; j >= at; j--)
            key_back(x, j);
        for (int j = min(at + span, x->n) - 1; j >= at; j--)
            query_back(x, j);
    }
}

/* Positions from `from` on get nothing. */
static void pass_nothing(Walk *x, Grad to, int from)
{
    memset(x->to_p, 0, (size_t)x->op->D * sizeof(real));
    for (int t = from; t < x->op->T; t++)
        grad_add(to, place(x, t), x->to_p, x->op->D);
}

/* Numbers in the parameters of a head. */
static size_t partial_size(const Fastformer *op)
{
    return 2 * (size_t)op->D + matrix_size(&op->in);
}

static void backward_heads(void *ctx, int begin, int end)
{
    const Fastformer *op = ctx;
    size_t size = partial_size(op);

    for (int number = begin; number < end; number++) {
        Walk x = walk_open(op, number, op->T);

        x.g.dw = memset(op->partial + (size_t)number * size, 0, size * sizeof(real));
        x.h.dw = x.g.dw + op->D;
        x.dW = x.h.dw + op->D;
        walk(&x, NULL);
        if (x.n > 0)
            walk_back(&x);
        pass_nothing(&x, op->dv, x.n > 0 ? op->T : 0);
        pass_nothing(&x, op->dk, x.n);
        pass_nothing(&x, op->dq, x.n);
    }
}

/* The sums over the batch, in its order. */
static void backward_parameters(const Fastformer *op)
{
    int D = op->D, matrix = (int)matrix_size(&op->in);
    const real *d = op->partial;

    for (int number = 0; number < op->B * op->H; number++, d += partial_size(op)) {
        Grad dw_q = op->dw_q, dw_k = op->dw_k, dW = op->dW;
        size_t head = (size_t)(number % op->H), at = head * (size_t)D;

        dw_q.add |= number >= op->H, dw_k.add |= number >= op->H, dW.add |= number >= op->H;
        grad_add(dw_q, at, d, D);
        grad_add(dw_k, at, d + D, D);
        if (matrix > 0)
            grad_add(dW, head * (size_t)matrix, d + 2 * D, matrix);
    }
}

/* One tensor may be two operands: what is asked for first is written first, for each position. */
static void fastformer_backward(Node *node)
{
    Fastformer *op = (Fastformer *)node;
    Tape *tape = node->tape;
    size_t bytes = (size_t)(op->B * op->H) * partial_size(op) * sizeof(real);

    op->dv = tape_grad(tape, op->in.v);
    op->dk = tape_grad(tape, op->in.k);
    op->dq = tape_grad(tape, op->in.q);
    op->dw_q = tape_grad(tape, op->in.pool_q);
    op->dw_k = tape_grad(tape, op->in.pool_k);
    if (matrix_size(&op->in) > 0)
        op->dW = tape_grad(tape, op->in.concat);
    op->partial = arena_take(tape->mem, bytes);
    reserve(op, op->T);
    pool_for(tape->pool, op->B * op->H, 1, backward_heads, op);
    backward_parameters(op);
    arena_give(tape->mem, op->partial, bytes);
}

static void check(const Mix *in)
{
    const int *q = in->q->dim, *v = in->v->dim;
    size_t n = (size_t)(q[2] * q[3]);

    if (in->q->n != in->k->n || in->q->n != in->v->n || q[3] != v[3])
        BUG("fastformer: q (%d, %d, %d, %d) does not go with v (%d, %d, %d, %d)", q[0], q[1], q[2],
            q[3], v[0], v[1], v[2], v[3]);
    if (!in->pool_q || in->pool_q->n != n || !in->pool_k || in->pool_k->n != n)
        BUG("fastformer: no pooling vectors of (%d, %d)", q[2], q[3]);
    if (matrix_size(in) > 0 && (!in->concat || in->concat->n != (size_t)q[2] * matrix_size(in)))
        BUG("fastformer: no matrices of (%d, %d, %d)", q[2], q[3], 2 * q[3]);
}

static Tensor *fastformer_mix(Tape *tape, Mix in)
{
    const int *q = in.q->dim;

    check(&in);
    Fastformer *op = tape_node(tape, sizeof *op, fastformer_backward, 4, in.v->dim);
    op->in = in;
    op->B = q[0], op->T = q[1], op->H = q[2], op->D = q[3];
    reserve(op, 0);
    pool_for(tape->pool, op->B * op->H, 1, forward_heads, op);
    return op->node.y;
}

/* In each pool a logit and y: 4 D; and p and u, two products without a sum, for one with. */
static double fastformer_cost(MixSize s)
{
    return s.H * (5.0 * s.D + (s.set.interaction == INTERACTION_CONCAT ? 2.0 * s.D * s.D : 0));
}

static size_t fastformer_state(MixSize s)
{
    return 2 * (size_t)s.H * pooling_state(s.D);
}

/* p is where o will be. */
static void fastformer_step(Step s)
{
    const Mix *in = s.in;
    int D = in->q->dim[3];
    size_t size = pooling_state(D);

    for (int head = 0; head < in->q->dim[2]; head++, s.state += 2 * size, s.o += D) {
        Pooling g = pooling_at(s.state, in->pool_q->data + head * D, D, 0);
        Pooling h = pooling_at(s.state + size, in->pool_k->data + head * D, D, 0);

        if (!s.padding) {
            pooling_add(&g, s.t, in->q->data + head * D);
            interact(in, head, g.y, in->k->data + head * D, s.o);
            pooling_add(&h, s.t, s.o);
        }
        meet(&h, in->v->data + head * D, s.o);
    }
}

const Attention attention_fastformer = {
    .name = "fastformer",
    .summary = "additive attention: pooled queries and keys, O(n) (arXiv:2108.09084)",
    .frame = FRAME_POOLED,
    .takes = TAKES_INTERACTION | TAKES_SHARE,
    .needs = 1 << MIX_POOL_Q | 1 << MIX_POOL_K | 1 << MIX_CONCAT,
    .linear = true,
    .mix = fastformer_mix,
    .cost = fastformer_cost,
    .state = fastformer_state,
    .step = fastformer_step,
};
