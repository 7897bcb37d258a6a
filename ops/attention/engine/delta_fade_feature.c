/*
 * A decay for each feature: c_t, the sum of g_s over s <= t, is a row of D numbers, and a pair is
 *
 *     A_ts = sum over d of a_td x_sd e^(c_td - c_sd)
 *
 * The exponential can be divided between a_t and x_s, but e^(-c_s) may overflow. So a chunk is cut
 * into blocks of SUB positions. If r is c before the block of t, and s lies in an earlier block,
 * then c_s >= r >= c_t, and
 *
 *     A_ts = (a_t * e^(c_t - r)) . (x_s * e^(r - c_s))
 *
 * where both exponentials are at most 1. From one block to the next, the second only decays, by the
 * decay of a block. For pairs within a block, the rows x_s decay from position to position.
 *
 * a_t reads the state with or without the decay of position t itself (with c_t, or with c_t-1 in
 * its place); both are needed, see `own`.
 *
 * The backward pass goes over the same blocks, and multiplies the gradient of a row by the factor
 * of the row. dx_s is accumulated from the end of the chunk, starting with the gradient of x_s in
 * S_C, and decays from block to block as x_s did. By the argument of delta_fade.c, for each feature
 * d,
 *
 *     dg_td = sum over s >= t of (q_sd dq_sd + a_sd da_sd - x_sd dx_sd)
 *             + sum over e of S_C,de R_de
 *
 * where a_t is in the sum for dg_t only if it decays with w_t itself.
 */
#include "ops/attention/engine/delta_chunk.h"
#include "ops/attention/engine/vector.h"
#include "ops/kernel/elementary.h"

#include <string.h>

#ifdef PROOF
enum { SUB = 2 };
#else
enum { SUB = 12 };
#endif
_Static_assert(SUB % MR == 0 && TILE % SUB == 0 && SUB <= (int)SUMS, "blocks have no edges");
enum { BLOCKS = TILE / SUB };

typedef struct {
    real *w, *in, *out; /* (TILE, D): e^g; from the block's start to t-1, and from s+1 to its end */
    real *start, *full; /* (BLOCKS + 1, D) up to the block's start; (BLOCKS, D) within it */
    real *near;         /* (D, SUMS): x_s of a block, decayed so far */
    real *q, *a;        /* (SUB, D): decayed since the block's start */
    real *x;            /* (TILE, D): x decayed up to a block */
} Room;

static size_t room(int D)
{
    return (size_t)D * (4 * TILE + 2 * BLOCKS + 1 + 2 * SUB + SUMS);
}

static Room room_of(const Chunk *x)
{
    real *free = x->room;
    Room r = { .w = carve(&free, TILE, x->D) };

    r.in = carve(&free, TILE, x->D), r.out = carve(&free, TILE, x->D);
    r.x = carve(&free, TILE, x->D);
    r.start = carve(&free, BLOCKS + 1, x->D), r.full = carve(&free, BLOCKS, x->D);
    r.q = carve(&free, SUB, x->D), r.a = carve(&free, SUB, x->D);
    r.near = carve(&free, SUMS, x->D);
    return r;
}

static int blocks(const Chunk *x)
{
    return (x->q.n + SUB - 1) / SUB;
}

static int block_end(const Chunk *x, int from)
{
    return min(from + SUB, x->q.n);
}

/* y = e^x */
static void exponentials(real *restrict y, const real *restrict x, int n)
{
    for (int d = 0; d < n; d++)
        y[d] = exp_lasting(x[d]);
}

/* One block: sums of g from its start and, in `out` first, from its end. */
static void load_block(const Chunk *x, const Room *r, int from, real *sum)
{
    const int D = x->D, end = block_end(x, from);

    memset(sum, 0, (size_t)D * sizeof *sum);
    for (int t = end - 1; t >= from; t--) {
        exponentials(r->out + t * D, sum, D);
        vector_add(sum, 1, x->g.at + t * D, D);
    }
    exponentials(r->full + from / SUB * D, sum, D);
    memset(sum, 0, (size_t)D * sizeof *sum);
    for (int t = from; t < end; t++) {
        exponentials(r->in + t * D, sum, D);
        exponentials(r->w + t * D, x->g.at + t * D, D);
        vector_add(sum, 1, x->g.at + t * D, D);
    }
}

