/*
 * Checkpoints: a byte, a header up to a 0, numbers. The byte says what becomes of them:
 *
 *     1    a file with the right length of the header, and with zeros for numbers that are missing
 *     2    the same with the right hashes, so that what is behind their check is reached
 *     else the file that follows the byte
 *
 * A file that is accepted has consistent progress and finite weights, and what is written of it is
 * read and written again with the same bytes.
 */
#include "ops/base/file.h"
#include "ops/base/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/hashes.h"
#include "training/saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8, NUMBERS_MOST = 1 << 20, OPTIONS_MOST = 256 };

typedef struct {
    int how;
    const uint8_t *data;
    size_t n;
} Input;

void __wrap_file_replace_keeping(const char *path, const char *as, const Piece *piece, int n);

/* What was written last; file_read() returns it. */
static uint8_t *written;
static size_t length;

void __wrap_file_replace_keeping(const char *path, const char *as, const Piece *piece, int n)
{
    size_t at = 0;

    (void)path, (void)as;
    length = 0;
    for (int i = 0; i < n; i++)
        length += piece[i].bytes;
    free(written);
    written = xmalloc(length + 1);
    for (int i = 0; i < n; at += piece[i++].bytes)
        memcpy(written + at, piece[i].at, piece[i].bytes);
    fuzz_file(written, length);
}

/* The bytes of numbers that the header claims. */
static size_t claimed(const char *header, size_t n)
{
    Arena *mem = arena_new();
    Text why;
    const Json *all = json_read(mem, header, n, &why);
    double most = 0;

    for (const Json *t = all && all->kind == JSON_OBJECT ? all->first : NULL; t; t = t->next) {
        const Json *range = json_find(t, "data_offsets");

        if (range && range->kind == JSON_ARRAY && range->count == 2)
            most = fmax(most, range->first->next->number);
    }
    arena_free(mem);
    return most < NUMBERS_MOST ? (size_t)most : NUMBERS_MOST;
}

static void make_file(const Input *in)
{
    const size_t n = strnlen((const char *)in->data, in->n), given = in->n - n - (n < in->n),
                 most = claimed((const char *)in->data, n);
    unsigned char start[LENGTH], *numbers = xmalloc(most + 1);

    for (int i = 0; i < LENGTH; i++)
        start[i] = (unsigned char)(n >> 8 * i);
    memset(numbers, 0, most);
    if (given > 0)
        memcpy(numbers, in->data + n + 1, given < most ? given : most);
    const Piece piece[] = { { start, LENGTH }, { in->data, n }, { numbers, most } };
    __wrap_file_replace_keeping("", NULL, piece, 3);
    free(numbers);
}

/* The same file with hashes that are right: its other metadata are as they were. */
static void make_hashes(void)
{
    char why[SAFETENSORS_WHY];
    Safetensors *s = safetensors_parse(fuzz_copy(written, length), length, why);
    int metas = 0;

    if (!s)
        die(EXIT_DATA, "%s", why);
    hashes_renew(s, s->mem);
    Meta *meta = arena_take(s->mem, (size_t)s->metas * sizeof *meta);
    for (int i = 0; i < s->metas; i++)
        if (strcmp(s->meta[i].key, "format") != 0) /* is added */
            meta[metas++] = s->meta[i];
    safetensors_write("", (Contents){ s->entry, s->entries, meta, metas, NULL });
    safetensors_free(s);
}

static void check_numbers(const real *x, size_t n, bool square)
{
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(isfinite(x[i]) && (!square || x[i] >= 0));
}

static void check_run(const Saved *s, const Optimiser *o)
{
    const Progress *p = &s->progress;
    Moment moment[OPTIMISER_MOMENTS];

    FUZZ_CHECK(p->updates + p->skips.bad <= p->step && p->evaluated <= p->step);
    FUZZ_CHECK(p->best_step <= p->evaluated && isfinite(p->best) == (p->best_step > 0));
    FUZZ_CHECK(o->step == p->updates);
    for (const Param *w = s->model.params.first; w; w = w->next) {
        check_numbers(w->tensor->data, w->tensor->n, false);
        for (int i = 0, n = optimiser_moments(o, w, moment); i < n; i++)
            check_numbers(moment[i].at, moment[i].n, strcmp(moment[i].name, "v") == 0);
    }
}

/* Reads the run and writes it. */
static void read_and_write(void)
{
    Saved *s = saved_read("/dev/null", false);
    const char *name = saved_option(s, "optimizer");
    Optimiser o = { .kind = optimisers[0] };
    Meta option[OPTIONS_MOST];
    Origin origin = { saved_task(s), s->tokenizer, saved_corpus(s), option, 0 };

    for (int i = 0; name && optimisers[i]; i++)
        if (strcmp(optimisers[i]->name, name) == 0)
            o.kind = optimisers[i];
    optimiser_init(&o, &s->model.params, s->mem);
    saved_optimiser(s, &o);
    check_run(s, &o);
    for (int i = 0; i < s->file->metas && origin.options < OPTIONS_MOST; i++)
        if (strncmp(s->file->meta[i].key, "attnc.option.", 13) == 0)
            option[origin.options++] = (Meta){ s->file->meta[i].key + 13, s->file->meta[i].value };
    saved_write("", &s->model, &o, s->progress, &origin);
    saved_free(s);
}

static void use(void *ctx)
{
    const Input *in = ctx;

    written = NULL, length = 0;
    fuzz_file(in->data, in->n);
    if (in->how == 1 || in->how == 2)
        make_file(in);
    if (in->how == 2)
        make_hashes();
    read_and_write();
    unsigned char *first = fuzz_copy(written, length);
    const size_t n = length;
    read_and_write();
    FUZZ_CHECK(n == length && memcmp(first, written, n) == 0);
    free(first);
    free(written);
    FUZZ_CHECK(fuzz_pieces() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0)
        fuzz_run(use, &(Input){ data[0], data + 1, n - 1 });
    return 0;
}
