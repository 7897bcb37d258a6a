/*
 * The options of a mechanism, the same in every program that has --attn: their
 * rows for its table, and the check that what was given means something.
 */
#ifndef TOOLS_COMMON_SETTINGS_H
#define TOOLS_COMMON_SETTINGS_H

#include "model/config.h"
#include "tools/common/options.h"

/* What the rows below fill in; the choices are indices into the names of attention.h. */
typedef struct {
    int attention, scale, norm, interaction;
    Settings set;
} SettingsOptions;

/* The i-th row of the table of attentions, for an option's `choice`. */
Choice settings_attention(int i);

#define SETTINGS_ROWS(s)                                                                           \
    { "scale", OPTION_CHOICE, &(s).scale, .choices = scale_names, .help = "softmax: of q.k" },     \
        { "norm", OPTION_CHOICE, &(s).norm, .choices = gau_norm_names,                             \
          .help = "gau: what a row is divided by" },                                               \
        { "base", OPTION_INT, &(s).set.base, .max = 1 << 24,                                       \
          .help = "n0 of entropy, logn and fixed; 0: by default" },                                \
        { "window", OPTION_INT, &(s).set.window, .max = 1 << 24,                                   \
          .help = "see only keys so near; 0: all" },                                               \
        { "horizon", OPTION_INT, &(s).set.horizon, .max = 1 << 24,                                 \
          .help = "cosformer: the length its angles reach" },                                      \
        { "chunk", OPTION_INT, &(s).set.chunk, .max = 1 << 24,                                     \
          .help = "flash: positions in a chunk; 0: 256" },                                         \
    {                                                                                              \
        "interaction", OPTION_CHOICE, &(s).interaction,                                            \
            .choices = interaction_names, .help = "fastformer: of the pooled q with k"             \
    }

/*
 * The attention and its settings. Dies (EXIT_USAGE) where an option was given
 * that means nothing to that attention, naming those it is for.
 */
const Attention *settings_of(const Program *program, const SettingsOptions *s, Settings *set);

/* What --rope-scale takes: `linear:4`, `ntk:4`; dies (EXIT_USAGE) of anything else. NULL: none. */
RopeScale settings_rope_scale(const char *words);
Text settings_rope_scale_text(RopeScale scale); /* the same words, or none */

/* "norm n, base 256, window 64": what of the configuration is about its attention. */
Text settings_text(const Config *c);
/*
 * For a program that takes several: what of it an attention takes. The check is
 * that one or another of them, ended by NULL, takes each option that was given.
 */
void settings_check_some(const Program *program, const SettingsOptions *s,
                         const Attention *const *some);
Settings settings_part(const SettingsOptions *s, const Attention *a);

/* The first of these options that was given; NULL: none was. */
const char *settings_given(const Program *program);

/* The same check for an option of the program's own, which an attention takes with that bit. */
void settings_check(const Program *program, const char *option, unsigned bit, const Attention *a);

#endif
