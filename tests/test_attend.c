/*
 * ./attend as it lies in the root, or ./attend64 in the proof build: files in,
 * files out, against the same mix in this process. What else its command line
 * refuses is in programs.sh.
 */
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- the program -------------------------------------------------------------------------------
 */

enum { WORDS = 24 };
static const char *const program = sizeof(real) == sizeof(double) ? "./attend64" : "./attend";
static const char *word[WORDS]; /* of the command line, and NULL */

#define WITH(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void execute(const char *path)
{
    execv(path, (char *const *)(uintptr_t)word);
    _exit(127);
}

/* attend --attn NAME, the words, in, out: its exit code, and in `said` what it said. */
static int attend(const char *name, const char *const *more)
{
    static char in[400], out[400];
    int n = 0;

    strcpy(in, in_folder("in.safetensors"));
    strcpy(out, in_folder("out.safetensors"));
    word[n++] = program, word[n++] = "--attn", word[n++] = name;
    while (*more && n < WORDS - 3)
        word[n++] = *more++;
    word[n++] = in, word[n++] = out, word[n] = NULL;
    return exit_code_of(execute, program);
}

/* What it wrote. */
static Safetensors *attended(const char *name, const char *const *more)
{
    const int code = attend(name, more);

    ck_assert_msg(code == 0 && !*said, "%s: exit %d: %s", name, code, said);
    ck_assert_int_eq(files(false), 2);
    return safetensors_read(in_folder("out.safetensors"));
}

/* It ends with that code and one line that has the words in it, and writes nothing. */
static void check_refused(const char *name, const char *const *more, int code, const char *words)
{
    const int got = attend(name, more);
    const char *end = strchr(said, '\n');

    ck_assert_msg(got == code, "exit %d instead of %d: %s", got, code, said);
    ck_assert_msg(strstr(said, words) != NULL, "no '%s' in: %s", words, said);
    ck_assert_msg(strncmp(said, "attn.c: error: ", 15) == 0 && end && !end[1], "%s", said);
    ck_assert_int_eq(files(false), 1);
}

/* --- what it is given --------------------------------------------------------------------------
 */

/* B, T, H, d, e, m in a shape are what a Case has, and x is 2d. */
static const char *const shapes[MIX_OPERANDS] = {
    [MIX_Q] = "BTHd",     [MIX_K] = "BTHd",    [MIX_V] = "BTHe",
    [MIX_OMEGA] = "Hmd",  [MIX_POOL_Q] = "Hd", [MIX_POOL_K] = "Hd",
    [MIX_CONCAT] = "Hdx", [MIX_QL] = "BTHd",   [MIX_KL] = "BTHd",
};

typedef struct {
    const Attention *a;
    Mix mix;
    Tensor *dout;
    int B, T, H, D, E;
} Case;

static int size_of(const Case *c, char letter)
{
    static const char letters[] = "BTHdexm";
    const int size[] = { c->B, c->T, c->H, c->D, c->E, 2 * c->D, 10 };

    return size[strchr(letters, letter) - letters];
}

static Tensor *tensor(Arena *mem, const Case *c, const char *shape, uint64_t seed)
{
    int dim[4], n = 0;

    for (; shape[n]; n++)
        dim[n] = size_of(c, shape[n]);
    return leaf(mem, seed, 0.7, n, dim);
}

/* Three sequences of 2 heads: whole, empty and half, if padded. */
static Case case_new(Arena *mem, const Attention *a, Settings set, int T)
{
    Case c = { .a = a, .mix = { .set = set }, .B = 3, .T = T, .H = 2, .D = 6 };

    c.E = a->frame == FRAME_POOLED ? c.D : 5;
    for (MixOperand i = MIX_Q; i < MIX_OPERANDS; i++)
        if (mix_needs(a, set, i))
            *mix_operand(&c.mix, i) = tensor(mem, &c, shapes[i], 40 + (uint64_t)i);
    c.dout = tensor(mem, &c, "BTHe", 60);
    return c;
}

