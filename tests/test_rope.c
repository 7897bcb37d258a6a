/* RoPE: its formula, its scales, and what a rotation keeps. */
#include "ops/rope.h"
#include "tests/naive.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <string.h>

enum { HEADS = 3 };

/* All heads of x (B, T, H, D), rotated in place. */
static const real *rotated(Tape *tape, Tensor *x, RopeScale scale, bool back)
{
    int T = x->dim[1], H = x->dim[2], D = x->dim[3];
    const real *angles = rope_angles(tape, T, D, scale);

    for (int i = 0; i < x->dim[0] * T * H; i++)
        rope_rotate(x->data + (size_t)i * (size_t)D, angles + (size_t)(i / H % T) * (size_t)D, D,
                    back);
    return x->data;
}

static const RopeScale no_scale = { 0 };
static const RopeScale scales[] = {
    { 0 },
    { ROPE_LINEAR, 4, 0 },
    { ROPE_NTK, 4, 0 },
    { ROPE_LINEAR, 1.5, 0 },
    { ROPE_NTK, 1e6, 0 },
    { ROPE_LINEAR, 0, 500 },
    { ROPE_NTK, 4, 1e6 },
};

/* _i: the scale */
START_TEST(rope_matches_its_formula_and_is_inverted)
{
    enum { T = 37, D = 10, N = 2 * T * HEADS };
    const RopeScale scale = scales[_i];
    Tape tape = tape_open(2);
    Tensor *x = leaf(tape.mem, 1, 1, SHAPE(2, T, HEADS, D));
    double *x0 = doubles(tape.mem, x->data, x->n), *y = arena_take(tape.mem, x->n * sizeof *y);

    rope_angles(&tape, 5, D, scale); /* fewer positions, and another width */
    rope_angles(&tape, T, D + 2, scale);
    for (int i = 0; i < N; i++)
        naive_rope(x0 + i * D, i / HEADS % T, D, scale, y + i * D);
    check_close("rotated", rotated(&tape, x, scale, false), y, x->n, forward_tolerance);
    check_close("rotated back", rotated(&tape, x, scale, true), x0, x->n, forward_tolerance);
    tape_close(&tape);
}
END_TEST

START_TEST(angles_are_computed_once_a_step)
{
    Tape tape = tape_open(1);
    const RopeScale half = { ROPE_LINEAR, 2, 0 }, ntk = { ROPE_NTK, 2, 0 };
    const RopeScale other = { ROPE_LINEAR, 2, 500 };
    const real *one = rope_angles(&tape, 9, 4, half), *two = rope_angles(&tape, 7, 6, half);
    real alone[4];

    ck_assert_ptr_eq(rope_angles(&tape, 8, 4, half), one);
    ck_assert_ptr_eq(rope_angles(&tape, 7, 6, half), two);
    ck_assert_ptr_ne(rope_angles(&tape, 8, 4, ntk), one);
    ck_assert_ptr_ne(rope_angles(&tape, 8, 4, no_scale), one);
    ck_assert_ptr_ne(rope_angles(&tape, 8, 4, other), one);
    rope_position(alone, 8, 4, half);
    ck_assert(same_bits(alone, one + 8 * 4, 4));
    tape_reset(&tape);
    ck_assert_ptr_null(tape.angles);
    tape_close(&tape);
}
END_TEST

START_TEST(a_scale_of_1_does_not_change_a_bit_and_ntk_keeps_a_single_pair)
{
    real plain[8], scaled[8];

    for (int D = 2; D <= 8; D += 2)
        for (int t = 0; t < 2000; t += 7) {
            rope_position(plain, t, D, no_scale);
            rope_position(scaled, t, D, (RopeScale){ ROPE_LINEAR, 1, 10000 });
            ck_assert(same_bits(plain, scaled, (size_t)D));
            rope_position(scaled, t, D, (RopeScale){ ROPE_NTK, D == 2 ? 1000 : 1, 0 });
            ck_assert(same_bits(plain, scaled, (size_t)D));
        }
}
END_TEST

