/*
 * The scan of delta.h, chunk by chunk (TILE positions). Inside a chunk, with S_0 the state before
 * it, with rows a_t, q_t, b_t and u_t of A, Q, B and U, and with <A, B> the products a_t . b_s of
 * its pairs, decayed from s to t (delta_fade.c; for each feature, delta_fade_feature.c),
 *
 *     M = <A, B> for s < t, else 0        P = <Q, B> for s <= t, else 0
 *     U = X + A' S_0 + M U                 (1 - M) U = X + A' S_0
 *     O = Q' S_0 + P U                     S_C = w S_0 + B'^T U
 *
 * where A' and Q' are A and Q decayed since the start of the chunk, B' is B decayed until its end,
 * and w S_0 is S_0 decayed over the chunk. 1 - M is triangular with ones on its diagonal: U is
 * computed from its first row to its last (lower.c), and everything else is a matrix product. If k
 * v^T is added to the state as well, it has terms like those of b u^T: with M_k = <A, K> for s < t
 * and P_k = <Q, K> for s <= t,
 *
 *     (1 - M) U = X + A' S_0 + M_k V
 *     O = Q' S_0 + P U + P_k V             S_C = w S_0 + B'^T U + K'^T V
 *
 * Backward, with G the gradient of O, and R that of S_C, from the chunks to the right,
 *
 *     dU  = P^T G + B' R            (1 - M)^T dX = dU
 *     dV  = P_k^T G + M_k^T dX + K' R
 *     dP  = G U^T                   dM  = dX U^T          for visible pairs
 *     dP_k = G V^T                  dM_k = dX V^T
 *     dQ' = G S_0^T                 dA' = dX S_0^T        dB' = U R^T        dK' = V R^T
 *     R_0 = w R + Q'^T G + A'^T dX                        the R of the chunk before
 *
 * from which the files of the decays compute dA, dQ, dB and dg. For the delta rule b = k, x = beta
 * v, and a = -beta k with the decay of its own position:
 *
 *     dv = beta dx        dk = db - beta da        dbeta = v . dx - k . da
 *
 * A Side of the code is B with U or K with V, its x and y, with M and P or M_k and P_k as its A and
 * P, and with dX or dV as its dy. U and the S_0 of each chunk are stored for the backward pass,
 * which visits each chunk once, from the last to the first. Padded keys are zeroed here, and their
 * g is 0.
 */
#include "ops/attention/engine/delta.h"

#include "ops/attention/engine/delta_chunk.h"
#include "ops/attention/engine/lower.h"
#include "ops/ops.h"

#include <string.h>

const Projection delta_beta = { .f = &activation_sigmoid, .twice = "negative" };

static void find_u(Chunk *x)
{
    const Side *b = &x->side[0], *k = &x->side[1];

    x->op->fading->read(x, x->a, chunk_own(x));
    rows_multiply(b->y, x->read, x->op->s.D, x->S, true);
    if (x->sides > 1)
        lower_multiply(b->y, k->A, k->y);
    lower_solve(b->y, b->A);
}

static void keep(const Chunk *x)
{
    states_put(&x->op->S, &x->head, x->t0, x->S);
    if (x->op->u)
        head_scatter(&x->head, (Grad){ x->op->u, false }, x->side[0].y, x->op->s.E);
}

static void forward_chunk(Chunk *x, int t0)
{
    const Delta *op = x->op;

    chunk_load(x, t0, false);
    op->fading->pairs(x);
    find_u(x);
    keep(x);
    op->fading->read(x, x->q, true);
    rows_multiply(x->o, x->read, op->s.D, x->S, false);
    op->fading->fade(x, x->S);
    for (int i = 0; i < x->sides; i++) {
        const Side *s = &x->side[i];

        lower_multiply(x->o, s->P, s->y);
        op->fading->leave(x, s->x);
        rows_multiply_over(x->S, op->s.D, x->left, s->y, s->y.n);
    }
    head_scatter(&x->head, (Grad){ op->node.y->data, false }, x->o, op->s.E);
}

static void forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = chunk_open(ctx, number);

        for (int t0 = 0; t0 < x.T; t0 += TILE)
            forward_chunk(&x, t0);
    }
}

/* dX, which is dU at first, and dV */
static void back_values(Chunk *x)
{
    Side *b = &x->side[0], *k = &x->side[1];

    for (int i = 0; i < x->sides; i++) {
        x->op->fading->leave(x, x->side[i].x);
        rows_multiply(x->side[i].dy, x->left, x->op->s.D, x->R, false);
        lower_multiply_over(x->side[i].dy, x->side[i].P, x->go);
    }
    lower_solve_over(b->dy, b->A);
    if (x->sides > 1)
        lower_multiply_over(k->dy, k->A, b->dy);
}

static void back_pairs(Chunk *x)
{
    const int E = x->op->s.E, n = x->q.n;

    for (int i = 0; i < x->sides; i++) {
        const Side *s = &x->side[i];

        rows_transpose(s->y, x->yt, TILE, E);
        lower_scores(s->dP, x->go, E, x->yt);
        lower_scores(s->dA, x->side[0].dy, E, x->yt);
        for (int t = 0; t < n; t++)
            s->dself[t] = s->dP[t * TILE + t];
        lower_clear(s->dP, n, true);
        lower_clear(s->dA, n, true);
    }
}