static void load(Chunk *x)
{
    const Room r = room_of(x);
    const int D = x->D;
    real *sum = r.near, *total = r.near + D;

    memset(total, 0, (size_t)D * sizeof *total);
    for (int i = 0; i < blocks(x); i++) {
        exponentials(r.start + i * D, total, D);
        load_block(x, &r, i * SUB, sum);
        vector_add(total, 1, sum, D);
    }
    exponentials(r.start + blocks(x) * D, total, D);
}

/* `to` = rows from .. from+SUB-1 of a left side, decayed since the start of their block. */
static void lean(const Chunk *x, const Room *r, real *to, Rows of, int from, bool own)
{
    const int D = x->D, end = block_end(x, from);

    memcpy(to, of.at + from * D, (size_t)((end - from) * D) * sizeof *to);
    for (int t = from; t < end; t++) {
        vector_multiply(to + (t - from) * D, r->in + t * D, D);
        if (own)
            vector_multiply(to + (t - from) * D, r->w + t * D, D);
    }
}

/* Rows of a block with those of all before it; some columns after those are written, too. */
static void far_pairs(const Chunk *x, real *A, const real *left, int from)
{
    for (int i = from; i < block_end(x, from); i += MR)
        for (int j = 0; j < from; j += NR)
            kernel(A + i * TILE + j, TILE,
                   &(Factors){ left + (i - from) * x->D, x->D, 1, x->xt + j, TILE, x->op->s.D },
                   false);
}

/*
 * near *= w; sums of a and q times near, a after or before. The lanes are the positions of a block,
 * 0 for those to come.
 */
typedef struct {
    const real *a, *q, *w;
    bool own;
    int D;
} Meeting;

static void meet(Meeting m, real *restrict near, real *restrict A, real *restrict P)
{
    Lanes sa = lanes_all(0), sq = lanes_all(0);

    for (int d = 0; d < m.D; d++, near += SUMS) {
        const Lanes before = lanes_at(near);
        const Lanes after = lanes_multiply_add(lanes_all(0), before, lanes_all(m.w[d]));

        sa = lanes_multiply_add(sa, m.own ? after : before, lanes_all(m.a[d]));
        sq = lanes_multiply_add(sq, after, lanes_all(m.q[d]));
        lanes_put(near, after);
    }
    lanes_put(A, sa);
    lanes_put(P, sq);
}

/* Pairs within a block; leaves its x, decayed to its end, in `near`. */
static void near_pairs(const Chunk *x, const Room *r, const Side *s, int from)
{
    const int D = x->D;
    real A[SUMS], P[SUMS];

    memset(r->near, 0, (size_t)(D * SUMS) * sizeof(real));
    for (int t = from; t < block_end(x, from); t++) {
        const real *row = s->x.at + t * D, *q = x->q.at + t * D;
        const Meeting m = { x->a.at + t * D, q, r->w + t * D, chunk_own(x), x->op->s.D };

        meet(m, r->near, A, P);
        for (int d = 0; d < x->op->s.D; d++)
            r->near[d * SUMS + t - from] = row[d];
        P[t - from] = row_dot(q, row, D);
        memcpy(s->A + t * TILE + from, A, SUB * sizeof(real));
        memcpy(s->P + t * TILE + from, P, SUB * sizeof(real));
    }
}

/* The transposed x of all blocks up to this one, decayed to its end. */
static void pass_block(const Chunk *x, const Room *r, int from)
{
    for (int d = 0; d < x->op->s.D; d++) {
        real *restrict row = x->xt + d * TILE;
        const real by = r->full[from / SUB * x->D + d];

        for (int s = 0; s < from; s++)
            row[s] *= by;
        memcpy(row + from, r->near + d * SUMS, SUB * sizeof *row);
    }
}

