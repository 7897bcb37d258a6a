/*
 * Performer (Choromanski et al., 2021, arXiv:2009.14794): random features whose product is, in
 * expectation, softmax's weight e^(q . k / sqrt(D)). With x' = s x, s = D^(-1/4), and m random
 * directions omega_r (engine/directions.c):
 *
 *     phi_r(x) = psi_r(x) = e^(omega_r . x' - x' . x' / 2) / sqrt(m)
 *
 * or, with --kernel relu, the paper's other kernel, where s = 1 and a constant keeps every
 * denominator away from 0 (the authors' code divides omega by sqrt(m) besides):
 *
 *     phi_r(x) = psi_r(x) = max(omega_r . x', 0) + 0.001
 *
 * Backward, with f_r = phi_r(x) and the gradient h_r of omega_r . x': it is df_r f_r, or with relu
 * df_r where f_r > 0.001, else 0. x' also appears as a square in the exponent, whose gradient is
 * the sum of the h_r, so
 *
 *     dx = s (sum over r of h_r omega_r - x' sum over r of h_r)        (softmax)
 *     dx = sum over r of h_r omega_r                                   (relu)
 *     domega_r = s (sum over all rows x of q and k of h_r x)
 *
 * omega is fixed, but with --redraw N drawn again every N updates (model_redraw()), or with
 * --learn-omega trained. Whole tiles are multiplied by the kernel, with two layouts of s omega; a
 * single row, in decoding, in plain loops.
 *
 * The same in plain loops: plain/performer.c.
 */
#include "ops/attention/engine/directions.h"
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/head.h"

#include "ops/kernel/elementary.h"

#include <string.h>

#define LEAST R(1e-3)

static int random_features(int D, int m)
{
    (void)D;
    return m;
}

static bool is_relu(const Mix *in)
{
    return setting_is(&in->set, "kernel", "relu");
}

/* s */
static real scale_of(const Mix *in, int D)
{
    return is_relu(in) ? 1 : R(pow((double)D, -0.25));
}

/* s omega of all heads, laid out for the kernel: (H, D, F') for f and (H, F, D') for x. */
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
    real s = scale_of(in, (int)D);

    to->wide_f = up_to((int)F, NR), to->wide_x = up_to((int)D, NR);
    to->to_f = zeros(node, H * D * (size_t)to->wide_f);
    to->to_x = zeros(node, H * F * (size_t)to->wide_x);
    for (size_t i = 0; i < H * F; i++)
        for (size_t d = 0; d < D; d++) {
            real w = omega->data[i * D + d] * s;

            to->to_f[(i / F * D + d) * (size_t)to->wide_f + i % F] = w;
            to->to_x[i * (size_t)to->wide_x + d] = w;
        }
    return to;
}

/* One row. */
static void project_row(const MapRows *m, const real *x, real *f)
{
    const real *omega = mix_tensor(m->in, "omega")->data + m->head * m->F * m->D;
    real s = scale_of(m->in, m->D);

    for (int j = 0; j < m->F; j++)
        f[j] = row_dot(omega + j * m->D, x, m->D) * s;
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

static void softmax_apply(const MapRows *m, const real *x, real *f)
{
    real half = R(0.5 / sqrt((double)m->D)), by = R(1 / sqrt((double)m->F));

    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        real square = row_dot(x, x, m->D) * half;

        for (int j = 0; j < m->F; j++)
            f[j] = exp_real(f[j] - square) * by;
    }
}

static void relu_apply(const MapRows *m, real *f)
{
    for (int r = 0; r < m->n; r++, f += m->ldf)
        for (int j = 0; j < m->F; j++)
            f[j] = (f[j] > 0 ? f[j] : 0) + LEAST;
}

static void performer_apply(const MapRows *m, const real *x, real *f)
{
    project(m, x, f);
    if (is_relu(m->in))
        relu_apply(m, f);
    else
        softmax_apply(m, x, f);
}

/* Replaces df by h, the gradient of omega_r . x'. */
static void chain_features(const MapRows *m, const real *f, real *df)
{
    const bool relu = is_relu(m->in);

    for (int r = 0; r < m->n; r++)
        for (int j = 0; j < m->F; j++) {
            const real y = f[r * m->ldf + j];

            df[r * m->ldf + j] *= relu ? y > LEAST : y;
        }
}

static void subtract_square(const MapRows *m, const real *x, const real *h, real *dx)
{
    real root = R(1 / sqrt((double)m->D));

    for (int r = 0; r < m->n; r++, x += m->ldx, h += m->ldf, dx += m->ldx) {
        real sum = row_sum(h, m->F) * root;

        for (int d = 0; d < m->D; d++)
            dx[d] -= x[d] * sum;
    }
}

static void learn_omega(const MapRows *m, const real *x, real *h)
{
    const real s = scale_of(m->in, m->D);

    for (int r = 0; r < m->live; r++)
        for (int j = 0; j < m->F; j++)
            h[r * m->ldf + j] *= s;
    rows_multiply_over(m->dw, m->F, (Rows){ h, m->ldf, 0, m->n },
                       (Rows){ (real *)x, m->ldx, 0, m->n }, m->live);
}

static void performer_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    const Directions *to = m->prepared;

    chain_features(m, f, df);
    rows_multiply((Rows){ dx, m->ldx, 0, m->n }, (Rows){ df, m->ldf, 0, m->n }, m->F,
                  to->to_x + (size_t)m->head * (size_t)(m->F * to->wide_x), false);
    if (!is_relu(m->in))
        subtract_square(m, x, df, dx);
    if (m->dw)
        learn_omega(m, x, df);
}

static const FeatureMap map = { .features = random_features,
                                .apply = performer_apply,
                                .chain = performer_chain,
                                .prepare = lay_out,
                                .learn = "omega" };

static const char *const kernels[] = { "softmax", "relu", NULL };

static unsigned traits(const Values *set)
{
    return linear_traits(set) | (setting_is(set, "kernel", "relu") ? 0 : SMOOTH);
}

const Attention attention_performer = {
    .name = "performer",
    .summary = "linear, random features of the softmax kernel (arXiv:2009.14794)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | QUOTIENT,
    .more_traits = traits,
    .operands = (const Operand[]){ { .name = "omega",
                                     .shape = "Hmd",
                                     .help = "random directions",
                                     .draw = directions_draw,
                                     .learn = "learn-omega" },
                                   { 0 } },
    .settings =
        (const Setting[]){ { .name = "features",
                             .most = 1 << 20,
                             .layer = true,
                             .size = 'm',
                             .of_key = 4,
                             .tries = { 6, 9 },
                             .help = "random features per head (0: 4 times the width of a key)" },
                           { .name = "kernel",
                             .kind = SETTING_CHOICE,
                             .choices = kernels,
                             .help = "features of the softmax kernel, or max(omega x, 0) + 0.001" },
                           { .name = "learn-omega",
                             .kind = SETTING_FLAG,
                             .tries = { 1 },
                             .help = "train the random directions" },
                           { .name = "redraw",
                             .most = 100000000,
                             .layer = true,
                             .without = "learn-omega",
                             .help = "draw new random directions every N updates (0: never)" },
                           SETTING_ROPE_AT(0, 0),
                           SETTING_WINDOW,
                           SETTINGS_OF_HEADS,
                           { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_performer,
};
