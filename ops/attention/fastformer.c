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
 * all dg_j. Both ways walk by chunks of TILE rows. Of the forward remain the states
 * of both pools at the start of each chunk; from these the backward makes g, p and
 * h of a chunk again, so its scratch does not grow with T. Causal, it goes through
 * the chunks once, from the last to the first, and leaves dv, dk and dq of each.
 *
 * w_q, w_k and W are the same for the whole batch: each sequence has a sum of its
 * own, and these are added in the order of the sequences.
 */
#include "ops/attention/engine/head.h"
#include "ops/attention/engine/pooling.h"
#include "ops/kernel/elementary.h"

#include <string.h>

typedef enum { MUL, ADD, CONCAT } Interaction;

typedef struct {
    Node node;
    Mix in;
    Tensor *pool_q, *pool_k, *concat; /* concat: NULL for the other interactions */
    Interaction how;
    int B, T, H, D;
    Grad dq, dk, dv, dw_q, dw_k, dW;
    real *states;  /* (B, H, 2, chunks + 1): of g and of h, what each chunk found, and the last */
    real *partial; /* (B, H): dw_q, dw_k and dW of one head, one after the other */
} Fastformer;

/* One head of one sequence, a chunk of it in a thread's scratch. */
typedef struct {
    const Fastformer *op;
    Head head;
    int n; /* keys from n on are padding */
    Pooling g, h;
    Rows k, p, d, dk;                   /* k for concat; p becomes dg, and dq; d is dh, and dp */
    real *W[2], *transposed[2], *dW[2]; /* concat: g's half and k's, (D, D'); transposed */
} Walk;

static int chunks(const Fastformer *op)
{
    return (op->T + TILE - 1) / TILE;
}

/* Numbers in the states of a pool. */
static size_t own_states(const Fastformer *op)
{
    return (size_t)(chunks(op) + 1) * pooling_state(op->D);
}

static int keys_from(const Walk *x, int t0)
{
    return max(0, min(TILE, x->n - t0));
}

static int rows_from(const Walk *x, int t0)
{
    return min(TILE, x->op->T - t0);
}

/* Numbers in the W of a head, if there is one. */
static size_t matrix_size(Interaction how, int D)
{
    return how == CONCAT ? 2 * (size_t)D * (size_t)D : 0;
}

/* The keys of the chunk at t0, where they lie. */
static Rows keys_at(const Walk *x, int t0, const Tensor *of)
{
    int D = x->op->D;

    return (Rows){ of->data + head_place(&x->head, t0, D), x->op->H * D, t0, keys_from(x, t0) };
}

static Rows part(Rows from, int t0, int n)
{
    return (Rows){ from.at, from.ld, t0, n };
}

/* p of the chunk's keys. */
static void interact(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    Rows k = keys_at(x, t0, op->in.k);
    bool add = op->how == ADD;

    if (op->how == CONCAT) {
        head_gather(&x->head, part(x->k, t0, k.n), op->in.k->data, op->D);
        rows_multiply(x->p, (Rows){ x->g.rows, x->g.ld, t0, TILE }, op->D, x->transposed[0], false);
        rows_multiply(x->p, x->k, op->D, x->transposed[1], true);
        return;
    }
    for (int r = 0; r < k.n; r++) {
        const real *restrict g = row_of(x->g.rows, r, x->g.ld);
        const real *restrict kr = row_of(k.at, r, k.ld);
        real *restrict p = row_of(x->p.at, r, x->p.ld);

        head_ask(&x->head, t0 + r, op->in.k->data, op->D);
        for (int d = 0; d < op->D; d++)
            p[d] = add ? g[d] + kr[d] : g[d] * kr[d];
    }
}

static void pool_queries(Walk *x, int t0)
{
    for (int r = 0; r < keys_from(x, t0); r++)
        head_ask(&x->head, t0 + r, x->op->in.q->data, x->op->D);
    pooling_add(&x->g, keys_at(x, t0, x->op->in.q));
}

