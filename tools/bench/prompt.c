/*
 * Reading a prompt with a whole model, beside a forward pass of training over the same tokens: the
 * same products, but without what is kept for the backward pass, and with states for decoding.
 */
#include "tools/bench/bench.h"

#include "model/decode.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"

typedef struct {
    Bench *b;
    Model model;
    Decoder *decoder;
    Batch batch;
} PromptCase;

static Config config_of(const Mechanisms *m, const Attention *a, int length)
{
    Config c = bench_config(m, a, length);

    c.task = TASK_CAUSAL;
    return c;
}

void bench_prompt_check(const Mechanisms *m)
{
    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n && !bench_left_out(m, *a, m->lengths.at[i]); i++) {
            const Config c = config_of(m, *a, m->lengths.at[i]);

            config_check(&c);
            config_check_memory(&c, (Load){ .tokens = c.context });
        }
}

static double read_prompt(void *ctx)
{
    PromptCase *c = ctx;

    decoder_reset(c->decoder);
    const double start = seconds_now();
    decoder_read(c->decoder, c->batch.id, c->batch.T);
    return seconds_now() - start;
}

static double pass_forward(void *ctx)
{
    PromptCase *c = ctx;
    const double start = seconds_now();

    tape_reset(&c->b->tape);
    model_losses(&c->b->tape, &c->model, c->batch, 0);
    return seconds_now() - start;
}

static void open_case(PromptCase *c, Bench *b, const Config *config)
{
    const size_t n = (size_t)config->context;
    int *id = arena_take(b->mem, n * sizeof *id);

    for (int t = 0; t < config->context; t++)
        id[t] = t % config->vocab;
    *c = (PromptCase){ .b = b };
    model_init(&c->model, *config, b->mem, 1);
    if (b->tape.precision)
        params_narrow(&c->model.params, b->tape.precision);
    c->decoder = decoder_new(&c->model, b->tape.pool, config->context, 1);
    c->batch = (Batch){ .B = 1, .T = config->context, .id = id, .target = id };
}

static void bench_length(Bench *b, const Config *config)
{
    const Text set = settings_text(config);
    const Text title =
        text_format("%s %d x %d, prompt of %d%s; %d heads%s%s", config->attention->name,
                    config->layers, config->width, config->context, bench_precision(b),
                    config->heads, set.n ? ", " : "", set.at);
    PromptCase c;

    if (!bench_wanted(b, "prompt", title.at))
        return;
    open_case(&c, b, config);
    const double forward = bench_best(b, pass_forward, &c);
    const double seconds = bench_best(b, read_prompt, &c), n = config->context;
    printf("%-12s %8d %10.2f %10.0f %12.2f %12.1f%%", config->attention->name, config->context,
           1e3 * seconds, n / seconds, 1e3 * forward, 100 * forward / seconds);
    bench_row_end(b, (Row){ .group = "prompt",
                            .name = title.at,
                            .seconds = seconds,
                            .mechanism = config->attention->name,
                            .length = config->context,
                            .batch = 1,
                            .forward = 1e9 * seconds / n });
    decoder_free(c.decoder);
    bench_clear(b);
}

void bench_prompt(Bench *b, const Mechanisms *m)
{
    static const char line[] = "%-12s %8s %10s %10s %12s %13s\n";

    printf("\nReading a prompt: %d x %d, beside a forward pass of training\n", m->model.layers,
           m->model.width);
    bench_say_left_out(m);
    printf(line, "", "tokens", "time", "speed", "forward", "of its");
    printf(line, "", "", "ms", "tokens/s", "pass, ms", "speed");
    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n && !bench_left_out(m, *a, m->lengths.at[i]); i++) {
            const Config c = config_of(m, *a, m->lengths.at[i]);

            bench_length(b, &c);
        }
}
