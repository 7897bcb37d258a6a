/*
 * ./attend: files in, files out, against the same mix in this process. What else its
 * command line refuses is in programs.sh.
 */
#include "tests/attend.h"

#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* _i: causal, padded */
START_TEST(the_results_are_those_of_the_mix_to_the_bit)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < trial_count; i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, &trials[i], 13);

            if (can_try(*a, &trials[i]) && is_of_build(&trials[i], _i) && case_mask(mem, &c, _i)) {
                give_case(&c, true);
                Safetensors *s = attended(&c, WITH(NULL));
                check_results(&c, s);
                safetensors_free(s);
            }
            arena_free(mem);
        }
}
END_TEST

START_TEST(without_dout_there_are_no_gradients)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Case c = case_new(mem, *a, trials, 13);
        Tape tape = tape_open(1);

        give_case(&c, false);
        Safetensors *s = attended(&c, WITH("--threads", "1"));
        Tensor *y = attention_mix(&tape, &c.mix);
        check_bits(s, &c, "out", y, y->data);
        ck_assert_int_eq(s->entries, 1);
        safetensors_free(s);
        tape_close(&tape);
        arena_free(mem);
    }
}
END_TEST

static void check_meta(const Safetensors *s, const char *key, const char *value)
{
    const char *is = safetensors_meta(s, key);

    ck_assert_msg(is && strcmp(is, value) == 0, "%s is %s, not %s", key, is ? is : "?", value);
}

/* Every setting of the mix is in the metadata, 0 as what it stands for. */
static void check_metadata(const Case *c, const Safetensors *s)
{
    const Attention *a = c->mix.attention;

    check_meta(s, "attnc.attn", a->name);
    check_meta(s, "attnc.causal", c->mix.causal ? "true" : "false");
    if (a->traits & CAN_ROPE) {
        check_meta(s, "attnc.rope", c->trial->rope ? "true" : "false");
        check_meta(s, "attnc.rope_scale", c->trial->rope ? c->trial->rope : "none");
    }
    for (const Setting *of = a->settings; of && of->name; of++) {
        const int value = setting(&c->mix.set, of->name);
        char key[64];

        snprintf(key, sizeof key, "attnc.%s", of->name);
        for (char *at = strchr(key, '-'); at; at = strchr(at, '-'))
            *at = '_';
        if (of->layer)
            ck_assert_msg(safetensors_meta(s, key) == NULL, "%s is of the layer", key);
        else
            check_meta(s, key, word_of(of, value ? value : of->zero));
    }
}

START_TEST(the_metadata_record_the_options)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < trial_count; i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, &trials[i], 4);

            if (can_try(*a, &trials[i]) && !spared(i + (int)(a - attentions), 5)) {
                give_case(&c, false);
                Safetensors *s = attended(&c, WITH(NULL));
                check_metadata(&c, s);
                safetensors_free(s);
            }
            arena_free(mem);
        }
}
END_TEST

/* One value of each setting, and RoPE. */
START_TEST(an_option_without_effect_on_the_attention_is_refused)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 1; i < trial_count; i++) {
            const Setting *s = trials[i].setting;
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, trials, 4);
            const char *value = s && s->kind != SETTING_FLAG ? word_of(s, trials[i].value) : NULL;
            char option[64];

            snprintf(option, sizeof option, "--%s", s ? s->name : "rope");
            if (!can_try(*a, &trials[i]) && (!s || s != trials[i - 1].setting) &&
                !spared(i + (int)(a - attentions), 7)) {
                give_case(&c, false);
                check_refused(&c, WITH(option, value), EXIT_USAGE, "does not apply to");
            }
            arena_free(mem);
        }
}
END_TEST

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
static double order_tolerance(const Case *c)
{
    return (c->mix.attention->traits & SIGNED ? 10 : 1) * forward_tolerance;
}

