/* How programs show data: names of texts, and rows of synthetic tasks. */
#ifndef TOOLS_COMMON_SHOWN_H
#define TOOLS_COMMON_SHOWN_H

#include "data/synthetic.h"
#include "data/token.h"
#include "ops/base/batch.h"
#include "ops/base/real.h"

/* At most 200 bytes of an untrusted text, safe for terminals: control characters become '?'. */
Text shown_plain(const char *s);

/* The name of a text, from its path: "nice/text.txt" is "text", "-" is "stdin". */
Text shown_name(const char *path);

/* The same with its folder: "nice/text"; if the path has none, as shown_name(). */
Text shown_place(const char *path);

/* A token, escaped as in a C string: \n, \", \xc3. */
Text shown_token(Bytes token);

/* Prints a row of a task, with (predicted : correct) at each target; `logits` has V for each
 * target. Returns the number of correct predictions. */
int shown_answers(const Synthetic *task, SyntheticShape shape, Batch row, const real *logits,
                  int V);

#endif
