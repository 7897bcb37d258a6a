/* A run as a file: whatever contradicts itself is refused, although its hashes are right. */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/hashes.h"
#include "tests/job.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Safetensors *file;

/* The checkpoint of a run of ten steps, to be changed. */
static void open_file(void)
{
    job_open();
    check_trains();
    file = safetensors_read(in_folder("model.safetensors"));
}

static Entry *entry(const char *name)
{
    return (Entry *)(uintptr_t)safetensors_find(file, name);
}

/* Writes the tables as they are, without `less` and with `more`, each unless it is NULL. */
static void write_file(const char *less, const Entry *more)
{
    Arena *mem = arena_new();
    Safetensors s = *file;

    s.entry = arena_take(mem, (size_t)(s.entries + 1) * sizeof *s.entry);
    s.meta = arena_take(mem, (size_t)(s.metas + 1) * sizeof *s.meta);
    memcpy(s.entry, file->entry, (size_t)s.entries * sizeof *s.entry);
    s.metas = 0;
    for (int i = 0; i < file->metas; i++)
        if (strcmp(file->meta[i].key, "format") != 0 &&
            (!less || strcmp(file->meta[i].key, less) != 0))
            s.meta[s.metas++] = file->meta[i];
    if (more) {
        s.entry[s.entries++] = *more;
        s.meta[s.metas++] = (Meta){ arena_format(mem, "attnc.hash.%s", more->name), "" };
    }
    hashes_renew(&s, mem);
    safetensors_write(in_folder("changed"),
                      (Contents){ s.entry, s.entries, s.meta, s.metas, NULL });
    arena_free(mem);
}

static void resume(const char *path)
{
    Saved *s = saved_read(path, false);
    Optimiser o = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };

    optimiser_init(&o, &s->model.params, s->mem);
    saved_optimiser(s, &o);
    saved_free(s);
}

static void resume_nothing(const char *path)
{
    saved_free(saved_read(path, false));
}

static void check_refused(const char *words)
{
    check_dies(resume, in_folder("changed"), EXIT_DATA, words);
}

/* The file with another value under that key. */
static void check_value_refused(const char *key, const char *value, const char *words)
{
    const char *before = safetensors_meta(file, key);

    ck_assert_msg(before != NULL, "%s", key);
    hashes_set(file, key, value);
    write_file(NULL, NULL);
    check_refused(words);
    hashes_set(file, key, before);
}

START_TEST(an_unchanged_checkpoint_is_accepted)
{
    open_file();
    write_file(NULL, NULL);
    resume(in_folder("changed"));
    safetensors_free(file);
}
END_TEST

START_TEST(progress_that_contradicts_itself_is_refused)
{
    static const char number[] = "not a number of steps", finite[] = "not a finite number",
                      order[] = "contradicts itself";
    static const char *const rows[][3] = {
        { "attnc.step", "", number },
        { "attnc.step", "-1", number },
        { "attnc.step", "1e1", number },
        { "attnc.step", "1000000001", number },
        { "attnc.bad", "+1", number },
        { "attnc.step", "9", order },
        { "attnc.updates", "11", order },
        { "attnc.bad", "1", order },
        { "attnc.evaluated", "11", order },
        { "attnc.evaluated", "0", order },
        { "attnc.best_step", "0", order },
        { "attnc.best_val_loss", "nan", finite },
        { "attnc.best_val_loss", "inf", finite },
        { "attnc.best_val_loss", "1e999", finite },
        { "attnc.best_val_loss", "", finite },
        { "attnc.best_val_loss", "2.5 ", finite },
        { "attnc.val_loss", "-nan", finite },
    };

    open_file();
    for (int i = 0; i < COUNT(rows); i++)
        check_value_refused(rows[i][0], rows[i][1], rows[i][2]);
    write_file("attnc.best_val_loss", NULL);
    check_refused(order);
    write_file("attnc.updates", NULL);
    check_refused("has no attnc.updates");
    safetensors_free(file);
}
END_TEST

/* Those of the step that was skipped, and of the losses before. */
START_TEST(lists_that_contradict_the_progress_are_refused)
{
    static const char number[] = "at most 128 finite numbers", order[] = "contradict its progress";
    static const char *const rows[][3] = {
        { "attnc.skipped", "six", number },
        { "attnc.skipped", "11", order },
        { "attnc.recent_losses", "1 nan", number },
        { "attnc.recent_losses", "1", order },
        { "attnc.recent_norms", "1 2 3 4 ", number },
        { "attnc.recent_norms", "1 2 3 4 5 6 7 8 -9", order },
    };

    job_open();
    job.skipped = 1 << 6, job.options.spike = 6;
    check_trains();
    file = safetensors_read(in_folder("model.safetensors"));
    ck_assert_str_eq(safetensors_meta(file, "attnc.skipped"), "6");
    for (int i = 0; i < COUNT(rows); i++)
        check_value_refused(rows[i][0], rows[i][1], rows[i][2]);
    write_file(NULL, NULL);
    resume(in_folder("changed"));
    safetensors_free(file);
}
END_TEST

