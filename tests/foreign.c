#include "tests/foreign.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A pass through a model: rows are positions. */
typedef struct {
    Arena *mem;
    Foreign is;
    const Safetensors *s;
    int T, used;
    char block[40]; /* what the names of a layer begin with */
} Pass;

static double *rows_new(const Pass *p, int cols)
{
    return arena_zeros(p->mem, (size_t)p->T * (size_t)cols * sizeof(double));
}

/* (rows, cols), or (cols) where rows is 0; NULL if there is none. */
static double *numbers(Pass *p, const char *name, int rows, int cols)
{
    char full[100];
    const size_t n = (size_t)(rows ? rows : 1) * (size_t)cols;

    snprintf(full, sizeof full, "%s%s", p->block, name);
    const Entry *e = safetensors_find(p->s, full);
    if (!e)
        return NULL;
    double *x = arena_take(p->mem, n * sizeof *x);
    ck_assert_msg(e->ndim == (rows ? 2 : 1) && e->dim[e->ndim - 1] == (size_t)cols &&
                      (!rows || e->dim[0] == (size_t)rows),
                  "%s has another shape than %d, %d", full, rows, cols);
    for (size_t i = 0; i < n; i++) {
        float narrow;

        if (e->dtype == DTYPE_F64)
            memcpy(&x[i], (const double *)e->data + i, sizeof x[i]);
        else
            memcpy(&narrow, (const float *)e->data + i, sizeof narrow), x[i] = (double)narrow;
        ck_assert_msg(isfinite(x[i]), "%s", full);
    }
    p->used++;
    return x;
}

static double *needed(Pass *p, const char *name, int rows, int cols)
{
    double *x = numbers(p, name, rows, cols);

    ck_assert_msg(x != NULL, "there is no %s%s", p->block, name);
    return x;
}

/* y = x W^T + b, or with W as (in, out): x W + b. */
typedef struct {
    const char *name;
    int in, out;
    bool in_first;
} Linear;

static double *linear(Pass *p, Linear l, const double *x)
{
    char name[60];
    double *y = rows_new(p, l.out);

    snprintf(name, sizeof name, "%s.weight", l.name);
    const double *w = needed(p, name, l.in_first ? l.in : l.out, l.in_first ? l.out : l.in);
    snprintf(name, sizeof name, "%s.bias", l.name);
    const double *b = numbers(p, name, 0, l.out);
    for (int t = 0; t < p->T; t++)
        for (int o = 0; o < l.out; o++) {
            double sum = b ? b[o] : 0;

            for (int i = 0; i < l.in; i++)
                sum += x[t * l.in + i] * w[l.in_first ? i * l.out + o : o * l.in + i];
            y[t * l.out + o] = sum;
        }
    return y;
}

/* LayerNorm where there is a bias, else RMSNorm. */
static double *norm(Pass *p, const char *which, const double *x)
{
    char name[60];
    const int C = p->is.width;
    double *y = rows_new(p, C);

    snprintf(name, sizeof name, "%s.weight", which);
    const double *gain = needed(p, name, 0, C);
    snprintf(name, sizeof name, "%s.bias", which);
    const double *bias = numbers(p, name, 0, C);
    for (int t = 0; t < p->T; t++) {
        double mean = 0, square = 0;

        for (int c = 0; bias && c < C; c++)
            mean += x[t * C + c] / C;
        for (int c = 0; c < C; c++)
            square += (x[t * C + c] - mean) * (x[t * C + c] - mean) / C;
        for (int c = 0; c < C; c++)
            y[t * C + c] = gain[c] * (x[t * C + c] - mean) /
                               sqrt(square + (p->is.eps > 0 ? p->is.eps : 1e-5)) +
                           (bias ? bias[c] : 0);
    }
    return y;
}

/* rotate_half of transformers: number d turns with number d + D/2. */
static void turn_halves(const Pass *p, double *x, int heads)
{
    const int D = p->is.width / p->is.heads;

    for (int t = 0; t < p->T; t++)
        for (int h = 0; h < heads; h++)
            for (int d = 0; d < D / 2; d++) {
                double *a = &x[(t * heads + h) * D + d], *b = a + D / 2, was = *a;
                const double angle = t / pow(p->is.base > 0 ? p->is.base : 10000, 2.0 * d / D);

                *a = was * cos(angle) - *b * sin(angle);
                *b = *b * cos(angle) + was * sin(angle);
            }
}

/* repeat_kv of transformers, on (T, heads, D): each head of x for H / heads heads. */
static double *repeated(const Pass *p, const double *x, int heads)
{
    const int C = p->is.width, D = C / p->is.heads, group = p->is.heads / heads;
    double *y = rows_new(p, C);

    for (int i = 0; i < p->T * C; i++)
        y[i] = x[(i / C * heads + i % C / D / group) * D + i % D];
    return y;
}

