#include "data/corpus.h"

#include "data/stories.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"
#include "ops/base/text.h"

#include <stdlib.h>
#include <string.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.120s"

static unsigned char *read_named(const char *path, Corpus *corpus, size_t *bytes)
{
    size_t before = 0;

    for (int i = 0; i < corpus->files; i++)
        before += corpus->file[i].bytes;
    unsigned char *at = file_read_text(path, bytes, before);
    const char *looks = file_looks_like(at, *bytes);

    if (*bytes == 0)
        die(EXIT_DATA, PATH " is empty: there is nothing to train on", path);
    if (looks)
        warn(PATH " looks like %s; it is read as plain bytes", path, looks);
    corpus->file[corpus->files++] = (CorpusFile){ path, *bytes, hash_bytes(0, at, *bytes) };
    return at;
}

/* All files in one piece of memory. */
static Bytes read_all(const CorpusFiles *files, Corpus *corpus)
{
    unsigned char **owned = &corpus->owned;
    Bytes all = { NULL, 0 };

    for (int i = 0; i < files->n; i++) {
        size_t n;
        unsigned char *at = read_named(files->path[i], corpus, &n);

        if (i == 0) {
            *owned = at;
        } else {
            *owned = xrealloc(*owned, all.n + n);
            memcpy(*owned + all.n, at, n);
            free(at);
        }
        all.n += n;
    }
    all.at = *owned;
    return all;
}

/* Where the character begins that byte `at` is in; `at` itself in what is no UTF-8. */
static size_t character_start(Bytes text, size_t at)
{
    uint32_t code;

    for (size_t back = 1; back < 4 && back <= at && at < text.n; back++)
        if (utf8_decode(text.at + at - back, text.n - at + back, &code) > (int)back)
            return at - back;
    return at;
}

Corpus corpus_read(CorpusFiles files)
{
    Corpus corpus = { .file = xmalloc(((size_t)files.n + 1) * sizeof(CorpusFile)) };
    Bytes all = read_all(&files, &corpus);

    corpus.train = all;
    if (files.validation_path) {
        corpus.more = read_named(files.validation_path, &corpus, &corpus.validation.n);
        corpus.validation.at = corpus.more;
    } else {
        corpus.train.n = character_start(all, all.n - (size_t)((double)all.n * files.held_back));
        corpus.validation = (Bytes){ all.at + corpus.train.n, all.n - corpus.train.n };
    }
    return corpus;
}

Corpus corpus_stories(uint64_t seed, size_t bytes)
{
    Stories train = stories_write(seed, 0, bytes);
    Stories validation = stories_write(seed, train.next, bytes / 10);

    return (Corpus){
        .train = { (unsigned char *)train.text, train.bytes },
        .validation = { (unsigned char *)validation.text, validation.bytes },
        .floor = validation.bits / (double)validation.bytes,
        .owned = (unsigned char *)train.text,
        .more = (unsigned char *)validation.text,
    };
}

void corpus_free(Corpus *corpus)
{
    free(corpus->file);
    free(corpus->owned);
    free(corpus->more);
    *corpus = (Corpus){ .floor = 0 };
}

uint64_t corpus_hash(const Corpus *corpus)
{
    return hash_bytes(hash_bytes(0, corpus->train.at, corpus->train.n), corpus->validation.at,
                      corpus->validation.n);
}
