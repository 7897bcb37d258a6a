/* The training loop: what a run does, leaves behind, and resumes from. */
#include "data/corpus.h"
#include "data/masking.h"
#include "data/stories.h"
#include "model/checkpoint.h"
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/job.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What train() promises, written down once more. */
static void train_by_hand(Model *model, Tokens text, Arena *mem)
{
    enum { N = 3 * 16 };
    const bool masked = model->config.task == TASK_MLM;
    const TrainOptions *o = &job.options;
    Optimiser a = o->optimiser;
    int id[N], target[N];
    real dy[N];
    int clipped = 0;
    Tape tape = tape_open(2);

    optimiser_init(&a, &model->params, mem);
    for (int i = 0; i < N; i++)
        dy[i] = R(1.0 / (masked ? 3 * 2 : N) / 2);
    for (int step = 1; step <= o->steps; step++) {
        for (uint64_t number = 2 * (uint64_t)step - 2; number < 2 * (uint64_t)step; number++) {
            Batch b = { .B = 3, .T = 16, .id = id, .target = target };

            tokens_batch(text, job.seed, number, b);
            if (masked)
                masking_apply(b, 128, (Masking){ 0 }, job.seed, number);
            tape_reset(&tape);
            tape_backward(&tape, model_losses(&tape, model, b, number), dy);
        }
        double norm = gradient_norm(tape.pool, mem, &model->params);
        double scale = fmin(1, o->clip / norm);
        ck_assert_double_le(scale * norm, fmin(norm, o->clip) * (1 + 1e-6));
        optimiser_step(&a, tape.pool, schedule_rate(&o->schedule, step), scale);
        clipped += scale < 1;
    }
    ck_assert(clipped > 0 && clipped < o->steps);
    tape_close(&tape);
}

START_TEST(a_run_is_batches_clipped_gradients_and_adamw)
{
    Arena *mem = arena_new();
    Model by_hand;

    job.config.dropout = 0.1;
    if (_i == TASK_MLM)
        job.config.task = TASK_MLM, job.config.vocab = 129, job.options.clip = 1.5;
    TextSource lesson = lesson_open();
    check_trains();
    model_init(&by_hand, job.config, mem, job.seed);
    train_by_hand(&by_hand, lesson.train, mem);
    const Model trained = model_of("model.safetensors", mem);
    ck_assert(same_parameters(&trained, &by_hand));
    lesson_close(&lesson);
    arena_free(mem);
}
END_TEST

START_TEST(a_run_leaves_the_same_weights_again_and_with_any_threads)
{
    static const int threads[] = { 1, 2, 3, 7 };
    Weights first = trained_weights(1);

    for (int t = 0; t < COUNT(threads); t++) {
        Weights w = trained_weights(threads[t]);

        check_same_files(&w, &first, "the same run");
        weights_free(w);
    }
    weights_free(first);
}
END_TEST

/* Mechanisms with parameters, states and frames of their own; each with another optimiser. */
static void choose_model(int i)
{
    const OptimiserKind *kind = optimisers[i % 4];

    job.options.optimiser = (Optimiser){ .kind = kind, .hyper = kind->defaults };

    static const char *const name[] = { "softmax", "cosformer", "gau", "performer", "fastformer" };

    job.config.attention = attention_find(name[i]);
    job.config.set = settings_default(job.config.attention);
    if (i == 3)
        small_set(&job.config, "redraw", "7");
    job.config.position = POSITION_NONE;
    job.config.heads = i == 2 ? 1 : 2;
    job.config.dropout = 0.1;
    job.shuffled = i == 1;
    job.options.optimiser.hyper.ema = i == 2 || i == 4 ? 0.8 : 0;
}

/*
 * Cut after these steps; 4 and 8 are those with an evaluation, whose first is the best of both. The
 * first model is cut in every way, the others in some.
 */
