#include "tools/train/choices.h"

#include "data/cifar.h"
#include "model/config.h"
#include "training/optimiser.h"

static const char *const nanogpt_cpu[][2] = {
    { "n-layer", "4" },     { "n-head", "4" },       { "n-embd", "128" }, { "block-size", "64" },
    { "batch-size", "12" }, { "max-iters", "2000" }, { "dropout", "0" },  { NULL, NULL },
};
static const char *const microgpt[][2] = {
    { "tokenizer", "char" }, { "n-layer", "1" },     { "n-head", "4" },       { "n-embd", "16" },
    { "block-size", "16" },  { "batch-size", "64" }, { "max-iters", "2000" }, { NULL, NULL },
};
static const char *const speedrun[][2] = {
    { "tokenizer", "char" },
    { "n-layer", "3" },
    { "n-head", "4" },
    { "n-embd", "96" },
    { "block-size", "64" },
    { "batch-size", "8" },
    { "conv", "4" },
    { "optimizer", "muon" },
    { "learning-rate", "0.012" },
    { "min-lr", "0" },
    { "warmup-iters", "20" },
    { "max-iters", "3000" },
    { "eval-interval", "3000" },
    { NULL, NULL },
};
static const char *const fastformer_paper[][2] = {
    { "task", "classify" },   { "pool", "attention" },  { "attn", "fastformer" },
    { "interaction", "mul" }, { "share", "qv,layers" }, { "n-layer", "2" },
    { "n-head", "16" },       { "n-embd", "256" },      { NULL, NULL },
};
#define LRA                                                                                        \
    { "task", "classify" }, { "n-layer", "2" }, { "n-head", "2" }, { "n-embd", "64" },             \
        { "position", "learned" }, { "dropout", "0.1" }, { "batch-size", "32" },                   \
        { "max-iters", "5000" }, { "learning-rate", "1e-4" },                                      \
    {                                                                                              \
        "warmup-iters", "1000"                                                                     \
    }
static const char *const lra_text[][2] = { LRA, { "block-size", "4000" }, { NULL, NULL } };
static const char *const lra_retrieval[][2] = {
    LRA, { "pairs", "towers" }, { "block-size", "8000" }, { NULL, NULL }
};
static const char *const zoology[][2] = {
    { "task", "mqar" },      { "symbols", "8192" },     { "items", "4" },
    { "block-size", "64" },  { "n-layer", "2" },        { "n-embd", "64" },
    { "n-head", "1" },       { "ffn", "none" },         { "position", "learned" },
    { "tied", "on" },        { "dropout", "0.1" },      { "batch-size", "64" },
    { "max-iters", "5000" }, { "weight-decay", "0.1" }, { "learning-rate", "1e-3" },
    { NULL, NULL },
};
static const char *const mad[][2] = {
    { "task", "in-context-recall" },
    { "n-layer", "2" },
    { "n-embd", "128" },
    { "ffn", "swiglu" },
    { "batch-size", "128" },
    { "max-iters", "2000" },
    { "weight-decay", "0.1" },
    { "learning-rate", "1e-3" },
    { NULL, NULL },
};
static const char *const parity[][2] = {
    { "task", "cumulative-parity" },
    { "block-size", "40" },
    { "n-layer", "2" },
    { "n-embd", "128" },
    { "n-head", "4" },
    { "conv", "4" },
    { "batch-size", "64" },
    { "max-iters", "5000" },
    { NULL, NULL },
};
const Preset choice_presets[] = {
    { "nanogpt-cpu", "nanoGPT's CPU run: 4 x 128, context 64, batch 12, 2000 steps", nanogpt_cpu },
    { "microgpt", "for a list of names: 1 x 16, context 16, batch 64, 2000 steps", microgpt },
    { "speedrun", "a megabyte of characters in a minute: 3 x 96, context 64, batch 8, muon, conv 4",
      speedrun },
    { "fastformer-paper",
      "the paper's classifier, with --labels: 2 x 256, 16 heads, W_q = W_v, shared layers",
      fastformer_paper },
    { "lra-text", "the Long Range Arena's byte-level text task, with --labels", lra_text },
    { "lra-retrieval", "its retrieval task, two texts of 4000 bytes, with --labels",
      lra_retrieval },
    { "zoology", "64 positions of Zoology's mqar, 8192 tokens: 2 x 64, no feed-forward", zoology },
    { "mad",
      "recall as in MAD: 2 x 128, swiglu; or, at MAD's lengths, --task noisy-recall, fuzzy-recall, "
      "selective-copy, compression, memorization",
      mad },
    { "parity", "parity of 40 bits, to evaluate at 40 and 256: 2 x 128, convolution of 4", parity },
    { NULL, NULL, NULL },
};

/* The synthetic tasks, and then the one of files alone. */
const Synthetic *choice_rows(int i)
{
    int n = 0;

    while (synthetics[n])
        n++;
    i -= TASKS_OF_TEXT;
    return i < 0 || i > n ? NULL : i < n ? synthetics[i] : &cifar_task;
}

Choice choice_task(int i)
{
    static const Choice of_text[TASKS_OF_TEXT] = {
        [TASK_CAUSAL] = { "causal", "the next token of a text", NULL },
        [TASK_MLM] = { "mlm", "masked tokens, from the context on both sides", NULL },
        [TASK_CLASSIFY] = { "classify",
                            "the label of a text (--labels), or which file it comes from", NULL },
    };
    if (i < TASKS_OF_TEXT)
        return of_text[i];
    const Synthetic *made = choice_rows(i);

    return made ? (Choice){ made->name, made->summary, NULL } : (Choice){ 0 };
}
