#define _XOPEN_SOURCE 700 /* posix_openpt */
#include "tests/screen.h"

#include "tests/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void set_columns(Screen *s, int columns)
{
    struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)columns };

    ck_assert_int_eq(ioctl(s->terminal, TIOCSWINSZ, &size), 0);
    s->columns = columns;
}

bool screen_exists(void)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);

    if (terminal >= 0)
        close(terminal);
    return terminal >= 0;
}

void screen_open(Screen *s, int columns)
{
    memset(s, 0, sizeof *s);
    s->terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(s->terminal >= 0 && grantpt(s->terminal) == 0 && unlockpt(s->terminal) == 0);
    s->of_program = open(ptsname(s->terminal), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(s->of_program, 0);
    set_columns(s, columns);
}

void screen_close(Screen *s)
{
    close(s->terminal);
    if (s->of_program >= 0)
        close(s->of_program);
}

void screen_resize(Screen *s, int columns)
{
    set_columns(s, columns);
    for (ScreenRow *row = &s->row[s->y]; (int)strlen(row->cell) > columns; row++) {
        size_t rest = strlen(row->cell) - (size_t)columns;

        memcpy(row[1].cell, row->cell + columns, rest);
        memcpy(row[1].line, row->line + columns, rest * sizeof *row->line);
        row->cell[columns] = 0;
        row->split = true;
        s->x = (int)rest;
        s->y++;
    }
}

/* All of a row is of one line. */
static void check_row(const ScreenRow *row)
{
    for (int i = 0; row->cell[i]; i++)
        ck_assert_msg(row->line[i] == row->line[0], "of two lines: %s", row->cell);
}

/* The last column counts as too far: there are terminals that wrap when it is written. */
static void put_character(Screen *s, char c)
{
    ScreenRow *row = &s->row[s->y];

    ck_assert_msg(s->x < s->columns - 1, "wraps: %s%c", row->cell, c);
    ck_assert_msg((unsigned char)c >= ' ' && c != 0x7f, "a control character: %d", c);
    ck_assert_msg(s->y == 0 || !row[-1].split || row->line[0] != s->line,
                  "the start of the line stays: %s", row[-1].cell);
    row->line[s->x] = s->line;
    row->cell[s->x++] = c;
    s->bold_cells += s->bold;
    s->greens += s->green && c == '*';
}

/* CSI K and CSI m; returns the end of the sequence. */
static const char *obey(Screen *s, const char *at)
{
    ScreenRow *row = &s->row[s->y];
    size_t n = at[1] == '[' ? strspn(at + 2, "0123456789;") : 0;
    char last = at[2 + n];

    ck_assert_msg(at[1] == '[' && (last == 'K' || last == 'm'), "CSI %.8s", at + 1);
    if (last == 'K')
        memset(row->cell + s->x, 0, (size_t)(SCREEN_COLUMNS - s->x));
    else if (at[2] == '0' || n == 0)
        s->bold = s->green = false;
    else if (at[2] == '1')
        s->bold = true;
    else
        s->green = strncmp(at + 2, "32", 2) == 0;
    return at + 2 + n;
}

void screen_write(Screen *s, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '\r') {
            s->x = 0, s->line++;
        } else if (*c == '\n') {
            check_row(&s->row[s->y++]);
            ck_assert_int_lt(s->y, SCREEN_ROWS - 1);
        } else if (*c == '\033') {
            c = obey(s, c);
        } else {
            put_character(s, *c);
        }
    check_row(&s->row[s->y]);
}

/* A bell ends what f writes: it comes through the terminal after the rest. */
void screen_show(Screen *s, void (*f)(void *ctx), void *ctx)
{
    const int before = dup(STDERR_FILENO);
    char text[4096];
    size_t n = 0;

    dup2(s->of_program, STDERR_FILENO);
    f(ctx);
    dup2(before, STDERR_FILENO);
    close(before);
    ck_assert_int_eq(write(s->of_program, "\a", 1), 1);
    do {
        ssize_t got = read(s->terminal, text + n, sizeof text - n);

        ck_assert_int_gt(got, 0);
        n += (size_t)got;
    } while (text[n - 1] != '\a');
    text[n - 1] = 0;
    screen_write(s, text);
}

int screen_exit_code_of(Screen *s, void (*f)(const char *path), const char *path)
{
    int code = exit_code_through((int[2]){ s->terminal, s->of_program }, f, path);

    s->of_program = -1;
    screen_write(s, said);
    return code;
}
