/*
 * The settings of mechanisms as options, shared by all programs that have --attn: adds them to the
 * program's table, and checks that those given apply to the mechanism.
 */
#ifndef TOOLS_COMMON_SETTINGS_H
#define TOOLS_COMMON_SETTINGS_H

#include "model/config_size.h"
#include "tools/common/options.h"

/* The values of the options. */
typedef struct {
    int attention;         /* the index of a row; -1: not given */
    OptionSequence layers; /* the same, for programs whose layers may differ */
    Values set;
    bool flag[SETTINGS_MAX]; /* values of settings that are flags */
    bool has_context;        /* lengths may be `context`: see SettingLength */
    bool has_seed;           /* that of a new model */
} SettingsOptions;

/* The i-th row of the table of attentions, for an option's `choice`. */
Choice settings_attention(int i);

/* The place in a program's table where settings_add() inserts the settings. */
extern const char settings_here[];
#define SETTINGS_HERE                                                                              \
    {                                                                                              \
        .name = settings_here                                                                      \
    }

/*
 * Replaces SETTINGS_HERE in the program's table by a row for each setting; settings that shape the
 * layer are included only if `layers`.
 */
void settings_add(Program *program, SettingsOptions *s, bool layers);

/*
 * The attention and its settings. Dies (EXIT_USAGE) if an option was given that does not apply to
 * the attention; the message names those to which it does.
 */
const Attention *settings_of(const Program *program, const SettingsOptions *s, Values *set);

/* A resumed run has the settings of its model, which an older version may have named otherwise. */
void settings_keep(const Program *program, const Config *was, Config *c);

/* Sets the options to these values, for config.json. */
void settings_put(SettingsOptions *s, const Values *set);

/*
 * For a program with several attentions: checks that each option given applies to one of them
 * (`some` ends with NULL); and the settings of one.
 */
void settings_check_some(const Program *program, const Attention *const *some);
Values settings_part(const Program *program, const SettingsOptions *s, const Attention *a);

/*
 * The same for one of several mechanisms whose names are followed by what a resumed run has set: of
 * the options, only those count that are given now.
 */
Values settings_given_part(const Program *program, const SettingsOptions *s, const Attention *a);

/* A setting that is a seed, and that no option sets, is that of the model. */
void settings_seed(const Program *program, const Attention *a, Values *set, uint64_t seed);

/* Where both sides are seen, a setting that no option sets may have another default. */
void settings_see_both(const Program *program, const Attention *a, Values *set);

/* The first setting given as an option, or NULL. */
const char *settings_given(const Program *program);

/* Dies if an option of the program itself was given that does not apply to the attention. */
void settings_check(const Program *program, const char *option, const Attention *a);
void settings_check_rope(const Program *program, const char *option, const Attention *a);

/* Dies if a setting of RoPE was given without RoPE; `by` is the option that turns it on. */
void settings_check_rotated(const Program *program, bool rope, const char *by);

/* Dies (EXIT_USAGE) if --layer or --layers is given to a mechanism that is the same in all layers.
 */
void settings_check_layer(const Program *program, const Attention *a);

/* Parses --rope-scale, like `linear:4` or `ntk:4`, or dies (EXIT_USAGE). NULL: none. */
RopeScale settings_rope_scale(const char *words);
Text settings_rope_scale_text(RopeScale scale); /* and back; empty: none */

/* "norm n, base 256, window 64": the settings of the configuration's attention. */
Text settings_text(const Config *c);

#endif
