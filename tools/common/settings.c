#include "tools/common/settings.h"

#include "ops/base/error.h"
#include "ops/base/text.h"

#include <stdarg.h>
#include <string.h>

enum { ROPE_SCALE_MAX = 1 << 20 };

Choice settings_attention(int i)
{
    return attentions[i] ? (Choice){ attentions[i]->name, attentions[i]->summary }
                         : (Choice){ NULL, NULL };
}

/* "softmax, gau, relu": those that take it. */
static void list_takers(unsigned bit, char *to, size_t size)
{
    size_t n = 0;

    to[0] = 0;
    for (const Attention *const *a = attentions; *a; a++)
        if (((*a)->takes & bit) && n < size)
            n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", (*a)->name);
}

void settings_check(const Program *program, const char *option, unsigned bit, const Attention *a)
{
    char takers[256];

    if ((a->takes & bit) || !options_given(program, option))
        return;
    list_takers(bit, takers, sizeof takers);
    die(EXIT_USAGE, "--%s means nothing to --attn %s; it is for %s", option, a->name, takers);
}

/* The rows of SETTINGS_ROWS, and who takes them. */
static const struct {
    const char *option;
    unsigned bit;
} all[] = {
    { "scale", TAKES_SCALE },
    { "norm", TAKES_NORM },
    { "base", TAKES_BASE },
    { "window", TAKES_WINDOW },
    { "horizon", TAKES_HORIZON },
    { "chunk", TAKES_CHUNK },
    { "interaction", TAKES_INTERACTION },
};
enum { ROWS = sizeof all / sizeof *all };

const char *settings_given(const Program *program)
{
    for (int i = 0; i < ROWS; i++)
        if (options_given(program, all[i].option))
            return all[i].option;
    return NULL;
}

void settings_check_some(const Program *program, const SettingsOptions *s,
                         const Attention *const *some)
{
    for (int i = 0; i < ROWS; i++) {
        unsigned taken = 0;

        for (const Attention *const *a = some; *a; a++)
            taken |= (*a)->takes & all[i].bit;
        if (!taken)
            settings_check(program, all[i].option, all[i].bit, *some);
    }
    if (s->set.base == 1)
        die(EXIT_USAGE, "--base is a length whose logarithm divides: 2 at least, not 1");
}

Settings settings_part(const SettingsOptions *s, const Attention *a)
{
    Settings set = { 0 };

    if (a->takes & TAKES_SCALE)
        set.scale = (Scale)s->scale;
    if (a->takes & TAKES_NORM)
        set.norm = (GauNorm)s->norm;
    if (a->takes & TAKES_INTERACTION)
        set.interaction = (Interaction)s->interaction;
    if (a->takes & TAKES_BASE)
        set.base = s->set.base;
    if (a->takes & TAKES_WINDOW)
        set.window = s->set.window;
    if (a->takes & TAKES_HORIZON)
        set.horizon = s->set.horizon;
    if (a->takes & TAKES_CHUNK)
        set.chunk = s->set.chunk;
    return set;
}

const Attention *settings_of(const Program *program, const SettingsOptions *s, Settings *set)
{
    const Attention *a = attentions[s->attention];

    settings_check_some(program, s, (const Attention *const[]){ a, NULL });
    *set = settings_part(s, a);
    return a;
}

RopeScale settings_rope_scale(const char *words)
{
    RopeScale scale = { 0 };

    for (int i = 0; words && rope_kind_names[i]; i++) {
        size_t n = strlen(rope_kind_names[i]);
        const char *end;

        if (strncmp(words, rope_kind_names[i], n) == 0 && words[n] == ':' &&
            options_number(words + n + 1, &end, &scale.by) && !*end && scale.by >= 1 &&
            scale.by <= ROPE_SCALE_MAX) {
            scale.kind = (RopeKind)i;
            return scale;
        }
    }
    if (words)
        die(EXIT_USAGE,
            "--rope-scale %s: takes linear:S or ntk:S, with S from 1 to %d, written like linear:4",
            text_cut(words, 60).at, ROPE_SCALE_MAX);
    return scale;
}

Text settings_rope_scale_text(RopeScale scale)
{
    Text text = { 0 };

    if (scale.by > 0)
        text_add(&text, "%s:%s", rope_kind_names[scale.kind], text_number(scale.by).at);
    else
        text_add(&text, "none");
    return text;
}

__attribute__((format(printf, 3, 4))) static void add(Text *text, bool it, const char *fmt, ...)
{
    char words[64];
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    if (it)
        text_add(text, "%s%s", text->n ? ", " : "", words);
}

/* The scale or norm of these settings has a logarithm of n0, or divides by it. */
static bool needs_base(const Attention *a, Settings set)
{
    return ((a->takes & TAKES_SCALE) && set.scale != SCALE_SQRT) ||
           ((a->takes & TAKES_NORM) &&
            (set.norm == GAU_FIXED || set.norm == GAU_ENTROPY || set.norm == GAU_LOGN));
}

Text settings_text(const Config *c)
{
    const Attention *a = c->attention;
    const Settings *set = &c->set;
    const MixSize size = config_mix_size(c);
    Text text = { 0 };

    add(&text, a->takes & TAKES_SCALE, "scale %s", scale_names[set->scale]);
    add(&text, a->takes & TAKES_NORM, "norm %s", gau_norm_names[set->norm]);
    add(&text, needs_base(a, *set), "base %d", set->base ? set->base : BASE);
    add(&text, set->window > 0, "window %d", set->window);
    add(&text, a->takes & TAKES_HORIZON, "horizon %d", set->horizon);
    add(&text, set->rope_scale.by > 0, "rope scale %s",
        settings_rope_scale_text(set->rope_scale).at);
    add(&text, a->takes & TAKES_CHUNK, "chunk %d", set->chunk ? set->chunk : CHUNK);
    add(&text, a->takes & TAKES_INTERACTION, "interaction %s", interaction_names[set->interaction]);
    add(&text, size.features > 0, "%d features", size.features);
    add(&text, size.D != size.E, "keys of %d", size.D);
    for (int i = 0; i < SHARES; i++)
        add(&text, c->share >> i & 1, "shared %s", share_names[i]);
    add(&text, c->gateless, "no gate");
    return text;
}
