/*
 * ./export: a model for other programs.
 *
 *     RUN: a run's folder, or a checkpoint   -->   DIR: model.safetensors, config.json,
 *                                                  tokenizer.json, ...
 *
 * Where a class of Hugging Face's transformers computes the same function, DIR is what its
 * from_pretrained() expects; otherwise DIR also has the Python source of a class that does, which
 * is part of this program (Makefile).
 *
 * DIR is written under a temporary name and renamed when complete: so it exists complete or not at
 * all. An empty folder that is there already, perhaps as `.` or by a link, keeps its place and gets
 * config.json last: no program takes it for a model before.
 */
#include "model/form.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/options.h"
#include "tools/common/outputs.h"
#include "tools/common/shown.h"
#include "tools/common/signals.h"
#include "training/folder.h"
#include "training/saved.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SHOWN = 100 };

/* The files of this folder, each with a 0 after it. */
extern const unsigned char mechanisms_attnc_py[], modeling_attnc_py[], configuration_attnc_py[];
static const struct {
    const char *name;
    const unsigned char *text;
} sources[] = { { "mechanisms_attnc.py", mechanisms_attnc_py },
                { "modeling_attnc.py", modeling_attnc_py },
                { "configuration_attnc.py", configuration_attnc_py } };
enum { SOURCES = sizeof sources / sizeof *sources, CLASSES = 2 };

static bool best;
static const char *logits_path, *text_path;
static int threads;

static Option options[] = {
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    { .name = "Comparison with other programs" },
    { "text", OPTION_TEXT, &text_path, .word = "FILE", .help = "input text" },
    { "logits", OPTION_TEXT, &logits_path, .word = "FILE",
      .help = "write the logits of the first context of that text" },
    THREADS_OPTION(threads),
    { 0 },
};

static const Program program = {
    .usage = "./export [options] RUN DIR",
    .summary = "Exports a model to a folder that Hugging Face's transformers can load.",
    .options = options,
    .notes = "RUN is a run's folder or a checkpoint. DIR must be empty or not exist.\n"
             "\n"
             "A causal model with softmax attention, scale sqrt, no window, and keys as wide\n"
             "as values maps to one of transformers' own classes if it has\n"
             "  --position rope --ffn swiglu --layer-norm rms     LlamaForCausalLM\n"
             "  --position rope --ffn gelu --layer-norm rms       ArceeForCausalLM\n"
             "  --position learned --ffn gelu --layer-norm layer  GPT2LMHeadModel\n"
             "For any other text model, DIR contains the Python source of a class that\n"
             "computes it; load it with from_pretrained(DIR, trust_remote_code=True).\n"
             "DIR/README.md describes it. Models with --logit-cap, --shortcut,\n"
             "--value-embedding or --ffn relu2 have no such class.\n"
             "\n"
             "--logits writes tokens [T] in I64 and logits [T,V] in F32, as safetensors.",
};

typedef struct {
    Text from; /* the name of the checkpoint, for messages */
    Arena *mem;
    Saved *run;
    const Form *form;
    Text why; /* the reason for a form of our own */
} Job;

static const char *const names[] = { "model.safetensors",      "config.json",
                                     "tokenizer.json",         "tokenizer_config.json",
                                     "generation_config.json", "README.md",
                                     "mechanisms_attnc.py",    "modeling_attnc.py",
                                     "configuration_attnc.py" };
static char unfinished[PATH_BYTES]; /* where the files go; empty: there is nothing to remove */
static bool there;                  /* that is DIR itself */
static volatile sig_atomic_t stop;

/* A signal ends the program after the current file, even if it comes twice, as from timeout(1). */
static void ask_to_stop(int number)
{
    stop = number;
}

/* At every exit. */
static void remove_unfinished(void)
{
    char path[PATH_BYTES];

    for (size_t i = 0; *unfinished && i < sizeof names / sizeof *names; i++)
        if (snprintf(path, PATH_BYTES, "%s/%s", unfinished, names[i]) < PATH_BYTES)
            unlink(path);
    if (*unfinished && !there)
        rmdir(unfinished);
}

static void check_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct stat link; /* to nothing */
    int files = 0;

    if (!dir && (errno != ENOENT || lstat(path, &link) == 0))
        die(EXIT_IO, "cannot write to %.200s: %s; choose another DIR", path, strerror(errno));
    while (dir && readdir(dir))
        files++;
    if (dir)
        closedir(dir);
    if (files > 2) /* "." and ".." */
        die(EXIT_IO, "%.200s is not empty; choose another DIR", path);
    there = dir != NULL;
}

