#include "model/decode.h"

#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "ops/decoding.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 128 }; /* tokens read at once where others have been read before */

struct Decoder {
    const Model *model;
    Tape tape;
    real *logits; /* (sequences, V), after reading with several */
};

/* The state of a layer with this mechanism. */
static size_t state_of(const Config *part, int positions)
{
    MixSize size = config_mix_size(part);

    size.T = positions;
    settings_fit_context(&size.set, part->attention, CONTEXT_AT_LEAST, part->context);
    const size_t one = attention_state(&size);
    if (one > INT_MAX)
        die(EXIT_MEMORY,
            "the state of %d tokens would have %zu numbers per layer, more than attn.c can "
            "index: use fewer tokens",
            positions, one);
    return one;
}

static void check_memory(const Config *c, int positions, int sequences)
{
    double bytes = 0, here = machine_memory();
    Text each = { 0 };

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        bytes += (double)config_mixes(&part) * (double)state_of(&part, positions) * sizeof(real);
    }
    bytes *= sequences;
    if (sequences > 1)
        text_add(&each, " in each of %d samples", sequences);
    if (bytes > here)
        die(EXIT_MEMORY,
            "the state of %d tokens%s with %s attention would take %s, but the machine has "
            "%s: use fewer tokens",
            positions, each.at, config_mechanisms(c).at, text_memory(bytes).at,
            text_memory(here).at);
}

/* The first mechanism that cannot decode. */
static const char *not_decoding(const Config *c)
{
    int i = 0;

    while (attention_decodes(config_part(c, i).attention))
        i++;
    return config_part(c, i).attention->name;
}

Decoder *decoder_new(const Model *model, Pool *pool, int positions, int sequences)
{
    Decoder *d = xmalloc(sizeof *d);

    if (model->config.task != TASK_CAUSAL)
        BUG("decoder: the model sees both sides");
    if (config_learns_positions(&model->config) && positions > model->config.context)
        BUG("decoder: %d tokens, and positions for %d", positions, model->config.context);
    if (!config_decodes(&model->config))
        die(EXIT_USAGE, "%s attention cannot decode: its models cannot continue a text",
            not_decoding(&model->config));
    check_memory(&model->config, positions, sequences);
    *d = (Decoder){ .model = model };
    if (sequences > 1)
        d->logits = xmalloc((size_t)sequences * (size_t)model->config.vocab * sizeof *d->logits);
    d->tape = (Tape){ arena_new(), pool, .forward_only = true, .row_by_row = true,
                      .precision = model->params.precision };
    d->tape.decoding = decoding_new(positions, sequences);
    return d;
}

void decoder_free(Decoder *d)
{
    decoding_free(d->tape.decoding);
    arena_free(d->tape.mem);
    free(d->logits);
    free(d);
}

void decoder_reset(Decoder *d)
{
    decoding_reset(d->tape.decoding);
}

size_t decoder_held(const Decoder *d)
{
    return decoding_held(d->tape.decoding) + arena_held(d->tape.mem);
}

static void begin(Decoder *d, int n)
{
    const Decoding *at = d->tape.decoding;

    if (n > at->most - at->t)
        BUG("decoder: more than %d tokens", at->most);
    tape_reset(&d->tape);
    d->tape.row_by_row = n == 1;
}

const real *decoder_step(Decoder *d, const int *token)
{
    Decoding *at = d->tape.decoding;

    begin(d, 1);
    at->b = 0;
    const Tensor *logits = model_logits(&d->tape, d->model, token, at->B, 1, 0);
    at->t++;
    return logits->data;
}

/* The next tokens of sequence b. */
static const real *run(Decoder *d, int b, const int *token, int n)
{
    Decoding *at = d->tape.decoding;

    begin(d, n);
    at->b = b;
    const Tensor *logits = model_next(&d->tape, d->model, token, n);
    at->t += n;
    return logits->data;
}

static size_t bytes_of_logits(const Decoder *d)
{
    return (size_t)d->model->config.vocab * sizeof *d->logits;
}

/* Frees the memory of a long prompt's layers, and keeps the logits. */
static const real *shrink(Decoder *d, const real *logits)
{
    Arena *mem = arena_new();
    const size_t bytes = bytes_of_logits(d);
    const real *kept = memcpy(arena_take(mem, bytes), logits, bytes);

    arena_free(d->tape.mem);
    d->tape.mem = mem;
    return kept;
}

static const real *read_one(Decoder *d, int b, const int *token, int n)
{
    const int context = d->model->config.context;
    const real *logits = NULL;

    for (int some, i = 0; i < n; i += some) {
        const int most = d->tape.decoding->t == 0 || context < CHUNK ? context : CHUNK;

        some = n - i < most ? n - i : most;
        logits = run(d, b, token + i, some);
    }
    if (!logits)
        BUG("decoder: no tokens");
    return n > 1 ? shrink(d, logits) : logits;
}

const real *decoder_read(Decoder *d, const int *token, int n)
{
    const real *logits = read_one(d, 0, token, n);

    if (!d->logits)
        return logits;
    decoding_share(d->tape.decoding);
    for (int b = 0; b < d->tape.decoding->B; b++)
        memcpy(d->logits + b * d->model->config.vocab, logits, bytes_of_logits(d));
    return d->logits;
}

const real *decoder_read_each(Decoder *d, const int *token, int n, int apart)
{
    Decoding *at = d->tape.decoding;
    const int from = at->t;

    if (!d->logits)
        return read_one(d, 0, token, n);
    for (int b = 0; b < at->B; b++) {
        at->t = from;
        memcpy(d->logits + b * d->model->config.vocab, read_one(d, b, token + b * apart, n),
               bytes_of_logits(d));
    }
    return d->logits;
}
