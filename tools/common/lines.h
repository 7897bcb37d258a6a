/* Lines of standard input, and what programs print about them. */
#ifndef TOOLS_COMMON_LINES_H
#define TOOLS_COMMON_LINES_H

#include "data/token.h"
#include "ops/base/buffer.h"

#include <stdbool.h>
#include <stdio.h>

/* The next line of standard input without its end (\n or \r\n), after a prompt if it is typed;
 * false: there is none. Dies if it cannot be read (EXIT_IO) or is longer than 16 MiB (EXIT_DATA).
 */
bool lines_next(Buffer *line);

/* Prints bytes as a JSON string; what is not UTF-8, and a byte 0, becomes U+FFFD. */
void lines_json(Bytes text, FILE *out);

/* Prints bytes as a field of a CSV; a control character but a tab, and what is not UTF-8, becomes
 * '?'. */
void lines_csv(Bytes text, FILE *out);

#endif
