#include "tests/variants.h"

#include <stdio.h>
#include <string.h>

/* A feature map, as all of them are tried. */
#define MAP(name)                                                                                  \
    { name, "", { 0 }, 0 }, { name, "window 5", { .window = 5 }, 0 },                              \
        { name, "RoPE", { .rope = true }, 0 },                                                     \
    {                                                                                              \
        name, "window 3, RoPE", { .window = 3, .rope = true }, 0                                   \
    }

/* 20 as a base: rows on both sides of it, and of the floor of 16. */
const Variant variants[] = {
    { "softmax", "", { 0 }, 0 },
    { "softmax", "entropy", { .scale = SCALE_ENTROPY }, 0 },
    { "softmax", "entropy, base 20", { .scale = SCALE_ENTROPY, .base = 20 }, 0 },
    { "softmax", "logn", { .scale = SCALE_LOGN }, 0 },
    { "softmax", "logn, base 20", { .scale = SCALE_LOGN, .base = 20 }, 0 },
    { "softmax", "window 5", { .window = 5 }, 0 },
    { "softmax", "window 70", { .window = 70 }, 0 },
    { "softmax", "RoPE", { .rope = true }, 0 },
    { "softmax",
      "entropy, base 20, window 30, RoPE",
      { .scale = SCALE_ENTROPY, .base = 20, .window = 30, .rope = true },
      0 },
    { "softmax", "RoPE linear 4", { .rope = true, .rope_scale = { ROPE_LINEAR, 4 } }, 0 },
    { "softmax", "RoPE ntk 4", { .rope = true, .rope_scale = { ROPE_NTK, 4 } }, 0 },
    MAP("relu"),
    MAP("elu"),
    MAP("exp"),
    { "exp", "window 70", { .window = 70 }, 0 },
    { "exp", "RoPE linear 2.5", { .rope = true, .rope_scale = { ROPE_LINEAR, 2.5 } }, 0 },
    MAP("cosformer"),
    { "cosformer", "horizon 4096", { .horizon = 4096 }, 0 },
    { "cosformer", "horizon 3", { .horizon = 3 }, 0 },
    { "cosformer", "horizon 4096, window 5", { .horizon = 4096, .window = 5 }, 0 },
    { "cosformer", "horizon 4096, RoPE", { .horizon = 4096, .rope = true }, 0 },
    { "cosformer",
      "window 3, RoPE ntk 8",
      { .window = 3, .rope = true, .rope_scale = { ROPE_NTK, 8 } },
      0 },
    MAP("performer"),
    { "performer", "9 features", { 0 }, 9 },
    { "performer", "9 features, window 5", { .window = 5 }, 9 },
    MAP("identity"),
    MAP("leaky"),
    { "efficient", "", { 0 }, 0 },
    { "efficient", "window 5", { .window = 5 }, 0 },
    { "efficient", "window 70", { .window = 70 }, 0 },
    { "fastformer", "mul", { .interaction = INTERACTION_MUL }, 0 },
    { "fastformer", "add", { .interaction = INTERACTION_ADD }, 0 },
    { "fastformer", "concat", { .interaction = INTERACTION_CONCAT }, 0 },
    { "gau", "n", { .norm = GAU_N }, 0 },
    { "gau", "fixed", { .norm = GAU_FIXED }, 0 },
    { "gau", "fixed, base 20", { .norm = GAU_FIXED, .base = 20 }, 0 },
    { "gau", "n2", { .norm = GAU_N2 }, 0 },
    { "gau", "sum", { .norm = GAU_SUM }, 0 },
    { "gau", "softmax", { .norm = GAU_SOFTMAX }, 0 },
    { "gau", "entropy, base 20", { .norm = GAU_ENTROPY, .base = 20 }, 0 },
    { "gau", "logn, base 20", { .norm = GAU_LOGN, .base = 20 }, 0 },
    { "gau", "n, window 5", { .norm = GAU_N, .window = 5 }, 0 },
    { "gau", "n2, window 70", { .norm = GAU_N2, .window = 70 }, 0 },
    { "gau", "sum, window 5", { .norm = GAU_SUM, .window = 5 }, 0 },
    { "gau", "entropy, base 20, window 30", { .norm = GAU_ENTROPY, .base = 20, .window = 30 }, 0 },
    { "gau", "n, RoPE", { .norm = GAU_N, .rope = true }, 0 },
    { "gau", "sum, RoPE", { .norm = GAU_SUM, .rope = true }, 0 },
    { "gau", "softmax, RoPE", { .norm = GAU_SOFTMAX, .rope = true }, 0 },
    { "gau", "n, window 3, RoPE", { .norm = GAU_N, .window = 3, .rope = true }, 0 },
    { "flash", "chunk 5", { .chunk = 5 }, 0 },
    { "flash", "", { 0 }, 0 },
    { "flash", "chunk 5, RoPE", { .chunk = 5, .rope = true }, 0 },
    { "flash", "chunk 64, RoPE", { .chunk = 64, .rope = true }, 0 },
    { "flash", "chunk 1", { .chunk = 1 }, 0 },
    { "flash",
      "chunk 5, RoPE ntk 3",
      { .chunk = 5, .rope = true, .rope_scale = { ROPE_NTK, 3 } },
      0 },
    { 0 },
};

