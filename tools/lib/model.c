#include "tools/lib/model.h"

#include "tools/common/model_options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void start(attnc_model *m)
{
    m->mem = arena_new();
    m->tape.mem = arena_new();
    m->tape.pool = pool_new(m->wanted.threads);
    m->tape.recompute = m->wanted.recompute;
    m->tape.precision = (Precision)m->wanted.precision;
}

/* Takes over what --freeze names, and unlocks the options. */
static void unlock(attnc_model *m)
{
    OptionTexts *frozen = &m->wanted.frozen;

    for (int i = 0; i < frozen->n; i++) {
        char *name = (char *)(uintptr_t)frozen->at[i];

        frozen->at[i] = arena_string(m->mem, name);
        free(name);
    }
    guard_unlock();
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
    config_check_memory(c, (Load){ .state = optimiser_numbers(&m->wanted.optimiser, c) });
    m->origin = (Origin){ .task = m->tokenizer ? task_names[c->task] : SAVED_OWN_TOKENS,
                          .tokenizer = m->tokenizer };
    m->origin.option = wanted_options(NULL, m->mem, &m->origin.options);
    unlock(m);
    model_init(&m->model, *c, m->mem, m->wanted.seed);
}

static void reopen(attnc_model *m, const char *path, const char *words)
{
    guard_lock();
    m->wanted = *wanted_read_saved(words, path, &m->from);
    start(m);
    m->origin.option = wanted_options(m->from, m->mem, &m->origin.options);
    unlock(m);
    m->model = m->from->model;
    m->averaged = m->wanted.optimiser.hyper.ema > 0;
    m->model.config.dropout = m->wanted.config.dropout;
    m->tokenizer = m->from->tokenizer;
    m->origin.task = saved_task(m->from);
    m->origin.tokenizer = m->tokenizer;
    m->origin.corpus = saved_corpus(m->from);
}

/* A new model, or one that is opened. */
static attnc_model *make(bool opened, const char *path, const char *words, Bytes text)
{
    attnc_model *volatile m = NULL;

    if (setjmp(*guard_enter())) {
        guard_failed();
        attnc_model_free(m);
        return NULL;
    }
    m = xmalloc(sizeof *m);
    memset(m, 0, sizeof *m);
    guard_given(opened ? path : "", "path");
    if (opened)
        reopen(m, path, words);
    else
        create(m, words, text);
    freeze_tensors(&m->wanted.frozen, &m->model.params);
    guard_leave();
    return m;
}

attnc_model *attnc_model_new(const char *words, const char *text, size_t bytes)
{
    return make(false, NULL, words, (Bytes){ (const unsigned char *)text, bytes });
}

attnc_model *attnc_model_open(const char *path, const char *words)
{
    return make(true, path, words, (Bytes){ NULL, 0 });
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
    if (!m || !name)
        return -1;
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

void model_ready(attnc_model *m)
{
    if (m->ready)
        return;
    m->optimiser = m->wanted.optimiser;
    optimiser_init(&m->optimiser, &m->model.params, m->mem);
    if (m->from)
        wanted_restore_optimiser(m->from, &m->optimiser);
    m->ready = true;
}

void model_exchange(attnc_model *m, bool averages)
{
    if (m->wanted.optimiser.hyper.ema > 0 && m->averaged != averages) {
        optimiser_exchange(&m->optimiser);
        m->averaged = averages;
    }
}

void check_range(const char *name, const int *at, int n, int least, int end)
{
    guard_given(n > 0 ? at : &n, name);
    for (int i = 0; i < n; i++)
        if (at[i] < least || at[i] >= end)
            die(EXIT_USAGE, "%s %d is %d: it must be from %d to %d", name, i, at[i], least,
                end - 1);
}

int attnc_model_tensor(const attnc_model *m, int i, attnc_tensor *tensor)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m"), guard_given(tensor, "tensor");
    const Param *p = i < 0 ? NULL : m->model.params.first;
    for (int at = 0; p && at < i; at++)
        p = p->next;
    if (!p)
        die(EXIT_USAGE, "the model has no tensor %d", i);
    const Tensor *t = p->tensor;
    *tensor = (attnc_tensor){
        .name = p->name, .ndim = t->ndim, .data = t->data, .grad = t->has_grad ? t->grad : NULL
    };
    memcpy(tensor->dim, t->dim, (size_t)t->ndim * sizeof *t->dim);
    return guard_leave();
}

int attnc_model_save(attnc_model *m, const char *path)
{
    const bool averaged = m && m->averaged;

    if (setjmp(*guard_enter())) {
        if (m)
            model_exchange(m, averaged);
        return guard_failed();
    }
    guard_given(m, "m"), guard_given(path, "path");
    model_ready(m);
    model_exchange(m, true);
    Progress p = { .best = HUGE_VAL };
    if (m->from)
        p = m->from->progress;
    p.step += m->optimiser.step - p.updates;
    p.updates = m->optimiser.step;
    p.loss = (double)NAN;
    const Text broken = saved_not_finite(&m->model, &m->optimiser);
    if (broken.n)
        die(EXIT_FAILED, "%s is not finite: nothing is saved", broken.at);
    saved_write(path, &m->model, &m->optimiser, p, &m->origin);
    model_exchange(m, averaged);
    return guard_leave();
}

int attnc_model_sample(attnc_model *m, const char *words, const int *prompt, int n, int *out,
                       int most)
{
    if (setjmp(*guard_enter()))
        return guard_failed();
    guard_given(m, "m"), guard_given(most > 0 ? out : &n, "out");
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
    guard_given(m, "m"), guard_given(bytes > 0 ? (const void *)text : m, "text");
    guard_given(bytes > 0 ? (const void *)id : m, "id");
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
    guard_given(m, "m"), guard_given(bytes, "bytes");
    need_tokenizer(m);
    check_range("token", &token, 1, 0, tokenizer_size(m->tokenizer));
    const Bytes b = tokenizer_token(m->tokenizer, token);
    *bytes = b.n;
    guard_leave();
    return (const char *)b.at;
}
