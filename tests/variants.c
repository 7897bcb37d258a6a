#include "tests/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS = 400 };
enum { LAYER = 1, LAYERS = 3 }; /* where the mix is in a model: not at its ends */
static Variant variants[VARIANTS];
static int made;

static void describe(Variant *v)
{
    size_t at = 0, size = sizeof v->label;

    for (const Setting *s = v->attention->settings; s && s->name; s++)
        if (setting(&v->set, s->name) != s->value)
            at += (size_t)snprintf(v->label + at, size - at, "%s%s %s", at ? ", " : "", s->name,
                                   setting_print(s, setting(&v->set, s->name)).at);
    if (v->rope)
        at += (size_t)snprintf(v->label + at, size - at, "%sRoPE", at ? ", " : "");
    if (v->rope_scale.by > 0)
        snprintf(v->label + at, size - at, " %s %g", rope_kind_names[v->rope_scale.kind],
                 v->rope_scale.by);
}

static void add(Variant v)
{
    ck_assert_int_lt(made, VARIANTS);
    v.traits = attention_traits(v.attention, &v.set);
    v.plain = made == 0 || variants[made - 1].attention != v.attention;
    describe(&v);
    variants[made++] = v;
}

static Variant with(Variant v, const char *name, int value)
{
    *setting_at(&v.set, name) = value;
    return v;
}

static int size_of_m(const Variant *v, int D)
{
    int m = 0;

    for (const Setting *s = v->attention->settings; s && s->name; s++)
        if (s->size == 'm')
            m = setting_size(s, setting(&v->set, s->name), D);
    return m;
}

/* With RoPE, where the attention takes it and pairs can be made. */
static Variant rotated(Variant v, RopeScale scale)
{
    const MixSize size = { .attention = v.attention, .D = 2, .m = size_of_m(&v, 2), .set = v.set };

    v.rope = (v.attention->traits & CAN_ROPE) && attention_rotated(&size) % 2 == 0;
    v.rope_scale = v.rope ? scale : (RopeScale){ 0 };
    return v;
}

static const RopeScale unscaled, linear4 = { ROPE_LINEAR, 4, 500 }, ntk4 = { ROPE_NTK, 4, 0 };

/* The numbers that a setting is tried at here: all but the first, which is for 7 positions. */
static const int *tries_of(const Setting *s)
{
    return s->tries[1] ? s->tries + 1 : s->tries;
}

/* Windows; RoPE; both. */
static void add_masks(Variant v)
{
    if (attention_takes(v.attention, "window")) {
        add(with(v, "window", 5));
        add(with(v, "window", 70));
        add(rotated(with(v, "window", 3), ntk4));
    }
    if (v.attention->traits & CAN_ROPE) {
        add(rotated(v, unscaled));
        add(rotated(v, linear4));
    }
}

static Variant windowed(Variant v)
{
    return attention_takes(v.attention, "window") ? with(v, "window", 5) : v;
}

/* A number, at all that is tried; the first also with a window, if they go together, and RoPE. */
static void add_numbers(Variant v, const Setting *s)
{
    const int *try = tries_of(s);
    const Variant first = with(v, s->name, *try), near = windowed(first);

    for (; try < s->tries + COUNT(s->tries) && *try; try++)
        add(with(v, s->name, *try));
    add(rotated(settings_misfit(v.attention, &near.set).n ? first : near, unscaled));
}

static bool is_window(const Setting *s)
{
    return strcmp(s->name, "window") == 0;
}

static bool is_flag(const Setting *s)
{
    return s->kind == SETTING_FLAG && !s->layer;
}

static int last_of(const Setting *choice)
{
    int i = 0;

    while (choice->choices[i + 1])
        i++;
    return i;
}

/* Not where the only positive score of a short row has the weight 1, and derivatives are 0. */
static void add_both(Variant v)
{
    const unsigned traits = attention_traits(v.attention, &v.set);

    if (!(traits & SQUARED) || !(traits & QUOTIENT))
        add(v);
}

/* Each choice; with the last of others; with flags and the numbers that matter to it; with a window
 * and RoPE. */
static void add_choices(Variant v, const Setting *choice)
{
    for (int c = choice->least; choice->choices[c]; c++) {
        Variant of = with(v, choice->name, c);

        if (choice->rope)
            of = rotated(of, unscaled);

        if (c != choice->value)
            add(of);
        for (const Setting *s = choice + 1; s->name && c != choice->value; s++)
            if (s->kind == SETTING_CHOICE && !s->layer && !s->rope)
                add_both(with(of, s->name, last_of(s)));
        for (const Setting *s = v.attention->settings; s->name; s++)
            if ((s->with && setting_matters(v.attention, &of.set, s)) || is_flag(s))
                add(with(of, s->name, tries_of(s)[0]));
        if (attention_takes(v.attention, "window"))
            add(rotated(with(of, "window", 5), unscaled));
    }
}

