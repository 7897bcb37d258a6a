/* The options that describe a model, and those of its optimiser. */
#ifndef TOOLS_COMMON_MODEL_OPTIONS_H
#define TOOLS_COMMON_MODEL_OPTIONS_H

#include "tools/common/settings.h"
#include "training/optimiser.h"

/* The values of those that are not in a Config, and the defaults. */
typedef struct {
    SettingsOptions mechanism;
    int position; /* -1: not given */
    bool tied, bias, residual, shortcut, value_embedding;
    double gamma_init; /* 0: all gammas are 1 */
    uint64_t seed;     /* of a new model */
} ModelOptions;
#define MODEL_OPTIONS_DEFAULT                                                                      \
    {                                                                                              \
        .mechanism = { .has_context = true, .has_seed = true, .layers.n = 1 }, .position = -1,     \
        .residual = true, .gamma_init = GAMMA                                                      \
    }
#define CONFIG_DEFAULT .layers = 4, .heads = 4, .width = 128, .context = 256
#define HYPER_DEFAULT                                                                              \
    {                                                                                              \
        (double)NAN, (double)NAN, (double)NAN, (double)NAN, false, false, 0, 5, 0                  \
    }

/* The help of --position, with the default of each attention. */
extern Text model_positions;
extern const char model_gammas[];

/* Rows for a program's option table; model_options_add() completes the table. */
#define MODEL_OPTIONS(to, config)                                                                  \
    { "n-layer", OPTION_INT, &(config).layers, .min = 1, .max = 1000, .help = "blocks" },          \
        { "n-head", OPTION_INT,  &(config).heads,                                                  \
          .min = 1, .max = 1024, .help = "heads per layer; default for gau, flash-gau: 1" },       \
        { "n-kv-head",                                                                             \
          OPTION_INT,                                                                              \
          &(config).kv_heads,                                                                      \
          .max = 1024,                                                                             \
          .alias = "n-kv-heads",                                                                   \
          .help =                                                                                  \
              "heads of k and v, each shared by a group of heads (grouped-query attention; 1: "    \
              "multi-query); 0: as many as heads" },                                               \
        { "n-embd", OPTION_INT, &(config).width, .min = 1, .max = 16384, .help = "width" },        \
        { "block-size",   OPTION_INT,         &(config).context,           .min = 1,               \
          .max = 1 << 24, .alias = "context", .help = "context, in tokens" },                      \
        { "dropout", OPTION_REAL,   &(config).dropout,                                             \
          .max = 1,  .below = true, .help = "dropout probability" },                               \
        { "position", OPTION_CHOICE, &(to).position, .choices = position_names,                    \
          .help = model_positions.at },                                                            \
        { "ffn", OPTION_CHOICE, &(config).ffn, .choices = ffn_names,                               \
          .help = "activation of the feed-forward layer; relu2: max(x, 0)^2" },                    \
        { "layer-norm", OPTION_CHOICE, &(config).norm, .choices = norm_names,                      \
          .help = "RMSNorm or LayerNorm" },                                                        \
        { "norm-eps", OPTION_CHOICE, &(config).eps, .choices = eps_names,                          \
          .help = "epsilon of the norms before layers and at the end" },                           \
        { "n-inner", OPTION_INT, &(config).hidden, .max = INNER_MOST,                              \
          .help = "width of the feed-forward layer; 0: 4 n-embd, for swiglu 8/3 n-embd, in "       \
                  "multiples of 16" },                                                             \
        { "rope-base", OPTION_INT, &(config).rope_base, .max = ROPE_BASE_MOST,                     \
          .help = "base of RoPE's frequencies; 0: 10000" },                                        \
        { "shortcut", OPTION_FLAG, &(to).shortcut,                                                 \
          .help = "add the embeddings to the input of each block, with learned weights" },         \
        { "value-embedding", OPTION_FLAG, &(to).value_embedding,                                   \
          .help = "let each layer add a learned vector of the token to v" },                       \
        { "logit-cap", OPTION_INT, &(config).logit_cap, .max = LOGIT_CAP_MOST,                     \
          .help = "replace each logit x by N tanh(x / N), between -N and N; 0: off" },             \
        { "init-out", OPTION_CHOICE, &(config).init_out, .choices = out_names,                     \
          .help = "initial scale of matrices that add to the residual stream: set by the "         \
                  "number of layers, or zero" },                                                   \
        { "gamma-init", OPTION_REAL,   &(to).gamma_init,                                           \
          .max = 1e6,   .also = "one", .help = model_gammas },                                     \
        { "tied", OPTION_FLAG, &(to).tied, .help = "tie the weights of embedding and output" },    \
        { "pool", OPTION_CHOICE, &(config).pool, .choices = pool_names,                            \
          .help =                                                                                  \
              "classifiers: how to pool positions into one vector: their mean, an average with "   \
              "learned weights, or the first alone" },                                             \
        { "pairs", OPTION_CHOICE, &(config).pairs, .choices = pairs_names,                         \
          .help = "classifiers of pairs of texts: join them, or read each in half of the context " \
                  "and compare" },                                                                 \
        { "bias", OPTION_FLAG, &(to).bias, .help = "biases in the dense layers" },                 \
    {                                                                                              \
        "residual", OPTION_FLAG, &(to).residual,                                                   \
            .help = "add the input of each layer to its output"                                    \
    }

