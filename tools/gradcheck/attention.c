/* The attentions, each with every combination of its settings. */
#include "tools/gradcheck/gradcheck.h"

#include "ops/base/text.h"

typedef struct {
    Mix in;
    bool padded, longer;
    int B, T, H, D, E, m;
} MixCase;

enum { ROPES = 4 };
static const RopeScale ropes[ROPES] = {
    { .by = 0 }, { .by = 1 }, { ROPE_LINEAR, 4, 0 }, { ROPE_NTK, 4, 500 }
};

/* Takes a digit off a number whose digits have different bases. */
static int digit(int *number, int base)
{
    int d = *number % base;

    *number /= base;
    return d;
}

/* The values that a setting is tried at: every choice, or the default and a number. */
static int values_of(const Setting *s)
{
    int n = 0;

    while (s->kind == SETTING_CHOICE && s->choices[n])
        n++;
    return s->layer ? 1 : s->kind == SETTING_CHOICE ? n : 2;
}

static bool has_pattern(const Attention *a)
{
    for (const Setting *s = a->settings; s && s->name; s++)
        if (s->pattern)
            return true;
    return false;
}

/* The combination of that number; false: there are no more. */
static bool combination(const Attention *a, int number, MixCase *c)
{
    *c = (MixCase){ .in = { .attention = a, .layer = 1, .layers = 3, .set = settings_default(a) } };
    c->in.causal = !digit(&number, a->traits & (CAUSAL_ONLY | BIDIRECTIONAL_ONLY) ? 1 : 2);
    c->in.causal &= !(a->traits & BIDIRECTIONAL_ONLY);
    c->padded = digit(&number, 2);
    c->in.rope_scale = ropes[digit(&number, a->traits & CAN_ROPE ? ROPES : 1)];
    c->in.rope = c->in.rope_scale.by > 0;
    const bool pattern = digit(&number, has_pattern(a) ? 2 : 1);
    for (const Setting *s = a->settings; s && s->name; s++) {
        const int n = values_of(s), value = s->pattern ? pattern : digit(&number, n);

        if (value)
            *setting_at(&c->in.set, s->name) =
                s->kind == SETTING_CHOICE ? (s->value + value) % n : s->tries[0];
        c->longer |= value && s->with;
    }
    c->in.causal |= attention_refuses(a, &c->in.set, false).n > 0;
    return number == 0;
}

/* Every setting that is not at its default is allowed and has an effect. */
static bool all_matter(const Mix *in)
{
    for (const Setting *s = in->attention->settings; s && s->name; s++)
        if (setting(&in->set, s->name) != s->value &&
            (!setting_matters(in->attention, &in->set, s) || (s->rope && !in->rope)))
            return false;
    return !settings_misfit(in->attention, &in->set).n;
}

static void describe(const MixCase *c, char *to, size_t size)
{
    const Mix *in = &c->in;
    size_t at = (size_t)snprintf(to, size, "%s%s%s", in->causal ? "causal" : "bidirectional",
                                 c->padded ? ", padded" : "", in->rope ? ", rope" : "");

    if (in->rope_scale.by > 1)
        at +=
            (size_t)snprintf(to + at, size - at, ", %s %g%s", rope_kind_names[in->rope_scale.kind],
                             in->rope_scale.by, in->rope_scale.base > 0 ? " of base 500" : "");
    for (const Setting *s = in->attention->settings; s && s->name; s++)
        if (setting(&in->set, s->name) != s->value)
            at += (size_t)snprintf(to + at, size - at, ", %s %s", s->name,
                                   setting_print(s, setting(&in->set, s->name)).at);
}

/*
 * A length that only long rows notice takes more than 16 keys: a longer sequence, and
 * smaller heads. RoPE rotates pairs.
 */
static void size_up(MixCase *c)
{
    c->B = c->padded && !c->longer ? 3 : 2;
    c->T = c->longer ? 19 : 7;
    c->H = c->longer ? 1 : 2;
    c->D = c->longer ? 2 : c->in.rope ? 4 : 5;
    c->E = c->in.attention->traits & V_AS_WIDE ? c->D : 3;
    for (const Setting *s = c->in.attention->settings; s && s->name; s++)
        c->m = s->size == 'm' ? s->tries[0] : c->m;
}

