#include "ops/attention/engine/walk.h"

#include <string.h>

int walk_chunks(const Fastformer *op)
{
    return (op->T + TILE - 1) / TILE;
}

/* The size of the states of a pool, in numbers. */
size_t walk_states(const Fastformer *op)
{
    return (size_t)(walk_chunks(op) + 1) * pooling_state(op->D);
}

int walk_keys_from(const Walk *x, int t0)
{
    return max(0, min(TILE, x->n - t0));
}

int walk_rows_from(const Walk *x, int t0)
{
    return min(TILE, x->op->T - t0);
}

size_t walk_matrix_size(int D)
{
    return 2 * (size_t)D * (size_t)D;
}

/* The keys of the chunk at t0, in place. */
Rows walk_keys_at(const Walk *x, int t0, const Tensor *of)
{
    int D = x->op->D;

    return (Rows){ of->data + head_place(&x->head, t0, D), x->op->H * D, t0,
                   walk_keys_from(x, t0) };
}

Rows walk_part(Rows from, int t0, int n)
{
    return (Rows){ from.at, from.ld, t0, n };
}

/* to = W [y; from], for the rows y of a pool. */
static void join(const Walk *x, const Halves *of, const Pooling *y, Rows from, Rows to)
{
    rows_multiply(to, (Rows){ y->rows, y->ld, 0, TILE }, x->op->D, of->transposed[0], false);
    rows_multiply(to, from, x->op->D, of->transposed[1], true);
}

/* Computes p of the chunk's keys. */
static void interact(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    Rows k = walk_keys_at(x, t0, op->in.k);
    bool add = op->how[0] == ADD;

    if (op->how[0] == CONCAT) {
        head_gather(&x->head, walk_part(x->k, t0, k.n), op->in.k->data, op->D);
        join(x, &x->of[0], &x->g, x->k, x->p);
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

void walk_pool_queries(Walk *x, int t0)
{
    for (int r = 0; r < walk_keys_from(x, t0); r++)
        head_ask(&x->head, t0 + r, x->op->in.q->data, x->op->D);
    pooling_add(&x->g, walk_keys_at(x, t0, x->op->in.q));
}

void walk_pool_keys(Walk *x, int t0)
{
    interact(x, t0);
    pooling_add(&x->h, walk_part(x->p, t0, walk_keys_from(x, t0)));
}

/* o_i = h_i * v_i, h_i + v_i or W' [h_i; v_i] */
static void meet(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    bool add = op->how[1] == ADD;

    if (op->how[1] == CONCAT) {
        head_gather(&x->head, walk_part(x->v, t0, TILE), op->in.v->data, op->D);
        join(x, &x->of[1], &x->h, x->v, x->u);
        head_scatter(&x->head, (Grad){ op->node.y->data, false }, walk_part(x->u, t0, TILE), op->D);
        return;
    }
    for (int r = 0; r < walk_rows_from(x, t0); r++) {
        size_t at = head_place(&x->head, t0 + r, op->D);
        const real *restrict h = row_of(x->h.rows, r, x->h.ld), *restrict v = op->in.v->data + at;
        real *restrict u = op->node.y->data + at;

        head_ask(&x->head, t0 + r, op->in.v->data, op->D);
        for (int d = 0; d < op->D; d++)
            u[d] = add ? h[d] + v[d] : h[d] * v[d];
    }
}

static void walk(Walk *x)
{
    int T = x->op->T, span = x->op->in.causal ? TILE : T;

    for (int at = 0; at < T; at += span) {
        int to = min(T, at + span);

        for (int t0 = at; t0 < to; t0 += TILE)
            walk_pool_queries(x, t0);
        if (!x->op->in.causal)
            pooling_settle(&x->g, walk_chunks(x->op));
        for (int t0 = at; t0 < to; t0 += TILE)
            walk_pool_keys(x, t0);
        if (!x->op->in.causal)
            pooling_settle(&x->h, walk_chunks(x->op));
        for (int t0 = at; t0 < to; t0 += TILE)
            meet(x, t0);
    }
}

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

/* Loads both halves of the head's W, or W', and their transposes, and takes memory for dW. */
static Halves open_matrix(const Walk *x, const Tensor *matrix, real **free)
{
    int D = x->op->D, ld = x->k.ld, deep = up_to(D, MR);
    const real *W = matrix->data + (size_t)x->head.h * walk_matrix_size(D);
    Halves of;

    for (int half = 0; half < 2; half++) {
        of.W[half] = carve(free, deep, ld), of.dW[half] = carve(free, deep, ld);
        of.transposed[half] = carve(free, deep, ld);
        memset(of.dW[half], 0, (size_t)deep * (size_t)ld * sizeof(real));
        for (int d = 0; d < D; d++)
            memcpy(row_of(of.W[half], d, ld), W + (2 * d + half) * D, (size_t)D * sizeof(real));
        rows_transpose((Rows){ of.W[half], ld, 0, D }, of.transposed[half], ld, D);
    }
    return of;
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

Walk walk_open(const Fastformer *op, int number)
{
    real *free = pool_scratch();
    Walk x = { .op = op, .head = head_of(&op->in, number) };
    size_t states = walk_states(op);
    real *own = op->states + (size_t)number * 2 * states;
    int ld = up_to(op->D, NR);

    x.n = view_of(&op->in, x.head.b).length;
    x.head.ahead = TILE;
    x.g = open_pool(&x, op->pool_q, own, &free);
    x.h = open_pool(&x, op->pool_k, own + states, &free);
    x.k = rows(&free, ld), x.p = rows(&free, ld);
    x.d = rows(&free, ld), x.dk = rows(&free, ld);
    x.v = rows(&free, ld), x.u = rows(&free, ld);
    for (int i = 0; i < 2; i++)
        if (op->matrix[i])
            x.of[i] = open_matrix(&x, op->matrix[i], &free);
    return x;
}

/* Reserves a thread's scratch memory for walk_open(). */
void walk_reserve(const Fastformer *op)
{
    size_t ld = (size_t)up_to(op->D, NR), deep = (size_t)up_to(op->D, MR);
    size_t matrices = op->matrix[0] ? 12 * deep * ld + MR : 0;

    pool_reserve(op->node.tape->pool, ((8 * TILE + 2) * ld + 4 * TILE + matrices) * sizeof(real));
}

/* For a sequence that is all padding. */
void walk_pass_nothing(const Walk *x, Grad to)
{
    memset(x->d.at, 0, (size_t)x->d.ld * sizeof(real));
    for (int t = 0; t < x->op->T; t++)
        grad_add(to, head_place(&x->head, t, x->op->D), x->d.at, x->op->D);
}

void walk_forward(void *ctx, int begin, int end)
{
    const Fastformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Walk x = walk_open(op, number);

        if (x.n > 0)
            walk(&x);
        else
            walk_pass_nothing(&x, (Grad){ op->node.y->data, false });
    }
}
