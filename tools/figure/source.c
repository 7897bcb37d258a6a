#include "tools/figure/source.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/options.h"
#include "tools/common/shown.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 120, KEYS_MOST = 64, CONFIG_BYTES = 1 << 24, LINE_BYTES = 1 << 24 };

/* The lines of a log as CSV: its first row has the names of all their members. */
typedef struct {
    const char *path;
    const unsigned char *text;
    size_t bytes;
    const char *key[KEYS_MOST];
    int keys;
    Arena *mem, *line; /* of the names, and of one line at a time */
} Log;

/* A line of numbers; NULL: it says how the run was started, or is cut off at the end. */
static const Json *line_of(const Log *log, size_t from, size_t *next, int number)
{
    const char *at = (const char *)log->text + from, *end = memchr(at, '\n', log->bytes - from);
    Text why = { 0 };

    *next = end ? (size_t)(end + 1 - (const char *)log->text) : log->bytes;
    if (!end)
        return NULL;
    if (end - at > LINE_BYTES)
        die(EXIT_DATA, "%s, line %d: has %td bytes", text_cut(log->path, SHOWN).at, number,
            end - at);
    arena_reset(log->line);
    const Json *j = json_read(log->line, at, (size_t)(end - at), &why);
    if (j && j->kind != JSON_OBJECT)
        text_add(&why, "is not an object");
    if (why.n)
        die(EXIT_DATA, "%s, line %d: %s", text_cut(log->path, SHOWN).at, number, why.at);
    return json_find(j, "run") ? NULL : j;
}

static void add_keys(Log *log, const Json *line)
{
    for (const Json *j = line ? line->first : NULL; j; j = j->next) {
        int i = 0;

        while (i < log->keys && strcmp(log->key[i], j->name) != 0)
            i++;
        if (i == log->keys && i < KEYS_MOST)
            log->key[log->keys++] = arena_string(log->mem, j->name);
    }
}

/* A control character would be refused in a CSV. */
static void put_field(FILE *out, const char *s, bool first)
{
    Text field = text_cut(s, SHOWN);

    text_plain(field.at);
    fputs(first ? "" : ",", out);
    csv_write(out, field.at);
}

static void print_csv(FILE *out, void *ctx)
{
    Log *log = ctx;
    const Json *line;
    int number = 1;

    for (size_t at = 0; at < log->bytes; number++)
        add_keys(log, line_of(log, at, &at, number));
    for (int i = 0; i < log->keys; i++)
        put_field(out, log->key[i], i == 0);
    fputc('\n', out);
    for (size_t at = 0; at < log->bytes;) {
        if (!(line = line_of(log, at, &at, 0)))
            continue;
        for (int i = 0; i < log->keys; i++)
            put_field(out, json_text(json_find(line, log->key[i])).at, i == 0);
        fputc('\n', out);
    }
}

static unsigned char *read_log(const char *path, size_t *bytes)
{
    Log log = { .path = path, .mem = arena_new(), .line = arena_new() };
    unsigned char *text = file_read(path, &log.bytes);

    log.text = text;
    char *csv = print_to_memory(print_csv, &log, bytes);
    arena_free(log.mem);
    arena_free(log.line);
    free(text);
    return (unsigned char *)csv;
}

/* The configuration beside the file, if there is one that can be read. */
static const Json *config_beside(const Source *s, const char *folder)
{
    const char *path = arena_format(s->mem, "%s/config.json", folder);
    size_t bytes;
    Text why;

    if (access(path, R_OK) != 0)
        return NULL;
    unsigned char *text = file_read(path, &bytes);
    const Json *j = NULL;
    if (bytes <= CONFIG_BYTES)
        j = json_read(s->mem, (const char *)text, bytes, &why);
    free(text);
    return j && j->kind == JSON_OBJECT ? j : NULL;
}

