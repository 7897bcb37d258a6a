/*
 * The largest of a few sizes that
 *
 *     makes at least LEAST updates in the time, or as many as are given, by the seconds that they
 *     take on this machine, and
 *
 *     has at most PER_BYTE parameters per byte of text, without embeddings and gates.
 *
 * Updates take what the evaluations leave of the time, but predict each token at most MOST times: a
 * run of a small text ends early. A text that is read more than FEW times is soon known by heart,
 * so there is dropout, and more of it beyond MANY. At four times a dropout of 0.1 costs 4 x 128 on
 * tinyshakespeare 0.04 nats. On its first 200,000 bytes 3 x 96 ends, with a dropout of 0.1 and of
 * 0.2, at 1.602 and 1.647 after 12 times, at 1.589 and 1.597 after 24, and with 0.2 at 1.579 after
 * 48; 4 x 128 is not better (1.626 after 12 times with 0.2, 1.599 after 24 with 0.3), and 4 x 192
 * ends at 2.057 after 71 times with 0.2.
 *
 * The sizes grow by two to four in operations per update. Batches are small and updates many: on
 * tinyshakespeare 4,800 updates of 512 tokens by 3 x 96 end at 1.547 nats after 113 s, 2,400 of
 * 1,024 at 1.560 after 95 s, and 1,400 of 1,024 by 4 x 128 at 1.573 after 127 s (single runs). 4 x
 * 192, the largest size for that text, ends at 1.429 after 11,400 updates, with a dropout of 0.1;
 * nanoGPT's 6 x 384 at 1.4697. The sizes above are interpolated.
 */
#include "training/plan.h"

#include <math.h>
#include <stdbool.h>

static const PlanSize sizes[] = {
    { 2, 2, 64, 64, 8 },   { 3, 4, 96, 64, 8 },    { 4, 4, 128, 128, 8 },
    { 4, 6, 192, 128, 8 }, { 6, 8, 256, 128, 16 }, { 6, 6, 384, 256, 16 },
};
enum { SIZES = sizeof sizes / sizeof *sizes, LEAST = 2000, PER_BYTE = 3 };
enum { FEW = 6, MANY = 32, MOST = 48 };
static const double margin = 0.02; /* of the time, for steps that take longer later */

/* The next width that gives heads an even width, as RoPE needs it. */
static int divided(int width, int heads)
{
    return (width + 2 * heads - 1) / (2 * heads) * 2 * heads;
}

static PlanSize size_at(const PlanWanted *w, int i)
{
    PlanSize s = sizes[i], g = w->given;

    s.layers = g.layers ? g.layers : (int)fmax(s.layers, w->mechanisms);
    s.width = g.width ? g.width : g.heads ? divided(s.width, g.heads) : s.width;
    s.heads = g.heads ? g.heads : s.width % (2 * s.heads) == 0 ? s.heads : 1;
    s.context = g.context ? g.context : s.context;
    s.batch = g.batch ? g.batch : s.batch;
    return s;
}

PlanSize plan_smallest(const PlanWanted *w)
{
    return size_at(w, 0);
}

static double parameters(PlanSize s)
{
    return 12.0 * s.layers * s.width * s.width;
}

static double work(PlanSize s)
{
    return (parameters(s) + 2.0 * s.layers * s.width * s.context) * s.context * s.batch;
}

static bool suits_text(const PlanWanted *w, int i)
{
    const PlanSize s = size_at(w, i);

    return i == 0 ||
           (parameters(s) <= PER_BYTE * w->bytes && s.context < fmin(w->train / 90, w->held_back));
}

static double update_tokens(const PlanWanted *w, PlanSize s)
{
    return w->batches * s.batch * s.context;
}

/* An evaluated row is a third of a trained one; the last evaluation has all rows, or a tenth of the
 * time. */
static double other_seconds(const PlanWanted *w, PlanSize s, double step)
{
    const double row = step / w->batches / s.batch / 3, all = w->held_back / s.context;
    const double some = w->some > 0 ? fmin(w->some * s.batch, all) : all;

    return w->evaluations * some * row + fmin(all * row, w->seconds / 10);
}

