#include "ops/base/machine.h"
#include "tools/common/settings.h"
#include "tools/lib/guard.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_SEED = 1337 };

/* What the options say. */
typedef struct {
    SettingsOptions settings;
    const char *rope_scale;
    bool causal, rope;
    int features, layer, layers, threads;
    uint64_t seed;
} Wanted;
static Wanted wanted = { .settings = { .attention = -1 }, .layers = 1, .seed = FIXED_SEED },
              defaults;

static Option options[] = {
    { "attn", OPTION_CHOICE, &wanted.settings.attention, .choice = settings_attention },
    { "causal", OPTION_FLAG, &wanted.causal, .help = "attend only to keys up to the query" },
    { "rope", OPTION_FLAG, &wanted.rope, .help = "apply RoPE" },
    { "rope-scale", OPTION_TEXT, &wanted.rope_scale, .help = "divide its positions" },
    { "features", OPTION_INT, &wanted.features, .max = 1 << 20 },
    { "layer", OPTION_INT, &wanted.layer, .max = 100000, .help = "in its model, from 0" },
    { "layers", OPTION_INT, &wanted.layers, .min = 1, .max = 100000, .help = "of that model" },
    { "seed", OPTION_SEED, &wanted.seed, .help = "of drawn operands" },
    { "threads", OPTION_INT, &wanted.threads, .max = 1024 },
    SETTINGS_HERE,
    { 0 },
};
static Program program = { .usage = "options of an attention are --name or --name value",
                           .options = options };

struct attnc_attention {
    Tape tape;
    Arena *mem; /* of what lasts until the next shape */
    Mix mix;
    int features;
    uint64_t seed;
    Tensor x[OPERANDS_MAX];
    real *dx[OPERANDS_MAX]; /* the caller's */
    Tensor *out;            /* of the last forward; NULL: its gradient has been taken */
};

/* The options as a mix without operands. */
static void settle(attnc_attention *a, const char *words)
{
    guard_lock();
    if (program.options == options) {
        settings_add(&program, &wanted.settings, false);
        defaults = wanted;
    }
    wanted = defaults;
    guard_options(&program, words);
    if (wanted.settings.attention < 0)
        die(EXIT_USAGE, "--attn NAME is missing");
    Mix *mix = &a->mix;
    mix->attention = settings_of(&program, &wanted.settings, &mix->set);
    settings_check_rope(&program, "rope", mix->attention);
    settings_check_rotated(&program, wanted.rope, "--rope");
    settings_check_layer(&program, mix->attention);
    mix->causal = wanted.causal;
    mix->rope = wanted.rope;
    mix->layer = wanted.layer;
    mix->layers = wanted.layers;
    mix->rope_scale = settings_rope_scale(wanted.rope_scale);
    a->features = wanted.features;
    a->seed = wanted.seed;
    a->tape.mem = arena_new();
    a->tape.pool = pool_new(wanted.threads);
    guard_unlock();
    if (mix->layer >= mix->layers)
        die(EXIT_USAGE, "--layer is %d, but there are %d --layers, counted from 0", mix->layer,
            mix->layers);
    if (mix->rope_scale.by > 0 && !mix->rope)
        die(EXIT_USAGE, "--rope-scale needs --rope");
    const Text why = attention_refuses(mix->attention, &mix->set, mix->causal);
    if (why.n)
        die(EXIT_USAGE, "--attn %s %s: %s --causal", mix->attention->name, why.at,
            mix->causal ? "leave out" : "add");
}

attnc_attention *attnc_attention_new(const char *words)
{
    attnc_attention *volatile a = NULL;

    if (setjmp(*guard_enter())) {
        guard_failed();
        attnc_attention_free(a);
        return NULL;
    }
    a = xmalloc(sizeof *a);
    memset(a, 0, sizeof *a);
    settle(a, words);
    a->mem = arena_new();
    guard_leave();
    return a;
}

void attnc_attention_free(attnc_attention *a)
{
    if (!a)
        return;
    if (a->tape.pool)
        pool_free(a->tape.pool);
    if (a->tape.mem)
        arena_free(a->tape.mem);
    if (a->mem)
        arena_free(a->mem);
    free(a);
}

/* The size of the dimension m, if the mechanism has one. */
static int own_size(const attnc_attention *a, int d)
{
    for (const Setting *s = a->mix.attention->settings; s && s->name; s++)
        if (s->size == 'm')
            return setting_size(s, a->features, d);
    return 0;
}

/* Shapes the operands, or dies if they cannot have these sizes: then they are as they were. */
static void set_shape(attnc_attention *a, int B, int N, const MixSize *size)
{
    Tensor shaped[OPERANDS_MAX];
    const Operand *o;
    double all = 0;
    int operands = 0;

    for (int i = 0; (o = attention_operand(a->mix.attention, i)); i++) {
        Tensor *x = &shaped[operands++];
        double n = 1;

        *x = (Tensor){ .ndim = (int)strlen(o->shape) };
        for (int j = 0; j < x->ndim; j++) {
            const char letter = o->shape[j];

            x->dim[j] = letter == 'B' ? B : letter == 'N' ? N : operand_dimension(size, letter);
            n *= x->dim[j];
        }
        if (n > INT_MAX)
            die(EXIT_USAGE, "%s would have %.0f numbers, more than %d", o->name, n, INT_MAX);
        x->n = (size_t)n;
        all += n;
    }
    if (2 * all * sizeof(real) > machine_memory())
        die(EXIT_USAGE, "operands of %s and their gradients are more than the machine has",
            text_memory(all * sizeof(real)).at);
    a->out = NULL;
    tape_reset(&a->tape);
    arena_reset(a->mem);
    for (int i = 0; i < operands; i++) {
        a->x[i] = shaped[i];
        a->mix.x[i] = attention_needs(a->mix.attention, &a->mix.set, i) ? &a->x[i] : NULL;
        a->dx[i] = NULL;
    }
}

