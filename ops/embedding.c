/*
 * Embedding.  y[b][t] = table[id[b][t]] + position[from + t].  Backward, with g = dy:
 *
 *     dtable[i]           += sum of g[b][t] over all b, t with id[b][t] = i
 *     dposition[from + t] += sum of g[b][t] over b
 *
 * Many tokens share a row of the table, so the work is divided by columns: a thread sums
 * its columns over all tokens in order.
 */
#include "ops/base/error.h"
#include "ops/ops.h"

enum { ROWS = 64, COLUMNS = 16 };

typedef struct {
    Node node;
    Embedding in;
    int C;
    real *dtable, *dposition;
} EmbeddingNode;

static void embedding_rows(void *ctx, int begin, int end)
{
    const EmbeddingNode *op = ctx;
    size_t C = (size_t)op->C;
    const real *position = op->in.position ? op->in.position->data : op->in.fixed;

    for (int i = begin; i < end; i++) {
        const real *row = op->in.table->data + (size_t)op->in.id[i] * C;
        real *y = op->node.y->data + (size_t)i * C;

        for (size_t c = 0; c < C; c++)
            y[c] = row[c];
        for (size_t c = 0; position && c < C; c++)
            y[c] += position[(size_t)(op->in.from + i % op->in.T) * C + c];
    }
}

static void backward_columns(void *ctx, int begin, int end)
{
    const EmbeddingNode *op = ctx;
    size_t C = (size_t)op->C;

    for (int i = 0; i < op->in.B * op->in.T; i++) {
        const real *g = op->node.y->grad + (size_t)i * C;
        real *row = op->dtable + (size_t)op->in.id[i] * C;

        for (int c = begin; c < end; c++)
            row[c] += g[c];
        if (op->dposition)
            for (int c = begin; c < end; c++)
                op->dposition[(size_t)(op->in.from + i % op->in.T) * C + (size_t)c] += g[c];
    }
}

static void embedding_backward(Node *node)
{
    EmbeddingNode *op = (EmbeddingNode *)node;

    op->dtable = tape_grad_zeroed(node->tape, op->in.table);
    if (op->in.position)
        op->dposition = tape_grad_zeroed(node->tape, op->in.position);
    pool_for(node->tape->pool, op->C, COLUMNS, backward_columns, op);
}

Tensor *op_embedding(Tape *tape, Embedding in)
{
    int V = in.table->dim[0], C = in.table->dim[1];

    for (int i = 0; i < in.B * in.T; i++)
        if (in.id[i] < 0 || in.id[i] >= V)
            BUG("embedding: id %d is not below %d", in.id[i], V);
    if (in.position && in.fixed)
        BUG("embedding: positions are learned or fixed, not both");
    if (in.position && in.position->dim[0] - in.from < in.T)
        BUG("embedding: %d positions for %d tokens from %d", in.position->dim[0], in.T, in.from);

    EmbeddingNode *op = tape_node(tape, sizeof *op, embedding_backward, SHAPE(in.B, in.T, C));
    op->in = in, op->C = C;
    pool_for(tape->pool, in.B * in.T, ROWS, embedding_rows, op);
    return op->node.y;
}
