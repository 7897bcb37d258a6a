/* Reads ./figure's files and selects rows and columns. */
#include "tools/figure/figure.h"
#include "tools/figure/source.h"

#include "ops/base/error.h"
#include "ops/base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 60 };

/* Values, separated by BETWEEN. */
typedef struct {
    char *at;
    size_t room;
} Key;

/* The files, and where the columns are in the current one; NOWHERE: it lacks the column. */
typedef struct {
    const Wanted *wanted;
    Source *source;
    int files;
    int x, y, pair, split, by[OPTION_TEXTS_MAX], tuned[OPTION_TEXTS_MAX], where[OPTION_TEXTS_MAX];
    Text first_split;   /* of the rows with a number, where these must not be mixed */
    Key key, tuned_key; /* of a row */
    Text others;        /* values of the column that --where selects by, if it is one */
} Reader;

/* "attn" of "attn=softmax|relu". */
static size_t where_name(const char *where)
{
    return strcspn(where, "=");
}

double figure_number(const char *s)
{
    const char *end, *word;
    double x;

    s += strspn(s, " \t");
    s += *s == '+';
    word = s + (*s == '-');
    if (options_number(s, &end, &x) && !end[strspn(end, " \t")])
        return x;
    if (strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0)
        return *s == '-' ? -HUGE_VAL : HUGE_VAL;
    return (double)NAN;
}

static void check_row(const Source *s)
{
    if (s->csv.wrong.n)
        die(EXIT_DATA, "%s, line %zu: %s", text_cut(s->path, 2 * SHOWN).at, s->csv.line,
            s->csv.wrong.at);
}

/* False: it is a run or a log without losses. A folder without a log is one, too, unless it is the
 * only file: then the log cannot be opened. */
static bool open_file(Source *s, const char *path, bool single)
{
    if (!single && source_lacks_log(path))
        return false;
    *s = source_open(path);
    if (!s->log || s->csv.columns > 0)
        return true;
    source_close(s);
    return false;
}

/* Of several files leaves out runs without losses; runs in folders of the same name are known by
 * their paths. */
static void open_files(Reader *r, char **path)
{
    const int paths = r->files;
    int *first = file_firsts((const char *const *)path, paths);

    r->source = xmalloc((size_t)paths * sizeof *r->source);
    r->files = 0;
    for (int i = 0; i < paths; i++) {
        Source *s = &r->source[r->files];

        if (first[i] < i) {
            warn("left out: %s is given twice", text_cut(path[i], 2 * SHOWN).at);
            continue;
        }
        if (!open_file(s, path[i], paths == 1)) {
            const Text why = text_format("%s has no losses%s", text_cut(path[i], 2 * SHOWN).at,
                                         file_is_folder(path[i]) ? " in a log.jsonl" : "");

            if (paths == 1)
                die(EXIT_DATA, "%s", why.at);
            warn("left out: %s", why.at);
            continue;
        }
        path[r->files++] = path[i];
        check_row(s);
    }
    free(first);
    if (r->files == 0)
        die(EXIT_DATA, "none of the %d folders has losses in a log.jsonl", paths);
    for (int i = 0; i < r->files; i++)
        for (int j = 0; j < r->files; j++)
            if (j != i && strcmp(r->source[i].run, r->source[j].run) == 0)
                r->source[i].value[0] = path[i];
}

/* Dies unless some file has a column with that name, of n bytes. */
static void check_column(const Reader *r, const char *option, const char *name, size_t n)
{
    Nearest near = { .given = name, .n = n };
    const Text shown = text_format("%.*s", (int)(n < SHOWN ? n : SHOWN), name);

    for (int i = 0; i < r->files; i++)
        if (source_find(&r->source[i], name, n) != NOWHERE)
            return;
    for (int i = 0; i < r->files; i++)
        for (int c = 0; source_column(&r->source[i], c); c++)
            options_nearer(&near, source_column(&r->source[i], c));
    if (near.name)
        die(EXIT_USAGE, "--%s: no column is called %s: did you mean %s?", option, shown.at,
            near.name);
    die(EXIT_USAGE, "--%s: no column is called %s in the first row of %s", option, shown.at,
        text_cut(r->source[0].path, 2 * SHOWN).at);
}