/* The choices of --optimizer. */
Choice choice_optimiser(int i);

#define OPTIMISER_OPTIONS(hyper)                                                                   \
    { "momentum", OPTION_REAL,   &(hyper).momentum,                                                \
      .max = 1,   .below = true, .help = "momentum, for optimizers that use it" },                 \
        { "momentum-warmup", OPTION_INT, &(hyper).momentum_warmup, .max = 100000000,               \
          .help = "muon: updates over which the momentum rises from 0.85; 0: none" },              \
        { "ns-steps", OPTION_INT, &(hyper).ns_steps,                                               \
          .min = 1,   .max = 20,  .help = "muon: Newton-Schulz steps per update" },                \
        { "nesterov", OPTION_FLAG, &(hyper).nesterov, .help = "sgd: Nesterov momentum" },          \
        { "weight-decay", OPTION_REAL, &(hyper).decay,                                             \
          .help = "weight decay of matrices and tables, not of gains, biases and convolutions" },  \
        { "cautious-decay", OPTION_FLAG, &(hyper).cautious,                                        \
          .help = "no weight decay for weights whose update moves them away from 0" },             \
        { "beta1",  OPTION_REAL,   &(hyper).beta1,                                                 \
          .max = 1, .below = true, .help = "decay of the first moment" },                          \
        { "beta2",  OPTION_REAL,   &(hyper).beta2,                                                 \
          .max = 1, .below = true, .help = "decay of the second moment" },                         \
    {                                                                                              \
        "ema", OPTION_REAL, &(hyper).ema,                                                          \
            .max = 1, .below = true,                                                               \
            .help = "evaluate and save an exponential moving average of the weights, with this "   \
                    "decay per update, such as 0.999; 0: the weights themselves"                   \
    }

#define FREEZE_OPTION(frozen)                                                                      \
    {                                                                                              \
        "freeze", OPTION_TEXTS, &(frozen),                                                         \
            .word = "PATTERN,...",                                                                 \
            .help = "do not train these tensors, such as embed or blocks.0 or 'blocks.*.attn'"     \
    }

/* Applies --freeze. */
void freeze_tensors(const OptionTexts *frozen, Params *params);

/* A key of a configuration and its value as an option takes them; no_residual is `residual`, the
 * other way round. */
typedef struct {
    Text name, value;
} KeyOption;
KeyOption model_option_of(const Setting *key, int value);

/* Whether an option sets the key whose value in `of` is at `value`; the others follow from the
 * data. */
bool model_has_option(const Config *of, const int *value);

/* The first difference between two models, "--n-layer 4, not 6", or empty. */
Text model_difference(const Config *one, const Config *other);

void model_options_add(Program *program, ModelOptions *options);

/*
 * Sets the configuration, except for the vocabulary size and the task, which is set already. Fills
 * in defaults that depend on these and on other options, also in the options: lengths in a
 * mechanism's settings become the context. Settings that were not given keep their value in `was`,
 * the configuration of a resumed run, or NULL. Dies (EXIT_USAGE) if an option does not apply to the
 * attention.
 */
void model_options_settle(const Program *program, ModelOptions *options, const Config *was,
                          Config *c);

/* Fills in the optimiser's defaults; dies if an option does not apply to it. */
void optimiser_options_settle(const Program *program, const OptimiserKind *kind, Optimiser *o);

#endif