static void pool_keys(Walk *x, int t0)
{
    interact(x, t0);
    pooling_add(&x->h, part(x->p, t0, keys_from(x, t0)));
}

/* u_i = h_i * v_i */
static void meet(Walk *x, int t0)
{
    const Fastformer *op = x->op;

    for (int r = 0; r < rows_from(x, t0); r++) {
        size_t at = head_place(&x->head, t0 + r, op->D);
        const real *restrict h = row_of(x->h.rows, r, x->h.ld), *restrict v = op->in.v->data + at;
        real *restrict u = op->node.y->data + at;

        head_ask(&x->head, t0 + r, op->in.v->data, op->D);
        for (int d = 0; d < op->D; d++)
            u[d] = h[d] * v[d];
    }
}

static void walk(Walk *x)
{
    int T = x->op->T, span = x->op->in.causal ? TILE : T;

    for (int at = 0; at < T; at += span) {
        int to = min(T, at + span);

        for (int t0 = at; t0 < to; t0 += TILE)
            pool_queries(x, t0);
        if (!x->op->in.causal)
            pooling_settle(&x->g, chunks(x->op));
        for (int t0 = at; t0 < to; t0 += TILE)
            pool_keys(x, t0);
        if (!x->op->in.causal)
            pooling_settle(&x->h, chunks(x->op));
        for (int t0 = at; t0 < to; t0 += TILE)
            meet(x, t0);
    }
}

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

/* Each half of the head's W, transposed too, and room for its gradient. */
static void open_matrix(Walk *x, real **free)
{
    int D = x->op->D, ld = x->k.ld, deep = up_to(D, MR);
    const real *W = x->op->concat->data + (size_t)x->head.h * matrix_size(CONCAT, D);

    for (int half = 0; half < 2; half++) {
        x->W[half] = carve(free, deep, ld), x->dW[half] = carve(free, deep, ld);
        x->transposed[half] = carve(free, deep, ld);
        memset(x->dW[half], 0, (size_t)deep * (size_t)ld * sizeof(real));
        for (int d = 0; d < D; d++)
            memcpy(row_of(x->W[half], d, ld), W + (2 * d + half) * D, (size_t)D * sizeof(real));
        rows_transpose((Rows){ x->W[half], ld, 0, D }, x->transposed[half], ld, D);
    }
}

static Pooling open_pool(const Walk *x, const Tensor *w, real *states, real **free)
{
    int D = x->op->D, ld = up_to(D, NR);
    Pooling pool = { .D = D, .ld = ld, .w = w->data + x->head.h * D, .states = states };

    pool.rows = carve(free, TILE, ld);
    pool.U = memset(carve(free, 1, ld), 0, (size_t)D * sizeof(real));
    pool.blend = (Blend *)(void *)carve(free, 2, TILE);
    return pool;
}

static Walk walk_open(const Fastformer *op, int number)
{
    real *free = pool_scratch();
    Walk x = { .op = op, .head = head_of(&op->in, number) };
    size_t states = own_states(op);
    real *own = op->states + (size_t)number * 2 * states;
    int ld = up_to(op->D, NR);

    x.n = view_of(&op->in, x.head.b).length;
    x.head.ahead = TILE;
    x.g = open_pool(&x, op->pool_q, own, &free);
    x.h = open_pool(&x, op->pool_k, own + states, &free);
    x.k = rows(&free, ld), x.p = rows(&free, ld);
    x.d = rows(&free, ld), x.dk = rows(&free, ld);
    if (matrix_size(op->how, op->D) > 0)
        open_matrix(&x, &free);
    return x;
}

/* What that needs of a thread's scratch. */
static void reserve(const Fastformer *op)
{
    size_t ld = (size_t)up_to(op->D, NR), deep = (size_t)up_to(op->D, MR);
    size_t matrices = matrix_size(op->how, op->D) > 0 ? 6 * deep * ld + MR : 0;

    pool_reserve(op->node.tape->pool, ((6 * TILE + 2) * ld + 4 * TILE + matrices) * sizeof(real));
}

