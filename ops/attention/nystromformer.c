/*
 * Nystromformer (Xiong et al., 2021, arXiv:2102.03902): exact attention approximated by m
 * landmarks, the means of segments of q and of k (after Nystrom's method),
 *
 *     O  = softmax(Q K~^T / sqrt(D)) Z B V       Z = A^+, B = softmax(Q~ K^T / sqrt(D))
 *     A  = softmax(Q~ K~^T / sqrt(D))            A^+ by six steps of an iteration: pinv.c
 *     q~_r, k~_r = means over segment r          floor(r n / m) .. floor((r + 1) n / m) - 1
 *
 * with n the sequence's own length: padding is in no segment, and in no column of B. If n <= m,
 * every position is a landmark, and n takes the place of m. Rows in the padding are computed like
 * others, from their own q. Q~ and K~ contain sums over all positions, so there is no causal form.
 * (The paper adds a convolution of v, which is left out here.)
 *
 * Evaluated from right to left, all products are thin: W = B V and Y = Z W are (m, E), so the cost
 * is linear in n. B V and the product with the softmax of Q are computed by cross.h, with m rows or
 * m keys. Backward, O is exact attention (tiles.c) of rows Q to keys K~ and values Y, which gives
 * dQ, dK~ and dY. W is exact attention of rows Q~ to keys K and values V, which gives dQ~, dK and
 * dV from dW. pinv.c has dA from dZ. A, the softmax of scores S, adds to dQ~ and dK~:
 *
 *     dZ  = dY W^T                   dW  = Z^T dY
 *     dS_ij = A_ij (dA_ij - sum over l of A_il dA_il)
 *     dQ~ += dS K~ / sqrt(D)         dK~ += dS^T Q~ / sqrt(D)
 *
 * and last the means: for i and j in segment r, of |r| positions,
 *
 *     dq_i += dq~_r / |r|            dk_j += dk~_r / |r|
 *
 * Plain twin: plain/nystromformer.c.
 */
#include "ops/attention/engine/cross.h"
#include "ops/attention/engine/pinv.h"
#include "ops/attention/engine/settings.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    int m;         /* landmarks at most */
    RowState *row; /* (B, H, T), of the rows of Q */
    Grad dq, dk, dv;
} Nystrom;

/* A head, and the scratch memory of its thread; q and its landmarks are divided by sqrt(D). */
typedef struct {
    const Nystrom *op;
    Head head;
    int length, m;
    real by;
    Rows q, k, v, o, g, dq, dk, dv;      /* tiles of positions */
    Rows lq, lk, ldq, ldk, W, Y, dW, dY; /* of landmarks: Q~, K~ */
    RowState *row, *landmark;
    real *lkt, *Wt; /* K~ and W transposed */
    Pinv pinv;
    Cross cross;
} Work;

static size_t scratch(const Nystrom *op)
{
    const size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);
    const size_t m = (size_t)up_to(op->m, MR);

    return (TILE + m) * 4 * (D + E) + pinv_scratch(op->m) + cross_scratch(op->s.D, op->s.E) +
           m * (sizeof(RowState) / sizeof(real)) + (D + E) * (size_t)up_to(op->m, NR);
}

/* n rows, with room for this many. */
static Rows rows(real **free, int n, int room, int ld)
{
    return (Rows){ carve(free, room, ld), ld, 0, n };
}

static void open_landmarks(Work *w, real **free)
{
    const int D = up_to(w->op->s.D, NR), E = up_to(w->op->s.E, NR), m = w->m;
    const int room = up_to(w->op->m, MR);

    w->lq = rows(free, m, room, D), w->lk = rows(free, m, room, D);
    w->ldq = rows(free, m, room, D), w->ldk = rows(free, m, room, D);
    w->W = rows(free, m, room, E), w->Y = rows(free, m, room, E);
    w->dW = rows(free, m, room, E), w->dY = rows(free, m, room, E);
    w->landmark = (RowState *)carve(free, room, sizeof(RowState) / sizeof(real));
    w->lkt = carve(free, D, up_to(w->op->m, NR));
    w->Wt = carve(free, E, up_to(w->op->m, NR));
    w->pinv = pinv_carve(max(m, 1), free);
}