static void check_columns(const Reader *r)
{
    const Wanted *w = r->wanted;

    check_column(r, "y", w->y, strlen(w->y));
    if (w->x)
        check_column(r, "x", w->x, strlen(w->x));
    if (w->versus)
        check_column(r, "pair", w->pair, strlen(w->pair));
    for (int i = 0; i < w->by.n; i++)
        check_column(r, "by", w->by.at[i], strlen(w->by.at[i]));
    for (int i = 0; i < w->tuned.n; i++)
        check_column(r, "tuned", w->tuned.at[i], strlen(w->tuned.at[i]));
    for (int i = 0; i < w->where.n; i++) {
        const char *where = w->where.at[i];

        if (!where[where_name(where)])
            die(EXIT_USAGE, "--where %s: must be COL=VALUE, or COL=VALUE|VALUE",
                text_cut(where, SHOWN).at);
        check_column(r, "where", where, where_name(where));
    }
}

/* Whether rows are selected or told apart by their split. */
static bool has_split(const Wanted *w)
{
    bool split = false;

    for (int i = 0; i < w->by.n; i++)
        split |= strcmp(w->by.at[i], "split") == 0;
    for (int i = 0; i < w->where.n; i++)
        split |= strncmp(w->where.at[i], "split=", 6) == 0;
    return split;
}

static void find_columns(Reader *r, const Source *s)
{
    const Wanted *w = r->wanted;

    r->y = source_find(s, w->y, strlen(w->y));
    r->x = w->x ? source_find(s, w->x, strlen(w->x)) : NOWHERE;
    r->pair = w->versus ? source_find(s, w->pair, strlen(w->pair)) : NOWHERE;
    for (int i = 0; i < w->by.n; i++)
        r->by[i] = source_find(s, w->by.at[i], strlen(w->by.at[i]));
    for (int i = 0; i < w->tuned.n; i++)
        r->tuned[i] = source_find(s, w->tuned.at[i], strlen(w->tuned.at[i]));
    for (int i = 0; i < w->where.n; i++)
        r->where[i] = source_find(s, w->where.at[i], where_name(w->where.at[i]));
    const bool measured = r->y < s->csv.columns; /* and not an option, which all rows share */
    r->split = s->log && measured && !has_split(w) ? source_find(s, "split", 5) : NOWHERE;
}

/* Whether `have` is the n bytes at `want`, or the same number. */
static bool is_value(const char *have, const char *want, size_t n)
{
    const char *end;
    double number;

    if (strlen(have) == n && memcmp(have, want, n) == 0)
        return true;
    return options_number(want, &end, &number) && end == want + n && figure_number(have) == number;
}

/* Whether `have` is one of "softmax|relu". */
static bool is_among(const char *have, const char *values)
{
    for (;; values++) {
        const size_t n = strcspn(values, "|");

        if (is_value(have, values, n))
            return true;
        values += n;
        if (!*values)
            return false;
    }
}

/* Adds a value that was not selected to the list, as long as it is short. */
static void add_other(Text *others, const char *value)
{
    const Text listed = text_format(", %s,", others->at);

    if (*value && others->n < 2 * SHOWN && !strstr(listed.at, text_format(", %s,", value).at))
        text_add(others, "%s%s", others->n ? ", " : "", text_cut(value, SHOWN).at);
}

static bool is_wanted(Reader *r, const Source *s)
{
    for (int i = 0; i < r->wanted->where.n; i++) {
        const char *where = r->wanted->where.at[i], *value = source_field(s, r->where[i]);

        if (is_among(value, where + where_name(where) + 1))
            continue;
        if (r->wanted->where.n == 1)
            add_other(&r->others, value);
        return false;
    }
    return true;
}

/* The values of n columns. */
static const char *make_key(Key *key, const Source *s, const int *column, int columns)
{
    size_t n = 0;

    for (int i = 0; i < columns; i++) {
        const char *value = source_field(s, column[i]);
        const size_t length = strlen(value);

        if (n + length + 1 > key->room) {
            key->room = 2 * (n + length + 1);
            key->at = xrealloc(key->at, key->room);
        }
        memcpy(key->at + n, value, length);
        n += length;
        key->at[n++] = BETWEEN;
    }
    if (n > 0)
        key->at[n - 1] = 0;
    return n > 0 ? key->at : "";
}