START_TEST(an_interrupted_run_ends_like_an_uninterrupted_one)
{
    static const int cuts[][3] = { { 1 }, { 4 }, { 7 }, { 9 }, { 2, 3 }, { 4, 8 }, { 1, 7, 8 } };

    choose_model(_i);
    const Weights whole = trained_weights(1);
    for (int c = 0; c < COUNT(cuts); c++) {
        char what[64];

        if (_i && c % 4 != _i - 1)
            continue;
        job.resume = false;
        for (int i = 0; i < 3 && cuts[c][i]; i++) {
            job.options.stop_at = cuts[c][i];
            check_trains();
            job.resume = true;
        }
        job.options.stop_at = 0;
        const Weights w = trained_weights(2);
        snprintf(what, sizeof what, "model %d, cut after step %d", _i, cuts[c][0]);
        check_same_files(&w, &whole, what);
        weights_free(w);
    }
    weights_free(whole);
}
END_TEST

START_TEST(omega_is_redrawn_before_the_update_after_every_nth)
{
    Arena *mem = arena_new();
    Model other;

    choose_model(3);
    model_init(&other, job.config, mem, job.seed);
    for (int steps = 7; steps <= 8; steps++) {
        job.options.steps = steps;
        check_trains();
        const Model trained = model_of("model.safetensors", mem);
        model_redraw(&other, job.seed, steps - 1);
        const Tensor *omega = other.blocks[1].own[3];
        ck_assert(same_bits(trained.blocks[1].own[3]->data, omega->data, omega->n));
    }
    arena_free(mem);
}
END_TEST

START_TEST(a_complete_run_can_be_extended)
{
    const Weights whole = trained_weights(1);

    job.options.steps = 7; /* the schedule is still that of 10 */
    check_trains();
    job.options.steps = 10, job.resume = true;
    const Weights longer = trained_weights(1);
    check_same_files(&longer, &whole, "7 steps and 3 more");
    const Weights again = trained_weights(1); /* nothing is left to do */
    check_same_files(&again, &whole, "and none");
    size_t n;
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    ck_assert_ptr_nonnull(strstr(log, "\"step\":7,\"split\":\"val\"")); /* the lowest then */
    for (int i = 0; i < 2; i++) {                                       /* each once */
        const char *last = i ? "\"final\"" : "\"step\":10,\"split\":\"val\"";
        const char *end = strstr(log, last);

        ck_assert(end && !strstr(end + 1, last));
    }
    free(log);
    weights_free(whole), weights_free(longer), weights_free(again);
}
END_TEST

START_TEST(the_final_weights_may_be_the_best)
{
    Arena *mem = arena_new();

    for (int i = 0; i < 4; i++) { /* before an evaluation is due, and after one */
        const int steps = i % 2 ? 6 : 3;

        job.options.steps = steps;
        job.options.optimiser.hyper.ema = i < 2 ? 0 : 0.8; /* both are the averages */
        check_trains();
        const Model last = model_of("model.safetensors", mem),
                    best = model_of("best.safetensors", mem);
        ck_assert(same_parameters(&last, &best));
        Safetensors *file = safetensors_read(in_folder("model.safetensors"));
        ck_assert_str_eq(safetensors_meta(file, "attnc.best_step"), steps < 4 ? "0" : "4");
        safetensors_free(file);
    }
    arena_free(mem);
}
END_TEST

/* Those of step 6, where no evaluation is due; at this rate all later ones are worse. */
START_TEST(the_best_weights_stay_if_the_run_continues)
{
    size_t n, m;

    job.options.steps = 6;
    check_trains();
    job.options.schedule.rate = 3, job.options.schedule.least = 1;
    unsigned char *best = file_read(in_folder("best.safetensors"), &n);
    for (int steps = 8; steps <= 10; steps++) {
        job.options.steps = steps, job.resume = true;
        check_trains();
        check_file(in_folder("best.safetensors"), best, n);
        char *log = (char *)file_read(in_folder("log.jsonl"), &m);
        ck_assert_ptr_nonnull(strstr(log, "\"step\":6,\"split\":\"val\""));
        free(log);
    }
    free(best);
}
END_TEST