/* Updates until each token has been predicted MOST times. */
static int useful_steps(const PlanWanted *w, PlanSize s)
{
    return (int)fmin(ceil(MOST / w->share * w->train / update_tokens(w, s)), 1e8);
}

static int steps_in(const PlanWanted *w, PlanSize s, double step)
{
    const double left = w->seconds * (1 - margin) - other_seconds(w, s, step);

    return (int)fmin(fmax(left / step, 1), 1e8);
}

/* Updates that a size should have the time for. */
static int enough(const PlanWanted *w)
{
    return w->steps ? w->steps : LEAST;
}

/* What follows from the updates in the time, and those that help. */
static void count(const PlanWanted *w, Plan *p)
{
    p->steps = w->steps ? w->steps : p->in_time < p->useful ? p->in_time : p->useful;
    p->epochs = fmin(p->steps, p->in_time) * update_tokens(w, p->size) / w->train;
    p->dropout = !isnan(w->dropout) ? w->dropout
                 : p->epochs > MANY ? 0.2
                 : p->epochs > FEW  ? 0.1
                                    : 0;
}

Plan plan_run(const PlanWanted *w)
{
    const double first = w->clock(w->ctx, plan_smallest(w)), of_first = work(plan_smallest(w));
    int i = SIZES - 1;

    while (i > 0 &&
           (!suits_text(w, i) ||
            steps_in(w, size_at(w, i), first * work(size_at(w, i)) / of_first) < enough(w)))
        i--;
    Plan p = { .size = size_at(w, i), .step_seconds = first };
    for (; i > 0; p.size = size_at(w, --i), p.step_seconds = first) {
        p.step_seconds = w->clock(w->ctx, p.size);
        if (steps_in(w, p.size, p.step_seconds) >= enough(w))
            break;
    }
    p.in_time = steps_in(w, p.size, p.step_seconds);
    p.useful = useful_steps(w, p.size);
    count(w, &p);
    return p;
}

void plan_shorten(const PlanWanted *w, Plan *p, double seconds)
{
    p->in_time = (int)fmax(1, p->in_time - seconds / p->step_seconds);
    count(w, p);
}

static bool is_given(const PlanSize *given)
{
    return given->layers && given->width && given->context && given->batch;
}

/* Of a text or a time for which the smallest size is too large, it says only that. */
static Text size_reason(const PlanWanted *w, const Plan *p)
{
    const PlanSize s = p->size;
    const Text its = text_format("--minutes: %d x %d, context %d, batches of %d", s.layers, s.width,
                                 s.context, s.batch),
               size = text_format("%s: the", its.at),
               makes = text_format("makes %d updates in %.0f s, at %.3g ms each on this machine",
                                   enough(w), w->seconds, 1e3 * p->step_seconds),
               has = text_format("has at most %d parameters (12 n-layer n-embd^2) per byte of text",
                                 PER_BYTE);

    if (is_given(&w->given))
        return text_format("%s (given): %.3g ms per update on this machine", its.at,
                           1e3 * p->step_seconds);
    if (p->in_time < enough(w))
        return text_format("%s smallest of %d sizes; none %s", size.at, SIZES, makes.at);
    if (parameters(s) > PER_BYTE * w->bytes)
        return text_format("%s smallest of %d sizes; none %s", size.at, SIZES, has.at);
    return text_format("%s largest of %d sizes that %s, and %s", size.at, SIZES, makes.at, has.at);
}

Text plan_reason(const PlanWanted *w, const Plan *p, int i)
{
    if (i == 0)
        return size_reason(w, p);
    const bool useful = !w->steps && p->steps == p->useful;
    const Text late =
        p->in_time < p->steps ? text_format("; time for %d", p->in_time) : (Text){ 0 };
    const Text given = w->steps ? text_format(" (given%s)", late.at) : (Text){ 0 };

    return text_format("%d update%s%s, reading the text %.3g times%s; dropout %g%s", p->steps,
                       p->steps == 1 ? "" : "s", given.at, p->epochs,
                       useful ? ", the most that is useful, so the run ends early" : "", p->dropout,
                       isnan(w->dropout) ? "" : " (given)");
}
