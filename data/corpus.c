#include "data/corpus.h"

#include "data/stories.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"
#include "ops/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.120s"

static unsigned char *read_named(const char *path, Corpus *corpus, size_t *bytes)
{
    size_t before = 0;

    for (int i = 0; i < corpus->files; i++)
        before += corpus->file[i].bytes;
    unsigned char *at = file_read_text(path, bytes, before);

    if (*bytes == 0)
        die(EXIT_DATA, PATH " is empty", strcmp(path, "-") ? path : "standard input");
    file_warn_look(path, at, *bytes);
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

/* The first byte to validate on, of n. */
static size_t split_of(const CorpusFiles *files, size_t n)
{
    return n - (size_t)((double)n * files->held_back);
}

static uint64_t hash_of(Bytes train, Bytes validation)
{
    return hash_bytes(hash_bytes(0, train.at, train.n), validation.at, validation.n);
}

static Corpus in_memory(const CorpusFiles *files)
{
    Corpus corpus = { .file = xmalloc(((size_t)files->n + 1) * sizeof(CorpusFile)) };
    Bytes all = read_all(files, &corpus);

    corpus.train = all;
    if (files->validation_path) {
        corpus.more = read_named(files->validation_path, &corpus, &corpus.validation.n);
        corpus.validation.at = corpus.more;
    } else {
        corpus.train.n = character_start(all, split_of(files, all.n));
        corpus.validation = (Bytes){ all.at + corpus.train.n, all.n - corpus.train.n };
    }
    corpus.hash = hash_of(corpus.train, corpus.validation);
    return corpus;
}

/* Where the validation part begins, in a text on disk. */
static size_t split_on_disk(const DiskText *disk, size_t n, size_t split)
{
    unsigned char near[8];
    const size_t from = split < 4 ? 0 : split - 4, have = n - from < 8 ? n - from : 8;

    disk_text_read(disk, from, have, near);
    return from + character_start((Bytes){ near, have }, split - from);
}

/* Reads a file of the corpus once: its own hash, and its share of that of the corpus. */
static uint64_t hash_file(const Corpus *c, size_t from, size_t n, Hash *whole)
{
    enum { PIECE = 1 << 20 };
    unsigned char *piece = xmalloc(PIECE);
    Hash own = hash_begin(0, n);

    for (size_t at = from, end = from + n; at < end;) {
        const size_t stop = at < c->train.n && c->train.n < end ? c->train.n : end;
        const size_t here = stop - at < PIECE ? stop - at : PIECE;

        if (at == c->train.n)
            *whole = hash_begin(hash_end(*whole), c->validation.n);
        disk_text_read(c->disk, at, here, piece);
        if (at == from)
            file_warn_look(c->file[c->files].path, piece, here);
        hash_more(&own, piece, here);
        hash_more(whole, piece, here);
        at += here;
    }
    free(piece);
    return hash_end(own);
}

static Corpus on_disk(const char *const *path, int n, const CorpusFiles *files)
{
    Corpus c = { .file = xmalloc((size_t)n * sizeof(CorpusFile)), .disk = disk_text_open(path, n) };
    size_t all = 0, from = 0;

    for (int i = 0; i < n; i++)
        all += disk_text_bytes(c.disk, i);
    warn(PATH
         "%s: %s do not fit in memory; the text stays on disk and is read as needed, after one "
         "pass to hash it",
         path[0], n > 1 ? " and others" : "", text_memory((double)all).at);
    c.train.n = files->validation_path ? all - disk_text_bytes(c.disk, n - 1)
                                       : split_on_disk(c.disk, all, split_of(files, all));
    c.validation.n = all - c.train.n;
    Hash whole = hash_begin(0, c.train.n);
    for (; c.files < n; c.files++) {
        const size_t bytes = disk_text_bytes(c.disk, c.files);

        c.file[c.files] = (CorpusFile){ .path = path[c.files], .bytes = bytes };
        if (bytes == 0)
            die(EXIT_DATA, PATH " is empty: there is nothing to train on", path[c.files]);
        c.file[c.files].hash = hash_file(&c, from, bytes, &whole);
        from += bytes;
    }
    if (c.validation.n == 0)
        whole = hash_begin(hash_end(whole), 0);
    c.hash = hash_end(whole);
    return c;
}

/*
 * Whether all paths are of regular files that have more than `most` bytes together, but not so much
 * that it would take hours to read them once.
 */
static bool too_large(const char *const *path, int n, size_t most)
{
    double all = 0;
    struct stat st;

    for (int i = 0; i < n; i++) {
        if (stat(path[i], &st) || !S_ISREG(st.st_mode))
            return false;
        all += (double)st.st_size;
    }
    return all > (double)most && all <= fmin(64 * (double)most, (double)SIZE_MAX / 2);
}

Corpus corpus_read(CorpusFiles files)
{
    const int n = files.n + (files.validation_path ? 1 : 0);
    const char **path = xmalloc((size_t)n * sizeof *path);

    memcpy(path, files.path, (size_t)files.n * sizeof *path);
    if (files.validation_path)
        path[files.n] = files.validation_path;
    for (int i = 0; files.validation_path && i < files.n; i++)
        if (file_same(path[i], files.validation_path))
            warn(PATH " is trained on and validated on: losses say nothing of other texts",
                 path[i]);
    const bool stays =
        files.may_stay && too_large(path, n, files.most ? files.most : file_text_room());
    Corpus corpus = stays ? on_disk(path, n, &files) : in_memory(&files);
    free(path);
    return corpus;
}

Corpus corpus_stories(uint64_t seed, size_t bytes)
{
    Stories train = stories_write(seed, 0, bytes);
    Stories validation = stories_write(seed, train.next, bytes / 10);

    Corpus corpus = {
        .train = { (unsigned char *)train.text, train.bytes },
        .validation = { (unsigned char *)validation.text, validation.bytes },
        .floor = validation.bits / (double)validation.bytes,
        .owned = (unsigned char *)train.text,
        .more = (unsigned char *)validation.text,
    };

    corpus.hash = hash_of(corpus.train, corpus.validation);
    return corpus;
}

void corpus_free(Corpus *corpus)
{
    free(corpus->file);
    free(corpus->owned);
    free(corpus->more);
    disk_text_free(corpus->disk);
    *corpus = (Corpus){ .floor = 0 };
}

Tokens corpus_tokens(const Corpus *c, const Bytes *part, const Tokenizer *t)
{
    if (c->disk)
        return tokens_on_disk(t, c->disk, part == &c->train ? 0 : c->train.n, part->n);
    return tokens_of(t, *part);
}