/* As after a crash between the two files: step 8 comes again, and need not be the same. */
START_TEST(best_weights_of_a_later_step_do_not_count)
{
    size_t n, m;

    job.options.stop_at = 4;
    check_trains();
    unsigned char *last = file_read(in_folder("model.safetensors"), &n);
    job.options.stop_at = 9, job.resume = true;
    check_trains();
    put(in_folder("model.safetensors"), last, n);
    job.options.stop_at = 5;
    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &m);
    ck_assert_ptr_nonnull(strstr(log, "\"step\":4,\"split\":\"val\""));
    ck_assert_ptr_null(strstr(log, "\"step\":8,"));
    free(log);
    job.options.stop_at = 9;
    job.options.schedule.warmup = 9; /* other weights at step 8, better than those of 4 */
    check_trains();
    Safetensors *best = safetensors_read(in_folder("best.safetensors"));
    Safetensors *now = safetensors_read(in_folder("model.safetensors"));
    ck_assert_str_eq(safetensors_meta(best, "attnc.best_val_loss"),
                     safetensors_meta(now, "attnc.best_val_loss"));
    safetensors_free(best), safetensors_free(now);
    free(last);
}
END_TEST

static void put_more(const char *path, const char *text)
{
    FILE *out = fopen(path, "a");

    ck_assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

START_TEST(the_log_of_an_interrupted_run_has_every_step_once)
{
    static const char *const cut[] = { "\"step\":0,\"split\":\"start\"",
                                       "\"step\":1,",
                                       "\"step\":3,",
                                       "\"step\":4,",
                                       "\"step\":5,",
                                       "\"step\":5,\"split\":\"start\"",
                                       "\"step\":6,",
                                       "\"step\":8,",
                                       "\"step\":9,",
                                       "\"step\":10,",
                                       "\"step\":10,",
                                       "\"final\"" };
    int lines = 0, peaks = 0;
    size_t n;

    job.options.stop_at = 5;
    check_trains();
    put_more(in_folder("log.jsonl"),
             "{\"step\":6,\"split\":\"train\",\"loss\":9}\n{\"step\":7,\"sp");
    job.options.stop_at = 0, job.resume = true;
    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        ck_assert_int_lt(lines, COUNT(cut));
        ck_assert_msg(strstr(line, cut[lines]) != NULL, "line %d: %s", lines, line);
        ck_assert_ptr_null(strstr(line, "\"loss\":9}"));
        ck_assert_msg(line[strlen(line) - 1] == '}', "line %d: %s", lines, line);
        peaks += strstr(line, "peak_memory") != NULL;
    }
    ck_assert_int_eq(peaks, 2);
    ck_assert_int_eq(lines, COUNT(cut));
    free(log);
}
END_TEST

START_TEST(every_batch_has_one_of_the_lengths_and_as_many_tokens)
{
    static const int length[] = { 4, 8, 16 };

    job.options.length = length, job.options.lengths = 3;
    const Weights mixed = trained_weights(1), again = trained_weights(2);
    check_same_files(&again, &mixed, "lengths, drawn again");
    job.options.lengths = 1;
    const Weights shorter = trained_weights(1);
    ck_assert(memcmp(mixed.at[0], shorter.at[0], mixed.n[0]) != 0);
    job.options.length = length + 2;
    const Weights one = trained_weights(1);
    job.options.lengths = 0;
    const Weights plain = trained_weights(1);
    check_same_files(&one, &plain, "the context as the only length");
    weights_free(mixed), weights_free(again), weights_free(shorter), weights_free(one),
        weights_free(plain);
}
END_TEST

START_TEST(every_length_is_as_frequent)
{
    static const int length[] = { 4, 8, 16 };
    const TrainOptions o = { .length = length, .lengths = 3, .batch = 2, .steps = 3000 };
    int n[3] = { 0 };

    for (uint64_t k = 0; k < 3000; k++) {
        const int T = batches_length(&o, 16, 5, k);

        ck_assert(T == 4 || T == 8 || T == 16);
        n[T / 8]++;
    }
    for (int i = 0; i < 3; i++)
        ck_assert_msg(abs(n[i] - 1000) < 150, "%d times %d", n[i], length[i]);
}
END_TEST

