/*
 * An optimiser for matrices between activations (Muon) leaves the rest to another. A row
 * of the embedding or of the head belongs to one token, and most steps have seen few of
 * the tokens: making all rows of an update equally large would amplify the noise of the
 * rare ones. So those tables, and all vectors, go to `rest`.
 *
 * Weight decay is decoupled from the gradient in all of them (Loshchilov and Hutter,
 * 2019, arXiv:1711.05101): w <- w - rate (update + decay w). Gains and biases do not
 * decay. Cautious decay (Chen et al., 2025, arXiv:2510.12402) leaves out weights whose sign is not
 * that of the update: it would be against what the gradient asks for. Clipping scales all gradients
 * by the same factor, in the pass that reads them.
 */
#include "training/optimiser.h"

#include <stddef.h>
#include <string.h>

#define OPTIMISER_ADDRESS(name) &optimiser_##name,
const OptimiserKind *const optimisers[] = { OPTIMISERS(OPTIMISER_ADDRESS) NULL };

static const struct {
    const char *option;
    size_t at; /* in Hyper */
} numbers[] = {
    { "momentum", offsetof(Hyper, momentum) },
    { "beta1", offsetof(Hyper, beta1) },
    { "beta2", offsetof(Hyper, beta2) },
    { "weight-decay", offsetof(Hyper, decay) },
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double default_of(const OptimiserKind *kind, int i)
{
    return *(const double *)((const char *)&kind->defaults + numbers[i].at);
}

double optimiser_default(const OptimiserKind *kind, const char *option)
{
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(numbers[i].option, option) == 0)
            return default_of(kind, i);
    return 0;
}

bool optimiser_takes(const OptimiserKind *kind, const char *option)
{
    return optimiser_default(kind, option) != 0 ||
           (kind->nesterov && strcmp(option, "nesterov") == 0) ||
           (kind->momentum_warmup &&
            (strcmp(option, "momentum-warmup") == 0 || strcmp(option, "ns-steps") == 0));
}

void optimiser_complete(const OptimiserKind *kind, Hyper *h)
{
    for (int i = 0; i < NUMBERS; i++) {
        double *number = (double *)((char *)h + numbers[i].at);

        if (isnan(*number) && default_of(kind, i) != 0)
            *number = default_of(kind, i);
    }
}

Text optimiser_help(const OptimiserKind *kind)
{
    Text text = { 0 };

    text_add(&text, "%s; --learning-rate %g", kind->summary, kind->rate);
    for (int i = 0; i < NUMBERS; i++)
        if (default_of(kind, i) != 0)
            text_add(&text, " --%s %g", numbers[i].option, default_of(kind, i));
    return text;
}

bool optimiser_is_matrix(const Param *p)
{
    return p->matrix && strncmp(p->name, "blocks.", 7) == 0;
}

static const OptimiserKind *kind_of(const Optimiser *o, const Param *p)
{
    return o->kind->rest && !optimiser_is_matrix(p) ? o->kind->rest : o->kind;
}

static int moments_of(const OptimiserKind *kind)
{
    int n = 0;

    while (n < OPTIMISER_MOMENTS && kind->moment[n])
        n++;
    return n;
}

/* The average comes last. */
static int moments(const Optimiser *o, const Param *p)
{
    return p->fixed ? 0 : moments_of(kind_of(o, p)) + (o->hyper.ema > 0);
}

/* Numbers in the moments of the parameters before p, or of all if p is NULL. */
static size_t state_before(const Optimiser *o, const Param *p)
{
    size_t n = 0;

    for (const Param *q = o->params->first; q != p; q = q->next)
        n += (size_t)moments(o, q) * q->tensor->n;
    return n;
}

/*
 * A matrix whose smaller side is at most this is moved by one thread, while the others move others:
 * its products are too small to be shared. With larger ones the scratch memory of all threads would
 * be too much.
 */
#ifdef PROOF
enum { SMALL = 20 };
#else
enum { SMALL = 384 };
#endif

static bool is_small(int rows, int cols)
{
    return rows <= SMALL || cols <= SMALL;
}

static int rows_of(const Tensor *t)
{
    return t->dim[t->ndim - 2];
}

static int cols_of(const Tensor *t)
{
    return t->dim[t->ndim - 1];
}