static bool is_number(const Setting *s)
{
    return (is_flag(s) || s->kind == SETTING_NUMBER) && *s->tries && !s->with && !is_window(s);
}

/* All numbers that shape V(i), at their first tries, the second ones, ...; those also with RoPE. */
static void add_patterns(const Variant v)
{
    for (size_t try = 0; try < COUNT(((Setting *)0)->tries); try++) {
        Variant of = v;
        bool some = false;

        for (const Setting *s = v.attention->settings; s && s->name; s++)
            if (s->pattern && s->tries[try])
                *setting_at(&of.set, s->name) = s->tries[try], some = true;
        if (some)
            add(of);
        if (some && try == 1)
            add(rotated(of, unscaled));
    }
}

/* All flags at once, if they go together. */
static void add_flags(Variant v)
{
    int n = 0;

    for (const Setting *s = v.attention->settings; s && s->name; s++)
        if (is_flag(s))
            v = with(v, s->name, !s->value), n++;
    if (n > 1 && !settings_misfit(v.attention, &v.set).n)
        add(v);
}

static void add_attention(const Attention *a)
{
    const Variant v = { .attention = a, .set = settings_default(a) };

    add(v);
    add_masks(v);
    for (const Setting *s = a->settings; s && s->name; s++) {
        if (s->kind == SETTING_CHOICE && !s->layer)
            add_choices(v, s);
        if (is_number(s) && !s->pattern)
            add_numbers(v, s);
    }
    add_patterns(v);
    add_flags(v);
}

bool variant_is_chosen(const Attention *a)
{
    const char *chosen = getenv("ATTN");

    return !chosen || strstr(text_format(",%s,", chosen).at, text_format(",%s,", a->name).at);
}

const Variant *variant_next(const Variant *v)
{
    if (made == 0)
        for (const Attention *const *a = attentions; *a; a++)
            if (variant_is_chosen(*a))
                add_attention(*a);
    ck_assert_msg(made > 0, "no attention is called %s", getenv("ATTN"));
    v = v ? v + 1 : variants;
    return v < variants + made ? v : NULL;
}

bool variant_ignores_positions(const Variant *v)
{
    return !v->rope && !variant_window(v) && !(v->traits & (BY_DISTANCE | BLOCKED | PLACED));
}

int variant_window(const Variant *v)
{
    return attention_takes(v->attention, "window") ? setting(&v->set, "window") : 0;
}

bool variant_rotates_before(const Variant *v)
{
    return v->rope && attention_takes(v->attention, "rope-at") &&
           setting_is(&v->set, "rope-at", "before");
}

static void list(Mixing *m)
{
    const Operand *o;

    m->n = m->batched = 0;
    for (int shared = 0; shared < 2; shared++)
        for (int i = 0; (o = attention_operand(m->attention, i)); i++)
            if (m->x[i] && operand_learned(o, &m->variant->set) && (*o->shape == 'B') == !shared) {
                m->operand[m->n] = m->x[i];
                m->which[m->n++] = i;
                m->batched += !shared;
            }
}

static Shape fitting(const Variant *v, Shape s)
{
    if (v->rope)
        s.D += s.D % 2;
    if (v->traits & V_AS_WIDE)
        s.E = s.D;
    return s;
}

int mixing_shape(const Mixing *m, const Operand *o, int dim[4])
{
    const MixSize size = { .attention = m->attention,
                           .H = m->s.H,
                           .D = m->s.D,
                           .E = m->s.E,
                           .m = m->m,
                           .c = m->c,
                           .set = m->variant->set };
    int n = 0;

    for (; o->shape[n]; n++)
        dim[n] = o->shape[n] == 'B'   ? m->s.B
                 : o->shape[n] == 'N' ? m->s.T
                                      : operand_dimension(&size, o->shape[n]);
    return n;
}

/*
 * Weights of either sign are apart from 0 if most features are positive; a kink is at
 * x = 0. With RoPE even a denominator of exactly 0 has something above it, which the guard
 * makes huge: not all over.
 */
static void suit(const Variant *v, Tensor *x)
{
    const bool kinked = v->traits & KINKED, negative = v->traits & SIGNED;
    double scale = negative && !kinked ? 0.3 : 1, gap = kinked ? 0.25 : 0;
    double shift = negative || ((v->traits & RECTIFIED) && v->rope);

    for (size_t i = 0; i < x->n; i++) {
        double to = shift + scale * (double)x->data[i];
        x->data[i] = R(to + (to < 0 ? -gap : gap));
    }
}

/* Where a mechanism is defined in one direction only, it is run in that one. */
static bool direction(const Variant *v, bool causal)
{
    return (causal || (v->traits & CAUSAL_ONLY)) && !(v->traits & BIDIRECTIONAL_ONLY);
}

