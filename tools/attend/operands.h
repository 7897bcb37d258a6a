/* The list of operands in --help. */
#ifndef TOOLS_ATTEND_OPERANDS_H
#define TOOLS_ATTEND_OPERANDS_H

#include <stdio.h>

/* One line per operand, with the mechanisms that take it. */
void put_operands(FILE *to);

#endif
