/*
 * Workers wait for a loop by polling one word for a moment before they sleep: loops
 * follow each other closely within a training step, and waking a thread costs as much
 * as a product of small matrices.
 *
 *     state = generation << 16 | OPEN | workers inside
 *
 * The caller writes the loop and opens a new generation. A worker enters by adding
 * one to an open state whose generation it has not seen; it then takes ranges until
 * there are none left, and leaves by subtracting one. The caller takes ranges too,
 * then closes the loop and waits until no worker is inside: it does not wait for a
 * worker that never woke up, and one that wakes late finds the loop closed. If one is inside
 * for long, another program has its processor: the caller sleeps and leaves it its own.
 *
 * Each thread has a share of the ranges, as many consecutive ones as any other, and when these
 * are done it helps the others with theirs. So the rows that it computes in one op are mostly
 * those that it needs in the next, and they are still in its own cache.
 */
#include "ops/base/pool.h"

#include "ops/base/error.h"
#include "ops/base/processors.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1 << 15, INSIDE = OPEN - 1, GENERATION = 1 << 16, SPIN = 100000 };

typedef struct {
    void *at;
    size_t size;
} Buffer;

typedef struct {
    Pool *pool;
    int number; /* from 1: 0 is the caller */
    pthread_t id;
} Worker;

/* The next range of a thread's share; in a cache line of its own. */
typedef struct {
    _Alignas(64) atomic_uint next;
} Share;

struct Pool {
    pid_t process; /* that started the workers */
    int workers;   /* not counting the caller */
    int spin;      /* polls of the state before sleeping */
    Worker *worker;
    Buffer *scratch, shared;
    Pool **alone;  /* of each thread; NULL until pool_each() */
    PoolRoom room; /* if it is one of these */
    bool is_alone;

    atomic_uint state;
    Body *body;
    void *ctx;
    int n, grain, ranges;
    Share *share; /* of each thread */

    pthread_mutex_t lock;
    pthread_cond_t wake, left;
    atomic_int sleepers;
    atomic_bool waiting; /* the caller sleeps until the last worker is out */
    bool quit;           /* under the lock */
};

static _Thread_local void *scratch;
static _Thread_local int thread; /* its number in its pool */

/* The first range of a thread's share. */
static unsigned share_begin(const Pool *pool, int number)
{
    return (unsigned)((long long)pool->ranges * number / pool_threads(pool));
}

static void draw_from(Pool *pool, int number)
{
    const int grain = pool->grain, n = pool->n;
    const unsigned end = share_begin(pool, number + 1);
    atomic_uint *next = &pool->share[number].next;

    while (atomic_load(next) < end) {
        unsigned range = atomic_fetch_add(next, 1);

        if (range >= end)
            return;
        int i = (int)range * grain;
        pool->body(pool->ctx, i, n - i < grain ? n : i + grain);
    }
}

/* Takes ranges of the thread's own share, then of the others'. */
static void draw(Pool *pool)
{
    const int threads = pool_threads(pool);

    for (int i = 0; i < threads; i++)
        draw_from(pool, (thread + i) % threads);
}

static void leave(Pool *pool)
{
    const unsigned state = atomic_fetch_sub(&pool->state, 1) - 1;

    if ((state & (OPEN | INSIDE)) == 0 && atomic_load(&pool->waiting)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->left);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Enters the loop of `state`, works and leaves, unless the loop has been closed. */
static void take_part(Pool *pool, unsigned state)
{
    unsigned generation = state / GENERATION;

    while ((state & OPEN) && state / GENERATION == generation)
        if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
            scratch = pool->scratch[thread].at;
            draw(pool);
            leave(pool);
            return;
        }
}

/* Waits for a generation other than `seen` and returns the state, or 0 to quit. */
static unsigned next_state(Pool *pool, unsigned seen)
{
    unsigned state = 0;

    for (int i = 0; i < pool->spin; i++) {
        state = atomic_load(&pool->state);
        if (state / GENERATION != seen)
            return state;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while ((state = atomic_load(&pool->state)) / GENERATION == seen && !pool->quit)
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    if (pool->quit)
        state = 0;
    pthread_mutex_unlock(&pool->lock);
    return state;
}

static void *worker_main(void *arg)
{
    Worker *self = arg;
    Pool *pool = self->pool;
    unsigned seen = 0, state;

    thread = self->number;
    while ((state = next_state(pool, seen)) != 0) {
        seen = state / GENERATION;
        take_part(pool, state);
    }
    return NULL;
}

/*
 * How often a worker polls before it sleeps: once if there are more threads than processors, as
 * others could work meanwhile. A thread alone waits for nobody, and reads no files to learn this.
 */
static int polls_of(int threads)
{
    return threads > 1 && threads <= processors_available() ? SPIN : 1;
}

/* Workers block all signals: the caller's thread handles them. */
static int start(Worker *worker)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int failed = pthread_create(&worker->id, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

Pool *pool_new(int threads)
{
    Pool *pool = xmalloc(sizeof *pool);

    threads = threads > 0 ? threads : processors_available();
    *pool = (Pool){ .process = getpid(), .workers = threads - 1, .spin = polls_of(threads) };
    pool->worker = xmalloc((size_t)threads * sizeof *pool->worker);
    pool->scratch = xmalloc((size_t)threads * sizeof *pool->scratch);
    pool->alone = xmalloc((size_t)threads * sizeof *pool->alone);
    pool->share = xmalloc_aligned((size_t)threads * sizeof *pool->share);
    for (int i = 0; i < threads; i++)
        pool->scratch[i] = (Buffer){ NULL, 0 }, pool->alone[i] = NULL;
    atomic_init(&pool->state, GENERATION);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->left, NULL);
    for (int i = 0; i < threads - 1; i++) {
        pool->worker[i] = (Worker){ .pool = pool, .number = i + 1 };
        if (start(&pool->worker[i]) != 0) {
            warn("only %d of %d threads could be started; continuing with these", i + 1, threads);
            pool->workers = i;
            break;
        }
    }
    return pool;
}

static void end_workers(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    atomic_fetch_add(&pool->state, GENERATION); /* so that no worker goes on polling */
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->workers; i++)
        pthread_join(pool->worker[i].id, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->left);
    pthread_mutex_destroy(&pool->lock);
}

