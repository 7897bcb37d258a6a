/*
 * A pool of threads with one promise: the result of pool_for() does not depend on
 * the number of threads, to the last bit. A loop is cut into ranges by its length
 * and grain alone; a body writes what no other range writes, and computes an element
 * the same way in any range. A sum across elements is made of partial sums, one for
 * each element, which are added afterwards in the order of their indices.
 */
#ifndef OPS_BASE_POOL_H
#define OPS_BASE_POOL_H

#include <stddef.h>

typedef struct Pool Pool;

/* `threads` counts the caller; 0: one for each processor. */
Pool *pool_new(int threads);
void pool_free(Pool *pool);
int pool_threads(const Pool *pool);

/*
 * Sleeps for a fiftieth of a second, as do the pool's threads; when two that shared a
 * processor wake, they get one each. For timing shorter work. A single thread does not sleep.
 */
void pool_pause(const Pool *pool);

/*
 * Calls body(ctx, begin, end) on all threads for ranges of at most `grain` indices
 * that together cover [0, n), and waits. A single range, or the loop of a pool with
 * one thread, runs on the caller at once. A body must not call pool_for() (but see pool_each()).
 */
typedef void Body(void *ctx, int begin, int end);
void pool_for(Pool *pool, int n, int grain, Body *body, void *ctx);

/*
 * Scratch memory of each thread: pool_reserve() before the loop allocates `bytes`,
 * pool_scratch() in the body returns them. They are uninitialised, and private until
 * the body returns.
 */
void pool_reserve(Pool *pool, size_t bytes);
void *pool_scratch(void);

/* Memory shared by all threads during one op, until the next call. */
void *pool_shared(Pool *pool, size_t bytes);

/*
 * Calls body(ctx, alone, i) on all threads for each i in [0, n), and waits: many small ops at
 * once. `alone` is a pool of the body's thread only, whose loops run there, in order. Of its
 * scratch and shared memory the body takes no more than `room`, which is allocated here, since a
 * worker cannot say that there is none; the scratch memory reserved on `pool` is the body's own,
 * but pool_scratch() returns it only until the first loop on `alone`.
 */
typedef struct {
    size_t scratch, shared;
} PoolRoom;
typedef void Each(void *ctx, Pool *alone, int i);
void pool_each(Pool *pool, int n, PoolRoom room, Each *body, void *ctx);

#endif
