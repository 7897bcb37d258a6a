/* Which options choose the validation data, and of what; and that no text is a file of the run. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/shown.h"
#include "tools/train/job.h"
#include "training/folder.h"

#include <stdlib.h>
#include <string.h>

static void warn_of_twice(const Job *job)
{
    int *first = file_firsts(job->file, job->files);

    for (int i = 0; i < job->files; i++)
        if (first[i] < i)
            warn("%.200s is given twice, so its held-out part is also trained on",
                 shown_plain(job->file[i]).at);
    free(first);
}

void job_check_validation(const Job *job)
{
    const bool stories = !job->made && job->files == 0 && !job->labels;
    const char *file = job->validation_path ? "val-file" : job->labels_val ? "labels-val" : NULL;

    for (int i = 0; stories && i < 2; i++)
        if (options_given(job->program, i ? "val-file" : "val-share"))
            die(EXIT_USAGE, "--%s needs a text: the built-in ones hold out their own part",
                i ? "val-file" : "val-share");
    if (file && options_given(job->program, "val-share"))
        die(EXIT_USAGE, "--%s is the whole validation data: it takes no --val-share", file);
    if (job->labels_val && file_same(job->labels, job->labels_val))
        warn("%.200s is trained on and validated on: results say nothing of other texts",
             shown_plain(job->labels).at);
    if (job->config.task != TASK_CLASSIFY && !job->validation_path)
        warn_of_twice(job);
}

static void check_text(const Job *job, const char *path)
{
    if (path && job->out_dir && strcmp(path, "-") != 0 && folder_replaces(job->out_dir, path))
        die(EXIT_USAGE,
            "%.200s is a file of the run in --out-dir, which would overwrite it: move it",
            shown_plain(path).at);
}

void job_check_texts(const Job *job)
{
    for (int i = 0; i < job->files; i++)
        check_text(job, job->file[i]);
    check_text(job, job->validation_path);
    check_text(job, job->labels);
    check_text(job, job->labels_val);
}
