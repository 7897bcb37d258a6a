#include "model/mechanisms.h"
#include "tools/analyse/analyse.h"

#include "model/layer.h"
#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "tools/draw/plot.h"

#include <stdlib.h>

static const struct {
    const char *name, *csv; /* printed, the ranks of both matrices have one name */
    int width, decimals;
} columns[FINDINGS] = {
    [FOCUS_ENTROPY] = { "entropy", "entropy", 9, 3 },
    [FOCUS_KEYS] = { "keys", "keys", 8, 2 },
    [FOCUS_SEEN] = { "of_seen", "of_seen", 9, 3 },
    [FOCUS_BAND] = { "in_band", "in_band", 9, 3 },
    [FOCUS_DISTANCE] = { "distance", "distance", 10, 2 },
    [FOCUS_FAINT] = { "faint", "faint", 8, 3 },
    [FOCUS_ZERO] = { "zero", "zero", 8, 3 },
    [FOCUS_NEGATIVE] = { "negative", "negative", 10, 3 },
    [FOCUS_SUM] = { "sum", "sum", 10, 3 },
    [FINDING_EMPTY] = { "empty", "empty", 8, 3 },
    [FINDING_RANK] = { "rank", "rank", 9, 1 },
    [FINDING_EFFECTIVE] = { "effective", "effective", 11, 2 },
    [FINDING_HOLDING] = { "90%", "holding_90", 8, 1 },
    [FINDING_SCORE_RANK] = { "rank", "score_rank", 11, 1 },
    [FINDING_SCORE_EFFECTIVE] = { "effective", "score_effective", 11, 2 },
    [FINDING_SCORE_HOLDING] = { "90%", "score_holding_90", 8, 1 },
};
enum { SHARE_WIDTH = 8 };

bool is_gated(const Config *c)
{
    return layer_of(c->attention)->mixes > 1;
}

int layer_of_mix(const Config *c, int m)
{
    return is_gated(c) ? m / 2 + 1 : m + 1;
}

int unit_of_mix(const Config *c, int m)
{
    return is_gated(c) ? m % 2 + 1 : 1;
}

int head_of_mix(const Config *c, int m, int h)
{
    return (unit_of_mix(c, m) - 1) * c->heads + h + 1;
}

static bool is_rank(int column)
{
    return column == FINDING_RANK || column == FINDING_SCORE_RANK;
}

typedef struct {
    int from, to; /* columns from .. to-1 */
} Range;

static void print_header(const Sheet *s, Range c)
{
    printf("%7s%6s", "layer", is_gated(s->config) && s->found->heads == 1 ? "unit" : "head");
    for (int i = c.from; i < c.to; i++) {
        printf("%*s", columns[i].width, columns[i].name);
        if (is_rank(i))
            printf("%*s", SHARE_WIDTH, "share");
    }
    printf("\n");
}

static void print_number(double number, int width, int decimals)
{
    if (isnan(number))
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, decimals, number);
}

static void print_numbers(const Sheet *s, const Findings *f, Range c)
{
    for (int i = c.from; i < c.to; i++) {
        print_number(f->number[i], columns[i].width, columns[i].decimals);
        if (is_rank(i))
            print_number(f->number[i] / s->found->length, SHARE_WIDTH, 3);
    }
    printf("\n");
}

static void print_table(const Sheet *s, Range c)
{
    const Analysis *a = s->found;

    print_header(s, c);
    for (int m = 0; m < a->mixes; m++)
        for (int h = 0; h < a->heads; h++) {
            printf("%7d%6d", layer_of_mix(s->config, m), head_of_mix(s->config, m, h));
            print_numbers(s, &a->head[m * a->heads + h], c);
        }
    printf("%13s", "mean");
    print_numbers(s, &a->mean, c);
    printf("%13s", "uniform");
    print_numbers(s, &a->uniform, c);
}

/* Upper bounds of the ranks. */
static void print_bounds(const Sheet *s)
{
    const Attention *a = s->config->attention;
    const MixSize size = config_mix_size(s->config);
    const bool masked = size.causal && !s->study->unmasked;

    if (a->traits & HAS_SCORES)
        printf("\nQ K^T has a rank of at most %d, the width of q and k of a head.\n", size.D);
    if (a->engine->rank && !s->config->listed)
        printf("\nWithout a mask or --window A has a rank of at most %d, the features of a head.\n",
               a->engine->rank(&size));
    if (masked)
        printf(
            "\nA is triangular, since the model is causal: it has full rank if no weight on "
            "its\ndiagonal is 0, whatever the mechanism. With --unmask all rows see all keys.\n");
}

void sheet_print(const Sheet *s)
{
    const bool scores = config_traits(s->config) & HAS_SCORES;
    const int n = s->found->length;

    printf("Rows of A, with |weights| as shares of their sum:\n");
    print_table(s, (Range){ 0, FINDING_RANK });
    printf("\nSingular values of A (%d x %d)%s:\n", n, n,
           scores ? ", and to the right those of Q K^T" : "");
    print_table(s, (Range){ FINDING_RANK, scores ? FINDINGS : FINDING_SCORE_RANK });
    print_bounds(s);
    ranks_print(s);
}

const char *mask_name(const Config *c, bool unmasked)
{
    return c->task != TASK_CAUSAL ? "none" : unmasked ? "unmasked" : "causal";
}

