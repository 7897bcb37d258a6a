/* What every source of batches promises: which rows are drawn, and which are held back. */
#include "ops/base/arena.h"
#include "ops/base/error.h"
#include "tests/rows.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 64, B = 6, TOKENS = 3000, MASK = 4 };

/* One of each kind, over data of its own. */
typedef struct {
    Arena *mem;
    RowSource mqar, listops;
    LabelSource labels;
    LabelRows train, held_back;
    TextSource text, shuffled, masked, monotonous;
    ClassSource classes;
} Sources;

typedef struct {
    const char *name;
    size_t at;   /* in Sources */
    bool by_lot; /* held-back rows are drawn, too */
} Kind;

#define KIND(name, ...)                                                                            \
    {                                                                                              \
#name, offsetof(Sources, name), __VA_ARGS__                                                \
    }
static const Kind kinds[] = {
    KIND(mqar, true),      KIND(listops, true), KIND(labels, false),     KIND(text, false),
    KIND(shuffled, false), KIND(masked, false), KIND(monotonous, false), KIND(classes, false),
};

static Source *source_in(Sources *s, int kind)
{
    return (Source *)((char *)s + kinds[kind].at);
}

static Tokens letters(Arena *mem, uint64_t seed, uint64_t alphabet)
{
    Tokens text = { .at = arena_take(mem, TOKENS * sizeof(Token)), .n = TOKENS, .bytes = TOKENS };

    for (size_t i = 0; i < TOKENS; i++)
        text.at[i] = (Token)random_below(random_stream(seed, RANDOM_TEST, 0), i, alphabet);
    return text;
}

/* Rows of one text each, of no two the same. */
static LabelRows labelled(int first, int n)
{
    static const char *const sound[] = { "baa", "moo", "meow" };
    Tokenizer *bytes = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    char *text = xmalloc((size_t)n * 32 + 1);
    size_t end = 0;

    for (int i = first; i < first + n; i++)
        end += (size_t)sprintf(text + end, "%s\tnumber %d\n", sound[i % 3], i);
    LabelledTexts all = labelled_parse("sounds", (unsigned char *)text, end);
    Labels labels = labels_of(&all);
    const LabelRows rows = label_rows(&all, &labels, bytes);
    labels_free(&labels);
    labelled_free(&all);
    tokenizer_free(bytes);
    return rows;
}

static Sources *sources_open(void)
{
    Arena *mem = arena_new();
    Sources *s = arena_zeros(mem, sizeof *s);
    const Config three = { .classes = 3 };

    s->mem = mem;
    s->mqar = source_rows(task_named("mqar"), (SyntheticShape){ .symbols = 64, .items = 5 });
    s->listops = source_rows(task_named("listops"), (SyntheticShape){ .least = 8 });
    s->train = labelled(0, 300), s->held_back = labelled(1000, 50);
    s->labels = source_labels(&s->train, &s->held_back, &three);
    s->text = source_text(letters(mem, 1, MASK), letters(mem, 2, MASK), T, -1);
    s->shuffled = s->text, s->shuffled.shuffled = true;
    s->masked = source_text(s->text.train, s->text.validation, T, MASK);
    s->masked.masking.share = 0.15;
    s->monotonous = source_text(letters(mem, 1, 1), letters(mem, 1, 1), T, MASK);
    s->monotonous.masking.share = 0.15;
    s->classes.n = 2;
    for (int i = 0; i < 2; i++) {
        s->classes.train[i] = letters(mem, 3 + (uint64_t)i, 4);
        s->classes.validation[i] = letters(mem, 5 + (uint64_t)i, 4);
    }
    source_classes(&s->classes, T);
    return s;
}

static void sources_close(Sources *s)
{
    label_rows_free(&s->train), label_rows_free(&s->held_back);
    arena_free(s->mem);
}

static Batch batch_for(Sources *s, const Source *source)
{
    return source_shape(source_batch(source, s->mem, B * T), B, T);
}

