/*
 * A folder of Hugging Face's transformers as a model of ours. Everything about it is checked before
 * anything is written; each fault is one line that names the file and what is wrong in it.
 */
#ifndef TOOLS_IMPORT_IMPORT_H
#define TOOLS_IMPORT_IMPORT_H

#include "model/checkpoint.h"
#include "ops/base/file.h"
#include "tools/common/foreign.h"

enum { FILES_MOST = 1000 };

/* The tensors of all files; `used` tells which have been taken. */
typedef struct {
    Safetensors *file[FILES_MOST];
    bool *used[FILES_MOST];
    int files;
} Weights;

struct Import;

/* A class of transformers: sets in->config from config.json; import_take() for each tensor. */
typedef struct {
    const char *type, *class_name; /* "llama", "LlamaForCausalLM" */
    const char *also;              /* another class that saves the same tensors */
    void (*config)(struct Import *in);
    void (*tensors)(struct Import *in);
} Class;

typedef struct Import {
    const char *dir;
    Arena *mem;
    char path[PATH_BYTES]; /* of config.json */
    const Json *json;      /* its contents */
    Weights weights;
    const Class *class;
    Config config; /* what it means */
    int end;       /* the end-of-text token; -1: none */
    Model *model;  /* to fill; NULL while the tensors are only checked */
    int filled;    /* its parameters that have been */
} Import;

/*
 * Reads a folder and checks it, except for the numbers; then makes the model of it, in the memory
 * of `in`, with that context, or its own if it is 0.
 */
void import_open(Import *in, const char *dir);
void import_fill(Import *in, Model *model, int context);
void import_close(Import *in);

/* The class that config.json names. */
const Class *import_class(const Import *in);

/*
 * config.json (tools/import/keys.c): a whole number, which must be there unless there is another
 * name or a default for it; and a value that must be one of these words, the first of which a
 * missing key means. All die (EXIT_DATA) with the key and its value.
 */
int key_number(const Import *in, const char *key, int least, int most);
int key_number_or(const Import *in, const char *key, int least, int most, int missing);
void key_must_be(const Import *in, const char *key, const char *word, const char *other);
bool key_flag(const Import *in, const char *key, bool missing);
int key_end(const Import *in); /* -1: none, or none that the vocabulary has */
int key_eps(const Import *in, const char *key);
int key_rope_base(const Import *in);

/* Reads model.safetensors, or the files of model.safetensors.index.json. */
void import_read_weights(Weights *w, const char *dir, Arena *mem);
void import_free_weights(Weights *w);
bool import_has_tensor(const Weights *w, const char *name);

/*
 * A parameter of ours, and where it comes from: rows of our (out, in), or of (out) if in is 0.
 *
 *     D        in heads of this width, our row 2m is their m, and 2m + 1 their D/2 + m
 *     all      theirs is (in, all), and ours its columns from `from` on
 *     times    ours is theirs times this; 0: as it is
 */
typedef struct {
    const char *ours, *theirs;
    int out, in, D, from, all;
    double times;
} Taken;
void import_take(Import *in, const Taken *t);

/* Dies if a tensor has not been taken, unless it holds no parameter. */
void import_check_rest(const Import *in);

#endif
