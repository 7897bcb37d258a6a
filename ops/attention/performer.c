/*
 * Performer (Choromanski et al., 2021, arXiv:2009.14794): random features whose product is, in
 * expectation, softmax's weight e^(q . k / sqrt(D)). With x' = x D^(-1/4) and m fixed directions
 * omega_r, drawn once (engine/directions.c):
 *
 *     phi_r(x) = psi_r(x) = e^(omega_r . x' - x' . x' / 2) / sqrt(m)
 *
 * Backward, with f_r = phi_r(x) and the gradient h_r = df_r f_r of the exponent:
 *
 *     dx = D^(-1/4) (sum over r of h_r omega_r - x' sum over r of h_r)
 *
 * omega is not trained and has no gradient. Whole tiles are multiplied by the kernel, with two
 * layouts of omega D^(-1/4); a single row, in decoding, in plain loops.
 *
 * The same in plain loops: plain/performer.c.
 */
#include "ops/attention/engine/directions.h"
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/head.h"

#include "ops/kernel/elementary.h"

#include <string.h>

static int random_features(int D, int m)
{
    (void)D;
    return m;
}

/* omega D^(-1/4) of all heads, laid out for the kernel: (H, D, F') for f and (H, F, D') for x. */
typedef struct {
    real *to_f, *to_x;
    int wide_f, wide_x;
} Directions;

static real *zeros(Node *node, size_t n)
{
    return memset(tape_keep(node, n * sizeof(real)), 0, n * sizeof(real));
}

static const void *lay_out(Node *node, const Mix *in)
{
    const Tensor *omega = mix_tensor(in, "omega");
    size_t H = (size_t)omega->dim[0], F = (size_t)omega->dim[1], D = (size_t)omega->dim[2];
    Directions *to = tape_keep(node, sizeof *to);
    real by = R(pow((double)D, -0.25));

    to->wide_f = up_to((int)F, NR), to->wide_x = up_to((int)D, NR);
    to->to_f = zeros(node, H * D * (size_t)to->wide_f);
    to->to_x = zeros(node, H * F * (size_t)to->wide_x);
    for (size_t i = 0; i < H * F; i++)
        for (size_t d = 0; d < D; d++) {
            real w = omega->data[i * D + d] * by;

            to->to_f[(i / F * D + d) * (size_t)to->wide_f + i % F] = w;
            to->to_x[i * (size_t)to->wide_x + d] = w;
        }
    return to;
}

/* One row. */
static void project_row(const MapRows *m, const real *x, real *f)
{
    const real *omega = mix_tensor(m->in, "omega")->data + m->head * m->F * m->D;
    real by = R(pow((double)m->D, -0.25));

    for (int j = 0; j < m->F; j++)
        f[j] = row_dot(omega + j * m->D, x, m->D) * by;
}

/* omega_r . x' of each row. */
static void project(const MapRows *m, const real *x, real *f)
{
    const Directions *to = m->prepared;

    if (to)
        rows_multiply((Rows){ f, m->ldf, 0, m->n }, (Rows){ (real *)x, m->ldx, 0, m->n }, m->D,
                      to->to_f + (size_t)m->head * (size_t)(m->D * to->wide_f), false);
    for (int r = 0; !to && r < m->n; r++)
        project_row(m, x + r * m->ldx, f + r * m->ldf);
}

static void performer_apply(const MapRows *m, const real *x, real *f)
{
    real half = R(0.5 / sqrt((double)m->D)), by = R(1 / sqrt((double)m->F));

    project(m, x, f);
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        real square = row_dot(x, x, m->D) * half;

        for (int j = 0; j < m->F; j++)
            f[j] = exp_real(f[j] - square) * by;
    }
}

static void performer_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    const Directions *to = m->prepared;
    real root = R(1 / sqrt((double)m->D));

    for (int r = 0; r < m->n; r++)
        for (int j = 0; j < m->F; j++)
            df[r * m->ldf + j] *= f[r * m->ldf + j]; /* h */
    rows_multiply((Rows){ dx, m->ldx, 0, m->n }, (Rows){ df, m->ldf, 0, m->n }, m->F,
                  to->to_x + (size_t)m->head * (size_t)(m->F * to->wide_x), false);
    for (int r = 0; r < m->n; r++, x += m->ldx, df += m->ldf, dx += m->ldx) {
        real sum = row_sum(df, m->F) * root;

        for (int d = 0; d < m->D; d++)
            dx[d] -= x[d] * sum;
    }
}

static const FeatureMap map = { .features = random_features,
                                .apply = performer_apply,
                                .chain = performer_chain,
                                .prepare = lay_out };

const Attention attention_performer = {
    .name = "performer",
    .summary = "linear, random features of the softmax kernel (arXiv:2009.14794)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | SMOOTH | QUOTIENT,
    .more_traits = linear_traits,
    .operands = (const Operand[]){ { .name = "omega",
                                     .shape = "Hmd",
                                     .help = "random directions",
                                     .draw = directions_draw },
                                   { 0 } },
    .settings =
        (const Setting[]){ { .name = "features",
                             .most = 1 << 20,
                             .layer = true,
                             .size = 'm',
                             .of_key = 4,
                             .tries = { 6, 9 },
                             .help = "random features per head (0: 4 times the width of a key)" },
                           SETTING_ROPE_AT(0, 0),
                           SETTING_WINDOW,
                           SETTINGS_OF_HEADS,
                           { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_performer,
};
