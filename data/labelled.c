/* Rows of a label and texts, from lines or from CSV. */
#include "data/labelled.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.200s"
#define LINE PATH ":%zu: "

/* A row as it stands in the file: its fields, of which the first few are kept. */
enum { FIELDS = 16 };
typedef struct {
    Bytes field[FIELDS];
    int fields;
    size_t line;
} Fields;

#define ZERO "there is a zero byte: is it a text file?"

static bool has_zero(Bytes b)
{
    return memchr(b.at, 0, b.n) != NULL;
}

/* What is wrong with a label, or NULL. */
static const char *wrong_label(Bytes label)
{
    uint32_t code = 0;

    if (label.n == 0)
        return "the label is empty";
    if (label.n > LABEL_BYTES)
        return "the label is longer than 100 bytes: is it the text?";
    for (size_t i = 0; i < label.n;) {
        const int n = utf8_decode(label.at + i, label.n - i, &code);

        if (n == 0)
            return "the label is not UTF-8";
        if (text_controls(code))
            return "the label has a control character";
        i += (size_t)n;
    }
    return NULL;
}

/* What is wrong with a row, or NULL. */
static const char *wrong_row(const Labelled *row, int texts)
{
    if (has_zero(row->label))
        return ZERO;
    for (int i = 0; i < texts; i++)
        if (has_zero(row->text[i]))
            return ZERO;
    for (int i = 0; i < texts; i++)
        if (row->text[i].n == 0)
            return texts == 1 ? "the text is empty"
                   : i == 0   ? "the first text is empty"
                              : "the second text is empty";
    return wrong_label(row->label);
}

static bool is_named(Bytes field, const char *name)
{
    return field.n == strlen(name) && strncasecmp((const char *)field.at, name, field.n) == 0;
}

/* The column that is named label, or Label, or -1. */
static int named_label(const Fields *f)
{
    for (int i = 0; i < f->fields && i < FIELDS; i++)
        if (is_named(f->field[i], "label"))
            return i;
    return -1;
}

/* Whether the column has the numbers of rows, by the names that common tools give it. */
static bool numbers_rows(Bytes name)
{
    static const char *const names[] = { "", "id", "idx", "index", "Unnamed: 0" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_named(name, names[i]))
            return true;
    return false;
}

/* Takes the columns by their names: labels from one, texts from all but those that number rows. */
static void take_header(LabelledTexts *t, const Fields *f, int label)
{
    int texts = 0;

    if (f->fields > FIELDS)
        die(EXIT_DATA, LINE "%d columns are more than %d", t->path, f->line, f->fields, FIELDS);
    t->column[0] = label;
    for (int i = 0; i < f->fields; i++) {
        if (i == label || numbers_rows(f->field[i]))
            continue;
        if (texts < LABEL_TEXTS)
            t->column[1 + texts] = i;
        texts++;
    }
    if (texts < 1 || texts > LABEL_TEXTS)
        die(EXIT_DATA,
            LINE "beside 'label' and row numbers there must be one column of texts, or two, not %d",
            t->path, f->line, texts);
    t->texts = texts, t->columns = f->fields;
}

/* Dies unless the row has as many columns as the first one, or as are possible if it is that. */
static void check_columns(const LabelledTexts *t, const Fields *f)
{
    if (f->fields < 2 || (t->columns == 0 && f->fields > 1 + LABEL_TEXTS))
        die(EXIT_DATA, LINE "a row is a label and one text, or a label and two, not %d column%s%s",
            t->path, f->line, f->fields, f->fields == 1 ? "" : "s",
            f->field[0].n && *f->field[0].at == '{' ? ": is it JSON?" : "");
    if (t->columns && f->fields != t->columns)
        die(EXIT_DATA, LINE "%d columns where the first row has %d", t->path, f->line, f->fields,
            t->columns);
}

/* Without names the label comes first. */
static void take_unnamed(LabelledTexts *t, const Fields *f)
{
    t->texts = f->fields - 1, t->columns = f->fields;
    for (int i = 0; i < f->fields; i++)
        t->column[i] = i;
}

