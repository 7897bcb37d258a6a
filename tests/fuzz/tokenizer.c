/*
 * Tokenizers. The first byte says how: 0 to 3 learn one from the first half of the rest and encode
 * the second half, 4 to 7 load the rest as a saved one. What loads saves to what loads again, and a
 * text decodes to itself.
 */
#include "data/tokenizer.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int how;
    const uint8_t *data;
    size_t n;
} Input;

static void check_text(const Tokenizer *t, Bytes text)
{
    Token *token = xmalloc((text.n + 1) * sizeof *token);
    const size_t n = tokenizer_encode(t, text, token);
    size_t at = 0;

    FUZZ_CHECK(n <= text.n);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(token[i] < tokenizer_size(t));
        const Bytes piece = tokenizer_token(t, token[i]);

        FUZZ_CHECK(piece.n > 0 && at + piece.n <= text.n);
        FUZZ_CHECK(memcmp(piece.at, text.at + at, piece.n) == 0);
        at += piece.n;
    }
    FUZZ_CHECK(at == text.n);
    free(token);
}

static void check_saved(const Tokenizer *t)
{
    char *saved = tokenizer_save(t);
    Tokenizer *loaded = tokenizer_load(saved);

    FUZZ_CHECK(loaded && tokenizer_size(loaded) == tokenizer_size(t));
    char *again = tokenizer_save(loaded);
    FUZZ_CHECK(strcmp(saved, again) == 0);
    free(again);
    tokenizer_free(loaded);
    free(saved);
}

static void load(const Input *in)
{
    unsigned char *copy = fuzz_copy(in->data, in->n);
    Tokenizer *t = tokenizer_load((char *)copy);

    if (t) {
        char *saved = tokenizer_save(t);

        FUZZ_CHECK(strcmp(saved, (char *)copy) == 0); /* there is one way to write it */
        free(saved);
        check_saved(t);
        check_text(t, (Bytes){ copy, in->n });
        tokenizer_free(t);
    }
    free(copy);
}

static void learn(const Input *in)
{
    static const char *const words[] = { "byte", "char", "bpe:300", "bpe:257" };
    unsigned char *copy = fuzz_copy(in->data, in->n);
    const size_t half = in->n / 2;
    Tokenizer *t = tokenizer_learn(words[in->how], (Bytes){ copy, half });

    check_saved(t);
    check_text(t, (Bytes){ copy + half, in->n - half });
    tokenizer_free(t);
    free(copy);
}

static void use(void *ctx)
{
    const Input *in = ctx;

    if (in->how < 4)
        learn(in);
    else
        load(in);
    FUZZ_CHECK(fuzz_pieces() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0)
        fuzz_run(use, &(Input){ data[0] % 8, data + 1, n - 1 });
    return 0;
}