static void check_sizes(const int *size, int n)
{
    enum { MOST = 1 << 24 }; /* so that small multiples of them are ints */

    for (int i = 0; i < n; i++)
        if (size[i] < 1 || size[i] > MOST)
            die(EXIT_USAGE, "size %d must be from 1 to %d", size[i], MOST);
}

int attnc_attention_shape(attnc_attention *a, int B, int N, int H, int d, int e)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(a, "a");
    check_sizes((const int[]){ B, N, H, d, e }, 5);
    const Attention *of = a->mix.attention;
    const MixSize size = { .attention = of,
                           .T = N,
                           .H = H,
                           .D = d,
                           .E = e,
                           .m = own_size(a, d),
                           .c = N,
                           .causal = a->mix.causal,
                           .rope = a->mix.rope,
                           .set = a->mix.set };

    if (of->traits & V_AS_WIDE && d != e)
        die(EXIT_USAGE, "%s needs v as wide as q and k: e is %d, d is %d", of->name, e, d);
    if (a->mix.rope && attention_rotated(&size) % 2 != 0)
        die(EXIT_USAGE, "--rope rotates pairs of numbers, but there are %d: an odd number",
            attention_rotated(&size));
    set_shape(a, B, N, &size);
    return guard_leave();
}

const char *attnc_attention_operand(const attnc_attention *a, int i, int dim[4])
{
    const Operand *o;

    for (int at = 0; a && i >= 0 && (o = attention_operand(a->mix.attention, at)); at++) {
        if (!attention_needs(a->mix.attention, &a->mix.set, at) || i-- > 0)
            continue;
        if (dim)
            memcpy(dim, a->x[at].dim, sizeof a->x[at].dim);
        return o->name;
    }
    return NULL;
}

int attnc_attention_bind(attnc_attention *a, const char *name, const real *x, real *dx)
{
    const Operand *o;

    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(a, "a"), guard_given(name, "name");
    for (int i = 0; (o = attention_operand(a->mix.attention, i)); i++) {
        if (strcmp(o->name, name) != 0 || !a->mix.x[i])
            continue;
        if (dx && !operand_learned(o, &a->mix.set))
            die(EXIT_USAGE, "%s is not learned: it has no gradient", name);
        a->x[i].data = (real *)(uintptr_t)x; /* only read: its gradient has memory of its own */
        a->dx[i] = dx;
        return guard_leave();
    }
    die(EXIT_USAGE, "%s has no operand %s with these settings%s", a->mix.attention->name,
        text_cut(name, 40).at, a->mix.q ? "" : ", or no shape yet");
}

/* Checks that all operands have numbers, and draws those that may be drawn. */
static void complete(attnc_attention *a)
{
    const Operand *o;

    if (!a->mix.q)
        die(EXIT_USAGE, "an attention needs its sizes first: attnc_attention_shape()");
    for (int i = 0; (o = attention_operand(a->mix.attention, i)); i++) {
        Tensor *x = a->mix.x[i];

        if (!x || x->data)
            continue;
        if (!o->draw)
            die(EXIT_USAGE, "%s needs %s: attnc_attention_bind()", a->mix.attention->name, o->name);
        x->data = arena_take(a->mem, x->n * sizeof(real));
        o->draw(x, random_stream(a->seed, RANDOM_WEIGHTS, (uint64_t)i));
    }
}

/* A copy of the lengths, for as long as the tape. */
static const int *lengths(attnc_attention *a, const int *length)
{
    const int B = a->mix.q->dim[0], N = a->mix.q->dim[1];
    const size_t bytes = (size_t)B * sizeof *length;

    for (int b = 0; length && b < B; b++)
        if (length[b] < 0 || length[b] > N)
            die(EXIT_USAGE, "length[%d] is %d: it must be from 0 to %d", b, length[b], N);
    return length ? memcpy(arena_take(a->tape.mem, bytes), length, bytes) : NULL;
}

int attnc_attention_forward(attnc_attention *a, const int *length, real *out)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(a, "a"), guard_given(out, "out");
    complete(a);
    a->out = NULL;
    tape_reset(&a->tape);
    a->mix.length = lengths(a, length);
    for (int i = 0; i < OPERANDS_MAX; i++)
        a->x[i].has_grad = false, a->x[i].grad = NULL;
    Tensor *y = attention_mix(&a->tape, &a->mix);
    memcpy(out, y->data, y->n * sizeof(real));
    a->out = y;
    return guard_leave();
}

/* Every operand has memory for its gradient beforehand, so that none overwrites the operand. */
int attnc_attention_backward(attnc_attention *a, const real *dout)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(a, "a"), guard_given(dout, "dout");
    if (!a->out)
        die(EXIT_USAGE, "no output to differentiate: call attnc_attention_forward() before");
    for (int i = 0; i < OPERANDS_MAX; i++)
        if (a->mix.x[i])
            a->x[i].grad = a->dx[i] ? a->dx[i] : arena_take(a->tape.mem, a->x[i].n * sizeof(real));
    Tensor *y = a->out;
    a->out = NULL;
    tape_backward(&a->tape, y, dout);
    for (int i = 0; i < OPERANDS_MAX; i++)
        if (a->dx[i] && !a->x[i].has_grad) /* nothing depends on it */
            memset(a->dx[i], 0, a->x[i].n * sizeof(real));
    return guard_leave();
}
