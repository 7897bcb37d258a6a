/*
 * A model for other libraries: the classes of Hugging Face's transformers that compute the same
 * function, with the tensors named, arranged and configured as these classes expect; or our own
 * classes for transformers, which compute every model (tools/export/modeling_attnc.py).
 */
#ifndef MODEL_FORM_H
#define MODEL_FORM_H

#include "model/checkpoint.h"

#include <stdio.h>

/* The tensors in the other form; those that are not the model's own are in `mem`. */
typedef struct {
    Arena *mem;
    Entry *entry;
    int n, room;
} FormTensors;

/* A class, and the models that it can represent. */
typedef struct {
    const char *name, *class_name; /* "llama", "LlamaForCausalLM" */
    int position, ffn, norm;
    bool groups;                                /* heads may share k and v */
    bool own;                                   /* the class is ours */
    void (*config)(const Config *c, FILE *out); /* writes the rest of config.json */
    void (*tensors)(const Model *model, FormTensors *to);
} Form;

extern const Form form_llama, form_arcee, form_gpt;
extern const Form form_own[]; /* by task */

/* The form of such a model. If it is our own, `why` is the reason, else it is empty. */
const Form *form_of_config(const Config *c, Text *why);

/* What a model has that the source of our own classes does not: "attn cosformer"; or empty. */
Text form_lacks(const Config *c, const char *source);

/* Writes config.json of that form. `end` is the number of the end-of-text token; NULL: there is
 * none. */
void form_config(const Form *form, const Config *c, const char *end, FILE *out);

/* The tensors of that form. */
FormTensors form_tensors(const Form *form, const Model *model, Arena *mem);

/* For a form: adds a tensor under a formatted name. The tensor must stay valid. */
void form_add(FormTensors *to, const Tensor *t, const char *name, ...)
    __attribute__((format(printf, 3, 4)));

#endif