static void pad(Arena *mem, Case *c)
{
    int *length = arena_take(mem, (size_t)c->B * sizeof *length);

    length[0] = c->T, length[1] = 0, length[2] = (c->T + 1) / 2;
    c->mix.length = length;
}

static Entry entry_of(const char *name, const Tensor *t)
{
    Entry e = { .name = name,
                .dtype = in_double ? DTYPE_F64 : DTYPE_F32,
                .ndim = t->ndim,
                .data = t->data,
                .bytes = t->n * sizeof(real) };

    for (int d = 0; d < t->ndim; d++)
        e.dim[d] = (size_t)t->dim[d];
    return e;
}

/* The entries of a case: operands, lengths if it is padded, dout if `gradients`. */
static int entries_of(Case *c, bool gradients, Entry *entry)
{
    int n = 0;

    for (MixOperand i = MIX_Q; i < MIX_OPERANDS; i++)
        if (*mix_operand(&c->mix, i))
            entry[n++] = entry_of(mix_operand_names[i], *mix_operand(&c->mix, i));
    if (c->mix.length)
        entry[n++] =
            (Entry){ "lengths", DTYPE_I32, 1, { (size_t)c->B }, c->mix.length, (size_t)c->B * 4 };
    if (gradients)
        entry[n++] = entry_of("dout", c->dout);
    return n;
}

static void give(const Entry *entry, int n)
{
    files(true);
    safetensors_write(in_folder("in.safetensors"), entry, n, NULL, 0);
}

static void give_case(Case *c, bool gradients)
{
    Entry entry[MIX_OPERANDS + 2];

    give(entry, entries_of(c, gradients, entry));
}

/* --- what it should make of that ---------------------------------------------------------------
 */

/* The entry of that name and shape, whose numbers are copied to where they are aligned. */
static real *got(Arena *mem, const Safetensors *s, const char *name, const Tensor *like)
{
    const Entry *e = safetensors_find(s, name);
    real *to = arena_take(mem, like->n * sizeof *to);

    ck_assert_msg(e != NULL, "there is no %s", name);
    const Entry want = entry_of(name, like);
    ck_assert_int_eq(e->dtype, want.dtype);
    ck_assert_int_eq(e->ndim, want.ndim);
    for (int d = 0; d < e->ndim; d++)
        ck_assert_uint_eq(e->dim[d], want.dim[d]);
    return memcpy(to, e->data, e->bytes);
}

static void check_bits(const Safetensors *s, const Case *c, const char *name, const Tensor *like,
                       const real *want)
{
    Arena *mem = arena_new();

    ck_assert_msg(same_bits(got(mem, s, name, like), want, like->n), "%s: %s", c->a->name, name);
    arena_free(mem);
}

/* All that the file should have: out and gradients, to the bit. */
static void check_results(Case *c, const Safetensors *s)
{
    Tape tape = tape_open(2);
    Tensor *y = attention_mix(c->a, &tape, c->mix);
    int n = 1;

    check_bits(s, c, "out", y, y->data);
    tape_backward(&tape, y, c->dout->data);
    for (MixOperand i = MIX_Q; i < MIX_OPERANDS; i++) {
        const Tensor *x = *mix_operand(&c->mix, i);
        char name[20];

        if (!x || i == MIX_OMEGA)
            continue;
        snprintf(name, sizeof name, "d%s", mix_operand_names[i]);
        check_bits(s, c, name, x, x->grad);
        n++;
    }
    ck_assert_int_eq(s->entries, n);
    tape_close(&tape);
}

