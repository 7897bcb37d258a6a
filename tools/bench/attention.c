/*
 * Every mechanism alone: the mix of one layer forward and backward, and a token
 * decoded at the end of the sequence. What surrounds a mix (projections, RoPE) is
 * the same for all, and is left out.
 */
#include "tools/bench/bench.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "ops/decoding.h"

#include <math.h>
#include <stdlib.h>

/*
 * The same number of tokens at every length: too many for the caches, and enough for two sequences
 * at the longest, so that two threads have work even with one head. Decoding is timed over the LAST
 * positions; the positions before them are decoded one by one, which takes too long beyond STEPPED
 * if the time per token grows.
 */
enum { MIX_TOKENS = 131072, LAST = 64, STEPPED = 4096 };

static int batch_of(const Mechanisms *m, int T)
{
    return m->batch ? m->batch : MIX_TOKENS > T ? MIX_TOKENS / T : 1;
}

static Config config_of(const Mechanisms *m, const Attention *a, int T)
{
    Config c = bench_config(m, a, T);

    c.position = POSITION_NONE;
    return c;
}

static MixSize size_of(const Mechanisms *m, const Attention *a, int T)
{
    Config c = config_of(m, a, T);

    return config_mix_size(&c);
}

bool bench_grows(const Attention *a, const MixSize *s)
{
    return !(a->traits & IS_LINEAR) && setting(&s->set, "window") == 0;
}

bool bench_left_out(const Mechanisms *m, const Attention *a, int T)
{
    MixSize s = size_of(m, a, T);

    return m->most_quadratic > 0 && T > m->most_quadratic && bench_grows(a, &s);
}

/* An estimate: operands and results with their gradients, and as much again that is kept. */
static double memory_of(const MixSize *s, int batch)
{
    const Operand *o;
    double row = 3.0 * s->E; /* of a head; o has a gradient above and its own */

    for (int i = 0; (o = attention_operand(s->attention, i)); i++)
        row += *o->shape == 'B' ? 2.0 * (o->shape[3] ? operand_dimension(s, o->shape[3]) : 1) : 0;
    double states = s->causal ? 2 * (double)attention_state(s) : 0;

    return sizeof(real) * (2 * row * s->H * s->T * batch + states);
}

void bench_attention_check(const Mechanisms *m)
{
    double here = machine_memory();
    Config c = m->model;

    c.attention = &attention_softmax, c.position = POSITION_NONE;
    c.set = settings_default(c.attention);
    config_check(&c);
    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n; i++) {
            int T = m->lengths.at[i], batch = batch_of(m, T);
            MixSize size = size_of(m, *a, T);
            double wanted = memory_of(&size, batch);

            if (wanted > here && !bench_left_out(m, *a, T))
                die(EXIT_MEMORY,
                    "%s on %d x %d positions would take about %s, but the machine has %s: "
                    "reduce --lengths, --batch-size or --n-embd",
                    (*a)->name, batch, T, text_memory(wanted).at, text_memory(here).at);
        }
}

static Tensor *operand(Bench *b, const MixSize *s, const Operand *o, int B)
{
    int n = 0, dim[4];

    for (; o->shape[n]; n++)
        dim[n] = o->shape[n] == 'B'   ? B
                 : o->shape[n] == 'N' ? s->T
                                      : operand_dimension(s, o->shape[n]);
    Tensor *x = bench_operand(b, n, dim);
    operand_fit(o, x);
    return x;
}

static Mix mix_of(Bench *b, const MixSize *s, int B)
{
    Mix in = { .attention = s->attention, .causal = s->causal, .set = s->set };
    const Operand *o;

    for (int i = 0; (o = attention_operand(s->attention, i)); i++)
        if (attention_needs(s->attention, &s->set, i))
            in.x[i] = operand(b, s, o, B);
    return in;
}

static Times run_mix(Bench *b, const Mix *in, const real *dy)
{
    tape_reset(&b->tape);
    for (int i = 0; i < OPERANDS_MAX; i++)
        if (in->x[i])
            in->x[i]->has_grad = false;
    double start = seconds_now();
    Tensor *y = attention_mix(&b->tape, in);
    double middle = seconds_now();
    tape_backward(&b->tape, y, dy);
    return (Times){ middle - start, seconds_now() - middle };
}

Times bench_mix(Bench *b, const MixSize *s, int B)
{
    const Mix in = mix_of(b, s, B);
    const real *dy = bench_numbers(b, (size_t)B * (size_t)s->T * (size_t)(s->H * s->E));
    double start = seconds_now();
    Times best = { HUGE_VAL, HUGE_VAL };

    for (int run = 0; bench_again(b, run, start); run++) {
        Times t = run_mix(b, &in, dy);

        best = (Times){ fmin(best.forward, t.forward), fmin(best.backward, t.backward) };
    }
    return best;
}

/* Decodes a sequence's last positions repeatedly. */
typedef struct {
    Tape tape;
    Mix in;
    int from, to;
} Steps;

static void decode(Steps *d, int from, int to)
{
    for (int *t = &d->tape.decoding->t; from < to; from++) {
        *t = from;
        tape_reset(&d->tape);
        attention_mix(&d->tape, &d->in);
    }
}

static double run_steps(void *ctx)
{
    Steps *d = ctx;
    double start = seconds_now();

    decode(d, d->from, d->to);
    return seconds_now() - start;
}

