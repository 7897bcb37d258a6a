/*
 * The settings of mechanisms as options, the same in every program that has --attn: a
 * row for each in the program's table, and the check that what was given means something.
 */
#ifndef TOOLS_COMMON_SETTINGS_H
#define TOOLS_COMMON_SETTINGS_H

#include "model/config_size.h"
#include "tools/common/options.h"

/* What the options fill in. */
typedef struct {
    int attention; /* the index of a row; -1: not given */
    Values set;
    bool flag[SETTINGS_MAX]; /* of settings that are flags */
} SettingsOptions;

/* The i-th row of the table of attentions, for an option's `choice`. */
Choice settings_attention(int i);

/* Marks the place of the settings in a program's table: see settings_add(). */
extern const char settings_here[];
#define SETTINGS_HERE                                                                              \
    {                                                                                              \
        .name = settings_here                                                                      \
    }

/*
 * Replaces SETTINGS_HERE in the program's table by a row for each setting; those that shape
 * the layer only for a program that makes layers.
 */
void settings_add(Program *program, SettingsOptions *s, bool layers);

/*
 * The attention and its settings. Dies (EXIT_USAGE) where an option was given that means
 * nothing to that attention, naming those it is for.
 */
const Attention *settings_of(const Program *program, const SettingsOptions *s, Values *set);

/* The values that the options now have, for config.json. */
void settings_put(SettingsOptions *s, const Values *set);

/*
 * For a program that takes several attentions: that each option that was given means
 * something to one of them (ended by NULL); and the settings of one.
 */
void settings_check_some(const Program *program, const Attention *const *some);
Values settings_part(const Program *program, const SettingsOptions *s, const Attention *a);

/* The first setting that was given as an option; NULL: none was. */
const char *settings_given(const Program *program);

/* Dies where an option of the program's own was given that means nothing to the attention. */
void settings_check(const Program *program, const char *option, const Attention *a);
void settings_check_rope(const Program *program, const char *option, const Attention *a);

/* What --rope-scale takes: `linear:4`, `ntk:4`; dies (EXIT_USAGE) of anything else. NULL: none. */
RopeScale settings_rope_scale(const char *words);
Text settings_rope_scale_text(RopeScale scale); /* the same words, or none */

/* "norm n, base 256, window 64": the settings of the configuration's attention. */
Text settings_text(const Config *c);

#endif