/* Dies if this row of a log is of training, and others of validation, and nobody chose. */
static void check_split(Reader *r, const Source *s)
{
    const Text split = text_cut(source_field(s, r->split), SHOWN);

    if (r->first_split.n && strcmp(split.at, r->first_split.at) != 0)
        die(EXIT_USAGE,
            "%s has values of %s both for training and for validation: select them with --where "
            "split=val, train or final",
            text_cut(s->path, 2 * SHOWN).at, text_cut(r->wanted->y, SHOWN).at);
    r->first_split = split;
}

static void add_row(Reader *r, const Source *s, Gather *g, Figure *f)
{
    const Wanted *w = r->wanted;
    const char *x = w->x ? source_field(s, r->x) : w->y;
    const char *pair = source_field(s, r->pair);
    const double y = figure_number(source_field(s, r->y));
    const Text number = text_number(figure_number(x)); /* 16 and 16.0 are one column */
    const Text seed = text_number(figure_number(pair));

    if (!*x)
        f->no_x++;
    else if (isnan(y))
        f->no_y++;
    else {
        if (r->split != NOWHERE)
            check_split(r, s);
        gather_add(g, (Gathered){ .key = make_key(&r->key, s, r->by, w->by.n),
                                  .column = number.n ? number.at : x,
                                  .tuned = make_key(&r->tuned_key, s, r->tuned, w->tuned.n),
                                  .pair = seed.n ? seed.at : pair,
                                  .y = y,
                                  .file = (int)(s - r->source) });
    }
}

/* Whether it is a run whose options --where does not rule out. */
static bool is_chosen(const Reader *r, const Source *s)
{
    for (int i = 0; i < r->wanted->where.n; i++) {
        const char *where = r->wanted->where.at[i];

        if (r->where[i] >= s->csv.columns &&
            !is_among(source_field(s, r->where[i]), where + where_name(where) + 1))
            return false;
    }
    return s->config != NULL;
}

static void count_run(Figure *f, const Source *s, bool used)
{
    f->runs++;
    if (!used && f->unused++ == 0)
        f->first_unused = text_cut(s->path, 2 * SHOWN);
}

/* What differs between the files whose rows are averaged. */
static void find_differences(const Reader *r, Figure *f)
{
    for (int i = 0; i < r->files; i++)
        if (f->with[i] != i)
            source_differences(&r->source[f->with[i]], &r->source[i], &f->differs);
}

Figure figure_read(const Wanted *wanted, int files, char **path)
{
    Reader r = { .wanted = wanted, .files = files };
    Figure f = { .wanted = wanted };
    Gather *g = gather_new(files);
    size_t rows = 0, left = 0, before = 0;

    open_files(&r, path);
    check_columns(&r);
    for (int i = 0; i < r.files; i++) {
        Source *s = &r.source[i];

        for (find_columns(&r, s); csv_next(&s->csv); rows++) {
            check_row(s);
            if (!is_wanted(&r, s))
                continue;
            left++;
            add_row(&r, s, g, &f);
        }
        if (is_chosen(&r, s))
            count_run(&f, s, left - f.no_x - f.no_y > before);
        before = left - f.no_x - f.no_y;
    }
    if (left == 0 && r.others.n)
        die(EXIT_DATA, "no row matches --where %s: there are %s%s",
            text_cut(wanted->where.at[0], SHOWN).at, r.others.at,
            r.others.n < 2 * SHOWN ? "" : ", ...");
    if (left == f.no_x + f.no_y)
        die(EXIT_DATA, "of %zu rows %zu match, and none has a number in column %s%s%s", rows, left,
            text_cut(wanted->y, SHOWN).at, wanted->x ? " and a value in " : "",
            wanted->x ? text_cut(wanted->x, SHOWN).at : "");
    gather_end(g, &f);
    find_differences(&r, &f);
    for (int i = 0; i < r.files; i++)
        source_close(&r.source[i]);
    free(r.source);
    free(r.key.at);
    free(r.tuned_key.at);
    return f;
}
