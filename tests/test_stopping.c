/* How runs end, are continued, and what they leave when they are cut short. */
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/job.h"
#include "tests/screen.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/evaluate.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the middle of step 8: the last checkpoint is that of the evaluation, or of the step before. */
START_TEST(a_killed_run_resumes_from_its_last_checkpoint)
{
    const Weights whole = trained_weights(1);

    for (int often = 0; often < 2; often++) {
        job.options.save_seconds = often ? 1e-9 : 1e9;
        job.kill_at = 2 * 7 + 1, job.resume = false;
        ck_assert_int_eq(exit_code_of(do_job, folder), -SIGKILL);
        ck_assert_int_eq(saved_step(), often ? 7 : 4);
        ck_assert_int_eq(access(in_folder(".lock"), F_OK), 0); /* it was held until then */
        job.kill_at = 0, job.resume = true;
        const Weights w = trained_weights(1);
        check_same_files(&w, &whole, "killed");
        weights_free(w);
    }
    weights_free(whole);
}
END_TEST

/* Between the two batches of step 8, or of the first one. */
START_TEST(an_interrupted_step_is_repeated_on_resuming)
{
    const Weights whole = trained_weights(1);

    job.ask_at = 2 * 7, job.options.save_seconds = 1e9;
    check_trains();
    ck_assert_int_eq(saved_step(), 7);
    job.ask_at = 0, job.resume = true;
    const Weights w = trained_weights(1);
    check_same_files(&w, &whole, "interrupted in a step");
    weights_free(w), weights_free(whole);
    files(true);
    job_open();
    job.stop = SIGTERM;
    check_trains();
    ck_assert_int_eq(files(false), 2); /* text and log */
}
END_TEST

static void check_meta(const char *name, const char *key, const char *value)
{
    Safetensors *file = safetensors_read(in_folder(name));

    ck_assert_str_eq(safetensors_meta(file, key), value);
    safetensors_free(file);
}

static void check_saved(const char *key, const char *value)
{
    check_meta("model.safetensors", key, value);
}

/* A negative rate makes the losses after the first evaluation worse. */
START_TEST(best_weights_of_another_text_are_replaced_by_worse_ones)
{
    const struct {
        uint64_t corpus;
        const char *step;
    } second[] = { { 1, "4" }, { 2, "8" } };

    for (size_t i = 0; i < 2; i++) {
        job_open();
        job.corpus = 1, job.options.stop_at = 5;
        check_trains();
        check_meta("best.safetensors", "attnc.step", "4");
        job.corpus = second[i].corpus, job.resume = true;
        job.options.stop_at = 9, job.options.schedule.rate = -1;
        check_trains();
        check_meta("best.safetensors", "attnc.step", second[i].step);
    }
}
END_TEST

/* Step 6 is no update, and the bias of the moments is that of the updates. */
START_TEST(a_skipped_step_does_not_count_as_an_update_on_resuming)
{
    job.skipped = 1 << 6;
    const Weights whole = trained_weights(1);

    ck_assert_ptr_nonnull(strstr(said, "warning: step 6 skipped: the loss is not finite"));
    check_saved("attnc.updates", "9");
    check_saved("attnc.bad", "0");
    job.options.stop_at = 7;
    check_trains();
    check_saved("attnc.updates", "6");
    job.options.stop_at = 0, job.resume = true;
    const Weights w = trained_weights(1);
    check_same_files(&w, &whole, "after a step that was skipped");
    weights_free(w), weights_free(whole);
}
END_TEST

/* Several of the 90 steps are spikes at this limit. The checkpoint has the losses before it. */
START_TEST(spikes_are_skipped_alike_on_resuming)
{
    job.options.steps = job.options.eval_interval = 90;
    job.options.spike = 1.2;
    const Weights whole = trained_weights(1);

    ck_assert_ptr_nonnull(strstr(said, " standard deviations above its recent mean\n"));
    check_saved("attnc.bad", "0");
    job.options.stop_at = 75;
    check_trains();
    job.options.stop_at = 0, job.resume = true;
    const Weights w = trained_weights(1);
    ck_assert_ptr_nonnull(strstr(said, " standard deviations"));
    check_same_files(&w, &whole, "spikes");
    weights_free(w), weights_free(whole);
}
END_TEST