/* Every pair with linear scaling; with ntk the slowest pair, while the fastest is unchanged. */
START_TEST(a_scale_of_4_brings_a_position_back_to_a_quarter_of_it)
{
    enum { D = 10 };
    real plain[D], linear[D], ntk[D], far[D];

    for (int t = 0; t < 600; t += 7) {
        rope_position(plain, t, D, no_scale);
        rope_position(far, 4 * t, D, no_scale);
        rope_position(linear, 4 * t, D, (RopeScale){ ROPE_LINEAR, 4, 0 });
        rope_position(ntk, 4 * t, D, (RopeScale){ ROPE_NTK, 4, 0 });
        ck_assert(same_bits(linear, plain, D));
        ck_assert(same_bits(ntk, far, 2));
        for (int d = D - 2; d < D; d++)
            ck_assert_double_eq_tol((double)ntk[d], (double)plain[d], in_double ? 1e-13 : 1e-6);
    }
}
END_TEST

START_TEST(rope_keeps_lengths_and_leaves_the_first_position)
{
    Tape tape = tape_open(2);
    int T = 300, D = 6;
    Tensor *x = leaf(tape.mem, 1, 1, SHAPE(2, T, HEADS, D));
    double *x0 = doubles(tape.mem, x->data, x->n);
    const real *y = rotated(&tape, x, no_scale, false);

    double worst = 0;
    bool first_stays = true;
    for (int i = 0; i < 2 * T * HEADS * D; i += 2) {
        double size = hypot(x0[i], x0[i + 1]), now = hypot((double)y[i], (double)y[i + 1]);

        worst = fmax(worst, fabs(now - size) / size);
        if (i / D / HEADS % T == 0)
            first_stays &= (double)y[i] == x0[i] && (double)y[i + 1] == x0[i + 1];
    }
    ck_assert(first_stays);
    ck_assert_double_le(worst, in_double ? 1e-15 : 2e-7);
    tape_close(&tape);
}
END_TEST

/*
 * Head 0 has the same q at every position, head 1 the same k: their products
 * depend on the distance alone, however far from the start.
 */
START_TEST(a_rotated_product_depends_on_the_distance_alone)
{
    enum { T = 1000001, D = 8 };
    static const int distances[] = { 0, 1, 17, 500 }, shifts[] = { 1, 1000, 65536, 999500 };
    Tape tape = tape_open(2);
    Tensor *x = tensor_new(tape.mem, SHAPE(1, T, 2, D));
    real first[2 * D];
    double square[2] = { 0 };

    fill(first, 2 * D, 6, 1);
    for (int i = 0; i < T; i++)
        memcpy(x->data + i * 2 * D, first, sizeof first);
    for (int i = 0; i < 2 * D; i++)
        square[i / D] += (double)first[i] * (double)first[i];
    const real *y = rotated(&tape, x, no_scale, false);
    for (int j = 0; j < COUNT(distances); j++)
        for (int s = 0; s < COUNT(shifts); s++) {
            double dot[2] = { 0 };

            for (int d = 0; d < D; d++) {
                int q = distances[j] * 2 * D + d, k = D + d, shift = shifts[s] * 2 * D;
                dot[0] += (double)y[q] * (double)y[k];
                dot[1] += (double)y[q + shift] * (double)y[k + shift];
            }
            double off = fabs(dot[1] - dot[0]) / sqrt(square[0] * square[1]);
            ck_assert_msg(off <= 1e-7, "distance %d, shifted by %d: %.1e off", distances[j],
                          shifts[s], off);
        }
    tape_close(&tape);
}
END_TEST

Suite *suite_rope(void)
{
    Suite *s = suite_create("rope");
    TCase *t = group(s, "rope");

    tcase_add_loop_test(t, rope_matches_its_formula_and_is_inverted, 0, COUNT(scales));
    tcase_add_test(t, a_scale_of_1_does_not_change_a_bit_and_ntk_keeps_a_single_pair);
    tcase_add_test(t, a_scale_of_4_brings_a_position_back_to_a_quarter_of_it);
    tcase_add_test(t, angles_are_computed_once_a_step);
    tcase_add_test(t, rope_keeps_lengths_and_leaves_the_first_position);
    tcase_add_test(t, a_rotated_product_depends_on_the_distance_alone);
    return s;
}
