#include "training/growth.h"

#include "ops/attention/engine/head.h"
#include "ops/base/error.h"
#include "training/analysis.h"

#include <stdlib.h>
#include <string.h>

/* Sums over the keys of a row, so far. */
typedef struct {
    double size, log, square, band, negative; /* of |A|, |A| ln |A|, A^2; of |A| there */
} RowSums;

/* Sums over the rows of a head. */
typedef struct {
    double rows, empty;
    Grown sum;
} Sums;

/* All windows of a length, and the mix that is being read. */
typedef struct {
    const GrowthPlan *plan;
    Tape tape; /* of the matrices: the pass has one of its own */
    int T, H, mixes, mix;
    View view;
    MatrixColumns columns;
    RowSums *row; /* (T, H) */
    double *c;    /* (H, T) */
    bool has_sums;
    Sums *head; /* (mixes, H) */
} Gaze;

static void add_weight(RowSums *row, double a, bool near)
{
    const double size = fabs(a);

    row->size += size;
    row->log += size != 0 ? size * log(size) : 0; /* NaN stays */
    row->square += a * a;
    row->band += near ? size : 0;
    row->negative += a < 0 ? size : 0;
}

/* Positions begin .. end-1, all heads. */
static void add_columns(void *ctx, int begin, int end)
{
    const Gaze *g = ctx;
    const MatrixColumns c = g->columns;

    for (int i = begin; i < end; i++) {
        const int after = c.first + c.n;
        Span keys = view_run(&g->view, i, c.first);

        for (; keys.from < min(keys.to, after); keys = view_run(&g->view, i, keys.to))
            for (int h = 0; h < g->H; h++) {
                const size_t at = (size_t)i * (size_t)g->H + (size_t)h;
                const real *A = c.A + at * (size_t)c.n;

                for (int j = keys.from; j < min(keys.to, after); j++) {
                    const bool near = abs(i - j) <= g->plan->band;

                    add_weight(&g->row[at], (double)A[j - c.first], near);
                }
            }
    }
}

static void take(void *ctx, MatrixColumns c)
{
    enum { GRAIN = 16 };
    Gaze *g = ctx;

    g->columns = c;
    pool_for(g->tape.pool, g->T, GRAIN, add_columns, g);
}

static void add_row(Sums *to, const RowSums *row, double seen, double c)
{
    double *sum = to->sum.number;

    to->rows++;
    sum[GROWTH_SEEN] += seen;
    sum[GROWTH_SUM] += fabs(c);
    if (row->size == 0 || c == 0) {
        to->empty++;
        return;
    }
    const double entropy = log(row->size) - row->log / row->size, H = entropy < 0 ? 0 : entropy;
    sum[GROWTH_LN_SEEN] += log(seen);
    sum[GROWTH_LN_SUM] += log(fabs(c));
    sum[GROWTH_ENTROPY] += H;
    sum[GROWTH_KEYS] += exp(H);
    sum[GROWTH_KEYS_2] += row->size * row->size / row->square;
    sum[GROWTH_BAND] += row->band / row->size;
    sum[GROWTH_NEGATIVE] += row->negative / row->size;
}

static void add_rows(Gaze *g)
{
    for (int h = 0; h < g->H; h++)
        for (int i = 0; i < g->T; i++) {
            add_row(&g->head[g->mix * g->H + h], &g->row[i * g->H + h], view_count(&g->view, i),
                    g->has_sums ? g->c[h * g->T + i] : (double)NAN);
        }
}

static void see(void *ctx, const Mix *of)
{
    Gaze *g = ctx;
    Mix in = *of;

    in.causal = in.causal && !g->plan->unmasked;
    g->view = view_of(&in, 0);
    memset(g->row, 0, (size_t)g->T * (size_t)g->H * sizeof *g->row);
    g->has_sums = attention_sums(&g->tape, &in, g->c);
    attention_columns(&g->tape, &in, take, g);
    add_rows(g);
    g->mix = (g->mix + 1) % g->mixes;
}

static Grown means(const Sums *s)
{
    Grown mean = s->sum;

    for (int i = 0; i < GROWTH_NUMBERS; i++)
        mean.number[i] /= i == GROWTH_SEEN || i == GROWTH_SUM ? s->rows : s->rows - s->empty;
    mean.number[GROWTH_EMPTY] = s->empty / s->rows;
    return mean;
}

/* Rows whose weights are 1 before division: c_i is the number of keys. */
static Grown uniform(const Gaze *g)
{
    Sums s = { .rows = 0 };

    for (int i = 0; i < g->T; i++) {
        const View *v = &g->view;
        const int n = view_count(v, i);
        RowSums row = { 0 };

        for (Span keys = view_run(v, i, 0); keys.from < keys.to; keys = view_run(v, i, keys.to))
            for (int j = keys.from; j < keys.to; j++)
                add_weight(&row, 1, abs(i - j) <= g->plan->band);
        add_row(&s, &row, n, n);
    }
    return means(&s);
}

