#include "tools/common/vocabulary.h"

#include "data/gpt2.h"
#include "data/pieces.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 40 };

/* Of the model of a tokenizer.json: missing, null or false. */
static const char *const lacking[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix",
                                       "ignore_merges", NULL };

static void know(Vocabulary *v, const char *name, double number)
{
    const uint32_t n = v->known.n;
    const int id = (int)fmin(fmax(number, -1), 1 << 30);

    if (id < 0 || id >= v->vocab || (double)id < number || v->name[id])
        die(EXIT_DATA, "%.180s: token '%s' has the number %g, which is %s", v->path,
            text_cut(name, SHOWN).at, number,
            id >= 0 && id < v->vocab ? "not a number, or another's" : "too large");
    if (numbers_add(&v->known, (Bytes){ (const unsigned char *)name, strlen(name) }) != n)
        die(EXIT_DATA, "%.180s: token '%s' occurs twice", v->path, text_cut(name, SHOWN).at);
    v->id[n] = id;
    v->name[id] = name;
}

/* The token of that name, of n bytes, or -1. */
static int find(const Vocabulary *v, const char *name, size_t n)
{
    const uint32_t at = numbers_find(&v->known, (Bytes){ (const unsigned char *)name, n });

    return at == UNNUMBERED ? -1 : v->id[at];
}

static void read_vocab(Vocabulary *v, const Json *vocab)
{
    if (!vocab || vocab->kind != JSON_OBJECT)
        die(EXIT_DATA, "%.180s has no vocabulary of names and numbers", v->path);
    for (const Json *j = vocab->first; j; j = j->next) {
        if (j->kind != JSON_NUMBER || !j->digits)
            die(EXIT_DATA, "%.180s: token '%s' has no whole number", v->path,
                text_cut(j->name, SHOWN).at);
        know(v, j->name, j->number);
    }
}

static void add_merge(Vocabulary *v, const char *left, size_t n, const char *right, size_t m)
{
    char both[2 * sizeof(Text)];
    int *merge = v->merge[v->merges];

    if (n + m >= sizeof both || n == 0 || m == 0)
        die(EXIT_DATA, "%.180s: merge %d does not have two parts", v->path, v->merges);
    memcpy(both, left, n);
    memcpy(both + n, right, m);
    merge[0] = find(v, left, n), merge[1] = find(v, right, m), merge[2] = find(v, both, n + m);
    if (merge[0] < 0 || merge[1] < 0 || merge[2] < 0)
        die(EXIT_DATA, "%.180s: merge %d, '%.*s' and '%.*s', does not join two tokens into a token",
            v->path, v->merges, (int)(n < SHOWN ? n : SHOWN), left, (int)(m < SHOWN ? m : SHOWN),
            right);
    v->merges++;
}

/* "a b" */
static void add_words(Vocabulary *v, const char *words, size_t n)
{
    const char *space = memchr(words, ' ', n);
    const size_t left = space ? (size_t)(space - words) : n;

    add_merge(v, words, left, words + left + 1, space ? n - left - 1 : 0);
}

/* "a b", or ["a", "b"] */
static void read_merges(Vocabulary *v, const Json *merges)
{
    if (!merges || merges->kind != JSON_ARRAY)
        die(EXIT_DATA, "%.180s has no array of merges", v->path);
    v->merge = arena_take(v->mem, (size_t)merges->count * sizeof *v->merge);
    for (const Json *j = merges->first; j; j = j->next) {
        const Json *a = j->kind == JSON_ARRAY && j->count == 2 ? j->first : NULL;

        if (j->kind == JSON_STRING)
            add_words(v, j->string, strlen(j->string));
        else if (a && a->kind == JSON_STRING && a->next->kind == JSON_STRING)
            add_merge(v, a->string, strlen(a->string), a->next->string, strlen(a->next->string));
        else
            die(EXIT_DATA, "%.180s: merge %d is not two strings", v->path, v->merges);
    }
}

