/* What compares derivatives has to notice wrong ones; without this, nothing else here proves much.
 */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

/* y_i = x_i^3 / 3, whose backward is right but for one mistake. */
typedef enum { RIGHT, SCALED, LAST, NOT_A_NUMBER, ZERO } Mistake;

typedef struct {
    Node node;
    Tensor *x;
    Mistake mistake;
} Cube;

static void cube_backward(Node *node)
{
    const Cube *op = (Cube *)node;
    Grad dx = tape_grad(node->tape, op->x);

    for (size_t i = 0; i < op->x->n; i++) {
        real d = op->x->data[i] * op->x->data[i] * node->y->grad[i];
        bool last = i == op->x->n - 1;

        d *= op->mistake == SCALED ? R(1 + 2e-7) : op->mistake == ZERO ? 0 : 1;
        d *= op->mistake == LAST && last ? R(1.1) : 1;
        d *= op->mistake == NOT_A_NUMBER && last ? R(nan("")) : 1;
        dx.at[i] = (dx.add ? dx.at[i] : 0) + d;
    }
}

typedef struct {
    Tensor *x;
    Mistake mistake;
} Subject;

static Tensor *cube(Tape *tape, void *ctx)
{
    const Subject *s = ctx;
    Cube *op = tape_node(tape, sizeof *op, cube_backward, s->x->ndim, s->x->dim);

    op->x = s->x, op->mistake = s->mistake;
    for (size_t i = 0; i < s->x->n; i++)
        op->node.y->data[i] = s->x->data[i] * s->x->data[i] * s->x->data[i] / 3;
    return op->node.y;
}

static double off(Mistake mistake, size_t most)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    real weight[12];
    Subject s = { leaf(mem, 1, 1, SHAPE(3, 4)), mistake };
    Loss loss = { &tape, cube, &s, weight };

    fill(weight, COUNT(weight), 2, 1);
    s.x->data[11] *=
        R(0.1); /* of all derivatives the last is not the largest, which is looked at */
    derivative_by_hand(loss, &s.x, 1);
    double d = derivative_off(loss, s.x, s.x->grad, most, 1);
    tape_close(&tape);
    arena_free(mem);
    return d;
}

START_TEST(a_wrong_derivative_is_over_the_tolerance)
{
    if (!in_double)
        return;
    for (size_t most = 1; most <= 12; most += 11) {
        ck_assert_double_le(off(RIGHT, most), 1e-10);
        for (int mistake = SCALED; mistake <= ZERO; mistake++)
            ck_assert_msg(!(off((Mistake)mistake, most) <= DERIVATIVE_TOLERANCE),
                          "mistake %d, %zu elements", mistake, most);
    }
}
END_TEST

#ifdef PROOF /* ./gradcheck, which is in double alone, on a single op */
#include "tools/gradcheck/case.c"

static Mistake mistaken;
static size_t compared;

static void gradcheck_the_cube(const char *unused)
{
    Report r = { .tape = tape_open(1), .mem = arena_new(), .most = compared };
    Arena *mem = arena_new();
    Subject s = { leaf(mem, 1, 1, SHAPE(3, 4)), mistaken };
    Case c = { .name = "cube", .f = cube, .ctx = &s };

    (void)unused;
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    put_operand(&c, "x", s.x);
    check(&r, &c);
    sum_up(&r, "cube", "");
    conclude(&r);
    tape_close(&r.tape);
    arena_free(r.mem);
    arena_free(mem);
}

START_TEST(gradcheck_ends_with_an_error_if_a_derivative_is_wrong)
{
    for (compared = 1; compared <= 12; compared += 11) {
        mistaken = RIGHT;
        ck_assert_int_eq(exit_code_of(gradcheck_the_cube, ""), 0);
        for (int i = SCALED; i <= ZERO; i++) {
            mistaken = (Mistake)i;
            check_dies(gradcheck_the_cube, "", EXIT_FAILED, "the derivatives of 1 operands differ");
        }
    }
}
END_TEST
#endif