START_TEST(batches_may_grow_in_number_and_length)
{
    static const int size[] = { 1, 2, 3 }, length[] = { 4, 8, 16 }, stop_at[] = { 4, 7, 0 };
    TrainOptions *o = &job.options;

    o->eval_iters = 0; /* the same rows with any size of a batch */
    o->size = size, o->sizes = 3;
    o->length = length, o->lengths = 3, o->in_turn = true;
    const Weights staged = trained_weights(1);
    o->sizes = 0, o->lengths = 1;
    for (int i = 0; i < 3; i++) {
        o->batch = size[i], o->length = length + i, o->stop_at = stop_at[i], job.resume = i > 0;
        check_trains();
    }
    const Weights parts = trained_weights(1);
    check_same_files(&parts, &staged, "a run of each part");
    weights_free(staged), weights_free(parts);
}
END_TEST

START_TEST(the_tokens_of_a_run_are_those_of_its_updates)
{
    static const int size[] = { 1, 2, 4 }, of_step[] = { 1, 1, 1, 1, 2, 2, 2, 4, 4, 4 };
    const TrainOptions plain = { .batch = 5, .accumulation = 2, .steps = 10 };
    TrainOptions growing = plain;
    double sum = 0;

    growing.size = size, growing.sizes = 3;
    for (int step = 0; step <= 10; step++) {
        ck_assert_double_eq(batches_tokens(&plain, 8, step), 5 * 2 * 8 * step);
        ck_assert_double_eq(batches_tokens(&growing, 8, step), sum * 2 * 8);
        sum += step < 10 ? of_step[step] : 0;
    }
    ck_assert_double_eq(batches_until(&plain, 8, (Spent){ 0 }, 3), 5 * 2 * 8 * 3);
    ck_assert_double_eq(batches_until(&plain, 8, (Spent){ 2, 1000, 0 }, 3), 1000 + 5 * 2 * 8);
    ck_assert_double_eq(batches_growth(&plain, 3), 1);
    ck_assert_double_eq(batches_growth(&growing, 0), 2.2);
    ck_assert_double_eq(batches_growth(&growing, 7), 1);
    ck_assert_double_eq(batches_growth(&growing, 10), 1);
}
END_TEST

START_TEST(checkpoints_record_their_validation_loss)
{
    static const char *const name[] = { "model.safetensors", "best.safetensors" };
    static const char *const key[] = { "attnc.val_loss", "attnc.best_val_loss" };
    static const char *const step[] = { "10", "10" };
    TextSource lesson = lesson_open();
    Arena *mem = arena_new();

    check_trains(); /* before there are threads: its process would inherit their locks */
    Tape tape = tape_open(2);
    for (int i = 0; i < 2; i++) {
        const Model model = model_of(name[i], mem);
        Safetensors *file = safetensors_read(in_folder(name[i]));
        double loss =
            evaluate(&tape, &model,
                     (Reading){ .source = &lesson.source, .B = 3, .rows = i == 0 ? 0 : 6 })
                .loss;

        ck_assert_double_eq(atof(safetensors_meta(file, key[i])), loss);
        ck_assert_str_eq(safetensors_meta(file, "attnc.step"), step[i]);
        safetensors_free(file);
    }
    tape_close(&tape);
    arena_free(mem);
    lesson_close(&lesson);
}
END_TEST

/* Passes `"key":` if it comes next, and gives back where the value starts; NULL if it does not. */
static const char *key_at(const char *at, char key[20])
{
    int n = 0;

    return sscanf(at, "\"%19[a-z_]\":%n", key, &n) == 1 && n ? at + n : NULL;
}

