#include "tests/attend.h"

#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/promises.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Trial trials[TRIALS] = { { 0 },
                         { .rope = "none" },
                         { .rope = "linear:2.5", .scale = { .kind = ROPE_LINEAR, .by = 2.5 } },
                         { .rope = "ntk:4", .scale = { .kind = ROPE_NTK, .by = 4 } } };
int trial_count = 4;

static void try(const Setting *s, int value)
{
    if (trial_count == TRIALS)
        BUG("more than %d trials", TRIALS);
    trials[trial_count++] =
        (Trial){ .setting = s, .value = value, .rope = s->rope ? "none" : NULL };
}

void trials_init(void)
{
    const Setting *s;

    for (int i = 0; (s = settings_at(i)); i++) {
        if (s->layer)
            continue;
        if (s->kind == SETTING_SET)
            BUG("%s: a set outside the layer has no test", s->name);
        for (int j = 0; s->choices && s->choices[j]; j++)
            try(s, j);
        for (int j = 0; j < COUNT(s->tries) && s->tries[j]; j++)
            try(s, s->tries[j]);
        if (s->zero)
            try(s, 0);
        if (s->kind == SETTING_FLAG)
            try(s, !s->value);
    }
}

bool can_try(const Attention *a, const Trial *t)
{
    const Setting *own = t->setting ? attention_takes(a, t->setting->name) : NULL;

    if (t->setting && (!own || (own->choices && t->value < own->least)))
        return false;
    return !t->rope || (a->traits & CAN_ROPE);
}

bool is_of_build(const Trial *t, int part)
{
    return t == trials || (t - trials + part) % (sanitized ? 6 : 2) == in_double;
}

static int size_of(const Case *c, char letter)
{
    static const char letters[] = "BNHdeDmcrb";
    const int size[] = { c->B, c->T, c->H, c->D, c->E, 2 * c->D, 10, c->T + 2, 3, 2 };

    ck_assert_msg(strchr(letters, letter) != NULL, "%c is no dimension", letter);
    return size[strchr(letters, letter) - letters];
}

Tensor *case_tensor(Arena *mem, const Case *c, const char *shape, uint64_t seed)
{
    int dim[4], n = 0;

    for (; shape[n]; n++)
        dim[n] = size_of(c, shape[n]);
    return leaf(mem, seed, 0.7, n, dim);
}

/* The first choice with which the setting has an effect. */
static void enable(const Setting *s, Mix *mix)
{
    const Attention *a = mix->attention;

    for (const Setting *by = a->settings; by->name; by++)
        for (int i = 0; by->kind == SETTING_CHOICE && by->choices[i]; i++)
            if (!setting_matters(a, &mix->set, s))
                *setting_at(&mix->set, by->name) = i;
}

Case case_new(Arena *mem, const Attention *a, const Trial *t, int T)
{
    Case c = { .trial = t, .B = 3, .T = T, .H = 2, .D = 6, .E = a->traits & V_AS_WIDE ? 6 : 5 };
    const Operand *o;

    c.mix = (Mix){ .attention = a, .set = settings_default(a) };
    c.mix.rope = t->rope, c.mix.rope_scale = t->scale;
    if (t->setting && can_try(a, t)) {
        *setting_at(&c.mix.set, t->setting->name) = t->value;
        enable(t->setting, &c.mix);
    }
    c.mix.causal = attention_traits(a, &c.mix.set) & CAUSAL_ONLY;
    for (int i = 0; (o = attention_operand(a, i)); i++)
        if (attention_needs(a, &c.mix.set, i)) {
            c.mix.x[i] = case_tensor(mem, &c, o->shape, 40 + (uint64_t)i);
            operand_fit(o, c.mix.x[i]);
        }
    c.dout = case_tensor(mem, &c, "BNHe", 60);
    return c;
}

void case_pad(Arena *mem, Case *c)
{
    int *length = arena_take(mem, (size_t)c->B * sizeof *length);

    length[0] = c->T, length[1] = 0, length[2] = (c->T + 1) / 2;
    c->mix.length = length;
}

bool case_mask(Arena *mem, Case *c, int i)
{
    c->mix.causal = i & 1;
    if (i & 2)
        case_pad(mem, c);
    return !attention_refuses(c->mix.attention, &c->mix.set, c->mix.causal).n;
}

enum { WORDS = 32 };
const char *const program = sizeof(real) == sizeof(double) ? "./attend64" : "./attend";
static const char *word[WORDS + 1]; /* of the command line, and NULL */
static int words;

/* Formatted, and kept until the next command line. */
__attribute__((format(printf, 1, 2))) static void add_word(const char *fmt, ...)
{
    static char room[WORDS][400];
    va_list args;

    ck_assert_int_lt(words, WORDS);
    va_start(args, fmt);
    vsnprintf(room[words], sizeof *room, fmt, args);
    va_end(args);
    word[words] = room[words];
    word[++words] = NULL;
}

static void execute(const char *path)
{
    execv(path, (char *const *)(uintptr_t)word);
    _exit(127);
}

const char *word_of(const Setting *s, int value)
{
    static char number[16];

    snprintf(number, sizeof number, "%d", value);
    return s->choices ? s->choices[value] : number;
}