Mixing mixing(Arena *mem, const Variant *v, Shape s, bool causal)
{
    Mixing m = { .variant = v, .attention = v->attention, .causal = direction(v, causal) };
    const Operand *o;
    int dim[4];

    m.s = fitting(v, s);
    m.m = size_of_m(v, m.s.D), m.c = m.s.T + 3;
    for (int i = 0; (o = attention_operand(v->attention, i)); i++)
        if (attention_needs(v->attention, &v->set, i)) {
            const int n = mixing_shape(&m, o, dim);

            m.x[i] = leaf_again(mem, 11 + (uint64_t)i,
                                *o->shape != 'B' && n == 3 && (!o->draw || o->learned) ? 0.5 : 1, n,
                                dim);
            operand_fit(o, m.x[i]);
        }
    suit(v, m.x[Q]);
    suit(v, m.x[K]);
    mixing_rotate_back(&m);
    list(&m);
    snprintf(m.name, sizeof m.name, "%s (%s), B %d, T %d, H %d, D %d, E %d%s", v->attention->name,
             v->label, m.s.B, m.s.T, m.s.H, m.s.D, m.s.E, m.causal ? ", causal" : "");
    return m;
}

void mixing_leave_kinks(Mixing *m)
{
    int D = m->s.D;

    if (!(m->variant->traits & SQUARED))
        return;
    for (int j = Q; j <= K; j++)
        for (size_t i = 0; i < m->x[j]->n; i++) {
            size_t vector = i / (size_t)D, c = i % (size_t)D;
            double along = c + 2 >= (size_t)D ? 1.5 : 0.3;
            double sign = vector * vector % 7 < 4 ? 1 : -1;
            m->x[j]->data[i] = R(sign * (along + 0.2 * (double)m->x[j]->data[i]));
        }
}

void mixing_rotate_back(Mixing *m)
{
    Arena *mem = arena_new();
    real *angles = arena_take(mem, (size_t)m->s.D * sizeof *angles);
    const int D = m->s.D;

    for (int t = 0; variant_rotates_before(m->variant) && t < m->s.T; t++) {
        rope_position(angles, t, D, m->variant->rope_scale);
        for (int i = 0; i < 2 * m->s.B * m->s.H; i++) {
            const int row = (i / 2 / m->s.H * m->s.T + t) * m->s.H + i / 2 % m->s.H;

            rope_rotate(m->x[i % 2 ? Q : K]->data + row * D, angles, D, true);
        }
    }
    arena_free(mem);
}

const int *mixing_lengths(Arena *mem, Shape s)
{
    int *length = arena_take(mem, (size_t)s.B * sizeof *length);
    const int some[] = { s.T, (s.T + 1) / 2, 0, 1 };

    for (int b = 0; b < s.B; b++)
        length[b] = some[b % COUNT(some)];
    return length;
}

Mix mixing_mix(const Mixing *m)
{
    Mix in = { .attention = m->attention,
               .causal = m->causal,
               .length = m->length,
               .rope = m->variant->rope,
               .rope_scale = m->variant->rope_scale,
               .layer = LAYER,
               .layers = LAYERS,
               .set = m->variant->set };

    memcpy(in.x, m->x, sizeof in.x);
    return in;
}

/* What is drawn once is no operand of the formula: its numbers are those of the tensor. */
static double *fixed(const Tensor *x)
{
    enum { ROOM = 1 << 16 };
    static double room[ROOM];

    ck_assert_uint_le(x->n, ROOM);
    for (size_t i = 0; i < x->n; i++)
        room[i] = (double)x->data[i];
    return room;
}

PlainMix mixing_plain(const Mixing *m, double *const *operand)
{
    PlainMix plain = { .attention = m->attention,
                       .B = m->s.B,
                       .T = m->s.T,
                       .H = m->s.H,
                       .D = m->s.D,
                       .E = m->s.E,
                       .m = m->m,
                       .context = m->c,
                       .causal = m->causal,
                       .rope = m->variant->rope,
                       .rope_scale = m->variant->rope_scale,
                       .layer = LAYER,
                       .layers = LAYERS,
                       .length = m->length,
                       .set = m->variant->set };
    const Operand *o;

    for (int i = 3; (o = attention_operand(m->attention, i)); i++)
        if (m->x[i] && !operand_learned(o, &m->variant->set))
            plain.in.x[i] = fixed(m->x[i]);
    for (int j = 0; j < m->n; j++)
        plain.in.x[m->which[j]] = operand[j];
    return plain;
}

static Tensor *mix(Tape *tape, void *ctx)
{
    const Mix in = mixing_mix(ctx);

    return attention_mix(tape, &in);
}

static void formula(const void *ctx, double *const *x, double *y)
{
    const PlainMix plain = mixing_plain(ctx, x);

    plain_mix(&plain, y, NULL, NULL);
}

Subject mixing_subject(Mixing *m)
{
    list(m);
    return (Subject){ m->name, mix, formula, m, m->operand, m->n };
}

Outcome mixing_outcome(Arena *mem, Mixing *m, const real *dy)
{
    Subject s = mixing_subject(m);

    return outcome(mem, &s, 1, dy);
}