/* Numbers on both sides of 0, where many a function has a kink, but not so near as to meet it. */
static Tensor *operand_new(Arena *mem, uint64_t seed, int ndim, const int *dim)
{
    Tensor *t = leaf(mem, seed, 1, ndim, dim);

    for (size_t i = 0; i < t->n; i++)
        t->data[i] += t->data[i] < 0 ? -0.05 : 0.05;
    return t;
}

static Tensor *mix_operand_new(Arena *mem, const MixCase *c, const Operand *o, uint64_t seed)
{
    const MixSize size = { .attention = c->in.attention,
                           .H = c->H,
                           .D = c->D,
                           .E = c->E,
                           .m = c->m,
                           .c = c->T + 2,
                           .set = c->in.set };
    int n = 0, dim[4];

    for (; o->shape[n]; n++)
        dim[n] = o->shape[n] == 'B'   ? c->B
                 : o->shape[n] == 'N' ? c->T
                                      : operand_dimension(&size, o->shape[n]);
    Tensor *x = operand_new(mem, seed, n, dim);
    operand_fit(o, x);
    return x;
}

static Tensor *apply_mix(Tape *tape, void *ctx)
{
    const MixCase *c = ctx;

    return attention_mix(tape, &c->in);
}

static Tensor *apply_twin(Tape *tape, void *ctx)
{
    const MixCase *c = ctx;

    return twin_mix(tape, &c->in);
}

static double largest(const Tensor *t)
{
    double most = 0;

    for (size_t i = 0; i < t->n; i++)
        most = fmax(most, fabs(t->data[i]));
    return most;
}

/*
 * Where weights have either sign, their sum may come near 0, and a row divided by it
 * outweighs all others: then q and k are moved, until most products are positive.
 */
static void move_off_zero_sums(Report *r, MixCase *c)
{
    const unsigned traits = c->in.attention->traits;

    for (int moves = 0; (traits & HAS_MATRIX) && (traits & IS_LINEAR) && moves < 4; moves++) {
        tape_reset(&r->tape);
        if (largest(apply_mix(&r->tape, c)) < 10 * largest(c->in.v))
            return;
        for (size_t i = 0; i < c->in.q->n; i++)
            c->in.q->data[i] += 1, c->in.k->data[i] += 1;
    }
}

static void check_twin(Report *r, const Case *fast)
{
    const Text name = text_format("%s, plain twin", fast->name);
    Case c = *fast;

    c.name = name.at, c.f = apply_twin;
    const double apart = twin_distance(r, fast, &c);
    r->these.apart = fmax(r->these.apart, apart), r->all.apart = fmax(r->all.apart, apart);
    if (r->verbose || !(apart <= TWIN_TOLERANCE))
        printf("%s, and its plain twin, %s: %.1e apart\n", fast->name, c.set, apart);
    check(r, &c);
}

static void check_mix(Report *r, MixCase *m, bool twin)
{
    const Attention *a = m->in.attention;
    Case c = { .name = a->name, .f = apply_mix, .ctx = m };
    const Operand *o;
    int length[3];

    size_up(m);
    length[0] = m->T, length[1] = m->T / 2, length[2] = 0;
    m->in.length = m->padded ? length : NULL;
    describe(m, c.set, sizeof c.set);
    for (int i = 0; (o = attention_operand(a, i)); i++) {
        if (!attention_needs(a, &m->in.set, i))
            continue;
        m->in.x[i] = mix_operand_new(r->mem, m, o, 11 + (uint64_t)i);
        if (operand_learned(o, &m->in.set))
            put_operand(&c, o->name, m->in.x[i]);
    }
    move_off_zero_sums(r, m);
    if (twin)
        check_twin(r, &c);
    else
        check(r, &c);
}

void check_mixes(Report *r, const Attention *a)
{
    MixCase c;

    for (int twin = 0; twin <= r->plain; twin++) {
        for (int i = 0; combination(a, i, &c); i++)
            if (all_matter(&c.in))
                check_mix(r, &c, twin);
        sum_up(r, a->name, twin ? ", plain twin" : "");
    }
}
