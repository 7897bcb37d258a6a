#include "ops/base/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, MOST_COLUMNS = 1000 };

static int shown; /* characters of the line on the screen; 0: there is none */

bool terminal_rewrites(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
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

void terminal_end_line(void)
{
    if (shown)
        fputc('\n', stderr);
    shown = 0;
}
