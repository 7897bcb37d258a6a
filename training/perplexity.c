#include "training/perplexity.h"

#include "ops/base/error.h"
#include "training/evaluate.h"
#include "training/source.h"

#include <string.h>

/* Logits take at most 256 MiB, unless those of a single window take more. */
enum { TOKENS_AT_ONCE = 1 << 14, LOGITS_AT_ONCE = 1 << 26 };

double score_loss(const Score *s)
{
    return s->nats / s->targets;
}

double score_error(const Score *s)
{
    return sqrt(s->squares / (s->targets - 1) / s->targets);
}

double score_bits(const Score *s)
{
    return s->nats / (log(2) * s->bytes);
}

double score_word_ppl(const Score *s)
{
    return s->words > 0 ? exp(s->nats / s->words) : (double)NAN;
}

/* The sum is evaluate()'s; the squares are Welford's, which avoid cancellation. */
void score_add(Score *s, double loss, size_t bytes, int words)
{
    double off = loss - s->mean;

    s->targets++;
    s->bytes += (double)bytes;
    s->words += words;
    s->nats += loss;
    s->mean += off / s->targets;
    s->squares += off * (loss - s->mean);
}

int perplexity_scores(Protocol p)
{
    return p.bucket > 0 ? (p.length + p.bucket - 1) / p.bucket : 1;
}

int perplexity_batch(const Config *c, int length)
{
    const int fit = LOGITS_AT_ONCE / config_outputs(c);
    const int most = fit < TOKENS_AT_ONCE ? fit : TOKENS_AT_ONCE;

    return length < most ? most / length : 1;
}

static int batch_of(const Config *c, Protocol p)
{
    return p.batch > 0 ? p.batch : perplexity_batch(c, p.length);
}

Text perplexity_misfit(const Model *model, int length, size_t tokens)
{
    const int context = model->config.context;

    if (config_learns_positions(&model->config) && length > context)
        return text_format("the model has learned positions for %d tokens only", context);
    if (tokens <= (size_t)length)
        return text_format("the text has %zu tokens, and a window takes one more than its length",
                           tokens);
    return (Text){ 0 };
}

void perplexity_check(const Model *model, Protocol p, size_t tokens)
{
    const Config *c = &model->config;

    if (p.stride > p.length)
        die(EXIT_USAGE,
            "windows of %d tokens that score their last %d leave some out: S of "
            "sliding:S is at most the length",
            p.length, p.stride);
    if (c->task == TASK_MLM && (p.stride != p.length || p.bucket > 0))
        die(EXIT_USAGE, "a masked model needs --protocol disjoint");
    if (config_learns_positions(&model->config) && p.length > c->context)
        die(EXIT_USAGE,
            "the model has learned positions for %d tokens, not %d: use --lengths up to %d",
            c->context, p.length, c->context);
    if (tokens <= (size_t)p.length)
        die(EXIT_DATA,
            "the text has %zu token%s, but a window of %d takes %d: use more tokens or "
            "smaller --lengths",
            tokens, tokens == 1 ? "" : "s", p.length, p.length + 1);
    config_check_forward_memory(c, (double)batch_of(c, p) * p.length);
}

/* The text as windows. */
typedef struct {
    const Config *config;
    const Tokens *text;
    Protocol p;
    size_t targets, windows;
} Windows;

static Windows windows_of(const Model *model, const Tokens *text, Protocol p)
{
    Windows r = { &model->config, text, p, text->n - 1, 0 };
    size_t L = (size_t)p.length, S = (size_t)p.stride;

    if (p.length < 1 || p.stride < 1 || p.stride > p.length || text->n <= L)
        BUG("perplexity: %zu tokens in windows of %d by %d", text->n, p.length, p.stride);
    if (model->config.task == TASK_MLM)
        r.targets -= r.targets % L;
    r.windows = 1 + (r.targets - L + S - 1) / S;
    return r;
}

/* Window k, without targets that earlier windows have scored. */
static void read_window(const Windows *r, size_t k, Batch row)
{
    size_t L = (size_t)r->p.length, S = (size_t)r->p.stride;
    size_t end = L + k * S < r->targets ? L + k * S : r->targets;
    size_t start = end - L, scored = k > 0 ? L + (k - 1) * S : 0;
    const Token *from = r->text->at + start;

    for (int t = 0; t < row.T; t++) {
        row.id[t] = from[t];
        row.target[t] = start + (size_t)t < scored ? -1 : from[t + 1];
    }
    source_hide(r->config, r->p.masking, k, row);
}

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The words that begin in the bytes of a token, which follow those of `before`. */
static int words_begun(Bytes before, Bytes token)
{
    bool space = before.n > 0 && is_space(before.at[before.n - 1]);
    int begun = 0;

    for (size_t i = 0; i < token.n; i++) {
        begun += space && !is_space(token.at[i]);
        space = is_space(token.at[i]);
    }
    return begun;
}

/* The targets of a window one by one, so that sums have the same bits for any batch. */
static void score_window(const Windows *r, Batch row, const real *loss, const int *said,
                         Score *score)
{
    int bucket = r->p.bucket > 0 ? r->p.bucket : row.T;

    for (int t = 0; t < row.T; t++) {
        Score *s = &score[t / bucket];
        int target = row.target[t];

        if (target < 0)
            continue;
        const Bytes token = tokenizer_token(r->text->tokenizer, target);
        if (r->config->task == TASK_MLM) {
            score_add(s, (double)loss[t], token.n, 0);
            s->right += target == said[t];
        } else {
            score_add(s, (double)loss[t], token.n,
                      words_begun(tokenizer_token(r->text->tokenizer, row.id[t]), token));
        }
    }
}

static void score_batch(const Windows *r, Tape *tape, const Model *model, Batch batch, Score *score)
{
    const size_t n = (size_t)batch.B * (size_t)batch.T;
    const bool masked = r->config->task == TASK_MLM;

    tape_reset(tape);
    real *loss = arena_take(tape->mem, n * sizeof *loss);
    int *said = arena_take(tape->mem, n * sizeof *said);
    evaluate_answers(tape, model, batch, loss, masked ? said : NULL);
    for (int b = 0; b < batch.B; b++) {
        size_t at = (size_t)b * (size_t)batch.T;

        score_window(r, batch_row(batch, b), loss + at, said + at, score);
    }
}

void perplexity(Tape *tape, const Model *model, const Tokens *text, Protocol p, Score *score)
{
    const Windows r = windows_of(model, text, p);
    const bool before = tape->forward_only;
    int B = batch_of(&model->config, p);
    size_t n = (size_t)B * (size_t)p.length;
    Arena *mem = arena_new();
    int *id = arena_take(mem, 2 * n * sizeof *id);
    Batch batch = { .B = B, .T = p.length, .id = id, .target = id + n };
    const Model at = model_at(model, p.length, mem);

    memset(score, 0, (size_t)perplexity_scores(p) * sizeof *score);
    tape->forward_only = true;
    for (size_t k = 0; k < r.windows; k += (size_t)B) {
        batch.B = r.windows - k < (size_t)B ? (int)(r.windows - k) : B;
        for (int b = 0; b < batch.B; b++)
            read_window(&r, k + (size_t)b, batch_row(batch, b));
        score_batch(&r, tape, &at, batch, score);
        if (p.tell)
            p.tell((double)(k + (size_t)batch.B) / (double)r.windows);
    }
    tape->forward_only = before;
    tape_reset(tape);
    arena_free(mem);
}
