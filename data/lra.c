/*
 * A file is read whole and converted in place: a row of n tokens has at least n bytes of text, and
 * a tab and its class, so what is written never overtakes what is still to be read.
 */
#include "data/lra.h"

#include "data/synthetic/listops.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.200s"
enum { WORD_ROOM = 8, PARTS = 3 };

typedef struct {
    const char *path;
    unsigned char *byte;
    size_t at, end; /* of the current line */
    size_t bytes, line;
    size_t put; /* rows are before this */
    LraRows rows;
} Reader;

/* Goes to the next line, without its line end; false: there is none. */
static bool next_line(Reader *r, size_t *next)
{
    if (*next >= r->bytes)
        return false;
    const unsigned char *from = r->byte + *next, *end = memchr(from, '\n', r->bytes - *next);
    r->at = *next;
    r->end = end ? (size_t)(end - r->byte) : r->bytes;
    *next = r->end + 1;
    if (r->end > r->at && r->byte[r->end - 1] == '\r')
        r->end--;
    r->line++;
    return true;
}

static void check_header(Reader *r, size_t *next)
{
    static const char header[] = "Source\tTarget";
    const size_t n = sizeof header - 1;
    const char *looks = file_looks_like(r->byte, r->bytes);

    if (r->bytes == 0)
        die(EXIT_DATA, PATH " is empty", r->path);
    next_line(r, next);
    if (r->end - r->at != n || memcmp(r->byte + r->at, header, n) != 0)
        die(EXIT_DATA, PATH ":1: the first line must be Source, a tab, Target%s%s", r->path,
            looks ? "; it looks like " : "", looks ? looks : "");
}

/* The token of a word, or LISTOPS_PADDING, which has no word. */
static int token_of(const char *word, size_t n)
{
    for (int i = LISTOPS_VOCAB - 1; i > LISTOPS_PADDING; i--)
        if (strlen(listops_words[i]) == n && memcmp(listops_words[i], word, n) == 0)
            return i;
    return LISTOPS_PADDING;
}

/* The word at r->at, up to a blank or the end of the expression, becomes a token. */
static void read_word(Reader *r, size_t end)
{
    char word[WORD_ROOM];
    size_t n = 0;

    for (; r->at < end && r->byte[r->at] != ' '; r->at++) {
        const unsigned char c = r->byte[r->at];

        if (c != '(' && c != ')' && n < sizeof word)
            word[n++] = c == ']' ? 'X' : (char)c;
    }
    if (n == 0)
        return;
    const int token = token_of(word, n);
    if (token == LISTOPS_PADDING)
        die(EXIT_DATA, PATH ":%zu: '%.*s' is not a token of ListOps", r->path, r->line, (int)n,
            word);
    r->byte[r->put++] = (unsigned char)token;
}

static void start_row(Reader *r)
{
    r->rows.start = xgrow(r->rows.start, r->rows.rows, sizeof *r->rows.start);
    r->rows.start[r->rows.rows++] = r->put;
}

static void read_row(Reader *r)
{
    const unsigned char *line = r->byte + r->at, *tab = memchr(line, '\t', r->end - r->at);
    const size_t end = tab ? (size_t)(tab - r->byte) : 0;

    if (!tab)
        die(EXIT_DATA, PATH ":%zu: a row is an expression, a tab and a digit; there is no tab",
            r->path, r->line);
    if (r->end - end != 2 || tab[1] < '0' || tab[1] > '9')
        die(EXIT_DATA, PATH ":%zu: after the tab there must be one digit, 0 to 9, and nothing else",
            r->path, r->line);
    const unsigned char label = (unsigned char)(tab[1] - '0');
    start_row(r);
    r->byte[r->put++] = label;
    for (; r->at < end; r->at++)
        read_word(r, end);
    if (r->put == r->rows.start[r->rows.rows - 1] + 1)
        die(EXIT_DATA, PATH ":%zu: there is no token before the tab", r->path, r->line);
}

static LraRows read_rows(const char *path, CorpusFile *file)
{
    Reader r = { .path = path };
    size_t next = 0;

    r.byte = file_read(path, &r.bytes);
    *file = (CorpusFile){ path, r.bytes, hash_bytes(0, r.byte, r.bytes) };
    check_header(&r, &next);
    while (next_line(&r, &next))
        read_row(&r);
    if (r.rows.rows == 0)
        die(EXIT_DATA, PATH " has a header and no rows", path);
    r.rows.start = xrealloc(r.rows.start, (r.rows.rows + 1) * sizeof *r.rows.start);
    r.rows.start[r.rows.rows] = r.put;
    r.rows.byte = xrealloc(r.byte, r.put);
    return r.rows;
}

Lra lra_read(const char *folder)
{
    static const char *const name[] = { "basic_train.tsv", "basic_val.tsv", "basic_test.tsv" };
    static char path[PARTS][PATH_BYTES];
    const char *below = "";
    LraRows rows[PARTS];
    CorpusFile *file = xmalloc(PARTS * sizeof *file);
    struct stat st;

    file_join(path[0], folder, "listops-1000/basic_train.tsv");
    if (stat(path[0], &st) == 0)
        below = "listops-1000/";
    for (int i = 0; i < PARTS; i++) {
        file_join(path[i], folder, text_format("%s%s", below, name[i]).at);
        rows[i] = read_rows(path[i], &file[i]);
    }
    return (Lra){ rows[0], rows[1], rows[2], file, PARTS };
}

void lra_free(Lra *lra)
{
    LraRows *rows[] = { &lra->train, &lra->validation, &lra->test };

    for (int i = 0; i < 3; i++) {
        free(rows[i]->start);
        free(rows[i]->byte);
    }
    free(lra->file);
    *lra = (Lra){ 0 };
}

size_t lra_longer(const LraRows *rows, int T)
{
    size_t longer = 0;

    for (size_t i = 0; i < rows->rows; i++)
        longer += rows->start[i + 1] - rows->start[i] - 1 > (size_t)T;
    return longer;
}

int lra_row(const LraRows *rows, size_t i, Batch row)
{
    const unsigned char *token = rows->byte + rows->start[i] + 1;
    const size_t n = rows->start[i + 1] - rows->start[i] - 1, T = (size_t)row.T;
    const size_t length = n < T ? n : T;

    for (size_t t = 0; t < T; t++)
        row.id[t] = t < length ? token[t] : LISTOPS_PADDING;
    for (int other = 1; other < batch_targets(row); other++)
        row.target[other] = -1;
    row.target[0] = token[-1];
    return (int)length;
}
