#include "tools/eval/table.h"

#include "ops/base/error.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"
#include "tools/draw/plot.h"

#include <stdlib.h>

static const struct {
    const char *name;
    int width, decimals;
} columns[NUMBERS] = {
    [LENGTH] = { "length", 8, 0 },       [STRIDE] = { "stride", 8, 0 },
    [FROM] = { "from", 8, 0 },           [TO] = { "to", 8, 0 },
    [TOKENS] = { "tokens", 10, 0 },      [LOSS] = { "loss", 9, 4 },
    [ERROR] = { "error", 9, 4 },         [PPL] = { "ppl", 11, 3 },
    [BITS] = { "bits_per_byte", 14, 4 }, [ACCURACY] = { "accuracy", 9, 4 },
};

/* Whether windows of this length have only trained positions. */
static bool interpolates(const Table *t, int length)
{
    const Config *c = t->config;
    double times = (double)length / t->trained, reach = fmax(length, setting(&c->set, "horizon"));
    bool turns = c->position == POSITION_ROPE,
         bends = attention_takes(c->attention, "horizon") != NULL;

    return (turns || bends) && (!turns || c->rope_scale.by >= times) &&
           (!bends || reach >= times * t->trained_horizon);
}

static const char *context_of(const Table *t, int length)
{
    if (length <= t->trained)
        return length == t->trained ? "trained" : "shorter";
    return interpolates(t, length) ? "interpolation" : "extrapolation";
}

/* Columns that do not apply to a table are left out. */
static bool is_shown(const Table *t, int column)
{
    bool masked = t->config->task == TASK_MLM;

    if (column == FROM || column == TO)
        return t->by_position;
    return column == BITS ? !masked : column == ACCURACY ? masked : true;
}

void table_print_header(const Table *t)
{
    for (int i = 0; i < NUMBERS; i++)
        if (is_shown(t, i))
            printf("%*s", columns[i].width, columns[i].name);
    printf("  %-12s context\n", "protocol");
}

static void print_row(const Table *t, const Row *row)
{
    for (int i = 0; i < NUMBERS; i++)
        if (is_shown(t, i) && isnan(row->number[i]))
            printf("%*s", columns[i].width, "-");
        else if (is_shown(t, i))
            printf("%*.*f", columns[i].width, columns[i].decimals, row->number[i]);
    printf("  %-12s %s%s\n", t->protocol, row->context,
           row->number[LENGTH] == t->trained ? " <--" : "");
    fflush(stdout);
}

static Row row_of(const Table *t, Protocol p, int bucket, const Score *s)
{
    const bool masked = t->config->task == TASK_MLM, parts = p.bucket > 0;
    int from = parts ? bucket * p.bucket : 0, to = parts ? from + p.bucket : p.length;
    Row row = { .context = context_of(t, p.length) };

    row.number[LENGTH] = p.length, row.number[STRIDE] = p.stride;
    row.number[FROM] = from, row.number[TO] = (to < p.length ? to : p.length) - 1;
    row.number[TOKENS] = s->targets;
    row.number[LOSS] = score_loss(s), row.number[ERROR] = score_error(s);
    row.number[PPL] = exp(score_loss(s));
    row.number[BITS] = masked ? (double)NAN : score_bits(s);
    row.number[ACCURACY] = masked ? s->right / s->targets : (double)NAN;
    return row;
}

void table_add(Table *t, Protocol p, const Score *score)
{
    int n = perplexity_scores(p);

    t->row = xrealloc(t->row, (size_t)(t->n + n) * sizeof *t->row);
    for (int i = 0; i < n; i++) {
        t->row[t->n] = row_of(t, p, i, &score[i]);
        print_row(t, &t->row[t->n++]);
    }
}

void table_csv(FILE *out, void *table)
{
    const Table *t = table;
    const Config *c = t->config;

    for (int i = 0; i < NUMBERS; i++)
        fprintf(out, "%s,", columns[i].name);
    fprintf(out, "protocol,rope_scale,horizon,context\n");
    for (const Row *row = t->row; row < t->row + t->n; row++) {
        for (int i = 0; i < NUMBERS; i++)
            fprintf(out, "%s,", text_number(row->number[i]).at);
        fprintf(out, "%s,%s,%d,%s\n", t->protocol, settings_rope_scale_text(c->rope_scale).at,
                setting(&c->set, "horizon"), row->context);
    }
}

/* The rows of one line: all, or by position those of a length. Returns how many. */
static int draw_rows(const Table *t, int first, Series *s, double *x)
{
    double *y = x + t->n, *error = y + t->n;
    int n = first;

    for (; n < t->n; n++) {
        const double *number = t->row[n].number;

        if (t->by_position && number[LENGTH] != t->row[first].number[LENGTH])
            break;
        x[n] = t->by_position ? (number[FROM] + number[TO]) / 2 : number[LENGTH];
        y[n] = t->by_position ? number[LOSS] : number[PPL];
        error[n] = t->by_position ? number[ERROR] : number[PPL] * number[ERROR];
    }
    *s = (Series){
        .x = x + first, .y = y + first, .error = error + first, .n = n - first, .points = true
    };
    return n - first;
}

/* The perplexity at the trained length, as a reference line. */
static int draw_trained(const Table *t, PlotLine *line)
{
    for (const Row *row = t->row; row < t->row + t->n && !t->by_position; row++)
        if (row->number[LENGTH] == t->trained) {
            *line = (PlotLine){ row->number[PPL], "as trained" };
            return 1;
        }
    return 0;
}

void table_svg(FILE *out, void *table)
{
    const Table *t = table;
    double *numbers = xmalloc(3 * (size_t)t->n * sizeof *numbers);
    Text subtitle = { 0 }, name[OPTION_LIST_MAX] = { { 0 } };
    Series series[OPTION_LIST_MAX];
    PlotLine line;
    Plot plot = { .title = t->by_position ? "Loss by position" : "Perplexity by length",
                  .subtitle = subtitle.at,
                  .x_label = t->by_position ? "position in the window" : "tokens in a window",
                  .y_label = t->by_position ? "loss (nats per token)" : "perplexity",
                  .log_x = !t->by_position,
                  .series = series,
                  .lines = &line,
                  .n_lines = draw_trained(t, &line) };

    text_add(&subtitle, "%s, trained at %d, %s", t->config->attention->name, t->trained,
             t->protocol);
    if (t->config->rope_scale.by > 0)
        text_add(&subtitle, ", rope scale %s", settings_rope_scale_text(t->config->rope_scale).at);
    for (int at = 0; at < t->n; plot.n_series++) {
        Text *label = &name[plot.n_series];

        text_add(label, t->by_position ? "windows of %.0f" : "%.0f tokens",
                 t->row[at].number[t->by_position ? LENGTH : TOKENS]);
        at += draw_rows(t, at, &series[plot.n_series], numbers);
        series[plot.n_series].name = label->at;
    }
    plot_svg(&plot, out);
    free(numbers);
}
