#include "model/sample.h"
#include "tools/common/settings.h"
#include "tools/lib/guard.h"
#include "tools/lib/wanted.h"
#include "training/saved.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define OPTION "attnc.option."

struct attnc_model {
    ModelWanted wanted;
    Tape tape;
    Arena *mem;
    Model model;
    Saved *from; /* the checkpoint; NULL: a new model */
    Tokenizer *tokenizer;
    Origin origin; /* for checkpoints */
    Optimiser optimiser;
    bool ready;     /* the optimiser has its state */
    int losses;     /* since the last update */
    double most;    /* tokens of a batch for which there is memory */
    Tensor *loss;   /* of the last batch; NULL: its gradient has been taken */
    double targets; /* of that batch */
};

static void start(attnc_model *m)
{
    m->mem = arena_new();
    m->tape.mem = arena_new();
    m->tape.pool = pool_new(m->wanted.threads);
    m->tape.recompute = m->wanted.recompute;
    m->tape.bf16 = m->wanted.precision == PRECISION_BF16;
}

static void create(attnc_model *m, const char *words, Bytes text)
{
    guard_lock();
    m->wanted = *wanted_read(words);
    Config *c = &m->wanted.config;
    start(m);
    if (m->wanted.vocab == 0)
        m->tokenizer = wanted_tokenizer(text);
    c->vocab =
        (m->tokenizer ? tokenizer_size(m->tokenizer) : m->wanted.vocab) + (c->task == TASK_MLM);
    config_check(c);
    config_check_memory(c, (Load){ .state = optimiser_numbers(m->wanted.optimiser.kind, c) });
    m->origin = (Origin){ .task = task_names[c->task], .tokenizer = m->tokenizer };
    m->origin.option = wanted_options(m->mem, &m->origin.options);
    guard_unlock();
    model_init(&m->model, *c, m->mem, m->wanted.seed);
}

/* The options of the run, for the checkpoints to come. */
static const Meta *kept_options(const Saved *from, Arena *mem, int *n)
{
    const size_t prefix = strlen(OPTION);
    Meta *option = arena_take(mem, (size_t)from->file->metas * sizeof *option);

    for (int i = *n = 0; i < from->file->metas; i++)
        if (strncmp(from->file->meta[i].key, OPTION, prefix) == 0)
            option[(*n)++] = (Meta){ from->file->meta[i].key + prefix, from->file->meta[i].value };
    return option;
}

static void reopen(attnc_model *m, const char *path, const char *words)
{
    guard_lock();
    m->wanted = *wanted_read_saved(words, path, &m->from);
    guard_unlock();
    start(m);
    m->model = m->from->model;
    m->model.config.dropout = m->wanted.config.dropout;
    m->tokenizer = m->from->tokenizer;
    m->origin = (Origin){ .task = saved_task(m->from),
                          .tokenizer = m->tokenizer,
                          .corpus = saved_corpus(m->from) };
    m->origin.option = kept_options(m->from, m->mem, &m->origin.options);
}

/* A new object, for `path` NULL a new model. */
static attnc_model *make(const char *path, const char *words, Bytes text)
{
    attnc_model *volatile m = NULL;

    if (setjmp(*guard_enter())) {
        guard_failed();
        attnc_model_free(m);
        return NULL;
    }
    m = xmalloc(sizeof *m);
    memset(m, 0, sizeof *m);
    if (path)
        reopen(m, path, words);
    else
        create(m, words, text);
    guard_leave();
    return m;
}

attnc_model *attnc_model_new(const char *words, const char *text, size_t bytes)
{
    return make(NULL, words, (Bytes){ (const unsigned char *)text, bytes });
}

attnc_model *attnc_model_open(const char *path, const char *words)
{
    return make(path, words, (Bytes){ NULL, 0 });
}

void attnc_model_free(attnc_model *m)
{
    if (!m)
        return;
    if (m->tape.pool)
        pool_free(m->tape.pool);
    if (m->tape.mem)
        arena_free(m->tape.mem);
    if (m->tokenizer && !m->from)
        tokenizer_free(m->tokenizer);
    if (m->from)
        saved_free(m->from);
    if (m->mem)
        arena_free(m->mem);
    free(m);
}

