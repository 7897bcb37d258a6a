/*
 * Runs ./attend, or ./attend64 in the proof build, on cases generated from the rows: every
 * attention with each of its settings at each value worth trying.
 */
#ifndef TESTS_ATTEND_H
#define TESTS_ATTEND_H

#include "model/safetensors.h"
#include "tests/tests.h"

/* One option and its value. */
typedef struct {
    const Setting *setting; /* NULL: none, or RoPE */
    int value;
    const char *rope; /* its scale, or "none"; NULL: without RoPE */
    RopeScale scale;
} Trial;

enum { TRIALS = 200 };
extern Trial trials[TRIALS]; /* no option; RoPE; every setting, value by value */
extern int trial_count;

/* Appends the settings; called before any test runs. */
void trials_init(void);

/* Whether the attention takes the option. */
bool can_try(const Attention *a, const Trial *t);

/* Whether case `part` of the trial is this build's: by default both have all, of others a half;
 * under a sanitizer, a sixth. */
bool is_of_build(const Trial *t, int part);

/* A value as options and metadata have it. */
const char *word_of(const Setting *s, int value);

/* A mix with that option, and whatever other choice makes it matter. */
typedef struct {
    const char *called; /* instead of its name; NULL: by it */
    Mix mix;
    const Trial *trial;
    Tensor *dout;
    int B, T, H, D, E;
} Case;

/* Three sequences of 2 heads. */
Case case_new(Arena *mem, const Attention *a, const Trial *t, int T);
Tensor *case_tensor(Arena *mem, const Case *c, const char *shape, uint64_t seed);

/* Lengths: whole, empty and half. */
void case_pad(Arena *mem, Case *c);

/* Bits of i: causal, padded. False: the attention cannot do that. */
bool case_mask(Arena *mem, Case *c, int i);

/* The tensors of a case: operands, lengths if it is padded, dout if `gradients`. */
enum { ENTRIES = OPERANDS_MAX + 2 };
int entries_of(Case *c, bool gradients, Entry *entry);
Entry entry_of(const char *name, const Tensor *t);

/* Writes the input file. */
void give(const Entry *entry, int n);
void give_case(Case *c, bool gradients);

extern const char *const program;
#define WITH(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Runs attend --attn NAME [options of the case] [more] IN OUT; returns its exit code. */
int attend(const Case *c, const char *const *more);

/* The same, which must succeed; returns OUT. */
Safetensors *attended(const Case *c, const char *const *more);

/* The same, which must fail with that code and one line that contains `why`, and write nothing. */
void check_refused(const Case *c, const char *const *more, int code, const char *why);

/* The entry of that name and shape, whose numbers are copied to where they are aligned. */
real *result_of(Arena *mem, const Safetensors *s, const char *name, const Tensor *like);

/* That an entry has these numbers, to the bit; and that all have those of the mix: out, and all
 * gradients, and nothing else. */
void check_bits(const Safetensors *s, const Case *c, const char *name, const Tensor *like,
                const real *want);
void check_results(Case *c, const Safetensors *s);

#endif
