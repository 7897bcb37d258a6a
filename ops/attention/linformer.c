/*
 * Linformer (Wang et al., 2020, arXiv:2006.04768): a softmax over m weighted sums of the keys,
 * whose learned weights E and F (m, context) depend only on positions,
 *
 *     o_i = sum over r of P_ir V~_r       P_i = softmax over r of (q_i . K~_r / sqrt(D))
 *     K~_r = sum over j of E_rj k_j       V~_r = sum over j of F_rj v_j       j in V(i)
 *
 * Each head has its own E and F. A sequence shorter than the context uses their first columns, and
 * ends where its padding begins. Every sum includes all positions, so there is no causal form.
 * A_ij = sum over r of P_ir F_rj may have any sign, and A has rank m at most.
 *
 * The cost is linear: both sums over j, then m keys for each row (cross.h). Backward, with dK~ and
 * dV~ from exact attention (tiles.c) to the keys K~; the sums are linear in k, v, E and F, so
 *
 *     dk_j = sum over r of E_rj dK~_r       dE_rj = sum over sequences of dK~_r . k_j
 *     dv_j = sum over r of F_rj dV~_r       dF_rj = sum over sequences of dV~_r . v_j
 *
 * A first pass, over heads and sequences, computes dK~ and dV~; a second one, over heads and tiles
 * of positions, sums dE and dF in the order of the sequences.
 *
 * Plain twin: plain/linformer.c.
 */
#include "ops/attention/engine/cross.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/transpose.h"

#include <string.h>

/* K~ with E, or V~ with F. */
typedef struct {
    Tensor *x, *map;
    int width, ld;
    real *mixed, *dmixed; /* (B, H, m', ld) */
    Grad dx;
    real *dmap;
} Side;

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    int rows; /* m' */
    Side side[2];
    RowState *row; /* (B, H, T) */
    Grad dq;
} Linformer;

/* A head, and the scratch memory of its thread. */
typedef struct {
    const Linformer *op;
    Head head;
    int number, length;
    real by;       /* 1 / sqrt(D) */
    real *map, *x; /* a tile of E or F transposed, (TILE, m'); of k or v, (TILE, ld) */
    Cross cross;
} Work;

static size_t mixed_bytes(const Linformer *op, const Side *side)
{
    return (size_t)(op->in.q->dim[0] * op->s.H * op->rows) * (size_t)side->ld * sizeof(real);
}

static real *mixed_of(const Linformer *op, const Side *side, real *all, int number)
{
    return all + (size_t)(number * op->rows) * (size_t)side->ld;
}

static size_t scratch(const Linformer *op)
{
    const int D = op->side[0].ld, E = op->side[1].ld;

    return cross_scratch(D, E) + TILE * (size_t)(2 * op->rows + 3 * D + 3 * E);
}

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

static Work open(const Linformer *op, int number)
{
    const int D = op->side[0].ld, E = op->side[1].ld;
    real *free = pool_scratch();
    Work w = { .op = op, .head = head_of(&op->in, number), .number = number };

    w.length = view_of(&op->in, w.head.b).length;
    w.by = 1 / sqrt(R(op->s.D));
    w.map = carve(&free, TILE, op->rows), w.x = carve(&free, TILE, max(D, E));
    w.cross =
        (Cross){ .D = op->s.D,
                 .E = op->s.E,
                 .q = rows(&free, D),
                 .dq = rows(&free, D),
                 .o = rows(&free, E),
                 .g = rows(&free, E),
                 .k = { mixed_of(op, &op->side[0], op->side[0].mixed, number), D, 0, op->s.m },
                 .v = { mixed_of(op, &op->side[1], op->side[1].mixed, number), E, 0, op->s.m } };
    cross_carve(&w.cross, &free);
    return w;
}

/* Columns t0 .. t0+n-1 of the head's E or F, as rows; zeros after these. */
static void load_map(const Work *w, const Side *side, int t0, int n)
{
    const MixSize *s = &w->op->s;
    const real *map = side->map->data + (size_t)(w->head.h * s->m) * (size_t)s->c;

    memset(w->map, 0, (size_t)(TILE * w->op->rows) * sizeof(real));
    if (n > 0)
        transpose(w->map, w->op->rows, (Strided){ map + t0, s->c, 1, s->m, n });
}