long long attnc_model_number(const attnc_model *m, const char *name)
{
    const Config *c = &m->model.config;
    const struct {
        const char *name;
        long long value;
    } number[] = {
        { "vocab", c->vocab },
        { "context", c->context },
        { "width", c->width },
        { "layers", c->layers },
        { "heads", c->heads },
        { "classes", c->classes },
        { "outputs", config_outputs(c) },
        { "parameters", (long long)params_count(&m->model.params) },
        { "updates", m->ready  ? m->optimiser.step
                     : m->from ? m->from->progress.updates
                               : 0 },
    };

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (strcmp(number[i].name, name) == 0)
            return number[i].value;
    return -1;
}

static void check_range(const char *name, const int *at, int n, int least, int end)
{
    for (int i = 0; i < n; i++)
        if (at[i] < least || at[i] >= end)
            die(EXIT_USAGE, "%s %d is %d: it must be from %d to %d", name, i, at[i], least,
                end - 1);
}

/* The caller's batch, checked; without targets they are not read. */
static Batch checked(attnc_model *m, const attnc_batch *b, bool targets)
{
    const Config *c = &m->model.config;
    const bool whole = c->task == TASK_CLASSIFY;
    const int n = c->pairs == PAIRS_TOWERS ? 2 : 1; /* sequences in a row */
    const double tokens = (double)b->B * b->T;

    if (b->B < 1 || b->T < 1 || b->T > c->context || tokens * config_outputs(c) > INT_MAX)
        die(EXIT_USAGE,
            "a batch of %d x %d tokens: T must be from 1 to %d, the context, and all "
            "logits together at most %d",
            b->B, b->T, c->context, INT_MAX);
    if (b->T % n != 0)
        die(EXIT_USAGE, "rows of %d tokens: --pairs towers takes two texts of T / 2 each", b->T);
    check_range("token", b->id, (int)tokens, 0, c->vocab);
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
    const Batch b = checked(m, batch, false);
    begin(m, true);
    const Tensor *y = model_outputs(&m->tape, &m->model, b, 0);
    memcpy(logits, y->data, y->n * sizeof(real));
    return guard_leave();
}

/* Masks of dropout depend on the updates, so that training goes on as it would have. */
int attnc_model_loss(attnc_model *m, const attnc_batch *batch, double *loss)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    const Batch b = checked(m, batch, true);
    const int n = b.B * batch_targets(b);
    double sum = 0;

    m->targets = 0;
    for (int i = 0; i < n; i++)
        m->targets += b.target[i] >= 0;
    if (m->targets == 0)
        die(EXIT_USAGE, "a batch without targets has no loss: all are -1");
    begin(m, false);
    const uint64_t updates = (uint64_t)attnc_model_number(m, "updates");
    Tensor *y = model_losses(&m->tape, &m->model, b, (updates << 16) + (uint64_t)m->losses++);
    for (int i = 0; i < n; i++)
        sum += (double)y->data[i];
    *loss = sum / m->targets;
    m->loss = y;
    return guard_leave();
}

int attnc_model_backward(attnc_model *m, double scale)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    Tensor *y = m->loss;
    if (!y)
        die(EXIT_USAGE, "no loss to differentiate: call attnc_model_loss() before");
    real *weight = arena_take(m->tape.mem, y->n * sizeof *weight);
    for (size_t i = 0; i < y->n; i++)
        weight[i] = R(scale / m->targets);
    m->loss = NULL;
    tape_backward(&m->tape, y, weight);
    return guard_leave();
}

/* The state of the optimiser takes memory, which a model that is only used does not need. */
static void ready(attnc_model *m)
{
    if (m->ready)
        return;
    m->optimiser = m->wanted.optimiser;
    optimiser_init(&m->optimiser, &m->model.params, m->mem);
    if (m->from)
        wanted_restore_optimiser(m->from, &m->optimiser);
    m->ready = true;
}

