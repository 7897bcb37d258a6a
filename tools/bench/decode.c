/*
 * Decoding with a whole model, token by token. Each token reads all weights once, and the states of
 * the positions so far. With two operations per number, the time is that of reading memory. The
 * bandwidth of memory is measured too, and that of a block as large as the weights, which may fit
 * the last cache.
 */
#include "tools/bench/bench.h"

#include "model/decode.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "ops/kernel/peak.h"

#include <math.h>

/* A position is timed by the best of the LAST tokens before it, or of half of them if there are
 * fewer. */
enum { LAST = 64, BEYOND_CACHES = 1 << 28 };

/* One model for all lengths: as long as the longest that is not left out. */
static Config config_of(const Mechanisms *m, const Attention *a)
{
    int longest = m->lengths.at[0];

    for (int i = 0; i < m->lengths.n; i++)
        if (!bench_left_out(m, a, m->lengths.at[i]))
            longest = m->lengths.at[i];
    Config c = bench_config(m, a, longest);

    c.task = TASK_CAUSAL;
    return c;
}

/* The size of all states after this many tokens. */
static double state_bytes(const Config *c, int positions)
{
    MixSize s = config_mix_size(c);

    s.T = positions;
    return (double)config_mixes(c) * (double)attention_state(&s) * sizeof(real);
}

/* All weights that a token reads: not the tables, of which it reads one row. */
static double weight_bytes(const Model *model)
{
    double n = 0;

    for (const Param *p = model->params.first; p; p = p->next)
        if (p->tensor != model->position &&
            (p->tensor != model->embedding || p->tensor == model->head))
            n += p->tensor->pairs ? (double)p->tensor->n / 2 : (double)p->tensor->n;
    return n * sizeof(real);
}

void bench_decode_check(const Mechanisms *m)
{
    double here = machine_memory();

    for (const Attention *const *a = m->attentions; *a; a++) {
        Config c = config_of(m, *a);

        config_check(&c);
        config_check_forward_memory(&c, 1);
        if (state_bytes(&c, c.context) > here)
            die(EXIT_MEMORY,
                "the state of %d tokens with %s attention would take %s, but the machine has "
                "%s: reduce --lengths or --n-embd",
                c.context, (*a)->name, text_memory(state_bytes(&c, c.context)).at,
                text_memory(here).at);
    }
}

typedef struct {
    Bench *b;
    Model model;
    Decoder *decoder;
    OptionList lengths;
    double seconds[OPTION_LIST_MAX]; /* per token, at each length */
    double weights;                  /* bytes */
    double memory,
        same_bytes; /* bytes per second: of memory, and of a block as large as the weights */
} DecodeCase;

/* All lengths once: the best of the tokens before each. */
static void decode(DecodeCase *c)
{
    decoder_reset(c->decoder);
    for (int i = 0, t = 0; i < c->lengths.n; i++)
        for (int length = c->lengths.at[i]; t < length; t++) {
            double start = seconds_now();

            decoder_step(c->decoder, &(int){ t % c->model.config.vocab });
            if (t >= length - LAST && t >= length / 2)
                c->seconds[i] = fmin(c->seconds[i], seconds_now() - start);
        }
}

/* Again while there is time: the longest may take all of it in one go. */
static void decode_best(DecodeCase *c)
{
    const double start = seconds_now();

    for (int i = 0; i < c->lengths.n; i++)
        c->seconds[i] = HUGE_VAL;
    do
        decode(c);
    while (seconds_now() - start < c->b->seconds);
}

static Text title_of(const Bench *b, const Config *c, int length)
{
    const Text set = settings_text(c);

    return text_format("%s %d x %d, position %d%s; %d heads%s%s", c->attention->name, c->layers,
                       c->width, length, bench_precision(b), c->heads, set.n ? ", " : "", set.at);
}

static void print_position(DecodeCase *c, int i, Growth *g)
{
    const int length = c->lengths.at[i];
    const Config *config = &c->model.config;
    Text title = title_of(c->b, config, length);
    double state = state_bytes(config, length), bytes = c->weights + state;
    double seconds = c->seconds[i], speed = bytes / seconds;

    g->length[g->n] = length, g->time[g->n] = seconds, g->held[g->n] = state, g->n++;
    if (!bench_wanted(c->b, "decode", title.at))
        return;
    printf("%-12s %8d %10.4f %10.2f %10.2f %8.1f %9.1f%% %9.1f%%", config->attention->name, length,
           1e3 * seconds, c->weights / 1e6, state / 1e6, speed / 1e9, 100 * speed / c->memory,
           100 * speed / c->same_bytes);
    bench_row_end(c->b, (Row){ .group = "decode",
                               .name = title.at,
                               .seconds = seconds,
                               .bytes = bytes,
                               .mechanism = config->attention->name,
                               .length = length,
                               .batch = 1,
                               .step = 1e9 * seconds });
}

static bool some_wanted(const Bench *b, const Config *c, const OptionList *lengths)
{
    bool some = false;

    for (int i = 0; i < lengths->n; i++)
        some |= bench_wanted(b, "decode", title_of(b, c, lengths->at[i]).at);
    return some;
}

static void bench_model(Bench *b, const Mechanisms *m, const Attention *a, double memory)
{
    Config config = config_of(m, a);
    MixSize s = config_mix_size(&config);
    DecodeCase c = { .b = b, .lengths = m->lengths, .memory = memory };
    Growth g = { .attention = a, .grows = bench_grows(a, &s) };

    if (bench_left_out(m, a, config.context) || !some_wanted(b, &config, &m->lengths))
        return;
    model_init(&c.model, config, b->mem, 1);
    if (b->tape.precision)
        params_narrow(&c.model.params, b->tape.precision);
    c.weights = weight_bytes(&c.model);
    c.same_bytes = peak_bandwidth(b->tape.pool, (size_t)c.weights);
    c.decoder = decoder_new(&c.model, b->tape.pool, config.context, 1);
    while (c.lengths.at[c.lengths.n - 1] > config.context)
        c.lengths.n--;
    decode_best(&c);
    for (int i = 0; i < c.lengths.n; i++)
        print_position(&c, i, &g);
    printf("%-12s reading a block as large as the weights repeatedly: %.1f GB/s\n", "",
           c.same_bytes / 1e9);
    growth_print(&g);
    decoder_free(c.decoder);
    bench_clear(b);
}

void bench_decode(Bench *b, const Mechanisms *m)
{
    static const char line[] = "%-12s %8s %10s %10s %10s %8s %10s %10s\n";
    double memory = peak_bandwidth(b->tape.pool, BEYOND_CACHES);

    printf("\nDecoding, one token at a time: %d x %d, batch 1; memory bandwidth beyond all caches: "
           "%.1f GB/s\n",
           m->model.layers, m->model.width, memory / 1e9);
    bench_say_left_out(m);
    printf(line, "", "position", "time", "weights", "state", "read", "of memory", "of as many");
    printf(line, "", "", "ms/token", "MB", "MB", "GB/s", "", "bytes");
    for (const Attention *const *a = m->attentions; *a; a++)
        bench_model(b, m, *a, memory);
}
