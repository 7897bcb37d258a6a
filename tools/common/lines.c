#include "tools/common/lines.h"

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
    return c != EOF || line->n > 0;
}

void lines_json(Bytes text, FILE *out)
{
    char *copy = xmalloc(text.n + 1);

    for (size_t i = 0; i < text.n; i++)
        copy[i] = (char)(text.at[i] ? text.at[i] : 0xff); /* 0xff is no UTF-8 */
    copy[text.n] = 0;
    text_json(copy, out);
    free(copy);
}
