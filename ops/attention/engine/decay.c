/*
 * The scan of decay.h, chunk by chunk (TILE positions). Inside a chunk let b_t be the sum
 * of g_s over s <= t, C its last position, and S_0 the state that it finds. Unrolled,
 *
 *     L_ts = e^(b_t - b_s) for s <= t, else 0       no exponent is positive
 *     O    = ((Q K^T) * L) V + diag(e^b) Q S_0
 *     S_C  = e^(b_C) S_0 + (diag(e^(b_C - b)) K)^T V
 *
 * where * is element by element. All of it is linear in each of Q, K and V. With G the
 * gradient of O, and R that of S_C, from the chunks to the right,
 *
 *     P   = (G V^T) * L                             the gradient of (Q K^T) * L, times L
 *     dQ  = P K + diag(e^b) G S_0^T
 *     dK  = P^T Q + diag(e^(b_C - b)) V R^T
 *     dV  = ((Q K^T) * L)^T G + diag(e^(b_C - b)) K R
 *     R_0 = e^(b_C) R + Q^T diag(e^b) G             the R of the chunk before
 *
 * A first pass goes forward with S and makes dQ; a second one comes back with R and makes
 * dK and dV. A padded key is zeros here, and its g is 0.
 */
#include "ops/attention/engine/decay.h"

#include "ops/attention/engine/tiles.h"
#include "ops/decoding.h"
#include "ops/kernel/elementary.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    const DecayRule *rule;
    const real *angles; /* (T, D), or NULL */
    Grad dq, dk, dv;
} Decayed;

/* A chunk of a head. */
typedef struct {
    const Decayed *op;
    Head head;
    int T, length, D, E, n; /* D and E of the copies; n: the chunk's keys that are no padding */
    real g, scale;
    Rows q, k, v, go, o, dx; /* go: G; o: also dV; dx: dQ, or dK */
    real *kt, *vt;           /* K and V transposed: (D, TILE), (E, TILE) */
    real *A, *P, *L;         /* (TILE, TILE) */
    real *grown, *left;      /* (TILE): e^b; e^(b_C - b) */
    real *S, *St;            /* S or R, (D, E); transposed, (E, D) */
} Chunk;

static const DecayRule *rule_of(const Attention *a)
{
    return a->rule;
}

static real scale_of(const DecayRule *rule, int D)
{
    return rule->scaled ? 1 / sqrt(R(D)) : 1;
}

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

static size_t scratch(const Decayed *op)
{
    size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);

    return TILE * (4 * D + 4 * E + 3 * TILE + 2) + (size_t)up_to(op->s.D, MR) * E +
           (size_t)up_to(op->s.E, MR) * D + MR; /* MR: the kernel reads that far beyond a column */
}

static Chunk open(const Decayed *op, int number)
{
    real *free = pool_scratch();
    const int deep = up_to(op->s.D, MR), wide = up_to(op->s.E, MR);
    Chunk x = { .op = op, .head = head_of(&op->in, number), .T = op->s.T, .n = -1 };

    x.head.ahead = TILE;
    x.length = view_of(&op->in, x.head.b).length;
    x.D = up_to(op->s.D, NR), x.E = up_to(op->s.E, NR);
    x.g = R(op->rule->log_decay(&op->s, x.head.h)), x.scale = scale_of(op->rule, op->s.D);
    x.q = rows(&free, x.D), x.k = rows(&free, x.D), x.dx = rows(&free, x.D);
    x.v = rows(&free, x.E), x.go = rows(&free, x.E), x.o = rows(&free, x.E);
    x.kt = carve(&free, TILE, x.D), x.vt = carve(&free, TILE, x.E);
    x.A = carve(&free, TILE, TILE), x.P = carve(&free, TILE, TILE), x.L = carve(&free, TILE, TILE);
    x.grown = carve(&free, 1, TILE), x.left = carve(&free, 1, TILE);
    x.S = carve(&free, deep, x.E), x.St = carve(&free, wide, x.D);
    memset(x.S, 0, (size_t)deep * (size_t)x.E * sizeof(real));
    memset(x.St, 0, (size_t)wide * (size_t)x.D * sizeof(real));
    return x;
}