static Work open(const Nystrom *op, int number)
{
    const int D = up_to(op->s.D, NR), E = up_to(op->s.E, NR);
    real *free = pool_scratch();
    Work w = { .op = op, .head = head_of(&op->in, number), .by = 1 / sqrt(R(op->s.D)) };

    w.length = view_of(&op->in, w.head.b).length;
    w.m = min(op->m, w.length);
    w.q = rows(&free, TILE, TILE, D), w.k = rows(&free, TILE, TILE, D);
    w.dq = rows(&free, TILE, TILE, D), w.dk = rows(&free, TILE, TILE, D);
    w.v = rows(&free, TILE, TILE, E), w.o = rows(&free, TILE, TILE, E);
    w.g = rows(&free, TILE, TILE, E), w.dv = rows(&free, TILE, TILE, E);
    w.row = op->row + (size_t)number * (size_t)op->s.T;
    w.cross = (Cross){ .D = op->s.D, .E = op->s.E };
    cross_carve(&w.cross, &free);
    open_landmarks(&w, &free);
    return w;
}

/* The first position of segment r; that of segment m is n. */
static int segment(const Work *w, int r)
{
    return (int)((int64_t)r * w->length / w->m);
}

static void clear(Rows x)
{
    memset(x.at, 0, (size_t)x.n * (size_t)x.ld * sizeof(real));
}

/* The n rows of a tensor from t0 on. */
static void load(const Work *w, Rows *to, int t0, int n, const real *from, int width)
{
    to->t0 = t0, to->n = n;
    head_gather(&w->head, *to, from, width);
}

/* Means over the segments, times a number. */
static void average(Work *w, Rows to, const real *from, real by)
{
    int r = 0;

    clear(to);
    for (int t0 = 0; t0 < w->length; t0 += TILE) {
        load(w, &w->q, t0, min(TILE, w->length - t0), from, w->op->s.D);
        for (int t = 0; t < w->q.n; t++) {
            const real *x = row_of(w->q.at, t, w->q.ld);

            r += t0 + t == segment(w, r + 1);
            for (int d = 0; d < w->op->s.D; d++)
                row_of(to.at, r, to.ld)[d] += x[d];
        }
    }
    for (r = 0; r < w->m; r++)
        cross_scale((Rows){ row_of(to.at, r, to.ld), to.ld, 0, 1 }, w->op->s.D,
                    by / R(segment(w, r + 1) - segment(w, r)));
}

/* The rows of a tile, against the landmarks of k with the values Y. */
static Cross rows_cross(const Work *w)
{
    Cross x = w->cross;

    x.q = w->q, x.o = w->o, x.k = w->lk, x.v = w->Y, x.row = w->row + w->q.t0;
    x.g = w->g, x.dq = w->dq, x.dk = w->ldk, x.dv = w->dY;
    return x;
}

/* The landmarks of q, against a tile of keys. */
static Cross landmarks_cross(const Work *w)
{
    Cross x = w->cross;

    x.q = w->lq, x.o = w->W, x.k = w->k, x.v = w->v, x.row = w->landmark;
    x.g = w->dW, x.dq = w->ldq, x.dk = w->dk, x.dv = w->dv;
    return x;
}

/* A = softmax(Q~ K~^T), and Z. */
static void weigh_landmarks(Work *w)
{
    Pinv *p = &w->pinv;

    rows_transpose(w->lk, w->lkt, p->ld, w->op->s.D);
    rows_multiply((Rows){ p->A, p->ld, 0, up_to(w->m, MR) }, w->lq, w->op->s.D, w->lkt, false);
    pinv_forward(p);
}