/* A is 0 for what is not seen, and A v is out. */
static void check_product(Arena *mem, const Case *c, const Safetensors *s)
{
    Tensor like = { .ndim = 4, .dim = { c->B, c->H, c->T, c->T } };

    like.n = (size_t)(c->B * c->H * c->T * c->T);
    const real *A = result_of(mem, s, "A", &like), *out = result_of(mem, s, "out", c->mix.v);
    for (size_t at = 0; at < like.n; at++) {
        const int T = c->T, j = (int)at % T, i = (int)at / T % T, b = (int)at / T / T / c->H;

        if ((c->mix.causal && j > i) || (c->mix.length && j >= c->mix.length[b]))
            ck_assert_msg(A[at] == 0, "%s: %d sees %d", c->mix.attention->name, i, j);
    }
    check_close(c->mix.attention->name, out, product(mem, c, A), c->mix.v->n, order_tolerance(c));
}

static void check_matrix(Arena *mem, const Case *c)
{
    Safetensors *s = attended(c, WITH("--matrix"));

    check_product(mem, c, s);
    ck_assert_int_eq(s->entries, 2);
    safetensors_free(s);
}

/* Some columns at a time: 64, and what is left. Each build has two of the masks of a length. */
START_TEST(the_matrix_times_v_is_the_result)
{
    static const int sizes[] = { 1, 13, 64, 150 };

    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, trials, sizes[i]);
            const bool can = (i + _i) % 2 == in_double && case_mask(mem, &c, _i);

            if (can)
                give_case(&c, false);
            if (can && ((*a)->traits & HAS_MATRIX))
                check_matrix(mem, &c);
            else if (can)
                check_refused(&c, WITH("--matrix"), EXIT_USAGE, "weighted sum");
            arena_free(mem);
        }
}
END_TEST

/* --steps implies --causal. */
static void check_steps(Case *c)
{
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    const bool matrix = c->mix.attention->traits & HAS_MATRIX;

    c->mix.causal = false;
    Safetensors *s = attended(c, WITH("--steps", matrix ? "--matrix" : "--steps"));
    c->mix.causal = true;
    Tensor *y = attention_mix(&tape, &c->mix);
    check_close(c->mix.attention->name, result_of(mem, s, "out", y), doubles(mem, y->data, y->n),
                y->n, order_tolerance(c));
    tape_backward(&tape, y, c->dout->data);
    for (int i = 0; i < 3; i++)
        check_bits(s, c, (const char *[]){ "dq", "dk", "dv" }[i], c->mix.x[i], c->mix.x[i]->grad);
    if (matrix)
        check_product(mem, c, s);
    check_meta(s, "attnc.causal", "true");
    safetensors_free(s);
    tape_close(&tape);
    arena_free(mem);
}

/* _i: padded */
START_TEST(steps_are_the_causal_result)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < trial_count; i++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, &trials[i], 13);

            if (_i)
                case_pad(mem, &c);
            if (attention_decodes(*a) && can_try(*a, &trials[i]) && is_of_build(&trials[i], _i)) {
                give_case(&c, true);
                check_steps(&c);
            }
            arena_free(mem);
        }
}
END_TEST

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
START_TEST(both_float_types_are_accepted)
{
    Arena *mem = arena_new();
    Case c = case_new(mem, &attention_softmax, trials, 13);
    int64_t wide[3];
    Entry entry[ENTRIES];

    case_pad(mem, &c);
    const int n = entries_of(&c, true, entry);
    for (int i = 0; i < 3; i++) {
        Tensor *x = c.mix.x[i];

        for (size_t j = 0; j < x->n; j++)
            x->data[j] = R((float)x->data[j]);
        retype(mem, &entry[i]);
    }
    for (int b = 0; b < 3; b++)
        wide[b] = c.mix.length[b];
    entry[3].dtype = DTYPE_I64, entry[3].data = wide, entry[3].bytes = sizeof wide;
    give(entry, n);
    Safetensors *s = attended(&c, WITH(NULL));
    check_results(&c, s);
    safetensors_free(s);
    arena_free(mem);
}
END_TEST

