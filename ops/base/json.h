/*
 * JSON (RFC 8259), from anyone: a text is read whole, or not at all. Stricter
 * than the standard, it refuses \u0000 (so a string is a C string), a name twice
 * in one object, numbers that no double holds, and values more than JSON_DEPTH
 * deep.
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
    const char *name;   /* of a member of an object, else NULL */
    const char *string; /* UTF-8 */
    double number;      /* of a bool 0 or 1 */
    int count;          /* of what an array or an object has, */
    struct Json *first; /* which is in the order of the text: the first of it, */
    struct Json *next;  /* and the one after this */
} Json;

/*
 * The value that the n bytes of `text` are; it lies in `mem`, which it takes
 * some 40 times as many bytes of. NULL if they are none: `why` then says where,
 * as the end of a sentence that starts with the text's name.
 */
const Json *json_read(Arena *mem, const char *text, size_t n, Text *why);

/* A member: NULL if there is none, or if the value is no object, or NULL. */
const Json *json_find(const Json *object, const char *name);

/* The member's value: NaN, NULL, if there is none of that kind. */
double json_number(const Json *object, const char *name);
const char *json_string(const Json *object, const char *name);

/*
 * What other readers scan with: text that is written over as it is read. A
 * function returns false where something else stands; `missing` is then what
 * should stand at `at`, unless it only accepts.
 */
typedef struct {
    unsigned char *at, *end;
    const char *missing;
} JsonScan;

bool json_missing(JsonScan *s, const char *what); /* false */
void json_skip_space(JsonScan *s);

/* Passes the character c if it comes next. */
bool json_accept(JsonScan *s, char c);

/* Passes a string, which is decoded where it lies: that never takes more room than it has. */
bool json_scan_string(JsonScan *s, const char **string);

#endif
