/*
 * Decoding runs the layers as they are, over tensors of one position: a dense
 * layer, a norm, an activation need no other. Only two things know of positions:
 * the embedding is told which one it is, and a mix comes here, to read and write
 * its state instead of looking at all keys.
 *
 * Beyond the context. RoPE and the mechanisms themselves take any position, so
 * such a model goes on; but for cosformer, whose weight of a pair is
 *
 *     relu(q_i) . relu(k_j) cos(pi (i - j) / 2M)
 *
 * and turns negative where i - j > M. A larger M would make every weight another
 * than the one that was trained, and the first token depend on how many are to
 * come. So M stays what it is (the horizon, or the context if that is longer; the
 * same for all prefixes), and a key is dropped before it is M away. Subtracting it
 * from the sums would leave its rounding behind. But the sums of the keys from
 * some token on are just those of a state that began there, and only differences
 * of positions count, so each state may count from its own beginning:
 *
 *     past   [ -------- M tokens -------- ]
 *     next             [ -- M/2 -- ]        begins M/2 after past, and gets every
 *                                           key too; when past is full, next takes
 *                                           its place, and another begins
 *
 * A token sees the last M/2 to M tokens, all of them with the weights of training;
 * its time and its memory do not depend on how many there have been.
 */
#include "model/decode.h"

#include "model/layers.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The states of all mixes, one after the other, from token `begun` on. */
typedef struct {
    int begun;
    real *at;
} States;

struct Decoder {
    const Model *model;
    Tape tape;
    MixSize size;    /* T is the most tokens */
    int t, mix;      /* the token at hand; its next mix */
    size_t one, all; /* numbers of a state, and of those of all mixes */
    int reach;       /* tokens that a state may take; 0: any number */
    States past;
    States next; /* with a reach */
};

static void settle_sizes(Decoder *d, int positions)
{
    const Config *c = &d->model->config;
    int M = c->set.horizon > c->context ? c->set.horizon : c->context;
    bool reaches = c->attention->takes & TAKES_HORIZON;

    d->size = config_mix_size(c);
    d->size.T = positions;
    if (reaches)
        d->size.set.horizon = M;
    d->reach = reaches && positions > M ? M : 0;
    d->one = attention_state(c->attention, d->size);
    d->all = (size_t)config_mixes(c) * d->one;
}

static void check_memory(const Decoder *d)
{
    double bytes = (d->reach ? 2.0 : 1.0) * (double)d->all * sizeof(real), here = machine_memory();

    if (d->one > INT_MAX)
        die(EXIT_MEMORY,
            "to remember %d tokens takes %zu numbers a layer, more than attn.c can "
            "index: take fewer tokens",
            d->size.T, d->one);
    if (bytes > here)
        die(EXIT_MEMORY,
            "to remember %d tokens, %s attention would take %.1f GiB and the machine has %.1f: "
            "take fewer tokens",
            d->size.T, d->model->config.attention->name, bytes / 0x1p30, here / 0x1p30);
}

Decoder *decoder_new(const Model *model, Pool *pool, int positions)
{
    Decoder *d = xmalloc(sizeof *d);

    if (model->config.task != TASK_CAUSAL)
        BUG("decoder: the model sees both sides");
    if (config_ends(&model->config) && positions > model->config.context)
        BUG("decoder: %d tokens, and positions for %d", positions, model->config.context);
    *d = (Decoder){ .model = model };
    d->tape = (Tape){ arena_new(), pool, .forward_only = true, .row_by_row = true };
    settle_sizes(d, positions);
    check_memory(d);
    d->past.at = xmalloc_aligned(d->all * sizeof(real));
    d->next.at = d->reach ? xmalloc_aligned(d->all * sizeof(real)) : NULL;
    decoder_reset(d);
    return d;
}

void decoder_free(Decoder *d)
{
    arena_free(d->tape.mem);
    free(d->past.at);
    free(d->next.at);
    free(d);
}

static void begin(const Decoder *d, States *s, int t)
{
    s->begun = t;
    memset(s->at, 0, d->all * sizeof(real));
}

void decoder_reset(Decoder *d)
{
    d->t = 0;
    begin(d, &d->past, 0);
    if (d->reach)
        begin(d, &d->next, (d->reach + 1) / 2);
}

size_t decoder_held(const Decoder *d)
{
    return (d->reach ? 2 : 1) * d->all * sizeof(real) + arena_held(d->tape.mem);
}

static void hand_over(Decoder *d)
{
    States full = d->past;

    d->past = d->next;
    d->next = full;
    begin(d, &d->next, d->past.begun + (d->reach + 1) / 2);
}

/* A mix of the token at hand. */
typedef struct {
    const Decoder *d;
    const Mix *in;
    size_t at; /* of its state */
    real *o;
} Mixing;

/* What the second states would say is not wanted yet. */
static void step_states(void *ctx, int first, int end)
{
    const Mixing *m = ctx;

    for (int i = first; i < end; i++) {
        const States *x = i ? &m->d->next : &m->d->past;
        Step s = { .in = m->in, .t = m->d->t - x->begun, .state = x->at + m->at };

        s.o = i ? NULL : m->o;
        attention_step(m->d->model->config.attention, s);
    }
}

Tensor *decoder_mix(Decoder *d, const Mix *in)
{
    Tensor *o = tensor_new(d->tape.mem, 4, in->v->dim);
    Mixing m = { d, in, (size_t)d->mix++ * d->one, o->data };
    int states = d->reach && d->t >= d->next.begun ? 2 : 1;

    pool_for(d->tape.pool, states, 1, step_states, &m);
    return o;
}

const real *decoder_step(Decoder *d, int token)
{
    if (d->t == d->size.T)
        BUG("decoder: more than %d tokens", d->size.T);
    if (d->reach && d->t == d->past.begun + d->reach)
        hand_over(d);
    tape_reset(&d->tape);
    d->mix = 0;
    Pass p = { .tape = &d->tape, .config = &d->model->config, .size = d->size };
    p.from = d->t, p.decoder = d;
    const Tensor *logits = pass_logits(&p, d->model, &token, 1, 1);
    d->t++;
    return logits->data;
}