static void csv_rest(FILE *out, const Sheet *s, const Findings *f)
{
    for (int i = 0; i < FINDINGS; i++)
        fprintf(out, "%s,", text_number(f->number[i]).at);
    csv_write_quoted(out, s->run);
    fputc(',', out);
    csv_write_quoted(out, s->text);
    fputc(',', out);
    csv_write(out, config_mechanisms(s->config).at);
    fprintf(out, ",%s,%s,%d,%d,%.0f,%d,%s,%s", task_names[s->config->task],
            mask_name(s->config, s->study->unmasked), s->found->length, s->found->windows,
            (double)s->found->length * s->found->windows, s->study->band,
            text_number(s->study->faint).at, text_number(s->study->tolerance).at);
    ranks_csv(out, f);
    fputc('\n', out);
}

void sheet_csv(FILE *out, void *sheet)
{
    const Sheet *s = sheet;
    const Analysis *a = s->found;

    fprintf(out, "row,layer,head,");
    for (int i = 0; i < FINDINGS; i++)
        fprintf(out, "%s,", columns[i].csv);
    fprintf(out, "run,text,attention,task,mask,length,windows,tokens,band,faint_below,tolerance");
    ranks_csv_header(out);
    fputc('\n', out);
    for (int m = 0; m < a->mixes; m++)
        for (int h = 0; h < a->heads; h++) {
            fprintf(out, "head,%d,%d,", layer_of_mix(s->config, m), head_of_mix(s->config, m, h));
            csv_rest(out, s, &a->head[m * a->heads + h]);
        }
    fprintf(out, "mean,,,");
    csv_rest(out, s, &a->mean);
    fprintf(out, "uniform,,,");
    csv_rest(out, s, &a->uniform);
}

void sheet_spectra(FILE *out, void *sheet)
{
    static const char *const names[SPECTRA] = { [OF_WEIGHTS] = "A", [OF_SCORES] = "QK" };
    const Sheet *s = sheet;
    const Analysis *a = s->found;

    fprintf(out, "matrix,layer,head,k,share_of_largest\n");
    for (int i = 0; i < SPECTRA * a->mixes * a->heads; i++) {
        const int which = i % SPECTRA, m = i / SPECTRA / a->heads, h = i / SPECTRA % a->heads;
        const double *spectrum = a->head[i / SPECTRA].spectrum[which];

        for (int k = 0; spectrum && k < a->length; k++)
            fprintf(out, "%s,%d,%d,%d,%s\n", names[which], layer_of_mix(s->config, m),
                    head_of_mix(s->config, m, h), k + 1, text_number(spectrum[k]).at);
    }
}

enum { LINES_MOST = 8 };

/* A is computed in floats: values below their rounding mean nothing. */
static const double LEAST = 0x1p-23;

/* The mean over the heads of mix m. */
static void mean_spectrum(const Analysis *a, int m, int which, double *y)
{
    for (int k = 0; k < a->length; k++) {
        double sum = 0;

        for (int h = 0; h < a->heads; h++)
            sum += a->head[m * a->heads + h].spectrum[which][k];
        y[k] = sum < LEAST * a->heads ? (double)NAN : sum / a->heads;
    }
}

/* The line of mix m, after that of its scores as its shadow; returns the number of lines. */
static int draw_mix(const Sheet *s, int m, Series *series, const double *k, double *y)
{
    int n = 0;

    for (int which = config_traits(s->config) & HAS_SCORES ? OF_SCORES : OF_WEIGHTS; which >= 0;
         which--) {
        mean_spectrum(s->found, m, which, y);
        series[n++] =
            (Series){ .x = k, .y = y, .n = s->found->length, .shadow = which == OF_SCORES };
        y += s->found->length;
    }
    return n;
}

Text name_of_mix(const Config *c, int m)
{
    Text name = text_format("layer %d", layer_of_mix(c, m));

    if (is_gated(c))
        text_add(&name, ", unit %d", m % 2 + 1);
    return name;
}

static Text subtitle_of(const Sheet *s)
{
    return text_format("%s (%s)%s, windows of %d: means of %d, over %d head%s",
                       config_mechanisms(s->config).at, task_names[s->config->task],
                       s->study->unmasked ? " unmasked" : "", s->found->length, s->found->windows,
                       s->found->heads, s->found->heads == 1 ? "" : "s");
}

/* If there are more mixes than lines, a selection with the first and the last. */
void sheet_svg(FILE *out, void *sheet)
{
    const Sheet *s = sheet;
    const int T = s->found->length, mixes = s->found->mixes,
              lines = mixes < LINES_MOST ? mixes : LINES_MOST;
    double *k = xmalloc((1 + SPECTRA * LINES_MOST) * (size_t)T * sizeof *k);
    const PlotLine tolerance = { s->study->tolerance, "tolerance" };
    const Text subtitle = subtitle_of(s);
    Text name[LINES_MOST];
    Series series[SPECTRA * LINES_MOST];
    Plot plot = { .title = config_traits(s->config) & HAS_SCORES
                               ? "Singular values of A, and thin those of Q K^T"
                               : "Singular values of A",
                  .subtitle = subtitle.at,
                  .x_label = "number of the singular value",
                  .y_label = "share of the largest",
                  .log_y = true,
                  .series = series,
                  .lines = &tolerance,
                  .n_lines = tolerance.value > LEAST };

    for (int i = 0; i < T; i++)
        k[i] = i + 1;
    for (int i = 0; i < lines; i++) {
        const int m = lines > 1 ? i * (mixes - 1) / (lines - 1) : 0;

        name[i] = name_of_mix(s->config, m);
        plot.n_series +=
            draw_mix(s, m, series + plot.n_series, k, k + (1 + (size_t)(i * SPECTRA)) * (size_t)T);
        series[plot.n_series - 1].name = name[i].at;
    }
    plot_svg(&plot, out);
    free(k);
}
