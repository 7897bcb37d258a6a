/*
 * JSON (RFC 8259) from untrusted files: a text is read completely or rejected. It
 * is stricter than the standard and rejects \u0000 (so that strings are C strings),
 * repeated names in an object, numbers beyond a double, and nesting deeper than
 * JSON_DEPTH.
 *
 *     {"a":[1,"x"]}      object -first-> array "a" -first-> number -next-> string
 */
#ifndef OPS_BASE_JSON_H
#define OPS_BASE_JSON_H

#include "ops/base/arena.h"
#include "ops/base/text.h"

#include <stdbool.h>

enum { JSON_DEPTH = 64 };

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

typedef struct Json {
    JsonKind kind;
    const char *name; /* of a member of an object, else NULL */
    const char
        *string; /* UTF-8; of a number of digits from 2^53 on these, as a double may not hold it */
    double number;      /* 0 or 1 for a bool */
    bool digits;        /* the number is written in digits alone: no sign, point or exponent */
    int count;          /* of elements or members, */
    struct Json *first; /* the first of them */
    struct Json *next;  /* the next element or member of the same value */
} Json;

/*
 * Parses the n bytes of `text` into `mem`, of which it takes about 40 n bytes. NULL
 * if they are not JSON: `why` then completes a sentence that starts with the text's
 * name.
 */
const Json *json_read(Arena *mem, const char *text, size_t n, Text *why);

/* A member, or NULL; `object` may be of another kind, or NULL. */
const Json *json_find(const Json *object, const char *name);

/* The value of a member; NaN, NULL: there is none of that kind. */
double json_number(const Json *object, const char *name);
const char *json_string(const Json *object, const char *name);

/* A value for a reader: 0.5, yes, a word, "64 128" for a list or an object; empty for null. */
Text json_text(const Json *value);

#endif
