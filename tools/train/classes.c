/* Texts whose files are the classes, or labelled ones. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/train/job.h"

static void check_files(const Job *job)
{
    if (job->files < 2 || job->files > CLASSES_MAX)
        die(EXIT_USAGE, "--task classify needs 2 to %d files, or --labels FILE, but got %d file%s",
            CLASSES_MAX, job->files, job->files == 1 ? "" : "s");
    for (int i = 0; i < job->files; i++)
        for (int k = 0; k < i; k++)
            if (file_same(job->file[i], job->file[k]))
                die(EXIT_USAGE, "each file is a class, but %s is given twice",
                    text_cut(job->file[i], 60).at);
}

void job_settle_classes(Job *job)
{
    job->labelled = job->labels || job->files == 0;
    if (job->labels && job->files > 0)
        die(EXIT_USAGE, "--labels takes the place of texts, but got %s",
            text_cut(job->file[0], 60).at);
    if (job->labels_val && !job->labels)
        die(EXIT_USAGE, "--labels-val FILE needs --labels FILE");
    if (!job->labelled)
        check_files(job);
    if (job->validation_path)
        die(EXIT_USAGE, "--val-file does not apply to --task classify, which holds out a part of "
                        "each file, or of the rows of --labels unless --labels-val is given");
    if (job->config.pairs == PAIRS_TOWERS && !job->labels)
        die(EXIT_USAGE, "--pairs compares the two texts of a row: it needs --labels FILE");
}