/* What q_t and x_t get from q_t . x_t. */
static void back_self(Chunk *x)
{
    for (int i = 0; i < x->sides; i++) {
        const Side *s = &x->side[i];

        for (int j = 0; j < x->q.n * x->D; j++) {
            x->dq.at[j] += s->dself[j / x->D] * s->x.at[j];
            s->dx.at[j] += s->dself[j / x->D] * x->q.at[j];
        }
    }
}

static void transpose_state(const Chunk *x, real *S)
{
    rows_transpose((Rows){ S, x->E, 0, x->op->s.D }, x->St, x->D, x->op->s.E);
}

/* The gradients of decayed rows. */
static void back_reads(Chunk *x)
{
    const int E = x->op->s.E;

    transpose_state(x, states_of(&x->op->S, &x->head, x->t0));
    rows_multiply(x->dq, x->go, E, x->St, false);
    rows_multiply(x->da, x->side[0].dy, E, x->St, false);
    transpose_state(x, x->R);
    for (int i = 0; i < x->sides; i++)
        rows_multiply(x->side[i].dx, x->side[i].y, E, x->St, false);
}

static void back_state(Chunk *x)
{
    x->op->fading->fade(x, x->R);
    x->op->fading->read(x, x->q, true);
    rows_multiply_over(x->R, x->op->s.D, x->read, x->go, x->q.n);
    x->op->fading->read(x, x->a, chunk_own(x));
    rows_multiply_over(x->R, x->op->s.D, x->read, x->side[0].dy, x->q.n);
}

static void backward_chunk(Chunk *x, int t0)
{
    const Fading *fading = x->op->fading;

    chunk_load(x, t0, true);
    fading->pairs(x);
    back_values(x);
    back_pairs(x);
    back_reads(x);
    fading->back(x);
    fading->gradient(x, t0 + TILE < x->T ? states_of(&x->op->S, &x->head, t0 + TILE) : NULL);
    back_self(x);
    back_state(x);
    chunk_put(x);
}

static void backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Chunk x = chunk_open(ctx, number);

        x.head.ahead = -TILE;
        for (int t0 = (x.T - 1) / TILE * TILE; t0 >= 0; t0 -= TILE)
            backward_chunk(&x, t0);
    }
}

static Grad gradient_of(Tape *tape, Tensor *x)
{
    return x ? tape_grad(tape, x) : (Grad){ NULL, false };
}

static void delta_backward(Node *node)
{
    Delta *op = (Delta *)node;
    Tape *tape = node->tape;

    /* in the order in which they are written: one tensor may be several */
    op->dq = tape_grad(tape, op->in.q);
    op->dk = tape_grad(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    op->dbeta = gradient_of(tape, op->beta);
    op->da = gradient_of(tape, op->a);
    op->db = gradient_of(tape, op->b);
    op->dg = gradient_of(tape, op->g);
    pool_reserve(tape->pool, chunk_scratch(op) * sizeof(real));
    pool_for(tape->pool, op->in.q->dim[0] * op->s.H, 1, backward, op);
}

static void take_operands(Delta *op, const Mix *in)
{
    const DeltaRule *rule = in->attention->rule;

    op->rule = rule;
    op->in = *in;
    op->beta = rule->own ? NULL : mix_tensor(in, "beta");
    op->a = rule->own ? mix_tensor(in, "a") : NULL;
    op->b = rule->own ? mix_tensor(in, "b") : NULL;
    op->g = rule->decay ? mix_tensor(in, rule->decay) : NULL;
    op->fading = op->g && op->g->ndim == 4 ? &fading_of_features : &fading_of_head;
}

static Tensor *delta_mix(Tape *tape, const Mix *in)
{
    Delta *op = tape_node(tape, sizeof *op, delta_backward, 4, in->v->dim);
    const size_t heads = (size_t)(in->q->dim[0] * in->q->dim[2]);

    op->s = mix_size(in);
    take_operands(op, in);
    op->u = tape->forward_only ? NULL : tape_keep(&op->node, in->v->n * sizeof(real));
    op->S = states_keep(&op->node, in, state_size(op->s.D, op->s.E));
    pool_reserve(tape->pool, chunk_scratch(op) * sizeof(real));
    pool_for(tape->pool, (int)heads, 1, forward, op);
    return op->node.y;
}

/* Per token: what the state gives to a row, what the row takes of it and adds, and its pairs. */
static double delta_cost(const MixSize *s)
{
    const double pairs = 0.5 * fmin(TILE, s->T) * (s->D + s->E), state = (double)s->D * s->E;
    const DeltaRule *rule = s->attention->rule;

    return s->H * (rule->own ? 4 * state + 4 * pairs : 3 * state + 2 * pairs);
}

/* u, and the states between chunks. */
static MixMemory delta_memory(const MixSize *s)
{
    return (MixMemory){ .kept = s->H * s->E + states_cost(s, state_size(s->D, s->E)) };
}

const Engine engine_delta = { .mix = delta_mix,
                              .step = delta_step,
                              .state = delta_state,
                              .cost = delta_cost,
                              .memory = delta_memory };