/* A run is called like its folder; results that are not in one, like their file. */
static void find_run(Source *s)
{
    char *folder = arena_string(s->mem, s->path), *slash = strrchr(folder, '/');
    char *file = slash ? slash + 1 : folder;

    if (slash)
        *slash = 0;
    if (strcmp(s->path, "-") != 0)
        s->config = config_beside(s, slash ? folder : ".");
    if (s->config && slash) {
        slash = strrchr(folder, '/');
        s->run = slash ? slash + 1 : folder;
    } else {
        char *dot = strrchr(file, '.');

        if (dot && dot > file)
            *dot = 0;
        s->run = file;
    }
}

/* The columns that every row has: the run and its options. */
static void add_columns(Source *s)
{
    const size_t most = 2 + (size_t)(s->config ? s->config->count : 0);
    int n = 0;

    s->extra = arena_zeros(s->mem, most * sizeof *s->extra);
    s->value = arena_zeros(s->mem, most * sizeof *s->value);
    s->extra[n] = "run";
    s->value[n++] = s->run;
    for (const Json *j = s->config ? s->config->first : NULL; j; j = j->next) {
        s->extra[n] = j->name;
        s->value[n++] = arena_string(s->mem, shown_plain(json_text(j).at).at);
    }
}

/* The log of a folder; NULL: the path is not one. */
static const char *log_in(Arena *mem, const char *path)
{
    const size_t n = strlen(path);

    if (!file_is_folder(path))
        return NULL;
    return arena_format(mem, "%s%slog.jsonl", path, path[n - 1] == '/' ? "" : "/");
}

bool source_lacks_log(const char *path)
{
    Arena *mem = arena_new();
    const char *log = log_in(mem, path);
    const bool lacks = log && access(log, F_OK) != 0;

    arena_free(mem);
    return lacks;
}

Source source_open(const char *path)
{
    Source s = { .path = path, .mem = arena_new() };
    const char *log = log_in(s.mem, path);
    size_t bytes;

    if (log)
        s.path = log;
    find_run(&s);
    add_columns(&s);
    s.log = strlen(s.path) >= 6 && strcmp(s.path + strlen(s.path) - 6, ".jsonl") == 0;
    unsigned char *text = s.log ? read_log(s.path, &bytes) : file_read(s.path, &bytes);
    s.csv = csv_open(text, bytes);
    return s;
}

void source_close(Source *s)
{
    csv_close(&s->csv);
    arena_free(s->mem);
}

/* Whether a column has that name; "n-layer" is n_layer. */
static bool is_called(const char *key, const char *name, size_t n)
{
    size_t i = 0;

    key += strspn(key, " \t");
    while (i < n && key[i] && (key[i] == name[i] || (key[i] == '_' && name[i] == '-')))
        i++;
    return i == n && !key[i + strspn(key + i, " \t")];
}

const char *source_column(const Source *s, int i)
{
    return i < s->csv.columns ? s->csv.column[i] : s->extra[i - s->csv.columns];
}

int source_find(const Source *s, const char *name, size_t n)
{
    const char *key;

    for (int i = 0; (key = source_column(s, i)); i++)
        if (is_called(key, name, n))
            return i;
    return NOWHERE;
}

const char *source_field(const Source *s, int column)
{
    if (column == NOWHERE)
        return "";
    return column < s->csv.columns ? s->csv.field[column] : s->value[column - s->csv.columns];
}

/* Whether an option is not in a list of names, and may be the reason for other numbers. */
static bool is_new(const char *name, const char *names)
{
    const Text listed = text_format(" %s,", name);

    return strcmp(name, "seed") != 0 && options_matter(name) &&
           !strstr(text_format(" %s,", names).at, listed.at);
}

void source_differences(const Source *a, const Source *b, Text *names)
{
    static const char texts[] = "texts";

    if (!options_same_texts(json_find(a->config, texts), json_find(b->config, texts)) &&
        !strstr(names->at, texts))
        text_add(names, "%s%s", names->n ? ", " : "", texts);
    for (const Json *j = a->config && b->config ? a->config->first : NULL; j; j = j->next)
        if (strcmp(json_text(j).at, json_text(json_find(b->config, j->name)).at) != 0 &&
            !(options_follow_seed(a->config, j->name) && options_follow_seed(b->config, j->name)) &&
            is_new(j->name, names->at))
            text_add(names, "%s%s", names->n ? ", " : "", j->name);
}