/* The copy of a pool that a child got by fork() has no workers. */
void pool_free(Pool *pool)
{
    if (pool->process == getpid())
        end_workers(pool);
    for (int i = 0; i <= pool->workers; i++) {
        free(pool->scratch[i].at);
        if (pool->alone[i])
            pool_free(pool->alone[i]);
    }
    free(pool->alone);
    free(pool->share);
    free(pool->shared.at);
    free(pool->scratch);
    free(pool->worker);
    free(pool);
}

int pool_threads(const Pool *pool)
{
    return pool->workers + 1;
}

void pool_pause(const Pool *pool)
{
    if (pool->workers > 0)
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void open_loop(Pool *pool)
{
    unsigned state = atomic_load(&pool->state);

    /* generation 0 would read as "quit" */
    state = state / GENERATION == (unsigned)-1 / GENERATION ? GENERATION : state + GENERATION;
    for (int i = 0; i < pool_threads(pool); i++) /* seen by whoever sees the state */
        atomic_store_explicit(&pool->share[i].next, share_begin(pool, i), memory_order_relaxed);
    atomic_store(&pool->state, state | OPEN);
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void close_loop(Pool *pool)
{
    atomic_fetch_and(&pool->state, ~(unsigned)OPEN);
    for (int i = 0; i < pool->spin; i++)
        if (!(atomic_load(&pool->state) & INSIDE))
            return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waiting, true);
    while (atomic_load(&pool->state) & INSIDE)
        pthread_cond_wait(&pool->left, &pool->lock);
    atomic_store(&pool->waiting, false);
    pthread_mutex_unlock(&pool->lock);
}

void pool_for(Pool *pool, int n, int grain, Body *body, void *ctx)
{
    scratch = pool->scratch[0].at;
    if (n <= 0)
        return;
    if (pool->workers == 0 || n <= grain) {
        body(ctx, 0, n);
        return;
    }
    pool->body = body;
    pool->ctx = ctx;
    pool->n = n;
    pool->grain = grain;
    pool->ranges = n / grain + (n % grain > 0);
    open_loop(pool);
    draw(pool);
    close_loop(pool);
}

/* Growing loses the contents; it adds half as much again, so that it is rare. */
static void grow(Buffer *b, size_t bytes)
{
    if (b->size >= bytes)
        return;
    free(b->at);
    *b = (Buffer){ NULL, 0 }; /* in case there is no memory */
    b->at = xmalloc_aligned(bytes + bytes / 2);
    b->size = bytes + bytes / 2;
}

static void check_room(const Pool *pool, size_t bytes, size_t room)
{
    if (pool->is_alone && bytes > room)
        BUG("pool_each: %zu bytes where there is room for %zu", bytes, room);
}

void pool_reserve(Pool *pool, size_t bytes)
{
    check_room(pool, bytes, pool->room.scratch);
    for (int i = 0; i <= pool->workers; i++) {
        grow(&pool->scratch[i], bytes);
#ifdef PROOF
        memset(pool->scratch[i].at, 0xff, bytes); /* NaN: whoever reads before writing shows */
#endif
    }
}

void *pool_scratch(void)
{
    return scratch;
}

void *pool_shared(Pool *pool, size_t bytes)
{
    check_room(pool, bytes, pool->room.shared);
    grow(&pool->shared, bytes);
    return pool->shared.at;
}

typedef struct {
    Pool *pool;
    Each *body;
    void *ctx;
} Loop;

/* The body's loops change this thread's scratch memory to that of the pool they run on. */
static void each(void *ctx, int begin, int end)
{
    const Loop *loop = ctx;
    void *const own = scratch;

    for (int i = begin; i < end; i++) {
        loop->body(loop->ctx, loop->pool->alone[thread], i);
        scratch = own;
    }
}

static void make_alone(Pool **alone, PoolRoom room)
{
    if (!*alone)
        *alone = pool_new(1);
    (*alone)->is_alone = true;
    (*alone)->room = room;
    grow(&(*alone)->scratch[0], room.scratch);
    grow(&(*alone)->shared, room.shared);
}

void pool_each(Pool *pool, int n, PoolRoom room, Each *body, void *ctx)
{
    for (int i = 0; i <= pool->workers; i++)
        make_alone(&pool->alone[i], room);
    pool_for(pool, n, 1, each, &(Loop){ pool, body, ctx });
}
