#include "model/mechanisms.h"
#include "tools/analyse/analyse.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "tools/draw/plot.h"
#include "tools/draw/svg.h"

#include <stdlib.h>

static const struct {
    const char *name, *csv;
    int width; /* 0: only in the CSV file */
} columns[GROWTH_NUMBERS] = {
    [GROWTH_SEEN] = { "seen", "seen", 9 },          [GROWTH_LN_SEEN] = { "", "ln_seen", 0 },
    [GROWTH_SUM] = { "row sum", "row_sum", 11 },    [GROWTH_LN_SUM] = { "its ln", "ln_row_sum", 9 },
    [GROWTH_ENTROPY] = { "entropy", "entropy", 9 }, [GROWTH_KEYS] = { "keys", "keys", 9 },
    [GROWTH_KEYS_2] = { "keys_2", "keys_2", 9 },    [GROWTH_BAND] = { "in_band", "in_band", 9 },
    [GROWTH_NEGATIVE] = { "", "negative", 0 },      [GROWTH_EMPTY] = { "", "empty", 0 },
};

static const struct {
    const char *name, *csv;
} fits[FITS] = {
    [FIT_SUM] = { "exponent of the sum", "sum_exponent" },
    [FIT_LN_SUM] = { "of its geometric mean", "ln_sum_exponent" },
    [FIT_ENTROPY] = { "slope of the entropy", "entropy_slope" },
};

/* Every row of the tables: heads (for CSV), each mix, all of them, uniform rows. */
typedef struct {
    const Lengths *of;
    Text name, kind; /* kind: "layer,1," of the CSV */
    const Grown *at; /* (lengths) */
    int from, to;    /* its heads, if it is a mean of them */
} Line;

typedef void Show(const Line *line, void *ctx);

static void each_head(const Lengths *l, Show *show, void *ctx)
{
    const Growth *g = l->found;

    for (int h = 0; h < g->mixes * g->heads; h++) {
        const int m = h / g->heads;

        show(&(Line){ .of = l,
                      .kind = text_format("head,%d,%d", layer_of_mix(l->config, m),
                                          head_of_mix(l->config, m, h % g->heads)),
                      .at = g->head + h * g->lengths },
             ctx);
    }
}

static void show_mean(Line line, int from, int to, Show *show, void *ctx)
{
    const Growth *g = line.of->found;
    Grown *mean = xmalloc((size_t)g->lengths * sizeof *mean);

    growth_mean(g, from, to, mean);
    line.at = mean, line.from = from * g->heads, line.to = to * g->heads;
    show(&line, ctx);
    free(mean);
}

/* The means over the heads of a layer, or the one head of a unit; over all; and uniform rows. */
static void each_mean(const Lengths *l, Show *show, void *ctx)
{
    const Config *c = l->config;

    for (int m = 0; m < l->found->mixes; m++) {
        Line line = { .of = l, .name = text_format("%d", layer_of_mix(c, m)) };

        if (is_gated(c))
            text_add(&line.name, ".%d", unit_of_mix(c, m));
        line.kind = text_format("layer,%s,", line.name.at);
        show_mean(line, m, m + 1, show, ctx);
    }
    show_mean((Line){ l, text_format("all"), text_format("all,,"), NULL, 0, 0 }, 0, l->found->mixes,
              show, ctx);
    show(&(Line){ l, text_format("uniform"), text_format("uniform,,"), l->found->uniform, 0, 0 },
         ctx);
}

static void print_number(double number, int width, int decimals)
{
    if (isnan(number))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, decimals, number);
}

static void print_line(const Line *line, void *ctx)
{
    (void)ctx;
    for (int l = 0; l < line->of->found->lengths; l++) {
        const double *number = line->at[l].number;

        printf("%8s%8d", line->name.at, line->of->plan->length[l]);
        for (int i = 0; i < GROWTH_NUMBERS; i++)
            if (i == GROWTH_SUM && !isnan(number[i]))
                printf("%*.4g", columns[i].width, number[i]);
            else if (columns[i].width)
                print_number(number[i], columns[i].width, i == GROWTH_SEEN ? 1 : 3);
        printf("\n");
    }
}

/* "0.912 +-0.013   0.85 to 1.02" */
static void print_fit(const Line *line, int which)
{
    const Growth *g = line->of->found;
    const Fit fit = growth_fit(line->at, g->lengths, which);
    double least = HUGE_VAL, most = -HUGE_VAL;

    for (int h = line->from; h < line->to; h++) {
        const double slope = growth_fit(g->head + h * g->lengths, g->lengths, which).slope;

        least = fmin(least, slope), most = fmax(most, slope);
    }
    print_number(fit.slope, 8, 3);
    print_number(fit.error, 7, 3);
    if (line->to - line->from > 1 && !isnan(fit.slope))
        printf("%6.2f to%5.2f", least, most);
    else if (which < FITS - 1)
        printf("%14s", "");
}

static void print_fits(const Line *line, void *ctx)
{
    (void)ctx;
    printf("%8s", line->name.at);
    for (int i = 0; i < FITS; i++)
        print_fit(line, i);
    printf("\n");
}