static void pairs(Chunk *x)
{
    const Room r = room_of(x);

    for (int i = 0; i < x->sides; i++) {
        const Side *s = &x->side[i];

        memset(x->xt, 0, (size_t)(TILE * x->D) * sizeof *x->xt);
        for (int from = 0; from < x->q.n; from += SUB) {
            lean(x, &r, r.q, x->q, from, true);
            lean(x, &r, r.a, x->a, from, chunk_own(x));
            far_pairs(x, s->A, r.a, from);
            far_pairs(x, s->P, r.q, from);
            near_pairs(x, &r, s, from);
            pass_block(x, &r, from);
        }
    }
}

/* Rows times their factors within their block, and those of the blocks before, or after. */
static void read(const Chunk *x, Rows of, bool own)
{
    const Room r = room_of(x);

    for (int from = 0; from < of.n; from += SUB) {
        lean(x, &r, x->read.at + from * x->D, of, from, own);
        for (int t = from; t < block_end(x, from); t++)
            vector_multiply(x->read.at + t * x->D, r.start + from / SUB * x->D, x->D);
    }
}

/* Rows `from`.. of x decayed to the end of their block, and those before one block further. */
static void leave_block(const Chunk *x, const Room *r, real *to, Rows of, int from)
{
    const int D = x->D, n = block_end(x, from) - from;

    for (int s = 0; s < from; s++)
        vector_multiply(to + s * D, r->full + from / SUB * D, D);
    memcpy(to + from * D, of.at + from * D, (size_t)(n * D) * sizeof *to);
    vector_multiply(to + from * D, r->out + from * D, n * D);
}

static void leave(const Chunk *x, Rows of)
{
    const Room r = room_of(x);

    for (int from = 0; from < of.n; from += SUB)
        leave_block(x, &r, x->left.at, of, from);
}

static void fade(const Chunk *x, real *S)
{
    const Room r = room_of(x);
    const real *total = r.start + blocks(x) * x->D;

    for (int d = 0; d < x->op->s.D; d++)
        for (int e = 0; e < x->E; e++)
            S[d * x->E + e] *= total[d];
}

/* Gradients of left rows of a block: from those of the blocks before, and of what they read. */
static void back_left(const Chunk *x, const Room *r, real *d, const real *dA, int from)
{
    for (int i = from; i < block_end(x, from); i += MR)
        for (int j = 0; from > 0 && j < x->D; j += NR)
            kernel(d + i * x->D + j, x->D,
                   &(Factors){ dA + i * TILE, TILE, 1, r->x + j, x->D, from }, true);
}

static void back_lefts(const Chunk *x, const Room *r, const Side *s)
{
    for (int from = 0; from < x->q.n; from += SUB) {
        back_left(x, r, x->dq.at, s->dP, from);
        back_left(x, r, x->da.at, s->dA, from);
        leave_block(x, r, r->x, s->x, from);
    }
}

/* Adds to dx of all before a block what it gets from the block's rows. */
static void back_right(const Chunk *x, real *dx, const real *dA, const real *left, int from)
{
    const int n = block_end(x, from) - from;

    for (int i = 0; i < from; i += MR)
        for (int j = 0; j < x->D; j += NR)
            kernel(dx + i * x->D + j, x->D,
                   &(Factors){ dA + from * TILE + i, 1, TILE, left + j, x->D, n }, true);
}

static void back_rights(const Chunk *x, const Room *r, const Side *s)
{
    const int D = x->D;

    for (int from = (blocks(x) - 1) * SUB; from >= 0; from -= SUB) {
        vector_multiply(s->dx.at + from * D, r->out + from * D, (block_end(x, from) - from) * D);
        for (int i = 0; i < from; i++)
            vector_multiply(s->dx.at + i * D, r->full + from / SUB * D, D);
        lean(x, r, r->q, x->q, from, true);
        lean(x, r, r->a, x->a, from, chunk_own(x));
        back_right(x, s->dx.at, s->dP, r->q, from);
        back_right(x, s->dx.at, s->dA, r->a, from);
    }
}

