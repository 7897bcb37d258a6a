/* ./sample: text from a trained model, printed while it is generated. */
#include "model/sample.h"
#include "data/stops.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "tools/common/lines.h"
#include "tools/common/options.h"
#include "tools/common/signals.h"
#include "tools/common/trained.h"
#include "training/pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * TIMED: tokens at the start and at the end whose median time is reported; PIECE: tokens of a
 * prompt that are read before a signal is heard; AT_ONCE: samples in a batch by default, if they
 * have no more than LONG tokens together.
 */
enum { TOKENS = 1 << 24, TIMED = 64, PIECE = 8192, AT_ONCE = 8, LONG = 1 << 15 };

static Sampling how = { .temperature = 0.8, .top_p = 1, .seed = 1337 };
static const char *prompt_text, *prompt_path;
static int tokens = 500, samples = 1, batch, threads, precision;
static OptionTexts stops;
static bool best, raw, interactive;

static Option options[] = {
    { .name = "Prompt and samples" },
    { "prompt", OPTION_TEXT, &prompt_text, .any = true, .alias = "start",
      .help = "text to continue; default: a line break, which is not printed" },
    { "prompt-file", OPTION_TEXT, &prompt_path, .word = "FILE",
      .help = "the same, read from a file" },
    { "tokens", OPTION_INT, &tokens, .max = TOKENS, .alias = "max-new-tokens",
      .help = "tokens to generate" },
    { "samples", OPTION_INT, &samples, .min = 1, .max = 1000000, .alias = "num-samples",
      .help = "number of samples" },
    { "batch", OPTION_INT, &batch, .max = 4096,
      .help = "samples to generate at a time, which takes less time and more memory; 0: up to 8, "
              "fewer of long ones" },
    { "stop", OPTION_TEXTS, &stops, .any = true, .word = "TEXT",
      .help = "end a sample before this text; may be given several times" },
    { "interactive", OPTION_FLAG, &interactive,
      .help = "continue each line of standard input; an empty line continues the last text" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    { .name = "Sampling and output" },
    { "temperature", OPTION_REAL, &how.temperature, .max = 100,
      .help = "sampling temperature; 0: always the most likely token" },
    { "top-k", OPTION_INT, &how.top_k, .max = TOKENS,
      .help = "sample from the N most likely tokens; 0: from all" },
    { "top-p", OPTION_REAL, &how.top_p, .max = 1, .above = true,
      .help = "sample from the smallest set of most likely tokens whose total probability reaches "
              "this" },
    { "min-p", OPTION_REAL, &how.min_p, .max = 1,
      .help = "sample from tokens at least X times as likely as the most likely one; 0: from all" },
    { "seed", OPTION_SEED, &how.seed, .help = "random seed" },
    { "extrapolate", OPTION_FLAG, &how.extrapolate,
      .help = "attend beyond the trained context instead of starting over from its last half" },
    { "raw", OPTION_FLAG, &raw,
      .help = "print all bytes unchanged, including invalid UTF-8 and control characters" },
    { "precision", OPTION_CHOICE, &precision, .choices = precision_names,
      .help = "format of the weights; with 16 bits, half as many bytes are read per token" },
    THREADS_OPTION(threads),
    { 0 },
};

static const Program program = {
    .usage = "./sample [options] RUN",
    .summary = "Generates text from a trained model. RUN is a run's folder or a checkpoint.",
    .options = options,
};

static volatile sig_atomic_t stop; /* after the current token */

/* That the reader closed the pipe is not an error. */
static void check_written(bool written)
{
    if (written)
        return;
    if (errno == EPIPE)
        exit(EXIT_SUCCESS);
    if (errno == ENOMEM)
        die(EXIT_MEMORY, "out of memory");
    die(EXIT_IO, "cannot write to standard output: %s", strerror(errno));
}

static void settle(int files)
{
    if (files != 1)
        die(EXIT_USAGE, "sample takes one run, not %d: %s", files, options_usage(&program).at);
    if (prompt_text && prompt_path)
        die(EXIT_USAGE, "--prompt and --prompt-file are two prompts: give one of them");
    if (interactive && (prompt_text || prompt_path || samples > 1 || batch > 1))
        die(EXIT_USAGE, "--interactive reads prompts from standard input, one sample for each: "
                        "leave out --prompt, --prompt-file, --samples and --batch");
}

/* Batches of about the same size. */
static void settle_batch(void)
{
    const int fitting = LONG / (tokens + 1) + 1;
    const int most = batch ? batch : fitting < AT_ONCE ? fitting : AT_ONCE;
    const int batches = (samples + most - 1) / most;

    batch = (samples + batches - 1) / batches;
}

typedef struct {
    Bytes text;
    int *token, n;
} Prompt;

/* An empty prompt is a newline, as a model needs a token to start from. */
static Prompt prompt_of(const Tokenizer *tokenizer, Bytes text)
{
    static const unsigned char newline[] = "\n";
    const Bytes from = text.n ? text : (Bytes){ newline, 1 };
    Token *token = xmalloc(from.n * sizeof *token);
    const size_t n = tokenizer_encode(tokenizer, from, token);

    if (n > (size_t)(TOKENS - tokens))
        die(EXIT_USAGE, "a prompt of %zu tokens and --tokens %d are more than %d in total", n,
            tokens, TOKENS);
    Prompt p = { .text = text, .token = xmalloc(n * sizeof *p.token), .n = (int)n };
    for (int i = 0; i < p.n; i++)
        p.token[i] = token[i];
    free(token);
    return p;
}

/* The time in seconds of the first and of the last steps, of a token for each sample. */
typedef struct {
    int n;
    double first[TIMED], last[TIMED], start;
} Clock;

static void clock_tick(Clock *c, double seconds)
{
    if (c->n < TIMED)
        c->first[c->n] = seconds;
    c->last[c->n++ % TIMED] = seconds;
}

static void clock_tell(Clock *c, int at_once)
{
    double seconds = seconds_now() - c->start;
    double n = (double)c->n * at_once;
    int timed = c->n < TIMED ? c->n : TIMED;

    if (c->n == 0)
        return;
    fprintf(stderr, "%.0f token%s in %.2f s, %.0f per second; %.3f ms per token", n,
            n == 1 ? "" : "s", seconds, n / seconds, 1e3 * pace_median(c->first, timed));
    if (at_once > 1)
        fprintf(stderr, " of all %d samples", at_once);
    fprintf(stderr, " at the start, %.3f ms at the end\n", 1e3 * pace_median(c->last, timed));
}

/* A sample that is being generated. The first of a batch is printed as it is, the others later. */
typedef struct {
    Stream out;
    Stops until;
    char *text; /* of what is printed later, and all of its bytes */
    size_t bytes;
} Sample;

static void separate(uint64_t number)
{
    if (number > 0 && !raw && !interactive)
        puts("---");
}

static void sample_open(Sample *v, bool now, Bytes prompt)
{
    *v = (Sample){ .out = { .raw = raw, .skip = true } };
    v->out.out = now ? stdout : open_memstream(&v->text, &v->bytes);
    if (!v->out.out)
        die(EXIT_MEMORY, "out of memory");
    v->until = (Stops){ .text = stops.at, .n = stops.n, .out = &v->out };
    check_written(stream_write(&v->out, prompt));
}

/* Prints what it held back. */
static void sample_close(Sample *v, uint64_t number)
{
    check_written(stops_end(&v->until));
    stops_free(&v->until);
    if (v->out.out != stdout) {
        check_written(fclose(v->out.out) == 0);
        separate(number);
        check_written(fwrite(v->text, 1, v->bytes, stdout) == v->bytes);
        free(v->text);
    }
    if (!raw)
        putchar('\n');
    check_written(fflush(stdout) == 0);
}

static bool all_met(const Sample *v, int n)
{
    while (n > 0 && v[n - 1].until.met)
        n--;
    return n == 0;
}

static void read_prompt(Sampler *s, const Prompt *p)
{
    for (int i = 0; i < p->n && !stop; i += PIECE)
        sampler_read(s, p->token + i, p->n - i < PIECE ? p->n - i : PIECE);
}

/* Draws tokens after the prompt for n samples; adds those of the first to `all`, unless it is NULL.
 */
static Clock draw_tokens(const Saved *w, Sampler *s, Sample *v, int n, Buffer *all)
{
    int *token = xmalloc((size_t)batch * sizeof *token);
    Clock clock = { .start = seconds_now() };
    double before = clock.start;

    memset(token, 0, (size_t)batch * sizeof *token);
    while (clock.n < tokens && !stop && !all_met(v, n)) {
        for (int k = 0; k < n; k++) {
            const Bytes bytes = tokenizer_token(w->tokenizer, token[k] = sampler_draw(s, k));

            check_written(stops_write(&v[k].until, bytes));
            if (all && k == 0)
                buffer_add(all, bytes.at, bytes.n);
        }
        if (clock.n + 1 < tokens)
            sampler_step(s, token);
        double now = seconds_now();
        clock_tick(&clock, now - before);
        before = now;
    }
    free(token);
    return clock;
}

/* Writes the n samples from `number` on. */
static void write_samples(const Saved *w, const Prompt *p, Sampler *s, uint64_t number, int n,
                          Buffer *all)
{
    Sample *v = xmalloc((size_t)n * sizeof *v);

    sampler_begin(s, number);
    separate(number);
    for (int k = 0; k < n; k++)
        sample_open(&v[k], k == 0, all ? (Bytes){ NULL, 0 } : p->text);
    read_prompt(s, p);
    Clock clock = draw_tokens(w, s, v, n, all);
    for (int k = 0; k < n; k++)
        sample_close(&v[k], number + (uint64_t)k);
    if (!interactive)
        clock_tell(&clock, n);
    free(v);
}

/* A sampler of n tokens and those to be generated. */
static Sampler *open_sampler(const Saved *w, Pool *pool, int n)
{
    const Config *c = &w->model.config;

    if (how.extrapolate && config_learns_positions(c) && n + tokens > c->context)
        die(EXIT_USAGE, "--extrapolate: this model's positions end with its context of %d tokens",
            c->context);
    return sampler_new(&w->model, pool, how, n + tokens, batch);
}

static void write_all(const Saved *w, Pool *pool)
{
    Bytes text = { (const unsigned char *)prompt_text, prompt_text ? strlen(prompt_text) : 0 };
    unsigned char *file = prompt_path ? file_read(prompt_path, &text.n) : NULL;

    text.at = file ? file : text.at;
    Prompt prompt = prompt_of(w->tokenizer, text);
    Sampler *s = open_sampler(w, pool, prompt.n);
    for (int k = 0; k < samples && !stop; k += batch)
        write_samples(w, &prompt, s, (uint64_t)k, samples - k < batch ? samples - k : batch, NULL);
    sampler_free(s);
    free(prompt.token);
    free(file);
}

/* Each line is a text to continue, and an empty one is all of the text before it. */
static void converse(const Saved *w, Pool *pool)
{
    Buffer line = { 0 }, all = { 0 };

    for (uint64_t number = 0; signals_end(), lines_next(&line); number++) {
        if (line.n > 0)
            all.n = 0;
        buffer_add(&all, line.at, line.n);
        Prompt prompt = prompt_of(w->tokenizer, (Bytes){ all.at, all.n });
        Sampler *s = open_sampler(w, pool, prompt.n);
        signals_ask(&stop);
        write_samples(w, &prompt, s, number, 1, &all);
        stop = stop == SIGINT ? 0 : stop;
        sampler_free(s);
        free(prompt.token);
        if (stop)
            break;
    }
    free(line.at);
    free(all.at);
}

int main(int argc, char **argv)
{
    settle(options_parse(&program, argc, argv));
    settle_batch();
    signals_ask(&stop);
    Saved *w = trained_read(argv[0], best, TRAINED_CAUSAL, "./sample");
    Pool *pool = pool_new(threads);
    if (precision != PRECISION_FLOAT)
        params_narrow(&w->model.params, (Precision)precision);
    if (interactive)
        converse(w, pool);
    else
        write_all(w, pool);
    pool_free(pool);
    saved_free(w);
    return stop ? 128 + (int)stop : 0;
}
