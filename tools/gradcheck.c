/*
 * ./gradcheck: every derivative of this repository, by hand and by differences,
 * side by side. In double only: in float the differences are too rough to say
 * more than that the two resemble each other.
 *
 * Sizes are small, odd and unlike each other, so that a mixed-up index shows,
 * and every element of every operand is checked: a direction alone would hide
 * one wrong element among many.
 */
#include "model/model.h"
#include "ops/base/error.h"
#include "ops/ops.h"
#include "tools/common/derivative.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"

_Static_assert(sizeof(real) == sizeof(double), "differences are compared in double");

enum { MOST_OPERANDS = 64 };

static int attention = -1;
static bool verbose;

static Option options[] = {
    { .name = "Options" },
    { "attn", OPTION_CHOICE, &attention, .choice = settings_attention,
      .help = "this one only, and no other op" },
    { "verbose", OPTION_FLAG, &verbose, .letter = 'v', .help = "a line for every operand" },
    { 0 },
};

static const Program program = {
    .usage = "./gradcheck [options]",
    .summary = "Compares every derivative by hand with differences, in double.",
    .options = options,
};

/* A function and the operands that it is differentiated by. */
typedef struct {
    const char *name;
    char set[96]; /* how: "causal, window 2" */
    Function *f;
    void *ctx;
    Tensor *x[MOST_OPERANDS];
    const char *x_name[MOST_OPERANDS];
    int n;
} Case;

typedef struct {
    int cases, operands, over;
    size_t derivatives;
    double worst;
    char what[160]; /* the worst */
} Tally;

typedef struct {
    Tape tape;
    Arena *mem; /* operands of the case */
    Tally all, these;
    int shown; /* the last case with a line */
} Report;

static bool is_over(double off) /* NaN is */
{
    return !(off <= DERIVATIVE_TOLERANCE);
}

static void put_operand(Case *c, const char *name, Tensor *x)
{
    if (c->n == MOST_OPERANDS)
        BUG("%s has more than %d operands", c->name, MOST_OPERANDS);
    c->x[c->n] = x;
    c->x_name[c->n++] = name;
}

/* ---- the table ------------------------------------------------------------------------------ */

static void print_header(void)
{
    printf("The derivative by hand, which is what the backward computes, and by differences of the "
           "forward,\nin double, of a loss that weighs every output by a random number. `off` is "
           "the largest\ndifference among all elements of an operand, relative to the largest "
           "element; %.0e is allowed.\n",
           DERIVATIVE_TOLERANCE);
    if (verbose)
        printf("The two numbers of a line are along one random direction.\n\n"
               "    %-22s %-14s %19s  %19s  %8s\n",
               "operand", "shape", "by hand", "by differences", "off");
    else
        printf("\n%-28s %8s %10s %12s %10s\n", "", "cases", "operands", "derivatives", "off");
}

static void tally(Tally *t, const Case *c, int j, double off)
{
    t->operands++;
    t->over += is_over(off);
    t->derivatives += c->x[j]->n;
    if (off > t->worst || !t->what[0]) {
        t->worst = off;
        snprintf(t->what, sizeof t->what, "%s of %s%s%s", c->x_name[j], c->name,
                 c->set[0] ? ", " : "", c->set);
    }
}

static void print_operand(const Report *r, const Case *c, Loss l, int j, double off)
{
    Tensor *x = c->x[j];
    real *u = arena_take(r->mem, x->n * sizeof *u);
    char shape[48];
    int at = 0;

    for (int i = 0; i < x->ndim; i++)
        at += snprintf(shape + at, sizeof shape - (size_t)at, "%s%d", i ? " x " : "", x->dim[i]);
    fill(u, x->n, 23, 1 / sqrt((double)x->n));
    printf("    %-22s %-14s %+19.12e  %+19.12e  %8.1e%s\n", c->x_name[j], shape,
           derivative_of_along(x, x->grad, u), derivative_along(l, x, u), off,
           is_over(off) ? "  over" : "");
}

static void print_case(const Case *c)
{
    printf("%s%s%s\n", c->name, c->set[0] ? ": " : "", c->set);
}

/* By hand is in the gradient. Without --verbose what is right is not shown. */
static void check_operand(Report *r, const Case *c, Loss l, int j)
{
    Tensor *x = c->x[j];

    if (!x->has_grad) /* nothing came back: that is no derivative, not even 0 */
        fill(x->grad, x->n, 0, HUGE_VAL);
    double off = derivative_off(l, x, x->grad, SIZE_MAX);

    if (!verbose && is_over(off) && r->shown != r->all.cases)
        print_case(c);
    if (verbose || is_over(off)) {
        print_operand(r, c, l, j, off);
        r->shown = r->all.cases;
    }
    tally(&r->these, c, j, off);
    tally(&r->all, c, j, off);
}