/* Of a sequence that is nothing but padding. */
static void pass_nothing(const Walk *x, Grad to)
{
    memset(x->d.at, 0, (size_t)x->d.ld * sizeof(real));
    for (int t = 0; t < x->op->T; t++)
        grad_add(to, head_place(&x->head, t, x->op->D), x->d.at, x->op->D);
}

static void forward_heads(void *ctx, int begin, int end)
{
    const Fastformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Walk x = walk_open(op, number);

        if (x.n > 0)
            walk(&x);
        else
            pass_nothing(&x, (Grad){ op->node.y->data, false });
    }
}

/* dv of the chunk, and dh. */
static void meet_back(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    int rows = rows_from(x, t0);

    for (int r = 0; r < rows; r++) {
        size_t at = head_place(&x->head, t0 + r, op->D);
        const real *restrict du = op->node.y->grad + at, *restrict v = op->in.v->data + at;
        const real *restrict h = row_of(x->h.rows, r, x->h.ld);
        real *restrict dh = row_of(x->d.at, r, x->d.ld), *restrict dv = x->dk.at;

        head_ask(&x->head, t0 + r, op->node.y->grad, op->D);
        head_ask(&x->head, t0 + r, op->in.v->data, op->D);
        for (int d = 0; d < op->D; d++) {
            dh[d] = du[d] * v[d];
            dv[d] = du[d] * h[d];
        }
        grad_add(op->dv, at, dv, op->D);
    }
    if (!op->in.causal)
        pooling_back(&x->h, part(x->d, t0, rows), (Rows){ 0 });
}

/* From dp of the chunk dg, in the place of p, and dk; and adds to dW. */
static void interact_back(Walk *x, int t0)
{
    const Interaction how = x->op->how;
    Rows g = { x->g.rows, x->g.ld, t0, TILE }, k = keys_at(x, t0, x->op->in.k);
    bool mul = how == MUL;
    int D = x->op->D;

    if (how == CONCAT) {
        rows_multiply(x->p, x->d, D, x->W[0], false);
        rows_multiply(x->dk, x->d, D, x->W[1], false);
        rows_multiply_over(x->dW[0], D, x->d, g, k.n);
        rows_multiply_over(x->dW[1], D, x->d, x->k, k.n);
        return;
    }
    for (int r = 0; r < k.n; r++) {
        const real *restrict gr = row_of(g.at, r, g.ld), *restrict kr = row_of(k.at, r, k.ld);
        const real *restrict dp = row_of(x->d.at, r, x->d.ld);
        real *restrict dg = row_of(x->p.at, r, x->p.ld);
        real *restrict dk = row_of(x->dk.at, r, x->dk.ld);

        for (int d = 0; d < D; d++) {
            dg[d] = mul ? dp[d] * kr[d] : dp[d];
            dk[d] = mul ? dp[d] * gr[d] : dp[d];
        }
    }
}

/* The chunk's keys have that gradient, and its other rows none. */
static void leave(const Walk *x, Grad to, Rows from, int t0)
{
    int keys = keys_from(x, t0);

    memset(row_of(from.at, keys, from.ld), 0,
           (size_t)(TILE - keys) * (size_t)from.ld * sizeof(real));
    head_scatter(&x->head, to, (Rows){ from.at, from.ld, t0, TILE }, x->op->D);
}

/* Where all rows have the same pool, they have all been there before the keys. */
static Rows forget(const Walk *x, Rows rows)
{
    if (!x->op->in.causal)
        memset(rows.at, 0, (size_t)rows.n * (size_t)rows.ld * sizeof(real));
    return rows;
}

static void keys_back(Walk *x, int t0)
{
    int keys = keys_from(x, t0);

    pooling_back(&x->h, forget(x, part(x->d, t0, rows_from(x, t0))), part(x->p, t0, keys));
    interact_back(x, t0);
    leave(x, x->op->dk, x->dk, t0);
    if (!x->op->in.causal)
        pooling_back(&x->g, part(x->p, t0, keys), (Rows){ 0 });
}

