/*
 * Activations, element by element: y = f(x), and with g = dy, dx += g f'(x). GELU and SiLU are x
 * times a sigmoid,
 *
 *     s(z) = 1 / (1 + e^-z),    s'(z) = e^-z / (1 + e^-z)^2 = s (1 - s)
 *
 * GELU, tanh form (Hendrycks and Gimpel, 2016, arXiv:1606.08415). With z = 2u,
 * u = sqrt(2/pi) (x + 0.044715 x^3), and (1 + tanh u) / 2 = 1 / (1 + e^-2u) = s(z):
 *
 *     f(x)  = x s(z)
 *     f'(x) = s + x s (1 - s) z',         z' = 2 sqrt(2/pi) (1 + 3 * 0.044715 x^2)
 *
 * SiLU, with z = x:
 *
 *     f(x)  = x s(x)
 *     f'(x) = s + x s (1 - s)
 *
 * The square of the positive part (So et al., 2021, arXiv:2109.08668), whose slope has no jump:
 *
 *     relu2         f(x) = max(x, 0)^2                          f'(x) = 2 max(x, 0)
 *
 * Gates, for numbers between bounds: s itself, its logarithm, and a positive number,
 *
 *     sigmoid       f(x) = s(x)                                 f'(x) = s (1 - s)
 *     log_sigmoid   f(x) = ln s(x) = -softplus(-x)              f'(x) = s(-x)
 *     softplus      f(x) = ln(1 + e^x)                          f'(x) = s(x)
 *
 * SwiGLU (Shazeer, 2020, arXiv:2002.05202), y = silu(a) b:
 *
 *     da += g b silu'(a)                  db += g silu(a)
 */
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

/* Beyond +-FLAT, s is 0 or 1 in either precision. */
enum { GRAIN = 1 << 13, CHUNK = 256, FLAT = 40 };

static inline real gelu_inner(real x) /* z */
{
    return R(1.59576912160573071) * x * (1 + R(0.044715) * x * x);
}

static void gelu_apply(real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] *= sigmoid(gelu_inner(x[i]));
}

static void gelu_chain(real *restrict dx, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++) {
        real c = x[i] < -FLAT ? -FLAT : x[i] > FLAT ? FLAT : x[i]; /* keeps c^2 finite */
        real s = sigmoid(gelu_inner(c));
        real slope = R(1.59576912160573071) * (1 + R(3 * 0.044715) * c * c);

        dx[i] *= s + c * (s * (1 - s)) * slope;
    }
}

const Activation activation_gelu = { "gelu", gelu_apply, gelu_chain };

static void silu_apply(real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] *= sigmoid(x[i]);
}

static void silu_chain(real *restrict dx, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++) {
        real s = sigmoid(x[i]);

        dx[i] *= s + x[i] * (s * (1 - s));
    }
}

const Activation activation_silu = { "silu", silu_apply, silu_chain };

static void relu2_apply(real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] <= 0 ? 0 : x[i] * x[i]; /* NaN stays */
}

static void relu2_chain(real *restrict dx, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        dx[i] *= x[i] <= 0 ? 0 : 2 * x[i];
}

const Activation activation_relu2 = { "relu2", relu2_apply, relu2_chain };

static void sigmoid_apply(real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = sigmoid(x[i]);
}

static void sigmoid_chain(real *restrict dx, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        dx[i] *= sigmoid(x[i]) * sigmoid(-x[i]);
}

const Activation activation_sigmoid = { "sigmoid", sigmoid_apply, sigmoid_chain };

static void log_sigmoid_apply(real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = log_sigmoid(x[i]);
}

static void log_sigmoid_chain(real *restrict dx, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        dx[i] *= sigmoid(-x[i]);
}

const Activation activation_log_sigmoid = { "log sigmoid", log_sigmoid_apply, log_sigmoid_chain };

static void softplus_apply(real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = softplus(x[i]);
}

static void softplus_chain(real *restrict dx, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        dx[i] *= sigmoid(x[i]);
}

const Activation activation_softplus = { "softplus", softplus_apply, softplus_chain };

typedef struct {
    Node node;
    Tensor *x;
    const Activation *f;
} Apply;

static void apply_forward(void *ctx, int begin, int end)
{
    Apply *op = ctx;
    real *y = op->node.y->data;

    for (int i = begin; i < end; i++)
        y[i] = op->x->data[i];
    op->f->apply(y + begin, end - begin);
}

/* g f'(x), in place of g, which is not needed again. */
static void apply_backward_range(void *ctx, int begin, int end)
{
    Apply *op = ctx;
    real *g = op->node.y->grad;

    op->f->chain(g + begin, op->x->data + begin, end - begin);
}

static void apply_backward(Node *node)
{
    Apply *op = (Apply *)node;

    pool_for(node->tape->pool, (int)op->x->n, GRAIN, apply_backward_range, op);
    tape_grad_pass(node->tape, node->y, op->x);
}

Tensor *op_activation(Tape *tape, Tensor *x, const Activation *f)
{
    Apply *op = tape_node(tape, sizeof *op, apply_backward, x->ndim, x->dim);

    op->x = x, op->f = f;
    pool_for(tape->pool, (int)x->n, GRAIN, apply_forward, op);
    return op->node.y;
}

typedef struct {
    Node node;
    Tensor *a, *b;
    Grad da, db;
} Swiglu;

static void swiglu_forward(void *ctx, int begin, int end)
{
    Swiglu *op = ctx;
    const real *a = op->a->data, *b = op->b->data;
    real *y = op->node.y->data;

    for (int i = begin; i < end; i++)
        y[i] = a[i] * sigmoid(a[i]) * b[i];
}

static void swiglu_backward_range(void *ctx, int begin, int end)
{
    Swiglu *op = ctx;
    real da[CHUNK], db[CHUNK];

    for (int i = begin; i < end; i += CHUNK) {
        const real *a = op->a->data + i, *b = op->b->data + i, *g = op->node.y->grad + i;
        int n = end - i < CHUNK ? end - i : CHUNK;

        for (int j = 0; j < n; j++) {
            real s = sigmoid(a[j]);

            da[j] = g[j] * b[j] * (s + a[j] * (s * (1 - s)));
            db[j] = g[j] * a[j] * s;
        }
        grad_add(op->da, (size_t)i, da, n);
        grad_add(op->db, (size_t)i, db, n);
    }
}

static void swiglu_backward(Node *node)
{
    Swiglu *op = (Swiglu *)node;

    op->da = tape_grad(node->tape, op->a);
    op->db = tape_grad(node->tape, op->b);
    pool_for(node->tape->pool, (int)op->a->n, GRAIN, swiglu_backward_range, op);
}

Tensor *op_swiglu(Tape *tape, Tensor *a, Tensor *b)
{
    Swiglu *op = tape_node(tape, sizeof *op, swiglu_backward, a->ndim, a->dim);

    op->a = a, op->b = b;
    pool_for(tape->pool, (int)a->n, GRAIN, swiglu_forward, op);
    return op->node.y;
}