static void check(Report *r, const Case *c)
{
    size_t outputs = c->f(&r->tape, c->ctx)->n;
    real *weight = arena_take(r->mem, outputs * sizeof *weight);
    Loss l = { &r->tape, c->f, c->ctx, weight };

    r->these.cases++, r->all.cases++;
    fill(weight, outputs, 17, 1);
    derivative_by_hand(l, c->x, c->n);
    if (verbose)
        print_case(c);
    for (int j = 0; j < c->n; j++)
        check_operand(r, c, l, j);
    tape_reset(&r->tape);
    arena_reset(r->mem);
}

/* The line of what has been checked since the last. */
static void sum_up(Report *r, const char *name, const char *where)
{
    char title[64];

    snprintf(title, sizeof title, "%s%s", name, where);
    if (!verbose)
        printf("%-28s %8d %10d %12zu %10.1e\n", title, r->these.cases, r->these.operands,
               r->these.derivatives, r->these.worst);
    fflush(stdout);
    r->these = (Tally){ 0 };
}

/* ---- the ops -------------------------------------------------------------------------------- */

enum { B = 2, T = 3, C = 5, O = 4, V = 7 };

/* What an op may be given. */
typedef enum { X, Y, W, BIAS, RESIDUAL, GAIN, SHIFT, TABLE, POSITIONS, LOGITS, ROW, KINDS } Kind;

static const struct {
    const char *name;
    int ndim, dim[4];
} kinds[KINDS] = {
    [X] = { "x", 3, { B, T, C } },
    [Y] = { "y", 3, { B, T, C } },
    [W] = { "w", 2, { O, C } },
    [BIAS] = { "b", 1, { O } },
    [RESIDUAL] = { "r", 3, { B, T, O } },
    [GAIN] = { "gain", 1, { C } },
    [SHIFT] = { "bias", 1, { C } },
    [TABLE] = { "table", 2, { V, C } },
    [POSITIONS] = { "position", 2, { T + 2, C } },
    [LOGITS] = { "x", 3, { B, T, V } },
    [ROW] = { "x", 2, { 1, C } },
};

/* Some of them again, and one that is no target. */
static const int tokens[B * T] = { 2, 6, 2, 0, 5, 6 }, targets[B * T] = { 1, 6, -1, 0, 3, 3 };
static const int lengths[B] = { T, T - 1 };

typedef struct Op {
    const char *name;
    Tensor *(*run)(Tape *tape, const struct Op *op, Tensor *const *at); /* NULL: not given */
    const Activation *f;
    unsigned needs, may; /* 1 << X ...: operands that it has, and may have */
} Op;

static Tensor *run_activation(Tape *tape, const Op *op, Tensor *const *at)
{
    return op_activation(tape, at[X], op->f);
}

static Tensor *run_swiglu(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_swiglu(tape, at[X], at[Y]);
}

static Tensor *run_add(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_add(tape, at[X], at[Y]);
}

static Tensor *run_dropout(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_dropout(tape, at[X], 0.3, random_stream(3, RANDOM_DROPOUT, 1));
}

static Tensor *run_dense(Tape *tape, const Op *op, Tensor *const *at)
{
    return op_dense(
        tape, (Dense){ .x = at[X], .w = at[W], .b = at[BIAS], .r = at[RESIDUAL], .f = op->f });
}

static Tensor *run_rmsnorm(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_rmsnorm(tape, at[X], at[GAIN]);
}

static Tensor *run_layernorm(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_layernorm(tape, at[X], at[GAIN], at[SHIFT]);
}

static Tensor *run_scale_offset(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_scale_offset(tape, at[X], at[GAIN], at[SHIFT]);
}

static Tensor *run_repeat(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_repeat(tape, at[ROW], T);
}

static Tensor *run_mean(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_mean(tape, at[X], lengths);
}

static Tensor *run_embedding(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_embedding(
        tape,
        (Embedding){ .table = at[TABLE], .position = at[POSITIONS], .id = tokens, .B = B, .T = T });
}

static Tensor *run_cross_entropy(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_cross_entropy(tape, at[LOGITS], targets);
}

static const Op ops[] = {
    { "gelu", run_activation, &activation_gelu, 1 << X, 0 },
    { "silu", run_activation, &activation_silu, 1 << X, 0 },
    { "swiglu", run_swiglu, NULL, 1 << X | 1 << Y, 0 },
    { "add", run_add, NULL, 1 << X | 1 << Y, 0 },
    { "dropout", run_dropout, NULL, 1 << X, 0 },
    { "dense", run_dense, NULL, 1 << X | 1 << W, 1 << BIAS | 1 << RESIDUAL },
    { "dense of gelu", run_dense, &activation_gelu, 1 << X | 1 << W, 1 << BIAS | 1 << RESIDUAL },
    { "dense of silu", run_dense, &activation_silu, 1 << X | 1 << W, 1 << BIAS | 1 << RESIDUAL },
    { "rmsnorm", run_rmsnorm, NULL, 1 << X | 1 << GAIN, 0 },
    { "layernorm", run_layernorm, NULL, 1 << X | 1 << GAIN | 1 << SHIFT, 0 },
    { "scale and offset", run_scale_offset, NULL, 1 << X | 1 << GAIN | 1 << SHIFT, 0 },
    { "repeat", run_repeat, NULL, 1 << ROW, 0 },
    { "mean", run_mean, NULL, 1 << X, 0 },
    { "embedding", run_embedding, NULL, 1 << TABLE, 1 << POSITIONS },
    { "cross entropy", run_cross_entropy, NULL, 1 << LOGITS, 0 },
};