/* Adds a row, or dies. */
static void add_row(LabelledTexts *t, const Fields *f)
{
    Labelled row = { .line = f->line };

    check_columns(t, f);
    if (t->columns == 0)
        take_unnamed(t, f);
    row.label = f->field[t->column[0]];
    for (int i = 0; i < t->texts; i++)
        row.text[i] = f->field[t->column[1 + i]];
    const char *wrong = wrong_row(&row, t->texts);
    if (wrong)
        die(EXIT_DATA, LINE "%s", t->path, f->line, wrong);
    t->row = xgrow(t->row, t->rows, sizeof *t->row);
    t->row[t->rows++] = row;
}

/* A line that ends before `end`, cut at its tabs. */
static Fields cut(const unsigned char *at, const unsigned char *end, size_t line)
{
    Fields f = { .line = line };

    for (;;) {
        const unsigned char *tab = memchr(at, '\t', (size_t)(end - at));

        if (f.fields < FIELDS)
            f.field[f.fields] = (Bytes){ at, (size_t)((tab ? tab : end) - at) };
        f.fields++;
        if (!tab)
            return f;
        at = tab + 1;
    }
}

/* The first one may be the names of the columns. */
static void take_row(LabelledTexts *t, Fields *f, bool *first)
{
    const int named = *first ? named_label(f) : -1;

    if (named >= 0)
        take_header(t, f, named);
    else
        add_row(t, f);
    *first = false;
}

static void read_lines(LabelledTexts *t)
{
    const unsigned char *at = t->owned, *end = at + t->bytes;
    bool first = true;

    at += strncmp((const char *)at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (size_t line = 1; at < end; line++) {
        const unsigned char *newline = memchr(at, '\n', (size_t)(end - at));
        const unsigned char *stop = newline ? newline : end;
        Fields f = cut(at, stop - (stop > at && stop[-1] == '\r'), line);

        at = stop + 1;
        if (f.fields == 1 && f.field[0].n == 0)
            continue;
        take_row(t, &f, &first);
    }
}

/* Fields are decoded in place, so rows lie in the file here as well. */
static void read_csv(LabelledTexts *t)
{
    Csv csv = csv_open_unnamed(t->owned, t->bytes);
    bool first = true;

    while (csv_next(&csv)) {
        Fields f = { .fields = csv.fields, .line = csv.line };

        if (csv.wrong.n)
            die(EXIT_DATA, LINE "%s", t->path, csv.line, csv.wrong.at);
        for (int i = 0; i < f.fields && i < FIELDS; i++)
            f.field[i] = (Bytes){ (const unsigned char *)csv.field[i], strlen(csv.field[i]) };
        take_row(t, &f, &first);
    }
    csv.text = NULL;
    csv_close(&csv);
}

LabelledTexts labelled_parse(const char *path, unsigned char *text, size_t bytes)
{
    const size_t n = strlen(path);
    LabelledTexts t = { .path = path, .bytes = bytes, .hash = hash_bytes(0, text, bytes) };

    t.owned = text;
    const bool csv = n >= 4 && strcmp(path + n - 4, ".csv") == 0;

    (csv ? read_csv : read_lines)(&t);
    if (t.rows == 0)
        die(EXIT_DATA, PATH " has no rows: each is a label, a %s and a text",
            strcmp(path, "-") == 0 ? "standard input" : path, csv ? "comma" : "tab");
    return t;
}

LabelledTexts labelled_read(const char *path)
{
    size_t bytes;
    unsigned char *text = file_read(path, &bytes);
    const char *looks = file_looks_like(text, bytes);

    if (looks)
        die(EXIT_DATA, PATH " looks like %s, not like labelled texts",
            strcmp(path, "-") == 0 ? "standard input" : path, looks);
    LabelledTexts t = labelled_parse(path, text, bytes);
    t.from_file = true;
    return t;
}

void labelled_free(LabelledTexts *t)
{
    free(t->row);
    free(t->owned);
    *t = (LabelledTexts){ .row = NULL };
}
