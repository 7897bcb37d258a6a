/*
 * FLASH's mixed chunk attention (Hua et al., 2022, arXiv:2202.10447; not FlashAttention): exact
 * within a chunk of C positions, linear across chunks. The exact part has the pair q, k, the linear
 * part a second pair ql, kl:
 *
 *     A_ij = [same chunk] max(q_i . k_j / sqrt(D), 0)^2 / C + [visible chunk] w_i ql_i . kl_j
 *     o_i  = sum over j in V(i) of A_ij v_j       w_i = 1 / (N_i C) for N_i visible chunks
 *
 * RoPE rotates q, k, ql and kl; --rel-bias adds a bias by distance inside max (engine/bias.h).
 * Causal, the visible chunks are those before i's own; bidirectional, all with a key that is not
 * padding.
 *
 * The first term is computed by tiles.c, with its backward pass. The second, which the first chunk
 * of a causal model lacks, is added in place by a node of its own. Let S be the sum of kl_j v_j^T
 * over the keys of the chunks visible to i, without padding. With g = do,
 *
 *     o_i += w_i S^T ql_i         dql_i = w_i S g_i
 *
 * and with R, the sum of w_i ql_i g_i^T over the rows i that see j's chunk,
 *
 *     dkl_j = R v_j               dv_j += R^T kl_j
 *
 * (causal: S grows going forward, R going backward).
 *
 * Plain twin: plain/flash_gau.c.
 */
#include "ops/attention/engine/pairs.h"

#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

static real by_chunk(int C, int n)
{
    (void)n;
    return R(C);
}

typedef struct {
    Node node;
    Mix in;
    Tensor *ql, *kl;
    int B, T, H, D, E, C;
    const real *angles;
    Grad dql, dkl, dv;
} Flash;

/* One head, processed up to TILE rows of a chunk at a time. */
typedef struct {
    const Flash *op;
    Head head;
    int length;
    Rows ql, kl, v, g, o, d; /* d: gradients of ql and kl */
    real *S, *St;            /* S or R, (D, E'); transposed, (E, D') */
} Across;

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

static Across across_open(const Flash *op, int number)
{
    real *free = pool_scratch();
    Across x = { .op = op, .head = head_of(&op->in, number) };
    int D = up_to(op->D, NR), E = up_to(op->E, NR);
    size_t S = (size_t)up_to(op->D, MR) * (size_t)E, St = (size_t)up_to(op->E, MR) * (size_t)D;

    x.head.ahead = TILE;
    x.length = view_of(&op->in, x.head.b).length;
    x.ql = rows(&free, D), x.kl = rows(&free, D), x.d = rows(&free, D);
    x.v = rows(&free, E), x.g = rows(&free, E), x.o = rows(&free, E);
    x.S = carve(&free, up_to(op->D, MR), E), x.St = carve(&free, up_to(op->E, MR), D);
    memset(x.S, 0, S * sizeof(real));
    memset(x.St, 0, St * sizeof(real));
    return x;
}

static void reserve(const Flash *op)
{
    size_t D = (size_t)up_to(op->D, NR), E = (size_t)up_to(op->E, NR);
    size_t states = (size_t)up_to(op->D, MR) * E + (size_t)up_to(op->E, MR) * D;

    pool_reserve(op->node.tape->pool, (3 * TILE * (D + E) + states + MR) * sizeof(real));
}

static void load(const Across *x, Rows *to, int t0, const Tensor *from)
{
    int width = from->dim[3];

    to->t0 = t0;
    head_gather(&x->head, *to, from->data, width);
}

static void load_rotated(const Across *x, Rows *to, int t0, const Tensor *from)
{
    load(x, to, t0, from);
    rows_rotate((Rows){ to->at, to->ld, t0, min(to->n, x->op->T - t0) }, x->op->angles, x->op->D,
                false);
}

/* The number of chunks visible to the rows of chunk c. */
static int counting(const Across *x, int c)
{
    return x->op->in.causal ? c : (x->length + x->op->C - 1) / x->op->C;
}

/* Gathers w ql of the rows from t0 on, which are in chunk c. */
static void load_queries(Across *x, int t0, int c)
{
    int n = counting(x, c);
    real w = n > 0 ? 1 / (R(n) * R(x->op->C)) : 0;

    load_rotated(x, &x->ql, t0, x->op->ql);
    for (int i = 0; i < TILE * x->ql.ld; i++)
        x->ql.at[i] *= w;
}

/* The end of the rows from t0 on: at most TILE rows, within the chunk. */
static int rows_from(const Across *x, int t0)
{
    int C = x->op->C, left = x->op->T - t0;

    return min(min(TILE, left), C - t0 % C);
}

static int keys_from(const Across *x, int t0)
{
    return max(0, min(rows_from(x, t0), x->length - t0));
}

