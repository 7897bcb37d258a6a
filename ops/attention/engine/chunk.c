#include "ops/attention/engine/chunk.h"

#include "ops/base/error.h"
#include "ops/kernel/elementary.h"

#include <string.h>

enum { STATE_MOST = 1 << 30 };

Decays decays_open(real **scratch, bool both)
{
    Decays d = { .n = -1, .both = both };

    d.g = carve(scratch, 1, TILE), d.before = carve(scratch, 1, TILE);
    d.after = carve(scratch, 1, TILE), d.L = carve(scratch, TILE, TILE);
    return d;
}

/* e to the sums of g from the chunk's start up to t, and from t + 1 to its end. */
static void make_sides(Decays *d)
{
    real b = 0;

    for (int t = 0; t < TILE; t++)
        d->before[t] = b += d->g[t];
    b = 0;
    for (int t = TILE - 1; t >= 0; b += d->g[t--])
        d->after[t] = b;
    for (int t = 0; t < TILE; t++)
        d->before[t] = exp_lasting(d->before[t]), d->after[t] = exp_lasting(d->after[t]);
    d->all = d->before[TILE - 1];
}

static void make_pairs(Decays *d)
{
    real sum[TILE] = { 0 }; /* of g from behind s to t */

    memset(d->L, 0, (size_t)(TILE * TILE) * sizeof(real));
    for (int t = 0; t < TILE; t++) {
        real *L = row_of(d->L, t, TILE);

        for (int s = 0; s < t; s++)
            sum[s] += d->g[t];
        for (int s = 0; s <= t; s++)
            L[s] = exp_lasting(sum[s]);
        for (int s = 0; d->both && s < t; s++)
            row_of(d->L, s, TILE)[t] = L[s];
    }
}

static void make(Decays *d, int n)
{
    d->n = n;
    memset(d->g + n, 0, (size_t)(TILE - n) * sizeof(real));
    make_sides(d);
    make_pairs(d);
}

void decays_fixed(Decays *d, real g, int n)
{
    if (d->n == n) /* all chunks with as many keys have the same */
        return;
    for (int t = 0; t < n; t++)
        d->g[t] = g;
    make(d, n);
}

void decays_load(Decays *d, const Head *x, const Tensor *g, int t0, int n)
{
    for (int t = 0; t < n; t++)
        d->g[t] = g->data[head_place(x, t0 + t, 1)];
    make(d, n);
}

void rows_scale(Rows x, const real *by)
{
    for (int t = 0; t < x.n; t++)
        for (int i = 0; i < x.ld; i++)
            row_of(x.at, t, x.ld)[i] *= by[t];
}

void rows_clear(Rows x, int n)
{
    memset(row_of(x.at, n, x.ld), 0, (size_t)(x.n - n) * (size_t)x.ld * sizeof(real));
}

void rows_dot(real *to, Rows a, Rows b, int n)
{
    for (int t = 0; t < n; t++)
        to[t] += row_dot(row_of(a.at, t, a.ld), row_of(b.at, t, b.ld), min(a.ld, b.ld));
}

int state_size(int height, int E)
{
    const size_t n = (size_t)height * (size_t)up_to(E, NR);

    if (n > STATE_MOST)
        die(EXIT_MEMORY,
            "a state of %d x %d numbers is too large: reduce the size of keys or values", height,
            E);
    return (int)n;
}

void state_pass(real *S, int height, real by, Rows A, Rows B)
{
    for (int i = 0; i < height * B.ld; i++)
        S[i] *= by;
    rows_multiply_over(S, height, A, B, TILE);
}

States states_keep(Node *node, const Mix *in, int size)
{
    const size_t heads = (size_t)(in->q->dim[0] * in->q->dim[2]);
    States x = { .chunks = (in->q->dim[1] + TILE - 1) / TILE, .size = (size_t)size };

    if (!node->tape->forward_only)
        x.at = tape_keep(node, heads * (size_t)x.chunks * x.size * sizeof(real));
    return x;
}

double states_cost(const MixSize *s, int size)
{
    return s->H * (double)size / TILE;
}

real *states_of(const States *x, const Head *head, int t0)
{
    const size_t number = (size_t)(head->b * head->H + head->h);

    return x->at + (number * (size_t)x->chunks + (size_t)(t0 / TILE)) * x->size;
}

void states_put(const States *x, const Head *head, int t0, const real *S)
{
    if (x->at)
        memcpy(states_of(x, head, t0), S, x->size * sizeof(real));
}
