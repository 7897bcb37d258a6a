/*
 * Fastformer (Wu et al., 2021, arXiv:2108.09084), for one head: instead of comparing queries with
 * keys, it pools both (pooling.c) and multiplies the values by the result. g and h are the paper's
 * global query and global key; g is not a gradient here.
 *
 *     o_i = v_i * pool(k * pool(q))_i
 *
 * with the elementwise product *, that is
 *
 *     g_i = pool(q, w_q)_i               the pool of the queries that row i sees
 *     p_j = g_j * k_j                    for each key
 *     h_i = pool(p, w_k)_i
 *     o_i = h_i * v_i                    or 0, if row i sees no key
 *
 * In the paper every row sees the whole sequence, so g and h are one vector each. The causal form
 * is an extension: row i has the pools of the prefix that ends at i, and p_j uses the g of its own
 * row. Both forms walk over the keys once; causal rows read the pools on the way, the others at the
 * end. The paper's ablation replaces both products (--products first: only that of p, as before
 * version 0.2):
 *
 *     p_j = g_j + k_j                    o_i = h_i + v_i               (add)
 *     p_j = W [g_j; k_j]                 o_i = W' [h_i; v_i]           (concat)
 *
 * The backward pass is the same walk in reverse. do gives dh_i and dv_i; from dh pooling.c has dp_j
 * and dw_k; dp_j gives dg_j and dk_j; from dg pooling.c has dq_j and dw_q. The products:
 *
 *     dg_j = dp_j * k_j                  dk_j = dp_j * g_j             (mul)
 *     dg_j = dk_j = dp_j                                               (add)
 *     [dg_j; dk_j] = W^T dp_j            dW = sum over j of dp_j [g_j; k_j]^T (concat)
 *
 * and the same for dh_i and dv_i, from do_i, with h_i, v_i and W' in the place of g_j, k_j and W.
 *
 * If all rows see the whole sequence, h receives the sum of all dh_i, and g that of all dg_j. Both
 * passes process chunks of TILE rows. The forward pass stores the states of both pools before each
 * chunk; from these the backward pass computes g, p and h of a chunk again, so its scratch memory
 * does not grow with T. If causal, it visits each chunk once, from the last to the first. The
 * gradients of w_q, w_k, W and W' are summed per sequence, and the sums are added in the order of
 * the sequences.
 *
 * engine/walk.c runs forward, engine/walk_back.c backward.
 *
 * Plain twin: plain/fastformer.c.
 */
#include "ops/attention/engine/settings.h"
#include "ops/attention/engine/walk.h"

#include "ops/kernel/elementary.h"

#include <string.h>

/* p from g and k (0), or o from h and v (1). */
static Interaction how_of(const Values *set, int product)
{
    const bool replaced = product == 0 || setting_is(set, "products", "both");

    return replaced ? (Interaction)setting(set, "interaction") : MUL;
}

static Tensor *fastformer_mix(Tape *tape, const Mix *in)
{
    Fastformer *op = tape_node(tape, sizeof *op, walk_backward, 4, in->v->dim);
    const int *q = in->q->dim;

    op->in = *in;
    op->pool_q = mix_tensor(in, "pool_q"), op->pool_k = mix_tensor(in, "pool_k");
    for (int i = 0; i < 2; i++) {
        op->how[i] = how_of(&in->set, i);
        op->matrix[i] = op->how[i] == CONCAT ? mix_tensor(in, i ? "concat_v" : "concat") : NULL;
    }
    op->B = q[0], op->T = q[1], op->H = q[2], op->D = q[3];
    op->states = tape_keep(&op->node, (size_t)(op->B * op->H) * 2 * walk_states(op) * sizeof(real));
    walk_reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, walk_forward, op);
    return op->node.y;
}

