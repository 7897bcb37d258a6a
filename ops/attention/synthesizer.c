/*
 * Synthesizer (Tay et al., 2020, arXiv:2005.00743): attention whose scores do not compare q with k.
 * Over all j in V(i),
 *
 *     s_ij = sum over d of relu(q_i)_d W_dj      (--kind dense)
 *     s_ij = R_ij                                (--kind random)
 *
 *     A_ij = e^s_ij / sum over l of e^s_il       o_i = sum over j of A_ij v_j
 *
 * with a learned W (D, context) or R (context, context) for each head. The paper's dense scores are
 * W2 relu(W1 x + b1) + b2 for a row x of the layer's input. Here W1 x + b1 is q, a projection of x
 * (with --bias for b1), and W is W2; b2, a number per key that is the same for all rows, is left
 * out. k is not used, nor, in random synthesizers, q: the layer passes q, or v, in their place, and
 * has no matrix for them. Sequences longer than the context have no scores, and are refused.
 *
 * Cost and memory are those of exact attention: quadratic time, but only tiles of A are in memory.
 * With ds_ij = A_ij (dA_ij - delta_i) as in tiles.c, and * elementwise, the backward pass is
 *
 *     dq_i  = [q_i > 0] * sum over j of ds_ij W_j      W_j: column j of W
 *     dW_j  = sum of ds_ij relu(q_i) over rows i and sequences
 *     dR_ij = sum of ds_ij over sequences
 *
 * One piece of work is a head, with its sequences in order. Decoding keeps the values of all
 * positions.
 *
 * Plain twin: plain/synthesizer.c.
 */
#include "ops/attention/engine/cross.h"

#include "ops/attention/engine/settings.h"
#include "ops/decoding.h"
#include "ops/kernel/elementary.h"
#include "ops/kernel/transpose.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    bool dense;
    const Tensor *map; /* W or R */
    RowState *row;     /* (B, H, T) */
    Grad dq, dv;
    real *dmap;
} Synthesizer;

/* A head, of one sequence after the other, and the scratch memory of its thread. */
typedef struct {
    const Synthesizer *op;
    Head head;
    View view;
    int D, E, i0;
    Rows q, dq, o, g; /* tiles of rows */
    Rows k, dk;       /* the columns of W, (T, D) */
    Rows v, dv;       /* (T, E) */
    Cross cross;
} Work;

static size_t scratch(const Synthesizer *op)
{
    const size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);

    return cross_scratch(op->s.D, op->s.E) + 2 * (TILE + (size_t)up_to(op->s.T, TILE)) * (D + E);
}

static Rows rows(real **free, int n, int ld)
{
    return (Rows){ carve(free, up_to(n, TILE), ld), ld, 0, n };
}

/* The row of R in which row i has its scores, or its gradient. */
static size_t map_row(const Work *w, int i)
{
    const size_t c = (size_t)w->op->s.c;

    return ((size_t)w->head.h * c + (size_t)(w->i0 + i)) * c;
}

static bool hide(const void *ctx, int i, int j0, real *s)
{
    const Work *w = ctx;
    const Span keys = view_keys(&w->view, w->i0 + i);

    for (int j = max(keys.to - j0, 0); j < TILE; j++)
        s[j] = -R(HUGE_VAL);
    return j0 < keys.to;
}

static void score(const void *ctx, int i0, int j0, int n, real *s)
{
    const Work *w = ctx;

    for (int i = i0; i < min(i0 + TILE, w->q.n); i++)
        memcpy(row_of(s, i - i0, TILE), w->op->map->data + map_row(w, i) + j0,
               (size_t)n * sizeof(real));
}

static void take(const void *ctx, int i0, int j0, int n, const real *ds)
{
    const Work *w = ctx;

    for (int i = i0; i < min(i0 + TILE, w->q.n); i++)
        grad_add((Grad){ w->op->dmap, true }, map_row(w, i) + (size_t)j0, ds + (i - i0) * TILE, n);
}

static Work open(const Synthesizer *op, int h)
{
    real *free = pool_scratch();
    Work w = { .op = op, .D = up_to(op->s.D, NR), .E = up_to(op->s.E, NR) };
    const int T = op->s.T;

    w.head = head_of(&op->in, h);
    w.q = rows(&free, TILE, w.D), w.dq = rows(&free, TILE, w.D);
    w.o = rows(&free, TILE, w.E), w.g = rows(&free, TILE, w.E);
    w.k = rows(&free, T, w.D), w.dk = rows(&free, T, w.D);
    w.v = rows(&free, T, w.E), w.dv = rows(&free, T, w.E);
    w.cross = (Cross){ .D = op->s.D, .E = op->s.E, .hide = hide };
    if (!op->dense)
        w.cross.score = score, w.cross.take = take;
    cross_carve(&w.cross, &free);
    if (op->dense)
        transpose(w.k.at, w.D,
                  (Strided){ op->map->data + (size_t)(h * op->s.D) * (size_t)op->s.c, op->s.c, 1,
                             op->s.D, T });
    return w;
}

