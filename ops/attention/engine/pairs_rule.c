/* What the rule and the settings of a mechanism select, its cost, and how a head is cut. */
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/kernel/lanes.h"

Tiling pairs_tiling(const Attention *a, const Values *set)
{
    const PairsRule *rule = a->rule;
    Tiling how = rule->tiling[rule->by ? setting(set, rule->by) : 0];

    if (rule->scale)
        how.tau = rule->tau[setting(set, rule->scale)];
    return how;
}

RowState pairs_start(const Weighting *w, real divisor, real null)
{
    return (RowState){ w->null ? null : -R(HUGE_VAL), w->null ? 1 : divisor, 0 };
}

const real *pairs_sink(const Tiling *how, const Mix *in)
{
    return how->sinks ? mix_tensor(in, "sink")->data : NULL;
}

real pairs_gain(const Tiling *how, int n0, int D, int n)
{
    return R((double)how->tau(n0, D, n) * sqrt((double)D));
}

int pairs_n0(const Mix *in)
{
    const PairsRule *rule = in->attention->rule;

    return rule->n0 ? setting_or_zero(&in->set, rule->n0) : 0;
}

View pairs_pattern(const Attention *a, const Values *set)
{
    const PairsRule *rule = a->rule;
    View v = view_rule(a, set);

    if (rule->chunk)
        v.chunk = setting_or_zero(set, rule->chunk);
    return v;
}

View pairs_view(const Mix *in, int b)
{
    View v = view_of(in, b);

    v.chunk = pairs_pattern(in->attention, &in->set).chunk;
    return v;
}

/* The keys of a row of a long sequence. */
static double keys_of(const MixSize *s)
{
    const View v = pairs_pattern(s->attention, &s->set);
    const double all = s->causal ? 0.5 * s->T : s->T;
    double keys = all;

    if (v.window > 0)
        keys = fmin(keys, (s->causal ? v.window : 2.0 * v.window) + 1);
    if (v.chunk > 0)
        keys = fmin(keys, s->causal ? 0.5 * (v.chunk + 1) : v.chunk);
    if (v.stride > 0)
        keys += all / v.stride;
    keys += (s->causal ? 1.0 : 2.0) * v.global + (double)v.random * v.block;
    return fmin(all, keys);
}

double pairs_cost(const MixSize *s)
{
    return keys_of(s) * s->H * (s->D + s->E);
}

/*
 * Large tiles make products efficient, until they no longer fit the L2 cache. A short sequence gets
 * no larger tile than it needs.
 */
int pairs_tile(int T)
{
    if (T <= TILE)
        return up_to(up_to(T, MR), max(NR, SUMS));
    return min(up_to(T, TILE), 2 * TILE);
}

/*
 * A long sequence with few heads is cut into parts, so that all threads have work; but not if rows
 * see few keys, where the parts' dq would take most of the op's memory.
 */
int pairs_parts(const View *v, int T, int H)
{
    const bool narrow = (v->window || v->chunk) && !v->stride;
    enum { LONG = sizeof(real) == sizeof(double) ? 4 * TILE : 1024, PIECES = 8 };

    return narrow ? 1 : max(1, min(T / LONG, PIECES / H));
}

/* The states of the rows; dq of the parts. */
MixMemory pairs_memory(const MixSize *s)
{
    const View v = pairs_pattern(s->attention, &s->set);
    double copies = (double)up_to(s->T, pairs_tile(s->T)) / s->T;
    int parts = pairs_parts(&v, s->T, s->H);

    double partial = parts > 1 ? s->H * copies * parts * copy_width(s->D) : 0;
    double bias = bias_is_on(&s->set) ? 2.0 * s->H : 0;

    double fade = pairs_tiling(s->attention, &s->set).forgets
                      ? (double)forget_grad_room(s->T, pairs_tile(s->T)) / s->T
                      : 0;

    return (MixMemory){ s->H * (double)(sizeof(RowState) / sizeof(real)) + bias,
                        partial + parts * (bias + s->H * fade) };
}