/* Weights that a step could not use may be broken: the checkpoint before them stays. */
START_TEST(an_evaluation_after_a_skipped_step_saves_nothing)
{
    job.options.save_seconds = 1e9;
    job.skipped = 1 << 4, job.kill_at = 2 * 4;
    ck_assert_int_eq(exit_code_of(do_job, folder), -SIGKILL);
    ck_assert_int_ne(access(in_folder("model.safetensors"), F_OK), 0);
}
END_TEST

/* Five in a row end a run. */
START_TEST(only_consecutive_skipped_steps_end_a_run)
{
    job.skipped = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 9;
    check_trains();
    check_saved("attnc.updates", "5");
    job.skipped = 1 << 5 | 1 << 6 | 1 << 7;
    job.options.eval_interval = 100;
    check_trains();
    job.skipped |= 1 << 8 | 1 << 9;
    ck_assert_int_eq(exit_code_of(do_job, folder), EXIT_FAILED);
}
END_TEST

/* Six steps of 3 rows, then four of 4, of 16 tokens each, twice an update. */
START_TEST(a_resumed_run_counts_tokens_and_seconds_on_from_its_log)
{
    size_t n;
    double tokens, seconds, before = 0;
    int lines = 0;

    job.options.stop_at = 6;
    check_trains();
    job.options.batch = 4, job.options.stop_at = 0, job.resume = true;
    check_trains();
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    for (const char *at = log; (at = strstr(at, "\"tokens\":")); at++, lines++) {
        ck_assert_int_eq(sscanf(at, "\"tokens\":%lf", &tokens), 1);
        at = strstr(at, "\"seconds\":");
        ck_assert_int_eq(sscanf(at, "\"seconds\":%lf", &seconds), 1);
        ck_assert_double_gt(seconds, before);
        before = seconds;
    }
    ck_assert_int_eq(lines, 9); /* steps 1, 3, 6, 9, 10; evaluations after 4, 8, 10; the last */
    ck_assert_double_eq(tokens, 2 * 16 * (6 * 3 + 4 * 4));
    free(log);
}
END_TEST

START_TEST(evaluation_of_test_data_respects_the_time_limit)
{
    for (int limit = 0; limit < 2; limit++) {
        size_t n;

        job.test = true, job.options.max_seconds = limit ? 1e-9 : 0;
        check_trains();
        char *log = (char *)file_read(in_folder("log.jsonl"), &n);
        const char *test = strstr(log, "\"test\",\"loss\":"), *last = strstr(log, "\"final\"");
        ck_assert(test && last && test < last); /* all rows of either, or the same few */
        ck_assert_int_eq(strncmp(test + 15, last + 16, 17), 0);
        free(log);
    }
}
END_TEST

/* In the first evaluation of 6 rows, and in the last one, of all; a batch has 3. */
START_TEST(an_interrupted_evaluation_is_repeated_on_resuming)
{
    const Weights whole = trained_weights(1);

    for (int late = 0; late < 2; late++) {
        job.stop_at_row = late ? 3 * 6 + 5 : 2, job.resume = false;
        check_trains();
        ck_assert_int_eq(saved_step(), late ? 10 : 4);
        job.stop_at_row = 0, job.resume = true;
        const Weights w = trained_weights(1);
        check_same_files(&w, &whole, "interrupted");
        weights_free(w);
    }
    weights_free(whole);
}
END_TEST

START_TEST(a_run_with_no_time_takes_a_step_and_a_short_evaluation)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    TextSource text = lesson_open();

    job.options.max_seconds = 1e-9;
    check_trains();
    const Model model = model_of("model.safetensors", mem);
    Safetensors *file = safetensors_read(in_folder("model.safetensors"));
    ck_assert_str_eq(safetensors_meta(file, "attnc.step"), "1");
    ck_assert_double_eq(
        atof(safetensors_meta(file, "attnc.val_loss")),
        evaluate(&tape, &model, (Reading){ .source = &text.source, .B = 3, .rows = 6 }).loss);
    safetensors_free(file);
    lesson_close(&text);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

/* With warnings among the rest: all is as it should be on the screen. */
START_TEST(a_run_on_a_terminal_ends_its_line)
{
    static Screen screen;

    setenv("TERM", "xterm", 1);
    job.options.schedule.rate = in_double ? 1e300 : 1e30;
    screen_open(&screen, 80);
    ck_assert_int_eq(screen_exit_code_of(&screen, do_job, folder), EXIT_FAILED);
    ck_assert_ptr_nonnull(strstr(said, "warning: step 5 skipped: "));
    screen_close(&screen);
    job.options.schedule.rate = 1e-3, job.options.stop_at = 6; /* nothing follows the line */
    screen_open(&screen, 80);
    ck_assert_int_eq(screen_exit_code_of(&screen, do_job, folder), 0);
    ck_assert_ptr_nonnull(strstr(screen.row[screen.y - 1].cell, "step 6/10  "));
    ck_assert_int_eq(screen.x, 0);
    screen_close(&screen);
}
END_TEST