/* L, e^b and e^(b_C - b) of a chunk with n keys: the same in all that have as many. */
static void make_decays(Chunk *x, int n)
{
    if (x->n == n)
        return;
    x->n = n;
    for (int t = 0; t < TILE; t++) {
        real *L = row_of(x->L, t, TILE), b = x->g * R(min(t + 1, n));

        x->grown[t] = exp_real(b);
        x->left[t] = exp_real(x->g * R(n) - b);
        for (int s = 0; s < TILE; s++)
            L[s] = s <= t ? exp_real(b - x->g * R(min(s + 1, n))) : 0;
    }
}

/* Copies of the rows from t0 on, rotated, and times a number. */
static void load(const Chunk *x, Rows *to, int t0, const Tensor *from, real scale)
{
    to->t0 = t0;
    head_gather(&x->head, *to, from->data, x->op->s.D);
    rows_rotate((Rows){ to->at, to->ld, t0, min(TILE, x->T - t0) }, x->op->angles, x->op->s.D,
                false);
    for (int i = 0; scale != 1 && i < TILE * to->ld; i++)
        to->at[i] *= scale;
}

static void clear_rows(Rows x, int from)
{
    memset(row_of(x.at, from, x.ld), 0, (size_t)(TILE - from) * (size_t)x.ld * sizeof(real));
}

/* Zeros where there is padding, which may hold anything. */
static void load_keys(Chunk *x, int t0)
{
    make_decays(x, max(0, min(TILE, x->length - t0)));
    load(x, &x->k, t0, x->op->in.k, 1);
    x->v.t0 = x->o.t0 = x->dx.t0 = t0;
    head_gather(&x->head, x->v, x->op->in.v->data, x->op->s.E);
    clear_rows(x->k, x->n);
    clear_rows(x->v, x->n);
}

static void load_queries(Chunk *x, int t0)
{
    load(x, &x->q, t0, x->op->in.q, x->scale);
}

static void load_gradient(Chunk *x, int t0)
{
    x->go.t0 = t0;
    head_gather(&x->head, x->go, x->op->node.y->grad, x->op->s.E);
}

/* Row t of x times by[t]. */
static void scale_rows(Rows x, const real *by)
{
    for (int t = 0; t < x.n; t++)
        for (int i = 0; i < x.ld; i++)
            row_of(x.at, t, x.ld)[i] *= by[t];
}

static void fade(real *S, int n, real by)
{
    for (int i = 0; i < n; i++)
        S[i] *= by;
}

/* The chunk's own pairs. */
static Tiles pairs(const Chunk *x)
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
                .L = x->L };

    t.view.chunk = TILE;
    t.i0 = t.j0 = x->v.t0;
    return t;
}

/* What the next chunk finds: S = e^(b_C) S + A^T B. */
static void pass_on(const Chunk *x, real *S, int height, Rows A, Rows B)
{
    fade(S, height * B.ld, x->grown[TILE - 1]);
    rows_multiply_over(S, height, A, B, TILE);
}

static void forward_chunk(Chunk *x, int t0)
{
    Tiles t;

    load_keys(x, t0);
    load_queries(x, t0);
    rows_transpose(x->k, x->kt, TILE, x->op->s.D);
    t = pairs(x);
    tiles_forward(&t, t0);
    scale_rows(x->q, x->grown);
    rows_multiply(x->o, x->q, x->op->s.D, x->S, true);
    head_scatter(&x->head, (Grad){ x->op->node.y->data, false }, x->o, x->op->s.E);
    scale_rows(x->k, x->left);
    pass_on(x, x->S, x->op->s.D, x->k, x->v);
}

static void forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = open(ctx, number);

        for (int t0 = 0; t0 < x.T; t0 += TILE)
            forward_chunk(&x, t0);
    }
}

static void put_gradient(const Chunk *x, Grad to, real scale)
{
    const int n = min(TILE, x->T - x->dx.t0);

    rows_rotate((Rows){ x->dx.at, x->D, x->dx.t0, n }, x->op->angles, x->op->s.D, true);
    fade(x->dx.at, n * x->D, scale);
    head_scatter(&x->head, to, x->dx, x->op->s.D);
}

/* dQ; St goes on to the next chunk. */
static void backward_queries(Chunk *x, int t0)
{
    Tiles t;

    load_keys(x, t0);
    load_gradient(x, t0);
    rows_transpose(x->v, x->vt, TILE, x->op->s.E);
    rows_multiply(x->dx, x->go, x->op->s.E, x->St, false);
    scale_rows(x->dx, x->grown);
    t = pairs(x);
    t.dq = x->dx.at;
    tiles_backward(&t, t0);
    put_gradient(x, x->op->dq, x->scale);
    scale_rows(x->v, x->left);
    pass_on(x, x->St, x->op->s.E, x->v, x->k);
}

