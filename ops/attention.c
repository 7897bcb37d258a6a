#include "ops/attention.h"

#include "ops/base/error.h"
#include "ops/decoding.h"

#include <stdint.h>
#include <string.h>

#define ROW_OF(name) &attention_##name,
const Attention *const attentions[] = { ATTENTIONS(ROW_OF) NULL };

const Attention *attention_find(const char *name)
{
    for (const Attention *const *a = attentions; *a; a++)
        if (strcmp((*a)->name, name) == 0 || ((*a)->alias && strcmp((*a)->alias, name) == 0))
            return *a;
    return NULL;
}

const Operand *attention_operand(const Attention *a, int i)
{
    static const Operand q = { .name = "q", .shape = "BNHd", .own_row = true },
                         k = { .name = "k", .shape = "BNHd" }, v = { .name = "v", .shape = "BNHe" },
                         v_as_wide = { .name = "v", .shape = "BNHd" };
    const Operand *const common[] = { &q, &k, a->traits & V_AS_WIDE ? &v_as_wide : &v };

    if (i < 3)
        return common[i];
    for (const Operand *o = a->operands; o && o->name; o++)
        if (i-- == 3)
            return o;
    return NULL;
}

bool attention_needs(const Attention *a, const Values *set, int i)
{
    const Operand *o = attention_operand(a, i);

    return o && (!o->with || setting_is(set, o->with, o->is)) &&
           (!o->and || setting_is(set, o->and, o->as));
}

bool operand_learned(const Operand *o, const Values *set)
{
    return !o->draw || (o->learn && setting(set, o->learn));
}

const char *const out_norm_names[] = { "none", "rms", NULL };
const char *const rel_bias_names[] = { "none", "rope", NULL };
const char *const rope_at_names[] = { "after", "before", NULL };

Tensor *mix_tensor(const Mix *in, const char *name)
{
    const Operand *o;

    for (int i = 0; (o = attention_operand(in->attention, i)); i++)
        if (strcmp(o->name, name) == 0)
            return in->x[i];
    BUG("%s has no operand %s", in->attention->name, name);
}

/* The settings of all rows without duplicates, in order of first appearance. */
typedef struct {
    const Setting *at[SETTINGS_MAX + 1];
    int n;
} Settings;

/* Names are usually the same literal, so comparing addresses first avoids most strcmp() calls. */
static int place_of(const Settings *s, const char *name)
{
    int i = 0;

    for (int same = 0; same < s->n; same++)
        if (s->at[same]->name == name)
            return same;
    while (i < s->n && strcmp(s->at[i]->name, name) != 0)
        i++;
    return i;
}

static void gather(Settings *s, const Setting *of)
{
    for (; of && of->name; of++)
        if (place_of(s, of->name) == s->n) {
            if (s->n == SETTINGS_MAX)
                BUG("more than %d settings", SETTINGS_MAX);
            s->at[s->n++] = of;
        }
}

static const Settings *settings(void)
{
    static Settings all; /* filled in before any other thread exists */

    if (all.n == 0)
        for (const Attention *const *a = attentions; *a; a++)
            gather(&all, (*a)->settings);
    return &all;
}

const Setting *settings_at(int i)
{
    return settings()->at[i];
}

const Setting *attention_takes(const Attention *a, const char *name)
{
    const Setting *s = a->settings;

    while (s && s->name && strcmp(s->name, name) != 0)
        s++;
    return s && s->name ? s : NULL;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

bool setting_matters(const Attention *a, const Values *set, const Setting *s)
{
    for (const Setting *by = a->settings; s->with && by && by->name; by++)
        if (by->kind == SETTING_CHOICE && is_one_of(by->choices[setting(set, by->name)], s->with))
            return true;
    return !s->with;
}

Values settings_default(const Attention *a)
{
    Values values = { { 0 } };
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++) {
        const Setting *own = attention_takes(a, s->name);

        values.at[i] = own ? own->value : s->value;
    }
    return values;
}

Values settings_unsaved(const Attention *a)
{
    Values values = settings_default(a);

    for (const Setting *s = a->settings; s && s->name; s++)
        if (s->was && !setting_parse(s, s->was, setting_at(&values, s->name)))
            BUG("--%s was never %s", s->name, s->was);
    return values;
}

Text settings_misfit(const Attention *a, const Values *set)
{
    Text why = { 0 };

    for (const Setting *s = a->settings; !why.n && s && s->name; s++) {
        const int value = setting(set, s->name);

        if (value < s->least && s->kind == SETTING_CHOICE)
            text_add(&why, "--%s %s does not apply to --attn %s, which has %s", s->name,
                     s->choices[value], a->name, s->choices[s->least]);
        else if (value && s->without && setting(set, s->without))
            text_add(&why, "--%s and --%s exclude each other: give only one", s->name, s->without);
        else if (value < s->least && value && value != SETTING_CONTEXT)
            text_add(&why, "--%s is %d: it must be at least %d (or 0, the default)", s->name, value,
                     s->least);
    }
    return why;
}

