/* What identifies a run's text and tokenizer: losses on others cannot be compared with its own. */
#include "tools/report/report.h"

#include "ops/base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_SHOWN = 60 };

/* The last part of a path, whatever slashes it ends with. */
const char *record_base_name(Arena *mem, const char *path)
{
    char *name = arena_string(mem, path);
    size_t n = strlen(name);

    while (n > 1 && name[n - 1] == '/')
        name[--n] = 0;
    char *slash = strrchr(name, '/');
    return slash && slash[1] ? slash + 1 : name;
}

/*
 * The identity of a run's text is the hash of its files, which its weights know. Stories are the
 * same text whatever the seed they were drawn with; generated rows are none.
 */
static void read_text(Record *r, const Safetensors *s)
{
    static const char *const names[] = { "labels", "data", "file.0" };
    const char *corpus = s ? safetensors_meta(s, "attnc.corpus") : NULL, *file = NULL;

    if (!corpus)
        return;
    for (int i = 0; i < 3 && !file; i++)
        file = safetensors_meta(s, text_format("attnc.option.%s", names[i]).at);
    if (strtoull(corpus, NULL, 16) == 0)
        r->corpus = "";
    else if (!file)
        r->corpus = "stories", r->text = "built-in stories";
    else
        r->corpus = arena_string(r->mem, corpus),
        r->text = arena_format(r->mem, "%s%s", record_base_name(r->mem, file),
                               safetensors_meta(s, "attnc.option.file.1") ? ", ..." : "");
}

/*
 * The configuration may have a path for it. Of stories, each seed has a tokenizer of its own: they
 * are the same here, as their texts are.
 */
static void read_tokenizer(Record *r, const Safetensors *s)
{
    const char *saved = s ? safetensors_meta(s, "attnc.tokenizer") : NULL;

    if (!saved) {
        const Text known = json_text(json_find(r->config, "tokenizer"));

        r->words = r->tokenizer = arena_string(r->mem, text_cut(known.at, WORDS_SHOWN).at);
        return;
    }
    r->words =
        arena_format(r->mem, "%.*s", (int)strcspn(text_cut(saved, WORDS_SHOWN).at, " "), saved);
    r->tokenizer = r->corpus && strcmp(r->corpus, "stories") == 0
                       ? r->words
                       : arena_format(r->mem, "%s %" PRIx64, r->words, hash_string(0, saved));
}

void record_identify(Record *r, const Safetensors *s)
{
    read_text(r, s);
    read_tokenizer(r, s);
}
