/* The output of ./fill. */
#ifndef TOOLS_FILL_PRINT_H
#define TOOLS_FILL_PRINT_H

#include "tools/fill/blanks.h"

/* A text with what a model predicts for its gaps. */
typedef struct {
    int line; /* its number, from 1 */
    Bytes text;
    const Tokenizer *tokenizer;
    const Blanks *blanks;
    const Guess *guess; /* (gaps, most) */
    int most;
} Filled;

void filled_text(const Filled *f);
void filled_json(const Filled *f);
void filled_csv_header(void);
void filled_csv(const Filled *f);

#endif