/* Calls visit for each part of chunk c. */
static void each_part(Across *x, int c, void (*visit)(Across *x, int t0, int c))
{
    int C = x->op->C;

    for (int t0 = c * C; t0 < x->op->T && t0 / C == c; t0 += rows_from(x, t0))
        visit(x, t0, c);
}

static int chunks(const Across *x)
{
    return (x->op->T + x->op->C - 1) / x->op->C;
}

static void add_keys(Across *x, int t0, int c)
{
    (void)c;
    load_rotated(x, &x->kl, t0, x->op->kl);
    load(x, &x->v, t0, x->op->in.v);
    rows_multiply_over(x->S, x->op->D, x->kl, x->v, keys_from(x, t0));
}

static void add_output(Across *x, int t0, int c)
{
    const Flash *op = x->op;

    load_queries(x, t0, c);
    rows_multiply(x->o, x->ql, op->D, x->S, false);
    for (int r = 0; counting(x, c) > 0 && r < rows_from(x, t0); r++) {
        real *y = op->node.y->data + head_place(&x->head, t0 + r, op->E);

        for (int e = 0; e < op->E; e++)
            y[e] += row_of(x->o.at, r, x->o.ld)[e];
    }
}

static void across_forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Across x = across_open(ctx, number);
        bool causal = x.op->in.causal;

        for (int c = 0; !causal && c < chunks(&x); c++)
            each_part(&x, c, add_keys);
        for (int c = 0; c < chunks(&x); c++) {
            each_part(&x, c, add_output);
            if (causal)
                each_part(&x, c, add_keys);
        }
    }
}

/* Writes the first n rows, rotated back, to a gradient. */
static void leave(const Across *x, Grad to, Rows from, int n)
{
    from.n = n;
    rows_rotate(from, x->op->angles, x->op->D, true);
    head_scatter(&x->head, to, from, x->op->D);
}

/* dql = w S g, where St is the sum of v kl^T. */
static void undo_queries(Across *x, int t0, int c)
{
    const Flash *op = x->op;
    int n = counting(x, c);
    real w = n > 0 ? 1 / (R(n) * R(op->C)) : 0;

    load(x, &x->g, t0, &(Tensor){ .data = op->node.y->grad, .dim = { 0, 0, 0, op->E } });
    rows_multiply(x->d, x->g, op->E, x->St, false);
    for (int i = 0; i < TILE * x->d.ld; i++)
        x->d.at[i] = n > 0 ? x->d.at[i] * w : 0;
    x->d.t0 = t0;
    leave(x, op->dql, x->d, rows_from(x, t0));
}

static void add_keys_over(Across *x, int t0, int c)
{
    (void)c;
    load_rotated(x, &x->kl, t0, x->op->kl);
    load(x, &x->v, t0, x->op->in.v);
    rows_multiply_over(x->St, x->op->E, x->v, x->kl, keys_from(x, t0));
}

static void add_queries(Across *x, int t0, int c)
{
    load_queries(x, t0, c);
    load(x, &x->g, t0, &(Tensor){ .data = x->op->node.y->grad, .dim = { 0, 0, 0, x->op->E } });
    rows_multiply_over(x->S, x->op->D, x->ql, x->g, counting(x, c) > 0 ? rows_from(x, t0) : 0);
}

/* dkl = R v and dv = R^T kl; padding is skipped. */
static void undo_keys(Across *x, int t0, int c)
{
    const Flash *op = x->op;
    int keys = keys_from(x, t0), n = rows_from(x, t0);

    (void)c;
    load_rotated(x, &x->kl, t0, op->kl);
    load(x, &x->v, t0, op->in.v);
    rows_transpose((Rows){ x->S, x->v.ld, 0, op->D }, x->St, x->d.ld, op->E);
    rows_multiply(x->d, x->v, op->E, x->St, false);
    rows_multiply(x->o, x->kl, op->D, x->S, false);
    memset(row_of(x->d.at, keys, x->d.ld), 0, (size_t)((n - keys) * x->d.ld) * sizeof(real));
    memset(row_of(x->o.at, keys, x->o.ld), 0, (size_t)((n - keys) * x->o.ld) * sizeof(real));
    x->d.t0 = x->o.t0 = t0;
    leave(x, op->dkl, x->d, n);
    head_scatter(&x->head, op->dv, (Rows){ x->o.at, x->o.ld, t0, n }, op->E);
}

static void across_backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Across x = across_open(ctx, number);
        bool causal = x.op->in.causal;
        int n = chunks(&x);

        for (int c = 0; !causal && c < n; c++)
            each_part(&x, c, add_keys_over);
        for (int c = 0; c < n; c++) {
            each_part(&x, c, undo_queries);
            if (causal)
                each_part(&x, c, add_keys_over);
        }
        for (int c = 0; !causal && c < n; c++)
            each_part(&x, c, add_queries);
        for (int c = n - 1; c >= 0; c--) {
            each_part(&x, c, undo_keys);
            if (causal)
                each_part(&x, c, add_queries);
        }
    }
}

