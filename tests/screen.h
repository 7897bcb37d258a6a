/*
 * A terminal of some width, and what is on its screen. It fails the test where a line wraps, or
 * where a row has characters of two lines: one that was rewritten, and one that did not cover it.
 */
#ifndef TESTS_SCREEN_H
#define TESTS_SCREEN_H

#include <stdbool.h>

enum { SCREEN_ROWS = 1000, SCREEN_COLUMNS = 256 };

/* A row; each of its cells knows the line that wrote it. */
typedef struct {
    char cell[SCREEN_COLUMNS + 1];
    int line[SCREEN_COLUMNS];
    bool split; /* it goes on in the next row, since the screen became narrower */
} ScreenRow;

typedef struct {
    ScreenRow row[SCREEN_ROWS];
    int columns, x, y, line;
    bool bold, green;         /* now */
    int bold_cells, greens;   /* so far, and the '*' among them that were green */
    int terminal, of_program; /* both ends: what is written to the second is read from the first */
} Screen;

/* Whether the system has pseudo-terminals: a bare chroot has none. */
bool screen_exists(void);

/* Reset, with a terminal of that width. */
void screen_open(Screen *s, int columns);
void screen_close(Screen *s);

/* Long lines go on in the next row, as most terminals have it. */
void screen_resize(Screen *s, int columns);

/* \r, \n, CSI K and CSI m; anything else that is no character fails. */
void screen_write(Screen *s, const char *text);

/* Standard error is the terminal while f runs, and what f writes there is on the screen. It has to
 * be less than a terminal holds, some 4000 bytes. */
void screen_show(Screen *s, void (*f)(void *ctx), void *ctx);

/* exit_code_of() on the terminal: `said` holds what was written, and it is on the screen. */
int screen_exit_code_of(Screen *s, void (*f)(const char *path), const char *path);

#endif
