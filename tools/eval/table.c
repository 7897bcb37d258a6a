#include "tools/eval/table.h"
#include "model/mechanisms.h"

#include "ops/base/error.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"
#include "tools/common/trained.h"
#include "tools/draw/plot.h"

#include <stdlib.h>

enum {
    TEXT = TRAINED_CAUSAL | TRAINED_MASKED,
    ANSWERED = TRAINED_CLASSES | TRAINED_ANSWERS,
    RIGHT = TRAINED_MASKED | ANSWERED
};

/* `kinds`: those of models for which it is printed. */
static const struct {
    const char *name;
    int width, decimals;
    unsigned kinds;
} columns[NUMBERS] = {
    [LENGTH] = { "length", 8, 0, TRAINED_ANY },
    [STRIDE] = { "stride", 8, 0, TEXT },
    [FROM] = { "from", 8, 0, TEXT },
    [TO] = { "to", 8, 0, TEXT },
    [TOKENS] = { "tokens", 10, 0, TEXT },
    [ITEMS] = { "items", 7, 0, TRAINED_ANSWERS },
    [ROWS] = { "rows", 7, 0, ANSWERED },
    [TARGETS] = { "targets", 9, 0, 0 },
    [LOSS] = { "loss", 8, 4, TRAINED_ANY },
    [ERROR] = { "error", 8, 4, TRAINED_ANY },
    [PPL] = { "ppl", 10, 3, TEXT },
    [BITS] = { "bits_per_byte", 14, 4, TRAINED_CAUSAL },
    [WORD_PPL] = { "word_ppl", 10, 1, TRAINED_CAUSAL },
    [ACCURACY] = { "accuracy", 9, 4, RIGHT },
    [ACCURACY_ERROR] = { "acc_error", 10, 4, ANSWERED },
    [EXACT] = { "exact", 7, 4, TRAINED_ANSWERS },
    [F1] = { "macro_f1", 9, 4, TRAINED_CLASSES },
    [GUESS] = { "guess", 7, 4, ANSWERED },
};

/* The part of the model with a --horizon, if there is one. */
static Config bending_part(const Config *c)
{
    for (int i = 0; i < config_parts(c); i++)
        if (attention_takes(config_part(c, i).attention, "horizon"))
            return config_part(c, i);
    return *c;
}

int table_horizon(const Config *c)
{
    const Config part = bending_part(c);

    return setting(&part.set, "horizon");
}

/* Whether windows of this length have only trained positions. */
static bool interpolates(const Table *t, int length)
{
    const Config with_horizon = bending_part(t->config), *c = &with_horizon;
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
    if (column == FROM || column == TO)
        return t->by_position;
    return (columns[column].kinds & t->kind) && (column != ITEMS || t->items);
}

void table_print_header(const Table *t)
{
    for (int i = 0; i < NUMBERS; i++)
        if (is_shown(t, i))
            printf("%*s", columns[i].width, columns[i].name);
    printf("  %-12s context\n", "protocol");
}

/* Columns stay apart: a fraction that would fill its own is rounded. */
static void print_number(int column, double x)
{
    const int room = columns[column].width - 1, decimals = columns[column].decimals;
    const Text exact = text_format("%.*f", decimals, x);

    if (decimals > 0 && exact.n > (size_t)room)
        printf(" %*.2g", room, x);
    else
        printf(" %*s", room, exact.at);
}

static void print_row(const Table *t, const Row *row)
{
    for (int i = 0; i < NUMBERS; i++)
        if (is_shown(t, i) && isnan(row->number[i]))
            printf("%*s", columns[i].width, "-");
        else if (is_shown(t, i))
            print_number(i, row->number[i]);
    printf("  %-12s %s%s\n", t->protocol, row->context,
           row->number[LENGTH] == t->trained ? " <--" : "");
    fflush(stdout);
}

static Row row_of(const Table *t, int length, const Score *s)
{
    Row row = { .context = context_of(t, length) };

    for (int i = 0; i < NUMBERS; i++)
        row.number[i] = (double)NAN;
    row.number[LENGTH] = length;
    row.number[LOSS] = score_loss(s), row.number[ERROR] = score_error(s);
    return row;
}

static Row row_of_score(const Table *t, Protocol p, int bucket, const Score *s)
{
    const bool masked = t->kind == TRAINED_MASKED, parts = p.bucket > 0;
    int from = parts ? bucket * p.bucket : 0, to = parts ? from + p.bucket : p.length;
    Row row = row_of(t, p.length, s);

    row.number[STRIDE] = p.stride;
    row.number[FROM] = from, row.number[TO] = (to < p.length ? to : p.length) - 1;
    row.number[TOKENS] = s->targets;
    row.number[PPL] = exp(score_loss(s));
    row.number[BITS] = masked ? (double)NAN : score_bits(s);
    row.number[WORD_PPL] = masked ? (double)NAN : score_word_ppl(s);
    row.number[ACCURACY] = masked ? s->right / s->targets : (double)NAN;
    return row;
}