static void print_notes(const Lengths *l)
{
    Grown *mean = xmalloc((size_t)l->found->lengths * sizeof *mean);
    double most = 0;

    growth_mean(l->found, 0, l->found->mixes, mean);
    for (int i = 0; i < l->found->lengths; i++)
        most = fmax(most, mean[i].number[GROWTH_NEGATIVE]);
    if (most > 0)
        printf(
            "\nUp to %.1f%% of the weight is negative. Such rows are no distribution: all columns\n"
            "after its ln are those of |A_ij| as shares of their sum.\n",
            100 * most);
    if (isnan(mean[0].number[GROWTH_SUM]))
        printf("\n%s with these settings has no sum of weights to show.\n",
               config_mechanisms(l->config).at);
    free(mean);
}

void lengths_print(const Lengths *l)
{
    printf("Rows of A by length, means over rows, windows and heads:\n%8s%8s",
           is_gated(l->config) ? "unit" : "layer", "length");
    for (int i = 0; i < GROWTH_NUMBERS; i++)
        if (columns[i].width)
            printf("%*s", columns[i].width, columns[i].name);
    printf("\n");
    each_mean(l, print_line, NULL);
    if (l->found->lengths > 1) {
        printf("\nFits over %d lengths, with standard errors, and the least and the most of the "
               "heads:\n%8s",
               l->found->lengths, "");
        for (int i = 0; i < FITS; i++)
            printf("%29s", fits[i].name);
        printf("\n");
        each_mean(l, print_fits, NULL);
    }
    print_notes(l);
}

static void csv_line(const Line *line, void *ctx)
{
    const Lengths *l = line->of;
    FILE *out = ctx;

    for (int i = 0; i < l->found->lengths; i++) {
        const int length = l->plan->length[i], windows = l->found->windows[i];

        fprintf(out, "%s,%d,%d", line->kind.at, length, windows);
        for (int k = 0; k < GROWTH_NUMBERS; k++)
            fprintf(out, ",%s", text_number(line->at[i].number[k]).at);
        for (int k = 0; k < FITS; k++) {
            const Fit fit = growth_fit(line->at, l->found->lengths, k);

            fprintf(out, ",%s,%s,%s", text_number(fit.slope).at, text_number(fit.error).at,
                    text_number(fit.constant).at);
        }
        fputc(',', out);
        csv_write_quoted(out, l->run);
        fputc(',', out);
        csv_write_quoted(out, l->text);
        fputc(',', out);
        csv_write(out, config_mechanisms(l->config).at);
        fprintf(out, ",%s,%s,%.0f,%d\n", task_names[l->config->task],
                mask_name(l->config, l->plan->unmasked), (double)length * windows, l->plan->band);
    }
}

void lengths_csv(FILE *out, void *lengths)
{
    fprintf(out, "row,layer,head,length,windows");
    for (int i = 0; i < GROWTH_NUMBERS; i++)
        fprintf(out, ",%s", columns[i].csv);
    for (int i = 0; i < FITS; i++)
        fprintf(out, ",%s,%s_error,%s_constant", fits[i].csv, fits[i].csv, fits[i].csv);
    fprintf(out, ",run,text,attention,task,mask,tokens,band\n");
    each_head(lengths, csv_line, out);
    each_mean(lengths, csv_line, out);
}

const char *const lengths_plots[] = { "entropy", "sum", "keys", "in-band", NULL };
static const struct {
    const char *title, *label;
    int number;
    bool log;
} plots[] = {
    { "Entropy of the rows of A by length", "entropy (nats)", GROWTH_ENTROPY, false },
    { "Sum of a row's weights before division, by length", "sum", GROWTH_SUM, true },
    { "Effective number of keys by length", "e^entropy", GROWTH_KEYS, true },
    { "Weight near the diagonal by length", "share of the row", GROWTH_BAND, false },
};

enum { LINES_MOST = SVG_COLOURS };

typedef struct {
    Plot plot;
    Series series[LINES_MOST];
    Text name[LINES_MOST];
    double *x, *y; /* (lengths); (LINES_MOST, lengths) */
    int line, lines;
} Chart;

/* If there are more layers than colours, the last ones are left out; not `uniform`. */
static void add_series(const Line *line, void *ctx)
{
    Chart *c = ctx;
    const Lengths *l = line->of;
    const int n = l->found->lengths, mixes = l->found->mixes, at = c->plot.n_series, m = c->line++;
    double *y = c->y + at * n;

    if (m == mixes || (m < mixes && m >= LINES_MOST - 1))
        return;
    for (int i = 0; i < n; i++)
        y[i] = line->at[i].number[plots[l->plotted].number];
    c->name[at] = m < mixes ? name_of_mix(l->config, m) : line->name;
    c->series[at] = (Series){ .name = c->name[at].at, .x = c->x, .y = y, .n = n, .points = true };
    c->plot.n_series++;
}

void lengths_svg(FILE *out, void *lengths)
{
    const Lengths *l = lengths;
    const size_t n = (size_t)l->found->lengths;
    const Text subtitle =
        text_format("%s (%s)%s, trained at %d: means over rows, windows and heads",
                    config_mechanisms(l->config).at, task_names[l->config->task],
                    l->plan->unmasked ? " unmasked" : "", l->config->context);
    Chart c = { .plot = { .title = plots[l->plotted].title,
                          .subtitle = subtitle.at,
                          .x_label = "tokens in a window",
                          .y_label = plots[l->plotted].label,
                          .log_x = true,
                          .log_y = plots[l->plotted].log } };

    c.plot.series = c.series;
    c.x = xmalloc((1 + LINES_MOST) * n * sizeof *c.x), c.y = c.x + n;
    for (size_t i = 0; i < n; i++)
        c.x[i] = l->plan->length[i];
    each_mean(l, add_series, &c);
    plot_svg(&c.plot, out);
    free(c.x);
}