/* The values of sequence b, without padding. */
static void load_values(Work *w, int b)
{
    w->head.b = b;
    w->view = view_of(&w->op->in, b);
    w->v.n = w->view.length;
    head_gather(&w->head, w->v, w->op->in.v->data, w->op->s.E);
}

/* The rows from i0 on, and the keys up to the last that any of them sees. */
static Cross load_rows(Work *w, int i0)
{
    const Synthesizer *op = w->op;
    const int n = min(TILE, op->s.T - i0), number = w->head.b * op->s.H + w->head.h;
    Cross x = w->cross;

    w->i0 = w->q.t0 = w->dq.t0 = w->o.t0 = w->g.t0 = i0;
    w->q.n = w->dq.n = w->o.n = w->g.n = n;
    if (op->dense)
        head_gather(&w->head, w->q, op->in.q->data, op->s.D);
    for (int i = 0; op->dense && i < n; i++)
        for (int d = 0; d < op->s.D; d++) {
            real *q = row_of(w->q.at, i, w->D) + d;

            *q = *q < 0 ? 0 : *q; /* NaN stays */
        }
    x.ctx = w, x.row = op->row + (size_t)number * (size_t)op->s.T + i0;
    x.q = w->q, x.o = w->o, x.k = w->k, x.v = w->v;
    x.g = w->g, x.dq = w->dq, x.dk = w->dk, x.dv = w->dv;
    x.v.n = x.k.n = x.dk.n = x.dv.n = view_keys(&w->view, i0 + n - 1).to;
    return x;
}

static void forward(void *ctx, int begin, int end)
{
    const Synthesizer *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number % op->s.H);

        load_values(&w, number / op->s.H);
        for (int i0 = 0; i0 < op->s.T; i0 += TILE) {
            const Cross x = load_rows(&w, i0);

            cross_start(&x);
            cross_add(&x);
            cross_finish(&x);
            head_scatter(&w.head, (Grad){ op->node.y->data, false }, w.o, op->s.E);
        }
    }
}

static void clear(Rows x)
{
    memset(x.at, 0, (size_t)x.n * (size_t)x.ld * sizeof(real));
}

/* dq of some rows; adds to dv, and to dk or dR. */
static void backward_rows(Work *w, int i0)
{
    const Synthesizer *op = w->op;
    const Cross x = load_rows(w, i0);

    head_gather(&w->head, w->o, op->node.y->data, op->s.E);
    head_gather(&w->head, w->g, op->node.y->grad, op->s.E);
    clear(w->dq);
    cross_delta(&x);
    cross_backward(&x);
    for (int i = 0; i < w->q.n; i++)
        for (int d = 0; op->dense && d < op->s.D; d++)
            row_of(w->dq.at, i, w->D)[d] *= row_of(w->q.at, i, w->D)[d] > 0;
    if (op->dense)
        head_scatter(&w->head, op->dq, w->dq, op->s.D);
}

/* dW from the gradients of its columns. */
static void put_map(const Work *w)
{
    const MixSize *s = &w->op->s;

    for (int d = 0; d < s->D; d++) {
        real *to = w->op->dmap + (size_t)(w->head.h * s->D + d) * (size_t)s->c;

        for (int j = 0; j < s->T; j++)
            to[j] += row_of(w->dk.at, j, w->D)[d];
    }
}

static void backward(void *ctx, int begin, int end)
{
    const Synthesizer *op = ctx;

    for (int h = begin; h < end; h++) {
        Work w = open(op, h);

        clear(w.dk);
        for (int b = 0; b < op->in.q->dim[0]; b++) {
            load_values(&w, b);
            clear(w.dv);
            for (int i0 = 0; i0 < op->s.T; i0 += TILE)
                backward_rows(&w, i0);
            head_scatter(&w.head, op->dv, w.dv, op->s.E);
        }
        if (op->dense)
            put_map(&w);
    }
}

static void synthesizer_backward(Node *node)
{
    Synthesizer *op = (Synthesizer *)node;
    Tape *tape = node->tape;

    if (op->dense)
        op->dq = tape_grad(tape, op->in.q);
    else
        tape_grad_zeroed(tape, op->in.q);
    tape_grad_zeroed(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    op->dmap = tape_grad_zeroed(tape, mix_tensor(&op->in, op->dense ? "w" : "r"));
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->s.H, 1, backward, op);
}

static bool is_dense(const Values *set)
{
    return setting_is(set, "kind", "dense");
}

