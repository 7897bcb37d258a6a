/*
 * From rows to cells. Each text is stored once and known by its number (data/numbering.h); then the
 * rows are sorted by line and column, so that the rows of a cell are adjacent, in the order of the
 * files.
 *
 *     mean = y_1 + sum (y_i - y_1) / n          exact, and with sd = 0,
 *     sd^2 = sum (y_i - mean)^2 / (n - 1)       where all numbers are equal
 */
#include "tools/figure/figure.h"

#include "data/numbering.h"
#include "ops/base/error.h"
#include "tools/common/interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 };

typedef struct {
    size_t line, column, tuned, number;
    uint32_t pair; /* UNNUMBERED: it has none */
    double y;
    int file;
} Row;

struct Gather {
    Arena *mem;
    Numbers lines, columns, tuned, pairs;
    Row *row;
    size_t rows;
    int files;
};

/* The number of a text, which is copied when it is new. */
static uint32_t number_of(Numbers *texts, const char *s, Arena *mem)
{
    const uint32_t known = texts->n,
                   number = numbers_add(texts, (Bytes){ (const unsigned char *)s, strlen(s) });

    if (number == known)
        texts->thing[number].at = (const unsigned char *)arena_string(mem, s);
    return number;
}

static const char *text_of(const Numbers *texts, size_t number)
{
    return (const char *)texts->thing[number].at;
}

Gather *gather_new(int files)
{
    Gather *g = xmalloc(sizeof *g);

    *g = (Gather){ .mem = arena_new(), .files = files };
    return g;
}

void gather_add(Gather *g, Gathered row)
{
    g->row = xgrow(g->row, g->rows, sizeof *g->row);
    g->row[g->rows] = (Row){
        .line = number_of(&g->lines, row.key, g->mem),
        .column = number_of(&g->columns, row.column, g->mem),
        .tuned = number_of(&g->tuned, row.tuned, g->mem),
        .number = g->rows,
        .pair = *row.pair ? number_of(&g->pairs, row.pair, g->mem) : UNNUMBERED,
        .y = row.y,
        .file = row.file,
    };
    g->rows++;
}

