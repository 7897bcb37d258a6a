/* The names of the tokens of a tokenizer.json, its merges and how it splits a text. */
#ifndef TOOLS_COMMON_VOCABULARY_H
#define TOOLS_COMMON_VOCABULARY_H

#include "data/numbering.h"
#include "ops/base/arena.h"
#include "ops/base/json.h"

/* The last two are what ./export writes for "bpe:N" and for "byte". */
typedef enum { SPLIT_GPT2, SPLIT_DIGITS, SPLIT_OWN, SPLIT_NONE } Split;

typedef struct {
    const char *path; /* for messages */
    Arena *mem;
    int vocab;         /* of the model: the tokens are 0 to vocab - 1 */
    Numbers known;     /* all names, */
    int *id;           /* and the token of each */
    const char **name; /* of each token; NULL: none */
    bool *special;     /* the name is a text */
    int (*merge)[3];   /* left, right, result */
    int merges;
    Split split;
    bool characters; /* tokens are characters, not bytes: "char" as ./export writes it */
} Vocabulary;

/* Reads a tokenizer.json; or vocab.json and merges.txt in a folder. Both die
 * (EXIT_DATA) if there is anything that ours do not have. */
void vocabulary_json(Vocabulary *v);
void vocabulary_files(Vocabulary *v, const char *dir);

#endif