/* dleft += d e right and dright += d e left, with e the decay between both rows */
typedef struct {
    const real *left, *right;
    real *dleft, *dright;
    real d; /* the gradient of their product */
} Pair;

static void back_pair(Pair p, const real *e, int D)
{
    vector_add_products(p.dleft, p.d, e, p.right, D);
    vector_add_products(p.dright, p.d, e, p.left, D);
}

/* Row s of a block with all rows after it. */
static void back_near_row(const Chunk *x, const Room *r, const Side *side, int s)
{
    const int D = x->D, end = block_end(x, s / SUB * SUB);
    const real *w = r->w;
    real *e = r->near;
    Pair p = { .right = side->x.at + s * D, .dright = side->dx.at + s * D };

    for (int d = 0; d < D; d++)
        e[d] = 1;
    for (int t = s + 1; t < end; t++) {
        Pair q = p, a = p;

        q.left = x->q.at + t * D, q.dleft = x->dq.at + t * D, q.d = side->dP[t * TILE + s];
        a.left = x->a.at + t * D, a.dleft = x->da.at + t * D, a.d = side->dA[t * TILE + s];
        if (!chunk_own(x))
            back_pair(a, e, D);
        vector_multiply(e, w + t * D, D);
        if (chunk_own(x))
            back_pair(a, e, D);
        back_pair(q, e, D);
    }
}

static void back(Chunk *x)
{
    const Room r = room_of(x);
    const int D = x->D;

    for (int t = 0; t < x->q.n; t++) {
        vector_multiply(x->dq.at + t * D, r.start + t / SUB * D, D);
        vector_multiply(x->da.at + t * D, r.start + t / SUB * D, D);
    }
    for (int i = 0; i < x->sides; i++)
        back_lefts(x, &r, &x->side[i]);
    vector_multiply(x->dq.at, r.in, x->q.n * D);
    vector_multiply(x->dq.at, r.w, x->q.n * D);
    vector_multiply(x->da.at, r.in, x->q.n * D);
    if (chunk_own(x))
        vector_multiply(x->da.at, r.w, x->q.n * D);
    for (int i = 0; i < x->sides; i++) {
        back_rights(x, &r, &x->side[i]);
        for (int s = 0; s < x->q.n; s++)
            back_near_row(x, &r, &x->side[i], s);
    }
}

static void gradient(Chunk *x, const real *S)
{
    const int D = x->D;
    real *sum = room_of(x).near;

    memset(sum, 0, (size_t)D * sizeof *sum);
    for (int d = 0; S && d < x->op->s.D; d++)
        sum[d] = row_dot(S + d * x->E, x->R + d * x->E, x->E);
    for (int t = x->q.n - 1; t >= 0; t--) {
        vector_add_products(sum, 1, x->q.at + t * D, x->dq.at + t * D, D);
        for (int i = 0; i < x->sides; i++)
            vector_add_products(sum, -1, x->side[i].x.at + t * D, x->side[i].dx.at + t * D, D);
        if (chunk_own(x))
            vector_add_products(sum, 1, x->a.at + t * D, x->da.at + t * D, D);
        memcpy(x->dg.at + t * D, sum, (size_t)D * sizeof *sum);
        if (t >= x->n)
            memset(x->dg.at + t * D, 0, (size_t)D * sizeof *sum);
        if (!chunk_own(x))
            vector_add_products(sum, 1, x->a.at + t * D, x->da.at + t * D, D);
    }
}

const Fading fading_of_features = { .room = room,
                                    .load = load,
                                    .pairs = pairs,
                                    .read = read,
                                    .leave = leave,
                                    .fade = fade,
                                    .back = back,
                                    .gradient = gradient };