START_TEST(a_checkpoint_without_a_loss_has_none)
{
    open_file();
    write_file("attnc.val_loss", NULL);
    Saved *s = saved_read(in_folder("changed"), false);
    ck_assert(isnan(s->progress.loss));
    ck_assert(isfinite(s->progress.best));
    saved_free(s);
    safetensors_free(file);
}
END_TEST

static void save_model(Config c, const Origin *origin)
{
    Small *s = small_open(c, 2, 5);
    const Progress progress = { .best = HUGE_VAL, .loss = (double)NAN };

    saved_write(in_folder("changed"), &s->model, NULL, progress, origin);
    small_close(s);
}

START_TEST(a_model_has_as_many_tokens_as_its_tokenizer)
{
    Config c = small_variant(0);
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });

    for (c.vocab = 255; c.vocab <= 257; c.vocab++) {
        save_model(c, &(Origin){ .task = "causal", .tokenizer = t });
        if (c.vocab == 256)
            ck_assert_int_eq(exit_code_of(resume_nothing, in_folder("changed")), 0);
        else
            check_dies(resume_nothing, in_folder("changed"), EXIT_DATA, "the tokenizer has 256");
    }
    tokenizer_free(t);
}
END_TEST

START_TEST(a_model_is_for_the_task_of_its_run)
{
    Config c = small_variant(0);
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });

    c.vocab = 256;
    for (int i = 0; task_names[i]; i++) {
        save_model(c, &(Origin){ .task = task_names[i], .tokenizer = t });
        if (i == c.task)
            ck_assert_int_eq(exit_code_of(resume_nothing, in_folder("changed")), 0);
        else
            check_dies(resume_nothing, in_folder("changed"), EXIT_DATA, "its model is for causal");
    }
    tokenizer_free(t);
}
END_TEST

static void read_labels(const char *path)
{
    saved_labels(saved_read(path, false));
}

START_TEST(a_classifier_has_as_many_labels_as_classes)
{
    static const int labels[] = { 0, 1, 2, 3, LABELS_MAX + 1 };
    Meta label[LABELS_MAX + 1];
    Arena *mem = arena_new();
    Config c = small_variant(0);
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });

    for (int i = 0; i < COUNT(label); i++)
        label[i] = (Meta){ arena_format(mem, "label.%d", i), "a" };
    c.vocab = 256, c.task = TASK_CLASSIFY, c.classes = 2;
    for (int i = 0; i < COUNT(labels); i++) {
        save_model(
            c,
            &(Origin){ .task = "classify", .tokenizer = t, .option = label, .options = labels[i] });
        if (labels[i] == 0 || labels[i] == 2) /* classes need no names */
            ck_assert_int_eq(exit_code_of(read_labels, in_folder("changed")), 0);
        else
            check_dies(read_labels, in_folder("changed"), EXIT_DATA, "labels, but 2 classes");
    }
    tokenizer_free(t);
    arena_free(mem);
}
END_TEST

START_TEST(names_of_options_may_have_any_length)
{
    char name[2][300];
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    Config c = small_variant(0);

    for (int i = 0; i < 2; i++) {
        memset(name[i], 'x', sizeof name[i]);
        name[i][sizeof name[i] - 1] = 0;
        name[i][sizeof name[i] - 2] = (char)('a' + i);
    }
    c.vocab = 256;
    save_model(c, &(Origin){ .task = "causal",
                             .tokenizer = t,
                             .option = (Meta[]){ { name[0], "1" }, { name[1], "2" } },
                             .options = 2 });
    Saved *s = saved_read(in_folder("changed"), false);
    const char *value = safetensors_meta(s->file, arena_format(s->mem, "attnc.option.%s", name[1]));
    ck_assert_ptr_nonnull(value);
    ck_assert_str_eq(value, "2");
    saved_free(s);
    tokenizer_free(t);
}
END_TEST

static void find_files(const char *path)
{
    int n;
    Saved *s = saved_read(path, false);

    free(saved_files(s, &n));
    saved_free(s);
}

/* A run is also told to read standard input, which is never looked for. */
START_TEST(texts_are_found_where_they_were)
{
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    Config c = small_variant(0);
    Meta name[] = { { "file.0", folder }, { "file.1", "-" } };
    Origin run = { .task = "causal", .tokenizer = t, .option = name, .options = COUNT(name) };
    int n;

    c.vocab = 256;
    save_model(c, &run);
    Saved *s = saved_read(in_folder("changed"), false);
    const char **found = saved_files(s, &n);
    ck_assert_int_eq(n, COUNT(name));
    for (int i = 0; i < n; i++)
        ck_assert_str_eq(found[i], name[i].value);
    free(found);
    saved_free(s);
    name[1].value = "nowhere";
    save_model(c, &run);
    check_dies(find_files, in_folder("changed"), EXIT_IO,
               "cannot open 'nowhere': No such file or directory; if it has moved, give the paths");
    tokenizer_free(t);
}
END_TEST

static void save_with_tokenizer(const char *task)
{
    Small *s = small_open(small_variant(0), 2, 5);
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    const Progress progress = { .best = HUGE_VAL, .loss = (double)NAN };

    saved_write(in_folder("changed"), &s->model, NULL, progress,
                &(Origin){ .task = task, .tokenizer = t });
    tokenizer_free(t);
    small_close(s);
}