/* K~ or V~. */
static void mix_positions(const Work *w, const Side *side)
{
    real *mixed = mixed_of(w->op, side, side->mixed, w->number);

    memset(mixed, 0, (size_t)(w->op->rows * side->ld) * sizeof(real));
    for (int t0 = 0; t0 < w->length; t0 += TILE) {
        const int n = min(TILE, w->length - t0);
        const Rows x = { w->x, side->ld, t0, n };

        load_map(w, side, t0, n);
        head_gather(&w->head, x, side->x->data, side->width);
        rows_multiply_over(mixed, w->op->s.m, (Rows){ w->map, w->op->rows, 0, n }, x, n);
    }
}

static void load_queries(Work *w, int t0)
{
    Rows *q = &w->cross.q;

    q->t0 = t0, q->n = min(TILE, w->op->s.T - t0);
    w->cross.o.t0 = w->cross.g.t0 = w->cross.dq.t0 = t0;
    w->cross.o.n = w->cross.g.n = w->cross.dq.n = q->n;
    w->cross.row = w->op->row + (size_t)w->number * (size_t)w->op->s.T + t0;
    head_gather(&w->head, *q, w->op->in.q->data, w->op->s.D);
    cross_scale(*q, w->op->s.D, w->by);
}

static void forward(void *ctx, int begin, int end)
{
    const Linformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);

        mix_positions(&w, &op->side[0]);
        mix_positions(&w, &op->side[1]);
        for (int t0 = 0; t0 < op->s.T; t0 += TILE) {
            load_queries(&w, t0);
            cross_start(&w.cross);
            cross_add(&w.cross);
            cross_finish(&w.cross);
            head_scatter(&w.head, (Grad){ op->node.y->data, false }, w.cross.o, op->s.E);
        }
    }
}

/* dq; adds to dK~ and dV~. */
static void backward_rows(Work *w, int t0)
{
    const Linformer *op = w->op;
    const Rows dq = w->cross.dq;

    load_queries(w, t0);
    head_gather(&w->head, w->cross.o, op->node.y->data, op->s.E);
    head_gather(&w->head, w->cross.g, op->node.y->grad, op->s.E);
    memset(dq.at, 0, (size_t)(TILE * dq.ld) * sizeof(real));
    cross_delta(&w->cross);
    cross_backward(&w->cross);
    cross_scale(w->cross.dq, op->s.D, w->by);
    head_scatter(&w->head, op->dq, w->cross.dq, op->s.D);
}

/* dk from dK~, or dv from dV~; zeros at padding. */
static void backward_positions(const Work *w, const Side *side)
{
    for (int t0 = 0; t0 < w->op->s.T; t0 += TILE) {
        const Rows dx = { w->x, side->ld, t0, TILE };

        load_map(w, side, t0, min(TILE, w->length - t0));
        rows_multiply(dx, (Rows){ w->map, w->op->rows, 0, TILE }, w->op->s.m,
                      mixed_of(w->op, side, side->dmixed, w->number), false);
        head_scatter(&w->head, side->dx, dx, side->width);
    }
}

static void backward(void *ctx, int begin, int end)
{
    const Linformer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);

        for (int i = 0; i < 2; i++) {
            const Side *side = &op->side[i];
            real *d = mixed_of(op, side, side->dmixed, number);

            memset(d, 0, (size_t)(op->rows * side->ld) * sizeof(real));
            *(i ? &w.cross.dv : &w.cross.dk) = (Rows){ d, side->ld, 0, op->s.m };
        }
        for (int t0 = 0; t0 < op->s.T; t0 += TILE)
            backward_rows(&w, t0);
        backward_positions(&w, &op->side[0]);
        backward_positions(&w, &op->side[1]);
    }
}