static void queries_back(Walk *x, int t0)
{
    Rows q = keys_at(x, t0, x->op->in.q);

    pooling_back(&x->g, forget(x, part(x->p, t0, q.n)), q);
    leave(x, x->op->dq, x->p, t0);
}

static void back_causal(Walk *x)
{
    for (int t0 = (chunks(x->op) - 1) * TILE; t0 >= 0; t0 -= TILE) {
        pool_queries(x, t0);
        pool_keys(x, t0);
        meet_back(x, t0);
        keys_back(x, t0);
        queries_back(x, t0);
    }
}

static void back_bidirectional(Walk *x)
{
    int last = (chunks(x->op) - 1) * TILE;

    pooling_settle(&x->g, chunks(x->op));
    pooling_settle(&x->h, chunks(x->op));
    for (int t0 = last; t0 >= 0; t0 -= TILE)
        meet_back(x, t0);
    for (int t0 = last; t0 >= 0; t0 -= TILE) {
        pool_keys(x, t0);
        keys_back(x, t0);
    }
    for (int t0 = last; t0 >= 0; t0 -= TILE) {
        pool_queries(x, t0);
        queries_back(x, t0);
    }
}

/* Numbers in the parameters of a head. */
static size_t partial_size(const Fastformer *op)
{
    return 2 * (size_t)op->D + matrix_size(op->how, op->D);
}

static void backward_head(const Fastformer *op, int number)
{
    size_t size = partial_size(op);
    Walk x = walk_open(op, number);
    int D = op->D;

    x.head.ahead = -TILE;
    x.g.dw = memset(op->partial + (size_t)number * size, 0, size * sizeof(real));
    x.h.dw = x.g.dw + D;
    if (x.n > 0 && op->in.causal)
        back_causal(&x);
    else if (x.n > 0)
        back_bidirectional(&x);
    for (int i = 0; matrix_size(op->how, op->D) > 0 && i < 2 * D; i++)
        memcpy(x.h.dw + (i + 1) * D, row_of(x.dW[i % 2], i / 2, x.k.ld), (size_t)D * sizeof(real));
    if (x.n > 0)
        return;
    pass_nothing(&x, op->dv);
    pass_nothing(&x, op->dk);
    pass_nothing(&x, op->dq);
}

static void backward_heads(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++)
        backward_head(ctx, number);
}

/* The sums over the batch, in its order. */
static void backward_parameters(const Fastformer *op)
{
    int D = op->D, matrix = (int)matrix_size(op->how, op->D);
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
    op->dw_q = tape_grad(tape, op->pool_q);
    op->dw_k = tape_grad(tape, op->pool_k);
    if (matrix_size(op->how, op->D) > 0)
        op->dW = tape_grad(tape, op->concat);
    op->partial = arena_take(tape->mem, bytes);
    reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, backward_heads, op);
    backward_parameters(op);
    arena_give(tape->mem, op->partial, bytes);
}

static Tensor *fastformer_mix(Tape *tape, const Mix *in)
{
    Fastformer *op = tape_node(tape, sizeof *op, fastformer_backward, 4, in->v->dim);
    const int *q = in->q->dim;

    op->in = *in, op->how = (Interaction)setting(&in->set, "interaction");
    op->pool_q = mix_tensor(in, "pool_q"), op->pool_k = mix_tensor(in, "pool_k");
    op->concat = mix_tensor(in, "concat");
    op->B = q[0], op->T = q[1], op->H = q[2], op->D = q[3];
    op->states = tape_keep(&op->node, (size_t)(op->B * op->H) * 2 * own_states(op) * sizeof(real));
    reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, forward_heads, op);
    return op->node.y;
}

/* In each pool a logit and y: 4 D; and p and u, two products without a sum, for one with. */
static double fastformer_cost(const MixSize *s)
{
    bool concat = setting(&s->set, "interaction") == CONCAT;

    return s->H * (5.0 * s->D + (concat ? 2.0 * s->D * s->D : 0));
}