/* Adds length number l to the results. */
static void grow(Growth *to, int l, Tape *tape, const Model *model, Tokens text,
                 const GrowthPlan *plan)
{
    Arena *mem = arena_new();
    const Model at = model_at(model, plan->length[l], mem);
    const size_t windows = tokens_windows(text, plan->length[l]), heads = (size_t)to->heads,
                 rows = (size_t)plan->length[l] * heads;
    Gaze g = { .plan = plan, .T = plan->length[l], .H = to->heads, .mixes = to->mixes };

    if (windows == 0)
        BUG("growth: no window of %d", g.T);
    to->windows[l] = windows < (size_t)plan->windows ? (int)windows : plan->windows;
    g.tape = (Tape){ .mem = arena_new(), .pool = tape->pool, .forward_only = true };
    g.row = arena_take(mem, rows * sizeof *g.row);
    g.c = arena_take(mem, rows * sizeof *g.c);
    g.head = arena_zeros(mem, (size_t)to->mixes * heads * sizeof *g.head);
    windows_watch(tape, &at, (Windows){ text, g.T, to->windows[l], plan->masking, plan->tell },
                  (Watch){ .see = see, .ctx = &g });
    for (int h = 0; h < to->mixes * to->heads; h++)
        to->head[h * to->lengths + l] = means(&g.head[h]);
    to->uniform[l] = uniform(&g);
    arena_free(g.tape.mem);
    arena_free(mem);
}

Growth growth_make(Tape *tape, const Model *model, Tokens text, const GrowthPlan *plan, Arena *mem)
{
    const Config *c = &model->config;
    const bool before = tape->forward_only;
    const size_t n = (size_t)plan->lengths;
    Growth g = { .mixes = config_mixes(c),
                 .heads = config_mix_size(c).H,
                 .lengths = plan->lengths,
                 .windows = arena_take(mem, n * sizeof *g.windows),
                 .uniform = arena_take(mem, n * sizeof *g.uniform) };

    g.head = arena_take(mem, (size_t)(g.mixes * g.heads) * n * sizeof *g.head);
    tape->forward_only = true;
    for (int l = 0; l < g.lengths; l++)
        grow(&g, l, tape, model, text, plan);
    tape->forward_only = before;
    return g;
}

void growth_check(const Model *model, const GrowthPlan *plan, size_t tokens)
{
    enum { COLUMNS = 64 };

    const MixSize s = config_mix_size(&model->config);
    const double row = 2.0 * COLUMNS * sizeof(real) + sizeof(RowSums) + sizeof(double);

    for (int l = 0; l < plan->lengths; l++) {
        analysis_check_length(
            model, (Room){ "lengths", plan->length[l], tokens, plan->length[l] * s.H * row });
        for (int k = 0; k < l; k++)
            if (plan->length[k] == plan->length[l])
                die(EXIT_USAGE, "--lengths has %d twice", plan->length[l]);
    }
}

void growth_mean(const Growth *g, int from, int to, Grown *mean)
{
    const int heads = (to - from) * g->heads;

    for (int l = 0; l < g->lengths; l++) {
        mean[l] = (Grown){ .number = { 0 } };
        for (int h = from * g->heads; h < to * g->heads; h++)
            for (int i = 0; i < GROWTH_NUMBERS; i++)
                mean[l].number[i] += g->head[h * g->lengths + l].number[i] / heads;
    }
}

/* With u = x - its mean and v = y - its mean, b = u.v / u.u and e = v - b u. */
Fit fit_line(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, uu = 0, uv = 0, ee = 0;

    for (int i = 0; i < n; i++)
        mx += x[i] / n, my += y[i] / n;
    for (int i = 0; i < n; i++)
        uu += (x[i] - mx) * (x[i] - mx), uv += (x[i] - mx) * (y[i] - my);
    if (!(uu > 1e-12))
        return (Fit){ (double)NAN, (double)NAN, (double)NAN };
    for (int i = 0; i < n; i++) {
        const double e = y[i] - my - uv / uu * (x[i] - mx);

        ee += e * e;
    }
    return (Fit){ uv / uu, n > 2 ? sqrt(ee / (n - 2) / uu) : (double)NAN, my - uv / uu * mx };
}

Fit growth_fit(const Grown *of, int lengths, int which)
{
    double *x = xmalloc(2 * (size_t)lengths * sizeof *x), *y = x + lengths;

    for (int l = 0; l < lengths; l++) {
        const double *n = of[l].number;

        x[l] = which == FIT_SUM ? log(n[GROWTH_SEEN]) : n[GROWTH_LN_SEEN];
        y[l] = which == FIT_SUM      ? log(n[GROWTH_SUM])
               : which == FIT_LN_SUM ? n[GROWTH_LN_SUM]
                                     : n[GROWTH_ENTROPY];
    }
    const Fit fit = fit_line(x, y, lengths);
    free(x);
    return fit;
}