/* Of head h, whose rows of q, k and v are C apart in memory: o_i, causal. */
static void attend_row(int D, int C, int i, const double *const qkv[3], double *o)
{
    double sum = 0;

    for (int j = 0; j <= i; j++) {
        double score = 0;

        for (int d = 0; d < D; d++)
            score += qkv[0][i * C + d] * qkv[1][j * C + d];
        const double weight = exp(score / sqrt((double)D));

        sum += weight;
        for (int d = 0; d < D; d++)
            o[i * C + d] += weight * qkv[2][j * C + d];
    }
    for (int d = 0; d < D; d++)
        o[i * C + d] /= sum;
}

static double *attend(const Pass *p, const double *q, const double *k, const double *v)
{
    const int C = p->is.width, D = C / p->is.heads;
    double *o = rows_new(p, C);

    for (int h = 0; h < p->is.heads; h++)
        for (int i = 0; i < p->T; i++)
            attend_row(D, C, i, (const double *const[]){ q + h * D, k + h * D, v + h * D },
                       o + h * D);
    return o;
}

static void add(const Pass *p, double *x, const double *y)
{
    for (int i = 0; i < p->T * p->is.width; i++)
        x[i] += y[i];
}

static double gelu_new(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static double *llama_mlp(Pass *p, const double *h)
{
    const int C = p->is.width, F = p->is.hidden;
    const bool gated = strcmp(p->is.class_name, "LlamaForCausalLM") == 0;
    double *up = linear(p, (Linear){ "mlp.up_proj", C, F, false }, h);
    const double *gate = gated ? linear(p, (Linear){ "mlp.gate_proj", C, F, false }, h) : NULL;

    for (int i = 0; i < p->T * F; i++)
        up[i] = gate ? gate[i] / (1 + exp(-gate[i])) * up[i] : gelu_new(up[i]);
    return linear(p, (Linear){ "mlp.down_proj", F, C, false }, up);
}

static void llama_layer(Pass *p, double *x)
{
    const int C = p->is.width, H = p->is.heads, heads = p->is.kv_heads > 0 ? p->is.kv_heads : H;
    const int keys = C / H * heads;
    const double *h = norm(p, "input_layernorm", x);
    double *q = linear(p, (Linear){ "self_attn.q_proj", C, C, false }, h);
    double *k = linear(p, (Linear){ "self_attn.k_proj", C, keys, false }, h);
    double *v = linear(p, (Linear){ "self_attn.v_proj", C, keys, false }, h);

    turn_halves(p, q, H), turn_halves(p, k, heads);
    const double *o = attend(p, q, repeated(p, k, heads), repeated(p, v, heads));
    add(p, x, linear(p, (Linear){ "self_attn.o_proj", C, C, false }, o));
    add(p, x, llama_mlp(p, norm(p, "post_attention_layernorm", x)));
}

/* Columns `from` to from + C - 1 of (T, 3C). */
static double *third(const Pass *p, const double *qkv, int from)
{
    const int C = p->is.width;
    double *x = rows_new(p, C);

    for (int t = 0; t < p->T; t++)
        memcpy(x + t * C, qkv + t * 3 * C + from, (size_t)C * sizeof *x);
    return x;
}

static void gpt_layer(Pass *p, double *x)
{
    const int C = p->is.width, F = p->is.hidden;
    const double *qkv = linear(p, (Linear){ "attn.c_attn", C, 3 * C, true }, norm(p, "ln_1", x));
    const double *o = attend(p, third(p, qkv, 0), third(p, qkv, C), third(p, qkv, 2 * C));

    add(p, x, linear(p, (Linear){ "attn.c_proj", C, C, true }, o));
    double *h = linear(p, (Linear){ "mlp.c_fc", C, F, true }, norm(p, "ln_2", x));
    for (int i = 0; i < p->T * F; i++)
        h[i] = gelu_new(h[i]);
    add(p, x, linear(p, (Linear){ "mlp.c_proj", F, C, true }, h));
}

double *foreign_logits(Arena *mem, Foreign is, const Safetensors *s, const int *id, int T)
{
    const bool gpt = strcmp(is.class_name, "GPT2LMHeadModel") == 0;
    const int C = is.width, V = is.vocab;
    Pass p = { mem, is, s, T, 0, "" };
    const double *table =
        needed(&p, gpt ? "transformer.wte.weight" : "model.embed_tokens.weight", V, C);
    const double *position = gpt ? needed(&p, "transformer.wpe.weight", T, C) : NULL;
    double *x = rows_new(&p, C), *logits = rows_new(&p, V);

    for (int i = 0; i < T * C; i++)
        x[i] = table[id[i / C] * C + i % C] + (position ? position[i] : 0);
    for (int l = 0; l < is.layers; l++) {
        snprintf(p.block, sizeof p.block, gpt ? "transformer.h.%d." : "model.layers.%d.", l);
        (gpt ? gpt_layer : llama_layer)(&p, x);
    }
    *p.block = 0;
    x = norm(&p, gpt ? "transformer.ln_f" : "model.norm", x);
    const double *head = numbers(&p, "lm_head.weight", V, C);
    for (int i = 0; i < T * V; i++)
        for (int c = 0; c < C; c++)
            logits[i] += x[i / V * C + c] * (head ? head : table)[i % V * C + c];
    ck_assert_int_eq(p.used, s->entries);
    return logits;
}