typedef struct {
    const Op *op;
    Tensor *at[KINDS];
} OpCase;

static Tensor *apply_op(Tape *tape, void *ctx)
{
    const OpCase *c = ctx;

    return c->op->run(tape, c->op, c->at);
}

static void check_op_with(Report *r, const Op *op, unsigned given)
{
    OpCase o = { .op = op };
    Case c = { .name = op->name, .f = apply_op, .ctx = &o };
    int at = 0;

    for (int k = 0; k < KINDS; k++) {
        if (!(given >> k & 1))
            continue;
        o.at[k] = leaf(r->mem, 40 + (uint64_t)k, 1, kinds[k].ndim, kinds[k].dim);
        put_operand(&c, kinds[k].name, o.at[k]);
        if (op->may >> k & 1)
            at += snprintf(c.set + at, sizeof c.set - (size_t)at, "%swith %s", at ? ", " : "",
                           kinds[k].name);
    }
    check(r, &c);
}

static void check_ops(Report *r)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        /* every subset of what it may have, the empty one first */
        unsigned some = 0;

        do {
            check_op_with(r, &ops[i], ops[i].needs | some);
            some = (some - ops[i].may) & ops[i].may;
        } while (some);
        sum_up(r, ops[i].name, "");
    }
}

/* ---- the attentions ------------------------------------------------------------------------- */

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

static void check_mixes(Report *r, const Attention *a)
{
    MixCase c;

    for (int i = 0; settings_numbered(a, i, &c); i++)
        if (c.in.set.base == 0 || base_matters(a, c.in.set))
            check_mix(r, &c);
    sum_up(r, a->name, "");
}

/* ---- a model -------------------------------------------------------------------------------- */

typedef struct {
    Model model;
    Batch batch;
} ModelCase;

static Tensor *apply_model(Tape *tape, void *ctx)
{
    const ModelCase *c = ctx;

    return model_losses(tape, &c->model, c->batch, 0);
}

/*
 * Every parameter of one block and its two ends, gains too, as large as makes
 * each of them matter. No biases: where one is added to every logit of a row,
 * its derivative is 0, and rounding is all that there is to compare.
 */
static void check_model(Report *r, const Attention *a)
{
    enum { LENGTH = 6, CONTEXT = 7 };
    Config config = { .attention = a, .vocab = V, .layers = 1, .width = 8, .context = CONTEXT };
    int id[B * LENGTH], target[B * LENGTH];
    ModelCase m = { .batch = { .B = B, .T = LENGTH, .id = id, .target = target } };
    Case c = { .name = a->name, .set = "in a model", .f = apply_model, .ctx = &m };
    uint64_t seed = 300;

    config.heads = a->frame == FRAME_GATED ? 1 : 2;
    config.position = a->takes & TAKES_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    config_check(&config);
    for (int i = 0; i < B * LENGTH; i++)
        id[i] = i * i % V, target[i] = (3 * i + 1) % V;
    model_init(&m.model, config, r->mem, 1);
    for (const Param *p = m.model.params.first; p; p = p->next) {
        fill(p->tensor->data, p->tensor->n, seed++, 0.5);
        if (!p->fixed)
            put_operand(&c, p->name, p->tensor);
    }
    check(r, &c);
    sum_up(r, a->name, " in a model");
}

int main(int argc, char **argv)
{
    if (options_parse(&program, argc, argv) > 0)
        die(EXIT_USAGE, "gradcheck takes options only, not '%.60s'", argv[0]);

    Report r = { .tape = { .mem = arena_new(), .pool = pool_new(1) }, .mem = arena_new() };

    print_header();
    if (attention < 0)
        check_ops(&r);
    for (int i = 0; attentions[i]; i++) {
        if (attention >= 0 && attention != i)
            continue;
        check_mixes(&r, attentions[i]);
        check_model(&r, attentions[i]);
    }
    printf("\nThe worst: %s.\n%zu derivatives of %d operands in %d cases: at most %.1e off.\n",
           r.all.what, r.all.derivatives, r.all.operands, r.all.cases, r.all.worst);
    pool_free(r.tape.pool);
    arena_free(r.tape.mem);
    arena_free(r.mem);
    if (fflush(stdout) != 0 || ferror(stdout))
        die(EXIT_IO, "cannot write to standard output");
    if (r.all.over)
        die(EXIT_FAILED, "the derivative by hand of %d operands is over %.0e off; the worst: %s",
            r.all.over, DERIVATIVE_TOLERANCE, r.all.what);
    return 0;
}
