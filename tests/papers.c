#include "tests/papers.h"

#include "tests/naive.h"
#include "training/optimiser.h"

#include <string.h>

static double *paper_dense(const Paper *p, const double *x, DenseWeights d, const double *residual)
{
    int out = d.w->dim[0], in = d.w->dim[1];
    double *y = arena_take(p->mem, (size_t)(ROWS * out) * sizeof *y);
    const double *w = doubles(p->mem, d.w->data, d.w->n);
    const double *b = d.b ? doubles(p->mem, d.b->data, d.b->n) : NULL;

    naive_dense(&(NaiveDense){ x, w, b, residual, NULL, ROWS, in, out }, y);
    return y;
}

static double *paper_norm(const Paper *p, const double *x, NormWeights n)
{
    int C = p->c->width;
    double *y = arena_take(p->mem, (size_t)(ROWS * C) * sizeof *y);
    const double *gain = doubles(p->mem, n.gain->data, n.gain->n);
    const double *bias = n.bias ? doubles(p->mem, n.bias->data, n.bias->n) : NULL;

    for (int i = 0; i < ROWS; i++)
        if (bias)
            naive_layernorm(x + i * C, (const double *const[]){ gain, bias }, config_eps(p->c), C,
                            y + i * C);
        else
            naive_rmsnorm(x + i * C, gain, config_eps(p->c), C, y + i * C);
    return y;
}

/* y_t = sum over j of w_j x_(t-j), then silu where it is asked for; without w, x. */
static const double *paper_conv(const Paper *p, const double *x, const Tensor *w, bool silu)
{
    const int K = setting(&p->c->set, "conv"), C = w ? (int)w->n / K : 0;
    double *y = arena_take(p->mem, (size_t)(ROWS * C) * sizeof *y);

    for (int i = 0; i < ROWS * C; i++) {
        y[i] = 0;
        for (int j = 0; j < K && j <= i / C % T; j++)
            y[i] += (double)w->data[j * C + i % C] * x[i - j * C];
        y[i] = silu ? naive_silu(y[i]) : y[i];
    }
    return w ? y : x;
}

/* v (ROWS, C), to each row of which that of its token is added, if there is a table. */
static double *paper_values(const Paper *p, double *v, const Tensor *table)
{
    const int C = table ? table->dim[1] : 0;

    for (int i = 0; i < ROWS * C; i++)
        v[i] += (double)table->data[p->id[i / C] * C + i % C];
    return v;
}

/* The rows of q or k of each head, normed. */
static void paper_qk_norm(const Paper *p, const Tensor *gain, Tensor *x)
{
    const int D = x->dim[3];

    for (real *row = x->data; setting(&p->c->set, "qk-norm") && row < x->data + x->n; row += D) {
        const double square = sum_of_squares(row, (size_t)D);

        for (int d = 0; d < D; d++)
            row[d] = R((double)row[d] * (gain ? (double)gain->data[d] / sqrt(square / D + NORM_EPS)
                                              : 1 / sqrt(square + 1e-6)));
    }
}

static Tensor *paper_tensor(const Paper *p, const double *x, int H, int D)
{
    Tensor *t = tensor_new(p->mem, 4, (int[]){ B, T, H, D });

    for (size_t i = 0; i < t->n; i++)
        t->data[i] = R(x[i]);
    return t;
}

static double *paper_mix(const Paper *p, Mix in)
{
    in.attention = p->c->attention;
    in.causal = true;
    in.set = p->c->set;
    in.rope = p->c->position == POSITION_ROPE;
    in.rope_scale.base = p->c->rope_base;
    Tensor *o = attention_mix(p->tape, &in);
    return doubles(p->mem, o->data, o->n);
}

/* Rows of one head, which is all heads. */
static const double *paper_shared(const Paper *p, const double *x, int own, int H, int D)
{
    double *y = arena_take(p->mem, (size_t)(ROWS * H * D) * sizeof *y);

    for (int i = 0; i < ROWS * H * D; i++) {
        const int row = i / (H * D), h = i / D % H;

        y[i] = x[(row * own + h / (H / own)) * D + i % D];
    }
    return y;
}

/* Mamba-2's Delta = ln(1 + e^(w.h + b)) of each head, by which x is multiplied, and g = -e^A Delta.
 */
