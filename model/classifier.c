/*
 * From the n positions h_t of a sequence to one vector p, by --pool:
 *
 *     mean        p = 1/n sum over t of h_t
 *     attention   p = sum over t of a_t h_t,   a = softmax over t of w.h_t / sqrt(C), w learned
 *     first       p = h_0
 *
 * and to logits = W_head p. With --pairs towers the two texts u and v of a pair are sequences of
 * their own, read by the same weights, and are compared as in the Long Range Arena's retrieval
 * task (arXiv:2011.04006), which has relu where we have gelu:
 *
 *     z      = [p_u; p_v; p_u * p_v; p_u - p_v]                       4 C
 *     logits = W_head gelu(W_combine gelu(W_compare z))               4 C, then 2 C
 */
#include "model/classifier.h"

/* w starts at zero: as the mean. */
void classifier_make(Classifier *classifier, const Maker *m)
{
    const Config *c = m->config;

    *classifier = (Classifier){ 0 };
    if (c->task == TASK_CLASSIFY && c->pool == POOL_ATTENTION)
        classifier->query = params_constant(m->params, "pool.query", 0, c->width);
    if (!config_has_towers(c))
        return;
    classifier->compare = make_dense(m, "pair.compare", 4 * c->width, 4 * c->width, 1);
    classifier->combine = make_dense(m, "pair.combine", 2 * c->width, 4 * c->width, 1);
}

const Activation *classifier_activation(const Config *c)
{
    return config_has_towers(c) ? &activation_gelu : NULL;
}

/* The lengths of sequences that end after their first position. */
static const int *firsts(const Pass *p, int B)
{
    int *one = arena_take(p->tape->mem, (size_t)B * sizeof *one);

    for (int b = 0; b < B; b++)
        one[b] = !p->length || p->length[b] > 0;
    return one;
}

static Tensor *pooled(const Pass *p, const Classifier *classifier, Tensor *x)
{
    switch (p->config->pool) {
    case POOL_ATTENTION:
        return op_average(p->tape, x, classifier->query, p->length);
    case POOL_FIRST:
        return op_mean(p->tape, x, firsts(p, x->dim[0]));
    default:
        return op_mean(p->tape, x, p->length);
    }
}

Tensor *classifier_run(Pass *p, const Classifier *classifier, Tensor *x)
{
    Tensor *y = pooled(p, classifier, x);

    if (!config_has_towers(p->config))
        return y;
    y = pass_dense(p, op_pair(p->tape, y), classifier->compare);
    return op_dense(p->tape, (Dense){ .x = y,
                                      .w = classifier->combine.w,
                                      .b = classifier->combine.b,
                                      .f = &activation_gelu });
}
