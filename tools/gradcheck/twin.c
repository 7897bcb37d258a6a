/* The plain twin of a mechanism as an op, and how far the mechanism is from it. */
#include "ops/attention/plain/plain.h"
#include "tools/gradcheck/gradcheck.h"

#include <string.h>

typedef struct {
    Node node;
    const Mix *in;
} Twin;

static PlainMix plain_of(const Mix *in)
{
    const MixSize s = mix_size(in);
    PlainMix plain = { .attention = in->attention,
                       .B = in->q->dim[0],
                       .T = s.T,
                       .H = s.H,
                       .D = s.D,
                       .E = s.E,
                       .m = s.m,
                       .context = s.c,
                       .causal = in->causal,
                       .rope = in->rope,
                       .rope_scale = in->rope_scale,
                       .layer = in->layer,
                       .layers = in->layers,
                       .length = in->length,
                       .set = in->set };

    for (int i = 0; i < OPERANDS_MAX; i++)
        plain.in.x[i] = in->x[i] ? in->x[i]->data : NULL;
    return plain;
}

static void twin_backward(Node *node)
{
    const Mix *in = ((const Twin *)node)->in;
    const PlainMix plain = plain_of(in);
    PlainTensors d = { .x = { NULL } };
    const Operand *o;

    for (int i = 0; (o = attention_operand(in->attention, i)); i++)
        if (in->x[i] && operand_learned(o, &in->set))
            d.x[i] = tape_grad_zeroed(node->tape, in->x[i]);
    plain_mix(&plain, node->y->data, node->y->grad, &d);
}

Tensor *twin_mix(Tape *tape, const Mix *in)
{
    Twin *op = tape_node(tape, sizeof *op, twin_backward, 4, in->v->dim);
    const PlainMix plain = plain_of(in);

    op->in = in;
    plain_mix(&plain, op->node.y->data, NULL, NULL);
    return op->node.y;
}

/* The output of a case, then the gradients of its operands, one after the other. */
static real *outcome(Report *r, Loss l, const Case *c, size_t n)
{
    real *all = arena_take(r->mem, n * sizeof *all), *at = all;
    const Tensor *y = (tape_reset(l.tape), l.f(l.tape, l.ctx));

    memcpy(at, y->data, y->n * sizeof *at);
    at += y->n;
    derivative_by_hand(l, c->x, c->n);
    for (int j = 0; j < c->n; at += c->x[j++]->n)
        memcpy(at, c->x[j]->grad, c->x[j]->n * sizeof *at);
    return all;
}

double twin_distance(Report *r, const Case *fast, const Case *twin)
{
    const size_t outputs = fast->f(&r->tape, fast->ctx)->n;
    size_t n = outputs, at = outputs;

    for (int j = 0; j < fast->n; j++)
        n += fast->x[j]->n;
    const real *a = outcome(r, loss_of(r, fast), fast, n),
               *b = outcome(r, loss_of(r, twin), twin, n);
    double most = distance(a, b, outputs);
    for (int j = 0; j < fast->n; at += fast->x[j++]->n)
        most = fmax(most, distance(a + at, b + at, fast->x[j]->n));
    return most;
}
