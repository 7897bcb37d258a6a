#include "model/mechanisms.h"

#include <string.h>

static bool same(const Mechanism *a, const Mechanism *b)
{
    return a->attention == b->attention && memcmp(&a->set, &b->set, sizeof a->set) == 0;
}

void config_arrange(Config *c, const Mechanism *list, int n)
{
    bool one = true;

    c->attention = list[0].attention;
    c->set = list[0].set;
    for (int i = 0; i < n; i++) {
        c->list[i] = list[i];
        one = one && same(&list[i], &list[0]);
    }
    c->listed = one ? 0 : n;
}

static Config with(const Config *c, const Mechanism *m)
{
    Config it = *c;

    it.attention = m->attention;
    it.set = m->set;
    return it;
}

Config config_layer(const Config *c, int l)
{
    return c->listed ? with(c, &c->list[l % c->listed]) : *c;
}

int config_first_layer(const Config *c, int l)
{
    int first = 0;

    while (c->listed && !same(&c->list[first], &c->list[l % c->listed]))
        first++;
    return first;
}

int config_parts(const Config *c)
{
    return c->listed ? c->listed : 1;
}

Config config_part(const Config *c, int i)
{
    if (!c->listed)
        return *c;
    Config part = with(c, &c->list[i]);

    part.listed = part.layers = 0;
    for (int j = 0; j < i; j++)
        if (same(&c->list[j], &c->list[i]))
            return part;
    for (int l = 0; l < c->layers; l++)
        part.layers += same(&c->list[l % c->listed], &c->list[i]);
    return part;
}

double config_sum(const Config *c, double (*of)(const Config *part))
{
    double sum = 0;

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        sum += part.layers || !c->listed ? of(&part) : 0;
    }
    return sum;
}

double config_most(const Config *c, double (*of)(const Config *part))
{
    double most = 0;

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        most = fmax(most, of(&part));
    }
    return most;
}

unsigned config_traits(const Config *c)
{
    unsigned traits = ~0U;

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        traits &= attention_traits(part.attention, &part.set);
    }
    return traits;
}

bool config_set(Config *c, const char *name, int value)
{
    bool any = false;

    for (int i = 0; i < c->listed; i++)
        if (attention_takes(c->list[i].attention, name))
            *setting_at(&c->list[i].set, name) = value, any = true;
    if (attention_takes(c->attention, name))
        *setting_at(&c->set, name) = value, any = true;
    return any;
}

static void add_mechanism(Text *text, const Mechanism *m)
{
    const Values plain = settings_default(m->attention);

    text_add(text, "%s", m->attention->name);
    for (const Setting *s = m->attention->settings; s && s->name; s++)
        if (setting(&m->set, s->name) != setting(&plain, s->name))
            text_add(text, ":%s=%s", s->name, setting_words(s, setting(&m->set, s->name), '+').at);
}

Text config_mechanisms(const Config *c)
{
    Text text = { 0 };

    if (!c->listed)
        text_add(&text, "%s", c->attention->name);
    for (int i = 0; i < c->listed; i++) {
        text_add(&text, "%s", i ? "," : "");
        add_mechanism(&text, &c->list[i]);
    }
    return text;
}

Text config_mechanism_names(const Config *c)
{
    Text text = { 0 };

    for (int i = 0; i < config_parts(c); i++)
        text_add(&text, "%s%s", i ? "+" : "", config_part(c, i).attention->name);
    return text;
}

/* For a setting that it does not have. */
static Text refuse_setting(const Attention *a, const char *name)
{
    enum { LISTED = 200 };
    Text names = { 0 };

    for (const Setting *s = a->settings; s && s->name; s++)
        text_add(&names, "%s%s", names.n ? ", " : "", s->name);
    return text_format("%s has no setting '%.40s'%s%s", a->name, name, names.n ? "; it has " : "",
                       text_cut(names.at, LISTED).at);
}

/* One setting, "window=64". */
static Text apply_one(Mechanism *m, char *words)
{
    char *equals = strchr(words, '=');
    const char *value = equals ? equals + 1 : NULL;
    const Setting *s;

    if (equals)
        *equals = '\0';
    for (char *c = words; *c; c++)
        *c = *c == '_' ? '-' : *c;
    s = attention_takes(m->attention, words);
    if (!s)
        return refuse_setting(m->attention, words);
    if (!value && s->kind == SETTING_FLAG)
        value = "on";
    if (!value || !setting_parse_words(s, value, '+', setting_at(&m->set, s->name)))
        return text_format("%s cannot be '%.40s' in %s: it takes %s", s->name, value ? value : "",
                           m->attention->name, setting_takes(s, '+').at);
    return (Text){ 0 };
}

/* The setting at `at` has a value before it in the same words. */
static bool is_repeated(const char *words, const char *at)
{
    const size_t n = strcspn(at, "=:");

    for (; words < at; words += strcspn(words, ":") + 1)
        if (strcspn(words, "=:") == n && strncmp(words, at, n) == 0)
            return true;
    return false;
}

Text mechanism_apply(Mechanism *m, const char *words)
{
    Text why = { 0 };

    for (const char *at = words; !why.n;) {
        const size_t n = strcspn(at, ":");
        Text one = text_format("%.*s", (int)n, at);

        if (n == 0)
            why = text_format("a ':' in %s has no setting after it", m->attention->name);
        else if (is_repeated(words, at))
            why = text_format("%s is given twice in %s", one.at, m->attention->name);
        else
            why = apply_one(m, one.at);
        at += n;
        if (!*at++)
            break;
    }
    return why.n ? why : settings_misfit(m->attention, &m->set);
}

/* "retnet" or "softmax:window=64" */
static Text read_one(Mechanism *m, const char *words, size_t n)
{
    Text one = text_format("%.*s", (int)n, words);
    char *settings = strchr(one.at, ':');

    if (settings)
        *settings++ = '\0';
    m->attention = attention_find(one.at);
    if (!m->attention)
        return text_format("this version has no attention called '%.40s'", one.at);
    m->set = settings_default(m->attention);
    return settings ? mechanism_apply(m, settings) : (Text){ 0 };
}

Text config_read_mechanisms(Config *c, const char *words)
{
    Mechanism list[MECHANISMS_MOST];
    Text why = { 0 };
    int n = 0;

    for (;; words++) {
        const size_t length = strcspn(words, ",");

        if (n == MECHANISMS_MOST)
            return text_format("more than %d mechanisms", MECHANISMS_MOST);
        why = read_one(&list[n++], words, length);
        words += length;
        if (why.n || !*words)
            break;
    }
    if (why.n)
        return why;
    config_arrange(c, list, n);
    if (!c->listed)
        c->set = settings_unsaved(c->attention);
    return why;
}
