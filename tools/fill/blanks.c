#include "tools/fill/blanks.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { GAPS_MOST = 1 << 20 }; /* per text, so that its candidates fit into memory */

/* The bytes of the blank that begins a text; 0: there is none. */
static size_t blank_at(Bytes text, BlankStyle style)
{
    size_t n = style.mark ? strlen(style.mark) : 0;

    if (style.mark)
        return text.n >= n && memcmp(text.at, style.mark, n) == 0 ? n : 0;
    while (n < text.n && text.at[n] == '_')
        n++;
    return n;
}

/* Whether tokens are pieces of words. */
static bool has_pieces(const Tokenizer *t)
{
    const char *words = tokenizer_words(t);

    return strcmp(words, "byte") != 0 && strcmp(words, "char") != 0;
}

static int parts_of(const Tokenizer *t, BlankStyle style, size_t bytes)
{
    return style.width ? style.width : style.mark || has_pieces(t) ? 1 : (int)bytes;
}

static void add_text(Blanks *b, const Tokenizer *t, Bytes text)
{
    Token *token = xmalloc((text.n + 1) * sizeof *token);
    const size_t n = tokenizer_encode(t, text, token);

    b->id = xrealloc(b->id, (b->n + n + 1) * sizeof *b->id);
    for (size_t i = 0; i < n; i++)
        b->id[b->n++] = token[i];
    free(token);
}

static void add_blank(Blanks *b, int parts, int mask)
{
    const int blank = b->gaps ? b->gap[b->gaps - 1].blank + 1 : 0;

    if (b->gaps + (size_t)parts > GAPS_MOST)
        die(EXIT_DATA, "the blanks of a text have more than %d tokens", GAPS_MOST);
    b->id = xrealloc(b->id, (b->n + (size_t)parts) * sizeof *b->id);
    b->gap = xrealloc(b->gap, (b->gaps + (size_t)parts) * sizeof *b->gap);
    for (int i = 0; i < parts; i++) {
        b->gap[b->gaps++] = (Gap){ b->n, blank, i, parts };
        b->id[b->n++] = mask;
    }
}

Blanks blanks_of(const Tokenizer *t, Bytes text, BlankStyle style, int mask)
{
    Blanks b = { 0 };
    size_t from = 0;

    for (size_t at = 0, n; at <= text.n; at += n ? n : 1) {
        const bool end = at == text.n;

        n = end ? 0 : blank_at((Bytes){ text.at + at, text.n - at }, style);
        if (n == 0 && !end)
            continue;
        const bool space = n > 0 && has_pieces(t) && at > from && text.at[at - 1] == ' ';
        add_text(&b, t, (Bytes){ text.at + from, at - from - space });
        if (n > 0)
            add_blank(&b, parts_of(t, style, n), mask);
        from = at + n;
    }
    return b;
}

void blanks_free(Blanks *b)
{
    free(b->id);
    free(b->gap);
    *b = (Blanks){ 0 };
}

/* Keeps the most likely tokens in order; among equals, the lower token comes first. */
static void keep(Guess *guess, int kept, int most, Guess g)
{
    int at = kept < most ? kept : most - 1;

    if (kept == most && !(g.probability > guess[at].probability))
        return;
    for (; at > 0 && g.probability > guess[at - 1].probability; at--)
        guess[at] = guess[at - 1];
    guess[at] = g;
}

/* From V logits; the mask, which is the last token, is not a candidate. */
static void guess_of(const real *logits, int V, int most, Guess *guess)
{
    double largest = (double)logits[0], sum = 0;

    for (int c = 1; c < V - 1; c++)
        largest = fmax(largest, (double)logits[c]);
    for (int c = 0; c < V - 1; c++) {
        const double p = exp((double)logits[c] - largest);

        keep(guess, c < most ? c : most, most, (Guess){ c, p });
        sum += p;
    }
    for (int k = 0; k < most; k++)
        guess[k].probability /= sum;
}

/* The window of T tokens around a position, in the text. */
static size_t window_start(size_t at, size_t T, size_t n)
{
    const size_t start = at > T / 2 ? at - T / 2 : 0;

    return start + T > n ? n - T : start;
}

size_t blanks_predict(const Blanks *b, Tape *tape, const Model *model, int most, Guess *guess)
{
    const size_t context = (size_t)model->config.context, T = b->n < context ? b->n : context,
                 V = (size_t)model->config.vocab;
    size_t passes = 0;

    tape->forward_only = true;
    for (size_t k = 0; k < b->gaps; passes++) {
        const size_t first = b->gap[k].at, start = window_start(first, T, b->n);
        const size_t end = start + T == b->n ? b->n : start + T - T / 4;

        tape_reset(tape);
        const real *logits = model_logits(tape, model, b->id + start, 1, (int)T, 0)->data;
        for (; k < b->gaps && (b->gap[k].at < end || b->gap[k].at == first); k++)
            guess_of(logits + (b->gap[k].at - start) * V, (int)V, most, guess + k * (size_t)most);
    }
    tape_reset(tape);
    return passes;
}