static void flash_backward(Node *node)
{
    Flash *op = (Flash *)node;

    op->dql = tape_grad(node->tape, op->ql);
    op->dkl = tape_grad(node->tape, op->kl);
    op->dv = tape_grad(node->tape, op->in.v);
    reserve(op);
    pool_for(node->tape->pool, op->B * op->H, 1, across_backward, op);
}

static Tensor *flash_mix(Tape *tape, const Mix *in)
{
    Tensor *y = pairs_mix(tape, in);
    Flash *op = tape_node_in_place(tape, sizeof *op, flash_backward, y);
    const MixSize s = mix_size(in);

    op->in = *in, op->C = setting_or_zero(&in->set, "chunk");
    op->ql = mix_tensor(in, "ql"), op->kl = mix_tensor(in, "kl");
    op->B = in->q->dim[0], op->T = s.T, op->H = s.H, op->D = s.D, op->E = s.E;
    op->angles = in->rope ? rope_angles(tape, op->T, op->D, in->rope_scale) : NULL;
    reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, across_forward, op);
    return y;
}

static double flash_cost(const MixSize *s)
{
    return pairs_cost(s) + 2.0 * s->H * s->D * s->E;
}

/*
 * For each head: ql, kl, S of the chunks before, and the sum for this chunk so far. After all
 * heads: the cache of the chunk.
 */
static size_t own_state(int D, int E)
{
    return 2 * (size_t)D * (size_t)(E + 1);
}

static size_t flash_state(const MixSize *s)
{
    return (size_t)s->H * own_state(s->D, s->E) + pairs_state(s);
}

typedef struct {
    const Step *s;
    real *S, *chunk, *ql, *kl; /* per head */
    int D, E, C, h;
} StepHead;

static void step_across(const StepHead *x)
{
    real *o = x->s->o + x->h * x->E;
    const real *v = x->s->in->v->data + x->h * x->E;
    int n = x->s->t / x->C;

    for (int i = 0; x->s->t % x->C == 0 && i < x->D * x->E; i++) {
        x->S[i] += x->chunk[i];
        x->chunk[i] = 0;
    }
    for (int d = 0; d < x->D; d++)
        for (int e = 0; e < x->E; e++) {
            if (n > 0)
                o[e] += x->ql[d] * x->S[d * x->E + e] / (R(n) * R(x->C));
            if (!x->s->padding)
                x->chunk[d * x->E + e] += x->kl[d] * v[e];
        }
}

static void flash_step(const Step *s)
{
    const Mix *in = s->in;
    int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3];
    const real *ql = mix_tensor(in, "ql")->data, *kl = mix_tensor(in, "kl")->data;
    Step inside = *s;

    inside.state += (size_t)H * own_state(D, E);
    pairs_step(&inside);
    for (int h = 0; h < H; h++) {
        real *own = s->state + (size_t)h * own_state(D, E);
        const real *angles = pairs_angles(&inside);
        StepHead x = { .s = s,
                       .S = own + 2 * D,
                       .chunk = own + 2 * D + D * E,
                       .ql = own,
                       .kl = own + D,
                       .D = D,
                       .E = E,
                       .C = setting_or_zero(&in->set, "chunk"),
                       .h = h };

        memcpy(x.ql, ql + h * D, (size_t)D * sizeof(real));
        memcpy(x.kl, kl + h * D, (size_t)D * sizeof(real));
        if (in->rope) {
            rope_rotate(x.ql, angles, D, false);
            rope_rotate(x.kl, angles, D, false);
        }
        step_across(&x);
    }
}

static const Engine engine = {
    .mix = flash_mix,
    .step = flash_step,
    .state = flash_state,
    .cost = flash_cost,
    .memory = pairs_memory,
};

const Attention attention_flash_gau = {
    .name = "flash-gau",
    .alias = "flash",
    .summary = "FLASH: gated, exact within chunks, linear across them (arXiv:2202.10447)",
    .layer = "gated",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | BLOCKED | SQUARED,
    .operands =
        (const Operand[]){
            { .name = "ql", .shape = "BNHd", .help = "q of the linear part", .own_row = true },
            { .name = "kl", .shape = "BNHd", .help = "k of the linear part" },
            OPERANDS_REL_BIAS,
            { 0 } },
    .settings = (const Setting[]){ { .name = "chunk",
                                     .most = 1 << 24,
                                     .zero = 256,
                                     .tries = { 3, 5, 64, 1 },
                                     .help = "positions per chunk (0: 256)" },
                                   SETTING_REL_BIAS,
                                   SETTINGS_OF_UNIT,
                                   { 0 } },
    .engine = &engine,
    .rule = &(const PairsRule){ &(const Tiling){ &weighting_square, tau_sqrt, by_chunk, 0, 0 },
                                .n0 = "chunk", .chunk = "chunk" },
    .plain = plain_flash_gau,
};