/* What a mechanism can be told, for those that can be told it. */
static const struct {
    unsigned bit;
    const char *words[2];
    Settings set;
    const char *key, *value; /* of the metadata */
} told[] = {
    { ~0u, { NULL }, { 0 }, "attnc.causal", "false" },
    { TAKES_SCALE, { "--scale", "entropy" }, { .scale = SCALE_ENTROPY }, "attnc.scale", "entropy" },
    { TAKES_SCALE, { "--scale", "logn" }, { .scale = SCALE_LOGN }, "attnc.base", "512" },
    { TAKES_NORM, { "--norm", "fixed" }, { .norm = GAU_FIXED }, "attnc.norm", "fixed" },
    { TAKES_NORM, { "--norm", "sum" }, { .norm = GAU_SUM }, "attnc.norm", "sum" },
    { TAKES_NORM, { "--norm", "entropy" }, { .norm = GAU_ENTROPY }, "attnc.norm", "entropy" },
    { TAKES_INTERACTION,
      { "--interaction", "add" },
      { .interaction = INTERACTION_ADD },
      "attnc.interaction",
      "add" },
    { TAKES_INTERACTION,
      { "--interaction", "concat" },
      { .interaction = INTERACTION_CONCAT },
      "attnc.interaction",
      "concat" },
    { TAKES_BASE, { "--base", "5" }, { .base = 5 }, "attnc.base", "5" },
    { TAKES_WINDOW, { "--window", "3" }, { .window = 3 }, "attnc.window", "3" },
    { TAKES_HORIZON, { "--horizon", "40" }, { .horizon = 40 }, "attnc.horizon", "40" },
    { TAKES_CHUNK, { "--chunk", "4" }, { .chunk = 4 }, "attnc.chunk", "4" },
    { TAKES_CHUNK, { "--chunk", "0" }, { 0 }, "attnc.chunk", "256" },
    { TAKES_ROPE, { "--rope" }, { .rope = true }, "attnc.rope", "true" },
    { TAKES_ROPE, { "--rope" }, { .rope = true }, "attnc.rope_scale", "none" },
    { TAKES_ROPE,
      { "--rope", "--rope-scale=linear:2.5" },
      { .rope = true, .rope_scale = { ROPE_LINEAR, 2.5 } },
      "attnc.rope_scale",
      "linear:2.5" },
    { TAKES_ROPE,
      { "--rope", "--rope-scale=ntk:4" },
      { .rope = true, .rope_scale = { ROPE_NTK, 4 } },
      "attnc.rope_scale",
      "ntk:4" },
};

static bool can_be_told(const Attention *a, int i)
{
    return told[i].bit == ~0u || (a->takes & told[i].bit);
}

/* _i: causal, padded */
START_TEST(the_results_are_those_of_the_mix_to_the_bit)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(told); i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, told[i].set, 13);
            const char *causal = _i & 1 ? "--causal" : "--no-causal";

            c.mix.causal = _i & 1;
            if (_i & 2)
                pad(mem, &c);
            give_case(&c, true);
            if (can_be_told(*a, i)) {
                Safetensors *s =
                    attended((*a)->name, WITH(causal, told[i].words[0], told[i].words[1]));
                check_results(&c, s);
                safetensors_free(s);
            }
            arena_free(mem);
        }
}
END_TEST

START_TEST(without_dout_there_is_the_result_alone)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Case c = case_new(mem, *a, (Settings){ 0 }, 13);
        Tape tape = tape_open(1);

        give_case(&c, false);
        Safetensors *s = attended((*a)->name, WITH("--threads", "1"));
        Tensor *y = attention_mix((*a), &tape, c.mix);
        check_bits(s, &c, "out", y, y->data);
        ck_assert_int_eq(s->entries, 1);
        safetensors_free(s);
        tape_close(&tape);
        arena_free(mem);
    }
}
END_TEST

START_TEST(the_metadata_say_how_it_was_computed)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(told); i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, told[i].set, 4);

            give_case(&c, false);
            if (!can_be_told(*a, i)) {
                check_refused((*a)->name, WITH(told[i].words[0], told[i].words[1]), EXIT_USAGE,
                              "means nothing to");
            } else {
                Safetensors *s = attended((*a)->name, WITH(told[i].words[0], told[i].words[1]));

                ck_assert_str_eq(safetensors_meta(s, "attnc.attn"), (*a)->name);
                ck_assert_str_eq(safetensors_meta(s, told[i].key), told[i].value);
                safetensors_free(s);
            }
            arena_free(mem);
        }
}
END_TEST

/* --- the matrix --------------------------------------------------------------------------------
 */

