/* The keys of config.json. */
#include "tools/import/import.h"

#include "ops/base/error.h"
#include "ops/base/file.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 };

/* A key, or NULL if it is missing or null. */
static const Json *find(const Import *in, const char *key)
{
    const Json *j = json_find(in->json, key);

    return j && j->kind != JSON_NULL ? j : NULL;
}

static Text shown(const Json *value)
{
    if (value->kind == JSON_BOOL)
        return text_format("%s", value->number > 0 ? "true" : "false");
    return text_cut(json_text(value).at, SHOWN);
}

int key_number_or(const Import *in, const char *key, int least, int most, int missing)
{
    const Json *j = find(in, key);

    if (!j)
        return missing;
    if (j->kind != JSON_NUMBER || !j->digits || !(j->number >= least && j->number <= most))
        die(EXIT_DATA, "%.180s: %s is %s, but must be a whole number from %d to %d", in->path, key,
            shown(j).at, least, most);
    return (int)j->number;
}

int key_number(const Import *in, const char *key, int least, int most)
{
    if (!find(in, key))
        die(EXIT_DATA, "%.180s has no %s", in->path, key);
    return key_number_or(in, key, least, most, 0);
}

/* The first, if there are several. transformers' default is beyond a small vocabulary. */
int key_end(const Import *in)
{
    const Json *j = find(in, "eos_token_id");

    if (j && j->kind == JSON_ARRAY)
        j = j->first;
    return j && j->digits && j->number < in->config.vocab ? (int)j->number : -1;
}

void key_must_be(const Import *in, const char *key, const char *word, const char *other)
{
    const Json *j = find(in, key);

    if (j && strcmp(shown(j).at, word) != 0 && (!other || strcmp(shown(j).at, other) != 0))
        die(EXIT_DATA, "%.180s: %s is %s; attn.c's models have %s", in->path, key, shown(j).at,
            word);
}

bool key_flag(const Import *in, const char *key, bool missing)
{
    const Json *j = find(in, key);

    if (j && j->kind != JSON_BOOL)
        die(EXIT_DATA, "%.180s: %s is %s, but must be true or false", in->path, key, shown(j).at);
    return j ? j->number != 0 : missing;
}

int key_eps(const Import *in, const char *key)
{
    const Json *j = find(in, key);
    Text known = { 0 };

    if (!j)
        die(EXIT_DATA, "%.180s has no %s", in->path, key);
    for (int i = 0; eps_names[i]; i++) {
        if (j->kind == JSON_NUMBER && j->number == strtod(eps_names[i], NULL))
            return i;
        text_add(&known, "%s%s", i ? ", " : "", eps_names[i]);
    }
    die(EXIT_DATA, "%.180s: %s is %s; attn.c's models have one of %s", in->path, key, shown(j).at,
        known.at);
}

/* Dies unless an object of RoPE's parameters describes plain RoPE. */
static void check_plain_rope(const Import *in, const char *key)
{
    const Json *j = find(in, key);
    const char *new = json_string(j, "rope_type"), *type = new ? new : json_string(j, "type");
    const double part = json_number(j, "partial_rotary_factor");

    if (j && j->kind != JSON_OBJECT)
        die(EXIT_DATA, "%.180s: %s is %s, but must be an object", in->path, key, shown(j).at);
    if (type ? strcmp(type, "default") != 0 : json_find(j, "factor") != NULL)
        die(EXIT_DATA,
            "%.180s: %s has the type %.60s; attn.c's models have RoPE that is not scaled", in->path,
            key, type ? type : "of old files");
    if (part < 1 || part > 1)
        die(EXIT_DATA, "%.180s: partial_rotary_factor is %g; attn.c's models have 1", in->path,
            part);
}

int key_rope_base(const Import *in)
{
    const Json *inner = json_find(find(in, "rope_parameters"), "rope_theta");
    const Json *outer = find(in, "rope_theta"), *j = inner ? inner : outer;

    check_plain_rope(in, "rope_parameters");
    check_plain_rope(in, "rope_scaling");
    key_must_be(in, "partial_rotary_factor", "1", NULL);
    if (!j)
        return 0;
    if (inner && outer && (inner->number < outer->number || inner->number > outer->number))
        die(EXIT_DATA, "%.180s: rope_theta is %s, but %s in rope_parameters", in->path,
            shown(outer).at, shown(inner).at);
    if (j->kind != JSON_NUMBER || !(j->number >= 1 && j->number <= ROPE_BASE_MOST) ||
        j->number != floor(j->number))
        die(EXIT_DATA, "%.180s: rope_theta is %s, but must be a whole number from 1 to %d",
            in->path, shown(j).at, ROPE_BASE_MOST);
    return j->number == 10000 ? 0 : (int)j->number;
}