/* 2 D per pool for logit and y; p and o, two products without a sum, count as one multiply-add. */
static double fastformer_cost(const MixSize *s)
{
    const int matrices = (how_of(&s->set, 0) == CONCAT) + (how_of(&s->set, 1) == CONCAT);

    return s->H * (5.0 * s->D + matrices * 2.0 * s->D * s->D);
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

/* One of the two products at one position of a head. */
typedef struct {
    Interaction how;
    const real *W; /* of all heads; NULL: none */
} StepProduct;

static StepProduct product_of(const Mix *in, int product)
{
    StepProduct x = { .how = how_of(&in->set, product) };

    if (x.how == CONCAT)
        x.W = mix_tensor(in, product ? "concat_v" : "concat")->data;
    return x;
}

/* p of g and k, or o of h and v; `head` as k and v are the head's. */
static void step_interact(StepProduct x, int head, const Pooling *pool, const real *restrict k,
                          real *restrict p)
{
    const real *restrict y = pool->y;
    const int D = pool->D;
    const real *W = x.W ? x.W + (size_t)head * walk_matrix_size(D) : NULL;

    for (int d = 0; W && d < D; d++, W += 2 * D)
        p[d] = row_dot(W, y, D) + row_dot(W + D, k, D);
    for (int d = 0; x.how != CONCAT && d < D; d++)
        p[d] = x.how == ADD ? y[d] + k[d] : y[d] * k[d];
}

/* p is stored where o will be. */
static void fastformer_step(const Step *s)
{
    const Mix *in = s->in;
    const int D = in->q->dim[3];
    const real *w_q = mix_tensor(in, "pool_q")->data, *w_k = mix_tensor(in, "pool_k")->data;
    const StepProduct first = product_of(in, 0), second = product_of(in, 1);
    const size_t size = pooling_state(D);
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
            step_interact(first, head, &g, in->k->data + head * D, p.at);
            pooling_add(&h, p);
        }
        if (*h.l == 0)
            memset(o, 0, (size_t)D * sizeof *o); /* no key is visible */
        else
            step_interact(second, head, &h, in->v->data + head * D, o);
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
static const char *const products[] = { "first", "both", NULL };
static const char *const replacing[] = { "add", "concat", NULL };
static const char *const shares[] = { "qv", "layers", "pools", "heads", NULL };

/* h_i + v_i and W' [h_i; v_i] are not 0 where v_i is. */
static unsigned of_products(const Values *set)
{
    return how_of(set, 1) == MUL ? 0 : AFFINE_IN_V;
}

const Attention attention_fastformer = {
    .name = "fastformer",
    .summary = "additive attention: pooled queries and keys, O(n) (arXiv:2108.09084)",
    .layer = "pooled",
    .traits = IS_LINEAR | V_AS_WIDE | SMOOTH,
    .more_traits = of_products,
    .operands =
        (const Operand[]){ { .name = "pool_q", .shape = "Hd", .help = "the pooling vector of q" },
                           { .name = "pool_k",
                             .shape = "Hd",
                             .help = "the pooling vector of p, the products with q" },
                           { .name = "concat",
                             .shape = "HdD",
                             .help = "the matrix W of each head",
                             .with = "interaction",
                             .is = "concat" },
                           { .name = "concat_v",
                             .shape = "HdD",
                             .help = "the matrix W' of each head",
                             .with = "interaction",
                             .is = "concat",
                             .and = "products",
                             .as = "both" },
                           { 0 } },
    .settings =
        (const Setting[]){ { "interaction", SETTING_CHOICE, .choices = interactions,
                             .help = "how to combine the pooled q with k, and the pooled "
                                     "result with v" },
                           { "products", SETTING_CHOICE, .value = 1, .was = "first",
                             .choices = products, .with = replacing,
                             .help = "which products --interaction replaces (first: as "
                                     "before version 0.2)" },
                           { "share", SETTING_SET, .choices = shares, .layer = true,
                             .help = "weights to share: those of q and v, all across layers, the "
                                     "pooling vectors across heads, or all parameters "
                                     "across heads" },
                           SETTINGS_AROUND,
                           { 0 } },
    .engine = &engine,
    .plain = plain_fastformer,
};