/* A (B, H, T, T) times v, as out (B, T, H, E) has it, in double. */
static double *product(Arena *mem, const Case *c, const real *A)
{
    double *o = arena_zeros(mem, c->mix.v->n * sizeof *o), *to = o;

    for (int b = 0; b < c->B; b++)
        for (int i = 0; i < c->T; i++)
            for (int h = 0; h < c->H; h++, to += c->E)
                for (int j = 0; j < c->T; j++) {
                    const int row = (b * c->H + h) * c->T + i, at = (b * c->T + j) * c->H + h;

                    for (int e = 0; e < c->E; e++)
                        to[e] += (double)A[row * c->T + j] * (double)c->mix.v->data[at * c->E + e];
                }
    return o;
}

/* Weights of both signs cancel: what is lost by that depends on the order of the sums. */
static double order_tolerance(const Attention *a)
{
    const bool cancels = strcmp(a->name, "identity") == 0 || strcmp(a->name, "leaky") == 0;

    return (cancels ? 10 : 1) * forward_tolerance;
}

/* A is 0 for what is not seen, and A v is out. */
static void check_product(Arena *mem, const Case *c, const Safetensors *s)
{
    Tensor like = { .ndim = 4, .dim = { c->B, c->H, c->T, c->T } };

    like.n = (size_t)(c->B * c->H * c->T * c->T);
    const real *A = got(mem, s, "A", &like), *out = got(mem, s, "out", c->mix.v);
    for (size_t at = 0; at < like.n; at++) {
        const int T = c->T, j = (int)at % T, i = (int)at / T % T, b = (int)at / T / T / c->H;

        if ((c->mix.causal && j > i) || (c->mix.length && j >= c->mix.length[b]))
            ck_assert_msg(A[at] == 0, "%s: %d sees %d", c->a->name, i, j);
    }
    check_close(c->a->name, out, product(mem, c, A), c->mix.v->n, order_tolerance(c->a));
}

static void check_matrix(Arena *mem, Case *c)
{
    Safetensors *s = attended(c->a->name, WITH("--matrix", c->mix.causal ? "--causal" : NULL));

    check_product(mem, c, s);
    ck_assert_int_eq(s->entries, 2);
    safetensors_free(s);
}

/* Some columns at a time: 64, and what is left. */
START_TEST(the_matrix_times_v_is_the_result)
{
    static const int sizes[] = { 1, 13, 64, 150 };

    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, (Settings){ 0 }, sizes[i]);

            c.mix.causal = _i & 1;
            if (_i & 2)
                pad(mem, &c);
            give_case(&c, false);
            if ((*a)->matrix)
                check_matrix(mem, &c);
            else
                check_refused((*a)->name, WITH("--matrix"), EXIT_USAGE, "weighted sum");
            arena_free(mem);
        }
}
END_TEST

/* --- steps -------------------------------------------------------------------------------------
 */

static void check_steps(Case *c, int i)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    const char *too = c->a->matrix ? "--matrix" : "--steps";
    Safetensors *s = attended(c->a->name, WITH("--steps", too, told[i].words[0], told[i].words[1]));
    Tensor *y = attention_mix(c->a, &tape, c->mix);
    const real *out = got(mem, s, "out", y);

    check_close(c->a->name, out, doubles(mem, y->data, y->n), y->n, order_tolerance(c->a));
    tape_backward(&tape, y, c->dout->data);
    for (MixOperand j = MIX_Q; j <= MIX_V; j++) {
        const Tensor *x = *mix_operand(&c->mix, j);

        check_bits(s, c, (const char *[]){ "dq", "dk", "dv" }[j], x, x->grad);
    }
    if (c->a->matrix)
        check_product(mem, c, s);
    ck_assert_str_eq(safetensors_meta(s, "attnc.causal"), "true");
    safetensors_free(s);
    tape_close(&tape);
    arena_free(mem);
}

/* _i: padded */
START_TEST(steps_are_the_causal_result)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(told); i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, told[i].set, 13);

            c.mix.causal = true;
            if (_i)
                pad(mem, &c);
            give_case(&c, true);
            if (can_be_told(*a, i))
                check_steps(&c, i);
            arena_free(mem);
        }
}
END_TEST

/* --- what it takes, and what not ---------------------------------------------------------------
 */

