#include "tests/small.h"

#include <string.h>

Config small_variant(int i)
{
    int position = i % 4, ffn = i / 4 % 2, norm = i / 8;

    return (Config){
        .attention = &attention_softmax,
        .vocab = 11,
        .layers = 2,
        .heads = 2,
        .width = 12,
        .context = 8,
        .position = (Position)position,
        .ffn = (Ffn)ffn,
        .norm = (NormKind)norm,
        .tied = (position + ffn + norm) % 2,
        .bias = (position / 2 + norm) % 2,
    };
}

static Tensor *losses(Tape *tape, void *small)
{
    const Small *s = small;

    return model_losses(tape, &s->model, s->batch, s->mask);
}

static int *tokens(Arena *mem, int n, int vocab, uint64_t seed)
{
    int *id = arena_take(mem, (size_t)n * sizeof *id);
    Random r = random_stream(seed, RANDOM_TEST, 2);

    for (int i = 0; i < n; i++)
        id[i] = (int)random_below(r, (uint64_t)i, (uint64_t)vocab);
    return id;
}

Small *small_open(Config c, int B, int T)
{
    Arena *mem = arena_new();
    Small *s = arena_zeros(mem, sizeof *s);
    Tensor **x;

    s->mem = mem, s->mask = MASK;
    model_init(&s->model, c, mem, 1);
    s->batch = (Batch){ B, T, tokens(mem, B * T, c.vocab, 1), tokens(mem, B * T, c.vocab, 2) };
    x = arena_take(mem, (size_t)s->model.params.count * sizeof(Tensor *));
    s->subject = (Subject){ .name = "model", .f = losses, .ctx = s, .x = x };
    ck_assert_int_le(s->model.params.count, OPERANDS);
    for (const Param *p = s->model.params.first; p; p = p->next)
        x[s->subject.n++] = p->tensor;
    return s;
}

void small_close(Small *s)
{
    arena_free(s->mem);
}

void small_leave_out(Small *s, const char *name)
{
    const Tensor *t = params_find(&s->model.params, name);
    Tensor **x = (Tensor **)(uintptr_t)s->subject.x;
    int n = 0;

    for (int j = 0; j < s->subject.n; j++)
        if (x[j] != t)
            x[n++] = x[j];
    s->subject.n = n;
}

void small_overwrite(Small *s, double scale)
{
    for (int j = 0; j < s->subject.n; j++)
        fill(s->subject.x[j]->data, s->subject.x[j]->n, 300 + (uint64_t)j, scale);
}

double small_learn(const Small *s, Tape *tape, double by)
{
    Arena *mem = arena_new();

    tape_reset(tape);
    Tensor *loss = model_losses(tape, &s->model, s->batch, s->mask);
    size_t n = loss->n;
    real *dy = arena_take(mem, n * sizeof *dy);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)loss->data[i];
        dy[i] = R(by / (double)n);
    }
    tape_backward(tape, loss, dy);
    arena_free(mem);
    return sum / (double)n;
}

bool same_parameters(const Model *a, const Model *b)
{
    const Param *p = a->params.first, *q = b->params.first;

    while (p && q && strcmp(p->name, q->name) == 0 && p->tensor->n == q->tensor->n &&
           same_bits(p->tensor->data, q->tensor->data, p->tensor->n))
        p = p->next, q = q->next;
    return !p && !q;
}
