/*
 * Byte pair encoding as GPT-2 has it (Radford et al., 2019), for imported models: bpe.c with the
 * numbers and merges of another vocabulary, and with pieces by Unicode's classes:
 *
 *     's 't 're 've 'm 'll 'd     whatever follows
 *     a space if there is one, and letters; or numbers; or others
 *     white space up to the last character before something else, or all
 *
 * gpt2-digits cuts the text at each number first, as SmolLM does: the numbers are pieces, and what
 * is between two of them is a text of its own.
 *
 * Such a tokenizer as a string names what each token is, in the order of their numbers:
 *
 *     gpt2:261 21 22 ... 104,101 32,258=260 '3c733e _
 *
 *     21         the byte 0x21; each byte has a token
 *     104,101    two earlier tokens, joined by the next merge
 *     32,258=9   the same, but the result is token 9, which has these bytes: no token of its own
 *     '3c733e    "<s>", a text that becomes this token wherever it occurs, the longest of those
 *                that begin at the same place
 *     _3c7061643e, _    a token that no text becomes, and what it is shown as
 *
 * Bytes that are not UTF-8 count as others.
 */
#include "data/gpt2.h"

#include "data/bpe.h"
#include "data/pieces.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { TOKEN_BYTES = 128, SPECIALS_MAX = 1024, BYTES = 256 };

/* Of the character at that place, and its length. */
static UnicodeClass class_at(Bytes text, size_t at, size_t *length)
{
    uint32_t code;
    const int n = utf8_decode(text.at + at, text.n - at, &code);

    *length = n ? (size_t)n : 1;
    return n ? unicode_class(code) : UNICODE_OTHER;
}

static size_t piece(Bytes text, bool digits)
{
    const size_t short_form = piece_contraction(text), space = text.n > 1 && text.at[0] == ' ';
    size_t n = space, last;
    const UnicodeClass first = class_at(text, n, &last);
    UnicodeClass next = first;

    if (short_form)
        return short_form;
    if (digits && first == UNICODE_NUMBER)
        return space ? space : last;
    for (size_t length = last; next == first;) {
        n += last = length;
        if (n == text.n)
            return n;
        next = class_at(text, n, &length);
    }
    if (digits && next == UNICODE_NUMBER)
        return n;
    return first == UNICODE_SPACE && n > last ? n - last : n;
}

size_t gpt2_piece(Bytes text)
{
    return piece(text, false);
}

size_t gpt2_digits_piece(Bytes text)
{
    return piece(text, true);
}

/* A hint at a valid size would lead nowhere. */
static int parse_as(const char *name, const char *words, Text *wrong)
{
    const int size = tokenizer_sized(words, name, BYTES, wrong);

    if (wrong->n)
        *wrong = text_format("is that of an imported model and is not learned; bpe:N is");
    return size;
}

static int parse(const char *words, Text *wrong)
{
    return parse_as("gpt2", words, wrong);
}

static int parse_digits(const char *words, Text *wrong)
{
    return parse_as("gpt2-digits", words, wrong);
}

/* A new token of these bytes, which may be in place; false: there are too many of either. */
static bool add(Tokenizer *t, const unsigned char *bytes, size_t n)
{
    if (t->size == t->most || n > TOKEN_BYTES)
        return false;
    memmove(t->text + t->start[t->size], bytes, n);
    t->start[t->size + 1] = t->start[t->size] + (uint32_t)n;
    t->size++;
    return true;
}

static Bytes last_token(const Tokenizer *t)
{
    const uint32_t start = t->start[t->size - 1];

    return (Bytes){ t->text + start, t->start[t->size] - start };
}

/* The last token has bytes that no other byte or merge has. */
static bool is_new(Tokenizer *t)
{
    const uint32_t known = t->spelt.n;

    return numbers_add(&t->spelt, last_token(t)) == known;
}

static const char *read_hex(const char *s, unsigned char *to, size_t *n)
{
    static const char digits[] = "0123456789abcdef";
    const char *high, *low;

    for (*n = 0; *s && *s != ' '; s += 2, ++*n) {
        if (*n == TOKEN_BYTES || !(high = strchr(digits, s[0])) || !s[1] ||
            !(low = strchr(digits, s[1])))
            return NULL;
        to[*n] = (unsigned char)(16 * (high - digits) + (low - digits));
    }
    return s;
}

static const char *read_byte(Tokenizer *t, const char *s)
{
    unsigned char byte[TOKEN_BYTES];
    size_t n;

    s = read_hex(s, byte, &n);
    if (!s || n != 1 || !add(t, byte, n) || !is_new(t))
        return NULL;
    t->byte[*byte] = (Token)(t->size - 1);
    return s;
}