/* The same numbers in the type that reals are not. */
static void retype(Arena *mem, Entry *e)
{
    const size_t n = e->bytes / sizeof(real);
    float *narrow = arena_take(mem, n * sizeof *narrow);

    for (size_t i = 0; i < n; i++)
        narrow[i] = (float)((const real *)e->data)[i];
    e->data = in_double ? (const void *)narrow : doubles(mem, e->data, n);
    e->dtype = in_double ? DTYPE_F32 : DTYPE_F64;
    e->bytes = n * dtype_size(e->dtype);
}

/* Numbers that a float holds, operands in the other type than dout, and lengths in I64. */
START_TEST(either_type_of_number_is_taken)
{
    Arena *mem = arena_new();
    Case c = case_new(mem, &attention_softmax, (Settings){ 0 }, 13);
    int64_t wide[3];
    Entry entry[MIX_OPERANDS + 2];

    pad(mem, &c);
    const int n = entries_of(&c, true, entry);
    for (MixOperand i = MIX_Q; i <= MIX_V; i++) {
        Tensor *x = *mix_operand(&c.mix, i);

        for (size_t j = 0; j < x->n; j++)
            x->data[j] = R((float)x->data[j]);
        retype(mem, &entry[i]);
    }
    for (int b = 0; b < 3; b++)
        wide[b] = c.mix.length[b];
    entry[3].dtype = DTYPE_I64, entry[3].data = wide, entry[3].bytes = sizeof wide;
    give(entry, n);
    Safetensors *s = attended("softmax", WITH(NULL));
    check_results(&c, s);
    safetensors_free(s);
    arena_free(mem);
}
END_TEST

START_TEST(numbers_that_are_not_finite_are_computed_with)
{
    Arena *mem = arena_new();
    Case c = case_new(mem, &attention_softmax, (Settings){ 0 }, 5);

    c.mix.v->data[0] = R(nan(""));
    c.mix.v->data[7] = R(HUGE_VAL);
    give_case(&c, true);
    Safetensors *s = attended("softmax", WITH(NULL));
    const real *out = got(mem, s, "out", c.mix.v);
    ck_assert(isnan(out[0]) && isinf(out[7]));
    safetensors_free(s);
    arena_free(mem);
}
END_TEST

/* q, k (2, 7, 3, 4), v (2, 7, 3, 5); one row is put in, or put in for the other of its name. */
typedef struct {
    Entry e; /* without dimensions it is a single number */
    const char *words, *option;
} Bad;

static const unsigned char zeros[8 * 2 * 9 * 4 * 5];
static const int too_long[] = { 7, 8 }, negative[] = { 7, -1 };
static const int64_t huge[] = { (int64_t)1 << 32, 7 };

