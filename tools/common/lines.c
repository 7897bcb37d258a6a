#include "tools/common/lines.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "ops/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MOST = 16 << 20 };

bool lines_next(Buffer *line)
{
    int c;

    if (isatty(STDIN_FILENO))
        fprintf(stderr, "> ");
    line->n = 0;
    while ((c = getchar()) != EOF && c != '\n') {
        if (line->n == LINE_MOST)
            die(EXIT_DATA, "a line of standard input is longer than %d MiB", LINE_MOST >> 20);
        buffer_add(line, &(unsigned char){ (unsigned char)c }, 1);
    }
    if (ferror(stdin))
        die(EXIT_IO, "cannot read standard input: %s", strerror(errno));
    const bool some = c != EOF || line->n > 0;
    line->n -= line->n > 0 && line->at[line->n - 1] == '\r';
    return some;
}

/* For free(); a byte 0 becomes 0xff, which is no UTF-8. */
static char *as_string(Bytes text)
{
    char *copy = xmalloc(text.n + 1);

    for (size_t i = 0; i < text.n; i++)
        copy[i] = (char)(text.at[i] ? text.at[i] : 0xff);
    copy[text.n] = 0;
    return copy;
}

void lines_json(Bytes text, FILE *out)
{
    char *copy = as_string(text);

    text_json(copy, out);
    free(copy);
}

void lines_csv(Bytes text, FILE *out)
{
    char *copy = as_string(text), *part = copy, *tab;

    for (; (tab = strchr(part, '\t')); part = tab + 1) {
        *tab = 0;
        text_plain(part);
        *tab = '\t';
    }
    text_plain(part);
    csv_write_quoted(out, copy);
    free(copy);
}
