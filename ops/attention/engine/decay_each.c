/*
 * The scan of decay.h with a decay for each feature of the keys, causal only:
 *
 *     S_t = diag(e^(g_t)) S_t-1 + k_t v_t^T       o_t = S_t^T q_t
 *
 * chunk by chunk, in the notation of chunk.h and segments.h, which computes A, the products of
 * pairs. Unrolled, with S_0 the state before the chunk,
 *
 *     O   = A V + (Q * before) S_0
 *     S_C = diag(all) S_0 + (K * after)^T V
 *
 * where * is elementwise, `before` has the rows e^(b_t), `after` the rows e^(b_C - b_t), and `all`
 * is e^(b_C). With G the gradient of O, R that of S_C, and P_ts = G_t.v_s for s <= t, that of A,
 *
 *     dq_t = sum over s of P_ts k_s * e^(b_t - b_s) + before_t * (S_0 G_t)
 *     dk_s = sum over t of P_ts q_t * e^(b_t - b_s) + after_s * (R v_s)
 *     dV   = A^T G + (K * after) R
 *     R_0  = diag(all) R + (Q * before)^T G           the R of the chunk before
 *
 * The S_0 of each chunk is stored for the backward pass, which visits each chunk once, from the
 * last to the first. With B_t the sum of g_s over all s <= t of the sequence, B_td occurs only as a
 * factor e^(B_td) of q_td and e^(-B_td) of k_td, so dB_t = q_t * dq_t - k_t * dk_t, and as g_t is
 * in all B_s with s >= t,
 *
 *     dg_t = sum over s >= t of (q_s * dq_s - k_s * dk_s)
 *
 * P_tt, the pair of a position with itself, is left out of both dq and dk here: it would cancel
 * except for its rounding.
 */
#include "ops/attention/engine/decay.h"

#include "ops/attention/engine/segments.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    Tensor *g;
    States S;
    Grad dq, dk, dv, dg;
} Fading;

/* A chunk of a head. */
typedef struct {
    const Fading *op;
    Head head;
    int T, length, D, E; /* D and E of the copies */
    Segments by;
    Rows q, k, v, go, o;  /* go: G; o: also dV */
    Rows scaled, dx, far; /* q or k by segments; dQ or dK; the part of it from other chunks */
    real *kt, *vt;        /* K by segments and V transposed: (D, TILE), (E, TILE) */
    real *A, *P;          /* (TILE + MR, TILE) */
    real *own;            /* (TILE): P_tt */
    real *S, *St;         /* S or R, (D, E); transposed, (E, D) */
    real *products;       /* (TILE, D): q * dq without P_tt */
    real *sum, *within;   /* (D): sums for dg, of the chunks to the right, and of this */
} Chunk;

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE + MR, ld), ld, 0, TILE };
}

static size_t scratch(const Fading *op)
{
    const size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR), all = TILE + MR;
    const size_t high = (size_t)up_to(op->s.D, MR), wide = (size_t)up_to(op->s.E, MR);

    return all * (5 * D + 3 * E + 2 * TILE) + TILE * (2 * D + E + 1) + segments_room((int)D) +
           high * E + wide * D + 2 * D + MR;
}

static Chunk open(const Fading *op, int number)
{
    real *free = pool_scratch();
    Chunk x = { .op = op, .head = head_of(&op->in, number), .T = op->s.T };

    x.length = view_of(&op->in, x.head.b).length;
    x.D = up_to(op->s.D, NR), x.E = up_to(op->s.E, NR);
    x.q = rows(&free, x.D), x.k = rows(&free, x.D), x.scaled = rows(&free, x.D);
    x.dx = rows(&free, x.D), x.far = rows(&free, x.D);
    x.v = rows(&free, x.E), x.go = rows(&free, x.E), x.o = rows(&free, x.E);
    x.A = carve(&free, TILE + MR, TILE), x.P = carve(&free, TILE + MR, TILE);
    x.kt = carve(&free, TILE, x.D), x.vt = carve(&free, TILE, x.E), x.own = carve(&free, 1, TILE);
    x.by = segments_open(&free, x.D);
    x.S = carve(&free, up_to(op->s.D, MR), x.E), x.St = carve(&free, up_to(op->s.E, MR), x.D);
    x.sum = carve(&free, 1, x.D), x.within = carve(&free, 1, x.D);
    x.products = carve(&free, TILE, x.D);
    return x;
}

