#include "tests/mixings.h"

#include "ops/decoding.h"

#include <string.h>

const Shape usual = { 2, 71, 2, 8, 5 };

int mixing_width(const Mixing *m, int which)
{
    const Tensor *x = m->x[which];

    return (int)(x->n / (size_t)(x->dim[0] * x->dim[1]));
}

size_t mixing_before(const Mixing *m, int b, int t, int width)
{
    return ((size_t)b * (size_t)m->s.T + (size_t)t) * (size_t)width;
}

static void set(Mixing *m, int which, int b, int t, real to)
{
    int n = mixing_width(m, which);

    for (int i = 0; i < n; i++)
        m->x[which]->data[mixing_before(m, b, t, n) + (size_t)i] = to;
}

void set_position(Mixing *m, int b, int t, real to)
{
    for (int j = 0; j < m->batched; j++)
        set(m, m->which[j], b, t, to);
}

/* What has no matrix may pool q as well. */
void set_key(Mixing *m, int b, int t, real to)
{
    bool pools = !(m->variant->traits & HAS_MATRIX);

    for (int j = 0; j < m->batched; j++)
        if (pools || !attention_operand(m->attention, m->which[j])->own_row)
            set(m, m->which[j], b, t, to);
}

void scale(Tensor *t, double by)
{
    for (size_t i = 0; i < t->n; i++)
        t->data[i] *= R(by);
}

void check_finite(const Mixing *m, const Outcome *o)
{
    ck_assert_msg(all_finite(o->y, o->n), "%s", m->name);
    for (int j = 0; j < m->n; j++)
        ck_assert_msg(all_finite(o->dx[j], m->operand[j]->n), "%s: operand %d", m->name, j);
}

void check_none(const Mixing *m, const Outcome *o, int b, int from, int to)
{
    for (int j = 0; j < m->batched && from < to; j++) {
        int n = mixing_width(m, m->which[j]);

        ck_assert_msg(all_zero(o->dx[j] + mixing_before(m, b, from, n), (size_t)((to - from) * n)),
                      "%s: a gradient of operand %d in %d ... %d", m->name, j, from, to - 1);
    }
}

void check_gradient_close(const Mixing *m, int j, const real *dx, const double *want,
                          double tolerance)
{
    const char *operand = attention_operand(m->attention, m->which[j])->name;

    check_close(text_format("%s: the gradient of %s", m->name, operand).at, dx, want,
                m->operand[j]->n, tolerance);
}

real *weights_until(Arena *mem, const Mixing *m, int from)
{
    real *dy = weights_new(mem);
    int n = mixing_width(m, V);

    for (int b = 0; b < m->s.B; b++)
        memset(dy + mixing_before(m, b, from, n), 0, (size_t)((m->s.T - from) * n) * sizeof *dy);
    return dy;
}

/* Position t of sequence b by itself; its tensors lie in `row`. */
static Mix position(const Mixing *m, int b, int t, Tensor row[OPERANDS_MAX])
{
    Mix in = mixing_mix(m);

    in.length = m->length ? m->length + b : NULL;
    for (int j = 0; j < m->batched; j++) {
        const int which = m->which[j], n = mixing_width(m, which);

        row[j] = *m->operand[j];
        row[j].dim[0] = row[j].dim[1] = 1;
        row[j].n = (size_t)n;
        row[j].data += mixing_before(m, b, t, n);
        in.x[which] = &row[j];
    }
    return in;
}

real *mixing_steps(Arena *mem, const Mixing *m, int longest)
{
    Tape tape = tape_open(1);
    real *o = arena_take(mem, m->x[V]->n * sizeof *o);
    int n = mixing_width(m, V);
    Tensor row[OPERANDS_MAX];

    tape.forward_only = true;
    tape.decoding = decoding_new(longest, 1);
    for (int b = 0; b < m->s.B; b++, decoding_reset(tape.decoding))
        for (int t = 0; t < m->s.T; t++, tape_reset(&tape)) {
            const Mix in = position(m, b, t, row);

            tape.decoding->t = t;
            memcpy(o + mixing_before(m, b, t, n), attention_mix(&tape, &in)->data,
                   (size_t)n * sizeof *o);
        }
    decoding_free(tape.decoding);
    tape_close(&tape);
    return o;
}

void check_steps(Arena *mem, Mixing *m, int longest)
{
    const Outcome want = mixing_outcome(mem, m, NULL);
    const real *o = mixing_steps(mem, m, longest);

    check_close(m->name, o, doubles(mem, want.y, want.n), want.n, forward_tolerance);
}

void check_twin(Arena *mem, Mixing *m, int from, int end)
{
    check_twin_within(mem, m, from, end, 1);
}

void check_twin_within(Arena *mem, Mixing *m, int from, int end, double times)
{
    const real *dy = weights();
    Outcome o = mixing_outcome(mem, m, dy);
    double *x[OPERANDS_MAX] = { NULL }, *y = arena_take(mem, o.n * sizeof *y);
    PlainTensors d = { .x = { NULL } };

    for (int j = 0; j < m->n; j++) {
        const size_t n = m->operand[j]->n;

        x[j] = doubles(mem, m->operand[j]->data, n);
        d.x[m->which[j]] = arena_zeros(mem, n * sizeof(double));
    }
    const PlainMix plain = mixing_plain(m, x);
    plain_mix(&plain, y, doubles(mem, dy, o.n), &d);
    check_close(m->name, o.y, y, o.n, times * forward_tolerance);
    for (int j = from; j < end; j++)
        check_gradient_close(m, j, o.dx[j], d.x[m->which[j]], times * backward_tolerance);
}

bool minds_length(const Mixing *m)
{
    const Setting *s = m->attention->settings;

    while (s && s->name && s->length != CONTEXT_AT_LEAST)
        s++;
    return s && s->name && setting(&m->variant->set, s->name) < 4096;
}
