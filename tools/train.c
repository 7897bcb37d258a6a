/* ./train: parses the words that start a run, says what it will be, and trains. */
#include "training/train.h"
#include "data/corpus.h"
#include "model/sample.h"
#include "ops/error.h"
#include "ops/kernel.h"
#include "ops/machine.h"
#include "ops/text.h"
#include "tools/options.h"
#include "tools/settings.h"
#include "training/task.h"

#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 4 << 20, STORY_SECONDS = 110 };

static int task, position = -1, ffn, layer_norm, preset = -1;
static SettingsOptions mechanism;
static bool gate = true;
static Config config = { .layers = 4, .heads = 4, .width = 128, .context = 256 };
static TrainOptions training = {
    .batch = 8,
    .accumulation = 1,
    .steps = 1000,
    .schedule = { 2e-3, (double)NAN, 100, 0 },
    .beta1 = 0.9,
    .beta2 = 0.99,
    .decay = 0.1,
    .clip = 1,
    .seed = 1337,
    .eval_interval = 250,
    .eval_iters = 20,
    .log_interval = 10,
};
static int threads, sample_bytes = 400;
static double held_back = 0.1, temperature = 0.8;
static const char *validation_path, *out_dir;

static const char *const nanogpt_cpu[][2] = {
    { "n-layer", "4" },     { "n-head", "4" },       { "n-embd", "128" }, { "block-size", "64" },
    { "batch-size", "12" }, { "max-iters", "2000" }, { "dropout", "0" },  { NULL, NULL },
};
static const Preset presets[] = {
    { "nanogpt-cpu", "nanoGPT's CPU run: 4 x 128, context 64, batch 12, 2000 steps", nanogpt_cpu },
    { NULL, NULL, NULL },
};

static Option options[] = {
    { .name = "What" },
    { "attn", OPTION_CHOICE, &mechanism.attention, .choice = settings_attention,
      .help = "the attention" },
    { "task", OPTION_CHOICE, &task, .choices = task_names,
      .help = "the next byte, or masked ones" },
    { "preset", OPTION_PRESET, &preset, .presets = presets, .help = "a set of options" },
    { .name = "Settings of the attention" },
    SETTINGS_ROWS(mechanism),
    { "features", OPTION_INT, &config.features, .max = 1 << 20,
      .help = "performer: random features of a head; 0: four for each number of a key" },
    { "key-size", OPTION_INT, &config.key_size, .max = 1 << 14,
      .help = "width of a query and a key of a head; 0: as a value's, 128 for gau and flash" },
    { "share", OPTION_SET, &config.share, .choices = share_names,
      .help = "fastformer: weights that are there once" },
    { "gate", OPTION_FLAG, &gate, .help = "gau, flash: the gate" },
    { .name = "Model" },
    { "n-layer", OPTION_INT, &config.layers, .min = 1, .max = 1000, .help = "blocks" },
    { "n-head", OPTION_INT, &config.heads, .min = 1, .max = 1024, .help = "heads of a block" },
    { "n-embd", OPTION_INT, &config.width, .min = 1, .max = 16384, .help = "width" },
    { "block-size", OPTION_INT, &config.context, .min = 1, .max = 1 << 24,
      .help = "context, in tokens" },
    { "dropout", OPTION_REAL, &config.dropout, .max = 1, .below = true,
      .help = "share of numbers dropped" },
    { "position", OPTION_CHOICE, &position, .choices = position_names,
      .help = "positions; rope unless told, where the attention takes it, else learned" },
    { "ffn", OPTION_CHOICE, &ffn, .choices = ffn_names, .help = "the feed-forward layer" },
    { "layer-norm", OPTION_CHOICE, &layer_norm, .choices = norm_names,
      .help = "RMSNorm or LayerNorm" },
    { "tied", OPTION_FLAG, &config.tied, .help = "the head is the embedding table" },
    { "bias", OPTION_FLAG, &config.bias, .help = "biases in the dense layers" },
    { .name = "Training" },
    { "batch-size", OPTION_INT, &training.batch, .min = 1, .max = 1 << 20,
      .help = "sequences at once" },
    { "gradient-accumulation-steps", OPTION_INT, &training.accumulation, .min = 1, .max = 1 << 20,
      .help = "batches to an update" },
    { "max-iters", OPTION_INT, &training.steps, .min = 1, .max = 100000000, .help = "updates" },
    { "max-time", OPTION_DURATION, &training.max_seconds, .above = true,
      .help = "stop after so long" },
    { "learning-rate", OPTION_REAL, &training.schedule.rate, .help = "the highest" },
    { "min-lr", OPTION_REAL, &training.schedule.least,
      .help = "the one at the end; a tenth unless told" },
    { "warmup-iters", OPTION_INT, &training.schedule.warmup, .max = 100000000,
      .help = "updates until the highest rate; at most a tenth unless told" },
    { "lr-decay-iters", OPTION_INT, &training.schedule.decay, .max = 100000000,
      .help = "updates until the lowest; 0: --max-iters" },
    { "weight-decay", OPTION_REAL, &training.decay, .help = "of matrices" },
    { "beta1", OPTION_REAL, &training.beta1, .max = 1, .below = true, .help = "of AdamW" },
    { "beta2", OPTION_REAL, &training.beta2, .max = 1, .below = true, .help = "of AdamW" },
    { "grad-clip", OPTION_REAL, &training.clip, .help = "largest gradient norm; 0: any" },
    { "seed", OPTION_SEED, &training.seed, .help = "of weights, batches and sample" },
    { "threads", OPTION_INT, &threads, .max = 1024, .help = "0: one for each processor" },
    { .name = "Evaluation and results" },
    { "val-file", OPTION_TEXT, &validation_path, .help = "validate on this file" },
    { "val-share", OPTION_REAL, &held_back, .max = 0.9, .above = true,
      .help = "else on this last part of the text" },
    { "eval-interval", OPTION_INT, &training.eval_interval, .min = 1, .max = 100000000,
      .help = "updates between evaluations" },
    { "eval-iters", OPTION_INT, &training.eval_iters, .max = 1 << 24,
      .help = "batches in one; 0: all of the text" },
    { "log-interval", OPTION_INT, &training.log_interval, .min = 1, .max = 100000000,
      .help = "updates between lines of the log" },
    { "out-dir", OPTION_TEXT, &out_dir, .help = "the run's folder" },
    { "sample-bytes", OPTION_INT, &sample_bytes, .max = 1 << 24,
      .help = "length of the sample at the end" },
    { "temperature", OPTION_REAL, &temperature, .max = 100, .help = "of the sample" },
    { 0 },
};

