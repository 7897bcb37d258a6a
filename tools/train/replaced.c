/*
 * Where --attn names another mechanism than the run whose options are taken over. A run's
 * configuration has the value of every option, also of those that were not given: what the old
 * mechanism had by default belongs to it, and the new one has its own.
 */
#include "tools/train/job.h"

#include "model/layer.h"
#include "tools/common/model_options.h"

#include <stdlib.h>
#include <string.h>

static bool is_setting(const char *name)
{
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++)
        if (strcmp(s->name, name) == 0)
            return true;
    return false;
}

static bool is_usual(const Setting *s, const char *words)
{
    int value;

    return setting_parse_words(s, words, ',', &value) &&
           (value == s->value || (s->both && value == s->both));
}

bool job_was_default(const Attention *old, const char *name, const char *words)
{
    static const Config usual = { CONFIG_DEFAULT };
    const Setting *s = attention_takes(old, name);

    if (s)
        return is_usual(s, words);
    if (strcmp(name, "n-head") == 0)
        return atoi(words) == (layer_of(old)->one_head ? 1 : usual.heads);
    if (strcmp(name, "position") == 0)
        return strcmp(words, position_names[position_default(old)]) == 0;
    return is_setting(name); /* of other mechanisms */
}

bool job_replaces(const Job *job, const char *attn)
{
    return attn && options_set(job->program, "attn") &&
           strcmp(options_value(options_find(job->program, "attn")).at, attn) != 0;
}
