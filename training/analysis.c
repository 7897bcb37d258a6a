#include "training/analysis.h"
#include "model/mechanisms.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/processors.h"
#include "ops/kernel/svd.h"
#include "training/source.h"

#include <stdlib.h>
#include <string.h>

const double tolerances[TOLERANCES] = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6 };

/* The sums of a head. */
typedef struct {
    Focus focus;
    Rank rank[SPECTRA];
    double ranks[SPECTRA][TOLERANCES];
    double *spectrum[SPECTRA]; /* NULL: it has no such matrix */
} Sums;

/* All windows, and the mix that is being analysed. */
typedef struct {
    const Study *study;
    Tape tape; /* of the matrices: the pass has one of its own */
    int T, H, mixes, mix;
    Look look;
    real *A;    /* of the mix (H, T, T) */
    double *S;  /* the same, or NULL */
    Sums *sums; /* (mixes, H) */
    Sums uniform;
    Activations *layer;
    double *X; /* (C, T), and after it its spectrum */
} Gaze;

/* A thread's scratch is a spectrum and a matrix. */
static size_t scratch_bytes(int T)
{
    return ((size_t)T + 1) * (size_t)T * sizeof(double);
}

static void add_ranks(double sum[TOLERANCES], const double *s, int n)
{
    for (int i = 0; i < TOLERANCES; i++)
        sum[i] += svd_rank(s, n, tolerances[i]).rank;
}

/* M (T, T) is overwritten. */
static void add_spectrum(Sums *sums, int which, double *M, const Gaze *g)
{
    double *s = pool_scratch();
    Rank *sum = &sums->rank[which];

    svd_values(M, g->T, g->T, s);
    const Rank r = svd_rank(s, g->T, g->study->tolerance);
    sum->rank += r.rank, sum->effective += r.effective, sum->holding += r.holding;
    add_ranks(sums->ranks[which], s, g->T);
    for (int k = 0; k < g->T; k++)
        sums->spectrum[which][k] += s[0] == 0 ? 0 : s[k] / s[0];
}

static void add_weights(Sums *sums, const real *A, const Gaze *g)
{
    double *M = (double *)pool_scratch() + g->T;

    focus_add(&sums->focus, &g->look, A);
    for (size_t i = 0; i < (size_t)g->T * (size_t)g->T; i++)
        M[i] = (double)A[i];
    add_spectrum(sums, OF_WEIGHTS, M, g);
}

/* Matrices begin .. end-1 of the mix: those of the weights, then those of the scores. */
static void add_matrices(void *ctx, int begin, int end)
{
    const Gaze *g = ctx;
    const size_t n = (size_t)g->T * (size_t)g->T;

    for (int i = begin; i < end; i++) {
        const int h = i % g->H;
        Sums *sums = &g->sums[g->mix * g->H + h];

        if (i < g->H)
            add_weights(sums, g->A + (size_t)h * n, g);
        else
            add_spectrum(sums, OF_SCORES, g->S + (size_t)h * n, g);
    }
}

static void add_uniform(void *ctx, int begin, int end)
{
    Gaze *g = ctx;

    (void)begin, (void)end; /* there is one */
    memset(g->A, 0, (size_t)g->T * (size_t)g->T * sizeof *g->A);
    for (int i = 0; i < g->T; i++) {
        const View *view = &g->look.view;
        const real share = 1 / R(view_count(view, i));
        real *A = g->A + (size_t)i * (size_t)g->T;

        for (Span s = view_run(view, i, 0); s.from < s.to; s = view_run(view, i, s.to))
            for (int j = s.from; j < s.to; j++)
                A[j] = share;
    }
    add_weights(&g->uniform, g->A, g);
}

static void see(void *ctx, const Mix *of)
{
    Gaze *g = ctx;
    Mix in = *of;

    in.causal = in.causal && !g->study->unmasked;
    g->look = (Look){ view_of(&in, 0), g->study->band, g->study->faint };
    attention_matrix(&g->tape, &in, g->A);
    if (g->S)
        attention_scores(&g->tape, &in, g->S);
    pool_reserve(g->tape.pool, scratch_bytes(g->T));
    pool_for(g->tape.pool, g->S ? 2 * g->H : g->H, 1, add_matrices, g);
    g->mix = (g->mix + 1) % g->mixes;
}