static void add_option(const Setting *s, int value)
{
    if (s->kind == SETTING_FLAG) {
        add_word("--%s%s", value ? "" : "no-", s->name);
    } else {
        add_word("--%s", s->name);
        add_word("%s", word_of(s, value));
    }
}

/* Every setting that is not at its default, and the one of the trial even if it is. */
static void add_options(const Case *c)
{
    const Trial *t = c->trial;

    for (const Setting *s = c->mix.attention->settings; s && s->name; s++) {
        const int value = setting(&c->mix.set, s->name);

        if (!s->layer &&
            (value != s->value || (t->setting && strcmp(s->name, t->setting->name) == 0)))
            add_option(s, value);
    }
    if (c->mix.causal)
        add_word("--causal");
    if (t->rope)
        add_word("--rope");
    if (t->rope && t->scale.by > 0)
        add_word("--rope-scale=%s", t->rope);
}

int attend(const Case *c, const char *const *more)
{
    words = 0;
    add_word("%s", program);
    add_word("--attn");
    add_word("%s", c->called ? c->called : c->mix.attention->name);
    add_options(c);
    while (*more)
        add_word("%s", *more++);
    add_word("%s", in_folder("in.safetensors"));
    add_word("%s", in_folder("out.safetensors"));
    return exit_code_of(execute, program);
}

Safetensors *attended(const Case *c, const char *const *more)
{
    const int code = attend(c, more);

    ck_assert_msg(code == 0 && !*said, "%s: exit %d: %s", c->mix.attention->name, code, said);
    ck_assert_int_eq(files(false), 2);
    return safetensors_read(in_folder("out.safetensors"));
}

void check_refused(const Case *c, const char *const *more, int code, const char *why)
{
    const int got = attend(c, more);
    const char *end = strchr(said, '\n');

    ck_assert_msg(got == code, "exit %d instead of %d: %s", got, code, said);
    ck_assert_msg(strstr(said, why) != NULL, "no '%s' in: %s", why, said);
    ck_assert_msg(strncmp(said, "attn.c: error: ", 15) == 0 && end && !end[1], "%s", said);
    ck_assert_int_eq(files(false), 1);
}

Entry entry_of(const char *name, const Tensor *t)
{
    Entry e = { .name = name,
                .dtype = in_double ? DTYPE_F64 : DTYPE_F32,
                .ndim = t->ndim,
                .data = t->data,
                .bytes = t->n * sizeof(real) };

    for (int d = 0; d < t->ndim; d++)
        e.dim[d] = (size_t)t->dim[d];
    return e;
}

int entries_of(Case *c, bool gradients, Entry *entry)
{
    const size_t B = (size_t)c->B;
    int n = 0;

    for (int i = 0; i < OPERANDS_MAX; i++)
        if (c->mix.x[i])
            entry[n++] = entry_of(attention_operand(c->mix.attention, i)->name, c->mix.x[i]);
    if (c->mix.length)
        entry[n++] = (Entry){ "lengths", DTYPE_I32, 1, { B }, c->mix.length, B * sizeof(int) };
    if (gradients)
        entry[n++] = entry_of("dout", c->dout);
    return n;
}

void give(const Entry *entry, int n)
{
    files(true);
    safetensors_write(in_folder("in.safetensors"), (Contents){ .entry = entry, .entries = n });
}

void give_case(Case *c, bool gradients)
{
    Entry entry[ENTRIES];

    give(entry, entries_of(c, gradients, entry));
}

real *result_of(Arena *mem, const Safetensors *s, const char *name, const Tensor *like)
{
    const Entry *e = safetensors_find(s, name);
    real *to = arena_take(mem, like->n * sizeof *to);

    ck_assert_msg(e != NULL, "there is no %s", name);
    const Entry want = entry_of(name, like);
    ck_assert_int_eq(e->dtype, want.dtype);
    ck_assert_int_eq(e->ndim, want.ndim);
    for (int d = 0; d < e->ndim; d++)
        ck_assert_uint_eq(e->dim[d], want.dim[d]);
    return memcpy(to, e->data, e->bytes);
}

void check_bits(const Safetensors *s, const Case *c, const char *name, const Tensor *like,
                const real *want)
{
    Arena *mem = arena_new();

    ck_assert_msg(same_bits(result_of(mem, s, name, like), want, like->n), "%s: %s",
                  c->mix.attention->name, name);
    arena_free(mem);
}

void check_results(Case *c, const Safetensors *s)
{
    Tape tape = tape_open(1);
    Tensor *y = attention_mix(&tape, &c->mix);
    const Operand *o;
    int n = 1;

    check_bits(s, c, "out", y, y->data);
    tape_backward(&tape, y, c->dout->data);
    for (int i = 0; (o = attention_operand(c->mix.attention, i)); i++) {
        char name[32];

        if (!c->mix.x[i] || !operand_learned(o, &c->mix.set))
            continue;
        snprintf(name, sizeof name, "d%s", o->name);
        check_bits(s, c, name, c->mix.x[i], c->mix.x[i]->grad);
        n++;
    }
    ck_assert_int_eq(s->entries, n);
    tape_close(&tape);
}
