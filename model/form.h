/*
 * A model in the words of others: the classes of Hugging Face's transformers that
 * compute the same numbers from the same tensors, named, arranged and configured
 * as those classes want them.
 */
#ifndef MODEL_FORM_H
#define MODEL_FORM_H

#include "model/checkpoint.h"

#include <stdio.h>

/* The tensors in the other form; what is not the model's own memory is in `mem`. */
typedef struct {
    Arena *mem;
    Entry *entry;
    int n, room;
} FormTensors;

/* A class, and the models that it can be. */
typedef struct {
    const char *name, *class_name; /* "llama", "LlamaForCausalLM" */
    int position, ffn, norm;
    void (*config)(const Config *c, FILE *out); /* what config.json says beside the names */
    void (*tensors)(const Model *model, FormTensors *to);
} Form;

extern const Form form_llama, form_arcee, form_gpt;

/* The form of such a model; or NULL, and `why` says why there is none. */
const Form *form_of_config(const Config *c, Text *why);

/* config.json of that form, or, if it is NULL, the configuration in our own words. */
void form_config(const Form *form, const Config *c, FILE *out);

/* Its tensors, or, if the form is NULL, all that the model has. */
FormTensors form_tensors(const Form *form, const Model *model, Arena *mem);

/* For a form: one more tensor, under a name that is printed. It must stay where it is. */
void form_add(FormTensors *to, const Tensor *t, const char *name, ...)
    __attribute__((format(printf, 3, 4)));

#endif