/* Distance from equal rows of x (T, C). */
static double apart_of(const Tensor *x)
{
    const int T = x->dim[1], C = x->dim[2];
    double all = 0, from_mean = 0;

    for (int c = 0; c < C; c++) {
        double mean = 0;

        for (int t = 0; t < T; t++)
            mean += (double)x->data[t * C + c] / T;
        for (int t = 0; t < T; t++) {
            const double a = (double)x->data[t * C + c];

            all += a * a, from_mean += (a - mean) * (a - mean);
        }
    }
    return all == 0 ? 0 : sqrt(from_mean / all);
}

/* The rows that svd_values() gets are the shorter side. */
static void see_layer(void *ctx, int layer, const Tensor *x)
{
    Gaze *g = ctx;
    Activations *to = &g->layer[layer];
    const int T = x->dim[1], C = x->dim[2], rows = T < C ? T : C, cols = T < C ? C : T;
    double *s = g->X + (size_t)T * (size_t)C;

    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++)
            g->X[T < C ? t * C + c : c * T + t] = (double)x->data[t * C + c];
    svd_values(g->X, rows, cols, s);
    const Rank r = svd_rank(s, rows, 0);
    to->apart += apart_of(x), to->effective += r.effective, to->holding += r.holding;
    add_ranks(to->ranks, s, rows);
}

/* A watch that tells of each mix before the caller's sees it. */
typedef struct {
    const Windows *windows;
    Watch own;
    int window, mix;
} Told;

static void tell_and_see(void *ctx, const Mix *in)
{
    Told *t = ctx;

    if (t->windows->tell)
        t->windows->tell(t->windows->length, t->window, t->mix);
    t->mix++;
    t->own.see(t->own.ctx, in);
}

static void see_own_layer(void *ctx, int layer, const Tensor *x)
{
    const Told *t = ctx;

    t->own.layer(t->own.ctx, layer, x);
}

void windows_watch(Tape *tape, const Model *model, Windows w, Watch watch)
{
    const size_t all = tokens_windows(w.text, w.length), n = (size_t)w.n;
    int *id = xmalloc(2 * (size_t)w.length * sizeof *id);
    const Batch row = { .B = 1, .T = w.length, .id = id, .target = id + w.length };

    for (size_t i = 0; i < n; i++) {
        Told told = { &w, watch, (int)i, 0 };

        tokens_window(w.text, i * all / n, row);
        source_hide(&model->config, w.masking, i * all / n, row);
        tape_reset(tape);
        model_watch(tape, model, row.id, w.length,
                    (Watch){ tell_and_see, &told, watch.layer ? see_own_layer : NULL });
    }
    tape_reset(tape);
    free(id);
}

static Findings find(const Sums *s, int windows, int T)
{
    const double all[SPECTRA] = { windows, s->spectrum[OF_SCORES] ? windows : (double)NAN };
    Findings f = { .number = { [FINDING_EMPTY] = s->focus.empty } };

    for (int i = 0; i < FOCUS_NUMBERS; i++)
        f.number[i] = s->focus.sum[i] / s->focus.rows;
    f.number[FINDING_EMPTY] /= s->focus.rows + s->focus.empty;
    for (int m = 0; m < SPECTRA; m++) {
        double *to = f.number + (m == OF_WEIGHTS ? FINDING_RANK : FINDING_SCORE_RANK);

        to[0] = s->rank[m].rank / all[m];
        to[1] = s->rank[m].effective / all[m];
        to[2] = s->rank[m].holding / all[m];
        f.spectrum[m] = s->spectrum[m];
        for (int k = 0; f.spectrum[m] && k < T; k++)
            f.spectrum[m][k] /= windows;
        for (int i = 0; i < TOLERANCES; i++)
            f.ranks[m][i] = s->ranks[m][i] / all[m];
    }
    return f;
}

static void find_all(Analysis *a, const Gaze *g)
{
    const int n = a->mixes * a->heads;

    a->mean = (Findings){ .number = { 0 } };
    for (int h = 0; h < n; h++) {
        a->head[h] = find(&g->sums[h], a->windows, a->length);
        for (int i = 0; i < FINDINGS; i++)
            a->mean.number[i] += a->head[h].number[i] / n;
        for (int i = 0; i < SPECTRA * TOLERANCES; i++)
            a->mean.ranks[i / TOLERANCES][i % TOLERANCES] +=
                a->head[h].ranks[i / TOLERANCES][i % TOLERANCES] / n;
    }
    for (int l = 0; l < a->layers; l++) {
        Activations *layer = &a->layer[l];

        layer->apart /= a->windows, layer->effective /= a->windows, layer->holding /= a->windows;
        for (int i = 0; i < TOLERANCES; i++)
            layer->ranks[i] /= a->windows;
    }
    a->uniform = find(&g->uniform, 1, a->length);
}