static const Program program = {
    .usage = "./train [options] [CORPUS...]",
    .summary = "Trains a small transformer on text files, or, without any, on built-in stories.",
    .options = options,
};

static volatile sig_atomic_t stop;

static void ask_to_stop(int number)
{
    stop = number;
}

/* The first signal ends the run after its step; the second one ends the program. */
static void catch_signals(void)
{
    struct sigaction a = { .sa_flags = (int)SA_RESETHAND | SA_RESTART }, before;

    a.sa_handler = ask_to_stop;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &a, NULL); /* nohup is for runs that outlive the terminal */
    a.sa_handler = SIG_IGN;
    a.sa_flags = 0;
    sigaction(SIGPIPE, &a, NULL);
    sigaction(SIGXFSZ, &a, NULL); /* so that a full disk is an error message */
}

/* Control characters as '?': names come from strangers, and a terminal obeys what it is sent. */
static void make_plain(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
}

static Text plain(const char *name)
{
    Text text = text_cut(name, 200);

    make_plain(text.at);
    return text;
}

/* "nice/text.txt" -> "text", or "stories". */
static const char *text_name(const char *path, char *to, size_t size)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;

    if (!path)
        base = "stories";
    if (strcmp(base, "-") == 0)
        base = "stdin";
    snprintf(to, size, "%s", base);
    char *dot = strrchr(to, '.');
    if (dot && dot != to)
        *dot = 0;
    make_plain(to);
    return to;
}

/* Whatever the layer of that attention makes of the options, or cannot make. */
static void check_layer(const Attention *a)
{
    settings_check(&program, "features", TAKES_FEATURES, a);
    settings_check(&program, "key-size", TAKES_KEY_SIZE, a);
    settings_check(&program, "share", TAKES_SHARE, a);
    settings_check(&program, "gate", TAKES_GATE, a);
    if (a->frame == FRAME_GATED && options_given(&program, "ffn"))
        die(EXIT_USAGE, "--ffn means nothing to --attn %s, which has no feed-forward layer",
            a->name);
}

/*
 * What the user left open gets its value, for config.json to tell: lengths that a
 * mechanism is made for are those it is trained at.
 */