static void begin_folder(const char *path)
{
    const Text end = there ? (Text){ 0 } : text_format(".%ld.tmp", (long)getpid());
    char name[PATH_BYTES];

    if (snprintf(name, PATH_BYTES, "%s%s", path, end.at) >= PATH_BYTES)
        die(EXIT_IO, "the path %.60s... is too long", path);
    signals_catch(ask_to_stop);
    folder_make_above(path);
    if (!there && mkdir(name, 0777) != 0)
        die(EXIT_IO, "cannot create the folder %.200s: %s", path, strerror(errno));
    strcpy(unfinished, name);
    atexit(remove_unfinished);
}

static void check_stop(void)
{
    if (stop)
        exit(128 + (int)stop);
}

static void end_folder(const char *path)
{
    check_stop();
    if (!there && rename(unfinished, path) != 0)
        die(EXIT_IO, "cannot create the folder %.200s: %s", path, strerror(errno));
    *unfinished = 0;
}

static void write_file(const Job *job, const char *name, Print *put)
{
    char path[PATH_BYTES];

    check_stop();
    file_print(file_join(path, unfinished, name), put, (void *)(uintptr_t)job);
}

/* What ./import has found; NULL: none. */
static const char *end_of_text(const Job *job)
{
    const char *end = saved_option(job->run, "eos");

    if (end && (!*end || end[strspn(end, "0123456789")]))
        die(EXIT_DATA, "%s: eos is '%s', which is not a token", job->from.at, text_cut(end, 60).at);
    return end;
}

static void put_config(FILE *out, void *ctx)
{
    const Job *job = ctx;

    form_config(job->form, &job->run->model.config, end_of_text(job), out);
}

static void put_tokenizer(FILE *out, void *ctx)
{
    const Job *job = ctx;

    tokenizer_json(job->run->tokenizer, out);
}

/* A tokenizer adds a token that it lacks at the end, which is where a masked model has it. */
static void put_tokenizer_config(FILE *out, void *ctx)
{
    const Job *job = ctx;
    const Config *c = &job->run->model.config;

    fprintf(out,
            "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  \"model_max_length\": %d,\n"
            "%s  \"clean_up_tokenization_spaces\": false\n}\n",
            c->context, c->task == TASK_MLM ? "  \"mask_token\": \"<mask>\",\n" : "");
}

/* A limit here would be warned of beside every other one. */
static void put_generation_config(FILE *out, void *ctx)
{
    const char *end = end_of_text(ctx);

    fprintf(out,
            "{\n  \"bos_token_id\": null,\n  \"eos_token_id\": %s,\n  \"do_sample\": true\n}\n",
            end ? end : "null");
}

static void put_source(FILE *out, void *text)
{
    fputs(text, out);
}

static void write_sources(void)
{
    char path[PATH_BYTES];

    for (int i = 0; i < SOURCES; i++)
        file_print(file_join(path, unfinished, sources[i].name), put_source,
                   (void *)(uintptr_t)sources[i].text);
}

/* Those with classes, in one text. */
static const char *classes_joined(Arena *mem)
{
    size_t bytes = 1;

    for (int i = 0; i < CLASSES; i++)
        bytes += strlen((const char *)sources[i].text);
    char *all = arena_zeros(mem, bytes);
    for (int i = 0; i < CLASSES; i++)
        strcat(all, (const char *)sources[i].text);
    return all;
}

/* What the class is for, as transformers' AutoModel... names it. */
static const char *task_class(const Job *job)
{
    return job->run->model.config.task == TASK_MLM ? "ForMaskedLM" : "ForCausalLM";
}

static void put_readme(FILE *out, void *ctx)
{
    const Job *job = ctx;
    const Config *c = &job->run->model.config;
    const char *kind = task_class(job);

    fprintf(
        out,
        "# A model of attn.c\n\n"
        "A transformer with the attention `%s`, %d layer%s, width %d and a context of %d tokens.\n"
        "None of the classes of Hugging Face's transformers computes this model: %s. Its class is\n"
        "in `modeling_attnc.py`, which transformers runs with `trust_remote_code=True`:\n\n"
        "```python\n"
        "from transformers import AutoModel%s, AutoTokenizer\n\n"
        "model = AutoModel%s.from_pretrained(\"folder\", trust_remote_code=True)\n"
        "tokenizer = AutoTokenizer.from_pretrained(\"folder\", trust_remote_code=True)\n"
        "```\n\n",
        config_mechanisms(c).at, c->layers, c->layers == 1 ? "" : "s", c->width, c->context,
        job->why.at, kind, kind);
    if (c->task == TASK_MLM)
        fprintf(out, "`<mask>`, token %d, hides another.\n\n", config_mask(c));
    fprintf(out, "- `config.json`: the configuration, in the words of `./train`'s options\n"
                 "- `model.safetensors`: all tensors, matrices as (outputs, inputs)\n"
                 "- `tokenizer.json`: the tokenizer\n");
}

