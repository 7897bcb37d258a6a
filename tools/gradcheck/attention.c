/* The attentions, each with every combination of its settings. */
#include "tools/gradcheck/gradcheck.h"

typedef struct {
    const Attention *a;
    Mix in;
    bool padded;
    int B, T, H, D, E;
} MixCase;

/* Not all of the same effect in so short a sequence; BASE_SMALL is on both sides of a length. */
enum { WINDOW_SMALL = 2, HORIZON_LARGE = 40, CHUNK_SMALL = 3, BASE_SMALL = 5, FEATURES = 6 };
enum { ROPES = 4 };
static const RopeScale ropes[ROPES] = {
    { .by = 0 }, { .by = 1 }, { ROPE_LINEAR, 4 }, { ROPE_NTK, 4 }
};

/* Takes a digit off a number whose digits have different bases. */
static int digit(int *number, int base)
{
    int d = *number % base;

    *number /= base;
    return d;
}

static bool base_matters(const Attention *a, Settings s)
{
    bool norm = s.norm == GAU_FIXED || s.norm == GAU_ENTROPY || s.norm == GAU_LOGN;

    return (a->takes & TAKES_BASE) && (((a->takes & TAKES_SCALE) && s.scale != SCALE_SQRT) ||
                                       ((a->takes & TAKES_NORM) && norm));
}

/* The settings of that number, of all that mean something; false: there are no more. */
static bool settings_numbered(const Attention *a, int number, MixCase *c)
{
#define TAKEN(bit, values) digit(&number, a->takes &(bit) ? (values) : 1)
    Settings *s = &c->in.set;

    *c = (MixCase){ .a = a };
    c->in.causal = !digit(&number, 2);
    c->padded = digit(&number, 2);
    s->window = WINDOW_SMALL * TAKEN(TAKES_WINDOW, 2);
    s->rope_scale = ropes[TAKEN(TAKES_ROPE, ROPES)];
    s->rope = s->rope_scale.by > 0;
    s->horizon = HORIZON_LARGE * TAKEN(TAKES_HORIZON, 2);
    s->chunk = CHUNK_SMALL * TAKEN(TAKES_CHUNK, 2);
    s->interaction = (Interaction)TAKEN(TAKES_INTERACTION, INTERACTION_CONCAT + 1);
    s->scale = (Scale)TAKEN(TAKES_SCALE, SCALE_LOGN + 1);
    s->norm = (GauNorm)TAKEN(TAKES_NORM, GAU_LOGN + 1);
    s->base = BASE_SMALL * TAKEN(TAKES_BASE, 2);
    return number == 0;
#undef TAKEN
}

static void describe(const MixCase *c, char *to, size_t size)
{
    const Settings *s = &c->in.set;
    const struct {
        const char *word, *name;
        int value;
    } all[] = {
        { "window", NULL, s->window },
        { "rope", "", s->rope },
        { rope_kind_names[s->rope_scale.kind], NULL,
          s->rope_scale.by > 1 ? (int)s->rope_scale.by : 0 },
        { "horizon", NULL, s->horizon },
        { "chunk", NULL, s->chunk },
        { "interaction", interaction_names[s->interaction], c->a->takes & TAKES_INTERACTION },
        { "scale", scale_names[s->scale], c->a->takes & TAKES_SCALE },
        { "norm", gau_norm_names[s->norm], c->a->takes & TAKES_NORM },
        { "base", NULL, s->base },
    };
    size_t at = (size_t)snprintf(to, size, "%s%s", c->in.causal ? "causal" : "bidirectional",
                                 c->padded ? ", padded" : "");

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char number[16];

        snprintf(number, sizeof number, "%d", all[i].value);
        if (all[i].value)
            at += (size_t)snprintf(to + at, size - at, ", %s%s%s", all[i].word,
                                   all[i].name && !all[i].name[0] ? "" : " ",
                                   all[i].name ? all[i].name : number);
    }
}