static void resolve(const Attention *a)
{
    Settings *set = &config.set;

    if ((a->takes & TAKES_BASE) && set->base == 0)
        set->base = config.context > 1 ? config.context : 2;
    if ((a->takes & TAKES_HORIZON) && set->horizon < config.context)
        set->horizon = config.context; /* so that all prefixes have one */
    if (position < 0)
        position = a->takes & TAKES_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    if (a->frame == FRAME_GATED)
        config.heads = 1;
}

static void settle_model(void)
{
    config.attention = settings_of(&program, &mechanism, &config.set);
    check_layer(config.attention);
    resolve(config.attention);
    mechanism.set = config.set;
    config.position = (Position)position;
    config.ffn = (Ffn)ffn;
    config.norm = (NormKind)layer_norm;
    config.gateless = !gate;
    config.task = (Task)task;
    config.vocab = config.task == TASK_MLM ? 257 : 256; /* the bytes, and what hides one */
    config_check(&config);
}

static void settle(int files)
{
    settle_model();
    if (threads == 0)
        threads = machine_processors();
    if (isnan(training.schedule.least))
        training.schedule.least = training.schedule.rate / 10;
    if (training.schedule.decay == 0)
        training.schedule.decay = training.steps;
    if (!options_given(&program, "warmup-iters") && training.schedule.warmup > training.steps / 10)
        training.schedule.warmup = training.steps / 10;
    if (files == 0 && !options_given(&program, "max-time"))
        training.max_seconds = STORY_SECONDS;
}

static Corpus read_corpus(int files, char **path)
{
    Corpus corpus = files ? corpus_read((CorpusFiles){ (const char *const *)path, files,
                                                       validation_path, held_back, config.context })
                          : corpus_stories(training.seed, STORY_BYTES);

    if (config.task == TASK_MLM)
        corpus.floor = 0; /* an entropy is what a byte costs after those before it */
    return corpus;
}

static double tokens_at_once(void)
{
    return (double)training.batch * config.context;
}

static void banner(const Model *model, const Corpus *corpus, const char *name, const Run *run)
{
    const Config *c = &model->config;
    const Text set = settings_text(c);

    fprintf(stderr, "%s attention%s%s%s, %d x %d, %d head%s, context %d, positions %s, ffn %s\n",
            c->attention->name, set.n ? " (" : "", set.at, set.n ? ")" : "", c->layers, c->width,
            c->heads, c->heads == 1 ? "" : "s", c->context, position_names[c->position],
            c->attention->frame == FRAME_GATED ? "none" : ffn_names[c->ffn]);
    fprintf(stderr, "%zu parameters, %.2f MFLOP a token, about %.0f MiB of memory\n",
            params_count(&model->params), config_flops(c) / 1e6,
            config_memory(c, tokens_at_once()) / 0x1p20);
    fprintf(stderr, "%s: %zu bytes to train on, %zu to validate, %d tokens in the vocabulary\n",
            plain(name).at, corpus->train.n, corpus->validation.n, c->vocab);
    if (c->task == TASK_MLM)
        fprintf(stderr, "%d of %d bytes are masked, and to be told from both sides\n",
                task_targets(c, c->context), c->context);
    if (corpus->floor > 0)
        fprintf(stderr, "its true entropy is %.4f bits/byte: no model does better\n",
                corpus->floor);
    fprintf(stderr, "%d threads, vectors of %d bits, peak %.0f GFLOP/s, seed %llu; run in %s\n",
            threads, VECTOR * 8, training.peak / 1e9, (unsigned long long)training.seed,
            plain(run_path(run)).at);
}

static void print_quality(Evaluation e, size_t bytes)
{
    if (config.task == TASK_MLM)
        printf("validation loss %.4f nats a masked byte, ppl %.3f, accuracy %.1f%% (all %zu bytes, "
               "side by side, context %d)\n",
               e.loss, exp(e.loss), 100 * e.accuracy, bytes, config.context);
    else
        printf("validation loss %.4f nats/byte, ppl %.3f, %.4f bits/byte (all %zu bytes, side by "
               "side, context %d)\n",
               e.loss, exp(e.loss), e.loss / log(2), bytes, config.context);
}

