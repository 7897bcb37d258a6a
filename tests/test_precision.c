/* What --precision rounds in a layer: the operands of all three products, and nothing else. */
#include "tests/suites.h"
#include "tests/tests.h"

#include <string.h>

enum { ROWS = 9, IN = 37, OUT = 21 };

/* The nearest number with the upper 16 bits of a float; of two, the even one. */
static real in_16_bits(real x)
{
    float f = (float)x;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000;
    memcpy(&f, &bits, sizeof f);
    return R(f);
}

typedef struct {
    real y[ROWS * OUT], dx[ROWS * IN], dw[OUT * IN];
} Results;

/* y = f(x) W^T and its gradients; x may be rounded beforehand, and so may W and dy. */
static void run(Precision precision, const Activation *f, bool x_rounded, bool rounded, Results *r)
{
    Tape tape = tape_open(1);
    Arena *mem = arena_new();
    Tensor *x = leaf(mem, 1, 1, SHAPE(ROWS, IN)), *w = leaf(mem, 2, 1, SHAPE(OUT, IN)),
           *dy = leaf(mem, 3, 1, SHAPE(ROWS, OUT));

    for (size_t i = 0; i < x->n && x_rounded; i++)
        x->data[i] = in_16_bits(x->data[i]);
    for (size_t i = 0; i < w->n && rounded; i++)
        w->data[i] = in_16_bits(w->data[i]);
    for (size_t i = 0; i < dy->n && rounded; i++)
        dy->data[i] = in_16_bits(dy->data[i]);
    tape.precision = precision;
    Tensor *y = op_dense(&tape, (Dense){ .x = x, .w = w, .f = f });
    memcpy(r->y, y->data, sizeof r->y);
    tape_backward(&tape, y, dy->data);
    memcpy(r->dx, x->grad, sizeof r->dx);
    memcpy(r->dw, w->grad, sizeof r->dw);
    tape_close(&tape);
    arena_free(mem);
}

static double apart(const real *a, const real *b, int n)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, fabs((double)(a[i] - b[i])));
    return most;
}

/* Equal to `b` but for the order of a sum, and not to `c`, which is not rounded. */
static void check(const char *what, const real *a, const real *b, const real *c, int n)
{
    ck_assert_msg(apart(a, b, n) < 2e-5, "%s: %g", what, apart(a, b, n));
    ck_assert_msg(apart(a, c, n) > 1e-3, "%s is not rounded: %g", what, apart(a, c, n));
}

START_TEST(all_products_of_a_layer_round_their_operands)
{
    static const Precision precision[] = { PRECISION_BF16, PRECISION_TILES };
    static Results got, want, exact;

    for (int i = 0; i < COUNT(precision); i++) {
        run(precision[i], NULL, false, false, &got);
        run(PRECISION_FLOAT, NULL, true, true, &want);
        run(PRECISION_FLOAT, NULL, false, false, &exact);
        check("y", got.y, want.y, exact.y, ROWS * OUT);
        check("dx", got.dx, want.dx, exact.dx, ROWS * IN);
        check("dw", got.dw, want.dw, exact.dw, OUT * IN);
        run(precision[i], &activation_gelu, false, false, &got);
        run(PRECISION_FLOAT, &activation_gelu, false, true, &want); /* f'(x) is not rounded */
        run(PRECISION_FLOAT, &activation_gelu, false, false, &exact);
        check("dx through f", got.dx, want.dx, exact.dx, ROWS * IN);
    }
}
END_TEST

Suite *suite_precision(void)
{
    Suite *s = suite_create("precision");

    tcase_add_test(group(s, "precision"), all_products_of_a_layer_round_their_operands);
    return s;
}