START_TEST(a_run_that_is_asked_to_stop_leaves_its_weights)
{
    Arena *mem = arena_new();

    job.stop = 2, job.options.accumulation = 1;
    check_trains();
    model_of("model.safetensors", mem); /* dies if a number is not finite */
    ck_assert_int_eq(files(false), 3); /* nothing was evaluated: whoever stops a run waits for it */
    Safetensors *file = safetensors_read(in_folder("model.safetensors"));
    ck_assert_str_eq(safetensors_meta(file, "attnc.step"), "1");
    safetensors_free(file);
    arena_free(mem);
}
END_TEST

/* The first step by hand: two batches of 3 x 16 tokens, which are bytes. */
START_TEST(a_line_of_the_log_has_the_numbers_of_its_step)
{
    enum { N = 3 * 16 };
    static const char *const key[] = { "loss", "ppl", "bits_per_byte", "lr", "grad_norm" };
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    int id[N], target[N];
    real dy[N];
    double loss = 0;
    Model model;
    size_t n;

    TextSource lesson = lesson_open();
    check_trains();
    model_init(&model, job.config, mem, job.seed);
    for (int i = 0; i < N; i++)
        dy[i] = R(1.0 / N / 2);
    for (uint64_t number = 0; number < 2; number++) {
        const Batch b = { .B = 3, .T = 16, .id = id, .target = target };

        tokens_batch(lesson.train, job.seed, number, b);
        tape_reset(&tape);
        Tensor *y = model_losses(&tape, &model, b, number);
        for (int i = 0; i < N; i++)
            loss += (double)y->data[i] / N / 2;
        tape_backward(&tape, y, dy);
    }
    const double want[] = { loss, exp(loss), loss / log(2), schedule_rate(&job.options.schedule, 1),
                            gradient_norm(tape.pool, mem, &model.params) };
    char *log = (char *)file_read(in_folder("log.jsonl"), &n);
    const char *line = strstr(log, "{\"step\":1,\"split\":\"train\"");
    ck_assert_ptr_nonnull(line);
    for (int i = 0; i < COUNT(key); i++) {
        const char *at = strstr(line, text_format("\"%s\":", key[i]).at);

        ck_assert_ptr_nonnull(at);
        ck_assert_double_eq_tol(strtod(at + strlen(key[i]) + 3, NULL), want[i], 1e-5 * want[i]);
    }
    free(log);
    lesson_close(&lesson);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

Suite *suite_stopping(void)
{
    Suite *s = suite_create("stopping");
    TCase *t = with_folder(s, "run");
    tcase_add_checked_fixture(t, job_open, NULL);
    tcase_add_test(t, a_killed_run_resumes_from_its_last_checkpoint);
    tcase_add_test(t, a_line_of_the_log_has_the_numbers_of_its_step);
    tcase_add_test(t, an_interrupted_step_is_repeated_on_resuming);
    tcase_add_test(t, best_weights_of_another_text_are_replaced_by_worse_ones);
    tcase_add_test(t, a_skipped_step_does_not_count_as_an_update_on_resuming);
    tcase_add_test(t, spikes_are_skipped_alike_on_resuming);
    tcase_add_test(t, an_evaluation_after_a_skipped_step_saves_nothing);
    tcase_add_test(t, only_consecutive_skipped_steps_end_a_run);
    tcase_add_test(t, a_resumed_run_counts_tokens_and_seconds_on_from_its_log);
    tcase_add_test(t, evaluation_of_test_data_respects_the_time_limit);
    tcase_add_test(t, an_interrupted_evaluation_is_repeated_on_resuming);
    tcase_add_test(t, a_run_with_no_time_takes_a_step_and_a_short_evaluation);
    if (screen_exists())
        tcase_add_test(t, a_run_on_a_terminal_ends_its_line);
    else
        fprintf(stderr, "skipped: there is no pseudo-terminal\n");
    tcase_add_test(t, a_run_that_is_asked_to_stop_leaves_its_weights);
    return s;
}