static const char *read_text(Tokenizer *t, const char *s, bool special)
{
    unsigned char bytes[TOKEN_BYTES];
    size_t n;

    s = read_hex(s, bytes, &n);
    if (!s || !add(t, bytes, n) || (special && (n == 0 || t->specials == SPECIALS_MAX)))
        return NULL;
    if (special) {
        t->special = xgrow(t->special, (size_t)t->specials, sizeof *t->special);
        t->special[t->specials++] = (Token)(t->size - 1);
    }
    return s;
}

/* The bytes of both; n is 0 if these are too many. */
static size_t join(const Tokenizer *t, uint32_t pair, unsigned char both[2 * TOKEN_BYTES])
{
    const Bytes a = tokenizer_token(t, (int)(pair >> 16));
    const Bytes b = tokenizer_token(t, (int)(pair & 0xffff));

    memcpy(both, a.at, a.n);
    memcpy(both + a.n, b.at, b.n);
    return a.n + b.n;
}

static const char *read_merge(Tokenizer *t, const char *s)
{
    unsigned char both[2 * TOKEN_BYTES];
    uint32_t pair, result = (uint32_t)t->size;

    s = bpe_read_pair(s, &pair);
    if (!s || (int)(pair >> 16) >= t->size || (int)(pair & 0xffff) >= t->size)
        return NULL;
    const size_t n = join(t, pair, both);
    if (*s == '=') {
        s = tokenizer_number(s + 1, 10, &result);
        if (!s || (int)result >= t->size ||
            !bytes_same(tokenizer_token(t, (int)result), (Bytes){ both, n }))
            return NULL;
    } else if (!add(t, both, n) || !is_new(t))
        return NULL;
    const uint32_t merges = t->parts.n;
    if (merges == TOKENS_MAX || numbers_add(&t->parts, key_of(pair)) != merges)
        return NULL;
    t->made = xgrow(t->made, merges, sizeof *t->made);
    t->made[merges] = (Token)result;
    return s;
}

static bool load(Tokenizer *t, const char *s)
{
    uint32_t bytes = 0;

    t->size = 0;
    while (s && *s == ' ') {
        const size_t n = strcspn(++s, " ");

        bytes += n == 2 && *s != '_';
        s = *s == '\'' || *s == '_' ? read_text(t, s + 1, *s == '\'')
            : memchr(s, ',', n)     ? read_merge(t, s)
                                    : read_byte(t, s);
    }
    return s && !*s && t->size == t->most && bytes == BYTES;
}

/* The longest special token at the beginning of the text; its length, or 0. */
static size_t special_at(const Tokenizer *t, Bytes text, Token *token)
{
    size_t longest = 0;

    for (int i = 0; i < t->specials; i++) {
        const Bytes special = tokenizer_token(t, t->special[i]);

        if (special.n > longest && special.n <= text.n &&
            memcmp(special.at, text.at, special.n) == 0)
            longest = special.n, *token = t->special[i];
    }
    return longest;
}

static size_t encode(const Tokenizer *t, Bytes text, Token *to)
{
    bool begins[BYTES] = { false };
    size_t tokens = 0, from = 0, n;
    Token token;

    for (int i = 0; i < t->specials; i++)
        begins[*tokenizer_token(t, t->special[i]).at] = true;
    for (size_t i = 0; i < text.n; i += n) {
        n = begins[text.at[i]] ? special_at(t, (Bytes){ text.at + i, text.n - i }, &token) : 0;
        if (n) {
            tokens += bpe_encode(t, (Bytes){ text.at + from, i - from }, to + tokens);
            to[tokens++] = token;
            from = i + n;
        }
        n += !n;
    }
    return tokens + bpe_encode(t, (Bytes){ text.at + from, text.n - from }, to + tokens);
}

static void learn(Tokenizer *t, Bytes text)
{
    (void)text;
    die(EXIT_USAGE, "--tokenizer %s is that of an imported model and is not learned; bpe:%d is",
        t->words, t->most > BYTES ? t->most : BYTES + 1);
}

const TokenizerKind tokenizer_gpt2 = {
    .words = "gpt2:N",
    .parse = parse,
    .token_bytes = TOKEN_BYTES,
    .gpt2 = true,
    .piece = gpt2_piece,
    .learn = learn,
    .encode = encode,
    .json = tokenizer_json_bytes,
    .load = load,
};

const TokenizerKind tokenizer_gpt2_digits = {
    .words = "gpt2-digits:N",
    .parse = parse_digits,
    .token_bytes = TOKEN_BYTES,
    .gpt2 = true,
    .digits = true,
    .piece = gpt2_digits_piece,
    .learn = learn,
    .encode = encode,
    .json = tokenizer_json_bytes,
    .load = load,
};