static void conclude(const TrainResult *r, const Corpus *corpus, const Run *run, double setup)
{
    printf("%d steps in %.1f s (median %.1f ms), the first after %.3f s of setting up\n", r->steps,
           r->seconds, 1e3 * r->step_seconds, setup);
    printf("best evaluation %.4f at step %d\n", r->best, r->best_step);
    print_quality(r->last, corpus->validation.n);
    if (preset >= 0 && config.task == TASK_CAUSAL)
        printf("for comparison: nanoGPT reached 1.88 with these settings\n");
    if (corpus->floor > 0)
        printf("true entropy    %.4f nats/byte, %.4f bits/byte\n", corpus->floor * log(2),
               corpus->floor);
    printf("left in %s: model.safetensors best.safetensors log.jsonl config.json loss.svg\n",
           plain(run_path(run)).at);
}

/* A byte as a terminal can show it: control characters and what is not ASCII as '?'. */
static void print_byte(int token)
{
    putchar(token == '\n' || (token >= 0x20 && token < 0x7f) ? token : '?');
}

static void print_sample(Tape *tape, const Model *model)
{
    const int prompt = '\n';
    int *out = xmalloc((size_t)(sample_bytes + 1) * sizeof *out);

    tape->forward_only = true;
    model_sample(tape, model, (Sampling){ &prompt, 1, sample_bytes, temperature, training.seed },
                 out);
    printf("\na sample:\n");
    for (int i = 0; i < sample_bytes; i++)
        print_byte(out[i]);
    putchar('\n');
    free(out);
}

/* One line, whatever lines the text has. */
static void print_line(const int *id, int n)
{
    for (int t = 0; t < n; t++)
        print_byte(id[t] == config_mask(&config) ? '_' : id[t] == '\n' ? ' ' : id[t]);
    putchar('\n');
}

/* The beginning of the validation text, with every target hidden; and what the model puts there. */
static void print_filled(Tape *tape, const Model *model, Bytes text)
{
    int T = sample_bytes < config.context ? sample_bytes : config.context, right = 0;
    int *id = xmalloc((size_t)(2 * T) * sizeof *id), *target = id + T;

    task_window(&config, text, 0, (Batch){ 1, T, id, target });
    for (int t = 0; t < T; t++)
        id[t] = target[t] < 0 ? id[t] : config_mask(&config);
    tape_reset(tape);
    tape->forward_only = true;
    const Tensor *logits = model_logits(tape, model, id, 1, T, 0);
    printf("\nmasked:\n");
    print_line(id, T);
    for (int t = 0; t < T; t++)
        if (target[t] >= 0) {
            id[t] = sample_likeliest(logits->data + (size_t)t * (size_t)config.vocab, config.vocab);
            right += id[t] == target[t];
        }
    printf("filled in, %d of %d right:\n", right, task_targets(&config, T));
    print_line(id, T);
    free(id);
}

static void write_config(FILE *out, void *ctx)
{
    (void)ctx;
    options_json(&program, out);
}

int main(int argc, char **argv)
{
    const double start = seconds_now();
    int files = options_parse(&program, argc, argv);
    char name[128], full[256];

    settle(files);
    config_check_memory(&config, tokens_at_once());
    Corpus corpus = read_corpus(files, argv);
    Tape tape = { .mem = arena_new(), .pool = pool_new(threads) };
    Arena *mem = arena_new();
    Model model;

    catch_signals();
    model_init(&model, config, mem, training.seed);
    training.peak = machine_peak(tape.pool);
    text_name(files ? argv[0] : NULL, name, sizeof name);
    snprintf(full, sizeof full, "%s-%s%s", name, config.attention->name,
             config.task == TASK_MLM ? "-mlm" : "");
    Run *run = run_open(out_dir, full, config.task);
    run_file(run, "config.json", write_config, NULL);
    banner(&model, &corpus, files ? argv[0] : "built-in stories", run);

    const double setup = seconds_now() - start;
    TrainResult result = train(&tape, &model, &corpus, run, &training, &stop);
    run_draw(run, full, corpus.floor * log(2));
    if (!result.interrupted) {
        conclude(&result, &corpus, run, setup);
        if (sample_bytes > 0 && !stop && config.task == TASK_MLM)
            print_filled(&tape, &model, corpus.validation);
        else if (sample_bytes > 0 && !stop)
            print_sample(&tape, &model);
    } else {
        fprintf(stderr, "stopped at step %d; %s holds the weights\n", result.steps,
                plain(run_path(run)).at);
    }
    run_close(run);
    corpus_free(&corpus);
    pool_free(tape.pool);
    arena_free(tape.mem);
    arena_free(mem);
    if (fflush(stdout) != 0 || ferror(stdout))
        die(EXIT_IO, "cannot write to standard output");
    return stop ? 128 + (int)stop : 0;
}