/* Seconds for position T - 1; 0 if that would take too long, or the mechanism cannot decode. */
static double time_step(Bench *b, const MixSize *s)
{
    Steps d = { .tape = { arena_new(), b->tape.pool, .forward_only = true },
                .to = s->T,
                .from = s->T > LAST ? s->T - LAST : 0 };
    MixSize one = *s;
    double seconds = 0;

    if (s->causal && attention_decodes(s->attention) &&
        !(bench_grows(s->attention, s) && s->T > STEPPED)) {
        one.T = 1;
        d.in = mix_of(b, &one, 1);
        d.tape.decoding = decoding_new(s->T, 1);
        decode(&d, 0, d.from);
        seconds = bench_best(b, run_steps, &d) / (d.to - d.from);
        decoding_free(d.tape.decoding);
    }
    arena_free(d.tape.mem);
    return seconds;
}

static void print_case(Bench *b, Row r)
{
    printf("%-12s %8d %6d %10.1f %10.1f %8.1f%% %10.0f", r.mechanism, r.length, r.batch, r.forward,
           r.backward, 100 * bench_share(b, r), r.held);
    if (r.step > 0)
        printf(" %10.0f", r.step);
    else
        printf(" %10s", "-");
    bench_row_end(b, r);
}

/* What the row depends on: the operands' sizes, and how the mechanism is set. */
static Text title_of(const Mechanisms *m, const Attention *a, int T)
{
    Config c = config_of(m, a, T);
    MixSize s = config_mix_size(&c);
    const Text set = settings_text(&c);

    return text_format("%s, length %d, batch %d; %d x %d%s%s%s", a->name, T, batch_of(m, T), s.H,
                       s.E, s.causal ? "" : ", bidirectional", set.n ? ", " : "", set.at);
}

static void bench_case(Bench *b, const Mechanisms *m, const Attention *a, int T, Growth *g)
{
    MixSize s = size_of(m, a, T);
    int B = batch_of(m, T);
    double tokens = (double)B * T;
    Text title = title_of(m, a, T);
    Row r = { .group = "attention", .name = title.at, .mechanism = a->name };

    if (!bench_wanted(b, r.group, title.at))
        return;
    Times best = bench_mix(b, &s, B);
    r.length = T, r.batch = B;
    r.seconds = best.forward + best.backward;
    r.flops = 6 * attention_cost(&s) * tokens; /* each multiply-add once forward, twice backward */
    r.forward = 1e9 * best.forward / tokens, r.backward = 1e9 * best.backward / tokens;
    r.held = (double)arena_held(b->tape.mem) / tokens;
    r.step = 1e9 * time_step(b, &s);
    print_case(b, r);
    g->length[g->n] = T, g->time[g->n] = r.forward + r.backward, g->held[g->n] = r.held;
    g->n++;
    bench_clear(b);
}

static bool some_left_out(const Mechanisms *m, const Attention *a)
{
    for (int i = 0; i < m->lengths.n; i++)
        if (bench_left_out(m, a, m->lengths.at[i]))
            return true;
    return false;
}

void bench_say_left_out(const Mechanisms *m)
{
    int n = 0;

    for (const Attention *const *a = m->attentions; *a; a++)
        if (some_left_out(m, *a))
            printf("%s%s", n++ ? ", " : "", (*a)->name);
    if (n > 0)
        printf(": skipped beyond %d, where each token takes long; name them in --attn or set "
               "--most-quadratic to measure them\n",
               m->most_quadratic);
}

static Text sizes_of(const Mechanisms *m)
{
    const Config *c = &m->model;
    const MixSize gated = size_of(m, &attention_gau, 1);

    return text_format("%s, %d heads of %d, gated units %d of %d by %d",
                       m->bidirectional ? "bidirectional" : "causal", c->heads, c->width / c->heads,
                       gated.H, gated.D, gated.E);
}

static void print_head(const Mechanisms *m)
{
    static const char line[] = "%-12s %8s %6s %10s %10s %9s %10s %10s\n";

    printf("\nAttention alone: %s\n", sizes_of(m).at);
    bench_say_left_out(m);
    printf(line, "", "length", "batch", "forward", "backward", "of peak", "memory", "decoding");
    printf(line, "", "", "", "ns/token", "ns/token", "", "B/token", "ns/token");
}

/* At all lengths that are not left out. */
static Growth bench_mechanism(Bench *b, const Mechanisms *m, const Attention *a)
{
    MixSize s = size_of(m, a, 1);
    Growth g = { .attention = a, .grows = bench_grows(a, &s) };

    for (int i = 0; i < m->lengths.n; i++)
        if (!bench_left_out(m, a, m->lengths.at[i]))
            bench_case(b, m, a, m->lengths.at[i], &g);
    growth_print(&g);
    return g;
}

void bench_attention(Bench *b, const Mechanisms *m, const char *svg)
{
    Growth *growth = NULL;
    int n = 0;

    print_head(m);
    for (const Attention *const *a = m->attentions; *a; a++) {
        growth = xrealloc(growth, (size_t)(n + 1) * sizeof *growth);
        growth[n] = bench_mechanism(b, m, *a);
        n += growth[n].n > 0;
    }
    growth_print_crossing(growth, n);
    if (svg)
        growth_draw(growth, n, sizes_of(m).at, svg);
    free(growth);
}
