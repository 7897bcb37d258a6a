#include "tools/common/follows.h"

#include "ops/base/text.h"

#include <string.h>

/* "min-lr" or "min_lr". */
static bool is_called(const char *name, const char *option)
{
    for (; *name && (*name == *option || (*name == '_' && *option == '-')); name++)
        option++;
    return !*name && !*option;
}

/* Whether it trains on the built-in stories, which by default have a time limit. */
static bool is_of_stories(const Json *config)
{
    static const char *const of_text[] = { "causal", "mlm", "classify", NULL };
    const Json *texts = json_find(config, "texts");
    const char *task = json_string(config, "task");

    return task && text_is_one(task, of_text) && texts && !texts->first &&
           !json_string(config, "labels");
}

double follows_from(const Json *config, const char *name)
{
    const char *optimizer = json_string(config, "optimizer");
    const OptimiserKind *const *kind = optimisers;
    const double steps = json_number(config, "max_iters");

    if (is_called(name, "lr-decay-iters"))
        return steps;
    if (is_called(name, "min-lr"))
        return json_number(config, "learning_rate") / 10;
    if (is_called(name, "eval-interval"))
        return follows_eval_interval(steps);
    if (is_called(name, "max-time"))
        return is_of_stories(config) ? STORY_SECONDS : (double)NAN;
    while (optimizer && *kind && strcmp((*kind)->name, optimizer) != 0)
        kind++;
    if (!optimizer || !*kind)
        return (double)NAN;
    if (is_called(name, "warmup-iters"))
        return follows_warmup(*kind, json_number(config, "lr_decay_iters"));
    const double its =
        is_called(name, "learning-rate") ? (*kind)->rate : optimiser_default(*kind, name);
    return its != 0 ? its : (double)NAN;
}
