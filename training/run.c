#include "training/run.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "training/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 512 };

struct Run {
    char path[PATH_BYTES];
    int log;
    const Origin *origin;
    Tensorboard *board; /* NULL: there is none */
    LossCurve train, validation;
};

/* mkdir -p. Returns false if the last part existed already. */
static bool make_folder(const char *path)
{
    char part[PATH_BYTES];
    size_t n = strlen(path);
    bool made = false;

    for (size_t i = 1; i <= n; i++)
        if (i == n || path[i] == '/') {
            memcpy(part, path, i);
            part[i] = 0;
            made = mkdir(part, 0777) == 0;
            if (!made && errno != EEXIST)
                die(EXIT_IO, "cannot create the folder %.200s: %s", part, strerror(errno));
        }
    return made;
}

static void join(char *to, const char *folder, const char *name)
{
    if (snprintf(to, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES)
        die(EXIT_IO, "the path %.60s.../%.60s is too long", folder, name);
}

static Run *run_new(const Origin *origin)
{
    Run *run = xmalloc(sizeof *run);

    *run = (Run){ .log = -1, .origin = origin };
    return run;
}

static void open_folder(Run *run, const char *path)
{
    struct stat info;

    join(run->path, path, "");
    make_folder(path);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        die(EXIT_IO, "%.200s is not a folder; choose another --out-dir", path);
    run->path[strlen(run->path) - 1] = 0;
}

static void find_folder(Run *run, const char *name)
{
    char numbered[256];

    for (int i = 1;; i++) {
        snprintf(numbered, sizeof numbered, i == 1 ? "%.200s" : "%.200s-%d", name, i);
        join(run->path, "runs", numbered);
        if (make_folder(run->path))
            return;
    }
}

static void open_log(Run *run, int flags)
{
    char log[PATH_BYTES];

    join(log, run->path, "log.jsonl");
    run->log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
    if (run->log < 0)
        die(EXIT_IO, "cannot write %.200s: %s", log, strerror(errno));
}

Run *run_open(const char *path, const char *name, const Origin *origin)
{
    Run *run = run_new(origin);

    if (path)
        open_folder(run, path);
    else
        find_folder(run, name);
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

    join(path, run->path, name);
    file_print(path, print, ctx);
}

static void curve_add(LossCurve *p, double x, double y)
{
    if (p->n == p->room) {
        p->room = 2 * p->room + 256;
        p->x = xrealloc(p->x, (size_t)p->room * sizeof *p->x);
        p->y = xrealloc(p->y, (size_t)p->room * sizeof *p->y);
    }
    p->x[p->n] = x, p->y[p->n] = y;
    p->n++;
}

static void add_point(Run *run, const char *split, int step, double loss)
{
    if (strcmp(split, "train") == 0)
        curve_add(&run->train, step, loss);
    else if (strcmp(split, "val") == 0)
        curve_add(&run->validation, step, loss);
}

/* JSON has no NaN: unknown values are left out. */
static int field(char *to, const char *name, double value)
{
    return isfinite(value) ? sprintf(to, ",\"%s\":%.9g", name, value) : 0;
}

void run_board(Run *run, int first, const char *config)
{
    run->board = tensorboard_open(run->path, instant_now(first));
    tensorboard_text(run->board, instant_now(first < 0 ? 0 : first), "config/text_summary", config);
}

/* Unknown values are left out. */
static void show_on_board(const Run *run, const LogLine *l)
{
    char tag[5][32] = { "", "", "", "optimizer/grad_norm", "tok_s" };
    const double value[5] = { l->loss, l->accuracy, l->rate, l->grad_norm, l->tokens_per_second };
    Scalar scalar[5];
    int n = 0;

    snprintf(tag[0], sizeof *tag, "%.10s/loss", l->split);
    snprintf(tag[1], sizeof *tag, "%.10s/accuracy", l->split);
    snprintf(tag[2], sizeof *tag, "lr");
    for (int i = 0; i < 5; i++)
        if (i == 0 || isfinite(value[i]))
            scalar[n++] = (Scalar){ tag[i], value[i] };
    tensorboard_scalars(run->board, instant_now(l->step), scalar, n);
}

void run_log(Run *run, LogLine l)
{
    char line[LINE_BYTES];
    int n = sprintf(line, "{\"step\":%d,\"split\":\"%.10s\"", l.step, l.split);

    n += field(line + n, "loss", l.loss);
    n += field(line + n, "ppl", exp(l.loss));
    n += field(line + n, "bits_per_byte", l.bits);
    n += field(line + n, "accuracy", l.accuracy);
    n += field(line + n, "lr", l.rate);
    n += field(line + n, "grad_norm", l.grad_norm);
    n += field(line + n, "tokens", l.tokens);
    n += field(line + n, "tok_s", l.tokens_per_second);
    n += field(line + n, "seconds", l.seconds);
    n += sprintf(line + n, "}\n");
    if (write(run->log, line, (size_t)n) != n) /* one call: a reader never sees half a line */
        die(EXIT_IO, "cannot write %.200s/log.jsonl: %s", run->path, strerror(errno));
    add_point(run, l.split, l.step, l.loss);
    if (run->board)
        show_on_board(run, &l);
}

/* Parses a line of this program's log; false if it is not one. */
static bool read_line(const char *line, char split[8], int *step, double *loss)
{
    return sscanf(line, "{\"step\":%9d,\"split\":\"%7[a-z]\",\"loss\":%lf", step, split, loss) == 3;
}

/* Whether a run with that progress has logged the line. */
static bool is_kept(Progress p, const char *split, int step)
{
    if (strcmp(split, "train") == 0)
        return step <= p.step;
    return strcmp(split, "val") == 0 && step <= p.evaluated;
}

/* Rewrites the log with the lines that are kept, and adds their points to the curves. */
static void keep_log(Run *run, Progress p)
{
    char path[PATH_BYTES], split[8];
    size_t bytes, kept = 0;
    int step;
    double loss;

    join(path, run->path, "log.jsonl");
    if (access(path, F_OK) != 0)
        return;
    char *log = (char *)file_read(path, &bytes);
    for (char *line = log, *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t n = (size_t)(end + 1 - line);

        if (!read_line(line, split, &step, &loss) || !is_kept(p, split, step))
            continue;
        add_point(run, split, step, loss);
        memmove(log + kept, line, n);
        kept += n;
    }
    file_replace(path, &(Piece){ log, kept }, 1);
    free(log);
}

Run *run_resume(const char *path, Progress p, const Origin *origin)
{
    Run *run = run_new(origin);

    open_folder(run, path);
    keep_log(run, p);
    open_log(run, 0);
    return run;
}

void run_save(const Run *run, const char *name, const Model *model, const Optimiser *o,
              Progress progress)
{
    char path[PATH_BYTES];

    join(path, run->path, name);
    saved_write(path, model, o, progress, run->origin);
}

const LossCurve *run_training_curve(const Run *run)
{
    return &run->train;
}

const LossCurve *run_validation_curve(const Run *run)
{
    return &run->validation;
}

void run_close(Run *run)
{
    close(run->log);
    if (run->board)
        tensorboard_close(run->board);
    free(run->train.x), free(run->train.y);
    free(run->validation.x), free(run->validation.y);
    free(run);
}
