/* --tokenizer: the words of one to be learned, or the path of one that is known. */
#include "ops/base/error.h"
#include "tools/common/foreign.h"
#include "tools/train/job.h"

#include <string.h>

static bool is_given(const Job *job)
{
    return options_given(job->program, "tokenizer") ||
           (job->initial && job->initial->tokenizer && options_set(job->program, "tokenizer") &&
            strcmp(job->tokenizer, tokenizer_words(job->initial->tokenizer)) != 0);
}

void job_settle_tokenizer(Job *job)
{
    if ((!job->from && !job->initial) || is_given(job)) /* a run has any */
        job->lent = foreign_asked(job->tokenizer);
}

Tokenizer *job_known_tokenizer(const Job *job)
{
    return job->from                        ? job->from->tokenizer
           : job->lent                      ? job->lent
           : job->initial && !is_given(job) ? job->initial->tokenizer
                                            : NULL;
}

void job_check_tokenizer(const Job *job)
{
    const Tokenizer *kept = job->from->tokenizer;
    const char *words = kept ? tokenizer_words(kept) : NULL;

    if (kept && is_given(job) &&
        !(job->lent ? tokenizer_same(job->lent, kept) : strcmp(words, job->tokenizer) == 0))
        die(EXIT_USAGE, "a resumed run keeps its tokenizer: %s, not %s", words,
            text_cut(job->tokenizer, 60).at);
}
