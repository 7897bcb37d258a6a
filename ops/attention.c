#include "ops/attention.h"

#include "ops/base/error.h"
#include "ops/decoding.h"
#include "ops/ops.h"

#include <math.h>
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
                         q_for_all = { .name = "q", .shape = "BNHd" },
                         k = { .name = "k", .shape = "BNHd" },
                         unit = { .name = "k", .shape = "BNHd", .unit = true },
                         v = { .name = "v", .shape = "BNHe" },
                         v_as_wide = { .name = "v", .shape = "BNHd" };
    const Operand *const common[] = { a->keys_are_q ? &q_for_all : &q,
                                      a->traits & UNIT_KEYS ? &unit : &k,
                                      a->traits & V_AS_WIDE ? &v_as_wide : &v };

    if (i < 3)
        return common[i];
    for (const Operand *o = a->operands; o && o->name; o++)
        if (i-- == 3)
            return o;
    return NULL;
}

/* Whether the setting has that value, or is on; NULL: there is no such condition. */
static bool meets(const Values *set, const char *with, const char *is)
{
    return !with || (is ? setting_is(set, with, is) : setting(set, with));
}

bool attention_needs(const Attention *a, const Values *set, int i)
{
    const Operand *o = attention_operand(a, i);

    return o && meets(set, o->with, o->is) && meets(set, o->and, o->as);
}

bool operand_learned(const Operand *o, const Values *set)
{
    return !o->draw || o->learned || (o->learn && setting(set, o->learn));
}

static void shorten(Tensor *x)
{
    const size_t D = (size_t)x->dim[x->ndim - 1];

    for (real *row = x->data; row < x->data + x->n; row += D) {
        double square = 0;

        for (size_t d = 0; d < D; d++)
            square += (double)(row[d] * row[d]);
        for (size_t d = 0; d < D; d++)
            row[d] /= R(sqrt(square));
    }
}

void operand_fit(const Operand *o, Tensor *x)
{
    const Projection *from = o->from;

    if (o->unit)
        shorten(x);
    if (!from || from->times)
        return;
    if (from->f)
        from->f->apply(x->data, (int)x->n);
    for (size_t i = 0; i < x->n; i++)
        x->data[i] *= R((from->by == 0 ? 1 : from->by) * (from->rate ? -1 : 1));
}

size_t operand_misfit(const Operand *o, const Tensor *x)
{
    size_t i = o->decay ? 0 : x->n;

    while (i < x->n && !(x->data[i] > 0))
        i++;
    return i;
}

Tensor *mix_tensor(const Mix *in, const char *name)
{
    const Operand *o;

    for (int i = 0; (o = attention_operand(in->attention, i)); i++)
        if (strcmp(o->name, name) == 0)
            return in->x[i];
    BUG("%s has no operand %s", in->attention->name, name);
}

unsigned attention_traits(const Attention *a, const Values *set)
{
    return a->traits | (a->more_traits ? a->more_traits(set) : 0);
}

Text attention_refuses(const Attention *a, const Values *set, bool causal)
{
    const unsigned only = causal ? BIDIRECTIONAL_ONLY : CAUSAL_ONLY;
    Text why = { 0 };

    if (!(attention_traits(a, set) & only))
        return why;
    for (const Setting *s = a->settings; s && s->name; s++) {
        Values other = *set;

        *setting_at(&other, s->name) = s->value;
        if (!(attention_traits(a, &other) & only))
            text_add(&why, "with --%s %s ", s->name, setting_print(s, setting(set, s->name)).at);
    }
    text_add(&why, "is %s only", causal ? "bidirectional" : "causal");
    return why;
}

bool attention_decodes(const Attention *a)
{
    return a->engine->step && !(a->traits & BIDIRECTIONAL_ONLY);
}

/* A mix of one position, whose operands are rows of another's. */
typedef struct {
    Mix in;
    Tensor x[OPERANDS_MAX];
} OneRow;

static bool has_rows(const Attention *a, int operand)
{
    return strncmp(attention_operand(a, operand)->shape, "BN", 2) == 0;
}

static void take_row(OneRow *to, const Mix *in, int row)
{
    to->in = *in;
    to->in.length = in->length ? in->length + row / in->q->dim[1] : NULL;
    for (int i = 0; attention_operand(in->attention, i); i++) {
        Tensor *x = &to->x[i];

        if (!in->x[i] || !has_rows(in->attention, i))
            continue;
        *x = *in->x[i];
        x->n /= (size_t)(x->dim[0] * x->dim[1]);
        x->data += (size_t)row * x->n;
        x->dim[0] = x->dim[1] = 1;
        to->in.x[i] = x;
    }
}