/* Every chunk, in one direction, with a state of zeros at first. */
static void sweep(Chunk *x, int direction, void (*visit)(Chunk *x, int t0))
{
    const int last = (x->T - 1) / TILE * TILE;

    x->head.ahead = direction * TILE;
    memset(x->S, 0, (size_t)(up_to(x->op->s.D, MR) * x->E) * sizeof(real));
    memset(x->sum, 0, (size_t)x->D * sizeof(real));
    for (int t0 = 0; t0 <= last; t0 += TILE)
        visit(x, direction > 0 ? t0 : last - t0);
}

static void load(const Chunk *x, Rows *to, int t0, const real *from, int width)
{
    to->t0 = t0;
    head_gather(&x->head, *to, from, width);
}

/* All of a chunk, zeros where there is padding, which may hold anything; and K by segments. */
static void load_chunk(Chunk *x, int t0)
{
    const Mix *in = &x->op->in;
    const int n = max(0, min(TILE, x->length - t0));

    segments_load(&x->by, &x->head, x->op->g, t0, n);
    load(x, &x->q, t0, in->q->data, x->op->s.D);
    load(x, &x->k, t0, in->k->data, x->op->s.D);
    load(x, &x->v, t0, in->v->data, x->op->s.E);
    rows_clear(x->k, n);
    rows_clear(x->v, n);
    x->o.t0 = x->dx.t0 = x->far.t0 = t0;
}

/* x times the factors, as a copy. */
static Rows scaled(const Chunk *x, Rows of, const real *by)
{
    memcpy(x->scaled.at, of.at, (size_t)(TILE * of.ld) * sizeof(real));
    rows_times(x->scaled, by, TILE);
    return x->scaled;
}

/* A, from kt, which changes. */
static void make_scores(Chunk *x)
{
    segments_scores(&x->by, x->A, scaled(x, x->q, x->by.row), x->kt);
}

/* o = A V: no row meets a value after it, which may not be finite. */
static void multiply_values(const Chunk *x)
{
    for (int i = 0; i < TILE; i += MR) {
        for (int e = 0; e < x->E; e += NR)
            kernel(row_of(x->o.at, i, x->E) + e, x->E,
                   &(Factors){ row_of(x->A, i, TILE), TILE, 1, x->v.at + e, x->E, i + 1 }, false);
        for (int r = 1; r < MR; r++)
            for (int j = i + 1; j <= i + r; j++) {
                const real *restrict v = row_of(x->v.at, j, x->E), a = row_of(x->A, i + r, TILE)[j];
                real *restrict o = row_of(x->o.at, i + r, x->E);

                for (int e = 0; e < x->E; e++)
                    o[e] += a * v[e];
            }
    }
}

static void forward_chunk(Chunk *x, int t0)
{
    const int D = x->op->s.D;

    load_chunk(x, t0);
    states_put(&x->op->S, &x->head, t0, x->S);
    rows_transpose(scaled(x, x->k, x->by.key), x->kt, TILE, x->D);
    make_scores(x);
    multiply_values(x);
    rows_times(x->q, x->by.before, TILE);
    rows_multiply(x->o, x->q, D, x->S, true);
    head_scatter(&x->head, (Grad){ x->op->node.y->data, false }, x->o, x->op->s.E);
    rows_times(x->k, x->by.after, TILE);
    state_pass_each(x->S, D, x->by.all, x->k, x->v);
}

static void forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = open(ctx, number);

        sweep(&x, 1, forward_chunk);
    }
}

/* P, with zeros for s >= t, and P_tt apart. */
static void make_gradients(Chunk *x)
{
    load(x, &x->go, x->q.t0, x->op->node.y->grad, x->op->s.E);
    rows_transpose(x->v, x->vt, TILE, x->E);
    for (int i = 0; i < TILE; i += MR)
        for (int j = 0; j < i + MR; j += NR)
            kernel(row_of(x->P, i, TILE) + j, TILE,
                   &(Factors){ row_of(x->go.at, i, x->E), x->E, 1, x->vt + j, TILE, x->op->s.E },
                   false);
    for (int t = 0; t < TILE; t++) {
        x->own[t] = row_of(x->P, t, TILE)[t];
        memset(row_of(x->P, t, TILE) + t, 0, (size_t)(TILE - t) * sizeof(real));
    }
}

/* dx += the part from a state, S_0 or R, of the rows `of`, by factors. */
static void add_far(const Chunk *x, real *S, Rows of, const real *by)
{
    rows_transpose((Rows){ S, x->E, 0, x->op->s.D }, x->St, x->D, x->op->s.E);
    rows_multiply(x->far, of, x->op->s.E, x->St, false);
    rows_times(x->far, by, TILE);
    for (int i = 0; i < TILE * x->D; i++)
        x->dx.at[i] += x->far.at[i];
}