/* dE or dF of head h at positions t0 ..: a sum over the sequences. */
static void backward_map(const Linformer *op, const Side *side, int h, int t0)
{
    const MixSize *s = &op->s;
    real *free = pool_scratch(), *x = carve(&free, TILE, side->ld);
    real *xt = carve(&free, TILE, side->ld), *sum = carve(&free, TILE, op->rows);

    memset(sum, 0, (size_t)(TILE * op->rows) * sizeof(real));
    for (int b = 0; b < op->in.q->dim[0]; b++) {
        const Head head = head_of(&op->in, b * s->H + h);
        const int n = min(TILE, view_of(&op->in, b).length - t0);

        if (n <= 0)
            continue;
        memset(xt, 0, (size_t)(TILE * side->ld) * sizeof(real));
        head_gather(&head, (Rows){ x, side->ld, t0, n }, side->x->data, side->width);
        rows_transpose((Rows){ x, side->ld, t0, n }, xt, TILE, side->width);
        rows_multiply((Rows){ sum, TILE, 0, op->rows },
                      (Rows){ mixed_of(op, side, side->dmixed, b * s->H + h), side->ld, 0, 0 },
                      side->width, xt, true);
    }
    for (int r = 0; r < s->m; r++)
        grad_add((Grad){ side->dmap, true }, (size_t)(h * s->m + r) * (size_t)s->c + (size_t)t0,
                 sum + r * TILE, min(TILE, s->T - t0));
}

static void backward_maps(void *ctx, int begin, int end)
{
    const Linformer *op = ctx;
    const int tiles = (op->s.T + TILE - 1) / TILE;

    for (int piece = begin; piece < end; piece++)
        for (int i = 0; i < 2; i++)
            backward_map(op, &op->side[i], piece / tiles, piece % tiles * TILE);
}

static void linformer_backward(Node *node)
{
    Linformer *op = (Linformer *)node;
    Tape *tape = node->tape;

    op->dq = tape_grad(tape, op->in.q);
    for (Side *side = op->side; side < op->side + 2; side++) {
        side->dx = tape_grad(tape, side->x);
        side->dmap = tape_grad_zeroed(tape, side->map);
        side->dmixed = arena_take(tape->mem, mixed_bytes(op, side));
    }
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
    pool_for(tape->pool, op->s.H * ((op->s.T + TILE - 1) / TILE), 1, backward_maps, op);
    for (Side *side = op->side; side < op->side + 2; side++)
        arena_give(tape->mem, side->dmixed, mixed_bytes(op, side));
}

static Tensor *linformer_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Linformer *op = tape_node(tape, sizeof *op, linformer_backward, 4, in->v->dim);

    op->in = *in, op->s = s, op->rows = up_to(s.m, MR);
    op->side[0] = (Side){ .x = in->k, .map = mix_tensor(in, "e"), s.D, up_to(s.D, NR) };
    op->side[1] = (Side){ .x = in->v, .map = mix_tensor(in, "f"), s.E, up_to(s.E, NR) };
    for (Side *side = op->side; side < op->side + 2; side++)
        side->mixed = tape_keep(&op->node, mixed_bytes(op, side));
    op->row = tape_keep(&op->node, (size_t)(in->q->dim[0] * s.H) * (size_t)s.T * sizeof *op->row);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* K~ and V~; the scores of m keys, and their sum. */
static double linformer_cost(const MixSize *s)
{
    return 2.0 * s->H * s->m * (s->D + s->E);
}

/* K~ and V~, and the state of a row; their gradients. */
static MixMemory linformer_memory(const MixSize *s)
{
    const double mixed =
        (double)s->H * up_to(s->m, MR) * (up_to(s->D, NR) + up_to(s->E, NR)) / s->T;

    return (MixMemory){ mixed + s->H * (double)(sizeof(RowState) / sizeof(real)), mixed };
}

static int linformer_rank(const MixSize *s)
{
    return s->m;
}

static const Engine engine = {
    .mix = linformer_mix,
    .cost = linformer_cost,
    .memory = linformer_memory,
    .rank = linformer_rank,
};

const Attention attention_linformer = {
    .name = "linformer",
    .summary = "softmax over learned mixtures of the keys, O(n) (arXiv:2006.04768)",
    .traits = BIDIRECTIONAL_ONLY | HAS_MATRIX | IS_LINEAR | PLACED | SMOOTH,
    .operands =
        (const Operand[]){
            { .name = "e", .shape = "Hmc", .help = "weights of the keys in each mixture" },
            { .name = "f", .shape = "Hmc", .help = "weights of the values in each mixture" },
            { 0 } },
    .settings =
        (const Setting[]){ { .name = "rank",
                             .most = 1 << 14,
                             .layer = true,
                             .size = 'm',
                             .zero = 64,
                             .tries = { 3, 9, 101 },
                             .help = "number of learned mixtures of keys per head (0: 64)" },
                           SETTINGS_OF_HEADS,
                           { 0 } },
    .engine = &engine,
    .plain = plain_linformer,
};
