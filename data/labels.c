#include "data/labels.h"

#include "data/stories.h"
#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"
#include "ops/base/random.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.200s"
#define LINE PATH ":%zu: "

static const uint64_t HELD_BACK = 0x6c6162656c73; /* a seed that no run has by chance */

/* A row as it stands in the file: its fields, of which the first few are kept. */
enum { FIELDS = 1 + LABEL_TEXTS, PASSAGES_TRAIN = 10000, PASSAGES_VALIDATION = 1000 };
enum { ROWS_TO_JUDGE = 10 };
typedef struct {
    Bytes field[FIELDS];
    int fields;
    size_t line;
} Fields;

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

/* What is wrong with the fields of a row, or NULL. */
static const char *wrong_field(const Fields *f)
{
    for (int i = 0; i < f->fields; i++)
        if (has_zero(f->field[i]))
            return "there is a zero byte: is it a text file?";
    for (int i = 1; i < f->fields; i++)
        if (f->field[i].n == 0)
            return f->fields == 2 ? "the text is empty"
                   : i == 1       ? "the first text is empty"
                                  : "the second text is empty";
    return wrong_label(f->field[0]);
}

/* The column that is named label, or Label, or -1. */
static int named_label(const Fields *f)
{
    for (int i = 0; i < f->fields && i < FIELDS; i++)
        if (f->field[i].n == 5 && strncasecmp((const char *)f->field[i].at, "label", 5) == 0)
            return i;
    return -1;
}

static void label_first(Fields *f, int column)
{
    const Bytes label = f->field[column];

    memmove(f->field + 1, f->field, (size_t)column * sizeof *f->field);
    f->field[0] = label;
}

