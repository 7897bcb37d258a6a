#include "ops/decoding.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct State {
    struct State *next;
    size_t n;
    real *at;
} State;

Decoding *decoding_new(int most)
{
    Decoding *d = xmalloc(sizeof *d);

    *d = (Decoding){ .most = most };
    d->next = &d->first;
    return d;
}

void decoding_free(Decoding *d)
{
    for (State *s = d->first, *next; s; s = next) {
        next = s->next;
        free(s->at);
        free(s);
    }
    free(d);
}

void decoding_reset(Decoding *d)
{
    d->t = 0;
    for (State *s = d->first; s; s = s->next)
        memset(s->at, 0, s->n * sizeof(real));
}

size_t decoding_held(const Decoding *d)
{
    size_t n = 0;

    for (const State *s = d->first; s; s = s->next)
        n += s->n;
    return n * sizeof(real);
}

static State *state_new(size_t n)
{
    State *s = xmalloc(sizeof *s);

    *s = (State){ .n = n, .at = xmalloc_aligned(n * sizeof(real)) };
    memset(s->at, 0, n * sizeof(real));
    return s;
}

real *tape_state(Tape *tape, size_t n)
{
    State **place = tape->decoding->next;

    if (!*place)
        *place = state_new(n);
    if ((*place)->n != n)
        BUG("decoding: a state of %zu numbers where there was one of %zu", n, (*place)->n);
    tape->decoding->next = &(*place)->next;
    return (*place)->at;
}
