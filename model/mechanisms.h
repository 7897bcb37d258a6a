/*
 * Models whose layers have different mechanisms. A configuration lists them, and the layers take
 * them in turn; as text, the list is
 *
 *     retnet,softmax:window=64:base=8
 *
 * with the settings of each that are not at their defaults. With a single mechanism, the text is
 * its name, and its settings are keys of the configuration.
 */
#ifndef MODEL_MECHANISMS_H
#define MODEL_MECHANISMS_H

#include "model/config.h"

/* The list; if all are equal, there is one mechanism, and no list. */
void config_arrange(Config *c, const Mechanism *list, int n);

/* The configuration with the mechanism of layer l. */
Config config_layer(const Config *c, int l);

/* The first layer with that mechanism. */
int config_first_layer(const Config *c, int l);

/*
 * The parts of a model with the same mechanism: how many, and the i-th as a model of its own, which
 * has only the layers of that part. There may be none.
 */
int config_parts(const Config *c);
Config config_part(const Config *c, int i);

/* The sum, or the maximum, of a number of each part; the traits that all parts have. */
double config_sum(const Config *c, double (*of)(const Config *part));
double config_most(const Config *c, double (*of)(const Config *part));
unsigned config_traits(const Config *c);

/* Sets a setting of all mechanisms that have it; false: none has. */
bool config_set(Config *c, const char *name, int value);

/* The list as text; with names alone, "retnet+softmax". */
Text config_mechanisms(const Config *c);
Text config_mechanism_names(const Config *c);

/* Applies "window=64:base=8" to a mechanism, or says what is wrong. */
Text mechanism_apply(Mechanism *m, const char *words);

/* Parses a list into a configuration, or says what is wrong. Without a list: settings_unsaved(). */
Text config_read_mechanisms(Config *c, const char *words);

#endif