START_TEST(infinities_and_nans_are_accepted)
{
    Arena *mem = arena_new();
    Case c = case_new(mem, &attention_softmax, trials, 5);

    c.mix.v->data[0] = R(nan(""));
    c.mix.v->data[7] = R(HUGE_VAL);
    give_case(&c, true);
    Safetensors *s = attended(&c, WITH(NULL));
    const real *out = result_of(mem, s, "out", c.mix.v);
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
      "--rope rotates pairs of numbers, but d is 5: it must be even",
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

static const Case plain = { .mix.attention = &attention_softmax, .trial = trials };

START_TEST(a_tensor_of_a_wrong_shape_is_named_with_the_right_shape)
{
    give_with(&bad[_i]);
    check_refused(&plain, WITH(bad[_i].option), EXIT_DATA, bad[_i].words);
}
END_TEST

static void check_missing(const Case *c, const Entry *entry, int n, int i)
{
    Entry less[ENTRIES];
    char why[100];

    memcpy(less, entry, sizeof less);
    less[i] = entry[n - 1];
    give(less, n - 1);
    snprintf(why, 100, "no tensor %s, which %s needs", entry[i].name, c->mix.attention->name);
    check_refused(c, WITH(NULL), EXIT_DATA, why);
}

/* One head more than there should be; if it is q's, then k is what does not fit. */
static void check_too_large(Arena *mem, const Case *c, const Entry *entry, int n, int i)
{
    Entry more[ENTRIES];
    char why[100];
    int H = 0;

    while (entry[i].dim[H] != (size_t)c->H) /* no other dimension is that small */
        H++;
    memcpy(more, entry, sizeof more);
    more[i].bytes = entry[i].bytes / entry[i].dim[H] * ++more[i].dim[H];
    more[i].data = arena_zeros(mem, more[i].bytes);
    give(more, n);
    snprintf(why, sizeof why, ": %s is [", i == 0 ? "k" : entry[i].name);
    check_refused(c, WITH(NULL), EXIT_DATA, why);
}

/* A decay that grows causes a warning. */
static void check_positive(Arena *mem, const Case *c, const Entry *entry, int n, int i)
{
    const real half = R(0.5);
    Entry more[ENTRIES];
    char why[100], *data = arena_zeros(mem, entry[i].bytes);

    memcpy(more, entry, sizeof more);
    memcpy(data, entry[i].data, entry[i].bytes);
    memcpy(data + sizeof half, &half, sizeof half);
    more[i].data = data;
    give(more, n);
    snprintf(why, sizeof why, ": number 1 of %s is 0.5, but it is a logarithm", entry[i].name);
    ck_assert_int_eq(attend(c, WITH(NULL)), 0);
    ck_assert_msg(strstr(said, why) != NULL, "no '%s' in: %s", why, said);
}

/* Each operand is tried once: by default, or with the setting that calls for it. */
static bool is_tried_with(const Operand *o, const Trial *t)
{
    if (o->with && t->setting)
        return strcmp(t->setting->name, o->with) == 0;
    return !o->with && !t->setting && !t->rope;
}

START_TEST(every_operand_is_checked)
{
    int decays = 0;

    for (const Attention *const *a = attentions; *a; a++)
        for (int t = 0; t < trial_count; t++) {
            Arena *mem = arena_new();
            Case c = case_new(mem, *a, &trials[t], 5);
            Entry entry[ENTRIES];
            const int n = entries_of(&c, false, entry);
            const Operand *o;

            for (int i = 0, at = 0; (o = attention_operand(*a, i)); at += c.mix.x[i++] != NULL)
                if (c.mix.x[i] && is_tried_with(o, &trials[t]) &&
                    !spared(i + (int)(a - attentions), 3)) {
                    check_missing(&c, entry, n, at);
                    check_too_large(mem, &c, entry, n, at);
                    if (o->decay)
                        check_positive(mem, &c, entry, n, at), decays++;
                }
            arena_free(mem);
        }
    ck_assert_int_gt(decays, 1);
}
END_TEST

/* Some mechanisms multiply v with what they make of q and k, number by number. */
START_TEST(values_as_wide_as_keys_where_they_are_multiplied)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Case c = case_new(mem, *a, trials, 5);

        if ((*a)->traits & V_AS_WIDE) {
            c.E = c.D + 1;
            c.mix.v = case_tensor(mem, &c, "BNHe", 1);
            give_case(&c, false);
            check_refused(&c, WITH(NULL), EXIT_DATA, ": v is [3,5,2,7], but q is");
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(a_tensor_for_another_attention_is_ignored)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (const Operand *o = (*a)->operands; o && o->name; o++) {
            give_with(&(Bad){ { o->name, DTYPE_U8, 1, { 9 }, zeros, 9 }, NULL, NULL });
            ck_assert_int_eq(attend(&plain, WITH(NULL)), 0);
            ck_assert_str_eq(said, "");
        }
}
END_TEST

START_TEST(an_unknown_tensor_causes_a_warning)
{
    give_with(&(Bad){ { "dou\nt", DTYPE_U8, 1, { 9 }, zeros, 9 }, NULL, NULL });
    ck_assert_int_eq(attend(&plain, WITH(NULL)), 0);
    ck_assert_msg(strncmp(said, "attn.c: warning: ", 17) == 0, "%s", said);
    ck_assert_msg(strstr(said, "ignoring the tensor dou?t, which no attention uses\n") != NULL,
                  "%s", said);
    ck_assert_int_eq(files(false), 2);
}
END_TEST

static void execute_help(const char *path)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl(path, path, "--help", (char *)NULL);
    _exit(127);
}

