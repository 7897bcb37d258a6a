/*
 * Hedgehog (Zhang et al., 2024, arXiv:2402.04347): a learned feature map. Each head multiplies q by
 * a matrix W, and k by another. A softmax over the D entries makes weights spiky; a second one, of
 * the negated entries, keeps the directions that the first one suppresses:
 *
 *     phi(x) = [softmax(W x) ; softmax(-W x)]        the same for psi, with the W of k
 *
 * Both W are initialised to the identity. engine/linear.h has the rest.
 *
 * Backward, with z = W x, s = softmax(z), r = softmax(-z) and their gradients ds and dr. Since the
 * derivative of s_a with respect to z_b is s_a ([a = b] - s_b), and that of r_a the same with the
 * opposite sign,
 *
 *     dz = s * (ds - s . ds) - r * (dr - r . dr)        * is elementwise
 *     dx = W^T dz
 *     dW = sum of dz x^T over all rows x of q, or of k
 *
 * Features are at most 1 for any x, so nothing overflows.
 *
 * The paper first trains the maps to reproduce the weights of softmax attention, whose q and k are
 * rotated; hence RoPE is applied before the map by default.
 *
 * Plain twin: plain/hedgehog.c.
 */
#include "ops/attention/engine/head_matrix.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

static int two_softmaxes(int D, int m)
{
    (void)m;
    return 2 * D;
}

/* W of q, and of k. */
static const Tensor *map_of(const Mix *in, bool key)
{
    return mix_tensor(in, key ? "map_k" : "map_q");
}

typedef struct {
    const HeadMatrix *of[2];
} Maps;

static const void *lay_out(Node *node, const Mix *in)
{
    Maps *maps = tape_keep(node, sizeof *maps);

    for (int key = 0; key < 2; key++)
        maps->of[key] = head_matrix(node, map_of(in, key), 1);
    return maps;
}

static const HeadMatrix *side(const MapRows *m)
{
    return ((const Maps *)m->prepared)->of[m->key];
}

static void softmax(real *x, int n)
{
    const real sum = row_exp(x, n, row_max(x, n, -R(HUGE_VAL)));

    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

static void hedgehog_apply(const MapRows *m, const real *x, real *f)
{
    if (m->prepared)
        head_matrix_multiply(side(m), m, x, f);
    else
        head_matrix_row(map_of(m->in, m->key), 1, m, x, f);
    for (int r = 0; r < m->n; r++, f += m->ldf) {
        for (int d = 0; d < m->D; d++)
            f[m->D + d] = -f[d];
        softmax(f, m->D);
        softmax(f + m->D, m->D);
    }
}

/* Replaces the first half of df by dz. */
static void chain_softmaxes(const MapRows *m, const real *restrict f, real *restrict df)
{
    const int D = m->D;

    for (int i = 0; i < m->n; i++, f += m->ldf, df += m->ldf) {
        const real *s = f, *r = f + D, *dr = df + D;
        const real along_s = row_dot(s, df, D), along_r = row_dot(r, dr, D);

        for (int d = 0; d < D; d++)
            df[d] = s[d] * (df[d] - along_s) - r[d] * (dr[d] - along_r);
    }
}

static void hedgehog_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    chain_softmaxes(m, f, df);
    head_matrix_back(side(m), m, df, dx);
    head_matrix_learn(side(m), m, x, df);
}

static void draw_identity(Tensor *w, Random random)
{
    const int D = w->dim[2];

    (void)random;
    for (size_t i = 0; i < w->n; i++)
        w->data[i] = i / (size_t)D % (size_t)D == i % (size_t)D;
}

static const FeatureMap map = { .features = two_softmaxes,
                                .apply = hedgehog_apply,
                                .chain = hedgehog_chain,
                                .prepare = lay_out,
                                .learn = { "map_q", "map_k" } };

const Attention attention_hedgehog = {
    .name = "hedgehog",
    .summary = "linear, features softmax(W x) and softmax(-W x), W learned (arXiv:2402.04347)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | SMOOTH | QUOTIENT | BOUNDED,
    .more_traits = linear_traits,
    .operands = (const Operand[]){ { .name = "map_q",
                                     .shape = "Hdd",
                                     .help = "W of q's features",
                                     .draw = draw_identity,
                                     .learned = true },
                                   { .name = "map_k",
                                     .shape = "Hdd",
                                     .help = "W of k's features",
                                     .draw = draw_identity,
                                     .learned = true },
                                   { 0 } },
    .settings =
        (const Setting[]){ SETTING_ROPE_AT(1, 0), SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_hedgehog,
};