static void paper_steps(const Paper *p, const double *h, Mix *in)
{
    const Computed c = p->block->around.computed[3];
    const int H = p->c->heads, E = p->c->width / H;
    const double *w = paper_dense(p, h, (DenseWeights){ c.w, c.b }, NULL);

    in->x[3] = tensor_new(p->mem, 3, (int[]){ B, T, H });
    for (int i = 0; i < ROWS * H; i++) {
        const double Delta = log1p(exp(w[i]));

        in->x[3]->data[i] = R(-exp((double)c.A->data[i % H]) * Delta);
        for (int e = 0; e < E; e++)
            in->v->data[i * E + e] *= R(Delta);
    }
}

/* The output of a mix, normed and gated. */
static double *paper_finished(const Paper *p, const double *h, double *o)
{
    const Block *b = p->block;
    const int C = p->c->width, E = C / p->c->heads;
    const double *gate = b->out_gate.w ? paper_dense(p, h, b->out_gate, NULL) : NULL;

    for (int i = 0; setting_is(&p->c->set, "out-norm", "rms") && i < ROWS * C; i += E)
        naive_rmsnorm(o + i, NULL, NORM_EPS, E, o + i);
    for (int i = 0; gate && i < ROWS * C; i++)
        o[i] *= naive_silu(gate[i]);
    for (int i = 0; b->out_norm && i < ROWS * C; i += C)
        naive_rmsnorm(o + i, doubles(p->mem, b->out_norm->data, b->out_norm->n), NORM_EPS, C,
                      o + i);
    return o;
}

/* q, k and v in heads: of which a shared one has the columns of fewer. */
static void paper_inputs(const Paper *p, const double *h, Mix *in)
{
    const Block *b = p->block;
    int H = p->c->heads, E = p->c->width / H, key = setting(&p->c->set, "key-size");
    const DenseWeights q = b->q.w ? b->q : b->v, to[] = { q, b->k.w ? b->k : q, b->v };

    for (int i = 0; i < 3; i++) {
        const int D = i < 2 && key ? key : E;
        const double *dense =
            paper_values(p, paper_dense(p, h, to[i], NULL), i == 2 ? b->value_embed : NULL);
        const double *x = paper_conv(p, dense, b->around.conv[i], setting(&p->c->set, "conv-silu"));

        in->x[i] = paper_tensor(p, paper_shared(p, x, to[i].w->dim[0] / D, H, D), H, D);
    }
    paper_qk_norm(p, b->around.gain[0], in->q);
    paper_qk_norm(p, b->around.gain[1], in->k);
}

static double *paper_heads(const Paper *p, const double *x)
{
    const Block *b = p->block;
    const double *h = paper_norm(p, x, b->attention_norm);
    const int C = p->c->width, E = C / p->c->heads;
    Mix in = { .q = NULL };

    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = b->own[i];
    paper_inputs(p, h, &in);
    const double *v = doubles(p->mem, in.v->data, in.v->n);
    if (b->around.computed[3].w)
        paper_steps(p, h, &in);
    double *o = paper_mix(p, in);
    for (int i = 0; b->skip && i < ROWS * C; i++)
        o[i] += (double)b->skip->data[i % C / E] * v[i];
    return paper_dense(p, paper_finished(p, h, o), b->o, p->c->no_residual ? NULL : x);
}

/* A parameter of each head: its own, or the only one. */
static Tensor *paper_own(const Paper *p, const Tensor *of)
{
    int H = p->c->heads, dim[4];
    memcpy(dim, of->dim, sizeof dim);
    dim[0] = H;
    Tensor *all = tensor_new(p->mem, of->ndim, dim);

    for (size_t i = 0; i < all->n; i++)
        all->data[i] = of->data[i % of->n];
    return all;
}

/* Rows of q, k or v, of which each head has its part, or which are the same for all heads. */
static Tensor *paper_rows(const Paper *p, const double *h, DenseWeights d, const Tensor *conv,
                          const Tensor *table)
{
    const int H = p->c->heads, D = p->c->width / H, wide = d.w->dim[0];
    const double *y = paper_dense(p, h, d, NULL);
    double *all = arena_take(p->mem, (size_t)(ROWS * H * D) * sizeof *all);

    for (int i = 0; i < ROWS * H * D; i++)
        all[i] = y[i / (H * D) * wide + i % (H * D) % wide];
    return paper_tensor(p, paper_conv(p, paper_values(p, all, table), conv, true), H, D);
}

