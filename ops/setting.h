/*
 * A setting: a named whole number that an option sets and files remember. What lists
 * settings (options, --help, config.json, checkpoints) loops over such rows.
 */
#ifndef OPS_SETTING_H
#define OPS_SETTING_H

#include "ops/base/text.h"

#include <stdbool.h>

/* Values are whole numbers: a number, the index of a name, 0 or 1, or a bit for each name. */
typedef enum { SETTING_NUMBER, SETTING_CHOICE, SETTING_FLAG, SETTING_SET } SettingKind;

/* What ./train makes of a number that is a length: 0 is the context; or it is at least the context.
 */
typedef enum { NO_LENGTH, CONTEXT_IF_ZERO, CONTEXT_AT_LEAST } SettingLength;

/*
 * Several rows may have a setting of the same name, if all of it but the default and the
 * help is the same; --help lists it once.
 */
typedef struct {
    const char *name; /* "chunk" is --chunk, and "chunk" in every file */
    SettingKind kind;
    int value, most;            /* the default; of a number, which is 0 at least */
    const char *const *choices; /* the names of a choice or a set, ended by NULL */
    const char *help;
    SettingLength length;
    bool layer; /* it shapes the layer and its tensors; the mix takes these as they are */
    char size;  /* the letter in shapes that it is the size of; 0: none */
    int of_key; /* of such a size: 0 stands for this many times d */
    int zero;   /* what else 0 stands for */
    int least;  /* of a number that is not 0 */
    const char *const
        *with;    /* it matters only where another setting is one of these; NULL: always */
    int tries[4]; /* numbers that have an effect on few positions, the first on 7; tests try them */
} Setting;

/* A setting's value as files have it: the name of a choice, or the number. */
Text setting_print(const Setting *s, int value);

/* False: the words are no such value. */
bool setting_parse(const Setting *s, const char *words, int *value);

/* "key_size", as files have the name. */
Text setting_key(const Setting *s);

#endif
