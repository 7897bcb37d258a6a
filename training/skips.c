#include "training/skips.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_oldest(Recent *s)
{
    s->n--;
    memmove(s->at, s->at + 1, (size_t)s->n * sizeof *s->at);
}

static void recent_add(Recent *s, double x)
{
    if (s->n == SKIPS_WINDOW)
        drop_oldest(s);
    s->at[s->n++] = x;
}

/* How many standard deviations x is above the mean; 0: there are too few to tell. */
static double height(const Recent *s, double x)
{
    double mean = 0, square = 0;

    if (s->n < SKIPS_WINDOW / 2)
        return 0;
    for (int i = 0; i < s->n; i++)
        mean += s->at[i] / s->n;
    for (int i = 0; i < s->n; i++)
        square += (s->at[i] - mean) * (s->at[i] - mean) / s->n;
    return x > mean ? (x - mean) / sqrt(square) : 0;
}

/* The one that the backward pass reaches first: those of earlier layers follow from it. Or else the
 * norm of all is too large. */
static Text broken_gradient(const Params *params)
{
    const char *name = NULL;

    for (const Param *p = params->first; p; p = p->next)
        for (size_t i = 0; !p->fixed && p->tensor->has_grad && i < p->tensor->n; i++)
            if (!isfinite(p->tensor->grad[i]))
                name = p->name;
    return name ? text_format("gradient of %.200s is not finite", name)
                : text_format("the gradient norm is not finite");
}

static Text spike(Skips *s, double limit, double loss, double norm)
{
    const double l = height(&s->losses, loss), g = height(&s->norms, norm);

    recent_add(&s->losses, loss);
    recent_add(&s->norms, norm);
    if (!(l > limit || g > limit))
        return (Text){ 0 };
    return text_format("%s %.4g is %.3g standard deviations above its recent mean",
                       l > limit ? "loss" : "gradient norm", l > limit ? loss : norm,
                       l > limit ? l : g);
}

Text skips_add(Skips *s, double limit, int step, double loss, double norm, const Params *params)
{
    while (s->steps.n > 0 && s->steps.at[0] <= step - SKIPS_OF)
        drop_oldest(&s->steps);
    if (limit <= 0)
        s->losses.n = s->norms.n = 0; /* a resumed run may have had a limit */
    if (isfinite(loss) && isfinite(norm)) {
        s->bad = 0;
        return limit > 0 ? spike(s, limit, loss, norm) : (Text){ 0 };
    }
    s->bad++;
    recent_add(&s->steps, step);
    return isfinite(loss) ? broken_gradient(params) : text_format("the loss is not finite");
}

Text skips_failure(const Skips *s)
{
    if (s->bad >= SKIPS_ROW)
        return text_format("no finite gradient in %d steps", s->bad);
    if (s->steps.n > SKIPS_MOST)
        return text_format("no finite gradient in %d of the last %d steps", s->steps.n, SKIPS_OF);
    return (Text){ 0 };
}

void skips_recent(Skips *s, NamedRecent list[SKIPS_LISTS])
{
    list[0] = (NamedRecent){ "attnc.skipped", &s->steps };
    list[1] = (NamedRecent){ "attnc.recent_losses", &s->losses };
    list[2] = (NamedRecent){ "attnc.recent_norms", &s->norms };
}

char *recent_text(const Recent *s, Arena *mem)
{
    const size_t room = 26 * (size_t)s->n + 1; /* a space and 17 digits with an exponent */
    char *text = arena_zeros(mem, room);

    for (int i = 0, n = 0; i < s->n; i++)
        n += snprintf(text + n, room - (size_t)n, "%s%s", i ? " " : "", text_number(s->at[i]).at);
    return text;
}

bool recent_read(Recent *s, const char *text)
{
    char *end;

    for (s->n = 0; *text && s->n < SKIPS_WINDOW; text = end) {
        const double x = strtod(text, &end);

        if (end == text || !isfinite(x))
            return false;
        s->at[s->n++] = x;
    }
    return *text == '\0';
}

bool skips_are_possible(const Skips *s, int step)
{
    for (int i = 0; i < s->steps.n; i++)
        if (s->steps.at[i] < 1 || s->steps.at[i] > step ||
            (i > 0 && s->steps.at[i] <= s->steps.at[i - 1]))
            return false;
    for (int i = 0; i < s->norms.n; i++)
        if (s->norms.at[i] < 0)
            return false;
    return s->losses.n == s->norms.n && s->steps.n <= SKIPS_MOST;
}