/* dK and dV; S, which is R here, goes on to the chunk before. */
static void backward_keys(Chunk *x, int t0)
{
    Tiles t;

    load_keys(x, t0);
    load_queries(x, t0);
    load_gradient(x, t0);
    rows_transpose(x->k, x->kt, TILE, x->op->s.D);
    rows_transpose(x->v, x->vt, TILE, x->op->s.E);
    t = pairs(x);
    t.dk = x->dx.at, t.dv = x->o.at;
    tiles_backward(&t, t0);
    rows_transpose((Rows){ x->S, x->E, 0, x->op->s.D }, x->St, x->D, x->op->s.E);
    scale_rows(x->v, x->left);
    rows_multiply(x->dx, x->v, x->op->s.E, x->St, true);
    scale_rows(x->k, x->left);
    rows_multiply(x->o, x->k, x->op->s.D, x->S, true);
    put_gradient(x, x->op->dk, 1);
    head_scatter(&x->head, x->op->dv, x->o, x->op->s.E);
    scale_rows(x->go, x->grown);
    pass_on(x, x->S, x->op->s.D, x->q, x->go);
}

static void backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = open(ctx, number);

        for (int t0 = 0; t0 < x.T; t0 += TILE)
            backward_queries(&x, t0);
        x.head.ahead = -TILE;
        for (int t0 = (x.T - 1) / TILE * TILE; t0 >= 0; t0 -= TILE)
            backward_keys(&x, t0);
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
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static Tensor *decay_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Decayed *op = tape_node(tape, sizeof *op, decay_backward, 4, in->v->dim);

    op->in = *in, op->s = s, op->rule = rule_of(in->attention);
    op->angles = in->rope ? rope_angles(tape, s.T, s.D, in->rope_scale) : NULL;
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* The state of each head is S; in front is room for the angles, q and k of a position. */
static size_t decay_state(const MixSize *s)
{
    return (size_t)s->D * (3 + (size_t)s->H * (size_t)s->E);
}

/* A head at a position. */
typedef struct {
    int D, E;
    real a, *q, *k, *S; /* a is 1 and k zeros where the position is padding */
    const real *v;
} StepHead;

static void step_head(const StepHead *x, real *restrict o)
{
    real *restrict S = x->S;
    const real *restrict v = x->v;

    memset(o, 0, (size_t)x->E * sizeof(real));
    for (int d = 0; d < x->D; d++, S += x->E)
        for (int e = 0; e < x->E; e++) {
            S[e] = x->a * S[e] + x->k[d] * v[e];
            o[e] += x->q[d] * S[e];
        }
}

static void step_load(const Step *s, real *to, const real *from, const real *angles)
{
    const int D = s->in->q->dim[3];

    memcpy(to, from, (size_t)D * sizeof(real));
    if (s->in->rope)
        rope_rotate(to, angles, D, false);
}

static void decay_step(const Step *s)
{
    const Mix *in = s->in;
    const MixSize size = mix_size(in);
    const DecayRule *rule = rule_of(in->attention);
    const int D = size.D, E = size.E;
    real *angles = s->state;
    StepHead x = { .D = D, .E = E, .q = angles + D, .k = angles + 2 * D, .S = angles + 3 * D };

    if (in->rope)
        rope_position(angles, s->t, D, in->rope_scale);
    for (int h = 0; h < size.H; h++, x.S += D * E) {
        x.a = s->padding ? 1 : exp_real(R(rule->log_decay(&size, h)));
        x.v = in->v->data + h * E;
        step_load(s, x.q, in->q->data + h * D, angles);
        step_load(s, x.k, in->k->data + h * D, angles);
        fade(x.q, D, scale_of(rule, D));
        fade(x.k, D, s->padding ? 0 : 1);
        step_head(&x, s->o + h * E);
    }
}

/* q S and the sum of k v^T, and the pairs inside a chunk. */
static double decay_cost(const MixSize *s)
{
    return s->H * (2.0 * s->D * s->E + fmin(0.5 * TILE, s->T) * (s->D + s->E));
}

const Engine engine_decay = {
    .mix = decay_mix,
    .step = decay_step,
    .state = decay_state,
    .cost = decay_cost,
};