/* Of a tensor (H, rows, cols) there are H. */
static int matrices_of(const Tensor *t)
{
    return (int)(t->n / ((size_t)rows_of(t) * (size_t)cols_of(t)));
}

static real *average_of(const Optimiser *o, const Param *p)
{
    return o->state + state_before(o, p) + (size_t)(moments(o, p) - 1) * p->tensor->n;
}

static bool averages(const Optimiser *o, const Param *p)
{
    return o->hyper.ema > 0 && !p->fixed;
}

void optimiser_exchange(const Optimiser *o)
{
    for (const Param *p = o->params->first; p; p = p->next) {
        real *w = p->tensor->data, *a = averages(o, p) ? average_of(o, p) : NULL;

        for (size_t i = 0; a && i < p->tensor->n; i++) {
            const real wi = w[i];

            w[i] = a[i], a[i] = wi;
        }
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Makes room in o->small for the matrices of t. Returns the scratch memory of a large one, or 0. */
static size_t make_room(Optimiser *o, const OptimiserKind *kind, const Tensor *t)
{
    const int rows = rows_of(t), cols = cols_of(t);
    const size_t scratch = kind->scratch(rows, cols);
    const PoolRoom room = kind->room(rows, cols);

    if (!is_small(rows, cols))
        return scratch;
    o->smalls += matrices_of(t);
    o->small_scratch = larger(o->small_scratch, scratch);
    o->room =
        (PoolRoom){ larger(o->room.scratch, room.scratch), larger(o->room.shared, room.shared) };
    return 0;
}

void optimiser_init(Optimiser *o, Params *params, Arena *mem)
{
    size_t most = 0;

    o->smalls = 0;
    o->small_scratch = 0;
    o->room = (PoolRoom){ 0, 0 };
    o->params = params;
    o->step = 0;
    o->state = arena_zeros(mem, state_before(o, NULL) * sizeof(real));
    for (const Param *p = params->first; p; p = p->next) {
        if (!p->fixed && kind_of(o, p)->matrix)
            most = larger(most, make_room(o, kind_of(o, p), p->tensor));
        if (averages(o, p))
            memcpy(average_of(o, p), p->tensor->data, p->tensor->n * sizeof(real));
    }
    o->scratch = arena_take(mem, most);
    o->small = arena_take(mem, (size_t)o->smalls * sizeof *o->small);
    o->smalls = 0;
}

double optimiser_numbers(const Optimiser *o, const Config *c)
{
    const OptimiserKind *kind = o->kind;
    const double all = config_parameters(c), averaged = o->hyper.ema > 0 ? all : 0;
    const double matrices = config_matrix_parameters(c) - (double)c->width * config_outputs(c);
    const OptimiserKind *rest = kind->rest ? kind->rest : kind;
    const size_t scratch = kind->scratch ? kind->scratch(config_rows(c), c->width) : 0;

    return moments_of(kind) * matrices + moments_of(rest) * (all - matrices) + averaged +
           (double)(scratch / sizeof(real));
}

int optimiser_moments(const Optimiser *o, const Param *p, Moment out[OPTIMISER_MOMENTS])
{
    const OptimiserKind *kind = kind_of(o, p);
    const int n = moments(o, p);
    real *at = o->state + state_before(o, p);

    for (int i = 0; i < n; i++, at += p->tensor->n) {
        const char *name = i < moments_of(kind) ? kind->moment[i] : "raw";

        out[i] =
            (Moment){ name, at, p->tensor->n, kind->square && strcmp(kind->square, name) == 0 };
    }
    return n;
}

double sum_of_squares(const real *x, int n)
{
    double t[8] = { 0 };

    for (int i = 0; i < n; i++)
        t[i % 8] += (double)x[i] * (double)x[i];
    return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
}

typedef struct {
    const real *g;
    int n;
    double *sum; /* of each OPTIMISER_GRAIN numbers */
} Squares;

static void square_pieces(void *ctx, int begin, int end)
{
    const Squares *s = ctx;

    for (int piece = begin; piece < end; piece++) {
        int first = piece * OPTIMISER_GRAIN;
        int left = s->n - first;

        s->sum[piece] =
            sum_of_squares(s->g + first, left < OPTIMISER_GRAIN ? left : OPTIMISER_GRAIN);
    }
}

double gradient_norm(Pool *pool, Arena *mem, const Params *params)
{
    double sum = 0;

    for (const Param *p = params->first; p; p = p->next) {
        int n = (int)p->tensor->n, pieces = n / OPTIMISER_GRAIN + (n % OPTIMISER_GRAIN > 0);
        size_t bytes = (size_t)pieces * sizeof(double);

        if (p->fixed || !p->tensor->has_grad)
            continue;
        Squares s = { p->tensor->grad, n, arena_take(mem, bytes) };
        pool_for(pool, pieces, 1, square_pieces, &s);
        for (int i = 0; i < pieces; i++)
            sum += s.sum[i];
        arena_give(mem, s.sum, bytes);
    }
    return sqrt(sum);
}

/* Moves the matrices of a tensor, or leaves them to move_small(). */
static void move_matrices(Optimiser *o, Pool *pool, const OptimiserKind *kind, Update u)
{
    u.rows = rows_of(u.t), u.cols = cols_of(u.t);
    for (; u.first < u.t->n; u.first += (size_t)u.rows * (size_t)u.cols)
        if (is_small(u.rows, u.cols))
            o->small[o->smalls++] = u;
        else
            kind->matrix(pool, &u);
}

static void move_one(void *ctx, Pool *alone, int i)
{
    const Optimiser *o = ctx;
    Update u = o->small[i];

    u.scratch = pool_scratch();
    o->kind->matrix(alone, &u);
}

static void move_small(Optimiser *o, Pool *pool)
{
    pool_reserve(pool, o->small_scratch);
    pool_each(pool, o->smalls, o->room, move_one, o);
    o->smalls = 0;
}

static void update(Optimiser *o, Pool *pool, const Param *p, Update u)
{
    const OptimiserKind *kind = kind_of(o, p);

    u.t = p->tensor;
    u.decay = p->decay ? o->hyper.decay : 0;
    if (kind->elements)
        pool_for(pool, (int)p->tensor->n, OPTIMISER_GRAIN, kind->elements, &u);
    else
        move_matrices(o, pool, kind, u);
    p->tensor->has_grad = false;
}

/*
 * The average a of weights w_1 .. w_t, of which each counts X times as much as the next, is
 *
 *     a <- a + c_t (w_t - a),       c_t = (1 - X) / (1 - X^t):
 *
 * c_1 = 1, and no part of it is what a was before the first update.
 */
typedef struct {
    real *a, c;
    const real *w;
} Average;

static void average(void *ctx, int begin, int end)
{
    const Average *of = ctx;
    const real c = of->c;

    for (int i = begin; i < end; i++)
        of->a[i] += c * (of->w[i] - of->a[i]);
}

/* Moves the average at `a` to the weights after `step` updates. */
static void follow(const Optimiser *o, Pool *pool, const Param *p, real *a)
{
    const double X = o->hyper.ema;
    Average of = { a, R((1 - X) / (1 - pow(X, o->step))), p->tensor->data };

    pool_for(pool, (int)p->tensor->n, OPTIMISER_GRAIN, average, &of);
}

static void follow_all(const Optimiser *o, Pool *pool)
{
    real *at = o->state;

    for (const Param *p = o->params->first; p; p = p->next) {
        const size_t size = p->tensor->n;

        at += (size_t)moments(o, p) * size;
        if (averages(o, p))
            follow(o, pool, p, at - size);
    }
}

void optimiser_step(Optimiser *o, Pool *pool, double rate, double scale)
{
    Update u = { .rate = rate, .scale = scale, .hyper = &o->hyper, .scratch = o->scratch };
    real *at = o->state;

    u.step = ++o->step;
    for (Param *p = o->params->first; p; p = p->next) {
        const int n = moments(o, p);

        for (int i = 0; i < n; i++)
            u.moment[i] = at + (size_t)i * p->tensor->n;
        if (n > 0 && p->tensor->has_grad)
            update(o, pool, p, u);
        at += (size_t)n * p->tensor->n;
    }
    if (o->smalls > 0)
        move_small(o, pool);
    if (o->hyper.ema > 0)
        follow_all(o, pool);
}
