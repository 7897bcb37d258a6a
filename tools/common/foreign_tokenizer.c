/*
 * A vocabulary as one of our tokenizers: first as the string that tokenizer_save() would write
 * (data/tokenizer.c, data/gpt2.c), which tokenizer_load() checks.
 */
#include "data/tokenizer.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/foreign.h"
#include "tools/common/vocabulary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_BYTES = 128, LETTERS = 0x200, SHOWN = 40, NO_BYTE = -1 };

/* The byte that a name of one letter stands for, or NO_BYTE. */
static int byte_of(const char *name)
{
    static int byte[LETTERS];
    uint32_t code;
    const int n = utf8_decode((const unsigned char *)name, UTF8_MOST, &code);

    for (int i = 0; i < LETTERS && !byte[LETTERS - 1]; i++)
        byte[i] = NO_BYTE;
    for (unsigned b = 0; b < 256 && byte[tokenizer_letter(255)] != 255; b++)
        byte[tokenizer_letter(b)] = (int)b;
    return n && code < LETTERS ? byte[code] : NO_BYTE;
}

/* The bytes that a name stands for, in hexadecimal; those of the name itself if it is not made of
 * letters for bytes, or is a text. */
static void put_hex(FILE *out, const Vocabulary *v, int id)
{
    const unsigned char *s = (const unsigned char *)v->name[id];
    bool letters = !v->special[id];
    size_t bytes = 0;
    uint32_t code;

    for (size_t i = 0; s[i] && letters; i += (size_t)utf8_decode(s + i, UTF8_MOST, &code))
        letters = byte_of((const char *)s + i) != NO_BYTE;
    for (int n; *s; s += n, bytes++) {
        n = letters ? utf8_decode(s, UTF8_MOST, &code) : 1;
        fprintf(out, "%02x", letters ? (unsigned)byte_of((const char *)s) : *s);
    }
    if (bytes > TOKEN_BYTES)
        die(EXIT_DATA, "%.180s: token %d, '%s', has %zu bytes, more than %d", v->path, id,
            text_cut(v->name[id], SHOWN).at, bytes, TOKEN_BYTES);
}

static bool is_byte(const Vocabulary *v, int id)
{
    uint32_t code;
    const unsigned char *name = (const unsigned char *)v->name[id];

    return name && !v->special[id] && byte_of(v->name[id]) != NO_BYTE &&
           !name[utf8_decode(name, UTF8_MOST, &code)];
}

/* Prints merges from the m-th on that make a token before `id`, and the one that makes it. */
static int put_merges(FILE *out, const Vocabulary *v, int m, int id)
{
    for (; m < v->merges && v->merge[m][2] <= id; m++) {
        fprintf(out, " %d,%d", v->merge[m][0], v->merge[m][1]);
        if (v->merge[m][2] == id)
            return m + 1;
        fprintf(out, "=%d", v->merge[m][2]);
    }
    return m;
}

/* Whether a merge makes the token. */
static bool *made_by_merges(const Vocabulary *v)
{
    bool *made = arena_zeros(v->mem, (size_t)v->vocab * sizeof *made);

    for (int m = 0; m < v->merges; m++)
        made[v->merge[m][2]] = true;
    return made;
}

/* See data/gpt2.c. */
static void put_gpt2(FILE *out, void *ctx)
{
    const Vocabulary *v = ctx;
    const bool *made = made_by_merges(v);
    int m = 0;

    fprintf(out, "%s:%d", v->split == SPLIT_DIGITS ? "gpt2-digits" : "gpt2", v->vocab);
    for (int id = 0; id < v->vocab; id++) {
        const int before = m;

        if (made[id] && (m = put_merges(out, v, m, id)) > before && v->merge[m - 1][2] == id &&
            !v->special[id] && !is_byte(v, id))
            continue;
        if (made[id])
            die(EXIT_DATA, "%.180s: token %d, '%s', is not the result of its merge", v->path, id,
                text_cut(v->name[id], SHOWN).at);
        fputs(is_byte(v, id) ? " " : v->special[id] ? " '" : " _", out);
        if (v->name[id])
            put_hex(out, v, id);
    }
    put_merges(out, v, m, v->vocab);
}

