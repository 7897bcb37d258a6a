#include "ops/base/terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, INDENT = 4, MOST_COLUMNS = 1000 };

static int shown; /* characters of the line on the screen; 0: there is none */

bool terminal_rewrites(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool terminal_styled(void)
{
    const char *plain = getenv("NO_COLOR");

    return terminal_rewrites() && !(plain && *plain);
}

int terminal_columns(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int n = columns ? atoi(columns) : 0;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        n = size.ws_col;
    return n <= 0 ? USUAL_COLUMNS : n > MOST_COLUMNS ? MOST_COLUMNS : n;
}

void terminal_rewrite(const char *line)
{
    if (shown >= terminal_columns()) /* it became narrower, and the line may fill several rows */
        terminal_end_line();
    fprintf(stderr, "\r%s\033[K", line);
    shown = (int)strlen(line);
}

/* Characters of UTF-8 in the first n bytes. */
static int characters(const char *s, size_t n)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += (s[i] & 0xc0) != 0x80;
    return count;
}

void terminal_wrap(FILE *out, const char *text)
{
    const int room = isatty(fileno(out)) ? terminal_columns() - 1 : INT_MAX;
    const int indent = room > 4 * INDENT ? INDENT : 0;
    int column = 0;

    terminal_end_line();
    for (const char *c = text; *c; c++) {
        const bool space = *c == ' ';
        const int word = characters(c + space, strcspn(c + space, " "));

        const bool wrap = space && column + 1 + word > room && indent + word <= room;

        if (wrap || (column >= room && characters(c, 1))) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (!wrap)
            fputc(*c, out);
        column += wrap ? 0 : characters(c, 1);
    }
    fputc('\n', out);
}

void terminal_end_line(void)
{
    if (shown)
        fputc('\n', stderr);
    shown = 0;
}