/* Runs a step; `in` has one position. */
static void step(Step s, const Mix *in)
{
    s.in = in;
    s.padding = in->length && s.t >= in->length[0];
    in->attention->engine->step(&s);
}

/*
 * The mix of the next positions, from the state left by earlier positions. Where there are none,
 * several positions are computed as in training, and only the state is computed one by one.
 */
static Tensor *steps(Tape *tape, const Mix *in)
{
    const int n = in->q->dim[1], rows = in->q->dim[0] * n, from = tape->decoding->t;
    const size_t width = in->v->n / (size_t)rows;
    MixSize size = mix_size(in);
    Step s = { .tape = tape, .state_only = from == 0 && n > 1 };
    OneRow one;

    if (!attention_decodes(in->attention))
        BUG("%s cannot decode", in->attention->name);
    size.T = tape->decoding->most;
    const size_t of_each = attention_state(&size);
    real *state = tape_state(tape, of_each);
    Tensor *o =
        s.state_only ? in->attention->engine->mix(tape, in) : tensor_new(tape->mem, 4, in->v->dim);
    real *unread = s.state_only ? arena_take(tape->mem, width * sizeof *unread) : NULL;
    for (int i = 0; i < rows; i++) {
        s.t = from + i % n;
        s.state = state + (size_t)(i / n) * of_each;
        s.o = s.state_only ? unread : o->data + (size_t)i * width;
        if (rows > 1)
            take_row(&one, in, i);
        step(s, rows > 1 ? &one.in : in);
    }
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
    if (size['c'] && size['N'] > size['c'])
        BUG("%s: %d positions in a context of %d", in->attention->name, size['N'], size['c']);
}

Tensor *attention_mix(Tape *tape, const Mix *in)
{
    if (!tape->decoding || tape->decoding->t == 0) /* while decoding, shapes do not change */
        check_operands(in);
    return tape->decoding ? steps(tape, in) : in->attention->engine->mix(tape, in);
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
    const Engine *engine = size->attention->engine;

    return engine->state ? engine->state(size) : 0;
}

int attention_rotated(const MixSize *size)
{
    const Engine *engine = size->attention->engine;

    return engine->rotated ? engine->rotated(size) : size->D;
}

bool attention_ends(const Attention *a, const Values *set)
{
    const Operand *o;

    for (int i = 0; (o = attention_operand(a, i)); i++)
        if (strchr(o->shape, 'c') && attention_needs(a, set, i))
            return true;
    return false;
}

int operand_dimension(const MixSize *s, char letter)
{
    const struct {
        char letter;
        int size;
    } known[] = { { 'H', s->H }, { 'd', s->D }, { 'D', 2 * s->D },
                  { 'e', s->E }, { 'm', s->m }, { 'c', s->c } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].letter == letter)
            return known[i].size;
    for (const Setting *of = s->attention->settings; of && of->name; of++)
        if (of->size == letter)
            return setting_size(of, setting(&s->set, of->name), s->D) / (of->even ? 2 : 1);
    BUG("%c is not a dimension of a parameter", letter);
}

double operand_numbers(const MixSize *s, const Operand *o)
{
    double n = 1;

    for (const char *letter = o->shape; *letter; letter++)
        n *= operand_dimension(s, *letter);
    return n;
}

/* Size settings are taken from the shapes of the operands. */
static void measure(MixSize *size, const char *shape, const Tensor *x)
{
    for (const Setting *s = size->attention->settings; s && s->name; s++) {
        const char *at =
            s->size && s->size != 'd' && s->size != 'm' ? strchr(shape, s->size) : NULL;

        if (at)
            *setting_at(&size->set, s->name) = x->dim[at - shape] * (s->even ? 2 : 1);
    }
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
                     .group = in->group,
                     .layer = in->layer,
                     .layers = in->layers,
                     .set = in->set };
    const Operand *o;

    for (int i = 3; (o = attention_operand(in->attention, i)); i++) {
        const char *m = strchr(o->shape, 'm'), *c = strchr(o->shape, 'c');

        if (m && in->x[i])
            size.m = in->x[i]->dim[m - o->shape];
        if (c && in->x[i])
            size.c = in->x[i]->dim[c - o->shape];
        if (in->x[i])
            measure(&size, o->shape, in->x[i]);
    }
    return size;
}
