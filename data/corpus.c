#include "data/corpus.h"

#include "data/stories.h"
#include "ops/error.h"
#include "ops/file.h"
#include "ops/random.h"

#include <stdlib.h>
#include <string.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.120s"

static unsigned char *read_named(const char *path, size_t *bytes)
{
    unsigned char *at = file_read(path, bytes);
    const char *looks = file_looks_like(at, *bytes);

    if (*bytes == 0)
        die(EXIT_DATA, PATH " is empty: there is nothing to learn from", path);
    if (looks)
        warn(PATH " looks like %s; going on with its bytes", path, looks);
    return at;
}

/* All files in one piece of memory. */
static Bytes read_all(const CorpusFiles *files, unsigned char **owned)
{
    Bytes all = { NULL, 0 };

    for (int i = 0; i < files->n; i++) {
        size_t n;
        unsigned char *at = read_named(files->path[i], &n);

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

static void check_length(const CorpusFiles *files, const Corpus *corpus)
{
    size_t least = (size_t)files->context + 1, train = corpus->train.n;

    if (train < least || corpus->validation.n < least)
        die(EXIT_DATA,
            PATH
            ": %zu bytes to train on and %zu to validate are too few for a context of %d, which "
            "takes %zu of each: use a longer text or a smaller --block-size",
            files->path[0], train, corpus->validation.n, files->context, least);
}

Corpus corpus_read(CorpusFiles files)
{
    Corpus corpus = { .floor = 0 };
    Bytes all = read_all(&files, &corpus.owned);

    corpus.train = all;
    if (files.validation_path) {
        corpus.more = read_named(files.validation_path, &corpus.validation.n);
        corpus.validation.at = corpus.more;
    } else {
        corpus.train.n = all.n - (size_t)((double)all.n * files.held_back);
        corpus.validation = (Bytes){ all.at + corpus.train.n, all.n - corpus.train.n };
    }
    check_length(&files, &corpus);
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
    free(corpus->owned);
    free(corpus->more);
    *corpus = (Corpus){ .floor = 0 };
}

static void copy_window(const unsigned char *from, Batch row)
{
    for (int t = 0; t < row.T; t++) {
        row.id[t] = from[t];
        row.target[t] = from[t + 1];
    }
}

void corpus_batch(Bytes from, uint64_t seed, uint64_t number, Batch batch)
{
    Random r = random_stream(seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++) {
        size_t start = random_below(r, (uint64_t)b, from.n - (size_t)batch.T);

        copy_window(from.at + start, batch_row(batch, b));
    }
}

size_t corpus_windows(Bytes from, int T)
{
    return (from.n - 1) / (size_t)T;
}

void corpus_window(Bytes from, size_t k, Batch row)
{
    copy_window(from.at + k * (size_t)row.T, row);
}
