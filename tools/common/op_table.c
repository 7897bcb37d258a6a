#include "tools/common/op_table.h"

#include "ops/base/error.h"

#include <stdio.h>
#include <string.h>

static bool is_optional(const OpOperand *o)
{
    return strchr(o->shape, '?');
}

bool op_is_constant(const OpOperand *o)
{
    return strchr(o->shape, '=');
}

static Tensor *run_activation(Tape *tape, const OpCall *c)
{
    return op_activation(tape, c->x[0], c->row->f);
}

static Tensor *run_cap(Tape *tape, const OpCall *c)
{
    return op_cap(tape, c->x[0], c->row->p);
}

static Tensor *run_swiglu(Tape *tape, const OpCall *c)
{
    return op_swiglu(tape, c->x[0], c->x[1]);
}

static Tensor *run_add(Tape *tape, const OpCall *c)
{
    return op_add(tape, c->x[0], c->x[1]);
}

static Tensor *run_multiply(Tape *tape, const OpCall *c)
{
    return op_multiply(tape, c->x[0], c->x[1]);
}

static Tensor *run_square(Tape *tape, const OpCall *c)
{
    return op_multiply(tape, c->x[0], c->x[0]);
}

static Tensor *run_double(Tape *tape, const OpCall *c)
{
    return op_add(tape, c->x[0], c->x[0]);
}

static Tensor *run_dropout(Tape *tape, const OpCall *c)
{
    return op_dropout(tape, c->x[0], c->row->p, random_stream(3, RANDOM_DROPOUT, 1));
}

static Tensor *run_dense(Tape *tape, const OpCall *c)
{
    return op_dense(
        tape, (Dense){ .x = c->x[0], .r = c->x[1], .w = c->x[2], .b = c->x[3], .f = c->row->f });
}

static Tensor *run_rmsnorm(Tape *tape, const OpCall *c)
{
    return op_rmsnorm(tape, c->x[0], c->x[1], c->row->p);
}

static Tensor *run_layernorm(Tape *tape, const OpCall *c)
{
    return op_layernorm(tape, c->x[0], c->x[1], c->x[2], c->row->p);
}

static Tensor *run_l2norm(Tape *tape, const OpCall *c)
{
    return op_l2norm(tape, c->x[0], c->row->p);
}

static Tensor *run_gate(Tape *tape, const OpCall *c)
{
    return op_gate(tape, (Gate){ .x = c->x[0], .A = c->x[1], .f = c->row->f, .by = c->row->p });
}

static Tensor *run_conv(Tape *tape, const OpCall *c)
{
    const int K = c->row->K;

    return op_conv(
        tape,
        (Conv){
            .x = c->x[0], .w = c->x[1], .K = K < 0 ? -K : K, .length = c->id, .causal = K > 0 });
}

static Tensor *run_scale_offset(Tape *tape, const OpCall *c)
{
    return op_scale_offset(tape, c->x[0], c->x[1], c->x[2]);
}

static Tensor *run_repeat(Tape *tape, const OpCall *c)
{
    return op_repeat(tape, c->x[0], c->row->K ? c->row->K : c->size.T, 3);
}

static Tensor *run_scale_rows(Tape *tape, const OpCall *c)
{
    return op_scale_rows(tape, c->x[0], c->x[1]);
}

static Tensor *run_pick(Tape *tape, const OpCall *c)
{
    return op_pick(tape, c->x[0], c->id, (c->size.T + 1) / 2);
}

static Tensor *run_place(Tape *tape, const OpCall *c)
{
    return op_place(tape, c->x[0], c->id, 2 * c->size.T + 1);
}

static Tensor *run_mean(Tape *tape, const OpCall *c)
{
    return op_mean(tape, c->x[0], c->id);
}

static Tensor *run_average(Tape *tape, const OpCall *c)
{
    return op_average(tape, c->x[0], c->x[1], c->id);
}

static Tensor *run_pair(Tape *tape, const OpCall *c)
{
    return op_pair(tape, c->x[0]);
}

static Tensor *run_embedding(Tape *tape, const OpCall *c)
{
    Embedding e = { .table = c->x[0], .id = c->id, .B = c->size.B, .T = c->size.T };

    e.from = OP_FROM;
    if (op_is_constant(&c->row->operand[1]))
        e.fixed = c->x[1]->data;
    else
        e.position = c->x[1];
    return op_embedding(tape, e);
}

static Tensor *run_cross_entropy(Tape *tape, const OpCall *c)
{
    return op_cross_entropy(tape, c->x[0], c->id);
}

