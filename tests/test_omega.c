/* Performer's directions: how they are distributed, drawn again, learned. */
#include "ops/attention/engine/directions.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tensors.h"
#include "tests/tests.h"
#include "training/optimiser.h"

#include <math.h>

enum { B = 2, T = 5 };

static double dot(const real *a, const real *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

START_TEST(directions_of_a_block_are_orthogonal_and_of_the_length_of_normal_rows)
{
    static const int sizes[][2] = { { 1, 1 }, { 7, 1 }, { 3, 8 }, { 64, 16 }, { 37, 10 } };

    for (int n = 0; n < COUNT(sizes); n++) {
        const int H = 3, m = sizes[n][0], D = sizes[n][1];
        Arena *mem = arena_new();
        Tensor *omega = tensor_new(mem, 3, (int[]){ H, m, D });

        directions_draw(omega, random_stream(1, RANDOM_TEST, 4));
        for (int i = 0; i < H * m; i++)
            for (int j = 0; j < i; j++) {
                const real *a = omega->data + i * D, *b = omega->data + j * D;
                double cosine = dot(a, b, D) / sqrt(dot(a, a, D) * dot(b, b, D));
                bool block = i / m == j / m && i % m / D == j % m / D;

                ck_assert(!block || fabs(cosine) < (in_double ? 1e-14 : 1e-6));
                ck_assert(block || fabs(cosine) > 1e-9);
            }
        arena_free(mem);
    }
}
END_TEST

/* Each number is normal, as is the sum of all of a row; the squared length is D +- sqrt(2 D). */
START_TEST(directions_are_distributed_like_normal_rows)
{
    enum { H = 50, M = 40, D = 10, N = H * M };
    Arena *mem = arena_new();
    Tensor *omega = tensor_new(mem, 3, (int[]){ H, M, D });
    double fourth = 0, length = 0, spread = 0;

    directions_draw(omega, random_stream(1, RANDOM_TEST, 4));
    for (int i = 0; i < N; i++) {
        const real *w = omega->data + i * D;
        double square = dot(w, w, D);

        length += square / N;
        spread += (square - D) * (square - D) / N;
        for (int d = 0; d < D; d++)
            fourth += pow((double)w[d], 4) / (N * D);
    }
    ck_assert_double_eq_tol(length, D, 5 * sqrt(2.0 * D / N));
    ck_assert_double_eq_tol(spread, 2 * D, 5.0);
    ck_assert_double_eq_tol(fourth, 3, 0.4);
    arena_free(mem);
}
END_TEST

/* A row's length and its direction share no numbers: 4,000 of them have no correlation. */
START_TEST(the_length_of_a_row_says_nothing_about_its_direction)
{
    enum { N = 4000 };
    Arena *mem = arena_new();
    Tensor *omega = tensor_new(mem, 3, (int[]){ N, 1, 2 });
    double covariance = 0, spread = 0;

    directions_draw(omega, random_stream(1, RANDOM_TEST, 4));
    for (int i = 0; i < N; i++) {
        const real *w = omega->data + i * 2;
        double square = dot(w, w, 2), share = (double)(w[0] * w[0]) / square;

        covariance += (square - 2) * (share - 0.5) / N;
        spread += (share - 0.5) * (share - 0.5) / N;
    }
    ck_assert_double_eq_tol(spread, 0.125, 0.01);
    ck_assert_double_eq_tol(covariance / sqrt(4 * spread), 0, 0.07);
    arena_free(mem);
}
END_TEST

START_TEST(omega_is_drawn_by_the_seed_and_for_each_layer)
{
    Config c = small_variant(VARIANTS - 2);
    Arena *mem = arena_new();
    Model a, b, other;

    model_init(&a, c, mem, 3), model_init(&b, c, mem, 3), model_init(&other, c, mem, 4);
    const Tensor *omega = a.blocks[0].own[3];
    ck_assert_int_eq(omega->dim[0], 2);
    ck_assert_int_eq(omega->dim[1], 10);
    ck_assert_int_eq(omega->dim[2], 4);
    ck_assert(same_bits(omega->data, b.blocks[0].own[3]->data, omega->n));
    ck_assert(!same_bits(omega->data, other.blocks[0].own[3]->data, omega->n));
    ck_assert(!same_bits(omega->data, a.blocks[1].own[3]->data, omega->n));
    ck_assert_ptr_eq(param_named(&a.params, "blocks.1.attn.omega"), a.blocks[1].own[3]);
    ck_assert_double_eq(config_fixed_parameters(&c), 2 * 2 * 10 * 4);
    arena_free(mem);
}
END_TEST

START_TEST(omega_is_redrawn_by_the_seed_and_the_update_alone)
{
    Config c = small_variant(VARIANTS - 2);
    Arena *mem = arena_new();
    Model a, b, was;

    small_set(&c, "redraw", "3");
    model_init(&a, c, mem, 3), model_init(&b, c, mem, 4), model_init(&was, c, mem, 3);
    const Tensor *omega = a.blocks[0].own[3], *next = a.blocks[1].own[3];
    for (int update = 0; update < 6; update += 1 + (update == 2))
        model_redraw(&a, 5, update);
    ck_assert(same_parameters(&a, &was));
    model_redraw(&a, 5, 3), model_redraw(&b, 5, 3);
    ck_assert(!same_bits(omega->data, was.blocks[0].own[3]->data, omega->n));
    ck_assert(!same_bits(omega->data, next->data, omega->n));
    ck_assert(same_bits(omega->data, b.blocks[0].own[3]->data, omega->n));
    ck_assert(same_bits(next->data, b.blocks[1].own[3]->data, omega->n));
    for (int i = 0; i < 2; i++) {
        model_redraw(&b, i ? 6 : 5, i ? 3 : 6);
        ck_assert(!same_bits(omega->data, b.blocks[0].own[3]->data, omega->n));
        ck_assert(!same_bits(next->data, b.blocks[0].own[3]->data, omega->n));
    }
    arena_free(mem);
}
END_TEST

START_TEST(a_learned_omega_starts_like_a_fixed_one_and_is_trained)
{
    Config c = small_variant(VARIANTS - 2);
    Arena *mem = arena_new();
    Model fixed;

    model_init(&fixed, c, mem, 1);
    small_set(&c, "learn-omega", "1");
    ck_assert_double_eq(config_fixed_parameters(&c), 0);
    Small *s = small_open(c, B, T);
    Tape tape = tape_open(1);
    Optimiser a = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };

    model_init(&s->model, c, s->mem, 1);
    const Tensor *omega = s->model.blocks[1].own[3];
    ck_assert(same_bits(omega->data, fixed.blocks[1].own[3]->data, omega->n));
    ck_assert_uint_eq(params_count(&s->model.params) - params_count(&fixed.params), 2 * omega->n);
    double *before = doubles(s->mem, omega->data, omega->n);
    optimiser_init(&a, &s->model.params, s->mem);
    small_learn(s, &tape, 1);
    optimiser_step(&a, tape.pool, 0.1, 1);
    for (size_t i = 0; i < omega->n; i++)
        ck_assert(fabs((double)omega->data[i] - before[i]) > 0.01);
    tape_close(&tape);
    small_close(s);
    arena_free(mem);
}
END_TEST

