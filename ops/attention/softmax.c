/*
 * Exact attention (Vaswani et al., 2017, arXiv:1706.03762), of one head:
 *
 *     S_ij = q_i . k_j / sqrt(D)
 *     P_ij = e^(S_ij - m_i) / l_i      m_i = max S_ij,  l_i = sum of e^(S_ij - m_i)
 *     o_i  = sum of P_ij v_j                                     all over j in V(i)
 *
 * Tiled (Milakov and Gimelshein, 2018; Dao et al., 2022): S is made TILE x TILE
 * numbers at a time and never stored. While the key tiles of a row pass by, m
 * and l are those of the keys so far; when a tile raises m to m', what has been
 * summed up is multiplied by e^(m - m'):
 *
 *     l <- l e^(m - m') + sum of e^(S_ij - m')
 *     o <- o e^(m - m') + sum of e^(S_ij - m') v_j              and o / l at the end
 *
 * Of the whole matrix only m and l are kept, two numbers a row.
 *
 * Backward, with g = do. From o_i = sum P_ij v_j,  dP_ij = g_i . v_j  and
 * dv_j = sum over i of P_ij g_i.  A row of the softmax has the derivative
 * dP_ij/dS_il = P_ij (delta_jl - P_il), so
 *
 *     dS_ij = P_ij (dP_ij - delta_i),    delta_i = sum over l of P_il dP_il = g_i . o_i
 *     dq_i  = sum over j of dS_ij k_j / sqrt(D)
 *     dk_j  = sum over i of dS_ij q_i / sqrt(D)
 *
 * P is made again from q, k, m and l, tile by tile: five products where the
 * forward has two, and memory linear in the length.
 *
 * No number that row i may not see enters its sums, not even times zero (a NaN
 * would): where a tile crosses the diagonal, rows are taken in groups of MR, the
 * keys that a whole group sees go through the kernel, and the last few of each
 * row are added one by one.
 */
#include "ops/attention/attention.h"

#include "ops/elementary.h"
#include "ops/error.h"
#include "ops/kernel.h"

#include <string.h>

#ifdef PROOF
enum { TILE = 4 };
#else
enum { TILE = 96 };
#endif
_Static_assert(TILE % MR == 0 && TILE % NR == 0 && TILE % SUMS == 0, "a tile has no edges");

typedef struct {
    Node node;
    Mix in;
    int B, T, H, D, E;
    real *m, *l, *delta; /* (B, H, T) */
    Grad dq, dk, dv;
} Softmax;

/*
 * One head of one sequence, in a thread's scratch. Rows are padded with zeros to
 * whole tiles, their widths to whole kernels, so nothing below has edges: q, k
 * and their gradients are (T', D'), v, dv and g = do (T', E'), o (TILE, E'), and
 * kt, vt are the tiles of k and v turned, (D, TILE) and (E, TILE) each.
 */
typedef struct {
    const Softmax *op;
    int b, h, length; /* keys from `length` on are padding */
    int T, D, E;      /* T', D', E' */
    real scale;
    real *q, *k, *v, *kt, *vt, *g, *o, *dq, *dk, *dv;
    real *s, *ds; /* (TILE, TILE) */
} Head;

static int min(int a, int b)
{
    return a < b ? a : b;
}

