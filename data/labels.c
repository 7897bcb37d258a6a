#include "data/labels.h"

#include "data/stories.h"
#include "ops/base/error.h"
#include "ops/base/random.h"

#include <stdlib.h>
#include <string.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.200s"
#define LINE PATH ":%zu: "

static const uint64_t HELD_BACK = 0x6c6162656c73; /* a seed that no run has by chance */

enum { PASSAGES_TRAIN = 10000, PASSAGES_VALIDATION = 1000, ROWS_TO_JUDGE = 10 };

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

/*
 * Dies if no label occurs twice: there would be nothing to learn from. One in the first row alone
 * may be the name of a column.
 */
static void check_labels_recur(const LabelledTexts *t)
{
    const Labelled **row = sorted(t);
    size_t labels = 0;
    bool first_recurs = false;

    for (size_t i = 0; i < t->rows; i++) {
        labels += is_new(row, i);
        first_recurs |= row[i] != t->row && compare(row[i]->label, t->row->label) == 0;
    }
    if (t->rows >= ROWS_TO_JUDGE && t->row->line == 1 && !first_recurs && labels < t->rows)
        warn(LINE "no other row has the label '%.*s': if it is the name of a column, call that "
                  "column 'label'",
             t->path, t->row->line, (int)t->row->label.n, t->row->label.at);
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