START_TEST(fixed_tensors_stay_and_are_not_counted)
{
    Small *s = small_open(small_variant(VARIANTS - 1), B, T);
    const Tensor *omega = s->model.blocks[1].own[3];
    double *before = doubles(s->mem, omega->data, omega->n);
    Tape tape = tape_open(1);
    Optimiser a = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };
    size_t all = 0;

    for (const Param *p = s->model.params.first; p; p = p->next)
        all += p->tensor->n;
    ck_assert_uint_eq(all - params_count(&s->model.params), 2 * omega->n);
    optimiser_init(&a, &s->model.params, s->mem);
    for (int step = 0; step < 3; step++) {
        small_learn(s, &tape, 1);
        ck_assert(!omega->has_grad);
        optimiser_step(&a, tape.pool, 0.1, 1);
    }
    for (size_t i = 0; i < omega->n; i++)
        ck_assert((double)omega->data[i] == before[i]);
    tape_close(&tape);
    small_close(s);
}
END_TEST

Suite *suite_omega(void)
{
    Suite *s = suite_create("omega");
    TCase *t = group(s, "omega");

    tcase_add_test(t, directions_of_a_block_are_orthogonal_and_of_the_length_of_normal_rows);
    tcase_add_test(t, directions_are_distributed_like_normal_rows);
    tcase_add_test(t, the_length_of_a_row_says_nothing_about_its_direction);
    tcase_add_test(t, omega_is_drawn_by_the_seed_and_for_each_layer);
    tcase_add_test(t, omega_is_redrawn_by_the_seed_and_the_update_alone);
    tcase_add_test(t, a_learned_omega_starts_like_a_fixed_one_and_is_trained);
    tcase_add_test(t, fixed_tensors_stay_and_are_not_counted);
    return s;
}
