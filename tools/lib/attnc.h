/*
 * The library: attention with gradients on your own arrays, and models for your own training loop.
 *
 *     attnc_attention  a mechanism, its settings, its threads: q, k, v -> out, dout -> dq, dk, dv
 *     attnc_model      a transformer with its optimiser: tokens -> loss -> gradients -> update
 *
 * Options are written as on the command line of ./attend, ./train and ./sample: "--attn cosformer
 * --causal --threads 2"; NULL: none. doc/library.md explains them. Arrays are row-major and owned
 * by the caller. Another pointer may be NULL only where it says so below; elsewhere that is an
 * error.
 *
 * Functions that return an int return ATTNC_OK or an error code; those that return a pointer return
 * NULL on failure. attnc_error() then returns a one-line message. The library prints nothing and
 * does not end the process, with these exceptions: it warns on stderr if threads cannot be started,
 * if a text does not suit its tokenizer, and if the last checkpoint is damaged and the one before
 * it is opened; it aborts on an internal inconsistency, and the system may kill a process that uses
 * too much memory. After ATTNC_MEMORY an object can only be freed. A failed call may leak memory
 * that it allocated.
 *
 * Use an object from one thread at a time; different objects can be used at the same time.
 */
#ifndef ATTNC_H
#define ATTNC_H

#include <stddef.h>

#define ATTNC_VERSION_MAJOR 0
#define ATTNC_VERSION_MINOR 2
#define ATTNC_VERSION "0.2"

#if defined(__GNUC__)
#define ATTNC_API __attribute__((visibility("default")))
#else
#define ATTNC_API
#endif

/* The library computes in float; only its own tests compile it in double. */
#ifndef ATTNC_REAL
#define ATTNC_REAL float
#endif
typedef ATTNC_REAL attnc_real;

