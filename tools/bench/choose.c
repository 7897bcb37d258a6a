/* Which mechanisms a section measures. */
#include "tools/bench/bench.h"

#include "ops/base/error.h"
#include "ops/base/text.h"

#include <string.h>

enum { SHOWN = 60, LISTED = 180 }; /* keeps error messages short, whatever was typed */

static const Option option = { .kind = OPTION_CHOICE, .choice = settings_attention };

Text bench_names(void)
{
    return options_names(&option);
}

/* For a wrong or empty name in --attn. */
static noreturn void refuse_name(const char *names, const char *name, size_t n)
{
    const char *near = options_nearest(&option, name, n);
    const Text hint = near ? text_format(" (did you mean %s?)", near) : (Text){ 0 },
               given = text_format("%.*s", (int)(n < 2 * SHOWN ? n : 2 * SHOWN), name);

    if (n == 3 && strncmp(name, "all", n) == 0)
        die(EXIT_USAGE, "--attn %s: `all` stands alone", text_cut(names, SHOWN).at);
    die(EXIT_USAGE, "--attn %s: must be `all`, or some of %s, such as relu,softmax%s",
        text_cut(n > 0 ? given.at : names, SHOWN).at, text_cut(bench_names().at, LISTED).at,
        hint.at);
}

static const Attention *find(const char *names, const char *name, size_t n)
{
    for (const Attention *const *a = attentions; *a; a++)
        if (strlen((*a)->name) == n && strncmp((*a)->name, name, n) == 0)
            return *a;
    refuse_name(names, name, n);
}

const Attention *const *bench_named(const char *names)
{
    static const Attention *named[MECHANISMS_NAMED + 1];
    int n = 0, same;

    for (const char *at = names;; at++) {
        size_t length = strcspn(at, ",");
        const Attention *a = find(names, at, length);

        for (same = 0; same < n && named[same] != a; same++)
            ;
        if (same == MECHANISMS_NAMED)
            BUG("more than %d attentions", MECHANISMS_NAMED);
        named[same] = a;
        n += same == n;
        at += length;
        if (!*at)
            return named;
    }
}

/* Why it cannot be measured like this, or empty. */
static Text refusal(const Mechanisms *m, const Attention *a, Need need)
{
    const Values set = settings_part(m->program, &m->settings, a);

    if (need == NEED_DECODING && !attention_decodes(a))
        return text_format("cannot decode");
    return attention_refuses(a, &set, need != NEED_BOTH_SIDES);
}

void bench_take(Mechanisms *m, const Attention *const *from, Need need)
{
    int n = 0;

    for (; *from; from++)
        if (!refusal(m, *from, need).n)
            m->attentions[n++] = *from;
    m->attentions[n] = NULL;
}

void bench_check_need(const Mechanisms *m, const Attention *const *named, Need need)
{
    static const char *const advice[] = { [NEED_CAUSAL] = "add --bidirectional",
                                          [NEED_BOTH_SIDES] = "leave out --bidirectional",
                                          [NEED_DECODING] = "leave it out" };

    for (; *named; named++) {
        const Text why = refusal(m, *named, need);

        if (why.n)
            die(EXIT_USAGE, "--attn %s %s: %s", (*named)->name, why.at, advice[need]);
    }
}
