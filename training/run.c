#include "training/run.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "training/folder.h"
#include "training/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Run {
    char path[PATH_BYTES];
    int log;
    const Origin *origin;
    Tensorboard *board; /* NULL: there is none */
    bool damaged;       /* the latest checkpoint, so that only the one before it is worth keeping */
    LossCurves curves;
    Spent spent; /* before it was resumed */
    int best_step;
    double best; /* run_best() */
    int judged;  /* the step of the evaluation in the log that the progress does not count, or 0 */
};

static Run *run_new(const Origin *origin)
{
    Run *run = xmalloc(sizeof *run);

    *run = (Run){ .log = -1, .origin = origin, .best = HUGE_VAL };
    return run;
}

/* Without the slash that file_join() adds. */
static void use_folder(Run *run, const char *path)
{
    file_join(run->path, path, "");
    run->path[strlen(run->path) - 1] = 0;
}

static void open_log(Run *run, int flags)
{
    char log[PATH_BYTES];

    file_join(log, run->path, "log.jsonl");
    run->log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
    if (run->log < 0)
        die(EXIT_IO, "cannot write %.200s: %s", log, strerror(errno));
}

Run *run_open(const char *path, const char *name, bool overwrite, const Origin *origin)
{
    Run *run = run_new(origin);

    if (path) {
        use_folder(run, path);
        folder_make(path);
    } else {
        folder_make_numbered(run->path, name);
    }
    folder_lock(run->path);
    folder_check(run->path, overwrite);
    folder_put_aside();
    open_log(run, O_TRUNC);
    return run;
}

const char *run_path(const Run *run)
{
    return run->path;
}

void run_file(const Run *run, const char *name, Print *print, void *ctx)
{
    char path[PATH_BYTES];

    file_join(path, run->path, name);
    file_print(path, print, ctx);
}

/* JSON has no NaN: unknown values are left out. */
static void field(Text *line, const char *name, double value)
{
    if (isfinite(value))
        text_add(line, ",\"%s\":%s", name, text_number(value).at);
}

void run_board(Run *run, int first, const char *config)
{
    run->board = tensorboard_open(run->path, instant_now(first));
    tensorboard_text(run->board, instant_now(first < 0 ? 0 : first), "config/text_summary", config);
}

/* Unknown values are left out. */
static void show_on_board(const Run *run, const LogLine *l)
{
    char tag[6][32] = { "", "", "", "lr", "optimizer/grad_norm", "tok_s" };
    const double value[6] = { l->loss, l->accuracy,  l->f1,
                              l->rate, l->grad_norm, l->tokens_per_second };
    Scalar scalar[6];
    int n = 0;

    snprintf(tag[0], sizeof *tag, "%.10s/loss", l->split);
    snprintf(tag[1], sizeof *tag, "%.10s/accuracy", l->split);
    snprintf(tag[2], sizeof *tag, "%.10s/macro_f1", l->split);
    for (int i = 0; i < 6; i++)
        if (i == 0 || isfinite(value[i]))
            scalar[n++] = (Scalar){ tag[i], value[i] };
    tensorboard_scalars(run->board, instant_now(l->step), scalar, n);
}

/* In one call, so that a reader never sees half a line. */
static void append(const Run *run, const char *line, size_t n)
{
    if (!file_append(run->log, line, n))
        die(EXIT_IO, "cannot write %.200s/log.jsonl: %s", run->path, strerror(errno));
}

void run_start(Run *run, int step, const char *members)
{
    Arena *mem = arena_new();
    const char *line =
        arena_format(mem, "{\"step\":%d,\"split\":\"start\",\"time\":\"%s\",\"run\":{%s}}\n", step,
                     machine_time().at, members);

    append(run, line, strlen(line));
    arena_free(mem);
}

void run_log(Run *run, LogLine l)
{
    Text line = text_format("{\"step\":%d,\"split\":\"%.10s\"", l.step, l.split);

    if (l.step == run->judged && strcmp(l.split, "val") == 0)
        return; /* a complete run that is resumed evaluates its last weights again */
    field(&line, "loss", l.loss);
    field(&line, "ppl", exp(l.loss));
    field(&line, "bits_per_byte", l.bits);
    field(&line, "accuracy", l.accuracy);
    field(&line, "macro_f1", l.f1);
    field(&line, "lr", l.rate);
    field(&line, "grad_norm", l.grad_norm);
    field(&line, "tokens", l.tokens);
    field(&line, "tok_s", l.tokens_per_second);
    field(&line, "seconds", run->spent.seconds + l.seconds);
    text_add(&line, "%s", l.skipped ? ",\"skipped\":true" : "");
    text_add(&line, ",\"time\":\"%s\"", machine_time().at);
    field(&line, "peak_memory", l.last ? machine_peak_memory() : (double)NAN);
    text_add(&line, "}\n");
    append(run, line.at, line.n);
    curves_add(&run->curves, l.split, l.step, l.loss);
    if (run->board)
        show_on_board(run, &l);
}

/* Those of an evaluation at the end may be better than `now` knows. If they are of a later step,
 * the run may go on differently this time; on another text they say nothing. */
static void find_best(Run *run, Progress now)
{
    char path[PATH_BYTES];
    Progress p;

    run->best = now.best, run->best_step = now.best_step;
    file_join(path, run->path, SAVED_BEST);
    if (!saved_progress(path, run->origin->corpus, &p))
        return;
    if (p.best < now.best && p.best_step <= now.step)
        run->best = p.best, run->best_step = p.best_step;
}

static void keep_log(Run *run, Progress p)
{
    char path[PATH_BYTES];
    size_t bytes;

    if (run->best_step > p.evaluated)
        p.evaluated = run->judged = run->best_step;
    file_join(path, run->path, "log.jsonl");
    if (access(path, F_OK) != 0)
        return;
    char *log = (char *)file_read(path, &bytes);
    const size_t kept = kept_lines(log, bytes, p, &run->curves, &run->spent);
    file_replace(path, &(Piece){ log, kept }, 1);
    free(log);
}

Run *run_resume(const char *path, const Saved *from, const Origin *origin)
{
    const Progress p = from->progress;
    Run *run = run_new(origin);

    use_folder(run, path);
    run->damaged = from->previous;
    folder_lock(run->path);
    find_best(run, p);
    keep_log(run, p);
    open_log(run, 0);
    return run;
}

void run_save(Run *run, const Model *model, const Optimiser *o, Progress progress)
{
    char path[PATH_BYTES];

    file_join(path, run->path, SAVED_LAST);
    folder_check_place();
    (run->damaged ? saved_write : saved_write_next)(path, model, o, progress, run->origin);
    run->damaged = false;
    folder_drop(); /* of a run that is overwritten */
}

void run_save_best(Run *run, const Model *model, const Optimiser *o, Progress progress)
{
    char path[PATH_BYTES];

    file_join(path, run->path, SAVED_BEST);
    folder_check_place();
    saved_write(path, model, o, progress, run->origin);
    run->best = progress.best, run->best_step = progress.best_step;
}

double run_best(const Run *run, int *step)
{
    *step = run->best_step;
    return run->best;
}

Spent run_spent(const Run *run)
{
    return run ? run->spent : (Spent){ 0 };
}

const LossCurve *run_training_curve(const Run *run)
{
    return &run->curves.train;
}

const LossCurve *run_validation_curve(const Run *run)
{
    return &run->curves.validation;
}

void run_close(Run *run)
{
    close(run->log);
    if (run->board)
        tensorboard_close(run->board);
    folder_unlock();
    curves_free(&run->curves);
    free(run);
}