static int compare(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_lines(const void *a, const void *b)
{
    const Line *x = a, *y = b;

    return x->order == y->order ? compare(x->first, y->first) : compare(x->order, y->order);
}

static int compare_columns(const void *a, const void *b)
{
    const Column *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

static int compare_rows(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    const int by_line = compare(x->line, y->line), by_column = compare(x->column, y->column);

    return by_line ? by_line : by_column ? by_column : compare(x->number, y->number);
}

static int compare_tuned(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    const int by_line = compare(x->line, y->line), by_tuned = compare(x->tuned, y->tuned);

    return by_line ? by_line : by_tuned ? by_tuned : compare(x->number, y->number);
}

/* Keeps the rows of each line that have its best values of --tuned: those of the most rows, and of
 * these the best mean. */
static void keep_tuned(Gather *g, bool largest)
{
    Row *row = g->row;
    size_t kept = 0;

    qsort(row, g->rows, sizeof *row, compare_tuned);
    for (size_t from = 0, to; from < g->rows; from = to) {
        const size_t line = row[from].line;
        size_t best = from, most = 0;
        double least = HUGE_VAL;

        for (to = from; to < g->rows && row[to].line == line;) {
            const size_t first = to;
            double mean = 0;

            for (; to < g->rows && row[to].line == line && row[to].tuned == row[first].tuned; to++)
                mean += largest ? -row[to].y : row[to].y;
            mean /= (double)(to - first);
            if (to - first > most || (to - first == most && mean < least))
                best = first, most = to - first, least = isnan(mean) ? HUGE_VAL : mean;
        }
        memmove(row + kept, row + best, most * sizeof *row);
        kept += most;
    }
    g->rows = kept;
}

/* The values as "softmax 64"; without --by the one line has the name of the numbers. */
static const char *name_of(const Figure *f, const char *key)
{
    char *name = arena_take(f->mem, strlen(key) + 1), *to = name;

    if (f->wanted->by.n == 0)
        return f->wanted->y;
    for (; *key; key++)
        if (*key != BETWEEN)
            *to++ = *key;
        else if (to > name && to[-1] != ' ')
            *to++ = ' ';
    to -= to > name && to[-1] == ' ';
    *to = 0;
    return *name ? name : "-";
}

static size_t order_of(const OptionTexts *order, const char *name)
{
    for (int i = 0; i < order->n; i++)
        if (strcmp(order->at[i], name) == 0)
            return (size_t)i;
    return SIZE_MAX;
}

/* Makes the lines, and gives each row the new number of its line. */
static void order_lines(const Gather *g, Figure *f)
{
    size_t *at = xmalloc(g->lines.n * sizeof *at);

    f->lines = g->lines.n;
    f->line = arena_take(f->mem, f->lines * sizeof *f->line);
    for (size_t i = 0; i < f->lines; i++) {
        const char *key = text_of(&g->lines, i), *name = name_of(f, key);

        f->line[i] = (Line){
            .key = key, .name = name, .order = order_of(&f->wanted->order, name), .first = i
        };
    }
    qsort(f->line, f->lines, sizeof *f->line, compare_lines);
    for (size_t i = 0; i < f->lines; i++)
        at[f->line[i].first] = i;
    for (size_t i = 0; i < g->rows; i++) {
        g->row[i].line = at[g->row[i].line];
        f->line[g->row[i].line].tuned = text_of(&g->tuned, g->row[i].tuned);
    }
    free(at);
}

static void order_columns(const Gather *g, Figure *f)
{
    size_t *at = xmalloc(g->columns.n * sizeof *at);

    f->columns = g->columns.n;
    f->column = arena_take(f->mem, f->columns * sizeof *f->column);
    f->numbers = true;
    for (size_t i = 0; i < f->columns; i++) {
        const char *text = text_of(&g->columns, i);

        f->column[i] = (Column){ text, figure_number(text), i };
        f->numbers = f->numbers && isfinite(f->column[i].value);
    }
    if (f->numbers)
        qsort(f->column, f->columns, sizeof *f->column, compare_columns);
    for (size_t i = 0; i < f->columns; i++)
        at[f->column[i].first] = i;
    for (size_t i = 0; i < g->rows; i++)
        g->row[i].column = at[g->row[i].column];
    free(at);
}

/* Of n rows. If some are infinite, the mean is infinite too, or NaN if both signs occur. */
static Cell cell_of(const Row *row, size_t n)
{
    Cell c = { row->line, row->column, n, 0, row->y, row->y, (double)NAN };
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        c.min = fmin(c.min, row[i].y);
        c.max = fmax(c.max, row[i].y);
        sum += row[i].y - row->y;
    }
    c.mean = isinf(c.min) || isinf(c.max) ? c.min + c.max : row->y + sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (row[i].y - c.mean) * (row[i].y - c.mean);
    if (n > 1 && isfinite(c.mean))
        c.sd = sqrt(squares / (double)(n - 1));
    return c;
}

static void make_cells(const Gather *g, Figure *f)
{
    f->cell = arena_take(f->mem, g->rows * sizeof *f->cell);
    f->with = arena_take(f->mem, (size_t)g->files * sizeof *f->with);
    for (int i = 0; i < g->files; i++)
        f->with[i] = i;
    for (size_t from = 0, to; from < g->rows; from = to) {
        const Row *row = &g->row[from];

        for (to = from; to < g->rows; to++)
            if (g->row[to].line != row->line || g->row[to].column != row->column)
                break;
            else if (f->with[g->row[to].file] == g->row[to].file)
                f->with[g->row[to].file] = row->file;
        f->cell[f->cells] = cell_of(row, to - from);
        Line *line = &f->line[row->line];
        if (line->cells++ == 0)
            line->cell = &f->cell[f->cells];
        f->cells++;
    }
}

/* Within a cell, by pair. */
static int compare_pairs(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    const bool same = x->line == y->line && x->column == y->column;

    return same && x->pair != y->pair ? compare(x->pair, y->pair) : compare_rows(a, b);
}

/* The rows of a cell. */
typedef struct {
    const Row *row;
    size_t n;
} Rows;

static void check_pairs(const Gather *g, const Figure *f, Rows rows)
{
    for (size_t i = 1; i < rows.n; i++)
        if (rows.row[i].pair == rows.row[i - 1].pair && rows.row[i].pair != UNNUMBERED)
            die(EXIT_USAGE,
                "--versus: %s has several rows whose %s is %s: tell them apart with --by or --x, or "
                "select with --where",
                text_cut(f->line[rows.row->line].name, SHOWN).at,
                text_cut(f->wanted->pair, SHOWN).at,
                text_cut(text_of(&g->pairs, rows.row[i].pair), SHOWN).at);
}

/* Of the rows that have a pair: the mean of their differences, and half of its interval. */
static Cell difference_of(Rows rows, Rows base)
{
    Row *d = xmalloc(rows.n * sizeof *d);
    size_t n = 0;
    Cell c = { .line = rows.row->line, .column = rows.row->column };

    for (size_t i = 0, j = 0; i < rows.n; i++) {
        while (j < base.n && base.row[j].pair < rows.row[i].pair)
            j++;
        if (j == base.n || base.row[j].pair != rows.row[i].pair || rows.row[i].pair == UNNUMBERED)
            continue;
        d[n] = rows.row[i];
        d[n].y -= base.row[j].y;
        n += !isnan(d[n].y);
    }
    if (n > 0)
        c = cell_of(d, n);
    if (n > 1)
        c.sd = interval_half(c.sd, n);
    free(d);
    return c;
}

Text figure_lacks(const Figure *f, const char *name)
{
    Nearest near = { .given = name, .n = strlen(name) };

    for (size_t i = 0; i < f->lines; i++) {
        if (strcmp(f->line[i].name, name) == 0)
            return (Text){ 0 };
        options_nearer(&near, f->line[i].name);
    }
    if (!near.name)
        return text_format("no line is called %s", text_cut(name, SHOWN).at);
    return text_format("no line is called %s: did you mean %s?", text_cut(name, SHOWN).at,
                       text_cut(near.name, SHOWN).at);
}

/* The line that --versus names. */
static size_t base_of(const Figure *f)
{
    const Text lacks = figure_lacks(f, f->wanted->versus);
    size_t i = 0;

    if (lacks.n)
        die(EXIT_USAGE, "--versus: %s", lacks.at);
    while (strcmp(f->line[i].name, f->wanted->versus) != 0)
        i++;
    return i;
}

static void make_pairs(const Gather *g, Figure *f)
{
    const size_t base = base_of(f);
    Rows *of_base = xmalloc(f->columns * sizeof *of_base);
    const Row *row = g->row;
    size_t pairs = 0;

    qsort(g->row, g->rows, sizeof *g->row, compare_pairs);
    for (size_t i = 0; i < f->columns; i++)
        of_base[i] = (Rows){ NULL, 0 };
    f->apart = arena_take(f->mem, f->cells * sizeof *f->apart);
    for (size_t i = 0; i < f->cells; row += f->cell[i++].n)
        if (f->cell[i].line == base)
            of_base[f->cell[i].column] = (Rows){ row, f->cell[i].n };
    row = g->row;
    for (size_t i = 0; i < f->cells; row += f->cell[i++].n) {
        const Rows rows = { row, f->cell[i].n };

        check_pairs(g, f, rows);
        f->apart[i] = (Cell){ .line = f->cell[i].line, .column = f->cell[i].column };
        if (f->cell[i].line != base)
            f->apart[i] = difference_of(rows, of_base[f->cell[i].column]);
        pairs += f->apart[i].n;
    }
    free(of_base);
    if (pairs == 0)
        die(EXIT_DATA, "--versus: no row of another line has a %s that %s has, too",
            text_cut(f->wanted->pair, SHOWN).at, text_cut(f->wanted->versus, SHOWN).at);
}

void gather_end(Gather *g, Figure *f)
{
    f->mem = g->mem;
    if (f->wanted->tuned.n > 0)
        keep_tuned(g, f->wanted->largest);
    order_lines(g, f);
    order_columns(g, f);
    qsort(g->row, g->rows, sizeof *g->row, compare_rows);
    make_cells(g, f);
    if (f->wanted->versus)
        make_pairs(g, f);
    numbers_free(&g->lines);
    numbers_free(&g->columns);
    numbers_free(&g->tuned);
    numbers_free(&g->pairs);
    free(g->row);
    free(g);
}
