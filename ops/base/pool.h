/*
 * A pool of threads with one promise: the result of pool_for() does not depend
 * on how many threads there are, to the last bit. A loop is cut into ranges by
 * its length and its grain alone; a body writes what no other range writes, and
 * computes an element the same way whatever range it stands in. A sum that
 * crosses elements is made of partial sums that have an element each, added up
 * afterwards in the order of their numbers.
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
 * Calls body(ctx, begin, end) for ranges that together cover [0, n), each of at
 * most about `grain` indices, on all threads, and waits. A loop of one range
 * stays on this thread. A body must not call pool_for().
 */
typedef void Body(void *ctx, int begin, int end);
void pool_for(Pool *pool, int n, int grain, Body *body, void *ctx);

/*
 * Memory of a thread's own: pool_reserve() before the loop makes sure that
 * every thread has `bytes`, pool_scratch() in the body is where they are. What
 * they hold is anything, and nobody else's until the body returns.
 */
void pool_reserve(Pool *pool, size_t bytes);
void *pool_scratch(void);

/* `bytes` for all threads to share during one op; the next call may move them. */
void *pool_shared(Pool *pool, size_t bytes);

#endif
