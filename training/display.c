#include "training/display.h"

#include "ops/base/terminal.h"

#include <limits.h>
#include <math.h>

enum { BAR_FROM = 60, BAR_MOST = 30 }; /* columns that leave room for a bar; its longest */

/* Fields from the left to the right; the first one without room is the last one. */
typedef struct {
    Text text;
    int room;
} Row;

static void put(Row *row, const char *before, Text field)
{
    Text both = text_format("%s%s", row->text.n ? before : "", field.at);

    if ((int)both.n <= row->room)
        text_add(&row->text, "%s", both.at);
    else if (row->text.n == 0)
        text_add(&row->text, "%.*s", row->room > 0 ? row->room : 0, both.at);
    row->room = (int)both.n <= row->room ? row->room - (int)both.n : 0;
}

Text display_time(double s)
{
    static const struct {
        int seconds;
        char name;
    } unit[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    if (isnan(s))
        return text_format("?");
    int whole = s < 1e9 ? (int)(s + 0.5) : 1000000000, i = 0;

    if (whole < 60)
        return text_format("%ds", whole);
    while (whole < unit[i].seconds)
        i++;
    return text_format("%d%c%02d%c", whole / unit[i].seconds, unit[i].name,
                       whole % unit[i].seconds / unit[i + 1].seconds, unit[i + 1].name);
}

/* "[=====>    ] " */
static Text bar(double done)
{
    int columns = terminal_columns();
    int cells = columns / 5 < BAR_MOST ? columns / 5 : BAR_MOST, full = (int)(done * cells);

    if (!terminal_rewrites() || columns < BAR_FROM)
        return (Text){ 0 };
    return text_format("[%.*s%s%*s] ", full,
                       "==============================", full < cells ? ">" : "",
                       full < cells ? cells - full - 1 : 0, "");
}

void display_step(const LogLine *l, int steps, double share, double left)
{
    const Text step = text_format("step %d/%d", l->step, steps),
               loss = text_format("loss %s", text_fixed(l->loss, 4).at),
               rate = text_format("lr %.2e", l->rate),
               norm = text_format("norm %s", text_fixed(l->grad_norm, 2).at),
               speed = text_format("%.0f tok/s", l->tokens_per_second),
               peak = isnan(share) ? (Text){ 0 } : text_format("%.0f%% of peak", 100 * share),
               elapsed = display_time(l->seconds),
               eta = text_format("%s left", display_time(left).at);

    if (!terminal_rewrites()) {
        fprintf(stderr, "%s  %s  %s  %s  %s%s%s%s  %s, %s\n", step.at, loss.at, rate.at, norm.at,
                speed.at, peak.n ? " (" : "", peak.at, peak.n ? ")" : "", elapsed.at, eta.at);
        return;
    }
    Row row = { .room = terminal_columns() - 1 };
    put(&row, "", text_format("%s%s", bar((double)l->step / steps).at, step.at));
    put(&row, "  ", loss);
    put(&row, "  ", eta);
    put(&row, "  ", speed);
    put(&row, "  ", rate);
    put(&row, "  ", norm);
    if (peak.n)
        put(&row, "  ", peak);
    put(&row, "  ", elapsed);
    terminal_rewrite(row.text.at);
}

void display_validation(const LogLine *l, bool best)
{
    const bool styled = terminal_styled();
    Row row = { .room = terminal_rewrites() ? terminal_columns() - 3 : INT_MAX };

    put(&row, "", text_format("step %d: validation loss %s", l->step, text_fixed(l->loss, 4).at));
    put(&row, "  ", text_format("ppl %s", text_fixed(exp(l->loss), 3).at));
    if (!isnan(l->accuracy))
        put(&row, "  ", text_format("accuracy %.1f%%", 100 * l->accuracy));
    if (!isnan(l->f1))
        put(&row, "  ", text_format("macro-F1 %.4f", l->f1));
    if (!isnan(l->bits))
        put(&row, "  ", text_format("bits/byte %.4f", l->bits));
    terminal_end_line();
    fprintf(stderr, "%s%s%s%s\n", styled ? "\033[1m" : "", row.text.at,
            !best    ? ""
            : styled ? " \033[32m*"
                     : " *",
            styled ? "\033[0m" : "");
}