/* The end of "2026-11-23T05:17:26.123Z", which is about now. */
static char *time_at(const char *value)
{
    struct tm tm = { .tm_isdst = 0 };
    int n = 0, thousandths;

    ck_assert_int_eq(sscanf(value, "\"%4d-%2d-%2dT%2d:%2d:%2d.%3dZ\"%n", &tm.tm_year, &tm.tm_mon,
                            &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &thousandths, &n),
                     7);
    ck_assert_int_eq(n, 26);
    tm.tm_year -= 1900, tm.tm_mon--;
    setenv("TZ", "UTC", 1);
    ck_assert_double_eq_tol(difftime(mktime(&tm), time(NULL)), 0, 60);
    return (char *)(uintptr_t)value + n;
}

/* {"step":3,"split":"train",...}, all other values finite numbers; returns the fields. */
static int fields_of(const char *line)
{
    char key[20], split[8];
    int n = 0, step, fields = 2;

    ck_assert_int_eq(sscanf(line, "{\"step\":%d,\"split\":\"%7[a-z]\"%n", &step, split, &n), 2);
    ck_assert(!strcmp(split, "train") || !strcmp(split, "val") || !strcmp(split, "final"));
    for (line += n; *line == ','; fields++) {
        char *end;
        const char *value = key_at(line + 1, key);

        ck_assert_ptr_nonnull(value);
        if (strcmp(key, "time") == 0)
            end = time_at(value);
        else
            ck_assert(isfinite(strtod(value, &end)) && end > value);
        line = end;
    }
    ck_assert_str_eq(line, "}");
    return fields;
}

START_TEST(every_line_of_the_log_is_a_json_object)
{
    size_t n;
    int lines = 0;

    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    ck_assert(n > 0 && log[n - 1] == '\n');
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        if (lines++ == 0) {
            ck_assert_ptr_nonnull(strstr(line, "Z\",\"run\":{\"command\":\"{\"}}"));
            continue;
        }
        const bool last = strstr(line, "\"final\"");
        ck_assert_int_eq(fields_of(line), strstr(line, "\"train\"") ? 11 : 8 + last);
        ck_assert_int_eq(strstr(line, ",\"peak_memory\":") != NULL, last);
    }
    ck_assert_int_eq(
        lines, 1 + 5 + 4); /* the start; steps 1, 3, 6, 9, 10; after 4, 8, 10, and of all rows */
    ck_assert_int_eq(files(false), 5); /* text, log, the last two weights and the best */
    free(log);
}
END_TEST

START_TEST(the_log_of_a_masked_run_has_accuracy_but_no_bits_per_byte)
{
    size_t n;

    job.config.task = TASK_MLM, job.config.vocab = 129;
    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        bool validation = !strstr(line, "\"train\"");

        if (strstr(line, "\"start\""))
            continue;
        ck_assert_int_eq(fields_of(line), validation ? 8 + !!strstr(line, "\"final\"") : 10);
        ck_assert_int_eq(strstr(line, "\"accuracy\"") != NULL, validation);
        ck_assert_ptr_null(strstr(line, "bits_per_byte"));
    }
    ck_assert_ptr_nonnull(strstr(said, "accuracy "));
    ck_assert_ptr_null(strstr(said, "bits/byte"));
    free(log);
}
END_TEST

START_TEST(a_run_that_diverges_before_it_is_evaluated_leaves_no_weights)
{
    job.options.schedule.rate = in_double ? 1e300 : 1e30;
    job.options.schedule.warmup = 0;
    job.options.eval_interval = 100;
    ck_assert_int_eq(exit_code_of(do_job, folder), EXIT_FAILED);
    ck_assert_int_eq(files(false), 2); /* text and log */
}
END_TEST

START_TEST(a_run_that_diverges_later_leaves_finite_weights)
{
    Arena *mem = arena_new();

    job.options.schedule =
        (Schedule){ .rate = 1e-3, .least = in_double ? 1e300 : 1e30, .warmup = 4, .decay = 4 };
    job.options.eval_interval = 1;
    ck_assert_int_eq(exit_code_of(do_job, folder), EXIT_FAILED);
    Model best = model_of("best.safetensors", mem); /* dies if a number is not finite */
    for (const Param *p = best.params.first; p; p = p->next)
        ck_assert(all_finite(p->tensor->data, p->tensor->n));
    arena_free(mem);
}
END_TEST