static Batch filled(Sources *s, Source *source, uint64_t seed, uint64_t number)
{
    Batch batch = batch_for(s, source);

    source->seed = seed;
    source->batch(source, number, batch);
    return batch;
}

/* Padding included: it is token 0, or what the source left there. */
static bool same_batch(Batch a, Batch b)
{
    const size_t tokens = (size_t)a.B * (size_t)a.T;

    return memcmp(a.id, b.id, tokens * sizeof *a.id) == 0 &&
           memcmp(a.target, b.target, (size_t)(a.B * batch_targets(a)) * sizeof *a.target) == 0 &&
           (!a.length || memcmp(a.length, b.length, (size_t)a.B * sizeof *a.length) == 0);
}

START_TEST(a_batch_depends_on_its_seed_and_its_number)
{
    Sources *s = sources_open();
    Source *source = source_in(s, _i);
    const Batch batch = filled(s, source, 1, 3);

    ck_assert_msg(!same_batch(batch, filled(s, source, 1, 4)), "%s", kinds[_i].name);
    ck_assert_msg(!same_batch(batch, filled(s, source, 2, 3)), "%s", kinds[_i].name);
    ck_assert_msg(same_batch(batch, filled(s, source, 1, 3)), "%s", kinds[_i].name);
    for (int b = 0; b < B; b++)
        for (int other = 0; other < b; other++)
            ck_assert_msg(!same_batch(batch_row(batch, b), batch_row(batch, other)), "%s: %d, %d",
                          kinds[_i].name, other, b);
    sources_close(s);
}
END_TEST

START_TEST(held_back_rows_are_the_same_in_every_run)
{
    enum { SEEDS = 40 };
    Sources *s = sources_open();
    Source *source = source_in(s, _i);
    Batch row[B], again = batch_row(batch_for(s, source), 0);

    ck_assert_uint_ge(source->rows(source, T), B);
    for (int k = 0; k < B; k++) {
        row[k] = batch_row(batch_for(s, source), 0);
        source->seed = 1, source->row(source, (size_t)k, row[k]);
        source->seed = 2, source->row(source, (size_t)k, again);
        ck_assert_msg(same_batch(row[k], again), "%s: %d", kinds[_i].name, k);
        for (int other = 0; other < k; other++)
            ck_assert_msg(!same_batch(row[k], row[other]), "%s: %d, %d", kinds[_i].name, other, k);
    }
    for (uint64_t seed = 0; kinds[_i].by_lot && seed < SEEDS; seed++) {
        const Batch batch = filled(s, source, seed / 4, seed % 4);

        for (int i = 0; i < B * B; i++)
            ck_assert_msg(!same_batch(row[i % B], batch_row(batch, i / B)), "%s: %d",
                          kinds[_i].name, i % B);
    }
    sources_close(s);
}
END_TEST

START_TEST(rows_of_a_task_are_as_long_as_the_batch)
{
    enum { ITEMS = 5 };
    Sources *s = sources_open();

    for (int length = 32; length <= T; length *= 2) {
        const Batch batch =
            source_shape(source_batch(&s->mqar.source, s->mem, B * length), B, length);
        int asked = 0, last = 0;

        s->mqar.source.batch(&s->mqar.source, 1, batch);
        ck_assert_ptr_null(batch.length);
        for (int i = 0; i < B * length; i++)
            if (batch.target[i] >= 0)
                asked++, last = i % length > last ? i % length : last;
        ck_assert_int_eq(asked, B * ITEMS);
        ck_assert_int_gt(last, length / 2);
    }
    sources_close(s);
}
END_TEST

START_TEST(a_row_with_a_class_has_its_length_and_no_other_target)
{
    Sources *s = sources_open();
    Rows drawn = rows_open("listops", (SyntheticShape){ .T = T, .least = 8 });
    const Random r = random_stream(7, RANDOM_BATCH, 2);
    const Batch batch = filled(s, &s->listops.source, 7, 2);

    ck_assert(batch.whole);
    for (int b = 0; b < B; b++) {
        const Batch row = batch_row(batch, b);
        const int n = synthetic_draw(drawn.task, drawn.s, synthetic_row(r, (uint64_t)b), drawn.id,
                                     drawn.target);

        ck_assert_int_eq(row.length[0], n);
        ck_assert_int_gt(n, 8);
        ck_assert_int_eq(row.target[0], drawn.target[0]);
        ck_assert_mem_eq(row.id, drawn.id, T * sizeof *row.id);
    }
    rows_close(&drawn);
    sources_close(s);
}
END_TEST

