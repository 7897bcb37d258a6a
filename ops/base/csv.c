#include "ops/base/csv.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 };

/* Returns NULL, for functions that return where to go on. */
static char *refuse(Csv *c, const char *what)
{
    text_add(&c->wrong, "%s", what);
    return NULL;
}

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

/* Decodes a quoted field in place; c->next is left at what ends it. Returns its end. */
static char *take_quoted(Csv *c)
{
    char *to = c->next++;

    for (;; *to++ = *c->next++) {
        if (*c->next == '"' && *++c->next != '"')
            return to;
        if (c->next == c->end)
            return refuse(c, "an unclosed quote");
        if (is_control(*c->next) && *c->next != '\n' && *c->next != '\r')
            return refuse(c, "a control character");
        c->next_line += *c->next == '\n';
    }
}

static char *take_plain(Csv *c)
{
    while (*c->next != ',' && *c->next != '"' && !is_control(*c->next))
        c->next++;
    if (*c->next == '"')
        return refuse(c, "a quote inside an unquoted field: quote the field and double the quote");
    return c->next;
}

static size_t newline_at(const char *s)
{
    return *s == '\n' ? 1 : *s == '\r' && s[1] == '\n' ? 2 : 0;
}

/* Ends a field at `to` and skips the comma or newline; true at the end of the row. */
static bool end_field(Csv *c, char *to)
{
    const char stop = *c->next;
    const size_t newline = newline_at(c->next);

    if (!newline && stop != ',' && c->next != c->end) {
        refuse(c, stop == '\r'       ? "a carriage return inside a line"
                  : is_control(stop) ? "a control character"
                                     : "text after a closing quote");
        return true;
    }
    c->next += newline ? newline : stop == ',';
    c->next_line += newline > 0;
    *to = 0;
    return stop != ',';
}

/* Skips the rest of the line. */
static void skip(Csv *c)
{
    char *newline = memchr(c->next, '\n', (size_t)(c->end - c->next));

    c->next = newline ? newline + 1 : c->end;
    c->next_line++;
}

/* Reads a row and returns the number of its fields, at most one more than are stored; 0: none. */
static int take_row(Csv *c)
{
    int n = 0;

    for (; newline_at(c->next); c->next_line++)
        c->next += newline_at(c->next);
    c->line = c->next_line;
    c->wrong = (Text){ 0 };
    for (bool last = c->next == c->end; !last; n += n <= CSV_COLUMNS) {
        char *field = c->next, *to = *field == '"' ? take_quoted(c) : take_plain(c);

        if (n < CSV_COLUMNS)
            c->field[n] = field;
        last = !to || end_field(c, to);
    }
    if (c->wrong.n)
        skip(c);
    return n;
}

/* Makes the fields of the first row the columns. */
static void name_columns(Csv *c, int n)
{
    if (n == 0)
        refuse(c, "no column names: the file is empty");
    if (n > CSV_COLUMNS)
        text_add(&c->wrong, "more than %d columns", CSV_COLUMNS);
    for (c->columns = 0; c->columns < n && !c->wrong.n; c->columns++) {
        const char *name = c->field[c->columns];

        if (csv_find(c, name) >= 0)
            text_add(&c->wrong, "a second column '%s'", text_cut(name, SHOWN).at);
        c->column[c->columns] = name;
    }
    if (c->wrong.n)
        c->columns = 0;
}

Csv csv_open_unnamed(unsigned char *text, size_t bytes)
{
    Csv c = { .text = (char *)text, .columns = -1, .next_line = 1 };

    c.next = c.text + (strncmp(c.text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    c.end = c.text + bytes;
    c.column = xmalloc(CSV_COLUMNS * sizeof *c.column);
    c.field = xmalloc(CSV_COLUMNS * sizeof *c.field);
    return c;
}

Csv csv_open(unsigned char *text, size_t bytes)
{
    Csv c = csv_open_unnamed(text, bytes);

    name_columns(&c, take_row(&c));
    return c;
}

void csv_close(Csv *c)
{
    free(c->column);
    free(c->field);
    free(c->text);
}

bool csv_next(Csv *c)
{
    const int n = c->fields = take_row(c);

    if (n > CSV_COLUMNS && c->columns < 0 && !c->wrong.n)
        text_add(&c->wrong, "more than %d fields", CSV_COLUMNS);
    if (n && c->columns >= 0 && n != c->columns && !c->wrong.n)
        text_add(&c->wrong, "%d field%s where the first row has %d", n, n > 1 ? "s" : "",
                 c->columns);
    return n > 0;
}

int csv_find(const Csv *c, const char *name)
{
    for (int i = 0; i < c->columns; i++)
        if (strcmp(c->column[i], name) == 0)
            return i;
    return -1;
}

void csv_write_quoted(FILE *out, const char *field)
{
    fputc('"', out);
    for (; *field; field++)
        fprintf(out, *field == '"' ? "\"%c" : "%c", *field);
    fputc('"', out);
}

void csv_write(FILE *out, const char *field)
{
    if (field[strcspn(field, ",\"\r\n")])
        csv_write_quoted(out, field);
    else
        fputs(field, out);
}
