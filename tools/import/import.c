/*
 * ./import: a model of other programs as a run.
 *
 *     DIR: config.json, model.safetensors, tokenizer.json   -->   RUN: model.safetensors, ...
 */
#include "tools/import/import.h"

#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "tools/common/build.h"
#include "tools/common/model_options.h"
#include "tools/common/options.h"
#include "tools/common/shown.h"
#include "training/folder.h"
#include "training/run.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 100, OPTIONS_MOST = 64 };

static bool overwrite;
static const char *tokenizer_path;
static int context;

static Option options[] = {
    { "tokenizer", OPTION_TEXT, &tokenizer_path, .word = "PATH",
      .help = "a folder or tokenizer.json to read the tokenizer from; default: DIR" },
    { "block-size", OPTION_INT, &context, .max = 1 << 24, .alias = "context",
      .help = "shorten the context to N tokens; 0: keep the model's" },
    { "overwrite", OPTION_FLAG, &overwrite, .help = "replace the run in RUN" },
    { 0 },
};

static const Program program = {
    .usage = "./import [options] DIR RUN",
    .summary = "Imports a model saved by Hugging Face's transformers as a run.",
    .options = options,
    .notes = "DIR contains config.json, model.safetensors (or several files and\n"
             "model.safetensors.index.json), and tokenizer.json or vocab.json and merges.txt.\n"
             "RUN must not contain a run unless --overwrite is given.\n"
             "\n"
             "Supported are LlamaForCausalLM, GPT2LMHeadModel, GPTNeoForCausalLM, and\n"
             "ArceeForCausalLM as ./export writes it. Weights in float16 and bfloat16 are\n"
             "converted to float32, exactly. Keys and values that several heads share stay\n"
             "shared (--n-kv-head).\n"
             "Models that attn.c cannot compute are refused: scaled RoPE, other activations, a\n"
             "head_dim other than hidden_size / num_attention_heads, ...\n"
             "\n"
             "A tokenizer is required, since all programs read and write text: byte-level BPE\n"
             "with GPT-2's pattern, optionally with each digit on its own, or as ./export\n"
             "writes it. A text has the same tokens as in Hugging Face's tokenizers with\n"
             "add_special_tokens=False.",
};

/* The options of ./train that describe the model: names and values. */
static int put_options(Import *in, const Config *of, const Tokenizer *t, Meta *option)
{
    Config c = *of;
    const Setting *key;
    int n = 0;

    option[n++] = (Meta){ "imported", in->class->class_name };
    if (in->end >= 0)
        option[n++] = (Meta){ "eos", arena_format(in->mem, "%d", in->end) };
    option[n++] = (Meta){ "attn", arena_string(in->mem, config_mechanisms(&c).at) };
    option[n++] = (Meta){ "tokenizer", tokenizer_words(t) };
    for (int i = 0; (key = config_key(i)) && n < OPTIONS_MOST; i++) {
        const int *value = config_value(&c, i);
        const KeyOption o = model_option_of(key, *value);

        if (!model_has_option(&c, value) || !config_has(&c, i))
            continue;
        option[n++] = (Meta){ arena_string(in->mem, o.name.at), arena_string(in->mem, o.value.at) };
    }
    return n;
}

/* A run, and what its config.json records. */
typedef struct {
    const Meta *option;
    int options;
    const Import *in;
    const char *class_name;
    size_t parameters;
} Facts;

static void put_facts(FILE *out, void *ctx)
{
    const Facts *f = ctx;

    fputs("\"imported\":", out);
    text_json(f->in->dir, out);
    fprintf(out, ",\"class\":\"%s\",\"parameters\":%zu,\"version\":\"%s\",\"commit\":\"%s\"",
            f->class_name, f->parameters, attn_version, build_facts().commit);
}

static bool is_number(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == 0;
}

/* As ./train writes it, without what no command line takes: "imported" and "eos". */
static void put_config(FILE *out, void *ctx)
{
    const Facts *f = ctx;

    fputs("{\n", out);
    for (int i = f->in->end < 0 ? 1 : 2; i < f->options; i++) {
        const char *value = f->option[i].value;
        const bool flag = strcmp(value, "on") == 0 || strcmp(value, "off") == 0;

        fputs("  \"", out);
        for (const char *s = f->option[i].key; *s; s++)
            putc(*s == '-' ? '_' : *s, out);
        fputs("\": ", out);
        if (flag || is_number(value))
            fputs(!flag ? value : value[1] == 'n' ? "true" : "false", out);
        else
            text_json(value, out);
        fputs(",\n", out);
    }
    fprintf(out, "  \"parameters\": %zu\n}\n", f->parameters);
}

static void write_run(const Facts *f, const char *path, const Model *model, const Tokenizer *t)
{
    const Origin origin = {
        .task = task_names[TASK_CAUSAL], .tokenizer = t, .option = f->option, .options = f->options
    };
    size_t bytes;
    char *facts = print_to_memory(put_facts, (void *)(uintptr_t)f, &bytes);
    Run *run = run_open(path, NULL, overwrite, &origin);

    run_start(run, 0, facts);
    run_file(run, "config.json", put_config, (void *)(uintptr_t)f);
    run_save(run, model, NULL, (Progress){ .best = HUGE_VAL, .loss = (double)NAN });
    run_close(run);
    free(facts);
}

static void report(const Facts *f, const char *path, const Tokenizer *t)
{
    const Config *c = &f->in->config;

    printf("%s: %s, %d x %d, %d heads%s, context %d, %zu parameters, tokenizer %s\n",
           text_cut(shown_plain(path).at, SHOWN).at, f->class_name, c->layers, c->width, c->heads,
           c->kv_heads ? text_format(" (%d of keys and values)", c->kv_heads).at : "",
           context ? context : c->context, f->parameters, tokenizer_words(t));
}

static void check_words(int words, char **word)
{
    if (words != 2)
        die(EXIT_USAGE, "import takes DIR and RUN, not %d arguments: %s", words,
            options_usage(&program).at);
    if (!overwrite && folder_has_run(word[1]))
        die(EXIT_USAGE,
            "%.200s has a run already: choose another folder, or --overwrite replaces it", word[1]);
    folder_check(word[1], overwrite);
}

int main(int argc, char **argv)
{
    Meta option[OPTIONS_MOST];
    Import in;
    Model model;

    check_words(options_parse(&program, argc, argv), argv);
    import_open(&in, argv[0]);
    Tokenizer *t = foreign_tokenizer(tokenizer_path ? tokenizer_path : argv[0], in.config.vocab);
    import_fill(&in, &model, context);
    const int n = put_options(&in, &model.config, t, option);
    const Facts facts = { option, n, &in, in.class->class_name, params_count(&model.params) };
    write_run(&facts, argv[1], &model, t);
    report(&facts, argv[1], t);
    tokenizer_free(t);
    import_close(&in);
    options_finish();
    return 0;
}