START_TEST(a_task_of_text_needs_a_tokenizer_and_no_other_has_one)
{
    open_file();
    hashes_set(file, "attnc.data", "causal");
    write_file(NULL, NULL);
    check_refused("its task is causal, but it has no tokenizer");
    safetensors_free(file);
    save_with_tokenizer("mqar");
    check_refused("its task is mqar, but it has a tokenizer");
}
END_TEST

/* As one of another program beside a run: there is no progress in it, and no reason to stop. */
START_TEST(a_file_without_a_corpus_has_no_progress)
{
    Progress progress;

    open_file();
    write_file(NULL, NULL);
    ck_assert(saved_progress(in_folder("changed"),
                             strtoull(safetensors_meta(file, "attnc.corpus"), NULL, 16),
                             &progress));
    write_file("attnc.corpus", NULL);
    ck_assert(!saved_progress(in_folder("changed"), 0, &progress));
    safetensors_free(file);
}
END_TEST

START_TEST(a_tokenizer_of_tomorrow_is_refused)
{
    Config c = small_variant(0);
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });

    c.vocab = 256;
    save_model(c, &(Origin){ .task = "causal", .tokenizer = t });
    file = safetensors_read(in_folder("changed"));
    hashes_set(file, "attnc.tokenizer", "morse");
    write_file(NULL, NULL);
    check_dies(resume_nothing, in_folder("changed"), EXIT_DATA, "does not know its tokenizer");
    safetensors_free(file);
    tokenizer_free(t);
}
END_TEST

START_TEST(a_negative_second_moment_is_refused)
{
    static real numbers[1 << 16];

    open_file();
    Entry *v = entry("optimizer.v.embed"), *m = entry("optimizer.m.embed");
    ck_assert(v && m && m->bytes <= sizeof numbers);
    memcpy(numbers, m->data, m->bytes);
    numbers[3] = -1;
    m->data = numbers;
    write_file(NULL, NULL);
    resume(in_folder("changed"));
    v->data = numbers;
    write_file(NULL, NULL);
    check_refused("number 3 of optimizer.v.embed is negative");
    safetensors_free(file);
}
END_TEST

START_TEST(a_tensor_that_the_optimiser_does_not_know_is_refused)
{
    static const real one[1] = { 1 };
    Entry more = {
        "optimizer.w.embed", sizeof(real) == sizeof(float) ? DTYPE_F32 : DTYPE_F64, 1, { 1 }, one,
        sizeof one
    };

    open_file();
    write_file(NULL, &more);
    check_refused("has 1 tensor that adamw does not know");
    safetensors_free(file);
    file = safetensors_read(in_folder("changed"));
    more.name = "optimizer.w.head";
    write_file(NULL, &more);
    check_refused("has 2 tensors that adamw does not know");
    safetensors_free(file);
}
END_TEST

START_TEST(a_non_finite_tensor_is_named)
{
    Small *s = small_open(small_variant(0), 1, 4);
    Params *params = &s->model.params;
    Optimiser o = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };
    Moment moment[OPTIMISER_MOMENTS];
    Tensor *t = param_named(params, "blocks.1.attn.wo");

    optimiser_init(&o, params, s->mem);
    ck_assert_str_eq(saved_not_finite(&s->model, &o).at, "");
    t->data[t->n - 1] = R(NAN);
    ck_assert_str_eq(saved_not_finite(&s->model, &o).at, "blocks.1.attn.wo");
    t->data[t->n - 1] = 0;
    optimiser_moments(&o, params->first, moment);
    moment[1].at[0] = R(INFINITY);
    ck_assert_str_eq(saved_not_finite(&s->model, &o).at, "optimizer.v.embed");
    small_close(s);
}
END_TEST

Suite *suite_saved(void)
{
    Suite *s = suite_create("saved");
    TCase *t = with_folder(s, "saved");

    tcase_add_test(t, a_non_finite_tensor_is_named);
    tcase_add_test(t, an_unchanged_checkpoint_is_accepted);
    tcase_add_test(t, progress_that_contradicts_itself_is_refused);
    tcase_add_test(t, a_task_of_text_needs_a_tokenizer_and_no_other_has_one);
    tcase_add_test(t, a_file_without_a_corpus_has_no_progress);
    tcase_add_test(t, a_tokenizer_of_tomorrow_is_refused);
    tcase_add_test(t, lists_that_contradict_the_progress_are_refused);
    tcase_add_test(t, a_checkpoint_without_a_loss_has_none);
    tcase_add_test(t, a_model_has_as_many_tokens_as_its_tokenizer);
    tcase_add_test(t, a_model_is_for_the_task_of_its_run);
    tcase_add_test(t, a_classifier_has_as_many_labels_as_classes);
    tcase_add_test(t, texts_are_found_where_they_were);
    tcase_add_test(t, names_of_options_may_have_any_length);
    tcase_add_test(t, a_negative_second_moment_is_refused);
    tcase_add_test(t, a_tensor_that_the_optimiser_does_not_know_is_refused);
    return s;
}
