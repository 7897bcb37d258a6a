/* Which options choose the validation data, and of what. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/train/job.h"

void job_check_validation(const Job *job)
{
    const bool stories = !job->made && job->files == 0 && !job->labels;
    const char *file = job->validation_path ? "val-file" : job->labels_val ? "labels-val" : NULL;

    for (int i = 0; stories && i < 2; i++)
        if (options_given(job->program, i ? "val-file" : "val-share"))
            die(EXIT_USAGE, "--%s needs a text: the built-in ones hold back their own part",
                i ? "val-file" : "val-share");
    if (file && options_given(job->program, "val-share"))
        die(EXIT_USAGE, "--%s is the whole validation data: it takes no --val-share", file);
    for (int i = 0; job->validation_path && i < job->files; i++)
        if (file_same(job->validation_path, job->file[i]))
            warn("--val-file is also a text to train on: its loss says nothing about other texts");
}