static double *paper_pooled(const Paper *p, const double *x)
{
    const Block *b = setting_is(&p->c->set, "share", "layers") ? p->first : p->block;
    const double *h = paper_norm(p, x, p->block->attention_norm);
    DenseWeights to_v = setting_is(&p->c->set, "share", "qv") ? b->q : b->v;
    Mix in = { .q = paper_rows(p, h, b->q, b->around.conv[0], NULL),
               .k = paper_rows(p, h, b->k, b->around.conv[1], NULL),
               .v = paper_rows(p, h, to_v, b->around.conv[2], b->value_embed) };

    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = b->own[i] ? paper_own(p, b->own[i]) : NULL;
    const double *q = doubles(p->mem, in.q->data, in.q->n);
    paper_qk_norm(p, NULL, in.q);
    paper_qk_norm(p, NULL, in.k);
    double *y = paper_dense(p, paper_mix(p, in), b->o, q);

    for (int i = 0; i < ROWS * p->c->width; i++)
        y[i] += p->c->no_residual ? 0 : x[i];
    return y;
}

static double *paper_silu(double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = naive_silu(x[i]);
    return x;
}

/* silu, after the convolution if there is one */
static const double *paper_unit_input(const Paper *p, double *x, const Tensor *conv, int width)
{
    return conv ? paper_conv(p, x, conv, true) : paper_silu(x, ROWS * width);
}

static Tensor *paper_scaled(const Paper *p, const double *z, ScaleWeights w)
{
    int s = (int)w.gamma->n, H = p->c->heads;
    double *y = arena_take(p->mem, (size_t)(ROWS * s) * sizeof *y);

    for (int i = 0; i < ROWS * s; i++)
        y[i] = (double)w.gamma->data[i % s] * z[i] + (double)w.beta->data[i % s];
    return paper_tensor(p, y, H, s / H);
}

static double *paper_unit(const Paper *p, const Unit *unit, const double *x)
{
    int key = setting(&p->c->set, "key-size"), H = p->c->heads;
    int s = key ? H * key : 128, e = 2 * p->c->width;
    const double *h = paper_norm(p, x, unit->norm);
    const Around *a = &unit->around;
    const double *z = paper_unit_input(p, paper_dense(p, h, unit->z, NULL), a->conv[0], s);
    double *value = paper_values(p, paper_dense(p, h, unit->v, NULL), unit->value_embed);
    const double *v = paper_unit_input(p, value, a->conv[1], e);
    Mix in = { .v = NULL };

    for (int i = 0; i < OPERANDS_MAX; i++)
        if (unit->scale[i].gamma)
            in.x[i] = paper_scaled(p, z, unit->scale[i]);
        else
            in.x[i] = unit->own[i];
    ck_assert_ptr_null(in.v);
    in.v = paper_tensor(p, v, H, e / H);
    paper_qk_norm(p, a->gain[0], in.q);
    paper_qk_norm(p, a->gain[1], in.k);
    double *o = paper_mix(p, in);
    const double *u = !setting(&p->c->set, "gate")
                          ? NULL
                          : paper_silu(paper_dense(p, h, unit->u, NULL), ROWS * e);
    for (int i = 0; u && i < ROWS * e; i++)
        o[i] *= u[i];
    return paper_dense(p, o, unit->o, p->c->no_residual ? NULL : x);
}

double *paper_layer(const Paper *p, const double *x)
{
    if (layer_of(p->c->attention) == &layer_gated)
        return paper_unit(p, &p->block->unit[1], paper_unit(p, &p->block->unit[0], x));
    return layer_of(p->c->attention) == &layer_pooled ? paper_pooled(p, x) : paper_heads(p, x);
}

static double paper_gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

double *paper_from_last(const Paper *p, const Block *last, const double *h)
{
    const int C = p->c->width, hidden = last->up.w->dim[0];
    double *x = arena_take(p->mem, (size_t)(ROWS * C) * sizeof *x);

    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < C; c++) {
            const double turn = i % T / pow(10000, c / 2 * 2.0 / C);

            x[i * C + c] = h[(i / T * T + T - 1) * C + c] + (c % 2 ? cos(turn) : sin(turn));
        }
    double *up = paper_dense(p, paper_norm(p, x, last->ffn_norm), last->up, NULL);
    for (int i = 0; i < ROWS * hidden; i++)
        up[i] = paper_gelu(up[i]);
    return paper_dense(p, up, last->down, x);
}