static void read_added(Vocabulary *v, const Json *added)
{
    static const char *const flags[] = { "single_word", "lstrip", "rstrip" };

    for (const Json *j = added ? added->first : NULL; j; j = j->next) {
        const char *text = json_string(j, "content");
        const double id = json_number(j, "id");

        if (!text || !*text || isnan(id))
            die(EXIT_DATA, "%.180s has an added token without content or id", v->path);
        if (find(v, text, strlen(text)) < 0)
            know(v, text, id);
        const int token = find(v, text, strlen(text));
        if (token != id)
            die(EXIT_DATA, "%.180s: the added token '%s' has two numbers", v->path,
                text_cut(text, SHOWN).at);
        for (int i = 0; i < 3; i++)
            if (json_find(j, flags[i]) && json_find(j, flags[i])->number > 0)
                die(EXIT_DATA, "%.180s: the added token '%s' has %s, which attn.c does not know",
                    v->path, text_cut(text, SHOWN).at, flags[i]);
        v->special[token] = true;
    }
}

/* Dies unless the member is missing, null, false or empty. */
static void must_lack(const char *path, const Json *object, const char *key)
{
    const Json *j = json_find(object, key);
    const bool none = !j || j->kind == JSON_NULL || (j->kind == JSON_BOOL && !(j->number > 0)) ||
                      (j->kind == JSON_STRING && !*j->string) ||
                      (j->kind == JSON_NUMBER && !(j->number < 0 || j->number > 0));
    const char *type = json_string(j, "type");

    if (!none)
        die(EXIT_DATA, "%.180s: %s is %s, which attn.c's tokenizers do not support", path, key,
            j->kind == JSON_BOOL ? "true"
            : type               ? text_cut(type, SHOWN).at
                                 : text_cut(json_text(j).at, SHOWN).at);
}

static bool is_type(const Json *j, const char *type)
{
    const char *its = json_string(j, "type");

    return its && strcmp(its, type) == 0;
}

/* A flag, or what a missing one means. */
static bool flag(const Json *object, const char *key, bool missing)
{
    const Json *j = json_find(object, key);

    return j && j->kind == JSON_BOOL ? j->number > 0 : missing;
}

static bool is_split(const Json *j, const char *pattern)
{
    const char *its = json_string(json_find(j, "pattern"), "Regex");
    const char *behavior = json_string(j, "behavior");

    return is_type(j, "Split") && its && strcmp(its, pattern) == 0 && behavior &&
           strcmp(behavior, "Isolated") == 0 && !flag(j, "invert", false);
}

/* One step of the pre-tokenizer, or two, the second of which is "ByteLevel". */
static Split read_split(const Vocabulary *v, const Json *j)
{
    const Json *list = is_type(j, "Sequence") ? json_find(j, "pretokenizers") : NULL;
    const Json *first = list && list->count == 2 ? list->first : NULL;
    const Json *last = first ? first->next : list && list->count == 1 ? list->first : j;
    const bool regex = flag(last, "use_regex", true);

    if (is_type(last, "ByteLevel") && flag(last, "add_prefix_space", true))
        die(EXIT_DATA, "%.180s: add_prefix_space is true, which attn.c's tokenizers do not support",
            v->path);
    if (is_type(last, "ByteLevel") && !first)
        return regex ? SPLIT_GPT2 : SPLIT_NONE;
    if (is_type(last, "ByteLevel") && regex && is_type(first, "Digits") &&
        flag(first, "individual_digits", false))
        return SPLIT_DIGITS;
    if (is_type(last, "ByteLevel") && !regex && is_split(first, GPT2_PATTERN))
        return SPLIT_GPT2;
    if (is_type(last, "ByteLevel") && !regex && is_split(first, PIECE_PATTERN))
        return SPLIT_OWN;
    die(EXIT_DATA,
        "%.180s: its pre_tokenizer is %s%s; ByteLevel with GPT-2's pattern, with or without "
        "individual Digits before it, can be imported",
        v->path, json_string(j, "type") ? json_string(j, "type") : "none",
        first ? ", of other steps or another pattern" : "");
}