/* Values are the upper half of an alphabet that grows with the trained length. */
START_TEST(shorter_rows_have_the_alphabet_of_the_trained_length)
{
    Sources *s = sources_open();
    RowSource mqar = source_rows(task_named("mqar"), (SyntheticShape){ .T = 8 * T });
    const Batch batch = filled(s, &mqar.source, 7, 2);
    int asked = 0;

    for (int t = 0; t < B * T; t++)
        if (batch.target[t] >= 0) {
            ck_assert_int_ge(batch.target[t], 8 * T);
            asked++;
        }
    ck_assert_int_gt(asked, 0);
    sources_close(s);
}
END_TEST

/* Fuzzy recall is tested with longer keys than those it is learned from. */
START_TEST(a_held_back_row_is_drawn_as_a_test)
{
    Sources *s = sources_open();
    Rows drawn = rows_open("fuzzy-recall", (SyntheticShape){ .T = T });
    RowSource fuzzy = source_rows(drawn.task, (SyntheticShape){ .T = T });
    const Batch batch = filled(s, &fuzzy.source, 7, 2),
                row = batch_row(batch_for(s, &fuzzy.source), 0);

    drawn.r = random_stream(7, RANDOM_BATCH, 2);
    for (int b = 0; b < B; b++) {
        next_row(&drawn);
        ck_assert_mem_eq(batch_row(batch, b).id, drawn.id, T * sizeof *drawn.id);
    }
    drawn.r = random_stream(0, RANDOM_HELD_BACK, 0), drawn.drawn = 0, drawn.s.test = true;
    for (int k = 0; k < B; k++) {
        next_row(&drawn);
        fuzzy.source.row(&fuzzy.source, (size_t)k, row);
        ck_assert_mem_eq(row.id, drawn.id, T * sizeof *drawn.id);
        ck_assert_mem_eq(row.target, drawn.target, T * sizeof *drawn.target);
    }
    rows_close(&drawn);
    sources_close(s);
}
END_TEST

/* Two bytes a token to train on, four of them to validate with. */
START_TEST(a_loss_in_bits_is_that_of_the_bytes_of_its_text)
{
    Sources *s = sources_open();
    Tokens train = letters(s->mem, 1, MASK), held_back = letters(s->mem, 2, MASK);

    train.bytes = 2 * TOKENS, held_back.bytes = 4 * TOKENS;
    const TextSource text = source_text(train, held_back, T, -1);
    ck_assert_double_eq_tol(source_bits(&text.source, false, log(2)), 1.0 / 2, 1e-12);
    ck_assert_double_eq_tol(source_bits(&text.source, true, log(8)), 3.0 / 4, 1e-12);
    ck_assert(isnan(source_bits(&s->masked.source, true, 1)));
    sources_close(s);
}
END_TEST

Suite *suite_sources(void)
{
    Suite *s = suite_create("sources");
    TCase *t = group(s, "rows");

    tcase_add_loop_test(t, a_batch_depends_on_its_seed_and_its_number, 0, COUNT(kinds));
    tcase_add_loop_test(t, held_back_rows_are_the_same_in_every_run, 0, COUNT(kinds));
    tcase_add_test(t, a_loss_in_bits_is_that_of_the_bytes_of_its_text);
    tcase_add_test(t, rows_of_a_task_are_as_long_as_the_batch);
    tcase_add_test(t, a_row_with_a_class_has_its_length_and_no_other_target);
    tcase_add_test(t, a_held_back_row_is_drawn_as_a_test);
    tcase_add_test(t, shorter_rows_have_the_alphabet_of_the_trained_length);
    return s;
}