/* Whether a line begins with `start` and names the mechanism, and it or the next one has `help`. */
static bool help_says(const char *start, const char *name, const char *help)
{
    char named[2][64];

    snprintf(named[0], sizeof named[0], " %s,", name);
    snprintf(named[1], sizeof named[1], " %s:", name);
    for (const char *line = said; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char entry[400];
        const size_t first = strcspn(line, "\n");
        const size_t more = line[first] ? strcspn(line + first + 1, "\n") : 0;

        if (strncmp(line + strspn(line, " "), start, strlen(start)) != 0)
            continue;
        snprintf(entry, sizeof entry, "%.*s", (int)first, line);
        if (!strstr(entry, named[0]) && !strstr(entry, named[1]))
            continue;
        snprintf(entry, sizeof entry, "%.*s", (int)(first + 1 + more), line);
        if (strstr(entry, help))
            return true;
    }
    return false;
}

/* With its dimensions, and the attention it is for. */
START_TEST(help_names_every_operand)
{
    ck_assert_int_eq(exit_code_of(execute_help, program), 0);
    for (const Attention *const *a = attentions; *a; a++)
        for (const Operand *o = (*a)->operands; o && o->name; o++) {
            char start[64];

            snprintf(start, sizeof start, "%s [%c", o->name, o->shape[0]);
            ck_assert_msg(help_says(start, (*a)->name, o->help), "no '%s' for %s: %s", start,
                          (*a)->name, o->help);
        }
}
END_TEST

Suite *suite_attend(void)
{
    Suite *s = suite_create("attend");
    TCase *t = with_folder(s, "results");

    trials_init();
    tcase_add_loop_test(t, the_results_are_those_of_the_mix_to_the_bit, 0, 4);
    tcase_add_test(t, without_dout_there_are_no_gradients);
    if (!in_double) { /* what is no number is the same there */
        tcase_add_test(t, the_metadata_record_the_options);
        tcase_add_test(t, an_option_without_effect_on_the_attention_is_refused);
    }
    tcase_add_loop_test(t, the_matrix_times_v_is_the_result, 0, 4);
    tcase_add_loop_test(t, steps_are_the_causal_result, 0, 2);
    t = with_folder(s, "what is taken");
    tcase_add_test(t, both_float_types_are_accepted);
    tcase_add_test(t, infinities_and_nans_are_accepted);
    tcase_add_loop_test(t, a_tensor_of_a_wrong_shape_is_named_with_the_right_shape, 0, COUNT(bad));
    tcase_add_test(t, every_operand_is_checked);
    tcase_add_test(t, values_as_wide_as_keys_where_they_are_multiplied);
    tcase_add_test(t, a_tensor_for_another_attention_is_ignored);
    tcase_add_test(t, an_unknown_tensor_causes_a_warning);
    tcase_add_test(t, help_names_every_operand);
    return s;
}
