#include "ops/attention/engine/linear.h"

#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

static const FeatureMap *map_of(const Attention *a)
{
    return a->rule;
}

static void linear_backward(Node *node)
{
    Linear *op = (Linear *)node;
    Tape *tape = node->tape;
    size_t bytes = linear_has_quotient(op->map)
                       ? 0
                       : (size_t)(op->B * op->H) * (size_t)op->T * (size_t)op->F * sizeof(real);

    /* in the order of writing: one tensor may be all three */
    op->dq = tape_grad(tape, op->in.q);
    op->dk = tape_grad(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    op->dz = bytes ? arena_take(tape->mem, bytes) : NULL;
    linear_open_learned(op, tape->mem);
    pool_reserve(tape->pool, (op->window ? band_scratch(op) : scan_scratch(op)) * sizeof(real));
    pool_for(tape->pool, op->B * op->H, 1, op->window ? band_backward : scan_backward, op);
    linear_close_learned(op, tape);
    if (bytes)
        arena_give(tape->mem, op->dz, bytes);
}

bool linear_rotates_before(const Attention *a, const Values *set)
{
    return attention_takes(a, "rope-at") && setting_is(set, "rope-at", "before");
}

static void make_angles(Linear *op, Tape *tape, const MixSize *size)
{
    const Mix *in = &op->in;
    const real **at = linear_rotates_before(in->attention, &in->set) ? &op->before : &op->angles;

    op->ladder = linear_rotated(size);
    op->angles = op->before = NULL;
    if (in->rope)
        *at = rope_angles(tape, op->T, op->ladder, in->rope_scale);
}

void linear_open(Linear *op, const Mix *in)
{
    const FeatureMap *map = map_of(in->attention);
    const MixSize s = mix_size(in);

    op->in = *in, op->map = map;
    op->B = in->q->dim[0], op->T = s.T, op->H = s.H, op->D = s.D, op->E = s.E;
    op->F = map->features(op->D, s.m);
    op->stats = map->stats ? map->stats(op->F) : 0;
    op->window = setting(&in->set, "window");
    op->dw[0] = op->dw[1] = NULL;
    make_angles(op, op->node.tape, &s);
    op->prepared = map->prepare ? map->prepare(&op->node, in) : NULL;
}

static Linear *mix(Tape *tape, const Mix *in)
{
    Linear *op = tape_node(tape, sizeof *op, linear_backward, 4, in->v->dim);

    linear_open(op, in);
    const int state = op->window ? 0 : state_size(op->F, op->E);
    const size_t rows = (size_t)(op->B * op->H) * (size_t)op->T;
    op->c = tape_keep(&op->node, rows * sizeof(real));
    op->stat = op->stats ? tape_keep(&op->node, rows * (size_t)op->stats * sizeof(real)) : NULL;
    if (in->causal && !op->window) {
        op->S = states_keep(&op->node, in, state);
        op->z = states_keep(&op->node, in, op->F);
    }
    pool_reserve(tape->pool, (op->window ? band_scratch(op) : scan_scratch(op)) * sizeof(real));
    pool_for(tape->pool, op->B * op->H, 1, op->window ? band_forward : scan_forward, op);
    return op;
}

Tensor *linear_mix(Tape *tape, const Mix *in)
{
    return mix(tape, in)->node.y;
}

/* The denominators c_i, without the factor 2^-p of a shifted map. */
bool linear_sums(Tape *tape, const Mix *in, double *c)
{
    const Linear *op = mix(tape, in);
    const bool has = linear_has_quotient(op->map);
    const size_t rows = (size_t)(op->B * op->H) * (size_t)op->T;

    for (size_t i = 0; has && i < rows; i++)
        c[i] = ldexp((double)op->c[i], op->map->shifted ? (int)op->stat[i] : 0);
    tape_reset(tape);
    return has;
}

/*
 * The state holds z and S, the sum of (rotated psi) v^T, of each head; or with a window, psi,
 * rotated psi and v of the positions in it, as a ring buffer. Before that come the number of keys
 * that are not padding, and temporary memory for one position: rows of F or D numbers.
 */
enum { OWN = 7 };

static int own_width(int F, int D)
{
    return F > D ? F : D;
}

size_t linear_state(const MixSize *s)
{
    size_t F = (size_t)map_of(s->attention)->features(s->D, s->m), E = (size_t)s->E;
    int window = setting(&s->set, "window");
    size_t H = (size_t)s->H, ring = (size_t)(window < s->T ? window + 1 : s->T);

    return 1 + OWN * (size_t)own_width((int)F, s->D) +
           (window > 0 ? ring * H * (2 * F + E) : H * (F + F * E));
}

/* One head at one position. */
typedef struct {
    const Step *s;
    const FeatureMap *map;
    int D, E, F, head, window;
    Span keys; /* the visible keys */
    int ladder;
    bool before; /* RoPE rotates x */
    real *angles, *x, *psi, *rotated, *phi, *z, *stat;
    real *kept; /* z and S of the head; or the ring buffer of all heads */
} StepHead;

static real *slot_of(const StepHead *x, int t)
{
    int H = x->s->in->q->dim[2], wide = 2 * x->F + x->E;

    return x->kept + ((size_t)(t % (x->window + 1)) * (size_t)H + (size_t)x->head) * (size_t)wide;
}

/* Copies a row of q or k to x->x, rotated if that is done before the map. */
static void step_row(const StepHead *x, const Tensor *from)
{
    memcpy(x->x, from->data + x->head * x->D, (size_t)x->D * sizeof(real));
    if (x->before)
        rope_rotate(x->x, x->angles, x->D, false);
}

/* Computes the features of that row, psi of a key or phi of a query, and rotates them. */
static void step_features(const StepHead *x, bool key)
{
    const Mix *in = x->s->in;
    int t = x->s->t;
    real *f = key ? x->psi : x->phi;
    MapRows m = { in, NULL, key, t + 1, x->head, t, 1, x->D, x->F, x->D, x->F, x->stat, 1, NULL };

    x->map->apply(&m, x->x, f);
    memcpy(x->rotated, f, (size_t)x->F * sizeof(real));
    for (int of = 0; in->rope && !x->before && of < x->F; of += x->ladder)
        rope_rotate(x->rotated + of, x->angles, x->ladder, false);
}

/* Adds this position's key to the window, and computes z, the sum over the visible keys. */
static void step_keep_window(StepHead *x, const real *v)
{
    int F = x->F;

    if (!x->s->padding) {
        real *slot = slot_of(x, x->s->t);

        memcpy(slot, x->psi, (size_t)F * sizeof(real));
        memcpy(slot + F, x->rotated, (size_t)F * sizeof(real));
        memcpy(slot + 2 * F, v, (size_t)x->E * sizeof(real));
    }
    memset(x->z, 0, (size_t)F * sizeof(real));
    for (int j = x->keys.from; j < x->keys.to; j++)
        for (int f = 0; f < F; f++)
            x->z[f] += slot_of(x, j)[f];
}

/* The same for all positions so far. */
static void step_keep(StepHead *x, const real *v)
{
    int F = x->F, E = x->E;
    real *z = x->kept, *S = z + F;

    for (int f = 0; !x->s->padding && f < F; f++) {
        z[f] += x->psi[f];
        for (int e = 0; e < E; e++)
            S[f * E + e] += x->rotated[f] * v[e];
    }
    memcpy(x->z, z, (size_t)F * sizeof(real));
}

/* o = S^T (rotated phi), or the sum over the ring buffer. */
static void step_sum(const StepHead *x, real *restrict o)
{
    int F = x->F, E = x->E;

    memset(o, 0, (size_t)E * sizeof(real));
    for (int f = 0; !x->window && f < F; f++)
        for (int e = 0; e < E; e++)
            o[e] += x->rotated[f] * (x->kept + F)[f * E + e];
    for (int j = x->keys.from; x->window && j < x->keys.to; j++) {
        const real *slot = slot_of(x, j);
        real a = row_dot(x->rotated, slot + F, F);

        for (int e = 0; e < E; e++)
            o[e] += a * slot[2 * F + e];
    }
}

static void step_head(StepHead *x)
{
    const real *v = x->s->in->v->data + x->head * x->E;
    real least = GUARD, c = 1;

    step_row(x, x->s->in->k);
    step_features(x, true);
    if (x->window)
        step_keep_window(x, v);
    else
        step_keep(x, v);
    if (x->s->state_only)
        return;
    real *o = x->s->o + x->head * x->E;
    step_row(x, x->s->in->q);
    if (x->map->stats)
        x->map->measure(x->x, x->z, x->F, x->stat);
    step_features(x, false);
    step_sum(x, o);
    if (linear_has_quotient(x->map))
        c = row_dot(x->phi, x->z, x->F);
    if (x->map->shifted)
        least = ldexp(least, -(int)x->stat[0]);
    if (c < least && c > -least)
        c = c < 0 ? -least : least;
    for (int e = 0; e < x->E; e++)
        o[e] = x->keys.from < x->keys.to ? o[e] / c : 0;
}

void linear_step(const Step *s)
{
    const MixSize size = mix_size(s->in);
    const FeatureMap *map = map_of(s->in->attention);
    const int F = map->features(size.D, size.m), window = setting(&s->in->set, "window");
    const int wide = own_width(F, size.D), ladder = linear_rotated(&size);
    real *own = s->state + 1, *kept = own + OWN * wide;

    if (!s->padding)
        s->state[0] += 1;
    if (s->in->rope)
        rope_position(own, s->t, ladder, s->in->rope_scale);
    View view = { .T = s->t + 1, .length = (int)s->state[0], .window = window, .causal = true };
    for (int h = 0; h < size.H; h++) {
        StepHead x = { .s = s,
                       .map = map,
                       .D = size.D,
                       .E = size.E,
                       .F = F,
                       .head = h,
                       .window = window,
                       .keys = view_keys(&view, s->t),
                       .ladder = ladder,
                       .before =
                           s->in->rope && linear_rotates_before(s->in->attention, &s->in->set),
                       .angles = own,
                       .x = own + wide,
                       .psi = own + 2 * wide,
                       .rotated = own + 3 * wide,
                       .phi = own + 4 * wide,
                       .z = own + 5 * wide,
                       .stat = own + 6 * wide,
                       .kept = kept };

        if (!window)
            x.kept += (size_t)h * (size_t)(F + F * size.E);
        step_head(&x);
    }
}

/* S^T phi and the update of S; the pairs within a chunk or band; and the maps. */
double linear_cost(const MixSize *s)
{
    double F = map_of(s->attention)->features(s->D, s->m), maps = linear_maps_cost(s);
    double pairs = s->causal ? 0.5 * fmin(TILE, s->T) : 0;
    int window = setting(&s->set, "window");

    if (window > 0)
        return maps + s->H * (F + s->E) * fmin(s->T, (s->causal ? 1 : 2) * window + 1);
    return maps + s->H * (2 * F * s->E + pairs * (F + s->E));
}

/* c and stat; the sums before chunks; dz, if phi is divided by z; the gradients of an operand that
 * is learned. */
MixMemory linear_memory(const MixSize *s)
{
    const FeatureMap *map = map_of(s->attention);
    int F = map->features(s->D, s->m), stats = map->stats ? map->stats(F) : 0;
    const double dz = linear_has_quotient(map) ? 0 : F;
    const bool chunks = s->causal && setting(&s->set, "window") == 0;

    return (MixMemory){ s->H * (1.0 + stats) +
                            (chunks ? states_cost(s, state_size(F, s->E) + F) : 0),
                        s->H * (dz + linear_learned_numbers(s) / s->T) };
}

int linear_rotated(const MixSize *s)
{
    const FeatureMap *map = map_of(s->attention);

    if (linear_rotates_before(s->attention, &s->set))
        return s->D;
    return map->ladder ? map->ladder(s) : map->features(s->D, s->m);
}

unsigned linear_traits(const Values *set)
{
    return setting_is(set, "rope-at", "before") ? BY_POSITION : 0;
}

int linear_rank(const MixSize *s)
{
    return map_of(s->attention)->features(s->D, s->m);
}

const Engine engine_linear = {
    .mix = linear_mix,
    .step = linear_step,
    .state = linear_state,
    .cost = linear_cost,
    .memory = linear_memory,
    .rotated = linear_rotated,
    .rank = linear_rank,
    .sums = linear_sums,
};
