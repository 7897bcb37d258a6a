/*
 * The matrix of a mechanism with o_i = sum over j of A_ij v_j.
 *
 * However o is computed, it is linear in v. If v_j is the unit vector of component c and all
 * other values are 0, component c of o_i is A_ij. So with values of COLUMNS numbers, one mix
 * yields COLUMNS columns of A.
 */
#include "ops/attention.h"

#include <limits.h>
#include <string.h>

#ifdef PROOF
enum { COLUMNS = 5 };
#else
enum { COLUMNS = 64 };
#endif

/* MatrixColumns j0 to j0 + v->dim[3] of A, from the mix with unit vectors j - j0 for v_j. */
static MatrixColumns columns_from(Tape *tape, const Mix *in, int j0)
{
    const int T = in->v->dim[1], H = in->v->dim[2], E = in->v->dim[3];

    for (size_t i = 0; i < in->v->n; i++)
        in->v->data[i] = R((int)(i / (size_t)(H * E) % (size_t)T) - j0 == (int)(i % (size_t)E));
    return (MatrixColumns){ attention_mix(tape, in)->data, j0, E };
}

void attention_columns(Tape *tape, const Mix *of, void (*take)(void *ctx, MatrixColumns c),
                       void *ctx)
{
    Mix in = *of;
    const int *dim = in.q->dim, B = dim[0], T = dim[1], H = dim[2];
    const size_t rows = (size_t)B * (size_t)H * (size_t)T;
    const int most = rows > INT_MAX / COLUMNS ? (int)(INT_MAX / rows) : COLUMNS;

    for (int j0 = 0; j0 < T; j0 += most) {
        Arena *mem = arena_new();
        const int columns = T - j0 < most ? T - j0 : most;

        in.v = tensor_new(mem, 4, (int[]){ B, T, H, columns });
        take(ctx, columns_from(tape, &in, j0));
        tape_reset(tape);
        arena_free(mem);
    }
}

typedef struct {
    int B, T, H;
    real *A;
} Whole;

static void copy_columns(void *ctx, MatrixColumns c)
{
    const Whole *to = ctx;
    const real *from = c.A;

    for (int b = 0; b < to->B; b++)
        for (int i = 0; i < to->T; i++)
            for (int h = 0; h < to->H; h++, from += c.n) {
                const size_t row =
                    ((size_t)b * (size_t)to->H + (size_t)h) * (size_t)to->T + (size_t)i;

                memcpy(to->A + row * (size_t)to->T + (size_t)c.first, from,
                       (size_t)c.n * sizeof(real));
            }
}

void attention_matrix(Tape *tape, const Mix *in, real *A)
{
    const int *dim = in->q->dim;

    attention_columns(tape, in, copy_columns, &(Whole){ dim[0], dim[1], dim[2], A });
}

bool attention_sums(Tape *tape, const Mix *in, double *c)
{
    const Engine *engine = in->attention->engine;

    return engine->sums && engine->sums(tape, in, c);
}