static void load_keys(Work *w, int t0)
{
    const int n = min(TILE, w->length - t0);

    load(w, &w->k, t0, n, w->op->in.k->data, w->op->s.D);
    load(w, &w->v, t0, n, w->op->in.v->data, w->op->s.E);
}

/* Everything that has m rows: Q~, K~, A, Z, W and Y. */
static void find_landmarks(Work *w)
{
    average(w, w->lq, w->op->in.q->data, w->by);
    average(w, w->lk, w->op->in.k->data, 1);
    weigh_landmarks(w);
    Cross x = landmarks_cross(w);
    cross_start(&x);
    for (int t0 = 0; t0 < w->length; t0 += TILE) {
        load_keys(w, t0);
        x = landmarks_cross(w);
        cross_add(&x);
    }
    cross_finish(&x);
    rows_multiply((Rows){ w->Y.at, w->Y.ld, 0, up_to(w->m, MR) },
                  (Rows){ w->pinv.Z[PINV_STEPS], w->pinv.ld, 0, w->m }, w->m, w->W.at, false);
}

static void load_queries(Work *w, int t0)
{
    const int n = min(TILE, w->op->s.T - t0);

    load(w, &w->q, t0, n, w->op->in.q->data, w->op->s.D);
    cross_scale(w->q, w->op->s.D, w->by);
    w->o.t0 = w->g.t0 = w->dq.t0 = t0;
    w->o.n = w->g.n = w->dq.n = n;
}

static void forward_head(Work *w)
{
    const Nystrom *op = w->op;

    if (w->m > 0)
        find_landmarks(w);
    for (int t0 = 0; t0 < op->s.T; t0 += TILE) {
        load_queries(w, t0);
        const Cross x = rows_cross(w);
        cross_start(&x);
        cross_add(&x);
        cross_finish(&x);
        head_scatter(&w->head, (Grad){ op->node.y->data, false }, w->o, op->s.E);
    }
}

static void forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Work w = open(ctx, number);

        forward_head(&w);
    }
}

/* dQ, without what goes through Q~; dK~ and dY. */
static void backward_rows(Work *w)
{
    const Nystrom *op = w->op;

    clear(w->ldk);
    clear(w->dY);
    for (int t0 = 0; t0 < op->s.T; t0 += TILE) {
        load_queries(w, t0);
        load(w, &w->o, t0, w->q.n, op->node.y->data, op->s.E);
        load(w, &w->g, t0, w->q.n, op->node.y->grad, op->s.E);
        clear(w->dq);
        const Cross x = rows_cross(w);
        cross_delta(&x);
        cross_backward(&x);
        cross_scale(w->dq, op->s.D, w->by);
        head_scatter(&w->head, op->dq, w->dq, op->s.D);
    }
}

/* dW; dZ, and through it and A, dQ~ and dK~. */
static void backward_landmarks(Work *w)
{
    Pinv *p = &w->pinv;
    const int E = w->op->s.E;
    const Rows Z = { p->Z[PINV_STEPS], p->ld, 0, w->m }, dS = { p->dS, p->ld, 0, w->m };

    rows_transpose(w->W, w->Wt, p->ld, E);
    rows_multiply((Rows){ p->dZ, p->ld, 0, up_to(w->m, MR) }, w->dY, E, w->Wt, false);
    clear(w->dW);
    rows_multiply_over(w->dW.at, w->m, Z, w->dY, w->m);
    pinv_backward(p);
    rows_multiply((Rows){ w->ldq.at, w->ldq.ld, 0, up_to(w->m, MR) }, dS, w->m, w->lk.at, false);
    rows_multiply_over(w->ldk.at, w->m, dS, w->lq, w->m);
}

/* x_i += dx_r / size of r, for positions of a tile in segment r. */
static void spread(const Work *w, Rows x, Rows dx, real by)
{
    for (int t = 0, r = 0; t < x.n && x.t0 + t < w->length; t++) {
        while (x.t0 + t >= segment(w, r + 1))
            r++;
        const real share = by / R(segment(w, r + 1) - segment(w, r));

        for (int d = 0; d < w->op->s.D; d++)
            row_of(x.at, t, x.ld)[d] += share * row_of(dx.at, r, dx.ld)[d];
    }
}

