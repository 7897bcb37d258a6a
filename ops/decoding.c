#include "ops/decoding.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct State {
    struct State *next;
    size_t n; /* of each sequence */
    real *at;
} State;

Decoding *decoding_new(int most, int sequences)
{
    Decoding *d = xmalloc(sizeof *d);

    *d = (Decoding){ .most = most, .B = sequences };
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
        memset(s->at, 0, (size_t)d->B * s->n * sizeof(real));
}

void decoding_share(Decoding *d)
{
    for (const State *s = d->first; s; s = s->next)
        for (int b = 1; b < d->B; b++)
            memcpy(s->at + (size_t)b * s->n, s->at, s->n * sizeof(real));
}

size_t decoding_held(const Decoding *d)
{
    size_t n = 0;

    for (const State *s = d->first; s; s = s->next)
        n += s->n;
    return n * (size_t)d->B * sizeof(real);
}

static State *state_new(size_t n, int sequences)
{
    const size_t bytes = n * (size_t)sequences * sizeof(real);
    State *s = xmalloc(sizeof *s);

    *s = (State){ .n = n, .at = xmalloc_aligned(bytes) };
    memset(s->at, 0, bytes);
    return s;
}

real *tape_state(Tape *tape, size_t n)
{
    Decoding *d = tape->decoding;
    State **place = d->next;

    if (!*place)
        *place = state_new(n, d->B);
    if ((*place)->n != n)
        BUG("decoding: a state of %zu numbers where there was one of %zu", n, (*place)->n);
    d->next = &(*place)->next;
    return (*place)->at + (size_t)d->b * n;
}
