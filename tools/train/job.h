/* The command line of ./train with all defaults resolved, before anything is created. */
#ifndef TOOLS_TRAIN_JOB_H
#define TOOLS_TRAIN_JOB_H

#include "data/corpus.h"
#include "data/labels.h"
#include "tools/common/settings.h"
#include "training/plan.h"
#include "training/train.h"

typedef struct {
    const Program *program;
    char **word; /* the command line */
    int words;
    Text started;  /* when */
    Config config; /* except for the vocabulary, which may depend on the text */
    TrainOptions training;
    const char *task;
    const Synthetic *made; /* a synthetic task; NULL: text */
    SyntheticShape shape;
    const char *data; /* a folder with its rows */
    double mask_share;
    bool whole_word;
    bool shuffle; /* the windows of a text, epoch by epoch */
    const char *const *file;
    int files;
    const char *labels, *labels_val; /* files of labelled texts, */
    bool labelled;                   /* or, with neither these nor files, the built-in ones */
    const Labels *names;             /* their labels, once they are read, */
    int texts;                       /* and the texts of a row */
    const char *tokenizer, *validation_path, *out_dir;
    Tokenizer *lent; /* that of --tokenizer PATH, or NULL */
    double held_back, temperature;
    uint64_t seed;
    int threads, sample_tokens, story_bytes;
    int precision;     /* of the operands of products: PRECISION_FLOAT .. */
    bool recompute;    /* of blocks, in the backward pass */
    bool nanogpt;      /* there is a published loss of such a model to compare with */
    bool other_corpus; /* the text may have changed */
    bool tensorboard;
    bool overwrite;        /* a run in out_dir */
    bool dry_run;          /* nothing is written */
    Saved *from;           /* the run to resume; NULL: a new run */
    Saved *initial;        /* the run with the first weights of a new one, or NULL */
    struct Lesson *lesson; /* which --minutes has read, or NULL */
    const Json *its_texts; /* those of --config, or NULL */
    bool repeats;          /* --config is that of a run */
    OptionTexts frozen;
    OptionList lengths, length_stages, batch_stages;
} Job;

/* Dies (EXIT_USAGE) if options are not valid or contradict each other. */
Job job_read(int argc, char **argv);

/* Of --config: reads options, and the files, of the config.json of a run, or of one like it; the
 * command line overrides them. Dies (EXIT_DATA) if they are not valid. */
void job_configure(Job *job, const char *path);

/* The folder that a file of --config names; NULL: none, or it is that of a run, which keeps its
 * own. */
const char *job_config_folder(const char *path);

/* Whether --attn on the command line names another mechanism than that of a run, "gau". */
bool job_replaces(const Job *job, const char *attn);
/* Whether an option with this value was at its default with the mechanism `old`, or had no effect.
 */
bool job_was_default(const Attention *old, const char *name, const char *words);

/* The file as JSON, in `mem`, which is not always an object; NULL: see json_read(). */
const Json *job_config(Arena *mem, const char *path, Text *why);

/* Warns of texts that were others when the file of --config was written. */
void job_compare_texts(const Job *job, const Corpus *corpus, int n);

/* How a run begins: new, with the options or the weights of another, or where it was stopped. */
typedef struct {
    bool resume, automatic, overwrite;
    const char *config, *init;
    double minutes;
} Start;

/* Decides what --auto-resume does. And with all options, those of --config as well: dies
 * (EXIT_USAGE) if they ask for two beginnings. */
void job_start(Job *job, Start *start);
void job_check_start(const Job *job, const Start *start);

/* Of --resume: locks the folder, which moves to the front of the arguments, and reads its
 * checkpoint, options and files; the command line overrides options. job_check_restored() dies
 * (EXIT_USAGE) if those as settled would change the model or its optimiser. */
void job_restore(Job *job, char **argument);
void job_check_restored(const Job *job);

/* Of --task classify: whether texts are labelled. Dies (EXIT_USAGE) if they cannot be classes. */
void job_settle_classes(Job *job);

/* Dies (EXIT_USAGE) if options choose validation data that there is not. */
void job_check_validation(const Job *job);
void job_check_texts(const Job *job); /* that the run in --out-dir does not write over them */

/* Dies (EXIT_USAGE) if options would change nothing, or mechanisms have no layer; warns of a
 * warm-up longer than the run. */
void job_check_unused(const Job *job);
void job_check_sizes(const Job *job);

/* --tokenizer (tools/train/vocabulary.c): checks it, and reads it if it is a path; dies unless a
 * resumed run has that one; and the tokenizer that is known before the text is read, or NULL. */
void job_settle_tokenizer(Job *job);
void job_check_tokenizer(const Job *job);
Tokenizer *job_known_tokenizer(const Job *job);

/* Of --init: reads the run. Its options of model and tokenizer hold unless the command line has
 * others; its attention's settings only for the same attention. */
void job_begin(Job *job, const char *path);

/* The shapes of batches: checks them, and sets the context and the batch size if only these say so.
 */
void job_shape(Job *job);
int job_largest(const OptionList *list); /* of the sizes or lengths; 0: there are none */

/* Of --minutes: reads the text, measures this machine, and sets the options of model, batches,
 * updates and time that are not set. `a` is the first of the mechanisms. */
void job_plan(Job *job, double minutes, const Attention *a, int mechanisms);

/* The job that it would be with that size. Dies (EXIT_USAGE) as job_read() does. */
Job job_sized(PlanSize s);

/* Every option with its value, and the files, for resuming; in `mem`. */
const Meta *job_options(const Job *job, Arena *mem, int *n);

/* Whether an option is about this part of a run, or this machine: resuming does not restore it. */
bool job_passes(const char *option);

/* What is known of a run besides its options; the last three are set by job_record(). */
typedef struct {
    size_t parameters;
    const Corpus *corpus;
    int corpora;
    const Job *job;
    const char *between, *space; /* how JSON is laid out */
} Facts;

/* Logs the start of the run, and writes its config.json. */
void job_record(const Job *job, Run *run, Facts facts);

/* The options as Markdown, for free(). */
char *job_markdown(const Job *job);

/* What needs memory. */
Load job_load(const Job *job);

/* Checks memory once the vocabulary is known. */
void job_check_memory(const Job *job);

#endif