static int up_to(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Where position t of this head starts in a (B, T, H, width) tensor. */
static size_t place(const Head *x, int t, int width)
{
    const Softmax *op = x->op;

    return (((size_t)x->b * (size_t)op->T + (size_t)t) * (size_t)op->H + (size_t)x->h) *
           (size_t)width;
}

static real *row_of(real *rows, int i, int width)
{
    return rows + (size_t)i * (size_t)width;
}

/* The head's rows of a (B, T, H, width) tensor, times `by`, as padded rows. */
static void gather(const Head *x, real *to, const real *from, int width, real by)
{
    int padded = up_to(width, NR);

    for (int t = 0; t < x->T; t++) {
        const real *row = from + place(x, min(t, x->op->T - 1), width);
        real *out = row_of(to, t, padded);

        for (int d = 0; d < padded; d++)
            out[d] = t < x->op->T && d < width ? row[d] * by : 0;
    }
}

/* Adds padded rows, times `by`, to the head's rows of a gradient. */
static void scatter(const Head *x, Grad to, const real *from, int width, real by)
{
    int padded = up_to(width, NR);

    for (int t = 0; t < x->op->T; t++) {
        real *row = to.at + place(x, t, width);
        const real *in = from + (size_t)t * (size_t)padded;

        for (int d = 0; d < width; d++)
            row[d] = (to.add ? row[d] : 0) + in[d] * by;
    }
}

/* The head's rows of k or v as tiles (width, TILE). */
static void gather_turned(const Head *x, real *to, const real *from, int width)
{
    for (int j = 0; j < x->T; j++) {
        const real *row = from + place(x, min(j, x->op->T - 1), width);
        real *tile = to + (size_t)(j / TILE) * (size_t)(TILE * width) + j % TILE;

        for (int d = 0; d < width; d++)
            tile[d * TILE] = j < x->op->T ? row[d] : 0;
    }
}

/* Keys that row i sees: 0 .. visible-1. */
static int visible(const Head *x, int i)
{
    return x->op->in.causal ? min(i + 1, x->length) : x->length;
}

/* The same, counted from the start of the tile of keys at j0, and at most TILE. */
static int visible_in(const Head *x, int i, int j0)
{
    int n = min(visible(x, i) - j0, TILE);

    return n < 0 || i >= x->op->T ? 0 : n;
}

/* s (MR rows of TILE) = MR rows of a times a turned tile, for the first n keys and a few more. */
static void scores(real *s, const real *a, int lda, const real *turned, int depth, int n)
{
    for (int j = 0; j < n; j += NR)
        kernel(s + j, TILE, (Factors){ a, lda, 1, turned + j, TILE, depth }, false);
}

/* c (MR rows, `wide`) += s times rows of b, where s(i, p) = s[i * rs + p * cs] for p < n. */
static void accumulate(real *c, Factors f, int wide)
{
    for (int d = 0; f.k > 0 && d < wide; d += NR, f.b += NR)
        kernel(c + d, wide, f, true);
}

/* One row against the first n keys of a tile: scores become weights, and o, m, l move on. */
static void soften(real *s, int n, real *o, int E, real *m, real *l)
{
    int whole = up_to(n, SUMS);

    if (n == 0)
        return;
    for (int j = n; j < whole; j++)
        s[j] = -R(HUGE_VAL); /* its weight is 0 */
    real top = row_max(s, whole, *m), fade = exp_real(*m - top);

    if (top > *m) {
        for (int e = 0; e < E; e++)
            o[e] *= fade;
        *l *= fade;
        *m = top;
    }
    *l += row_exp(s, whole, top);
}

/* MR rows from i on, keys of the tile at j0; o, m and l are those rows'. */
static void forward_group(Head *x, int i, int j0, real *o, real *m, real *l)
{
    int all = visible_in(x, i, j0), most = visible_in(x, min(i + MR, x->op->T) - 1, j0);
    const real *v = row_of(x->v, j0, x->E);

    scores(x->s, row_of(x->q, i, x->D), x->D, row_of(x->kt, j0, x->op->D), x->op->D, most);
    for (int r = 0; r < MR; r++)
        soften(x->s + r * TILE, visible_in(x, i + r, j0), o + r * x->E, x->E, m + r, l + r);
    accumulate(o, (Factors){ x->s, TILE, 1, v, x->E, all }, x->E);
    for (int r = 0; r < MR; r++)
        for (int j = all; j < visible_in(x, i + r, j0); j++)
            for (int e = 0; e < x->E; e++)
                o[r * x->E + e] += x->s[r * TILE + j] * v[j * x->E + e];
}

/* The rows of a tile at i0, from the first key to the last. */
static void forward_tile(Head *x, int i0)
{
    const Softmax *op = x->op;
    int end = min(i0 + TILE, op->T);
    size_t at = (size_t)(x->b * op->H + x->h) * (size_t)op->T;
    real m[TILE], l[TILE] = { 0 };

    for (int r = 0; r < TILE; r++)
        m[r] = -R(HUGE_VAL);
    memset(x->o, 0, (size_t)(TILE * x->E) * sizeof(real));
    for (int j0 = 0; j0 < visible(x, end - 1); j0 += TILE)
        for (int i = i0; i < end; i += MR)
            forward_group(x, i, j0, row_of(x->o, i - i0, x->E), m + (i - i0), l + (i - i0));
    for (int t = i0; t < end; t++) {
        real *y = op->node.y->data + place(x, t, op->E), sum = l[t - i0];

        op->m[at + (size_t)t] = m[t - i0], op->l[at + (size_t)t] = sum;
        for (int e = 0; e < op->E; e++)
            y[e] = sum > 0 ? row_of(x->o, t - i0, x->E)[e] / sum : 0;
    }
}

static real *carve(real **from, int rows, int width)
{
    real *piece = *from;

    *from += (size_t)rows * (size_t)width;
    return piece;
}

/* The head of that number, its q, k and v gathered. */
static Head head_open(const Softmax *op, int number, real **free)
{
    Head x = { .op = op, .b = number / op->H, .h = number % op->H };

    x.length = op->in.length ? min(op->in.length[x.b], op->T) : op->T;
    x.T = up_to(op->T, TILE), x.D = up_to(op->D, NR), x.E = up_to(op->E, NR);
    x.scale = 1 / sqrt(R(op->D));
    x.q = carve(free, x.T, x.D);
    x.kt = carve(free, x.T, up_to(op->D, NR));
    x.s = carve(free, TILE, TILE);
    gather(&x, x.q, op->in.q->data, op->D, x.scale);
    gather_turned(&x, x.kt, op->in.k->data, op->D);
    return x;
}

static void forward_heads(void *ctx, int begin, int end)
{
    const Softmax *op = ctx;

    for (int number = begin; number < end; number++) {
        real *free = pool_scratch();
        Head x = head_open(op, number, &free);

        x.v = carve(&free, x.T, x.E);
        x.o = carve(&free, TILE, x.E);
        gather(&x, x.v, op->in.v->data, op->E, 1);
        for (int i0 = 0; i0 < op->T; i0 += TILE)
            forward_tile(&x, i0);
    }
}

/*
 * P and dS of one row and the n keys it sees in a tile; zeros for the others.
 * The weight of an only key is 1 whatever its score, so its dS is 0 to the bit.
 */
static void weigh(const Head *x, int i, int n, real *restrict p, real *restrict ds)
{
    size_t at = (size_t)(x->b * x->op->H + x->h) * (size_t)x->op->T + (size_t)i;

    if (n > 0) {
        real m = x->op->m[at], by = 1 / x->op->l[at], delta = x->op->delta[at];
        real moves = visible(x, i) > 1;

        for (int j = 0; j < up_to(n, SUMS); j++) {
            p[j] = exp_real(p[j] - m) * by;
            ds[j] = moves * p[j] * (ds[j] - delta);
        }
    }
    memset(p + n, 0, (size_t)(TILE - n) * sizeof(real));
    memset(ds + n, 0, (size_t)(TILE - n) * sizeof(real));
}

/* MR rows from i on: their P and dS for the keys of the tile at j0, and dq. */
static void backward_group(Head *x, int i, int j0, real *p, real *ds)
{
    int most = visible_in(x, min(i + MR, x->op->T) - 1, j0);

    scores(p, row_of(x->q, i, x->D), x->D, row_of(x->kt, j0, x->op->D), x->op->D, most);
    scores(ds, row_of(x->g, i, x->E), x->E, row_of(x->vt, j0, x->op->E), x->op->E, most);
    for (int r = 0; r < MR; r++)
        weigh(x, i + r, visible_in(x, i + r, j0), p + r * TILE, ds + r * TILE);
    accumulate(row_of(x->dq, i, x->D), (Factors){ ds, TILE, 1, row_of(x->k, j0, x->D), x->D, most },
               x->D);
}

/* Rows of the tile at i0, keys of the tile at j0. The first row that sees key j is j, if causal. */
static void backward_tile(Head *x, int i0, int j0)
{
    int end = min(i0 + TILE, x->op->T), keys = min(x->length - j0, TILE);

    for (int i = i0; i < end; i += MR)
        backward_group(x, i, j0, x->s + (i - i0) * TILE, x->ds + (i - i0) * TILE);
    for (int j = 0; j < keys; j += MR) {
        int i = x->op->in.causal && j0 + j > i0 ? j0 + j : i0, at = (i - i0) * TILE + j;
        const real *g = row_of(x->g, i, x->E), *q = row_of(x->q, i, x->D);

        accumulate(row_of(x->dv, j0 + j, x->E), (Factors){ x->s + at, 1, TILE, g, x->E, end - i },
                   x->E);
        accumulate(row_of(x->dk, j0 + j, x->D), (Factors){ x->ds + at, 1, TILE, q, x->D, end - i },
                   x->D);
    }
}

static void backward_delta(Head *x)
{
    const Softmax *op = x->op;
    size_t at = (size_t)(x->b * op->H + x->h) * (size_t)op->T;

    for (int t = 0; t < op->T; t++) {
        size_t y = place(x, t, op->E);

        op->delta[at + (size_t)t] = row_dot(op->node.y->grad + y, op->node.y->data + y, op->E);
    }
}

static void backward_head(Head *x)
{
    const Softmax *op = x->op;

    backward_delta(x);
    for (int j0 = 0; j0 < x->length; j0 += TILE)
        for (int i0 = op->in.causal ? j0 : 0; i0 < op->T; i0 += TILE)
            backward_tile(x, i0, j0);
    scatter(x, op->dq, x->dq, op->D, x->scale);
    scatter(x, op->dk, x->dk, op->D, 1); /* q has the scale already */
    scatter(x, op->dv, x->dv, op->E, 1);
}

static void backward_heads(void *ctx, int begin, int end)
{
    const Softmax *op = ctx;

    for (int number = begin; number < end; number++) {
        real *free = pool_scratch();
        Head x = head_open(op, number, &free);

        x.k = carve(&free, x.T, x.D);
        x.g = carve(&free, x.T, x.E);
        x.vt = carve(&free, x.T, x.E);
        x.ds = carve(&free, TILE, TILE);
        gather(&x, x.k, op->in.k->data, op->D, 1);
        gather(&x, x.g, op->node.y->grad, op->E, 1);
        gather_turned(&x, x.vt, op->in.v->data, op->E);
        x.dq = carve(&free, x.T, x.D);
        x.dk = carve(&free, x.T, x.D);
        x.dv = carve(&free, x.T, x.E);
        memset(x.dq, 0, (size_t)x.T * (size_t)(2 * x.D + x.E) * sizeof(real));
        backward_head(&x);
    }
}

/* What a head needs of its thread's scratch: rows of D' and of E', and tiles. */
static void reserve(const Softmax *op, int of_d, int of_e, int tiles)
{
    size_t T = (size_t)up_to(op->T, TILE), D = (size_t)up_to(op->D, NR);
    size_t E = (size_t)up_to(op->E, NR), numbers = T * ((size_t)of_d * D + (size_t)of_e * E);

    pool_reserve(op->node.tape->pool, (numbers + (size_t)(tiles * TILE * TILE)) * sizeof(real));
}

static void softmax_backward(Node *node)
{
    Softmax *op = (Softmax *)node;

    op->delta = arena_take(node->tape->mem, (size_t)(op->B * op->H * op->T) * sizeof(real));
    op->dq = tape_grad(node->tape, op->in.q);
    op->dk = tape_grad(node->tape, op->in.k);
    op->dv = tape_grad(node->tape, op->in.v);
    reserve(op, 5, 3, 2);
    pool_for(node->tape->pool, op->B * op->H, 1, backward_heads, op);
}

static Tensor *softmax_mix(Tape *tape, Mix in)
{
    const int *q = in.q->dim, *v = in.v->dim;

    if (in.q->n != in.k->n || q[0] != v[0] || q[1] != v[1] || q[2] != v[2])
        BUG("softmax: q (%d, %d, %d, %d) does not go with v (%d, %d, %d, %d)", q[0], q[1], q[2],
            q[3], v[0], v[1], v[2], v[3]);

    Softmax *op = tape_node(tape, sizeof *op, softmax_backward, 4, v);
    op->in = in;
    op->B = q[0], op->T = q[1], op->H = q[2], op->D = q[3], op->E = v[3];
    op->m = arena_take(tape->mem, (size_t)(op->B * op->H * op->T) * sizeof(real));
    op->l = arena_take(tape->mem, (size_t)(op->B * op->H * op->T) * sizeof(real));
    reserve(op, 2, 2, 1); /* v, and a tile of o: no more than v again */
    pool_for(tape->pool, op->B * op->H, 1, forward_heads, op);
    return op->node.y;
}

/* q k^T and P v, over the keys that a row sees on average. */
static double softmax_cost(MixSize s)
{
    return (s.causal ? 0.5 : 1) * s.T * s.H * (s.D + s.E);
}

const Attention attention_softmax = {
    .name = "softmax",
    .summary = "exact attention, O(n^2): the one to compare with (arXiv:1706.03762)",
    .takes = TAKES_SCALE | TAKES_BASE | TAKES_WINDOW | TAKES_ROPE | TAKES_KEY_SIZE,
    .matrix = true,
    .mix = softmax_mix,
    .cost = softmax_cost,
};