void settings_fit_context(Values *values, const Attention *a, SettingLength which, int context)
{
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++)
        if (s->length == which && attention_takes(a, s->name) &&
            values->at[i] < (which == CONTEXT_IF_ASKED ? 0 : context))
            values->at[i] = context;
}

int *setting_at(Values *values, const char *name)
{
    int i = place_of(settings(), name);

    if (!settings_at(i))
        BUG("no mechanism has a setting %s", name);
    return &values->at[i];
}

int setting(const Values *values, const char *name)
{
    return *setting_at((Values *)(uintptr_t)values, name);
}

int setting_or_zero(const Values *values, const char *name)
{
    int value = setting(values, name);

    return value ? value : settings_at(place_of(settings(), name))->zero;
}

bool setting_is(const Values *values, const char *name, const char *choice)
{
    const Setting *s = settings_at(place_of(settings(), name));
    int value = setting(values, name), i = 0;

    while (s->choices[i] && strcmp(s->choices[i], choice) != 0)
        i++;
    if (!s->choices[i])
        BUG("--%s has no value %s", name, choice);
    return s->kind == SETTING_SET ? value >> i & 1 : value == i;
}

unsigned attention_traits(const Attention *a, const Values *set)
{
    return a->traits | (a->more_traits ? a->more_traits(set) : 0);
}

const char *attention_refuses(const Attention *a, bool causal)
{
    if (causal)
        return a->traits & BIDIRECTIONAL_ONLY ? "is bidirectional only" : NULL;
    return a->traits & CAUSAL_ONLY ? "is causal only" : NULL;
}

bool attention_decodes(const Attention *a)
{
    return a->engine->step && !attention_refuses(a, true);
}

/* The mix of one position, from the state left by earlier positions. */
static Tensor *step(Tape *tape, const Mix *in)
{
    Tensor *o = tensor_new(tape->mem, 4, in->v->dim);
    MixSize size = mix_size(in);
    Step s = { .tape = tape, .in = in, .t = tape->decoding->t, .o = o->data };

    if (!attention_decodes(in->attention))
        BUG("%s cannot decode", in->attention->name);
    size.T = tape->decoding->most;
    s.state = tape_state(tape, attention_state(&size));
    s.padding = in->length && s.t >= in->length[0];
    in->attention->engine->step(&s);
    return o;
}

/* Every operand is present and has its declared shape. */
static void check_operands(const Mix *in)
{
    const Operand *o;
    int size[128] = { 0 };

    for (int i = 0; (o = attention_operand(in->attention, i)); i++) {
        const Tensor *x = in->x[i];

        if (!attention_needs(in->attention, &in->set, i))
            continue;
        if (!x || x->ndim != (int)strlen(o->shape))
            BUG("%s: %s is not (%s)", in->attention->name, o->name, o->shape);
        for (int d = 0; d < x->ndim; d++) {
            int *its = &size[(int)o->shape[d]];

            if (*its && *its != x->dim[d])
                BUG("%s: dimension %d of %s is %d, not %d", in->attention->name, d, o->name,
                    x->dim[d], *its);
            *its = x->dim[d];
        }
        size['D'] = 2 * size['d'];
    }
}

Tensor *attention_mix(Tape *tape, const Mix *in)
{
    if (!tape->decoding || tape->decoding->t == 0) /* while decoding, shapes do not change */
        check_operands(in);
    return tape->decoding ? step(tape, in) : in->attention->engine->mix(tape, in);
}

double attention_cost(const MixSize *size)
{
    return size->attention->engine->cost(size);
}

MixMemory attention_memory(const MixSize *size)
{
    const Engine *engine = size->attention->engine;

    return engine->memory ? engine->memory(size) : (MixMemory){ 0, 0 };
}

size_t attention_state(const MixSize *size)
{
    return size->attention->engine->state(size);
}

int attention_rotated(const MixSize *size)
{
    const Engine *engine = size->attention->engine;

    return engine->rotated ? engine->rotated(size) : size->D;
}

int operand_dimension(const MixSize *s, char letter)
{
    const struct {
        char letter;
        int size;
    } known[] = { { 'H', s->H }, { 'd', s->D }, { 'D', 2 * s->D }, { 'e', s->E }, { 'm', s->m } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].letter == letter)
            return known[i].size;
    BUG("%c is not a dimension of a parameter", letter);
}

double operand_numbers(const MixSize *s, const Operand *o)
{
    double n = 1;

    for (const char *letter = o->shape; *letter; letter++)
        n *= operand_dimension(s, *letter);
    return n;
}

MixSize mix_size(const Mix *in)
{
    const int *q = in->q->dim;
    MixSize size = { .attention = in->attention,
                     .T = q[1],
                     .H = q[2],
                     .D = q[3],
                     .E = in->v->dim[3],
                     .causal = in->causal,
                     .rope = in->rope,
                     .set = in->set };
    const Operand *o;

    for (int i = 3; (o = attention_operand(in->attention, i)); i++) {
        const char *m = strchr(o->shape, 'm');

        if (m && in->x[i])
            size.m = in->x[i]->dim[m - o->shape];
    }
    return size;
}