/* Distinct tokens, if the vocabulary is larger than the batch. */
static int token(int i, OpSize s)
{
    return (5 * i + 3) % s.V;
}

static int every_other(int i, OpSize s)
{
    (void)s;
    return 2 * i;
}

static int repeated_token(int i, OpSize s)
{
    return (i * i % 3 + 1) % s.V;
}

static int target(int i, OpSize s)
{
    return (5 * i + 2) % s.V;
}

static int target_or_none(int i, OpSize s)
{
    return i % 3 == 1 ? -1 : target(i, s);
}

/* T, T - 1, ...; one is longer than the sequence, and one is 0. */
static int length(int b, OpSize s)
{
    return b == 3 ? s.T + 2 : b == 4 || b > s.T ? 0 : s.T - b;
}

static const OpOperand one[] = { { "x", "BTC" }, { 0 } };
static const OpOperand two[] = { { "x", "BTC" }, { "y", "BTC" }, { 0 } };
static const OpOperand rows_of_many[] = { { "x", "TC" }, { 0 } };
static const OpOperand row_by_row[] = { { "x", "BTC" }, { "s", "BT" }, { 0 } };
static const OpOperand by_positions[] = { { "x", "BTC" }, { "s", "T" }, { 0 } };
static const OpOperand queried[] = { { "x", "BTC" }, { "w", "C" }, { 0 } };
static const OpOperand pairs[] = { { "x", "B2C" }, { 0 } };
static const OpOperand logits[] = { { "x", "BTV" }, { 0 } };
static const OpOperand dense[] = {
    { "x", "BTC" }, { "r", "BTO?" }, { "w", "OC" }, { "b", "O?" }, { 0 }
};
static const OpOperand rmsnorm[] = { { "x", "BTC" }, { "gain", "C?" }, { 0 } };
static const OpOperand layernorm[] = { { "x", "BTC" }, { "gain", "C" }, { "bias", "C" }, { 0 } };
static const OpOperand gate[] = { { "x", "BTC" }, { "A", "C?" }, { 0 } };
static const OpOperand conv3[] = { { "x", "BTC" }, { "w", "3C" }, { 0 } };
static const OpOperand conv4[] = { { "x", "BTC" }, { "w", "4C" }, { 0 } };
static const OpOperand affine[] = { { "x", "BTC" }, { "gamma", "C" }, { "beta", "C" }, { 0 } };
static const OpOperand learned[] = { { "table", "VC" }, { "position", "PC?" }, { 0 } };
static const OpOperand fixed[] = { { "table", "VC" }, { "position", "PC=" }, { 0 } };

const OpRow op_rows[] = {
    { "gelu", run_activation, one, .f = &activation_gelu, .moved = { "BTC", 2, 3 } },
    { "silu", run_activation, one, .f = &activation_silu, .moved = { "BTC", 2, 3 } },
    { "relu2", run_activation, one, .f = &activation_relu2 },
    { "sigmoid", run_activation, one, .f = &activation_sigmoid },
    { "log sigmoid", run_activation, one, .f = &activation_log_sigmoid },
    { "softplus", run_activation, one, .f = &activation_softplus },
    { "gate", run_gate, gate, .p = 0.25, .moved = { "BTC", 2, 3 } },
    { "gate of log sigmoid", run_gate, gate, .f = &activation_log_sigmoid, .p = 2 },
    { "conv", run_conv, conv4, .K = 4, .moved = { "BTC", 2, 3 } },
    { "conv without padding", run_conv, conv3, .K = 3, .id = { "B", length } },
    { "centred conv without padding", run_conv, conv3, .K = -3, .id = { "B", length } },
    { "cap", run_cap, one, .p = 1.5, .moved = { "BTC", 2, 3 } },
    { "swiglu", run_swiglu, two, .moved = { "BTC", 3, 5 } },
    { "add", run_add, two, .moved = { "BTC", 3, 3 } },
    { "add to itself", run_double, .operand = one },
    { "multiply", run_multiply, .operand = two },
    { "multiply with itself", run_square, .operand = one },
    { "dropout", run_dropout, one, .p = 0.1, .moved = { "BTC", 2, 2 } },
    { "dropout of nothing", run_dropout, one, .p = 0 },
    { "dense", run_dense, dense, .flops = { "BTCO", 2, 4 } },
    { "dense of gelu", run_dense, dense, .f = &activation_gelu, .flops = { "BTCO", 2, 4 } },
    { "dense of silu", run_dense, dense, .f = &activation_silu },
    { "dense of relu2", run_dense, dense, .f = &activation_relu2 },
    { "rmsnorm", run_rmsnorm, rmsnorm, .p = NORM_EPS, .moved = { "BTC", 2, 3 } },
    { "l2norm", run_l2norm, one, .p = 1e-6 },
    { "layernorm", run_layernorm, layernorm, .p = 1e-3, .moved = { "BTC", 2, 3 } },
    { "scale and offset", run_scale_offset, .operand = affine },
    { "scale rows", run_scale_rows, row_by_row, .moved = { "BTC", 2, 3 } },
    { "scale rows by a few numbers", run_scale_rows, .operand = by_positions },
    { "repeat", run_repeat, .operand = one },
    { "repeat rows", run_repeat, one, .K = 1, .moved = { "BTC", 4, 4 } },
    { "pick", run_pick, rows_of_many, .id = { "T", every_other } },
    { "place", run_place, rows_of_many, .id = { "T", every_other } },
    { "mean", run_mean, .operand = one },
    { "mean without padding", run_mean, one, .id = { "B", length } },
    { "average", run_average, .operand = queried },
    { "average without padding", run_average, queried, .id = { "B", length } },
    { "pair", run_pair, .operand = pairs },
    { "embedding", run_embedding, learned, .id = { "BT", token }, .moved = { "BTC", 1, 1 } },
    { "embedding, repeated tokens", run_embedding, learned, .id = { "BT", repeated_token } },
    { "embedding, fixed positions", run_embedding, fixed, .id = { "BT", token } },
    { "cross entropy", run_cross_entropy, logits, .id = { "BT", target },
      .moved = { "BTV", 1, 2 } },
    { "cross entropy, ignored rows", run_cross_entropy, logits, .id = { "BT", target_or_none } },
    { .name = NULL },
};