void vocabulary_json(Vocabulary *v)
{
    const Json *json = foreign_json(v->mem, v->path), *model = json_find(json, "model");
    const Json *split = json_find(json, "pre_tokenizer");
    const char *type = json_string(model, "type");

    if (!model || (type && strcmp(type, "BPE") != 0))
        die(EXIT_DATA, "%.180s: its model is %.40s; BPE can be imported", v->path,
            type ? type : "missing");
    must_lack(v->path, json, "normalizer");
    for (int i = 0; lacking[i]; i++)
        must_lack(v->path, model, lacking[i]);
    read_vocab(v, json_find(model, "vocab"));
    read_merges(v, json_find(model, "merges"));
    read_added(v, json_find(json, "added_tokens"));
    v->characters = flag(model, "byte_fallback", false);
    if (v->characters && (v->merges || (split && split->kind != JSON_NULL)))
        must_lack(v->path, model, "byte_fallback");
    v->split = v->characters ? SPLIT_NONE : read_split(v, split);
    if (v->split == SPLIT_NONE && v->merges)
        die(EXIT_DATA, "%.180s: use_regex is false, so merges go across words", v->path);
}

/* Lines "a b", after "#version: 0.2". */
static void read_lines(Vocabulary *v, char *text)
{
    size_t lines = 1;

    for (const char *s = text; *s; s++)
        lines += *s == '\n';
    v->merge = arena_take(v->mem, lines * sizeof *v->merge);
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        const size_t words = n > 0 && text[n - 1] == '\r' ? n - 1 : n;

        if (words > 0 && strncmp(text, "#version", 8) != 0)
            add_words(v, text, words);
    }
}

/* What bos_token and the like name: a string, an object with one, or several. */
static void mark_special(Vocabulary *v, const Json *j)
{
    const char *text = j->kind == JSON_STRING ? j->string : json_string(j, "content");
    const int token = text ? find(v, text, strlen(text)) : -1;

    if (token >= 0)
        v->special[token] = true;
    for (const Json *part = j->kind == JSON_ARRAY ? j->first : NULL; part; part = part->next)
        mark_special(v, part);
}

/* The two files that say which tokens are special, where a tokenizer was saved with them. */
static void read_specials(Vocabulary *v, const char *dir)
{
    static const char added[] = "added_tokens.json", named[] = "special_tokens_map.json";
    char path[PATH_BYTES];

    if (foreign_has(dir, added)) {
        const Json *tokens = foreign_json(v->mem, file_join(path, dir, added));

        v->path = arena_string(v->mem, path);
        read_vocab(v, tokens);
        for (const Json *j = tokens->first; j; j = j->next)
            v->special[find(v, j->name, strlen(j->name))] = true;
    }
    if (foreign_has(dir, named))
        for (const Json *j = foreign_json(v->mem, file_join(path, dir, named))->first; j;
             j = j->next)
            mark_special(v, j);
}

/* GPT-2's own files. They need not say which tokens are special; GPT2Tokenizer has this one. */
void vocabulary_files(Vocabulary *v, const char *dir)
{
    char path[PATH_BYTES];
    size_t bytes;
    const Json *vocab = foreign_json(v->mem, file_join(path, dir, "vocab.json"));

    v->path = arena_string(v->mem, path);
    read_vocab(v, vocab);
    read_specials(v, dir);
    char *merges = (char *)file_read(file_join(path, dir, "merges.txt"), &bytes);
    v->path = arena_string(v->mem, path);
    if (strlen(merges) < bytes)
        die(EXIT_DATA, "%.180s: byte %zu is NUL, which no merge has", v->path, strlen(merges));
    read_lines(v, merges);
    const int end = find(v, "<|endoftext|>", 13);
    if (end >= 0)
        v->special[end] = true;
    v->split = SPLIT_GPT2;
    free(merges);
}
