/* Options from a configuration, such as the one that options_json() writes. */
#include "tools/common/options.h"

#include "ops/base/error.h"

#include <string.h>

enum { SHOWN = 60 };

static noreturn void refuse_key(const Program *program, const char *path, const char *key)
{
    Nearest near = { .given = key, .n = strlen(key) };

    for (const Option *o = program->options; o->name; o++)
        if (o->kind != OPTION_GROUP)
            options_nearer(&near, o->name);
    die(EXIT_DATA, "%.120s: unknown option %s%s", path, text_cut(key, SHOWN).at,
        near.name ? text_format(": did you mean %s?", near.name).at : "");
}

bool options_fact(const char *key)
{
    static const char *const facts[] = { "command", "texts",   "parameters",  "version",
                                         "commit",  "flags",   "compiler",    "cpu",
                                         "host",    "started", "label_names", NULL };

    return text_is_one(key, facts);
}

bool options_matter(const char *key)
{
    static const char *const passing[] = {
        "out_dir",     "overwrite",           "resume",       "config",
        "threads",     "allow_corpus_change", "recompute",    "max_time",
        "stop_at",     "save_interval",       "log_interval", "sample_tokens",
        "temperature", "tensorboard",         "auto_resume",  NULL
    };

    return !options_fact(key) && !text_is_one(key, passing);
}

bool options_same_texts(const Json *a, const Json *b)
{
    const Json *x = a ? a->first : NULL, *y = b ? b->first : NULL;

    for (; a && b && x && y; x = x->next, y = y->next) {
        const char *one = json_string(x, "hash"), *other = json_string(y, "hash");

        if (one && other && strcmp(one, other) != 0)
            return false;
    }
    return !a || !b || (!x && !y);
}

bool options_follow_seed(const Json *config, const char *key)
{
    return strcmp(key, "pattern_seed") == 0 && strcmp(json_text(json_find(config, key)).at,
                                                      json_text(json_find(config, "seed")).at) == 0;
}

/* The value as on the command line, in `mem`; NULL: it cannot be one. */
static const char *value_of(const Json *j, Arena *mem)
{
    const char *text = "";

    if (j->kind == JSON_ARRAY && j->count > OPTION_TEXTS_MAX)
        return NULL;
    if (j->kind == JSON_STRING || (j->kind == JSON_NUMBER && j->string))
        return j->string;
    if (j->kind == JSON_NUMBER)
        return arena_string(mem, text_number(j->number).at);
    if (j->kind == JSON_BOOL)
        return j->number > 0 ? "on" : "off";
    for (const Json *part = j->kind == JSON_ARRAY ? j->first : NULL; part; part = part->next) {
        const char *value = part->kind == JSON_ARRAY ? NULL : value_of(part, mem);

        if (!value)
            return NULL;
        text = arena_format(mem, "%s%s%s", text, part == j->first ? "" : ",", value);
    }
    return j->kind == JSON_ARRAY ? text : NULL;
}

static bool is_empty(const Json *j)
{
    return j->kind == JSON_NULL || (j->kind == JSON_ARRAY && !j->first);
}

static void restore(const Program *program, const Option *o, const char *value, const char *path)
{
    if (!value || !options_restore(program, o->name, value))
        die(EXIT_DATA, "%.120s: %s is '%s': must be %s", path, o->name,
            text_cut(value ? value : "{}", SHOWN).at, options_instead(o, value ? value : "").at);
    if (o->kind != OPTION_PRESET)
        return;
    const Preset *preset = &o->presets[*(int *)o->at];
    for (int i = 0; preset->values[i][0]; i++)
        if (!options_restore(program, preset->values[i][0], preset->values[i][1]))
            BUG("preset %s: %s cannot be %s", preset->name, preset->values[i][0],
                preset->values[i][1]);
}

/* The members that are presets, or all others: as on the command line, these come after it. */
static void restore_some(const Program *program, const Json *config, const char *path,
                         SkipOption *skip, bool presets, Arena *mem)
{
    for (const Json *j = config->first; j; j = j->next) {
        const Option *o = options_find(program, j->name);

        if (skip(o ? o->name : j->name, j, config))
            continue;
        if (!o)
            refuse_key(program, path, j->name);
        if (!is_empty(j) && (o->kind == OPTION_PRESET) == presets)
            restore(program, o, value_of(j, mem), path);
    }
}

static Text *values_of(const Program *program, Arena *mem)
{
    int n = 0;

    while (program->options[n].name)
        n++;
    Text *value = arena_take(mem, (size_t)n * sizeof *value);
    for (int i = 0; i < n; i++)
        value[i] = options_value(&program->options[i]);
    return value;
}

/* One that has its default may be of no use without being a mistake, as in {"horizon": 0}. */
static void count_changed(const Program *program, const Text *was)
{
    Option *o = program->options;

    for (int i = 0; o[i].name; i++)
        o[i].given |= o[i].restored && strcmp(options_value(&o[i]).at, was[i].at) != 0;
}

void options_config(const Program *program, const Json *config, const char *path, SkipOption *skip,
                    bool given, Arena *mem)
{
    const Text *was = given ? values_of(program, mem) : NULL;

    restore_some(program, config, path, skip, true, mem);
    restore_some(program, config, path, skip, false, mem);
    if (given)
        count_changed(program, was);
}
