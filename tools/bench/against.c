/* Rows compared with those of an earlier run. */
#include "tools/bench/bench.h"

#include "ops/base/error.h"
#include "ops/base/text.h"
#include "tools/common/shown.h"

#include <math.h>
#include <string.h>

/* Peaks that differ by less count as the same clock: measurements are no more precise. */
static const double SAME_SPEED = 0.02;

enum { SHOWN = 120 };

/* Whether the row describes the others, and is not compared. */
static bool is_about(const Row *r)
{
    return strcmp(r->group, "machine") == 0 || strcmp(r->group, "option") == 0;
}

static double clock_of(const Against *a, const Rows *now)
{
    return rows_machine(now)->flops / rows_machine(&a->rows)->flops;
}

bool against_by_share(const Against *a, const Rows *now)
{
    return strcmp(rows_machine(&a->rows)->name, rows_machine(now)->name) != 0 ||
           fabs(clock_of(a, now) - 1) > SAME_SPEED;
}

bool against_change(const Against *a, const Rows *now, Row r, Change *change)
{
    const Row *was = rows_find(&a->rows, r.group, r.name);

    if (!was)
        return false;
    change->time = r.seconds / was->seconds;
    change->share = 1 / (change->time * clock_of(a, now));
    change->memory = was->held > 0 ? r.held / was->held : 0;
    change->step = was->step > 0 ? r.step / was->step : 0;
    change->slower =
        fmax(change->time, change->step) * (against_by_share(a, now) ? clock_of(a, now) : 1);
    return true;
}

static bool slower(const Against *a, Change c)
{
    return c.slower > 1 + a->margin;
}

static bool faster(const Against *a, Change c)
{
    return c.slower < 1 / (1 + a->margin);
}

int against_slower(const Against *a, const Rows *now)
{
    int n = 0;
    Change c;

    for (int i = 0; i < now->n; i++)
        n += !is_about(&now->at[i]) && against_change(a, now, now->at[i], &c) && slower(a, c);
    return n;
}

static void print_judge(const Against *a, const Rows *now)
{
    const Row *was = rows_machine(&a->rows), *is = rows_machine(now);

    if (strcmp(was->name, is->name) != 0)
        printf("shares of the peak are compared: this is %s, that was %s\n", is->name, was->name);
    else
        printf("%s are compared: the peak is %.1f GFLOP/s and was %.1f\n",
               against_by_share(a, now) ? "shares of the peak" : "times", is->flops / 1e9,
               was->flops / 1e9);
}

void against_print_head(const Against *a, const Rows *now)
{
    printf(
        "beside each row, the ratio of its time, and of its share of the peak, to those in %s:\n",
        text_cut(a->path, SHOWN).at);
    print_judge(a, now);
}

void against_print_row(const Against *a, const Rows *now, Row r)
{
    Change c;

    if (!against_change(a, now, r, &c)) {
        printf("  new");
        return;
    }
    printf("  time x %.3f, share x %.3f", c.time, c.share);
    if (c.step > 0)
        printf(", decoding x %.3f", c.step);
    if (c.memory > 0)
        printf(", memory x %.3f", c.memory);
    if (slower(a, c) || faster(a, c))
        printf("  %s", slower(a, c) ? "SLOWER" : "faster");
}

/* Rows that only one of the two has: by name if the other has the same group. */
static int print_missing(const Rows *one, const Rows *other, const char *where)
{
    int missing = 0, elsewhere = 0;

    for (int i = 0; i < one->n; i++) {
        const Row *r = &one->at[i];
        bool group = false;

        if (is_about(r) || rows_find(other, r->group, r->name))
            continue;
        for (int j = 0; j < other->n; j++)
            group |= strcmp(other->at[j].group, r->group) == 0;
        missing++, elsewhere += !group;
        if (group)
            printf("only %s: %s, %s\n", where, r->group, r->name);
    }
    if (elsewhere > 0)
        printf("only %s: %d rows of other parts\n", where, elsewhere);
    return missing;
}

void against_print_end(const Against *a, const Rows *now)
{
    int rows = 0, n_slower = 0, n_faster = 0;
    double logs = 0;
    Change c;

    printf("\nAgainst %s\n", text_cut(shown_plain(a->path).at, SHOWN).at);
    print_missing(&a->rows, now, "there");
    print_missing(now, &a->rows, "here");
    for (int i = 0; i < now->n; i++)
        if (!is_about(&now->at[i]) && against_change(a, now, now->at[i], &c)) {
            rows++, logs += log(c.slower);
            n_slower += slower(a, c), n_faster += faster(a, c);
        }
    if (rows == 0)
        die(EXIT_DATA, "%s has none of the rows that were measured: there is nothing to compare",
            text_cut(a->path, SHOWN).at);
    print_judge(a, now);
    printf("%d rows: %d faster and %d slower by more than %g%%; geometric mean %.3f\n", rows,
           n_faster, n_slower, 100 * a->margin, exp(logs / rows));
}
