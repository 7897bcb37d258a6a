/*
 * The terminal at standard error, and the one line on it that is rewritten in place. Whatever
 * else is printed first ends that line, so that it has a line of its own.
 */
#ifndef OPS_BASE_TERMINAL_H
#define OPS_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Whether a line can be rewritten: it is a terminal, and not a dumb one. */
bool terminal_rewrites(void);

/* Whether it takes bold and colours as well: NO_COLOR is not set. */
bool terminal_styled(void);

/* Its width at this moment; without a terminal that of $COLUMNS, or 80. */
int terminal_columns(void);

/* Writes the line over the one before; it has less than terminal_columns() characters, one a byte.
 */
void terminal_rewrite(const char *line);

/*
 * Prints the text and an end of line. On a terminal, lines end at spaces so that they fit, and what
 * follows is indented; a word that is longer than a line is cut.
 */
void terminal_wrap(FILE *out, const char *text);

/* Ends the line if there is one; die() and warn() call it. */
void terminal_end_line(void);

#endif
