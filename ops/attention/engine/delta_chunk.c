#include "ops/attention/engine/delta_chunk.h"

#include "ops/kernel/elementary.h"

#include <string.h>

static bool of_features(const Delta *op)
{
    return op->fading == &fading_of_features;
}

size_t chunk_scratch(const Delta *op)
{
    const size_t D = (size_t)up_to(op->s.D, NR), E = (size_t)up_to(op->s.E, NR);
    const size_t deep = (size_t)up_to(op->s.D, MR), wide = (size_t)up_to(op->s.E, MR);

    return TILE * (13 * D + 9 * E + 8 * TILE + 4) + 2 * deep * E + wide * D +
           op->fading->room((int)D) + MR; /* MR: the kernel reads that far beyond a column */
}

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

static Side side(real **free, const Chunk *x)
{
    return (Side){ .x = rows(free, x->D),
                   .dx = rows(free, x->D),
                   .y = rows(free, x->E),
                   .dy = rows(free, x->E),
                   .A = carve(free, TILE, TILE),
                   .P = carve(free, TILE, TILE),
                   .dA = carve(free, TILE, TILE),
                   .dP = carve(free, TILE, TILE),
                   .dself = carve(free, 1, TILE) };
}

static real *zeros(real **free, int rows, int ld)
{
    real *at = carve(free, rows, ld);

    memset(at, 0, (size_t)rows * (size_t)ld * sizeof *at);
    return at;
}

Chunk chunk_open(const Delta *op, int number)
{
    real *free = pool_scratch();
    Chunk x = { .op = op, .head = head_of(&op->in, number), .T = op->s.T };

    x.head.ahead = TILE;
    x.D = up_to(op->s.D, NR);
    x.length = view_of(&op->in, x.head.b).length;
    x.E = up_to(op->s.E, NR);
    x.sides = op->rule->own ? 2 : 1;
    x.q = rows(&free, x.D), x.a = rows(&free, x.D), x.dq = rows(&free, x.D);
    x.da = rows(&free, x.D), x.read = rows(&free, x.D), x.left = rows(&free, x.D);
    x.g = rows(&free, x.D), x.dg = rows(&free, of_features(op) ? x.D : 1);
    x.v = rows(&free, x.E), x.o = rows(&free, x.E), x.go = rows(&free, x.E);
    x.dv = rows(&free, x.E), x.beta = rows(&free, 1), x.dbeta = rows(&free, 1);
    for (int i = 0; i < x.sides; i++)
        x.side[i] = side(&free, &x);
    x.xt = carve(&free, TILE, x.D), x.yt = carve(&free, TILE, x.E);
    x.S = zeros(&free, up_to(op->s.D, MR), x.E), x.R = zeros(&free, up_to(op->s.D, MR), x.E);
    x.St = zeros(&free, up_to(op->s.E, MR), x.D);
    if (of_features(op))
        x.room = free;
    else
        x.decays = decays_open(&free, false);
    return x;
}

/* All rows begin at t0, and there are as many as positions, up to a multiple of MR. */
static void place(Chunk *x, int t0)
{
    Rows *all[] = { &x->q,  &x->a,  &x->v,  &x->beta, &x->g,     &x->o,
                    &x->go, &x->dq, &x->da, &x->dv,   &x->dbeta, &x->dg };
    const int n = up_to(min(TILE, x->T - t0), MR);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->t0 = t0, all[i]->n = n;
    for (int i = 0; i < x->sides; i++) {
        Side *s = &x->side[i];

        s->x.t0 = s->y.t0 = s->dx.t0 = s->dy.t0 = t0;
        s->x.n = s->y.n = s->dx.n = s->dy.n = n;
    }
    x->t0 = t0;
    x->n = max(0, min(TILE, x->length - t0));
}

/* Rows of an operand of keys: zeros where there is padding, which may hold anything. */
static void load(const Chunk *x, Rows to, const Tensor *from, int width)
{
    head_gather(&x->head, to, from->data, width);
    rows_clear(to, min(x->n, to.n));
}

/* to = by_t times row t, times a sign */
static void scaled(Rows to, Rows from, Rows by, real sign)
{
    for (int t = 0; t < to.n; t++)
        for (int i = 0; i < to.ld; i++)
            row_of(to.at, t, to.ld)[i] = sign * by.at[t] * row_of(from.at, t, to.ld)[i];
}

/* b = k, a = -beta k and x = beta v */
static void load_keys(Chunk *x)
{
    load(x, x->side->x, x->op->in.k, x->op->s.D);
    load(x, x->v, x->op->in.v, x->op->s.E);
    load(x, x->beta, x->op->beta, 1);
    scaled(x->a, x->side->x, x->beta, -1);
    scaled(x->side->y, x->v, x->beta, 1);
}

static void load_vectors(Chunk *x)
{
    load(x, x->a, x->op->a, x->op->s.D);
    load(x, x->side[0].x, x->op->b, x->op->s.D);
    load(x, x->side[1].x, x->op->in.k, x->op->s.D);
    load(x, x->side[1].y, x->op->in.v, x->op->s.E);
    memset(x->side->y.at, 0, (size_t)(x->side->y.n * x->E) * sizeof(real));
}

void chunk_load(Chunk *x, int t0, bool back)
{
    const Delta *op = x->op;

    place(x, t0);
    head_gather(&x->head, x->q, op->in.q->data, op->s.D);
    if (op->rule->own)
        load_vectors(x);
    else
        load_keys(x);
    if (of_features(op))
        load(x, x->g, op->g, op->s.D);
    op->fading->load(x);
    if (!back)
        return;
    head_gather(&x->head, x->side->y, op->u, op->s.E);
    head_gather(&x->head, x->go, op->node.y->grad, op->s.E);
}

/* From those of a, b and x, the gradients of k, v and beta: see delta_scan.c. */
static void put_keys(Chunk *x)
{
    const Side *b = x->side;

    scaled(x->dv, b->dy, x->beta, 1);
    for (int t = 0; t < x->q.n; t++) {
        const real *da = row_of(x->da.at, t, x->D);
        real *dk = row_of(b->dx.at, t, x->D);

        x->dbeta.at[t] = row_dot(row_of(b->dy.at, t, x->E), row_of(x->v.at, t, x->E), x->E) -
                         row_dot(row_of(b->x.at, t, x->D), da, x->D);
        for (int d = 0; d < x->D; d++)
            dk[d] -= x->beta.at[t] * da[d];
    }
    head_scatter(&x->head, x->op->dk, b->dx, x->op->s.D);
    head_scatter(&x->head, x->op->dv, x->dv, x->op->s.E);
    head_scatter(&x->head, x->op->dbeta, x->dbeta, 1);
}

static void put_vectors(const Chunk *x)
{
    head_scatter(&x->head, x->op->dk, x->side[1].dx, x->op->s.D);
    head_scatter(&x->head, x->op->dv, x->side[1].dy, x->op->s.E);
    head_scatter(&x->head, x->op->da, x->da, x->op->s.D);
    head_scatter(&x->head, x->op->db, x->side[0].dx, x->op->s.D);
}

void chunk_put(Chunk *x)
{
    const Delta *op = x->op;

    head_scatter(&x->head, op->dq, x->dq, op->s.D);
    if (op->rule->own)
        put_vectors(x);
    else
        put_keys(x);
    if (op->g)
        head_scatter(&x->head, op->dg, x->dg, of_features(op) ? op->s.D : 1);
}
