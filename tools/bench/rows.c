/*
 * Rows and their file: CSV with the name in quotes, for spreadsheets and --against.
 */
#include "tools/bench/bench.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include "tools/common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "group,name,seconds,flop_s,byte_s,share_of_peak,mechanism,length,batch,"
                           "forward_ns_token,backward_ns_token,bytes_token,decode_ns_token";

enum {
    SECONDS = 2, /* after the group and the name */
    FLOPS,
    BYTES,
    SHARE,
    MECHANISM,
    LENGTH,
    BATCH,
    FORWARD,
    BACKWARD,
    HELD,
    STEP,
    COLUMNS
};

enum { LINES = 10000, SHOWN = 120 };

const Row *rows_find(const Rows *rows, const char *group, const char *name)
{
    for (int i = 0; i < rows->n; i++)
        if (strcmp(rows->at[i].group, group) == 0 && strcmp(rows->at[i].name, name) == 0)
            return &rows->at[i];
    return NULL;
}

const Row *rows_machine(const Rows *rows)
{
    for (int i = 0; i < rows->n; i++)
        if (strcmp(rows->at[i].group, "machine") == 0)
            return &rows->at[i];
    return NULL;
}

void rows_put(Rows *rows, Row r)
{
    const Row *found = rows_find(rows, r.group, r.name);
    int at = found ? (int)(found - rows->at) : rows->n;

    if (found)
        r.step = rows->at[at].step = fmin(r.step, found->step);
    if (found && r.seconds > found->seconds)
        return;
    if (!rows->mem)
        rows->mem = arena_new();
    r.group = arena_string(rows->mem, r.group), r.name = arena_string(rows->mem, r.name);
    r.mechanism = r.mechanism ? arena_string(rows->mem, r.mechanism) : NULL;
    if (!found)
        rows->at = xrealloc(rows->at, (size_t)++rows->n * sizeof *rows->at);
    rows->at[at] = r;
}

void rows_free(Rows *rows)
{
    if (rows->mem)
        arena_free(rows->mem);
    free(rows->at);
    *rows = (Rows){ 0 };
}

/* Empty where the number does not apply. */
static void field(FILE *out, double x)
{
    fputc(',', out);
    if (x > 0)
        fputs(text_number(x).at, out);
}

static void row_write(Row r, double peak, FILE *out)
{
    fprintf(out, "%s,\"%s\"", r.group, r.name);
    field(out, r.seconds);
    field(out, r.flops / r.seconds);
    field(out, r.bytes / r.seconds);
    field(out, r.flops / r.seconds / peak);
    fprintf(out, ",%s", r.mechanism ? r.mechanism : "");
    field(out, r.length);
    field(out, r.batch);
    field(out, r.forward);
    field(out, r.backward);
    field(out, r.held);
    field(out, r.step);
    fputc('\n', out);
}

void rows_write(FILE *out, void *ctx)
{
    const Rows *rows = ctx;

    fprintf(out, "%s\n", head);
    for (int i = 0; i < rows->n; i++)
        row_write(rows->at[i], rows_machine(rows)->flops, out);
}

static bool number(const char *s, double *x)
{
    const char *end = s;

    *x = 0;
    return !*s || (options_number(s, &end, x) && !*end && *x > 0);
}

static bool read_row(const char *const *field, Row *r)
{
    const char *group = field[0], *name = field[1], *mechanism = field[MECHANISM];
    double x[COLUMNS];

    for (int i = SECONDS; i < COLUMNS; i++)
        if (i != MECHANISM && !number(field[i], &x[i]))
            return false;
    if (!*group || !*name || x[LENGTH] > 1e9 || x[BATCH] > 1e9)
        return false;
    *r = (Row){ .group = group, .name = name, .mechanism = *mechanism ? mechanism : NULL };
    r->seconds = x[SECONDS], r->flops = x[FLOPS] * r->seconds, r->bytes = x[BYTES] * r->seconds;
    r->length = (int)x[LENGTH], r->batch = (int)x[BATCH];
    r->forward = x[FORWARD], r->backward = x[BACKWARD], r->held = x[HELD], r->step = x[STEP];
    if (!isfinite(r->flops) || !isfinite(r->bytes))
        return false;
    return r->seconds > 0 || strcmp(r->group, "option") == 0;
}

static noreturn void refuse(const char *path, size_t line)
{
    die(EXIT_DATA, "%s, line %zu: not written by %s --save; measure again",
        text_cut(path, SHOWN).at, line, options_installed("./bench").at);
}

Rows rows_read(const char *path)
{
    size_t bytes;
    unsigned char *file = file_read(path, &bytes);
    const size_t n = strlen(head);
    const bool ours = strncmp((char *)file, head, n) == 0 && file[n] == '\n';
    Csv csv = csv_open(file, bytes);
    Rows rows = { 0 };
    Row r;

    if (!ours)
        refuse(path, 1);
    while (csv_next(&csv)) {
        const bool line = csv.next_line == csv.line + 1; /* one, with its end */

        if (csv.wrong.n || !line || csv.line > LINES || !read_row(csv.field, &r))
            refuse(path, csv.line);
        rows_put(&rows, r);
    }
    if (!rows_machine(&rows) || rows_machine(&rows)->flops <= 0)
        refuse(path, csv.line);
    csv_close(&csv);
    return rows;
}