/* Adds a row, or dies. */
static void add_row(LabelledTexts *t, Fields *f)
{
    if (f->fields < 2 || f->fields > FIELDS)
        die(EXIT_DATA, LINE "a row is a label and one text, or a label and two, not %d column%s",
            t->path, f->line, f->fields, f->fields == 1 ? "" : "s");
    if (t->texts > 0 && f->fields != t->texts + 1)
        die(EXIT_DATA, LINE "%d columns where the first row has %d", t->path, f->line, f->fields,
            t->texts + 1);
    label_first(f, t->label_column);
    const char *wrong = wrong_field(f);
    if (wrong)
        die(EXIT_DATA, LINE "%s", t->path, f->line, wrong);
    t->texts = f->fields - 1;
    t->row = xgrow(t->row, t->rows, sizeof *t->row);
    t->row[t->rows++] =
        (Labelled){ .label = f->field[0], .text = { f->field[1], f->field[2] }, .line = f->line };
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
        t->texts = f->fields - 1, t->label_column = named;
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
        die(EXIT_DATA, PATH " looks like %s, not like rows of a label, a tab and a text", path,
            looks);
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

static int compare(Bytes a, Bytes b)
{
    const int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_rows(const void *a, const void *b)
{
    const Labelled *const *one = a, *const *other = b;
    const int order = compare((*one)->label, (*other)->label);

    return order ? order : (*one > *other) - (*one < *other);
}

/* The rows sorted by label, and then as in the file; for free(). */
static const Labelled **sorted(const LabelledTexts *t)
{
    const Labelled **row = xmalloc(t->rows * sizeof *row);

    for (size_t i = 0; i < t->rows; i++)
        row[i] = &t->row[i];
    qsort(row, t->rows, sizeof *row, compare_rows);
    return row;
}

/* Whether it is the first of its label. */
static bool is_new(const Labelled *const *row, size_t i)
{
    return i == 0 || compare(row[i - 1]->label, row[i]->label) != 0;
}

/*
 * Knuth's algorithm S, as in data/masking.c: with `left` rows still to be chosen of the next
 * `among`, the next is chosen with probability left / among. `stays` marks rows that are not
 * eligible.
 */
static void move_rows(LabelledTexts *from, LabelledTexts *to, size_t left, const bool *stays)
{
    const Random r = random_stream(HELD_BACK, RANDOM_HELD_BACK, from->rows);
    size_t kept = 0, among = 0;

    for (size_t i = 0; i < from->rows; i++)
        among += !stays[i];
    left = left < among ? left : among;
    to->row = xmalloc((left + 1) * sizeof *to->row);
    for (size_t i = 0; i < from->rows; i++)
        if (!stays[i] && random_below(r, i, among--) < left) {
            to->row[to->rows++] = from->row[i];
            left--;
        } else {
            from->row[kept++] = from->row[i];
        }
    from->rows = kept;
}

LabelledTexts labelled_split(LabelledTexts *all, double share)
{
    const Labelled **row = sorted(all);
    bool *stays = xmalloc(all->rows);
    LabelledTexts chosen = *all;

    chosen.row = NULL, chosen.rows = 0, chosen.owned = NULL, chosen.from_file = false;
    for (size_t i = 0; i < all->rows; i++)
        stays[row[i] - all->row] = is_new(row, i);
    move_rows(all, &chosen, (size_t)((double)all->rows * share + 0.5), stays);
    free(stays);
    free(row);
    return chosen;
}

/* Dies if no label occurs twice: there would be nothing to learn from. */
static void check_labels_recur(const LabelledTexts *t)
{
    const Labelled **row = sorted(t);
    size_t labels = 0;

    for (size_t i = 0; i < t->rows; i++)
        labels += is_new(row, i);
    if (t->rows >= ROWS_TO_JUDGE && labels == t->rows)
        die(EXIT_DATA,
            LINE "no label occurs twice, and this one is '%.*s': is it the text? A first row "
                 "text,label would say that labels are in the second column",
            t->path, t->row->line, (int)t->row->label.n, t->row->label.at);
    free(row);
}

/* As if from a file. */
static LabelledTexts passages(uint64_t seed, uint64_t first, size_t rows)
{
    Stories s = stories_labelled(seed, first, rows);

    s.text = xrealloc(s.text, s.bytes + 1);
    s.text[s.bytes] = 0;
    return labelled_parse("built-in stories", (unsigned char *)s.text, s.bytes);
}

LabelCorpus label_corpus(LabelFiles f)
{
    LabelCorpus c = { .train =
                          f.path ? labelled_read(f.path) : passages(f.seed, 0, PASSAGES_TRAIN) };

    check_labels_recur(&c.train);
    if (!f.path)
        c.validation = passages(f.seed, PASSAGES_TRAIN, PASSAGES_VALIDATION);
    else if (f.validation)
        c.validation = labelled_read(f.validation);
    else
        c.validation = labelled_split(&c.train, f.share);
    if (c.validation.rows == 0)
        die(EXIT_DATA,
            PATH ": %zu rows are too few to hold one back: give more, a larger "
                 "--val-share, or --labels-val FILE",
            f.path, c.train.rows);
    if (c.validation.texts != c.train.texts)
        die(EXIT_DATA, PATH " has rows of %d text%s, but " PATH " of %d", f.validation,
            c.validation.texts, c.validation.texts == 1 ? "" : "s", f.path, c.train.texts);
    c.hash = c.train.hash + 3 * (c.validation.owned ? c.validation.hash : 0);
    return c;
}

void label_corpus_free(LabelCorpus *c)
{
    labelled_free(&c->validation);
    labelled_free(&c->train);
}

Labels labels_of(const LabelledTexts *t)
{
    const Labelled **row = sorted(t);
    Labels l = { 0 };

    for (size_t i = 0; i < t->rows; i++) {
        const Bytes name = row[i]->label;

        if (!is_new(row, i))
            continue;
        if (l.n == LABELS_MAX)
            die(EXIT_DATA,
                PATH " has more than %d labels; one is '%.*s' in line %zu: is it the text?",
                t->path, LABELS_MAX, (int)name.n, name.at, row[i]->line);
        l.name[l.n] = xmalloc(name.n + 1);
        memcpy(l.name[l.n], name.at, name.n);
        l.name[l.n++][name.n] = 0;
    }
    free(row);
    if (l.n < 2)
        die(EXIT_DATA, PATH ": all rows have the label '%s': at least two labels are needed",
            t->path, l.name[0]);
    return l;
}

void labels_free(Labels *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->name[i]);
    *l = (Labels){ 0 };
}

int labels_find(const Labels *l, Bytes name)
{
    int low = 0, high = l->n - 1;

    while (low <= high) {
        const int middle = (low + high) / 2;
        const Bytes its = { (const unsigned char *)l->name[middle], strlen(l->name[middle]) };
        const int order = compare(name, its);

        if (order == 0)
            return middle;
        *(order < 0 ? &high : &low) = order < 0 ? middle - 1 : middle + 1;
    }
    return -1;
}

void labels_check(const Labels *l, const LabelledTexts *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        const Labelled *row = &t->row[i];

        if (labels_find(l, row->label) < 0)
            die(EXIT_DATA, LINE "the label '%.*s' does not occur in the training data", t->path,
                row->line, (int)row->label.n, row->label.at);
    }
}