#ifdef __cplusplus
extern "C" {
#endif

/* The programs exit with the same numbers. */
enum {
    ATTNC_OK = 0,
    ATTNC_FAILED = 1, /* a gradient or a weight is not finite */
    ATTNC_USAGE = 2,  /* an argument cannot be used */
    ATTNC_MEMORY = 3, /* not enough memory */
    ATTNC_IO = 4,     /* a file cannot be read or written */
    ATTNC_DATA = 5    /* a file has invalid contents */
};

ATTNC_API const char *attnc_version(void); /* the library's; the macro has this header's */

/* The error message of the last call that failed in this thread. */
ATTNC_API const char *attnc_error(void);

/* The i-th value of --attn, and a one-line summary of it; NULL past the end. */
ATTNC_API const char *attnc_mechanism(int i);
ATTNC_API const char *attnc_mechanism_summary(int i);

/*
 * Attention. q and k are (B, N, H, d), v and out (B, N, H, e): B sequences of N positions, H heads.
 * Some mechanisms take more operands, such as fastformer's pool_q, whose formulas and ranges are at
 * the head of ops/attention/NAME.c. Decays (g, ga) are logarithms and at most 0: larger ones, or
 * keys of deltanet and its relatives that are longer than 1, may give results that are not finite.
 *
 * Options: --attn NAME, --causal, --rope, --rope-scale KIND:S, --threads N (0, the default: all
 * available processors), --seed N (for random operands), --layer L and --layers N (for decays that
 * depend on the layer), --features N (random directions per head), and the settings of the
 * mechanism.
 */
typedef struct attnc_attention attnc_attention;

ATTNC_API attnc_attention *attnc_attention_new(const char *options);
ATTNC_API void attnc_attention_free(attnc_attention *a);

/* Sets the sizes and unbinds all arrays. */
ATTNC_API int attnc_attention_shape(attnc_attention *a, int B, int N, int H, int d, int e);

/* The name of operand i; dim receives its dimensions (0 past the last). NULL past the end. */
ATTNC_API const char *attnc_attention_operand(const attnc_attention *a, int i, int dim[4]);

/*
 * Sets an operand's values x, and the array dx for its gradient (NULL: not wanted). Both arrays
 * must remain valid until the last call that uses them. An operand that is not learned, such as
 * performer's omega, has no gradient; if x is not given, it is drawn at random with --seed.
 */
ATTNC_API int attnc_attention_bind(attnc_attention *a, const char *name, const attnc_real *x,
                                   attnc_real *dx);

/* Computes out. `length` (B): in sequence b, keys from position length[b] on are padding; NULL: no
 * padding. */
ATTNC_API int attnc_attention_forward(attnc_attention *a, const int *length, attnc_real *out);

/* From the gradient of the last out, computes those of all operands; once after each forward. */
ATTNC_API int attnc_attention_backward(attnc_attention *a, const attnc_real *dout);

/*
 * Models. Options: --attn and its settings, --n-layer, --n-head, --n-embd, --block-size and the
 * other options of ./train that describe a model; --task causal, mlm or classify, with --classes N;
 * --optimizer and its parameters, --ema, --freeze, --learning-rate, --grad-clip; --seed, --threads,
 * --recompute, --precision.
 *
 * The vocabulary is that of --tokenizer (byte by default), learned from `text`, which may be NULL
 * for bytes; or --vocab N, for your own tokens. mlm adds a mask token, the last.
 */
typedef struct attnc_model attnc_model;

ATTNC_API attnc_model *attnc_model_new(const char *options, const char *text, size_t bytes);

/* Opens a run's folder or a checkpoint, from ./train or attnc_model_save(), for use or further
 * training. Options: --best, --threads, --dropout, --learning-rate, --grad-clip, --recompute,
 * --precision. */
ATTNC_API attnc_model *attnc_model_open(const char *path, const char *options);
ATTNC_API void attnc_model_free(attnc_model *m);

/* A property of the model: "vocab", "context", "width", "layers", "heads", "classes", "parameters",
 * "outputs" (logits per prediction), "updates" (so far); -1 if there is no such property. */
ATTNC_API long long attnc_model_number(const attnc_model *m, const char *name);

/* B sequences of T tokens, T at most the context. With --pairs towers the halves of a sequence are
 * two texts, and there are 2 B lengths, of T / 2 at most. */
typedef struct {
    int B, T;
    const int *id;     /* (B, T) */
    const int *target; /* (B, T), -1: none; with --task classify (B) */
    const int *length; /* (B): tokens from here on are padding; NULL: no padding */
} attnc_batch;

/* Logits: (B, T, outputs), with --task classify (B, outputs). The targets are not read. */
ATTNC_API int attnc_model_logits(attnc_model *m, const attnc_batch *batch, attnc_real *logits);

/* The mean loss over the targets, in nats, with dropout; and its gradient times `scale`, once after
 * each loss, added to the gradients of earlier batches since the last step. */
ATTNC_API int attnc_model_loss(attnc_model *m, const attnc_batch *batch, double *loss);
ATTNC_API int attnc_model_backward(attnc_model *m, double scale);

/*
 * One update with this learning rate (0: --learning-rate); clears the gradients. `norm` (may be
 * NULL) receives the gradient norm before clipping to --grad-clip. If it is not finite, returns
 * ATTNC_FAILED and leaves the weights unchanged.
 */
ATTNC_API int attnc_model_step(attnc_model *m, double rate, double *norm);

/*
 * With --ema: `use` 1 switches to the averages of the weights, for logits, losses and samples; 0
 * switches back to the weights, which alone can be trained. Checkpoints contain both, and a model
 * opened from one starts with the averages.
 */
ATTNC_API int attnc_model_averages(attnc_model *m, int use);

/* A tensor of the model. Its data may be changed between calls. */
typedef struct {
    const char *name;
    int ndim, dim[4];
    attnc_real *data;
    const attnc_real *grad; /* NULL: no gradient at present */
} attnc_tensor;

/* The i-th tensor; ATTNC_USAGE past the end. */
ATTNC_API int attnc_model_tensor(const attnc_model *m, int i, attnc_tensor *tensor);

/* Writes a checkpoint that the programs can open; replaces `path`. ATTNC_FAILED if a weight is not
 * finite, and then `path` is as before. */
ATTNC_API int attnc_model_save(attnc_model *m, const char *path);

/*
 * Continues n > 0 tokens with `most` more, written to `out`. Options: --temperature, --top-k,
 * --top-p, --min-p, --seed, --extrapolate, as for ./sample.
 */
ATTNC_API int attnc_model_sample(attnc_model *m, const char *options, const int *prompt, int n,
                                 int *out, int most);

/* Writes the tokens of a text to `id`, which must have room for one per byte; returns their number,
 * or -1. And the bytes of a token, not 0-terminated; NULL if it has none. */
ATTNC_API long long attnc_model_encode(const attnc_model *m, const char *text, size_t bytes,
                                       int *id);
ATTNC_API const char *attnc_model_decode(const attnc_model *m, int token, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