/* dx += diag(P_tt) of the others, and out with it. */
static void put_gradient(const Chunk *x, Grad to, Rows others)
{
    for (int t = 0; t < TILE; t++)
        for (int d = 0; d < x->D; d++)
            row_of(x->dx.at, t, x->D)[d] += x->own[t] * row_of(others.at, t, x->D)[d];
    head_scatter(&x->head, to, x->dx, x->op->s.D);
}

/* dQ; `scaled` is k by segments, and changes. */
static void put_dq(Chunk *x, int t0)
{
    segments_rows(&x->by, x->dx, x->P, x->scaled);
    add_far(x, states_of(&x->op->S, &x->head, t0), x->go, x->by.before);
    for (int i = 0; i < TILE * x->D; i++)
        x->products[i] = x->q.at[i] * x->dx.at[i];
    put_gradient(x, x->op->dq, x->k);
}

/* dg, in `far`, from dK without P_tt. */
static void put_dg(Chunk *x)
{
    const int D = x->D;

    memset(x->within, 0, (size_t)D * sizeof(real));
    for (int t = TILE - 1; t >= 0; t--) {
        const real *qdq = row_of(x->products, t, D), *k = row_of(x->k.at, t, D);
        real *dg = row_of(x->far.at, t, D), *dk = row_of(x->dx.at, t, D);

        for (int d = 0; d < D; d++) {
            x->within[d] += qdq[d] - k[d] * dk[d];
            dg[d] = x->sum[d] + x->within[d];
        }
    }
    for (int d = 0; d < D; d++)
        x->sum[d] += x->within[d];
    rows_clear(x->far, x->by.n);
    head_scatter(&x->head, x->op->dg, x->far, x->op->s.D);
}

/* dV = A^T G, for a chunk's own pairs. */
static void gather_values(const Chunk *x)
{
    for (int j = 0; j < TILE; j += MR)
        for (int e = 0; e < x->E; e += NR)
            kernel(row_of(x->o.at, j, x->E) + e, x->E,
                   &(Factors){ row_of(x->A, j, TILE) + j, 1, TILE, row_of(x->go.at, j, x->E) + e,
                               x->E, TILE - j },
                   false);
}

/* dK and dg; `scaled` is q by segments. S is R in the backward pass. */
static void put_dk(Chunk *x)
{
    segments_keys(&x->by, x->dx, x->P, x->scaled);
    add_far(x, x->S, x->v, x->by.after);
    put_dg(x);
    put_gradient(x, x->op->dk, x->q);
}

static void put_dv(Chunk *x)
{
    gather_values(x);
    rows_multiply(x->o, scaled(x, x->k, x->by.after), x->op->s.D, x->S, true);
    head_scatter(&x->head, x->op->dv, x->o, x->op->s.E);
}

static void backward_chunk(Chunk *x, int t0)
{
    load_chunk(x, t0);
    make_gradients(x);
    rows_transpose(scaled(x, x->k, x->by.key), x->kt, TILE, x->D);
    put_dq(x, t0);
    make_scores(x);
    put_dk(x);
    put_dv(x);
    rows_times(x->q, x->by.before, TILE);
    state_pass_each(x->S, x->op->s.D, x->by.all, x->q, x->go);
}

static void backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = open(ctx, number);

        sweep(&x, -1, backward_chunk);
    }
}

static void fading_backward(Node *node)
{
    Fading *op = (Fading *)node;
    Tape *tape = node->tape;

    /* in the order in which they are written: one tensor may be all three */
    op->dq = tape_grad(tape, op->in.q);
    op->dk = tape_grad(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    op->dg = tape_grad(tape, op->g);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static Tensor *fading_mix(Tape *tape, const Mix *in)
{
    Fading *op = tape_node(tape, sizeof *op, fading_backward, 4, in->v->dim);

    op->in = *in, op->s = mix_size(in), op->g = mix_tensor(in, "ga");
    op->S = states_keep(&op->node, in, state_size(op->s.D, op->s.E));
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * op->s.H, 1, forward, op);
    return op->node.y;
}

/* q S and the sum of k v^T, and the pairs inside a chunk. */
static double fading_cost(const MixSize *s)
{
    return s->H * (2.0 * s->D * s->E + 0.5 * fmin(TILE, s->T) * (s->D + s->E));
}

/* The states between chunks. */
static MixMemory fading_memory(const MixSize *s)
{
    return (MixMemory){ .kept = states_cost(s, state_size(s->D, s->E)) };
}

const Engine engine_decay_each = {
    .mix = fading_mix,
    .step = decay_step,
    .state = decay_state,
    .cost = fading_cost,
    .memory = fading_memory,
};