/*
 * A base of 5 matters where rows see more than 16 keys: a longer sequence, and
 * smaller heads. RoPE turns pairs. Fastformer multiplies q, k and v by each other.
 */
static void size_up(MixCase *c)
{
    bool longer = c->in.set.base > 0;

    c->B = c->padded && !longer ? 3 : 2;
    c->T = longer ? 19 : 7;
    c->H = longer ? 1 : 2;
    c->D = longer ? 2 : c->in.set.rope ? 4 : 5;
    c->E = c->a->frame == FRAME_POOLED ? c->D : 3;
}

/* Numbers on both sides of 0, where many a function has a kink, but not so near as to meet it. */
static Tensor *operand_new(Arena *mem, uint64_t seed, int ndim, const int *dim)
{
    Tensor *t = leaf(mem, seed, 1, ndim, dim);

    for (size_t i = 0; i < t->n; i++)
        t->data[i] += t->data[i] < 0 ? -0.05 : 0.05;
    return t;
}

static Tensor *mix_operand_new(Arena *mem, const MixCase *c, MixOperand operand)
{
    uint64_t seed = 11 + (uint64_t)operand;

    switch (operand) {
    case MIX_V:
        return operand_new(mem, seed, SHAPE(c->B, c->T, c->H, c->E));
    case MIX_OMEGA:
        return operand_new(mem, seed, SHAPE(c->H, FEATURES, c->D));
    case MIX_POOL_Q:
    case MIX_POOL_K:
        return operand_new(mem, seed, SHAPE(c->H, c->D));
    case MIX_CONCAT:
        return operand_new(mem, seed, SHAPE(c->H, c->D, 2 * c->D));
    default:
        return operand_new(mem, seed, SHAPE(c->B, c->T, c->H, c->D));
    }
}

static Tensor *apply_mix(Tape *tape, void *ctx)
{
    const MixCase *c = ctx;

    return attention_mix(c->a, tape, c->in);
}

static double largest(const Tensor *t)
{
    double most = 0;

    for (size_t i = 0; i < t->n; i++)
        most = fmax(most, fabs(t->data[i]));
    return most;
}

/*
 * Where weights have either sign, their sum may come near 0, and a row divided by
 * it outweighs all others: then q and k are moved, until most products are positive.
 */
static void move_off_zero_sums(Report *r, MixCase *c)
{
    for (int moves = 0; c->a->matrix && c->a->linear && moves < 4; moves++) {
        tape_reset(&r->tape);
        if (largest(apply_mix(&r->tape, c)) < 10 * largest(c->in.v))
            return;
        for (size_t i = 0; i < c->in.q->n; i++)
            c->in.q->data[i] += 1, c->in.k->data[i] += 1;
    }
}

static void check_mix(Report *r, MixCase *m)
{
    Case c = { .name = m->a->name, .f = apply_mix, .ctx = m };
    int length[3];

    size_up(m);
    length[0] = m->T, length[1] = m->T / 2, length[2] = 0;
    m->in.length = m->padded ? length : NULL;
    describe(m, c.set, sizeof c.set);
    for (int i = 0; i < MIX_OPERANDS; i++) {
        MixOperand operand = (MixOperand)i;

        if (!mix_needs(m->a, m->in.set, operand))
            continue;
        Tensor *x = *mix_operand(&m->in, operand) = mix_operand_new(r->mem, m, operand);
        if (operand != MIX_OMEGA) /* drawn once, not learned */
            put_operand(&c, mix_operand_names[i], x);
    }
    move_off_zero_sums(r, m);
    check(r, &c);
}

void check_mixes(Report *r, const Attention *a)
{
    MixCase c;

    for (int i = 0; settings_numbered(a, i, &c); i++)
        if (c.in.set.base == 0 || base_matters(a, c.in.set))
            check_mix(r, &c);
    sum_up(r, a->name, "");
}