static Sums sums_new(Arena *mem, int T, bool scores)
{
    Sums s = { .focus = { 0 } };

    for (int m = 0; m <= scores; m++)
        s.spectrum[m] = arena_zeros(mem, (size_t)T * sizeof(double));
    return s;
}

void analysis_check_length(const Model *model, Room room)
{
    const Config *c = &model->config;
    const double here = machine_memory(), need = config_forward_memory(c, room.length) + room.bytes;

    if (!(config_traits(c) & HAS_MATRIX))
        die(EXIT_USAGE, "%s has no matrix of weights: its output is not a weighted sum of v",
            config_mechanisms(c).at);
    if (config_learns_positions(c) && room.length > c->context)
        die(EXIT_USAGE, "the model has learned positions for %d tokens, not %d: use --%s up to %d",
            c->context, room.length, room.option, c->context);
    if (room.tokens <= (size_t)room.length)
        die(EXIT_DATA,
            "the text has %zu token%s, but a window of %d takes %d: use more text or a smaller "
            "--%s",
            room.tokens, room.tokens == 1 ? "" : "s", room.length, room.length + 1, room.option);
    if (need > here)
        die(EXIT_MEMORY,
            "the matrices of %d tokens would take %s, but the machine has %s: "
            "use a smaller --%s",
            room.length, text_memory(need).at, text_memory(here).at, room.option);
}

void analysis_check(const Model *model, const Study *study, size_t tokens)
{
    const Config *c = &model->config;
    const double weight = sizeof(real) + (config_traits(c) & HAS_SCORES ? sizeof(double) : 0.0),
                 T = study->length;

    analysis_check_length(
        model, (Room){ "length", study->length, tokens,
                       T * T * config_mix_size(c).H * weight +
                           processors_available() * (double)scratch_bytes(study->length) });
}

/* Room for the matrices, and for the sums over them. */
static Gaze gaze_open(const Study *study, const Config *c, Pool *pool, Arena *mem)
{
    const size_t T = (size_t)study->length, H = (size_t)config_mix_size(c).H;
    const bool scores = config_traits(c) & HAS_SCORES;
    Gaze g = { .study = study, .T = (int)T, .H = (int)H, .mixes = config_mixes(c) };

    g.tape = (Tape){ .mem = arena_new(), .pool = pool, .forward_only = true };
    g.A = arena_take(mem, H * T * T * sizeof *g.A);
    g.S = scores ? arena_take(mem, H * T * T * sizeof *g.S) : NULL;
    g.sums = arena_take(mem, (size_t)config_mixes(c) * H * sizeof *g.sums);
    for (size_t i = 0; i < (size_t)config_mixes(c) * H; i++)
        g.sums[i] = sums_new(mem, (int)T, scores);
    g.uniform = sums_new(mem, (int)T, false);
    g.layer = arena_zeros(mem, (size_t)(c->layers + 1) * sizeof *g.layer);
    g.X = arena_take(mem, (T + 1) * (size_t)c->width * sizeof *g.X);
    return g;
}

Analysis analysis_make(Tape *tape, const Model *model, Tokens text, const Study *study, Arena *mem)
{
    const Model at = model_at(model, study->length, mem);
    const Config *c = &at.config;
    const size_t windows = tokens_windows(text, study->length);
    const bool before = tape->forward_only;
    Gaze g = gaze_open(study, c, tape->pool, mem);
    Analysis a = { .length = g.T,
                   .mixes = config_mixes(c),
                   .heads = g.H,
                   .layers = c->layers + 1,
                   .layer = g.layer };

    if (!(config_traits(c) & HAS_MATRIX) || windows == 0)
        BUG("analysis: %s, %zu windows", config_mechanisms(c).at, windows);
    a.windows = windows < (size_t)study->windows ? (int)windows : study->windows;
    a.head = arena_take(mem, (size_t)a.mixes * (size_t)a.heads * sizeof *a.head);
    tape->forward_only = true;
    windows_watch(tape, &at,
                  (Windows){ text, study->length, a.windows, study->masking, study->tell },
                  (Watch){ see, &g, see_layer });
    pool_for(tape->pool, 1, 1, add_uniform, &g);
    tape->forward_only = before;
    find_all(&a, &g);
    arena_free(g.tape.mem);
    return a;
}
