/* JSON: what is read and written again is the same value. */
#include "ops/base/json.h"

#include "ops/base/file.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *data;
    size_t n;
} Input;

static void put(FILE *out, void *value)
{
    const Json *json = value;

    if (json->name) {
        text_json(json->name, out);
        fputc(':', out);
    }
    if (json->kind == JSON_NULL)
        fputs("null", out);
    else if (json->kind == JSON_BOOL)
        fputs(json->number != 0 ? "true" : "false", out);
    else if (json->kind == JSON_NUMBER)
        fprintf(out, "%.17g", json->number);
    else if (json->kind == JSON_STRING)
        text_json(json->string, out);
    else {
        fputc(json->kind == JSON_ARRAY ? '[' : '{', out);
        for (const Json *in = json->first; in; in = in->next) {
            put(out, (void *)(uintptr_t)in);
            if (in->next)
                fputc(',', out);
        }
        fputc(json->kind == JSON_ARRAY ? ']' : '}', out);
    }
}

static bool same_string(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static void check_same(const Json *a, const Json *b)
{
    int n = 0;

    FUZZ_CHECK(a->kind == b->kind && a->count == b->count);
    FUZZ_CHECK(same_string(a->name, b->name));
    FUZZ_CHECK(a->kind != JSON_STRING || same_string(a->string, b->string));
    FUZZ_CHECK(a->kind != JSON_NUMBER || (isfinite(a->number) && a->number == b->number));
    for (const Json *x = a->first, *y = b->first; x; x = x->next, y = y->next, n++) {
        FUZZ_CHECK(y);
        FUZZ_CHECK(a->kind != JSON_OBJECT || json_find(a, x->name) == x);
        check_same(x, y);
    }
    FUZZ_CHECK(n == a->count);
}

static void read_twice(void *ctx)
{
    const Input *in = ctx;
    Arena *mem = arena_new();
    Text why = { 0 };
    unsigned char *text = fuzz_copy(in->data, in->n);
    const Json *first = json_read(mem, (char *)text, in->n, &why), *second;

    FUZZ_CHECK(!first == (why.n > 0));
    if (first) {
        size_t bytes;
        char *written = print_to_memory(put, (void *)(uintptr_t)first, &bytes);

        second = json_read(mem, written, bytes, &why);
        FUZZ_CHECK(second);
        check_same(first, second);
        free(written);
    }
    free(text);
    arena_free(mem);
    FUZZ_CHECK(fuzz_pieces() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_run(read_twice, &(Input){ data, n });
    return 0;
}