static const Bad bad[] = {
    { { "q", DTYPES, 0, { 0 }, NULL, 0 },
      "in.safetensors has no tensor q, which softmax needs: [B,N,H,d]",
      NULL },
    { { "k", DTYPES, 0, { 0 }, NULL, 0 }, "no tensor k, which softmax needs: [2,7,3,4]", NULL },
    { { "v", DTYPES, 0, { 0 }, NULL, 0 }, "no tensor v, which softmax needs: [2,7,3,e]", NULL },
    { { "q", DTYPE_F32, 0, { 0 }, zeros, 0 }, "q is [], but it must be [B,N,H,d]", NULL },
    { { "q", DTYPE_F32, 3, { 7, 3, 4 }, zeros, 0 }, "q is [7,3,4], but it must be", NULL },
    { { "q", DTYPE_F32, 5, { 1, 2, 7, 3, 4 }, zeros, 0 }, "q is [1,2,7,3,4], but it must", NULL },
    { { "q", DTYPE_F32, 8, { 1, 1, 1, 1, 1, 1, 1, 1 }, zeros, 0 }, "q is [1,1,1,1,1,1,1,1]", NULL },
    { { "q", DTYPE_I32, 4, { 2, 7, 3, 4 }, zeros, 0 }, "q is in I32, but it must be in F32", NULL },
    { { "q", DTYPE_U8, 4, { 2, 7, 3, 4 }, zeros, 0 }, "q is in U8, but", NULL },
    { { "k", DTYPE_F32, 4, { 2, 7, 3, 5 }, zeros, 0 },
      "in.safetensors: k is [2,7,3,5], but q is [2,7,3,4]: they must be the same",
      NULL },
    { { "k", DTYPE_F64, 4, { 2, 9, 3, 4 }, zeros, 0 }, "k is [2,9,3,4], but q is", NULL },
    { { "k", DTYPE_F64, 1, { 4 }, zeros, 0 }, "k is [4], but q is", NULL },
    { { "v", DTYPE_F64, 4, { 2, 7, 2, 5 }, zeros, 0 },
      "v is [2,7,2,5], but q is [2,7,3,4]: it must be [2,7,3,e]",
      NULL },
    { { "v", DTYPE_F32, 4, { 1, 7, 3, 5 }, zeros, 0 }, "it must be [2,7,3,e]", NULL },
    { { "v", DTYPE_F32, 3, { 2, 7, 3 }, zeros, 0 }, "it must be [2,7,3,e]", NULL },
    { { "dout", DTYPE_F32, 4, { 2, 7, 3, 4 }, zeros, 0 },
      "dout is [2,7,3,4], but v is [2,7,3,5]: they must be the same",
      NULL },
    { { "dout", DTYPE_I64, 4, { 2, 7, 3, 5 }, zeros, 0 }, "dout is in I64, but", NULL },
    { { "lengths", DTYPE_F32, 1, { 2 }, zeros, 0 },
      "lengths is in F32, but it must be in I32 or I64",
      NULL },
    { { "lengths", DTYPE_I32, 1, { 3 }, zeros, 0 },
      "lengths is [3], but q is [2,7,3,4]: it must be [2]",
      NULL },
    { { "lengths", DTYPE_I32, 2, { 2, 1 }, zeros, 0 }, "lengths is [2,1]", NULL },
    { { "lengths", DTYPE_I32, 0, { 0 }, zeros, 0 }, "lengths is [], but q", NULL },
    { { "lengths", DTYPE_I32, 1, { 2 }, too_long, 0 },
      "lengths[1] is 8, but it must be from 0 to 7",
      NULL },
    { { "lengths", DTYPE_I32, 1, { 2 }, negative, 0 }, "lengths[1] is -1, but", NULL },
    { { "lengths", DTYPE_I64, 1, { 2 }, huge, 0 }, "lengths[0] is 4294967296, but", NULL },
    { { "q", DTYPE_F32, 4, { 2, 7, 3, 5 }, zeros, 0 },
      "--rope turns pairs of numbers, but d is 5: it must be even",
      "--rope" },
};

/* Three good tensors, with `e` among them or in place of the one of its name. */
static void give_with(const Bad *b)
{
    Entry entry[5] = {
        { "q", DTYPE_F32, 4, { 2, 7, 3, 4 }, zeros, 2 * 7 * 3 * 4 * sizeof(float) },
        { "k", DTYPE_F32, 4, { 2, 7, 3, 4 }, zeros, 2 * 7 * 3 * 4 * sizeof(float) },
        { "v", DTYPE_F64, 4, { 2, 7, 3, 5 }, zeros, 2 * 7 * 3 * 5 * sizeof(double) },
    };
    Entry e = b->e;
    int at = 0, n = 3;

    while (at < 3 && strcmp(entry[at].name, e.name) != 0)
        at++;
    if (e.dtype == DTYPES) {
        entry[at] = entry[--n];
    } else {
        e.bytes = dtype_size(e.dtype);
        for (int d = 0; d < e.ndim; d++)
            e.bytes *= e.dim[d];
        entry[at] = e;
        n = at < n ? n : at + 1;
    }
    if (b->option) { /* k as q, so that the option is what does not fit */
        entry[1] = entry[0];
        entry[1].name = "k";
    }
    give(entry, n);
}

START_TEST(a_tensor_that_does_not_fit_is_named_with_what_would)
{
    give_with(&bad[_i]);
    check_refused("softmax", WITH(bad[_i].option), EXIT_DATA, bad[_i].words);
}
END_TEST

