/*
 * Fastformer (Wu et al., 2021, arXiv:2108.09084), for one head: instead of comparing queries with
 * keys, it pools both (pooling.c) and multiplies the values by the result. g is the paper's letter,
 * not a gradient.
 *
 *     o_i = v_i * pool(k * pool(q))_i
 *
 * with the elementwise product *, that is
 *
 *     g_i = pool(q, w_q)_i               the pool of the queries that row i sees
 *     p_j = g_j * k_j                    for each key
 *     h_i = pool(p, w_k)_i
 *     o_i = h_i * v_i
 *
 * In the paper every row sees the whole sequence, so g and h are one vector each. The causal form
 * is an extension: row i has the pools of the prefix that ends at i, and p_j uses the g of its own
 * row. Both forms walk over the keys once; causal rows read the pools on the way, the others at the
 * end. The paper's ablation has two other interactions:
 *
 *     p_j = g_j + k_j                    p_j = W [g_j; k_j]
 *
 * The backward pass is the same walk in reverse, with dp_j and dg from pooling.c:
 *
 *     dv_i = do_i * h_i                  dh_i = do_i * v_i
 *     dg_j = dp_j * k_j                  dk_j = dp_j * g_j             (mul)
 *     dg_j = dk_j = dp_j                                               (add)
 *     [dg_j; dk_j] = W^T dp_j            dW = sum over j of dp_j [g_j; k_j]^T (concat)
 *
 * If all rows see the whole sequence, h receives the sum of all dh_i, and g that of all dg_j. Both
 * passes process chunks of TILE rows. The forward pass stores the states of both pools before each
 * chunk; from these the backward pass computes g, p and h of a chunk again, so its scratch memory
 * does not grow with T. If causal, it visits each chunk once, from the last to the first. The
 * gradients of w_q, w_k and W are summed per sequence, and the sums are added in the order of the
 * sequences.
 *
 * engine/walk.c runs forward, engine/walk_back.c backward.
 *
 * The same in plain loops: plain/fastformer.c.
 */
#include "ops/attention/engine/walk.h"

#include "ops/kernel/elementary.h"

static Tensor *fastformer_mix(Tape *tape, const Mix *in)
{
    Fastformer *op = tape_node(tape, sizeof *op, walk_backward, 4, in->v->dim);
    const int *q = in->q->dim;

    op->in = *in, op->how = (Interaction)setting(&in->set, "interaction");
    op->pool_q = mix_tensor(in, "pool_q"), op->pool_k = mix_tensor(in, "pool_k");
    op->concat = mix_tensor(in, "concat");
    op->B = q[0], op->T = q[1], op->H = q[2], op->D = q[3];
    op->states = tape_keep(&op->node, (size_t)(op->B * op->H) * 2 * walk_states(op) * sizeof(real));
    walk_reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, walk_forward, op);
    return op->node.y;
}

/* 2 D per pool for logit and y; p and o, two products without a sum, count as one multiply-add. */
static double fastformer_cost(const MixSize *s)
{
    bool concat = setting(&s->set, "interaction") == CONCAT;

    return s->H * (5.0 * s->D + (concat ? 2.0 * s->D * s->D : 0));
}

/* The states of the pools. */
static MixMemory fastformer_memory(const MixSize *s)
{
    double states = 1 + (s->T + TILE - 1) / TILE;

    return (MixMemory){ s->H * 2 * states * (double)pooling_state(s->D) / s->T, 0 };
}

static size_t fastformer_state(const MixSize *s)
{
    return 2 * (size_t)s->H * pooling_state(s->D);
}

/* p of one key; W is the head's matrix, or NULL. */
static void step_interact(Interaction how, const real *restrict W, const Pooling *g,
                          const real *restrict k, real *restrict p)
{
    const real *restrict y = g->y;
    const int D = g->D;

    for (int d = 0; how == CONCAT && d < D; d++, W += 2 * D)
        p[d] = row_dot(W, y, D) + row_dot(W + D, k, D);
    for (int d = 0; how != CONCAT && d < D; d++)
        p[d] = how == ADD ? y[d] + k[d] : y[d] * k[d];
}

/* o = h * v, or zeros if the pool is empty. */
static void step_meet(const Pooling *h, const real *restrict v, real *restrict u)
{
    const real *restrict y = h->y;
    bool empty = *h->l == 0;

    for (int d = 0; d < h->D; d++)
        u[d] = empty ? 0 : y[d] * v[d];
}

/* p is stored where o will be. */
static void fastformer_step(const Step *s)
{
    const Mix *in = s->in;
    const int D = in->q->dim[3];
    const Interaction how = (Interaction)setting(&in->set, "interaction");
    const real *w_q = mix_tensor(in, "pool_q")->data, *w_k = mix_tensor(in, "pool_k")->data;
    const real *W = how == CONCAT ? mix_tensor(in, "concat")->data : NULL;
    const size_t size = pooling_state(D), per_head = W ? walk_matrix_size(how, D) : 0;
    Blend blend;

    for (int head = 0; head < in->q->dim[2]; head++) {
        real *state = s->state + (size_t)head * 2 * size, *o = s->o + head * D;
        Pooling g = { .D = D, .ld = D, .w = w_q + head * D, .blend = &blend };
        Pooling h = { .D = D, .ld = D, .w = w_k + head * D, .blend = &blend };
        Rows q = { in->q->data + head * D, D, s->t, 1 }, p = { o, D, s->t, 1 };

        pooling_at(&g, state);
        pooling_at(&h, state + size);
        if (!s->padding) {
            pooling_add(&g, q);
            step_interact(how, W ? W + head * per_head : NULL, &g, in->k->data + head * D, p.at);
            pooling_add(&h, p);
        }
        step_meet(&h, in->v->data + head * D, o);
    }
}

static const Engine engine = {
    .mix = fastformer_mix,
    .step = fastformer_step,
    .state = fastformer_state,
    .cost = fastformer_cost,
    .memory = fastformer_memory,
};

static const char *const interactions[] = { "mul", "add", "concat", NULL };
static const char *const shares[] = { "qv", "layers", "heads", NULL };

const Attention attention_fastformer = {
    .name = "fastformer",
    .summary = "additive attention: pooled queries and keys, O(n) (arXiv:2108.09084)",
    .layer = "pooled",
    .traits = IS_LINEAR | V_AS_WIDE | SMOOTH,
    .operands =
        (const Operand[]){ { .name = "pool_q", .shape = "Hd", .help = "the pooling vector of q" },
                           { .name = "pool_k", .shape = "Hd", .help = "the pooling vector of p" },
                           { .name = "concat",
                             .shape = "HdD",
                             .help = "the matrix W of each head",
                             .with = "interaction",
                             .is = "concat" },
                           { 0 } },
    .settings = (const Setting[]){ { "interaction", SETTING_CHOICE, .choices = interactions,
                                     .help = "how to combine the pooled q with k" },
                                   { "share", SETTING_SET, .choices = shares, .layer = true,
                                     .help = "weights to share: of q and v, of all "
                                             "layers, pooling vectors of all heads" },
                                   { 0 } },
    .engine = &engine,
    .plain = plain_fastformer,
};