int attnc_model_step(attnc_model *m, double rate, double *norm)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    const double clip = m->wanted.clip;
    Params *params = &m->model.params;

    if (!isfinite(rate) || rate < 0)
        die(EXIT_USAGE, "a learning rate of %g: it must be a number from 0", rate);
    if (!params->first->tensor->has_grad)
        die(EXIT_USAGE, "no gradient: call attnc_model_backward() before");
    ready(m);
    double n = gradient_norm(m->tape.pool, m->mem, params);
    if (norm)
        *norm = n;
    m->losses = 0;
    if (!isfinite(n)) {
        params_zero_grad(params);
        die(EXIT_FAILED, "the gradient is not finite: nothing was updated");
    }
    optimiser_step(&m->optimiser, m->tape.pool, rate > 0 ? rate : m->wanted.rate,
                   clip > 0 && n > clip ? clip / n : 1);
    return guard_leave();
}

int attnc_model_tensor(const attnc_model *m, int i, attnc_tensor *tensor)
{
    const Param *p = i < 0 ? NULL : m->model.params.first;

    while (p && i-- > 0)
        p = p->next;
    if (!p)
        return ATTNC_USAGE;
    const Tensor *t = p->tensor;
    *tensor = (attnc_tensor){
        .name = p->name, .ndim = t->ndim, .data = t->data, .grad = t->has_grad ? t->grad : NULL
    };
    memcpy(tensor->dim, t->dim, (size_t)t->ndim * sizeof *t->dim);
    return ATTNC_OK;
}

int attnc_model_save(attnc_model *m, const char *path)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    ready(m);
    Progress p = { .best = HUGE_VAL };
    if (m->from)
        p = m->from->progress;
    p.step += m->optimiser.step - p.updates;
    p.updates = m->optimiser.step;
    p.loss = (double)NAN;
    saved_write(path, &m->model, &m->optimiser, p, &m->origin);
    return guard_leave();
}

int attnc_model_sample(attnc_model *m, const char *words, const int *prompt, int n, int *out,
                       int most)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    if (m->model.config.task != TASK_CAUSAL)
        die(EXIT_USAGE, "a model for the task %s cannot continue a text",
            task_names[m->model.config.task]);
    if (n < 1 || most < 0 || most > SAMPLE_MOST - n)
        die(EXIT_USAGE, "a prompt of %d tokens and %d more: there must be from 1 to %d", n, most,
            SAMPLE_MOST);
    check_range("token", prompt, n, 0, m->model.config.vocab);
    Sampler *s = sampler_new(&m->model, m->tape.pool, wanted_sampling(words), n + most, 1);
    sampler_read(s, prompt, n);
    for (int i = 0; i < most; i++) {
        out[i] = sampler_draw(s, 0);
        if (i + 1 < most)
            sampler_read(s, &out[i], 1);
    }
    sampler_free(s);
    return guard_leave();
}

static void need_tokenizer(const attnc_model *m)
{
    if (!m->tokenizer)
        die(EXIT_USAGE, "a model with --vocab has its own tokens, and reads no text");
}

long long attnc_model_encode(const attnc_model *m, const char *text, size_t bytes, int *id)
{
    if (setjmp(*guard_enter())) {
        guard_failed();
        return -1;
    }
    need_tokenizer(m);
    Token *token = xmalloc(bytes * sizeof *token);
    const size_t n =
        tokenizer_encode(m->tokenizer, (Bytes){ (const unsigned char *)text, bytes }, token);
    for (size_t i = 0; i < n; i++)
        id[i] = token[i];
    free(token);
    guard_leave();
    return (long long)n;
}

const char *attnc_model_decode(const attnc_model *m, int token, size_t *bytes)
{
    if (setjmp(*guard_enter())) {
        guard_failed();
        return NULL;
    }
    need_tokenizer(m);
    check_range("token", &token, 1, 0, tokenizer_size(m->tokenizer));
    const Bytes b = tokenizer_token(m->tokenizer, token);
    *bytes = b.n;
    guard_leave();
    return (const char *)b.at;
}
