/*
 * A token's weight is e^((x - the largest x) / temperature), so the most likely token has weight 1
 * at any temperature, and none is infinite. Without limits tokens are visited in order. With limits
 * the candidates are a heap, from which only those to keep are removed:
 *
 *     [ heap, the most likely first | ... third, second, first removed ]
 */
#include "model/sample.h"

#include "model/decode.h"
#include "ops/base/error.h"
#include "ops/kernel/elementary.h"

#include <stdlib.h>

int sample_likeliest(const real *logits, int V)
{
    real top = row_max(logits, V, -R(HUGE_VAL));
    int c = 0;

    while (c < V - 1 && logits[c] != top)
        c++;
    return c;
}

/* Fills in all candidates; returns the sum of their weights. */
static double weigh(const real *logits, int V, double temperature, Candidate *c)
{
    double top = (double)row_max(logits, V, -R(HUGE_VAL)), by = 1 / fmax(temperature, 1e-30);
    double sum = 0;

    for (int j = 0; j < V; j++) {
        double x = (double)logits[j];

        c[j] = (Candidate){ x < top ? exp((x - top) * by) : x == top, j };
        sum += c[j].weight;
    }
    return sum;
}

static bool comes_first(Candidate a, Candidate b)
{
    return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
}

/* Restores the heap c[0] .. c[n-1] by moving c[i] down. */
static void sift_down(Candidate *c, int n, int i)
{
    Candidate moved = c[i];

    for (int child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && comes_first(c[child + 1], c[child]);
        if (!comes_first(c[child], moved))
            break;
        c[i] = c[child];
    }
    c[i] = moved;
}

/* Moves the first of a heap of n to its end; returns its weight. */
static double take_first(Candidate *c, int n)
{
    Candidate first = c[0];

    c[0] = c[n - 1];
    sift_down(c, n - 1, 0);
    c[n - 1] = first;
    return first.weight;
}

/* Of the candidate after those kept: the next that was taken, or the first of the heap. */
static double next_weight(const Candidate *c, int V, int taken, int kept)
{
    return kept < taken ? c[V - 1 - kept].weight : c[0].weight;
}

/* Removes the candidates to keep from the heap; returns their number, and sums their weights. */
static int take_kept(Sampling how, Candidate *c, int V, double *sum)
{
    int most = how.top_k > 0 && how.top_k < V ? how.top_k : V, taken = 0, kept = 0;
    double all = *sum;

    for (int i = V / 2; i-- > 0;)
        sift_down(c, V, i);
    if (most < V)
        for (all = 0; taken < most; taken++)
            all += take_first(c, V - taken);
    *sum = 0;
    do {
        if (kept == taken)
            take_first(c, V - taken++);
        *sum += c[V - ++kept].weight;
    } while (kept < most && *sum < how.top_p * all && next_weight(c, V, taken, kept) >= how.min_p);
    return kept;
}

int sample_draw(Sampling how, const real *logits, int V, double u, Candidate *room)
{
    double sum, passed = 0;
    int n = V, j = 0;

    if (how.temperature == 0)
        return sample_likeliest(logits, V);
    sum = weigh(logits, V, how.temperature, room);
    if ((how.top_k == 0 || how.top_k >= V) && how.top_p >= 1 && how.min_p <= 0) {
        while (j < n - 1 && (passed += room[j].weight) <= u * sum)
            j++;
        return room[j].token;
    }
    n = take_kept(how, room, V, &sum);
    while (j < n - 1 && (passed += room[V - 1 - j].weight) <= u * sum)
        j++;
    return room[V - 1 - j].token;
}

struct Sampler {
    Sampling how;
    uint64_t number; /* of the first of them */
    int samples;
    Decoder *decoder;
    const real *logits; /* (samples, V), of the next tokens */
    int V, n, most;     /* tokens read, and the most allowed */
    int window, at;     /* the size of the windows (0: unlimited), and the tokens in each */
    int *seen;          /* (samples, window), the tokens in the windows */
    Candidate *room;
};

Sampler *sampler_new(const Model *model, Pool *pool, Sampling how, int tokens, int samples)
{
    const Config *c = &model->config;
    const bool unseen = c->position == POSITION_SINUSOIDAL || config_keeps_keys(c);
    const bool slides = config_learns_positions(c) || (unseen && !how.extrapolate);
    int window = slides ? c->context : 0;
    Sampler *s = xmalloc(sizeof *s);

    *s = (Sampler){
        .how = how, .V = c->vocab, .most = tokens, .window = window, .samples = samples
    };
    s->decoder = decoder_new(model, pool, window ? window : tokens, samples);
    s->seen = xmalloc((size_t)samples * (size_t)s->window * sizeof *s->seen);
    s->room = xmalloc((size_t)s->V * sizeof *s->room);
    sampler_begin(s, 0);
    return s;
}

void sampler_free(Sampler *s)
{
    decoder_free(s->decoder);
    free(s->seen);
    free(s->room);
    free(s);
}

void sampler_begin(Sampler *s, uint64_t number)
{
    decoder_reset(s->decoder);
    s->number = number;
    s->n = s->at = 0;
}

static int *window_of(const Sampler *s, int sample)
{
    return s->seen + (size_t)sample * (size_t)s->window;
}

/* Drops the first halves of the windows if they are full; the second ones are to be read again. */
static bool drop_halves(Sampler *s)
{
    const int left = s->window / 2;

    if (s->at < s->window)
        return false;
    for (int k = 0; k < s->samples; k++)
        memmove(window_of(s, k), window_of(s, k) + s->window - left,
                (size_t)left * sizeof *s->seen);
    s->at = left;
    decoder_reset(s->decoder);
    return true;
}

static void count(Sampler *s, int n)
{
    if (n > s->most - s->n)
        BUG("sampler: more than %d tokens", s->most);
    s->n += n;
}

/* Into the windows, or what is left of them after the last time that they were full. */
static void read_window(Sampler *s, const int *token, int n)
{
    int from = s->at;

    for (int i = 0; i < n; i++, s->at++) {
        if (drop_halves(s))
            from = 0;
        for (int k = 0; k < s->samples; k++)
            window_of(s, k)[s->at] = token[i];
    }
    s->logits = decoder_read(s->decoder, s->seen + from, s->at - from);
}

void sampler_read(Sampler *s, const int *token, int n)
{
    count(s, n);
    if (s->window)
        read_window(s, token, n);
    else
        s->logits = decoder_read(s->decoder, token, n);
}

void sampler_step(Sampler *s, const int *token)
{
    const bool again = s->window && drop_halves(s);

    count(s, 1);
    for (int k = 0; s->window && k < s->samples; k++)
        window_of(s, k)[s->at] = token[k];
    s->at++;
    s->logits = again ? decoder_read_each(s->decoder, s->seen, s->at, s->window)
                      : decoder_step(s->decoder, token);
}

int sampler_draw(const Sampler *s, int sample)
{
    const Random random = random_stream(s->how.seed, RANDOM_SAMPLE, s->number + (uint64_t)sample);

    if (s->n == 0)
        BUG("sampler: no prompt");
    return sample_draw(s->how, s->logits + (size_t)sample * (size_t)s->V, s->V,
                       random_uniform(random, (uint64_t)s->n), s->room);
}
