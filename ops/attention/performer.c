/*
 * Performer (Choromanski et al., 2021, arXiv:2009.14794): random features whose product is, in
 * expectation, softmax's weight e^(q . k / sqrt(D)). With x' = s x, s = D^(-1/4), and m random
 * directions omega_r (engine/directions.c):
 *
 *     phi_r(x) = psi_r(x) = e^(omega_r . x' - x' . x' / 2) / sqrt(m)
 *
 * or, with --kernel relu, the paper's other kernel, where s = 1 and a constant keeps every
 * denominator away from 0 (the authors' code also divides omega by sqrt(m)):
 *
 *     phi_r(x) = psi_r(x) = max(omega_r . x', 0) + 0.001
 *
 * Backward, with f_r = phi_r(x) and h_r the gradient of omega_r . x': h_r = df_r f_r, or with relu
 * df_r where f_r > 0.001, else 0. The exponent also contains -x' . x' / 2, whose gradient is the
 * sum of the h_r, and whose derivative with respect to x' is -x', so
 *
 *     dx = s (sum over r of h_r omega_r - x' sum over r of h_r)        (softmax)
 *     dx = sum over r of h_r omega_r                                   (relu)
 *     domega_r = s (sum of h_r x over all rows x of q and k)
 *
 * omega is fixed by default; --redraw N draws it anew every N updates (model_redraw()), and
 * --learn-omega trains it. engine/head_matrix.h multiplies rows by s omega.
 *
 * Plain twin: plain/performer.c.
 */
#include "ops/attention/engine/directions.h"
#include "ops/attention/engine/head_matrix.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

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

static const void *lay_out(Node *node, const Mix *in)
{
    const Tensor *omega = mix_tensor(in, "omega");

    return head_matrix(node, omega, scale_of(in, omega->dim[2]));
}

/* omega_r . x' of each row. */
static void project(const MapRows *m, const real *x, real *f)
{
    if (m->prepared)
        head_matrix_multiply(m->prepared, m, x, f);
    else
        head_matrix_row(mix_tensor(m->in, "omega"), scale_of(m->in, m->D), m, x, f);
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
            f[j] = (f[j] < 0 ? 0 : f[j]) + LEAST; /* NaN stays */
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

static void performer_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    chain_features(m, f, df);
    head_matrix_back(m->prepared, m, df, dx);
    if (!is_relu(m->in))
        subtract_square(m, x, df, dx);
    head_matrix_learn(m->prepared, m, x, df);
}

static const FeatureMap map = { .features = random_features,
                                .apply = performer_apply,
                                .chain = performer_chain,
                                .prepare = lay_out,
                                .learn = { "omega", "omega" } };

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
    .operands = (const Operand[]){ OPERAND_OMEGA(directions_draw), { 0 } },
    .settings =
        (const Setting[]){
            SETTING_FEATURES(
                4,
                "random directions per head (0: 4 times the width of a key; in rfa, which computes "
                "two features from each: 2 times)"),
            { .name = "kernel",
              .kind = SETTING_CHOICE,
              .choices = kernels,
              .help = "positive features of the softmax kernel, or max(omega x, 0) + 0.001" },
            SETTING_LEARN_OMEGA,
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