/* What ./export writes of "byte" and "bpe:N": bytes in order, then merges in order. */
static void put_own(FILE *out, void *ctx)
{
    const Vocabulary *v = ctx;

    fprintf(out, v->merges ? "bpe:%d" : "byte", v->vocab);
    for (int id = 0; id < 256; id++)
        if (id >= v->vocab || !is_byte(v, id) || byte_of(v->name[id]) != id)
            die(EXIT_DATA, "%.180s: token %d is not the byte %d", v->path, id, id);
    if (256 + v->merges != v->vocab)
        die(EXIT_DATA,
            "%.180s has %d merges for %d tokens, which is not 256 fewer: tokens that were "
            "added to attn.c's tokenizers, such as one for padding, cannot be imported",
            v->path, v->merges, v->vocab);
    for (int m = 0; m < v->merges; m++) {
        if (v->merge[m][2] != 256 + m)
            die(EXIT_DATA, "%.180s: merge %d does not make token %d", v->path, m, 256 + m);
        fprintf(out, " %d,%d", v->merge[m][0], v->merge[m][1]);
    }
}

/* Token `id` of "char" as ./export writes it: a byte, or a character after them. */
static bool is_in_place(const Vocabulary *v, int id, uint32_t *code)
{
    const unsigned char *name = (const unsigned char *)v->name[id];
    const int n = name ? utf8_decode(name, UTF8_MOST, code) : 0;

    if (id == 0 || (id >= 128 && id < 256))
        return n && strcmp(v->name[id], text_format("<0x%02X>", (unsigned)id).at) == 0;
    return n && !name[n] && (id >= 256 || *code == (uint32_t)id);
}

static void put_characters(FILE *out, void *ctx)
{
    const Vocabulary *v = ctx;
    uint32_t code;

    fputs("char", out);
    for (int id = 0; id < v->vocab; id++) {
        if (!is_in_place(v, id, &code))
            die(EXIT_DATA, "%.180s: token %d is not a byte or character in its place", v->path, id);
        if (id >= 256)
            fprintf(out, " %x", code);
    }
}

static Vocabulary vocabulary_new(const char *path, int vocab, Arena *mem)
{
    const size_t n = (size_t)vocab;

    return (Vocabulary){ .path = path,
                         .mem = mem,
                         .vocab = vocab,
                         .id = arena_take(mem, n * sizeof(int)),
                         .name = arena_zeros(mem, n * sizeof(char *)),
                         .special = arena_zeros(mem, n * sizeof(bool)) };
}

static Tokenizer *load(const Vocabulary *v, Print *put)
{
    size_t bytes;
    char *saved = print_to_memory(put, (void *)(uintptr_t)v, &bytes);
    Tokenizer *t = tokenizer_load(saved);

    if (!t)
        die(EXIT_DATA,
            "%.180s is no tokenizer of attn.c's: each byte must have a token, and each merge "
            "earlier tokens",
            v->path);
    free(saved);
    return t;
}

Tokenizer *foreign_tokenizer(const char *path, int vocab)
{
    Arena *mem = arena_new();
    Vocabulary v = vocabulary_new(path, vocab ? vocab : TOKENS_MAX, mem);
    char file[PATH_BYTES];

    if (foreign_has(path, "tokenizer.json"))
        v.path = file_join(file, path, "tokenizer.json");
    if (v.path == file || !foreign_has(path, "."))
        vocabulary_json(&v);
    else if (foreign_has(path, "vocab.json") && foreign_has(path, "merges.txt"))
        vocabulary_files(&v, path);
    else
        die(EXIT_IO, "%.180s has no tokenizer.json, nor vocab.json and merges.txt%s%s", path,
            foreign_has(path, "tokenizer.model") ? " (a tokenizer.model cannot be read)" : "",
            vocab ? "; --tokenizer PATH takes it from elsewhere" : "");
    while (!vocab && v.vocab > 0 && !v.name[v.vocab - 1])
        v.vocab--;
    Tokenizer *t = load(&v, v.characters                                    ? put_characters
                            : v.split == SPLIT_OWN || v.split == SPLIT_NONE ? put_own
                                                                            : put_gpt2);
    numbers_free(&v.known);
    arena_free(mem);
    return t;
}

Tokenizer *foreign_asked(const char *words)
{
    const Text wrong = tokenizer_wrong(words);

    if (wrong.n == 0)
        return NULL;
    if (access(words, F_OK) != 0)
        die(EXIT_USAGE, "--tokenizer '%s' %s%s", text_cut(words, SHOWN).at, wrong.at,
            strchr(words, ':') ? "" : ", or the path of a run or a tokenizer.json");
    return foreign_tokenizer(words, 0);
}
