#include "ops/attention/engine/head_matrix.h"

#include "ops/attention/engine/head.h"
#include "ops/kernel/elementary.h"

#include <string.h>

static real *zeros(Node *node, size_t n)
{
    return memset(tape_keep(node, n * sizeof(real)), 0, n * sizeof(real));
}

const HeadMatrix *head_matrix(Node *node, const Tensor *w, real s)
{
    const size_t H = (size_t)w->dim[0], R = (size_t)w->dim[1], D = (size_t)w->dim[2];
    HeadMatrix *a = tape_keep(node, sizeof *a);

    a->w = w, a->s = s;
    a->wide_y = up_to((int)R, NR), a->wide_x = up_to((int)D, NR);
    a->to_y = zeros(node, H * D * (size_t)a->wide_y);
    a->to_x = zeros(node, H * R * (size_t)a->wide_x);
    for (size_t i = 0; i < H * R; i++)
        for (size_t d = 0; d < D; d++) {
            const real x = w->data[i * D + d] * s;

            a->to_y[(i / R * D + d) * (size_t)a->wide_y + i % R] = x;
            a->to_x[i * (size_t)a->wide_x + d] = x;
        }
    return a;
}

void head_matrix_multiply(const HeadMatrix *a, const MapRows *m, const real *x, real *y)
{
    const real *w = a->to_y + (size_t)m->head * (size_t)(m->D * a->wide_y);

    for (int i = 0; i < m->n; i += MR)
        for (int j = 0; j < a->wide_y; j += NR)
            kernel(y + i * m->ldf + j, m->ldf,
                   &(Factors){ x + i * m->ldx, m->ldx, 1, w + j, a->wide_y, m->D }, false);
}

void head_matrix_row(const Tensor *w, real s, const MapRows *m, const real *x, real *y)
{
    const int R = w->dim[1], D = w->dim[2];

    for (int r = 0; r < R; r++)
        y[r] = row_dot(w->data + (m->head * R + r) * D, x, D) * s;
}

void head_matrix_back(const HeadMatrix *a, const MapRows *m, const real *dy, real *dx)
{
    const int R = a->w->dim[1];

    rows_multiply((Rows){ dx, m->ldx, 0, m->n }, (Rows){ (real *)dy, m->ldf, 0, m->n }, R,
                  a->to_x + (size_t)m->head * (size_t)(R * a->wide_x), false);
}

void head_matrix_learn(const HeadMatrix *a, const MapRows *m, const real *x, real *dy)
{
    const int R = a->w->dim[1];

    for (int r = 0; m->dw && r < m->live; r++)
        for (int j = 0; j < R; j++)
            dy[r * m->ldf + j] *= a->s;
    if (m->dw)
        rows_multiply_over(m->dw, R, (Rows){ dy, m->ldf, 0, m->n },
                           (Rows){ (real *)x, m->ldx, 0, m->n }, m->live);
}