static Tensor *synthesizer_mix(Tape *tape, const Mix *in)
{
    const MixSize s = mix_size(in);
    Synthesizer *op = tape_node(tape, sizeof *op, synthesizer_backward, 4, in->v->dim);

    op->in = *in, op->s = s, op->dense = is_dense(&in->set);
    op->map = mix_tensor(in, op->dense ? "w" : "r");
    op->row = tape_keep(&op->node, (size_t)(in->q->dim[0] * s.H) * (size_t)s.T * sizeof *op->row);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, in->q->dim[0] * s.H, 1, forward, op);
    return op->node.y;
}

/* For each position its values, and whether it is padding; the scores of a row. */
static size_t synthesizer_state(const MixSize *s)
{
    return (size_t)s->T * ((size_t)s->H * (size_t)s->E + 2);
}

/* Row t of the scores of head h. */
static void step_scores(const Step *s, int h, real *to)
{
    const MixSize size = mix_size(s->in);
    const bool dense = is_dense(&s->in->set);
    const size_t c = (size_t)size.c;
    const real *map = mix_tensor(s->in, dense ? "w" : "r")->data;

    memset(to, 0, (size_t)(s->t + 1) * sizeof(real));
    if (!dense)
        memcpy(to, map + ((size_t)h * c + (size_t)s->t) * c, (size_t)(s->t + 1) * sizeof(real));
    for (int d = 0; dense && d < size.D; d++) {
        const real *w = map + (size_t)(h * size.D + d) * c, q = s->in->q->data[h * size.D + d];

        for (int j = 0; j <= s->t; j++)
            to[j] += (q < 0 ? 0 : q) * w[j];
    }
}

/* The values are (positions, H, E). */
static void step_head(const Step *s, int h, const real *hidden, const real *values, real *scores)
{
    const int E = s->in->v->dim[3], row = s->in->v->dim[2] * E;
    real *o = s->o + h * E, top = -R(HUGE_VAL), sum = 0;

    step_scores(s, h, scores);
    memset(o, 0, (size_t)E * sizeof(real));
    for (int j = 0; j <= s->t; j++)
        top = hidden[j] == 0 && scores[j] > top ? scores[j] : top;
    for (int j = 0; j <= s->t; j++) {
        const real weight = hidden[j] == 0 ? exp_below(scores[j] - top) : 0;

        sum += weight;
        for (int e = 0; hidden[j] == 0 && e < E; e++)
            o[e] += weight * values[j * row + h * E + e];
    }
    for (int e = 0; sum > 0 && e < E; e++)
        o[e] /= sum;
}

static void synthesizer_step(const Step *s)
{
    const int n = (int)s->in->v->n, H = s->in->v->dim[2];
    real *hidden = s->state, *scores = hidden + s->tape->decoding->most;
    real *values = scores + s->tape->decoding->most;

    hidden[s->t] = s->padding;
    memcpy(values + (size_t)s->t * (size_t)n, s->in->v->data, (size_t)n * sizeof(real));
    for (int h = 0; h < H && !s->state_only; h++)
        step_head(s, h, hidden, values, scores);
}

static double synthesizer_cost(const MixSize *s)
{
    return (s->causal ? 0.5 : 1) * s->T * s->H * ((is_dense(&s->set) ? s->D : 0) + s->E);
}

/* The state of a row. */
static MixMemory synthesizer_memory(const MixSize *s)
{
    return (MixMemory){ s->H * (double)(sizeof(RowState) / sizeof(real)), 0 };
}

static unsigned traits(const Values *set)
{
    return is_dense(set) ? KINKED : SMOOTH | QUERYLESS;
}

static const Engine engine = {
    .mix = synthesizer_mix,
    .step = synthesizer_step,
    .state = synthesizer_state,
    .cost = synthesizer_cost,
    .memory = synthesizer_memory,
};

static const char *const kinds[] = { "dense", "random", NULL };

const Attention attention_synthesizer = {
    .name = "synthesizer",
    .summary = "scores from q alone, or learned for each pair of positions, O(n^2) "
               "(arXiv:2005.00743)",
    .traits = HAS_MATRIX | AVERAGES | PLACED | ALONE_FIXED | KEYLESS,
    .more_traits = traits,
    .operands = (const Operand[]){ { .name = "w",
                                     .shape = "Hdc",
                                     .help = "matrix that maps relu(q) to scores",
                                     .with = "kind",
                                     .is = "dense" },
                                   { .name = "r",
                                     .shape = "Hcc",
                                     .help = "scores of pairs of positions",
                                     .with = "kind",
                                     .is = "random" },
                                   { 0 } },
    .settings =
        (const Setting[]){
            { .name = "kind",
              .kind = SETTING_CHOICE,
              .choices = kinds,
              .help = "scores computed from q, or learned for each pair of positions" },
            SETTING_OUT_NORM(0),
            SETTING_OUT_GATE(0),
            { 0 } },
    .engine = &engine,
    .plain = plain_synthesizer,
};
