/* How a run begins; --auto-resume is for scripts and queues that start the same command again. */
#include "tools/train/job.h"

#include "ops/base/error.h"
#include "training/folder.h"

/*
 * What is there is resumed, whatever the new run would have begun with; a run that ended before
 * its first checkpoint has nothing to lose.
 */
static void choose(Job *job, Start *s)
{
    if (s->resume || s->overwrite)
        die(EXIT_USAGE, "--auto-resume decides what is done: it takes no --%s",
            s->resume ? "resume" : "overwrite");
    if (!job->out_dir && s->config)
        job->out_dir = job_config_folder(s->config);
    if (!job->out_dir)
        die(EXIT_USAGE, "--auto-resume needs the run's folder: --out-dir FOLDER");
    s->resume = folder_has_checkpoint(job->out_dir);
    s->overwrite = !s->resume && folder_has_run(job->out_dir);
    if (s->resume)
        s->config = s->init = NULL, s->minutes = 0;
}

void job_start(Job *job, Start *s)
{
    if (s->automatic)
        choose(job, s);
    s->automatic = false;
}

void job_check_start(const Job *job, const Start *s)
{
    if (s->automatic)
        die(EXIT_USAGE, "--auto-resume is for the command line, not for a configuration");
    if (s->config && s->resume)
        die(EXIT_USAGE, "--resume uses the run's own options, so it takes no --config");
    if (s->resume && s->init)
        die(EXIT_USAGE, "--resume continues a run with its own weights, so it takes no --init");
    if (s->minutes > 0 && (s->resume || job->repeats))
        die(EXIT_USAGE, "--minutes is for new runs, and %s has all sizes: use --max-time",
            s->resume ? "--resume" : "the --config of a run");
    if (s->overwrite && (s->resume || !job->out_dir))
        die(EXIT_USAGE, s->resume ? "--overwrite starts over, --resume continues: give only one"
                                  : "--overwrite needs the run's folder: --out-dir FOLDER");
}
