/*
 * Byte pair encoding (Gage, 1994; Sennrich et al., 2016; on bytes: GPT-2). The
 * text is cut into pieces (data/pieces.h), and a piece into its bytes. Then,
 * among all adjacent pairs that form a token, the pair whose token has the
 * smallest number is joined, the leftmost if there are several, until no pair
 * forms a token.
 *
 * A heap holds (token, place of the left neighbour) for every adjacent pair
 * that can be joined. A join makes at most two new ones; an entry whose
 * neighbours have gone is dropped when it comes up. So n bytes take
 * O(n log n), however long a piece is.
 *
 * When a piece occurs again, its tokens are copied from its last occurrence, which a
 * table finds, with one row per hash.
 */
#include "data/bpe.h"

#include "data/heap.h"
#include "data/pieces.h"
#include "data/tokenizer.h"
#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE_BITS = 48, KNOWN_MAX = 1 << 16, MANY = 1 << 20 };

/* Place 0 is never a right neighbour: 0 means that there is none. */
typedef struct {
    size_t left, right;
    Token token;
} Symbol;

typedef struct {
    Bytes piece;
    size_t first, n; /* its tokens, in what has been encoded */
} Known;

typedef struct {
    const Tokenizer *t;
    Symbol *symbol;
    size_t room;
    Heap heap;
    Known *known;
    size_t knowns; /* a power of two */
} Encoder;

static uint32_t pair_at(const Encoder *e, size_t place)
{
    const Symbol *s = &e->symbol[place];

    return bpe_pair(s->token, e->symbol[s->right].token);
}

/* Puts the symbol and its right neighbour on the heap, if they make up a token. */
static void consider(Encoder *e, size_t place)
{
    if (!e->symbol[place].right)
        return;
    const uint32_t number = numbers_find(&e->t->parts, key_of(pair_at(e, place)));
    if (number != UNNUMBERED)
        heap_push(&e->heap, (uint64_t)number << PLACE_BITS | place);
}

static void join(Encoder *e, size_t place, Token token)
{
    Symbol *s = &e->symbol[place], *gone = &e->symbol[s->right];

    s->token = token;
    s->right = gone->right;
    gone->right = 0;
    if (s->right)
        e->symbol[s->right].left = place;
    consider(e, place);
    if (place)
        consider(e, s->left);
}

static void spread(Encoder *e, Bytes piece)
{
    if (piece.n > e->room) {
        e->room = piece.n + (piece.n < MANY ? piece.n : 0);
        e->symbol = xrealloc(e->symbol, e->room * sizeof *e->symbol);
    }
    for (size_t i = 0; i < piece.n; i++)
        e->symbol[i] =
            (Symbol){ i ? i - 1 : 0, i + 1 < piece.n ? i + 1 : 0, e->t->byte[piece.at[i]] };
    for (size_t i = 0; i < piece.n; i++)
        consider(e, i);
}

static size_t encode_piece(Encoder *e, Bytes piece, Token *to)
{
    size_t n = 0, place = 0;

    spread(e, piece);
    while (e->heap.n) {
        const uint64_t top = heap_pop(&e->heap);
        const uint32_t number = (uint32_t)(top >> PLACE_BITS);

        place = (size_t)(top & (((uint64_t)1 << PLACE_BITS) - 1));
        if (e->symbol[place].right && pair_at(e, place) == e->t->parts.thing[number].n)
            join(e, place, e->t->made ? e->t->made[number] : (Token)(FIRST + number));
    }
    place = 0;
    do
        to[n++] = e->symbol[place].token;
    while ((place = e->symbol[place].right));
    return n;
}

static Encoder encoder_for(const Tokenizer *t, size_t bytes)
{
    Encoder e = { .t = t, .knowns = 1 };

    while (e.knowns < bytes && e.knowns < KNOWN_MAX)
        e.knowns *= 2;
    e.known = xmalloc(e.knowns * sizeof *e.known);
    memset(e.known, 0, e.knowns * sizeof *e.known);
    return e;
}

size_t bpe_piece(const Tokenizer *t, Bytes text)
{
    const size_t n = t->kind->piece(text);

    if (n > BPE_TEXT_MAX)
        die(EXIT_DATA,
            "the text has %zu bytes without a space or another end of a word, and %s takes %d: "
            "break them into lines, or use --tokenizer byte",
            n, t->words, BPE_TEXT_MAX);
    return n;
}

size_t bpe_encode(const Tokenizer *t, Bytes text, Token *to)
{
    Encoder e = encoder_for(t, text.n);
    size_t tokens = 0;

    for (Bytes rest = text; rest.n > 0;) {
        const Bytes piece = { rest.at, bpe_piece(t, rest) };
        Known *known = &e.known[bytes_hash(piece) & (e.knowns - 1)];

        if (bytes_same(known->piece, piece))
            memcpy(to + tokens, to + known->first, known->n * sizeof *to);
        else
            *known = (Known){ piece, tokens, encode_piece(&e, piece, to + tokens) };
        tokens += known->n;
        rest = (Bytes){ rest.at + piece.n, rest.n - piece.n };
    }
    free(e.symbol);
    free(e.heap.at);
    free(e.known);
    return tokens;
}

bool bpe_add(Tokenizer *t, uint32_t pair)
{
    const int left = (int)(pair >> 16), right = (int)(pair & 0xffff);

    if (left >= t->size || right >= t->size)
        return false;
    const Bytes a = tokenizer_token(t, left), b = tokenizer_token(t, right);
    unsigned char *to = t->text + t->start[t->size];
    const Bytes both = { to, a.n + b.n };
    if (both.n > BPE_TOKEN_BYTES)
        return false;
    memcpy(to, a.at, a.n);
    memcpy(to + a.n, b.at, b.n);
    if (numbers_find(&t->spelt, both) != UNNUMBERED)
        return false;
    numbers_add(&t->spelt, both);
    tokenizer_append(t, pair, both.n);
    return true;
}

static int parse(const char *words, Text *wrong)
{
    return tokenizer_sized(words, "bpe", FIRST + 1, wrong);
}

static void write_pair(char *to, uint32_t pair)
{
    snprintf(to, PARTS_TEXT, "%u,%u", pair >> 16, pair & 0xffff);
}

const char *bpe_read_pair(const char *from, uint32_t *pair)
{
    uint32_t left, right;

    from = tokenizer_number(from, 10, &left);
    if (!from || *from != ',')
        return NULL;
    from = tokenizer_number(from + 1, 10, &right);
    if (!from || left >= TOKENS_MAX || right >= TOKENS_MAX)
        return NULL;
    *pair = bpe_pair((Token)left, (Token)right);
    return from;
}

const TokenizerKind tokenizer_bpe = {
    .words = "bpe:N",
    .parse = parse,
    .token_bytes = BPE_TOKEN_BYTES,
    .pattern = PIECE_PATTERN,
    .piece = piece_length,
    .learn = bpe_learn,
    .encode = bpe_encode,
    .json = tokenizer_json_bytes,
    .add = bpe_add,
    .write = write_pair,
    .read = bpe_read_pair,
};
