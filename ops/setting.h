/*
 * A setting of a mechanism: a named integer, set by an option and saved in files. Options, --help,
 * config.json and checkpoints all loop over these rows.
 */
#ifndef OPS_SETTING_H
#define OPS_SETTING_H

#include "ops/base/text.h"

#include <stdbool.h>

/* The value is a number, the index of a name, 0 or 1, or a bit per name. */
typedef enum { SETTING_NUMBER, SETTING_CHOICE, SETTING_FLAG, SETTING_SET } SettingKind;

/* How a length follows the context: `context` means it, or anything less becomes the context. */
typedef enum { NO_LENGTH, CONTEXT_IF_ASKED, CONTEXT_AT_LEAST } SettingLength;
enum { SETTING_CONTEXT = -1 }; /* `context`, before settings_fit_context() */

/*
 * Several mechanisms may have a setting with the same name if they differ only in default and help;
 * --help lists it once.
 */
typedef struct {
    const char *name; /* "chunk" is --chunk, and the key "chunk" in files */
    SettingKind kind;
    int value, most;            /* the default; the largest number (the smallest is 0) */
    int both;                   /* the default where both sides are seen; 0: the same */
    const char *const *choices; /* the names of a choice or a set, ending with NULL */
    const char *help;
    SettingLength length;
    bool layer; /* it shapes the layer's tensors; the mix does not use it */
    char size;  /* the letter in shapes whose size it sets; 0: none */
    bool even;  /* it must be even, and the letter is half of it */
    int of_key; /* of a size: 0 means this many times d */
    int zero;   /* what 0 means otherwise */
    int least;  /* the smallest number other than 0; of a choice, the first that the row allows */
    const char *const
        *with;    /* it has an effect only if some setting has one of these values; NULL: always */
    int tries[4]; /* values for tests that matter for short sequences, the first for 7 positions */
    bool rope;    /* it has an effect only with RoPE */
    bool pattern; /* it shapes V(i); tests change all of these at once */
    bool quiet;   /* not named among the settings of a model where it is the default */
    bool seed;    /* of random numbers: unless it is given, a new model has its own seed here */
    const char *without;   /* a flag or number that excludes it; NULL: none */
    const char *elsewhere; /* the setting that means the same in mechanisms without this one */
    const char *was;       /* what a checkpoint without the key means; NULL: the default */
} Setting;

/* The value as written in files: the name of a choice, or the number. */
Text setting_print(const Setting *s, int value);

/* False if `words` is not a valid value. */
bool setting_parse(const Setting *s, const char *words, int *value);

/* The same in words: "on" or "off" for a flag, for a set its names with `between` between them. */
Text setting_words(const Setting *s, int value, char between);
bool setting_parse_words(const Setting *s, const char *words, char between, int *value);

/* What it takes: "on or off", or "a number from 0 to 64". */
Text setting_takes(const Setting *s, char between);

/* The name as written in files: "key_size". */
Text setting_key(const Setting *s);

#endif
