#include "tools/settings.h"

#include "ops/error.h"
#include "ops/text.h"

#include <string.h>

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

const Attention *settings_of(const Program *program, const SettingsOptions *s, Settings *set)
{
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
    const Attention *a = attentions[s->attention];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        settings_check(program, all[i].option, all[i].bit, a);
    if (s->set.base == 1)
        die(EXIT_USAGE, "--base is a length whose logarithm divides: 2 at least, not 1");
    *set = s->set;
    set->scale = (Scale)s->scale;
    set->norm = (GauNorm)s->norm;
    set->interaction = (Interaction)s->interaction;
    return a;
}