const Attention *variant_attention(const Variant *v)
{
    return attention_find(v->attention);
}

const Variant *variant_next(const Variant *v)
{
    v = v ? v + 1 : variants;
    while (v->attention && !variant_attention(v))
        v++;
    return v->attention ? v : NULL;
}

bool variant_is(const Variant *v, const char *attention)
{
    return strcmp(v->attention, attention) == 0;
}

bool variant_is_plain(const Variant *v)
{
    return v == variants || !variant_is(v - 1, v->attention);
}

bool variant_is_softmax(const Variant *v)
{
    return variant_is(v, "softmax") || (variant_is(v, "gau") && v->set.norm >= GAU_SOFTMAX);
}

bool variant_is_quotient(const Variant *v)
{
    if (variant_is(v, "gau"))
        return v->set.norm >= GAU_SUM;
    return !variant_is(v, "fastformer") && !variant_is(v, "flash");
}

bool variant_squares_scores(const Variant *v)
{
    return variant_is(v, "flash") || (variant_is(v, "gau") && v->set.norm < GAU_SOFTMAX);
}

bool variant_is_tame(const Variant *v)
{
    return variant_is_softmax(v) || variant_is(v, "exp") || variant_is(v, "performer") ||
           variant_is(v, "efficient") || variant_is(v, "fastformer");
}

bool variant_ignores_positions(const Variant *v)
{
    return !v->set.rope && !v->set.window && !variant_is(v, "cosformer") && !variant_is(v, "flash");
}

/* 1 for a tensor of every position, in the order of Mixing.operand. */
static const struct {
    MixOperand which;
    bool batched;
} order[] = { { MIX_Q, 1 },  { MIX_K, 1 },      { MIX_V, 1 },      { MIX_QL, 1 },
              { MIX_KL, 1 }, { MIX_POOL_Q, 0 }, { MIX_POOL_K, 0 }, { MIX_CONCAT, 0 } };

static void list(Mixing *m)
{
    m->n = m->batched = 0;
    for (int i = 0; i < COUNT(order); i++)
        if (m->x[order[i].which]) {
            m->operand[m->n] = m->x[order[i].which];
            m->which[m->n++] = order[i].which;
            m->batched += order[i].batched;
        }
}

static Shape fitting(const Variant *v, Shape s)
{
    if (v->set.rope)
        s.D += s.D % 2;
    if (variant_is(v, "fastformer"))
        s.E = s.D;
    return s;
}

static Tensor *drawn(Arena *mem, const Mixing *m, MixOperand which)
{
    Shape s = m->s;
    uint64_t seed = 11 + (uint64_t)which;

    switch (which) {
    case MIX_V:
        return leaf(mem, seed, 1, SHAPE(s.B, s.T, s.H, s.E));
    case MIX_OMEGA:
        return leaf(mem, seed, 1, SHAPE(s.H, m->features, s.D));
    case MIX_POOL_Q:
    case MIX_POOL_K:
        return leaf(mem, seed, 1, SHAPE(s.H, s.D));
    case MIX_CONCAT:
        return leaf(mem, seed, 0.5, SHAPE(s.H, s.D, 2 * s.D));
    default:
        return leaf(mem, seed, 1, SHAPE(s.B, s.T, s.H, s.D));
    }
}

/*
 * Weights of either sign are apart from 0 if most features are positive; a
 * kink is at x = 0. With RoPE even a denominator of exactly 0 has something
 * above it, which the guard makes huge: not all over.
 */