const OpRow *op_row(const char *name)
{
    for (const OpRow *row = op_rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    BUG("no op is called %s", name);
}

static int size_of(char letter, OpSize s)
{
    static const char letters[] = "BTCOVP1234";
    const int sizes[] = { s.B, s.T, s.C, s.O, s.V, OP_FROM + s.T + 1, 1, 2, 3, 4 };
    const char *at = strchr(letters, letter);

    if (!at)
        BUG("%c is not a size", letter);
    return sizes[at - letters];
}

double op_product(const char *letters, OpSize s)
{
    double n = 1;

    for (; letters && *letters; letters++)
        n *= size_of(*letters, s);
    return n;
}

static const int *ids(Arena *mem, const OpRow *row, OpSize s)
{
    int n = (int)op_product(row->id.shape, s), *id = arena_take(mem, (size_t)n * sizeof *id);

    for (int i = 0; i < n; i++)
        id[i] = row->id.at(i, s);
    return id;
}

OpCall op_call(Arena *mem, const OpRow *row, OpSize s, unsigned given)
{
    OpCall c = { .row = row, .size = s, .id = row->id.at ? ids(mem, row, s) : NULL };

    for (int i = 0; row->operand[i].name; i++) {
        const OpOperand *o = &row->operand[i];
        int dim[4], ndim = 0;

        if (is_optional(o) && !(given >> i & 1))
            continue;
        for (; ndim < (int)strcspn(o->shape, "?="); ndim++)
            dim[ndim] = size_of(o->shape[ndim], s);
        c.x[i] = tensor_new(mem, ndim, dim);
        c.x[i]->grad = arena_take(mem, c.x[i]->n * sizeof(real));
    }
    return c;
}

void op_fill(const OpCall *c, double scale)
{
    for (int i = 0; i < OP_OPERANDS; i++)
        if (c->x[i])
            fill(c->x[i]->data, c->x[i]->n, 40 + (uint64_t)i, scale);
}

Tensor *op_run(Tape *tape, void *call)
{
    const OpCall *c = call;

    return c->row->run(tape, c);
}

unsigned op_given_after(const OpRow *row, unsigned given)
{
    unsigned may = 0;

    for (int i = 0; row->operand[i].name; i++)
        may |= (is_optional(&row->operand[i]) ? 1U : 0U) << i;
    return (given - may) & may;
}

void op_describe(const OpCall *c, char *to, size_t size)
{
    size_t at = 0;

    to[0] = '\0';
    for (int i = 0; i < OP_OPERANDS; i++)
        if (c->x[i] && is_optional(&c->row->operand[i]))
            at += (size_t)snprintf(to + at, size - at, "%swith %s", at ? ", " : "",
                                   c->row->operand[i].name);
}