static void add(Table *t, Row row)
{
    t->row = xgrow(t->row, (size_t)t->n, sizeof *t->row);
    t->row[t->n++] = row;
    print_row(t, &row);
}

void table_add(Table *t, Protocol p, const Score *score)
{
    for (int i = 0; i < perplexity_scores(p); i++)
        add(t, row_of_score(t, p, i, &score[i]));
}

void table_add_tally(Table *t, int length, int items, const Tally *tally)
{
    Row row = row_of(t, length, &tally->targets);

    row.number[ITEMS] = t->items ? items : (double)NAN;
    row.number[ROWS] = tally->rows.targets, row.number[TARGETS] = tally->targets.targets;
    row.number[ACCURACY] = tally_accuracy(tally);
    row.number[ACCURACY_ERROR] = tally_error(tally);
    row.number[EXACT] = tally_exact(tally), row.number[GUESS] = tally_guess(tally);
    row.number[F1] = t->config->task == TASK_CLASSIFY ? tally_f1(tally) : (double)NAN;
    add(t, row);
}

void table_csv(FILE *out, void *table)
{
    const Table *t = table;
    const Config *c = t->config;

    for (int i = 0; i < NUMBERS; i++)
        fprintf(out, "%s,", columns[i].name);
    fprintf(out, "protocol,rope_scale,horizon,context,step,data\n");
    for (const Row *row = t->row; row < t->row + t->n; row++) {
        for (int i = 0; i < NUMBERS; i++)
            fprintf(out, "%s,", text_number(row->number[i]).at);
        fprintf(out, "%s,%s,%d,%s,%d,%s\n", t->protocol, settings_rope_scale_text(c->rope_scale).at,
                table_horizon(c), row->context, t->step, t->data);
    }
}

/* What the chart shows by length. */
static int drawn(const Table *t)
{
    return t->by_position ? LOSS : t->kind & ANSWERED ? ACCURACY : PPL;
}

/* The standard error of that. */
static double error_of(const Table *t, const double *number)
{
    switch (drawn(t)) {
    case LOSS:
        return number[ERROR];
    case ACCURACY:
        return number[ACCURACY_ERROR];
    default:
        return number[PPL] * number[ERROR];
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
        y[n] = number[drawn(t)];
        error[n] = error_of(t, number);
    }
    *s = (Series){
        .x = x + first, .y = y + first, .error = error + first, .n = n - first, .points = true
    };
    return n - first;
}

/* For reference: the value at the trained length, and what guessing gets. */
static int draw_references(const Table *t, PlotLine line[2])
{
    int n = 0;

    for (const Row *row = t->row; row < t->row + t->n && !t->by_position; row++)
        if (row->number[LENGTH] == t->trained) {
            line[n++] = (PlotLine){ row->number[drawn(t)], "as trained" };
            break;
        }
    if (drawn(t) == ACCURACY)
        line[n++] = (PlotLine){ t->row[t->n - 1].number[GUESS], "most frequent answer" };
    return n;
}

void table_svg(FILE *out, void *table)
{
    const Table *t = table;
    double *numbers = xmalloc(3 * (size_t)t->n * sizeof *numbers);
    Text subtitle = { 0 }, name[OPTION_LIST_MAX] = { { 0 } };
    Series series[OPTION_LIST_MAX];
    PlotLine line[2];
    const char *const title[NUMBERS] = { [LOSS] = "Loss by position",
                                         [PPL] = "Perplexity by length",
                                         [ACCURACY] = "Accuracy by length" };
    const char *const label[NUMBERS] = { [LOSS] = "loss (nats per token)",
                                         [PPL] = "perplexity",
                                         [ACCURACY] = "share of right answers" };
    Plot plot = { .title = title[drawn(t)],
                  .subtitle = subtitle.at,
                  .x_label = t->by_position               ? "position in the window"
                             : t->kind == TRAINED_ANSWERS ? "tokens in a row"
                                                          : "tokens in a window",
                  .y_label = label[drawn(t)],
                  .log_x = !t->by_position,
                  .series = series,
                  .lines = line,
                  .n_lines = draw_references(t, line) };

    text_add(&subtitle, "%s, trained at %d, %s", config_mechanisms(t->config).at, t->trained,
             t->protocol);
    if (t->config->rope_scale.by > 0)
        text_add(&subtitle, ", rope scale %s", settings_rope_scale_text(t->config->rope_scale).at);
    for (int at = 0; at < t->n; plot.n_series++) {
        Text *its = &name[plot.n_series];
        const int count = t->by_position ? LENGTH : t->kind & ANSWERED ? ROWS : TOKENS;

        text_add(its,
                 t->by_position       ? "windows of %.0f"
                 : t->kind & ANSWERED ? "%.0f rows"
                                      : "%.0f tokens",
                 t->row[at].number[count]);
        at += draw_rows(t, at, &series[plot.n_series], numbers);
        series[plot.n_series].name = its->at;
    }
    plot_svg(&plot, out);
    free(numbers);
}