START_TEST(a_derivative_along_a_direction_is_the_same_twice)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    real weight[12], u[12];
    Subject s = { leaf(mem, 1, 1, SHAPE(3, 4)), RIGHT };
    Loss loss = { &tape, cube, &s, weight };

    fill(weight, COUNT(weight), 2, 1);
    fill(u, COUNT(u), 3, 1);
    derivative_by_hand(loss, &s.x, 1);
    double hand = derivative_of_along(s.x, s.x->grad, u),
           differences = derivative_along(loss, s.x, u);
    ck_assert_double_ne(hand, 0);
    ck_assert_double_le(fabs(hand - differences), fabs(hand) * (in_double ? 1e-10 : 1e-2));
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

START_TEST(a_relative_error_is_never_nan)
{
    const real a[] = { 1, 2, 4 }, b[] = { 1, 3, 4 }, zero[] = { 0, 0, 0 };
    const real bad[] = { 1, R(nan("")), 4 };

    ck_assert_double_eq(distance(a, b, 3), 0.25);
    ck_assert_double_eq(distance(b, b, 3), 0);
    ck_assert_double_eq(distance(zero, zero, 3), 0);
    ck_assert_double_gt(distance(a, zero, 3), 1);
    ck_assert(distance(a, bad, 3) == HUGE_VAL && distance(bad, a, 3) == HUGE_VAL);
    ck_assert(distance(bad, bad, 3) == HUGE_VAL);
}
END_TEST

static double wave(void *ctx, double x)
{
    (void)ctx;
    return exp(sin(3 * x + 1));
}

static double not_a_number(void *ctx, double x)
{
    (void)ctx;
    return x * nan("");
}

START_TEST(a_slope_is_the_derivative)
{
    ck_assert_double_le(fabs(slope(wave, NULL) / (3 * cos(1) * exp(sin(1))) - 1), 1e-10);
    ck_assert(isnan(slope(not_a_number, NULL)));
}
END_TEST

/* Beside something smooth, max(x - kink, 0) and its square. */
typedef struct {
    double kink;
    bool squared;
} Bent;

static double bent(void *ctx, double x)
{
    const Bent *b = ctx;
    double over = x > b->kink ? x - b->kink : 0;

    return wave(NULL, x) + (b->squared ? over * over : over);
}

START_TEST(a_kink_nearby_does_not_affect_a_slope)
{
    static const double kinks[] = { 1e-5, 1e-4, 3e-4, 5e-4, 9e-4, 1.1e-3, 1.7e-3, 1.99e-3 };
    double smooth = 3 * cos(1) * exp(sin(1));

    for (int i = 0; i < COUNT(kinks); i++)
        for (int sign = -1; sign < 2; sign += 2)
            for (int squared = 0; squared < 2; squared++) {
                Bent b = { sign * kinks[i], squared };
                double want = smooth + (b.kink > 0 ? 0 : b.squared ? -2 * b.kink : 1);

                ck_assert_msg(fabs(slope(bent, &b) - want) <= 1e-8, "kink at %g: %.2e off", b.kink,
                              slope(bent, &b) - want);
            }
}
END_TEST

Suite *suite_derivative(void)
{
    Suite *s = suite_create("derivative");
    TCase *t = with_folder(s, "derivative");

    tcase_add_test(t, a_wrong_derivative_is_over_the_tolerance);
#ifdef PROOF
    tcase_add_test(t, gradcheck_ends_with_an_error_if_a_derivative_is_wrong);
#endif
    tcase_add_test(t, a_derivative_along_a_direction_is_the_same_twice);
    tcase_add_test(t, a_relative_error_is_never_nan);
    tcase_add_test(t, a_slope_is_the_derivative);
    tcase_add_test(t, a_kink_nearby_does_not_affect_a_slope);
    return s;
}