START_TEST(non_finite_weights_are_not_saved)
{
    static const int save_interval[] = { 0, 1 };

    for (int i = 0; i < COUNT(save_interval); i++) {
        Arena *mem = arena_new();

        job.config.tied = 0;
        job.break_at = 11; /* in step 6, between two evaluations */
        job.options.save_seconds = 1e-9 * save_interval[i];
        ck_assert_int_eq(exit_code_of(do_job, folder), EXIT_FAILED);
        ck_assert_int_eq(saved_step(), i == 0 ? 4 : 5);
        Model best = model_of("best.safetensors", mem);
        ck_assert(all_finite(best.embedding->data, best.embedding->n));
        arena_free(mem);
    }
}
END_TEST

/* _i: whether the loss depends on it */
START_TEST(a_number_out_of_range_ends_a_run_or_stays_in_its_place)
{
    const real numbers[] = { R(NAN), R(INFINITY), -R(INFINITY), in_double ? R(1e300) : R(1e38) };

    job.config.tied = 0;
    job.break_at = 11; /* in step 6 */
    job.break_read = _i;
    job.options.save_seconds = 1e-9;
    for (int i = 0; i < COUNT(numbers); i++) {
        Arena *mem = arena_new();

        job.broken = numbers[i];
        const int code = exit_code_of(do_job, folder);
        if (!isfinite(numbers[i])) {
            ck_assert_int_eq(code, EXIT_FAILED);
            ck_assert_int_eq(saved_step(), 5);
        } else {
            ck_assert(code == 0 || code == EXIT_FAILED);
        }
        model_of("model.safetensors", mem); /* dies if a number is not finite */
        arena_free(mem);
    }
}
END_TEST

Suite *suite_training(void)
{
    Suite *s = suite_create("training");
    TCase *t = with_folder(s, "run");
    tcase_add_checked_fixture(t, job_open, NULL);
    tcase_add_loop_test(t, a_run_is_batches_clipped_gradients_and_adamw, TASK_CAUSAL, TASK_MLM + 1);
    tcase_add_test(t, a_run_leaves_the_same_weights_again_and_with_any_threads);
    tcase_add_loop_test(t, an_interrupted_run_ends_like_an_uninterrupted_one, 0, 5);
    tcase_add_test(t, omega_is_redrawn_before_the_update_after_every_nth);
    tcase_add_test(t, a_complete_run_can_be_extended);
    tcase_add_test(t, the_final_weights_may_be_the_best);
    tcase_add_test(t, the_best_weights_stay_if_the_run_continues);
    tcase_add_test(t, best_weights_of_a_later_step_do_not_count);
    tcase_add_test(t, the_log_of_an_interrupted_run_has_every_step_once);
    tcase_add_test(t, every_batch_has_one_of_the_lengths_and_as_many_tokens);
    tcase_add_test(t, every_length_is_as_frequent);
    tcase_add_test(t, batches_may_grow_in_number_and_length);
    tcase_add_test(t, the_tokens_of_a_run_are_those_of_its_updates);
    tcase_add_test(t, checkpoints_record_their_validation_loss);
    tcase_add_test(t, every_line_of_the_log_is_a_json_object);
    tcase_add_test(t, the_log_of_a_masked_run_has_accuracy_but_no_bits_per_byte);
    tcase_add_loop_test(t, a_number_out_of_range_ends_a_run_or_stays_in_its_place, 0, 2);
    tcase_add_test(t, a_run_that_diverges_before_it_is_evaluated_leaves_no_weights);
    tcase_add_test(t, a_run_that_diverges_later_leaves_finite_weights);
    tcase_add_test(t, non_finite_weights_are_not_saved);
    return s;
}
