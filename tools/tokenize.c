/* ./tokenize: learns a tokenizer from a text and tokenizes that text or another. */
#include "data/tokens.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/foreign.h"
#include "tools/common/options.h"
#include "tools/common/outputs.h"
#include "training/saved.h"

#include <stdlib.h>
#include <string.h>

static const char *words = "bpe:4096", *json_path, *other_path, *run_path;
static bool ids, check;
static Tokenizer *known; /* that of --run or --tokenizer PATH; NULL: it is learned */

static Option options[] = {
    { .name = "Options" },
    { "tokenizer", OPTION_TEXT, &words, .word = "WORDS",
      .help =
          "byte, char, or bpe:N with a vocabulary of N tokens; or a tokenizer.json, or a folder "
          "with one, to use instead of learning" },
    { "run", OPTION_TEXT, &run_path, .word = "RUN",
      .help = "use the tokenizer of this run instead of learning one" },
    { "text", OPTION_TEXT, &other_path, .word = "FILE",
      .help = "tokenize this text instead of the one the tokenizer is learned from" },
    { "ids", OPTION_FLAG, &ids, .help = "print only the token ids, one per line" },
    { "json", OPTION_TEXT, &json_path, .word = "FILE",
      .help = "write a tokenizer.json for Hugging Face's tokenizers" },
    { "check", OPTION_FLAG, &check,
      .help =
          "verify that decoding restores the text, and that a saved tokenizer is read back as it was" },
    { 0 },
};

static const Program program = {
    .usage = "./tokenize [options] TEXT",
    .summary = "Learns a tokenizer from a text and tokenizes it.",
    .options = options,
};

static Bytes read_text(const char *path)
{
    Bytes text;

    text.at = file_read_text(path, &text.n, 0);
    file_warn_look(path, text.at, text.n);
    return text;
}

static void free_text(Bytes text)
{
    free((void *)(uintptr_t)text.at);
}

static void put_json(FILE *out, void *t)
{
    tokenizer_json(t, out);
}

static void check_bytes(const Tokenizer *t, Bytes text, Tokens tokens)
{
    size_t at = 0;

    for (size_t i = 0; i < tokens.n; i++) {
        const Bytes token = tokenizer_token(t, tokens.at[i]);

        if (token.n > text.n - at || memcmp(token.at, text.at + at, token.n) != 0)
            die(EXIT_FAILED, "token %zu differs from the text at byte %zu", i, at);
        at += token.n;
    }
    if (at != text.n)
        die(EXIT_FAILED, "the tokens have %zu bytes, the text %zu", at, text.n);
}

static void check_saved(const Tokenizer *t, Bytes text, Tokens tokens)
{
    char *saved = tokenizer_save(t);
    Tokenizer *again = tokenizer_load(saved);

    if (!again)
        die(EXIT_FAILED, "%s cannot be read back", tokenizer_words(t));
    Tokens same = tokens_of(again, text);
    if (same.n != tokens.n || memcmp(same.at, tokens.at, same.n * sizeof *same.at) != 0)
        die(EXIT_FAILED, "%s gives other tokens after it is read back", tokenizer_words(t));
    tokens_free(&same);
    free(saved);
    tokenizer_free(again);
}

static void print_summary(const Tokenizer *t, Bytes text, Tokens tokens)
{
    printf("%s: %d tokens in the vocabulary\n", tokenizer_words(t), tokenizer_size(t));
    printf("%zu bytes are %zu tokens", text.n, tokens.n);
    if (tokens.n)
        printf(", %.3f bytes per token", (double)text.n / (double)tokens.n);
    printf("%s\n", check ? "; they decode to the same bytes" : "");
}

/* The run that has it, or NULL. */
static Saved *find_known(void)
{
    if (!run_path) {
        known = foreign_asked(words);
        return NULL;
    }
    if (options_given(&program, "tokenizer"))
        die(EXIT_USAGE, "--run has a tokenizer, so it takes no --tokenizer");
    Saved *run = saved_read(run_path, false);
    if (!run->tokenizer)
        die(EXIT_USAGE, "%.200s was trained on %s, and has no tokenizer", run->path,
            saved_task(run));
    known = run->tokenizer;
    return run;
}

static void check_texts(int left, char **argv)
{
    if (left == 1 && known && other_path)
        die(EXIT_USAGE,
            "--%s has a tokenizer: with --text there is no TEXT to learn from, but %.60s",
            run_path ? "run" : "tokenizer", argv[0]);
    if (left != 1 && !(left == 0 && known && other_path))
        die(EXIT_USAGE, "tokenize takes one TEXT to learn from%s%.60s", left ? ", not also " : "",
            left ? argv[1] : "");
    outputs_check(&(Output){ "json", json_path }, 1,
                  (const char *const[]){ argv[0], other_path, run_path, known ? words : NULL }, 4);
}

int main(int argc, char **argv)
{
    const int left = options_parse(&program, argc, argv);
    Saved *run = find_known();

    check_texts(left, argv);
    const Bytes learned = known ? (Bytes){ 0 } : read_text(argv[0]);
    Tokenizer *t = known ? known : tokenizer_learn(words, learned);
    const Bytes text = known || other_path ? read_text(other_path ? other_path : argv[0]) : learned;
    Tokens tokens = tokens_of(t, text);
    if (check) {
        check_bytes(t, text, tokens);
        check_saved(t, text, tokens);
    }
    if (json_path)
        file_print(json_path, put_json, t);
    for (size_t i = 0; ids && i < tokens.n; i++)
        printf("%u\n", tokens.at[i]);
    if (!ids)
        print_summary(t, text, tokens);
    options_finish();
    tokens_free(&tokens);
    if (known || other_path)
        free_text(text);
    free_text(learned);
    if (run)
        saved_free(run);
    else
        tokenizer_free(t);
    return 0;
}
