#include "data/label_rows.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const LabelledTexts *t)
{
    size_t bytes = 0;

    for (size_t i = 0; i < t->rows; i++)
        for (int j = 0; j < t->texts; j++)
            bytes += t->row[i].text[j].n + 1;
    return bytes;
}

Bytes label_rows_text(const LabelledTexts *t)
{
    unsigned char *all = xmalloc(bytes_of(t) + 1);
    size_t n = 0;

    for (size_t i = 0; i < t->rows; i++)
        for (int j = 0; j < t->texts; j++) {
            const Bytes text = t->row[i].text[j];

            memcpy(all + n, text.at, text.n);
            n += text.n;
            all[n++] = '\n';
        }
    return (Bytes){ all, n };
}

LabelRows label_rows(const LabelledTexts *t, const Labels *labels, const Tokenizer *tokenizer)
{
    const size_t texts = t->rows * (size_t)t->texts;
    LabelRows rows = { .rows = t->rows, .texts = t->texts };
    size_t n = 0;

    tokenizer_encode(tokenizer, (Bytes){ (const unsigned char *)"", 1 }, &rows.separator);
    rows.start = xmalloc((texts + 1) * sizeof *rows.start);
    rows.label = xmalloc(t->rows * sizeof *rows.label);
    rows.token = xmalloc(bytes_of(t) * sizeof *rows.token);
    for (size_t i = 0; i < texts; i++) {
        const Labelled *row = &t->row[i / (size_t)t->texts];

        rows.start[i] = n;
        rows.label[i / (size_t)t->texts] = labels_find(labels, row->label);
        n += tokenizer_encode(tokenizer, row->text[i % (size_t)t->texts], rows.token + n);
    }
    rows.start[texts] = n;
    rows.token = xrealloc(rows.token, (n + 1) * sizeof *rows.token);
    return rows;
}

void label_rows_free(LabelRows *rows)
{
    free(rows->start);
    free(rows->label);
    free(rows->token);
    *rows = (LabelRows){ .rows = 0 };
}

/* The tokens of each text of a row. */
static void sizes(const LabelRows *rows, size_t i, size_t n[LABEL_TEXTS])
{
    const size_t *start = rows->start + i * (size_t)rows->texts;

    for (int j = 0; j < LABEL_TEXTS; j++)
        n[j] = j < rows->texts ? start[j + 1] - start[j] : 0;
}

/* Cuts two texts to the room for both; false: they fit. A single text is one beside nothing. */
static bool cut_to(size_t n[LABEL_TEXTS], size_t room)
{
    const size_t half = room / 2;

    if (n[0] + n[1] <= room)
        return false;
    if (n[0] <= half)
        n[1] = room - n[0];
    else if (n[1] <= room - half)
        n[0] = room - n[1];
    else
        n[0] = half, n[1] = room - half;
    return true;
}

static bool cut_each(size_t n[LABEL_TEXTS], size_t room)
{
    const bool cut = n[0] > room || n[1] > room;

    for (int j = 0; j < LABEL_TEXTS; j++)
        n[j] = n[j] < room ? n[j] : room;
    return cut;
}

/* Cuts a row to T positions. */
static bool cut_row(const LabelRows *rows, int T, bool paired, size_t n[LABEL_TEXTS])
{
    return paired ? cut_each(n, (size_t)T / 2) : cut_to(n, (size_t)T - (rows->texts > 1));
}

size_t label_rows_cut(const LabelRows *rows, int T, bool paired)
{
    size_t cut = 0, n[LABEL_TEXTS];

    for (size_t i = 0; i < rows->rows; i++) {
        sizes(rows, i, n);
        cut += cut_row(rows, T, paired, n);
    }
    return cut;
}

static int *put_tokens(int *to, const Token *from, size_t n)
{
    for (size_t t = 0; t < n; t++)
        *to++ = from[t];
    return to;
}

void label_rows_put(const LabelRows *rows, size_t i, Batch row)
{
    const size_t *start = rows->start + i * (size_t)rows->texts;
    size_t n[LABEL_TEXTS];
    int *to = row.id;

    sizes(rows, i, n);
    cut_row(rows, row.T, row.paired, n);
    for (int t = 0; t < row.T; t++)
        row.id[t] = LABEL_PADDING;
    for (int j = 0; j < rows->texts; j++) {
        if (j > 0 && row.paired)
            to = row.id + row.T / 2;
        else if (j > 0)
            *to++ = rows->separator;
        to = put_tokens(to, rows->token + start[j], n[j]);
        if (row.paired)
            row.length[j] = (int)n[j];
    }
    if (!row.paired)
        *row.length = (int)(to - row.id);
    *row.target = rows->label[i];
}