static void suit(const Variant *v, Tensor *x)
{
    bool leaky = variant_is(v, "leaky"), identity = variant_is(v, "identity");
    bool rectified = variant_is(v, "relu") || variant_is(v, "cosformer");
    double scale = identity ? 0.3 : 1, shift = identity || leaky || (rectified && v->set.rope);
    double gap = rectified || leaky || variant_is(v, "elu") ? 0.25 : 0;

    for (size_t i = 0; i < x->n; i++) {
        double to = shift + scale * (double)x->data[i];
        x->data[i] = R(to + (to < 0 ? -gap : gap));
    }
}

Mixing mixing(Arena *mem, const Variant *v, Shape s, bool causal)
{
    Mixing m = { .variant = v, .attention = variant_attention(v), .causal = causal };

    m.s = fitting(v, s);
    m.features = v->features ? v->features : 4 * m.s.D;
    for (int j = 0; j < MIX_OPERANDS; j++)
        if (mix_needs(m.attention, v->set, (MixOperand)j))
            m.x[j] = drawn(mem, &m, (MixOperand)j);
    suit(v, m.x[MIX_Q]);
    suit(v, m.x[MIX_K]);
    if (m.x[MIX_OMEGA])
        m.omega = doubles(mem, m.x[MIX_OMEGA]->data, m.x[MIX_OMEGA]->n);
    list(&m);
    snprintf(m.name, sizeof m.name, "%s (%s), B %d, T %d, H %d, D %d, E %d%s", v->attention,
             v->label, m.s.B, m.s.T, m.s.H, m.s.D, m.s.E, causal ? ", causal" : "");
    return m;
}

void mixing_leave_kinks(Mixing *m)
{
    Tensor *const both[] = { m->x[MIX_Q], m->x[MIX_K] };
    int D = m->s.D;

    if (!variant_squares_scores(m->variant))
        return;
    for (int j = 0; j < COUNT(both); j++)
        for (size_t i = 0; i < both[j]->n; i++) {
            size_t vector = i / (size_t)D, c = i % (size_t)D;
            double along = c + 2 >= (size_t)D ? 1.5 : 0.3;
            double sign = vector * vector % 7 < 4 ? 1 : -1;
            both[j]->data[i] = R(sign * (along + 0.2 * (double)both[j]->data[i]));
        }
}

const int *mixing_lengths(Arena *mem, Shape s)
{
    int *length = arena_take(mem, (size_t)s.B * sizeof *length);
    const int some[] = { s.T, 0, 1, (s.T + 1) / 2 };

    for (int b = 0; b < s.B; b++)
        length[b] = some[b % COUNT(some)];
    return length;
}

Mix mixing_mix(const Mixing *m)
{
    Mix in = { .causal = m->causal, .length = m->length, .set = m->variant->set };

    for (int j = 0; j < MIX_OPERANDS; j++)
        *mix_operand(&in, (MixOperand)j) = m->x[j];
    return in;
}

NaiveMix mixing_naive(const Mixing *m, double *const *operand)
{
    Shape s = m->s;
    const double *x[MIX_OPERANDS] = { NULL };

    for (int j = 0; j < m->n; j++)
        x[m->which[j]] = operand[j];
    return (NaiveMix){
        .q = x[MIX_Q],
        .k = x[MIX_K],
        .v = x[MIX_V],
        .ql = x[MIX_QL],
        .kl = x[MIX_KL],
        .omega = m->omega,
        .pool_q = x[MIX_POOL_Q],
        .pool_k = x[MIX_POOL_K],
        .concat = x[MIX_CONCAT],
        .features = m->features,
        .B = s.B,
        .T = s.T,
        .H = s.H,
        .D = s.D,
        .E = s.E,
        .causal = m->causal,
        .length = m->length,
        .set = m->variant->set,
    };
}

static Tensor *mix(Tape *tape, void *ctx)
{
    const Mixing *m = ctx;

    return attention_mix(m->attention, tape, mixing_mix(m));
}

static void formula(const void *ctx, double *const *x, double *y)
{
    const Mixing *m = ctx;
    NaiveMix n = mixing_naive(m, x);

    ck_assert_msg(naive_attention(m->attention->name, &n, y), "%s has no formula in naive.c",
                  m->attention->name);
}

Subject mixing_subject(Mixing *m)
{
    list(m);
    return (Subject){ m->name, mix, formula, m, m->operand, m->n };
}

Outcome mixing_outcome(Arena *mem, Mixing *m, const real *dy)
{
    Subject s = mixing_subject(m);

    return outcome(mem, &s, 2, dy);
}
