/*
 * V(i) is the union of
 *
 *     the keys at most `window` positions away (and within the row's chunk)
 *     the first `global` keys; if i is one of the first `global` rows, all keys
 *     the keys j with i - j a multiple of `stride`
 *     `random` blocks of `block` keys, drawn for the block of rows that contains row i
 *
 * without the padding and, if causal, the keys after i.
 *
 * The random blocks for the rows of block c are drawn without replacement, from the n = c blocks
 * before it if causal, so that a prefix of a sequence sees the same keys as the prefix alone, and
 * otherwise from the n others that hold a key which is not padding. They are drawn by Floyd's
 * algorithm: for t = 0, 1, ..., with m = n - random + t, a number from 0 to m, or m itself if that
 * number was drawn before.
 */
#include "ops/attention/engine/view.h"

enum { PIECES = RANDOM_MOST + 3 };

bool view_is_span(const View *v)
{
    return !(v->global || v->stride || v->random);
}

View view_rule(const Attention *a, const Values *set)
{
    View v = { .window = setting(set, "window") };

    if (a->view)
        a->view(&v, set);
    return v;
}

View view_of(const Mix *in, int b)
{
    View v = view_rule(in->attention, &in->set);

    v.T = in->q->dim[1], v.causal = in->causal;
    v.length = in->length ? max(0, min(in->length[b], v.T)) : v.T;
    return v;
}

/* The part of s within t's window and chunk. */
static Span near(const View *v, int t, Span s)
{
    if (v->window > 0) {
        s.from = max(s.from, t - v->window);
        s.to = t < v->T - v->window ? min(s.to, t + v->window + 1) : s.to;
    }
    if (v->chunk > 0) {
        s.from = max(s.from, t - t % v->chunk);
        s.to = min(s.to, t - t % v->chunk + min(v->chunk, v->T));
    }
    return s;
}

/* The keys within the row's window and chunk. */
static Span own_keys(const View *v, int i)
{
    Span s = near(v, i, (Span){ 0, v->causal ? i + 1 : v->T });

    s.to = max(s.from, min(s.to, v->length));
    return s;
}

Span view_keys(const View *v, int i)
{
    if (view_is_span(v))
        return own_keys(v, i);
    return (Span){ 0, min(v->length, v->causal ? i + 1 : v->T) };
}

Span view_rows(const View *v, int j)
{
    Span s = { v->causal ? j : 0, v->T };

    if (j >= v->length)
        return (Span){ j, j };
    return view_is_span(v) ? near(v, j, s) : s;
}

static bool is_among(int block, const int *drawn, int n)
{
    for (int t = 0; t < n; t++)
        if (drawn[t] == block)
            return true;
    return false;
}

/* The blocks of keys for the rows of block c; returns their number. */
static int draw(const View *v, int c, int *drawn)
{
    const Random random = random_stream((uint64_t)v->seed, RANDOM_PATTERN, (uint64_t)c);
    const int blocks = (v->length + v->block - 1) / v->block;
    const int others = v->causal ? c : blocks - (c < blocks), n = min(v->random, others);

    for (int t = 0; t < n; t++) {
        const int last = others - n + t;
        const int block = (int)random_below(random, (uint64_t)t, (uint64_t)last + 1);

        drawn[t] = is_among(block, drawn, t) ? last : block;
    }
    for (int t = 0; t < n; t++)
        drawn[t] += drawn[t] >= c; /* never its own */
    return n;
}

size_t view_drawn(const View *v, int end)
{
    return v->random ? (size_t)((end + v->block - 1) / v->block) * (size_t)v->random : 0;
}

void view_draw_all(const View *v, int end, int *drawn)
{
    for (int c = 0; v->random && c * v->block < end; c++, drawn += v->random)
        for (int n = draw(v, c, drawn); n < v->random; n++)
            drawn[n] = -1;
}

/* The spans whose union is V(i), as far as they end after `from`, but for the future and padding.
 */
static int pieces_of(const View *v, int i, int from, Span *piece)
{
    const int c = v->random ? i / v->block : 0;
    int n = 0, blocks[RANDOM_MOST];
    const int *drawn = v->drawn ? v->drawn + c * v->random : blocks;
    const int random = v->random ? v->drawn ? v->random : draw(v, c, blocks) : 0;

    piece[n++] = own_keys(v, i);
    piece[n++] = (Span){ 0, i < v->global ? v->T : v->global };
    if (v->stride) {
        const int j = from + ((i - from) % v->stride + v->stride) % v->stride;

        piece[n++] = (Span){ j, j + 1 };
    }
    for (int t = 0; t < random; t++)
        if (drawn[t] >= 0)
            piece[n++] = (Span){ drawn[t] * v->block, (drawn[t] + 1) * v->block };
    return n;
}

Span view_run(const View *v, int i, int from)
{
    const Span all = view_keys(v, i);
    Span piece[PIECES], run = { all.to, all.to };

    if (view_is_span(v))
        return (Span){ min(max(all.from, from), all.to), all.to };
    for (int n = pieces_of(v, i, from, piece); n-- > 0;) {
        const Span s = { max(piece[n].from, from), min(piece[n].to, all.to) };

        if (s.from < s.to && (s.from < run.from || (s.from == run.from && s.to > run.to)))
            run = s;
    }
    return run;
}

int view_count(const View *v, int i)
{
    const Span all = view_keys(v, i);
    int n = 0;

    if (view_is_span(v))
        return all.to - all.from;
    for (Span s = view_run(v, i, 0); s.from < s.to; s = view_run(v, i, s.to))
        n += s.to - s.from;
    return n;
}