/* The pools' states. */
static MixMemory fastformer_memory(const MixSize *s)
{
    double states = 1 + (s->T + TILE - 1) / TILE;

    return (MixMemory){ s->H * 2 * states * (double)pooling_state(s->D) / s->T, 0 };
}

static size_t fastformer_state(const MixSize *s)
{
    return 2 * (size_t)s->H * pooling_state(s->D);
}

/* p of one key. */
static void step_interact(const Mix *in, int head, const real *restrict g, const real *restrict k,
                          real *restrict p)
{
    const int how = setting(&in->set, "interaction"), D = in->q->dim[3];
    const Tensor *concat = mix_tensor(in, "concat");
    const real *W = concat ? concat->data + (size_t)head * matrix_size(CONCAT, D) : NULL;

    for (int d = 0; how == CONCAT && d < D; d++, W += 2 * D)
        p[d] = row_dot(W, g, D) + row_dot(W + D, k, D);
    for (int d = 0; how != CONCAT && d < D; d++)
        p[d] = how == ADD ? g[d] + k[d] : g[d] * k[d];
}

/* u = h * v, and zeros where the pool has no key. */
static void step_meet(const Pooling *h, const real *restrict v, real *restrict u)
{
    const real *restrict y = h->y;
    bool empty = *h->l == 0;

    for (int d = 0; d < h->D; d++)
        u[d] = empty ? 0 : y[d] * v[d];
}

/* p is where o will be. */
static void fastformer_step(const Step *s)
{
    const Mix *in = s->in;
    const int D = in->q->dim[3];
    const real *w_q = mix_tensor(in, "pool_q")->data, *w_k = mix_tensor(in, "pool_k")->data;
    const size_t size = pooling_state(D);
    Blend blend;

    for (int head = 0; head < in->q->dim[2]; head++) {
        real *state = s->state + (size_t)head * 2 * size, *o = s->o + head * D;
        Pooling g = { .D = D, .ld = D, .w = w_q + head * D, .blend = &blend };
        Pooling h = { .D = D, .ld = D, .w = w_k + head * D, .blend = &blend };
        Rows q = { in->q->data + head * D, D, s->t, 1 }, p = { o, D, s->t, 1 };

        pooling_at(&g, state);
        pooling_at(&h, state + size);
        if (!s->padding) {
            pooling_add(&g, q);
            step_interact(in, head, g.y, in->k->data + head * D, p.at);
            pooling_add(&h, p);
        }
        step_meet(&h, in->v->data + head * D, o);
    }
}

static const Engine engine = {
    .mix = fastformer_mix,
    .step = fastformer_step,
    .state = fastformer_state,
    .cost = fastformer_cost,
    .memory = fastformer_memory,
};

static const char *const interactions[] = { "mul", "add", "concat", NULL };
static const char *const shares[] = { "qv", "layers", "heads", NULL };

const Attention attention_fastformer = {
    .name = "fastformer",
    .summary = "additive attention: pooled queries and keys, O(n) (arXiv:2108.09084)",
    .layer = "pooled",
    .traits = IS_LINEAR | V_AS_WIDE | SMOOTH,
    .operands =
        (const Operand[]){ { .name = "pool_q", .shape = "Hd", .help = "the pooling vector of q" },
                           { .name = "pool_k", .shape = "Hd", .help = "the pooling vector of p" },
                           { .name = "concat",
                             .shape = "HdD",
                             .help = "the matrices W",
                             .with = "interaction",
                             .is = "concat" },
                           { 0 } },
    .settings = (const Setting[]){ { "interaction", SETTING_CHOICE, .choices = interactions,
                                     .help = "how the pooled q meets k" },
                                   { "share", SETTING_SET, .choices = shares, .layer = true,
                                     .help = "weights to have once: those of q and v, of all "
                                             "layers, pooling vectors of all heads" },
                                   { 0 } },
    .engine = &engine,
    .plain = plain_fastformer,
};
