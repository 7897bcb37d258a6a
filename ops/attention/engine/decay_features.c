#include "ops/attention/engine/decay_features.h"

#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/linear.h"
#include "ops/rope.h"

#include <string.h>

/* An op that computes the features of q, or of k. Of the Linear, only the map is used. */
typedef struct {
    Linear of; /* the first member: its node is the op's */
    bool key;
    Grad dx;
} FeatureRows;

/* A tile of a head in scratch memory; df also of rows. */
typedef struct {
    LinearHead h;
    Features at;
    Rows df;
} Work;

/* Behind dx a map may overwrite two more rows. */
static size_t scratch(const FeatureRows *op)
{
    const size_t D = (size_t)up_to(op->of.D, NR), F = (size_t)up_to(op->of.F, NR);

    return TILE * (2 * D + 2 * F) + 2 * (D > F ? D : F);
}

static Work open(const FeatureRows *op, int number)
{
    Work w = { .h = linear_head(&op->of, number) };
    real *free = pool_scratch();

    w.at.x = (Rows){ carve(&free, TILE, w.h.D), w.h.D, 0, TILE };
    w.at.f = (Rows){ carve(&free, TILE, w.h.F), w.h.F, 0, TILE };
    w.at.rotated = w.at.f;
    w.df = (Rows){ carve(&free, TILE, w.h.F), w.h.F, 0, TILE };
    w.at.dx = (Rows){ carve(&free, TILE + 2, w.h.D), w.h.D, 0, TILE };
    return w;
}

static void load(const FeatureRows *op, Work *w, int t0)
{
    w->at.x.t0 = w->at.f.t0 = w->at.rotated.t0 = w->df.t0 = t0;
    (op->key ? linear_keys : linear_queries)(&w->h, w->at);
}

static void forward(void *ctx, int begin, int end)
{
    const FeatureRows *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);

        for (int t0 = 0; t0 < op->of.T; t0 += TILE) {
            load(op, &w, t0);
            head_scatter(&w.h.head, (Grad){ op->of.node.y->data, false }, w.at.f, op->of.F);
        }
    }
}

/* Padding gets no gradient, whatever its contents. */
static void backward_rows(const FeatureRows *op, Work *w, int t0)
{
    load(op, w, t0);
    head_gather(&w->h.head, w->df, op->of.node.y->grad, op->of.F);
    const Rows dx = linear_chain(&w->h, op->key, w->at, w->df.at);

    for (int r = max(0, min(dx.n, w->h.view.length - t0)); op->key && r < dx.n; r++)
        memset(row_of(dx.at, r, dx.ld), 0, (size_t)op->of.D * sizeof(real));
    head_scatter(&w->h.head, op->dx, dx, op->of.D);
}

static void backward(void *ctx, int begin, int end)
{
    const FeatureRows *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = open(op, number);

        for (int t0 = 0; t0 < op->of.T; t0 += TILE)
            backward_rows(op, &w, t0);
    }
}

static void features_backward(Node *node)
{
    FeatureRows *op = (FeatureRows *)node;
    Tape *tape = node->tape;

    op->dx = tape_grad(tape, op->key ? op->of.in.k : op->of.in.q);
    linear_open_learned(&op->of, tape->mem);
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->of.B * op->of.H, 1, backward, op);
    linear_close_learned(&op->of, tape);
}

static int features_of(const MixSize *s)
{
    const FeatureMap *map = s->attention->rule;

    return map->features(s->D, s->m);
}

static Tensor *find_features(Tape *tape, const Mix *in, bool key)
{
    const MixSize s = mix_size(in);
    const int dim[] = { in->q->dim[0], s.T, s.H, features_of(&s) };
    FeatureRows *op = tape_node(tape, sizeof *op, features_backward, 4, dim);

    linear_open(&op->of, in);
    op->key = key, op->of.angles = NULL; /* the scan rotates features */
    pool_reserve(tape->pool, scratch(op) * sizeof(real));
    pool_for(tape->pool, op->of.B * op->of.H, 1, forward, op);
    return op->of.node.y;
}

/* The mix of `decay` with these features. */
static Mix decayed(const Mix *in, Tensor *phi, Tensor *psi)
{
    Mix of = *in;

    memset(of.x, 0, sizeof of.x);
    of.attention = &attention_decay;
    of.q = phi, of.k = psi, of.v = in->v, of.x[3] = mix_tensor(in, "g");
    of.rope = in->rope && !linear_rotates_before(in->attention, &in->set);
    return of;
}

static MixSize decayed_size(const MixSize *s)
{
    MixSize of = *s;

    of.attention = &attention_decay, of.D = features_of(s);
    return of;
}

Tensor *decay_features_mix(Tape *tape, const Mix *in)
{
    Tensor *phi = find_features(tape, in, false), *psi = find_features(tape, in, true);
    const Mix of = decayed(in, phi, psi);

    return engine_decay.mix(tape, &of);
}

/* The features of a position, in f; `row` is memory for a row of q or k. */
static Tensor step_features(const Step *s, bool key, const real *angles, real *row, real *f)
{
    const MixSize size = mix_size(s->in);
    const FeatureMap *map = s->in->attention->rule;
    const Tensor *x = key ? s->in->k : s->in->q;
    const int D = size.D, F = features_of(&size);

    for (int h = 0; h < size.H; h++) {
        const MapRows m = { .in = s->in,
                            .key = key,
                            .T = s->t + 1,
                            .head = h,
                            .t0 = s->t,
                            .n = 1,
                            .D = D,
                            .F = F,
                            .ldx = D,
                            .ldf = F,
                            .live = 1 };

        memcpy(row, x->data + h * D, (size_t)D * sizeof *row);
        if (angles)
            rope_rotate(row, angles, D, false);
        map->apply(&m, row, f + h * F);
    }
    return (Tensor){ .ndim = 4, .dim = { 1, 1, size.H, F }, .n = (size_t)(size.H * F), .data = f };
}

void decay_features_step(const Step *s)
{
    const MixSize size = mix_size(s->in);
    const int D = size.D, n = size.H * features_of(&size);
    const size_t bytes = (size_t)(2 * D + 2 * n) * sizeof(real);
    const bool before = s->in->rope && linear_rotates_before(s->in->attention, &s->in->set);
    real *row = arena_take(s->tape->mem, bytes), *angles = row + D, *f = angles + D;

    if (before)
        rope_position(angles, s->t, D, s->in->rope_scale);
    Tensor phi = step_features(s, false, before ? angles : NULL, row, f);
    Tensor psi = step_features(s, true, before ? angles : NULL, row, f + n);
    const Mix of = decayed(s->in, &phi, &psi);
    Step step = *s;
    step.in = &of;
    engine_decay.step(&step);
    arena_give(s->tape->mem, row, bytes);
}

size_t decay_features_state(const MixSize *s)
{
    const MixSize of = decayed_size(s);

    return engine_decay.state(&of);
}

double decay_features_cost(const MixSize *s)
{
    const MixSize of = decayed_size(s);

    return engine_decay.cost(&of) + linear_maps_cost(s);
}

/* The features and the states of their scan; gradients of features, and of a learned operand. */
MixMemory decay_features_memory(const MixSize *s)
{
    const MixSize of = decayed_size(s);
    const double features = 2.0 * s->H * of.D;
    MixMemory m = linear_memory(s);

    m.kept = features + engine_decay.memory(&of).kept, m.back += features;
    return m;
}
