/*
 * Learning bpe: the pair of neighbours that is the most frequent becomes a
 * token, its places are joined, and again. Neighbours are counted at every place,
 * "aaa" has "aa" twice; joined they are from left to right. Of pairs that are
 * equally frequent the one with the smaller left token is first, then the one
 * with the smaller right token. A pair with the same bytes as an older token is
 * skipped, so that no two tokens have the same bytes; and so is one that is too long.
 *
 * A piece that the text has more than once is laid out once, with the number of times:
 *
 *     sites    t  h  e | t  h  a  t | ...   a piece's sites are a doubly linked list, because
 *              th----e | th----a  t         joining two leaves the left one
 *
 *     pairs    (t,h): count 2, first and last site      the sites of a pair are another one,
 *              (h,e): count 1, ...                      by the left of two neighbours
 *
 * One token of a pair is newer than the other, or they are the same. Two such
 * neighbours can meet only where the newer one is being made. So all sites of a
 * pair come up during one token's turn, in the order in which the turn takes its
 * own; later the pair only loses sites. By induction over the tokens:
 *
 *   - a pair's sites are in the order of the text, without sorting;
 *   - a pair needs one entry in the heap, pushed when its newer token has been
 *     made. One that comes up with more than the pair's count is out
 *     of date: it goes back with the true count. The next to come up may be true.
 *
 * A join removes a site in O(1) steps, and puts O(1) entries out of date; so
 * n bytes take O(n log n).
 */
#include "data/bpe.h"

#include "data/heap.h"
#include "ops/base/error.h"

#include <stdlib.h>

enum { TWICE = 2 };
#define NONE UINT32_MAX

typedef struct {
    uint32_t left, right;  /* neighbours */
    uint32_t above, below; /* of the same pair */
    uint32_t pair;         /* its number: this site and its right neighbour */
    uint32_t times;
    Token token;
} Site;

typedef struct {
    uint32_t count, first, last;
} Pair;

typedef struct {
    Tokenizer *t;
    Numbers pieces;
    uint32_t *times; /* of each piece */
    Site *site;
    uint32_t sites;
    Numbers pairs;
    Pair *pair;
    Heap heap;
} Learner;

static void link_site(Learner *l, uint32_t i)
{
    Site *s = &l->site[i];
    const uint32_t pairs = l->pairs.n;

    s->pair = numbers_add(&l->pairs, key_of(bpe_pair(s->token, l->site[s->right].token)));
    if (s->pair == pairs) {
        l->pair = xgrow(l->pair, pairs, sizeof *l->pair);
        l->pair[pairs] = (Pair){ 0, NONE, NONE };
    }
    Pair *p = &l->pair[s->pair];
    s->above = p->last;
    s->below = NONE;
    *(s->above == NONE ? &p->first : &l->site[s->above].below) = i;
    p->last = i;
    p->count += s->times;
}

static void unlink_site(Learner *l, uint32_t i)
{
    const Site *s = &l->site[i];
    Pair *p = &l->pair[s->pair];

    *(s->above == NONE ? &p->first : &l->site[s->above].below) = s->below;
    *(s->below == NONE ? &p->last : &l->site[s->below].above) = s->above;
    p->count -= s->times;
}

static void join(Learner *l, uint32_t i, Token token)
{
    Site *s = &l->site[i];
    const uint32_t gone = s->right, right = l->site[gone].right;

    unlink_site(l, i);
    if (right != NONE)
        unlink_site(l, gone);
    if (s->left != NONE)
        unlink_site(l, s->left);
    s->token = token;
    s->right = right;
    if (s->left != NONE)
        link_site(l, s->left);
    if (right != NONE) {
        l->site[right].left = i;
        link_site(l, i);
    }
}

/* The smallest entry is the most frequent pair, and of these the smallest. */
static uint64_t entry_of(const Learner *l, uint32_t pair)
{
    return (uint64_t)(UINT32_MAX - l->pair[pair].count) << 32 | l->pairs.thing[pair].n;
}

static void push(Learner *l, uint32_t pair)
{
    if (l->pair[pair].count >= TWICE)
        heap_push(&l->heap, entry_of(l, pair));
}

/* Makes the next token, and returns the pair that it is; NONE if there is nothing left to join. */
static uint32_t next_token(Learner *l)
{
    while (l->heap.n) {
        const uint64_t entry = heap_pop(&l->heap);
        const uint32_t pair = numbers_find(&l->pairs, key_of((uint32_t)entry));

        if (entry != entry_of(l, pair))
            push(l, pair);
        else if (bpe_add(l->t, (uint32_t)entry))
            return pair;
    }
    return NONE;
}

/* Those of the first `most` bytes. */
static void count_pieces(Learner *l, Bytes text, size_t most)
{
    for (size_t n, at = 0; at < most; at += n) {
        n = bpe_piece(l->t, (Bytes){ text.at + at, text.n - at });
        n = n < most - at ? n : most - at;
        if (n == 1)
            continue;
        const uint32_t known = l->pieces.n,
                       piece = numbers_add(&l->pieces, (Bytes){ text.at + at, n });
        if (piece == known) {
            l->times = xgrow(l->times, known, sizeof *l->times);
            l->times[piece] = 0;
            l->sites += (uint32_t)n;
        }
        l->times[piece]++;
    }
}

static void lay_out(Learner *l)
{
    Site *s = l->site = xmalloc(l->sites * sizeof *l->site);

    for (uint32_t piece = 0; piece < l->pieces.n; piece++) {
        const Bytes b = l->pieces.thing[piece];

        for (size_t i = 0; i < b.n; i++, s++) {
            const uint32_t here = (uint32_t)(s - l->site);

            *s = (Site){ .left = i ? here - 1 : NONE,
                         .right = i + 1 < b.n ? here + 1 : NONE,
                         .times = l->times[piece],
                         .token = b.at[i] };
        }
    }
    for (uint32_t i = 0; i < l->sites; i++)
        if (l->site[i].right != NONE)
            link_site(l, i);
}

static void learn_tokens(Learner *l)
{
    for (uint32_t pushed = 0, pair; l->t->size < l->t->most;) {
        for (; pushed < l->pairs.n; pushed++)
            push(l, pushed);
        pair = next_token(l);
        if (pair == NONE)
            return;
        while (l->pair[pair].first != NONE)
            join(l, l->pair[pair].first, (Token)(l->t->size - 1));
    }
}

void bpe_learn(Tokenizer *t, Bytes text)
{
    const bool all = text.n <= BPE_TEXT_MAX;
    Learner l = { .t = t };

    count_pieces(&l, text, all ? text.n : BPE_TEXT_MAX);
    if (!all)
        warn("%s is learned from the first %d of the text's %zu bytes", t->words, BPE_TEXT_MAX,
             text.n);
    lay_out(&l);
    learn_tokens(&l);
    if (t->size < t->most)
        warn("%s: no pairs are left to join after %d tokens", t->words, t->size);
    numbers_free(&l.pieces);
    numbers_free(&l.pairs);
    free(l.times);
    free(l.site);
    free(l.pair);
    free(l.heap.at);
}
