/* Which rows see which keys: V(i), defined by view.c. */
#ifndef OPS_ATTENTION_ENGINE_VIEW_H
#define OPS_ATTENTION_ENGINE_VIEW_H

#include "ops/attention.h"

/* from .. to-1; empty if from == to */
typedef struct {
    int from, to;
} Span;

/*
 * Which rows see which keys. Without `global`, `stride` and `random` the keys of a row are one
 * span; with them they are several, which view.c defines.
 */
typedef struct View {
    int T, length; /* keys from `length` on are padding */
    int window;    /* 0: none */
    int chunk;     /* see only keys of the row's own chunk of this length; 0: all */
    bool causal;
    int global; /* the first rows, which see all keys, and the first keys, which all rows see */
    int stride; /* see also the keys at multiples of this distance; 0: none */
    int random; /* see also this many blocks of keys, drawn for each block of rows */
    int block;  /* of this length */
    int seed;   /* of these draws */
    const int *drawn; /* these, by view_draw_all(); NULL: drawn when they are needed */
} View;

enum { RANDOM_MOST = 16 };

/* That of a sequence; and what the mechanism and its settings say, without the rest. */
View view_of(const Mix *in, int b);
View view_rule(const Attention *a, const Values *set);

/*
 * Spans that hold all keys that row i sees, and all rows that see key j, and whose ends never move
 * back as i or j grows: whatever the mechanism, its matrix is a band. With one span a row they hold
 * nothing else.
 */
Span view_keys(const View *v, int i);
Span view_rows(const View *v, int j);

/* V(i) in order, as spans: s = view_run(v, i, 0), then view_run(v, i, s.to), until one is empty. */
bool view_is_span(const View *v);              /* one span in each row */
Span view_run(const View *v, int i, int from); /* the first that ends after `from`, from there on */
int view_count(const View *v, int i);          /* n_i, the number of keys */

/*
 * The blocks drawn for rows 0 .. end-1: how many ints these are; writes them. Without `causal` they
 * depend on the length.
 */
size_t view_drawn(const View *v, int end);
void view_draw_all(const View *v, int end, int *drawn);

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

static inline int max(int a, int b)
{
    return a > b ? a : b;
}

#endif