/* dK and dV of a tile, zeros at padding; adds to dQ~. */
static void backward_keys(Work *w, int t0)
{
    const Nystrom *op = w->op;

    w->dk.t0 = w->dv.t0 = t0, w->dk.n = w->dv.n = min(TILE, op->s.T - t0);
    clear(w->dk);
    clear(w->dv);
    if (t0 < w->length) {
        load_keys(w, t0);
        const Cross x = landmarks_cross(w);
        cross_backward(&x);
        spread(w, w->dk, w->ldk, 1);
    }
    head_scatter(&w->head, op->dk, w->dk, op->s.D);
    head_scatter(&w->head, op->dv, w->dv, op->s.E);
}

/* Adds what goes through Q~ to dQ. */
static void backward_means(Work *w)
{
    for (int t0 = 0; t0 < w->length; t0 += TILE) {
        w->dq.t0 = t0, w->dq.n = min(TILE, w->length - t0);
        clear(w->dq);
        spread(w, w->dq, w->ldq, w->by);
        head_scatter(&w->head, (Grad){ w->op->dq.at, true }, w->dq, w->op->s.D);
    }
}

static void backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Work w = open(ctx, number);

        if (w.m > 0)
            find_landmarks(&w);
        backward_rows(&w);
        if (w.m > 0) {
            backward_landmarks(&w);
            const Cross x = landmarks_cross(&w);
            cross_delta(&x);
        }
        for (int t0 = 0; t0 < w.op->s.T; t0 += TILE)
            backward_keys(&w, t0);
        backward_means(&w);
    }
}

static void nystrom_backward(Node *node)
{
    Nystrom *op = (Nystrom *)node;

    /* in the order in which they are first written: one tensor may be all three */
    op->dq = tape_grad(node->tape, op->in.q);
    op->dk = tape_grad(node->tape, op->in.k);
    op->dv = tape_grad(node->tape, op->in.v);
    pool_reserve(node->tape->pool, scratch(op) * sizeof(real));
    pool_for(node->tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static int landmarks(const MixSize *s)
{
    return min(setting_or_zero(&s->set, "landmarks"), s->T);
}

static Tensor *nystrom_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Nystrom *op = tape_node(tape, sizeof *op, nystrom_backward, 4, in->v->dim);

    op->in = *in, op->s = s, op->m = landmarks(&s);
    op->row = tape_keep(&op->node, (size_t)(in->q->dim[0] * s.H) * (size_t)s.T * sizeof *op->row);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* The scores and values of m rows and of m keys; the iteration. */
static double nystrom_cost(const MixSize *s)
{
    const double m = landmarks(s);

    return s->H * (2 * m * (s->D + s->E) + (4 * PINV_STEPS * m * m + m * (s->D + s->E)) * m / s->T);
}

/* The state of a row. */
static MixMemory nystrom_memory(const MixSize *s)
{
    return (MixMemory){ s->H * (double)(sizeof(RowState) / sizeof(real)), 0 };
}

static const Engine engine = {
    .mix = nystrom_mix,
    .cost = nystrom_cost,
    .memory = nystrom_memory,
    .rank = landmarks,
};

const Attention attention_nystromformer = {
    .name = "nystromformer",
    .summary = "softmax approximated via m landmarks, O(n) (arXiv:2102.03902)",
    .traits = BIDIRECTIONAL_ONLY | HAS_MATRIX | IS_LINEAR | PLACED | SMOOTH | ALONE_FIXED,
    .settings =
        (const Setting[]){
            { .name = "landmarks",
              .most = 1 << 14,
              .zero = 64,
              .tries = { 3, 5, 101 },
              .help = "number of landmarks, each the mean of a segment of q or k (0: 64)" },
            SETTINGS_OF_HEADS,
            { 0 } },
    .engine = &engine,
    .plain = plain_nystromformer,
};
