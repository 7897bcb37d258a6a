/* Models of the library: batches, losses, gradients, updates. */
#include "tools/lib/model.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* The caller's batch, checked; without targets they are not read. */
static Batch checked(attnc_model *m, const attnc_batch *b, bool targets)
{
    const Config *c = &m->model.config;
    const bool whole = c->task == TASK_CLASSIFY;
    const int n = c->pairs == PAIRS_TOWERS ? 2 : 1; /* sequences in a row */
    const double tokens = (double)b->B * b->T;
    const double logits = (whole ? b->B : tokens) * config_outputs(c);

    if (b->B < 1 || b->T < 1 || b->T > c->context || fmax(tokens, logits) > INT_MAX)
        die(EXIT_USAGE,
            "a batch of %d x %d tokens: B must be at least 1, T from 1 to the context, %d, and all "
            "tokens or logits together at most %d",
            b->B, b->T, c->context, INT_MAX);
    if (b->T % n != 0)
        die(EXIT_USAGE, "rows of %d tokens: --pairs towers takes two texts of T / 2 each", b->T);
    check_range("token", b->id, (int)tokens, 0, c->vocab);
    if (targets && !b->target)
        die(EXIT_USAGE, "a batch without targets has no loss: they are NULL");
    if (targets)
        check_range("target", b->target, whole ? b->B : (int)tokens, -1, config_outputs(c));
    if (b->length)
        check_range("length", b->length, n * b->B, 1, b->T / n + 1);
    if (tokens > m->most) {
        config_check_memory(c, (Load){ .tokens = tokens, .recompute = m->tape.recompute });
        m->most = tokens;
    }
    return (Batch){ .B = b->B,
                    .T = b->T,
                    .id = (int *)(uintptr_t)b->id,
                    .target = (int *)(uintptr_t)b->target,
                    .length = (int *)(uintptr_t)b->length,
                    .whole = whole,
                    .paired = n > 1 };
}

static void begin(attnc_model *m, bool forward_only)
{
    m->loss = NULL;
    m->tape.forward_only = forward_only;
    tape_reset(&m->tape);
}

int attnc_model_logits(attnc_model *m, const attnc_batch *batch, real *logits)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m"), guard_given(batch, "batch"), guard_given(logits, "logits");
    const Batch b = checked(m, batch, false);
    begin(m, true);
    const Tensor *y = model_outputs(&m->tape, &m->model, b, 0);
    memcpy(logits, y->data, y->n * sizeof(real));
    return guard_leave();
}

/* Masks of dropout and what --redraw draws depend on the updates, so that training goes on as it
 * would have. */
int attnc_model_loss(attnc_model *m, const attnc_batch *batch, double *loss)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m"), guard_given(batch, "batch"), guard_given(loss, "loss");
    const Batch b = checked(m, batch, true);
    const int n = b.B * batch_targets(b);
    double sum = 0;

    m->targets = 0;
    for (int i = 0; i < n; i++)
        m->targets += b.target[i] >= 0;
    if (m->targets == 0)
        die(EXIT_USAGE, "a batch without targets has no loss: all are -1");
    begin(m, false);
    const long long updates = attnc_model_number(m, "updates");
    if (m->losses == 0)
        model_redraw(&m->model, m->wanted.seed, (int)updates);
    Tensor *y =
        model_losses(&m->tape, &m->model, b, ((uint64_t)updates << 16) + (uint64_t)m->losses++);
    for (int i = 0; i < n; i++)
        sum += (double)y->data[i];
    *loss = sum / m->targets;
    m->loss = y;
    return guard_leave();
}

static void need_weights(const attnc_model *m)
{
    if (m->averaged)
        die(EXIT_USAGE, "the averages of --ema cannot be trained: call attnc_model_averages(m, 0)");
}

int attnc_model_backward(attnc_model *m, double scale)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m");
    Tensor *y = m->loss;
    if (!y)
        die(EXIT_USAGE, "no loss to differentiate: call attnc_model_loss() before");
    need_weights(m);
    real *weight = arena_take(m->tape.mem, y->n * sizeof *weight);
    for (size_t i = 0; i < y->n; i++)
        weight[i] = R(scale / m->targets);
    m->loss = NULL;
    tape_backward(&m->tape, y, weight);
    return guard_leave();
}

int attnc_model_step(attnc_model *m, double rate, double *norm)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m");
    const double clip = m->wanted.clip;
    Params *params = &m->model.params;

    if (!isfinite(rate) || rate < 0)
        die(EXIT_USAGE, "the learning rate is %g: it must be 0 or more", rate);
    if (!params->first->tensor->has_grad)
        die(EXIT_USAGE, "no gradient: call attnc_model_backward() before");
    need_weights(m);
    model_ready(m);
    double n = gradient_norm(m->tape.pool, m->mem, params);
    if (norm)
        *norm = n;
    m->losses = 0;
    if (isfinite(n))
        optimiser_step(&m->optimiser, m->tape.pool, rate > 0 ? rate : m->wanted.rate,
                       clip > 0 && n > clip ? clip / n : 1);
    params_zero_grad(params); /* those of frozen tensors as well */
    if (!isfinite(n))
        die(EXIT_FAILED, "the gradient is not finite: nothing was updated");
    return guard_leave();
}

int attnc_model_averages(attnc_model *m, int use)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m");
    if (use && m->wanted.optimiser.hyper.ema == 0)
        die(EXIT_USAGE, "the model has no averages: it was made without --ema");
    model_ready(m);
    model_exchange(m, use);
    m->loss = NULL;
    return guard_leave();
}
