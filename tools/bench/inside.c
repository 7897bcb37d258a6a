/* The arithmetic of a training step alone: its multiplications, and its passes over rows. */
#include "tools/bench/bench.h"

#include "ops/base/machine.h"
#include "ops/kernel/gemm.h"
#include "training/optimiser.h"

/* If there are more rows, ROWS_MOST are timed and the time is scaled, to need no more memory than a
 * step. */
enum { ROWS_MOST = 4096 };

static int rows_of(const Model *model, int sequences)
{
    int n = sequences * model->config.context;

    return n < ROWS_MOST ? n : ROWS_MOST;
}

static double times_of(const Model *model, int sequences)
{
    return (double)sequences * model->config.context / rows_of(model, sequences);
}

typedef struct {
    Bench *b;
    const Model *model;
    int rows;
    real *x, *y, *dx, *dy, *dw; /* as large as the largest */
} Inside;

/* Whether rows are multiplied with it. */
static bool is_factor(const Model *model, const Param *p)
{
    return p->tensor == model->head ||
           (optimiser_is_matrix(p) && p->tensor->ndim == 2 && !p->fixed);
}

/* No result is an operand of the next, as products of products soon become subnormal, and slow. */
static void multiply(const Inside *in, const Tensor *weight)
{
    int to = weight->dim[0], from = weight->dim[1];
    Matrix x = matrix(in->x, in->rows, from), dx = matrix(in->dx, in->rows, from);
    Matrix y = matrix(in->y, in->rows, to), dy = matrix(in->dy, in->rows, to);
    Matrix w = matrix(weight->data, to, from), dw = matrix(in->dw, to, from);
    Pool *pool = in->b->tape.pool;
    const Precision precision = in->b->tape.precision;

    gemm(pool, (Product){ .c = y, .a = x, .b = transposed(w), .precision = precision });
    gemm(pool, (Product){ .c = dx, .a = dy, .b = w, .precision = precision });
    gemm(pool,
         (Product){
             .c = dw, .a = transposed(dy), .b = x, .over_batch = true, .precision = precision });
}

static double run(void *ctx)
{
    const Inside *in = ctx;
    double start = seconds_now();

    for (const Param *p = in->model->params.first; p; p = p->next)
        if (is_factor(in->model, p))
            multiply(in, p->tensor);
    return seconds_now() - start;
}

static size_t widest(const Model *m)
{
    int most = 0;

    for (const Param *p = m->params.first; p; p = p->next)
        for (int j = 0; is_factor(m, p) && j < 2; j++)
            most = p->tensor->dim[j] > most ? p->tensor->dim[j] : most;
    return (size_t)most;
}

double bench_inside(Bench *b, const Model *model, int rows)
{
    const Config *c = &model->config;
    Inside in = { .b = b, .model = model, .rows = rows_of(model, rows) };
    size_t most = widest(model), n = (size_t)in.rows * most;

    in.x = bench_numbers(b, n), in.y = bench_numbers(b, n);
    in.dx = bench_numbers(b, n), in.dy = bench_numbers(b, n);
    in.dw = bench_numbers(b, most * most);
    const MixSize size = config_mix_size(c);
    Times mix = bench_mix(b, &size, rows);
    return bench_best(b, run, &in) * times_of(model, rows) +
           config_mixes(c) * (mix.forward + mix.backward);
}

/* The time of `count` passes over rows of that width. */
static double passes(Bench *b, const char *op, int count, int rows, int width)
{
    return count && width ? count * bench_op(b, op, rows, width) : 0;
}

static int outputs_of(DenseWeights d)
{
    return d.w ? d.w->dim[0] : 0;
}

double bench_passes(Bench *b, const Model *model, int rows)
{
    const Config *c = &model->config;
    const Block *k = &model->blocks[0];
    const Unit *u = k->unit;
    int norms = 1, n = rows_of(model, rows), units = config_mixes(c), L = c->layers;
    double all = 0;

    norms += L * (!!k->attention_norm.gain + !!k->ffn_norm.gain);
    norms += L * (!!u[0].norm.gain + !!u[1].norm.gain);
    all += passes(b, model->norm.bias ? "layernorm" : "rmsnorm", norms, n, c->width);
    all += passes(b, k->gate.w ? "swiglu" : "gelu", L, n, outputs_of(k->up));
    all += passes(b, "silu", units, n, outputs_of(u->v) + outputs_of(u->z));
    all += passes(b, "swiglu", units, n, outputs_of(u->u));
    all += passes(b, "cross entropy", 1, n, config_outputs(c));
    return all * times_of(model, rows);
}
