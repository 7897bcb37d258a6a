#include "training/run.h"

#include "ops/error.h"
#include "ops/file.h"
#include "training/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 512 };

/* The points of one line of loss.svg. */
typedef struct {
    double *x, *y;
    int n, room;
} Points;

struct Run {
    char path[PATH_BYTES];
    int log;
    Task task;
    Points train, validation;
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
                die(EXIT_IO, "cannot make the folder %.200s: %s", part, strerror(errno));
        }
    return made;
}

static void join(char *to, const char *folder, const char *name)
{
    if (snprintf(to, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES)
        die(EXIT_IO, "the path %.60s.../%.60s is too long", folder, name);
}

Run *run_open(const char *path, const char *name, Task task)
{
    Run *run = xmalloc(sizeof *run);
    char log[PATH_BYTES];
    struct stat info;

    *run = (Run){ .log = -1, .task = task };
    if (path) {
        join(run->path, path, "");
        make_folder(path);
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
            die(EXIT_IO, "%.200s is not a folder; choose another --out-dir", path);
        run->path[strlen(run->path) - 1] = 0;
    }
    for (int i = 1; !path; i++) {
        char numbered[256];

        snprintf(numbered, sizeof numbered, i == 1 ? "%.200s" : "%.200s-%d", name, i);
        join(run->path, "runs", numbered);
        if (make_folder(run->path))
            break;
    }
    join(log, run->path, "log.jsonl");
    run->log = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (run->log < 0)
        die(EXIT_IO, "cannot write %.200s: %s", log, strerror(errno));
    return run;
}

const char *run_path(const Run *run)
{
    return run->path;
}

void run_file(const Run *run, const char *name, void (*write)(FILE *out, void *ctx), void *ctx)
{
    char path[PATH_BYTES], *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        die(EXIT_MEMORY, "out of memory (writing %s)", name);
    write(out, ctx);
    if (fclose(out) != 0)
        die(EXIT_MEMORY, "out of memory (writing %s)", name);
    join(path, run->path, name);
    file_replace(path, &(Piece){ text, bytes }, 1);
    free(text);
}

static void points_add(Points *p, double x, double y)
{
    if (p->n == p->room) {
        p->room = 2 * p->room + 256;
        p->x = xrealloc(p->x, (size_t)p->room * sizeof *p->x);
        p->y = xrealloc(p->y, (size_t)p->room * sizeof *p->y);
    }
    p->x[p->n] = x, p->y[p->n] = y;
    p->n++;
}

/* JSON has no NaN: what is not known is left out. */
static int field(char *to, const char *name, double value)
{
    return isfinite(value) ? sprintf(to, ",\"%s\":%.9g", name, value) : 0;
}

void run_log(Run *run, LogLine l)
{
    char line[LINE_BYTES];
    int n = sprintf(line, "{\"step\":%d,\"split\":\"%.10s\"", l.step, l.split);

    n += field(line + n, "loss", l.loss);
    n += field(line + n, "ppl", exp(l.loss));
    if (run->task == TASK_CAUSAL)
        n += field(line + n, "bits_per_byte", l.loss / log(2));
    n += field(line + n, "accuracy", l.accuracy);
    n += field(line + n, "lr", l.rate);
    n += field(line + n, "grad_norm", l.grad_norm);
    n += field(line + n, "tokens", l.tokens);
    n += field(line + n, "tok_s", l.tokens_per_second);
    n += field(line + n, "seconds", l.seconds);
    n += sprintf(line + n, "}\n");
    if (write(run->log, line, (size_t)n) != n) /* one call: a reader never sees half a line */
        die(EXIT_IO, "cannot write %.200s/log.jsonl: %s", run->path, strerror(errno));
    points_add(strcmp(l.split, "val") == 0 ? &run->validation : &run->train, l.step, l.loss);
}

void run_save(const Run *run, const char *name, const Model *model, CheckpointNote note)
{
    char path[PATH_BYTES];

    join(path, run->path, name);
    checkpoint_save(path, model, note);
}

static void draw(FILE *out, void *plot)
{
    plot_svg(plot, out);
}

void run_draw(const Run *run, const char *title, double floor)
{
    const Series series[] = {
        { .name = "training loss",
          .x = run->train.x,
          .y = run->train.y,
          .n = run->train.n,
          .smooth = run->train.n / 50 + 1 },
        { .name = "validation loss",
          .x = run->validation.x,
          .y = run->validation.y,
          .n = run->validation.n,
          .points = true,
          .best = true },
    };
    const PlotLine line = { floor, "true entropy" };
    Plot plot = { .title = title,
                  .x_label = "step",
                  .y_label = run->task == TASK_MLM ? "loss (nats per masked byte)"
                                                   : "loss (nats per byte)",
                  .series = series,
                  .n_series = 2,
                  .lines = &line,
                  .n_lines = floor > 0 };

    run_file(run, "loss.svg", draw, &plot);
}

void run_close(Run *run)
{
    close(run->log);
    free(run->train.x), free(run->train.y);
    free(run->validation.x), free(run->validation.y);
    free(run);
}