static void write_tensors(const Job *job)
{
    char path[PATH_BYTES];
    FormTensors all = form_tensors(job->form, &job->run->model, job->mem);

    safetensors_write(file_join(path, unfinished, "model.safetensors"),
                      (Contents){ .entry = all.entry, .entries = all.n });
}

static void write_folder(const Job *job, const char *path)
{
    begin_folder(path);
    write_tensors(job);
    write_file(job, "tokenizer.json", put_tokenizer);
    write_file(job, "tokenizer_config.json", put_tokenizer_config);
    if (job->run->model.config.task == TASK_CAUSAL)
        write_file(job, "generation_config.json", put_generation_config);
    if (job->form->own) {
        write_file(job, "README.md", put_readme);
        write_sources();
    }
    write_file(job, "config.json", put_config);
    end_folder(path);
}

static Job job_open(const char *run)
{
    Job job = { .mem = arena_new(), .run = saved_read(run, best) };
    Text lacks;

    job.from = text_cut(job.run->path, PATH_SHOWN);
    if (!job.run->tokenizer)
        die(EXIT_DATA, "%s was trained on %s, not on text, and has no tokenizer to export",
            job.from.at, saved_task(job.run));
    job.form = form_of_config(&job.run->model.config, &job.why);
    lacks = form_lacks(&job.run->model.config, classes_joined(job.mem));
    if (job.form->own && lacks.n)
        die(EXIT_USAGE, "%s was trained with %s, which the Python files do not compute",
            job.from.at, lacks.at);
    return job;
}

static void job_close(Job *job)
{
    saved_free(job->run);
    arena_free(job->mem);
}

/* The first tokens of the text, at most a context; returns how many. */
static int first_tokens(const Job *job, int *id, int64_t *token)
{
    size_t bytes, all;
    unsigned char *text = file_read(text_path, &bytes);
    Token *encoded = xmalloc(bytes * sizeof *encoded);
    int n = job->run->model.config.context;

    all = tokenizer_encode(job->run->tokenizer, (Bytes){ text, bytes }, encoded);
    if (all == 0)
        die(EXIT_DATA, "%.200s is empty: the model needs a text", text_path);
    if (all < (size_t)n)
        n = (int)all;
    for (int i = 0; i < n; i++)
        token[i] = id[i] = encoded[i];
    free(encoded);
    free(text);
    return n;
}

static void write_logits(const Job *job)
{
    const size_t context = (size_t)job->run->model.config.context;
    int *id = arena_take(job->mem, context * sizeof *id);
    int64_t *token = arena_take(job->mem, context * sizeof *token);
    const int T = first_tokens(job, id, token);
    Tape tape = { .mem = arena_new(), .pool = pool_new(threads), .forward_only = true };
    const Tensor *logits = model_logits(&tape, &job->run->model, id, 1, T, 0);
    const size_t V = (size_t)job->run->model.config.vocab;
    const Entry entry[] = {
        { "tokens", DTYPE_I64, 1, { (size_t)T }, token, (size_t)T * sizeof *token },
        { "logits", DTYPE_F32, 2, { (size_t)T, V }, logits->data, logits->n * sizeof(real) },
    };

    safetensors_write(logits_path, (Contents){ .entry = entry, .entries = 2 });
    pool_free(tape.pool);
    arena_free(tape.mem);
}

static void check_words(int words, char **word)
{
    if (words != 2)
        die(EXIT_USAGE, "export takes RUN and DIR, not %d arguments: %s", words,
            options_usage(&program).at);
    if (!logits_path != !text_path)
        die(EXIT_USAGE, "--logits and --text go together: give both or neither");
    for (size_t n = strlen(word[1]); n > 1 && word[1][n - 1] == '/'; n--)
        word[1][n - 1] = 0;
    outputs_check(&(Output){ "logits", logits_path }, 1,
                  (const char *const[]){ text_path, word[0] }, 2);
}

static void report(const Job *job, const char *path)
{
    const Text shown = text_cut(shown_plain(path).at, PATH_SHOWN);

    printf("%s: %s; transformers' AutoModel%s.from_pretrained(%s) loads it\n", shown.at,
           job->form->class_name, task_class(job),
           job->form->own ? "..., trust_remote_code=True" : "");
}

int main(int argc, char **argv)
{
    check_words(options_parse(&program, argc, argv), argv);
    check_folder(argv[1]);
    Job job = job_open(argv[0]);
    if (logits_path)
        write_logits(&job);
    write_folder(&job, argv[1]);
    report(&job, argv[1]);
    job_close(&job);
    options_finish();
    return 0;
}