/* Every operand of every mechanism: left out, and with one head more. */
START_TEST(every_operand_is_checked)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        const Settings set = { .interaction = INTERACTION_CONCAT };
        const bool concat = (*a)->takes & TAKES_INTERACTION;
        Case c = case_new(mem, *a, concat ? set : (Settings){ 0 }, 5);
        Entry entry[MIX_OPERANDS + 2], less[MIX_OPERANDS + 2];
        const int n = entries_of(&c, false, entry);
        const char *const *more = concat ? WITH("--interaction", "concat") : WITH(NULL);

        for (int i = 0; i < n; i++) {
            const int at = entry[i].ndim == 4 ? 2 : 0; /* where H is */
            char words[100];

            memcpy(less, entry, sizeof entry);
            less[i] = entry[n - 1];
            give(less, n - 1);
            snprintf(words, sizeof words, "no tensor %s, which %s needs", entry[i].name,
                     (*a)->name);
            check_refused((*a)->name, more, EXIT_DATA, words);
            less[n - 1] = entry[n - 1], less[i] = entry[i];
            less[i].bytes = less[i].bytes / less[i].dim[at] * (less[i].dim[at] + 1);
            less[i].dim[at]++;
            less[i].data = arena_zeros(mem, less[i].bytes);
            give(less, n);
            snprintf(words, sizeof words, ": %s is [", i == 0 ? "k" : entry[i].name);
            check_refused((*a)->name, more, EXIT_DATA, words);
        }
        arena_free(mem);
    }
}
END_TEST

/* Fastformer multiplies v with what it makes of q and k, number by number. */
START_TEST(values_as_wide_as_keys_where_they_are_multiplied)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Case c = case_new(mem, *a, (Settings){ 0 }, 5);

        if ((*a)->frame == FRAME_POOLED) {
            c.E = c.D + 1;
            c.mix.v = tensor(mem, &c, "BTHe", 1);
            give_case(&c, false);
            check_refused((*a)->name, WITH(NULL), EXIT_DATA, ": v is [3,5,2,7], but q is");
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(a_tensor_for_another_attention_is_ignored_and_an_unknown_one_is_warned_of)
{
    static const Bad other = { { "omega", DTYPE_U8, 1, { 9 }, zeros, 9 }, NULL, NULL },
                     unknown = { { "dou\nt", DTYPE_U8, 1, { 9 }, zeros, 9 }, NULL, NULL };

    give_with(&other);
    ck_assert_int_eq(attend("softmax", WITH(NULL)), 0);
    ck_assert_str_eq(said, "");
    give_with(&unknown);
    ck_assert_int_eq(attend("softmax", WITH(NULL)), 0);
    ck_assert_msg(strncmp(said, "attn.c: warning: ", 17) == 0, "%s", said);
    ck_assert_msg(strstr(said, "the tensor dou?t: it is ignored\n") != NULL, "%s", said);
    ck_assert_int_eq(files(false), 2);
}
END_TEST

Suite *suite_attend(void)
{
    Suite *s = suite_create("attend");
    TCase *t = with_folder(s, "results");

    tcase_add_loop_test(t, the_results_are_those_of_the_mix_to_the_bit, 0, 4);
    tcase_add_test(t, without_dout_there_is_the_result_alone);
    tcase_add_test(t, the_metadata_say_how_it_was_computed);
    tcase_add_loop_test(t, the_matrix_times_v_is_the_result, 0, 4);
    tcase_add_loop_test(t, steps_are_the_causal_result, 0, 2);
    t = with_folder(s, "what is taken");
    tcase_add_test(t, either_type_of_number_is_taken);
    tcase_add_test(t, numbers_that_are_not_finite_are_computed_with);
    tcase_add_loop_test(t, a_tensor_that_does_not_fit_is_named_with_what_would, 0, COUNT(bad));
    tcase_add_test(t, every_operand_is_checked);
    tcase_add_test(t, values_as_wide_as_keys_where_they_are_multiplied);
    tcase_add_test(t, a_tensor_for_another_attention_is_ignored_and_an_unknown_one_is_warned_of);
    return s;
}
