/*
 * The attention maps of the page: their numbers, signs and tokens; the parameters it counts, and
 * the settings of a mechanism.
 */
#include "model/checkpoint.h"
#include "model/layer.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/pages.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"
#include "tests/xml.h"
#include "tools/report/report.h"
#include "training/saved.h"

#include <stdlib.h>
#include <string.h>

/* Leaves weights in the folder: 2 layers, 2 heads, context 24; all else as the attention has it. */
static void put_model(const Attention *a, Task task)
{
    Arena *mem = arena_new();
    Model model;
    Config c = { .attention = a,
                 .set = settings_default(a),
                 .layers = 2,
                 .heads = 2,
                 .width = 12,
                 .context = 24,
                 .task = task };

    c.vocab = task == TASK_MLM ? 257 : 256;
    c.heads = layer_of(a)->one_head ? 1 : 2;
    if (attention_takes(a, "key-size"))
        *setting_at(&c.set, "key-size") = 6;
    c.position = a->traits & CAN_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    settings_fit_context(&c.set, a, CONTEXT_AT_LEAST, c.context);
    model_init(&model, c, mem, 5);
    for (Param *p = model.params.first; p; p = p->next)
        for (size_t i = 0; i < p->tensor->n && !p->fixed; i++)
            p->tensor->data[i] *= 4; /* so that weights differ */
    small_save(&model, in_folder("best.safetensors"), 1);
    arena_free(mem);
}

/* What such a model can be trained for. */
static Task task_of(const Attention *a)
{
    return a->traits & BIDIRECTIONAL_ONLY ? TASK_MLM : TASK_CAUSAL;
}

/* A number of the page, whose minus is U+2212. */
static double number_at(const char *p)
{
    const bool minus = strncmp(p, "−", 3) == 0;
    const double x = strtod(p + (minus ? 3 : 0), NULL);

    return minus ? -x : x;
}

/* Adds what the cells of each map say to its row; the number of maps. */
static int sum_rows(const char *page, bool causal, double sum[8][24], int *minus)
{
    int maps = 0;

    *minus = 0;
    for (const char *p = page; (p = strpbrk(p, "<")); p++) {
        if (strncmp(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\"", 51) == 0)
            memset(sum[maps++], 0, sizeof sum[0]);
        if (!maps || strncmp(p, "<path", 5) != 0 || !strstr(p, "<title>"))
            continue;
        const char *title = strstr(p, "<title>") + 7, *d = strstr(p, "d=\"M") + 4;
        const int j = (int)strtol(d, NULL, 10), i = (int)strtol(strchr(d, ' '), NULL, 10);
        if (strstr(p, "/>") && strstr(p, "/>") < title)
            continue;
        const double weight = number_at(title);
        ck_assert_int_eq(strncmp(p, "<path class=\"minus\"", 19) == 0, weight < 0);
        ck_assert_msg(!causal || j <= i, "position %d sees %d", i, j);
        *minus += weight < 0;
        sum[maps - 1][i] += weight;
    }
    return maps;
}

static const char sentence[] = "To <be>, or\nnot \"to\" be\xff&";

START_TEST(rows_of_softmax_sum_to_one)
{
    for (int mlm = 0; mlm < 2; mlm++) {
        double sum[8][24];
        int minus;

        put_model(&attention_softmax, mlm ? TASK_MLM : TASK_CAUSAL);
        char *page = page_here(sentence);
        ck_assert_int_eq(sum_rows(page, !mlm, sum, &minus), 4);
        ck_assert_int_eq(minus, 0);
        for (int m = 0; m < 4; m++)
            for (int i = 0; i < 24; i++)
                ck_assert_msg(fabs(sum[m][i] - 1) < 0.02, "map %d, row %d: %g", m, i, sum[m][i]);
        check_says(page, "<b>Layer 2, head 1</b>");
        check_says(page, "The first 24 of the text's 25 tokens.");
        check_says(page, "&#60; (4) → ");
        check_says(page, "↵ (12) → ");
        check_says(page, "ff (24) → ");
        const char *map = strstr(page, "class=\"map\""), *next = strstr(map + 1, "class=\"map\""),
                   *first = strstr(map, "class=\"frame\""),
                   *second = strstr(next, "class=\"frame\"");
        ck_assert_int_ne(strncmp(first, second, 2000), 0); /* a head is not another */
        free(page);
    }
}
END_TEST

START_TEST(maps_show_the_sign)
{
    for (const Attention *const *a = attentions; *a; a++) {
        const Values set = settings_default(*a);
        const unsigned traits = attention_traits(*a, &set);
        double sum[8][24];
        int minus;

        if (!(traits & HAS_MATRIX))
            continue;
        put_model(*a, task_of(*a));
        char *page = page_here(sentence);
        ck_assert_int_eq(sum_rows(page, task_of(*a) == TASK_CAUSAL, sum, &minus), 4);
        if (traits & (SIGNED | AVERAGES | SQUARED))
            ck_assert_msg((minus > 0) == !!(traits & SIGNED), "%s: %d", (*a)->name, minus);
        check_says(page,
                   layer_of(*a)->mixes > 1 ? "<b>Layer 2, unit 2</b>" : "<b>Layer 2, head 2</b>");
        free(page);
    }
}
END_TEST

START_TEST(every_attention_has_its_maps_or_says_that_it_has_none)
{
    for (const Attention *const *a = attentions; *a; a++) {
        const bool matrix = (*a)->traits & HAS_MATRIX;
        double sum[8][24];
        int minus;

        put_model(*a, task_of(*a));
        char *page = page_here("a");
        ck_assert_int_eq(sum_rows(page, task_of(*a) == TASK_CAUSAL, sum, &minus), matrix ? 4 : 0);
        ck_assert_int_eq(times(page, "not a weighted sum of v"), !matrix);
        free(page);
        page = page_here(NULL);
        check_says(page, "--prompt");
        ck_assert_int_eq(times(page, "class=\"map\""), 0);
        free(page);
    }
}
END_TEST

/* What was seen of a pass: how many mixes, and how far A v is from their results. */
typedef struct {
    const Model *model;
    Pool *pool;
    int mixes;
    double off;
} Seen;

static void look(void *ctx, const Mix *in)
{
    Seen *seen = ctx;
    const int T = in->q->dim[1], H = in->q->dim[2], E = in->v->dim[3];
    Tape tape = { .mem = arena_new(), .pool = seen->pool, .forward_only = true };
    Arena *mem = arena_new();
    real *A = arena_take(mem, (size_t)(H * T * T) * sizeof *A);
    double *av = arena_take(mem, (size_t)(T * H * E) * sizeof *av);

    const MixSize size = config_mix_size(&seen->model->config);
    ck_assert_int_eq(in->causal, size.causal);
    ck_assert_int_eq(in->rope, size.rope);
    ck_assert_mem_eq(&in->set, &size.set, sizeof in->set);
    attention_matrix(&tape, in, A);
    for (int i = 0; i < T; i++)
        for (int h = 0; h < H; h++)
            for (int e = 0; e < E; e++) {
                double o = 0;

                for (int j = 0; j < T; j++)
                    o += (double)A[(h * T + i) * T + j] * (double)in->v->data[(j * H + h) * E + e];
                av[(i * H + h) * E + e] = o;
            }
    const Tensor *o = attention_mix(&tape, in);
    seen->off = fmax(seen->off, distance_rms(o->data, av, o->n));
    seen->mixes++;
    arena_free(mem);
    arena_free(tape.mem);
}

START_TEST(observing_a_model_changes_nothing_and_shows_every_mix)
{
    const int id[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9 };

    for (const Attention *const *a = attentions; *a; a++) {
        if (!((*a)->traits & HAS_MATRIX))
            continue;
        Tape tape = tape_open(2);
        Arena *mem = arena_new();
        Model model;

        put_model(*a, task_of(*a));
        safetensors_free(load_checkpoint(in_folder("best.safetensors"), &model, mem));
        Seen seen = { &model, tape.pool, 0, 0 };
        tape.forward_only = true;
        const Tensor *plain = model_logits(&tape, &model, id, 1, COUNT(id), 0);
        const Tensor *watched =
            model_watch(&tape, &model, id, COUNT(id), (Watch){ .see = look, .ctx = &seen });
        ck_assert(same_bits(plain->data, watched->data, plain->n));
        ck_assert_int_eq(seen.mixes, config_mixes(&model.config));
        ck_assert_msg(seen.off < (in_double ? 1e-12 : 1e-4), "%s: %g", (*a)->name, seen.off);
        arena_free(mem);
        tape_close(&tape);
    }
}
END_TEST

START_TEST(damaged_best_weights_are_noted_and_the_latest_are_used)
{
    put_model(&attention_softmax, TASK_CAUSAL);
    ck_assert_int_eq(rename(in_folder("best.safetensors"), in_folder("model.safetensors")), 0);
    put_text("best.safetensors", "{\"a\"");
    Record *r = record_here();
    char *page = page_of(&r, 1, "abc");

    ck_assert(noted(r, "best.safetensors (4 bytes) is not a safetensors file"));
    ck_assert_int_eq(times(page, "class=\"map\""), 4);
    /* embedding and head; q, k, v, o and twice 4 of width^2, two gains a layer; the last gain */
    ck_assert_double_eq(r->parameters, 2 * 256 * 12 + 2 * (12 * 12 * 12 + 2 * 12) + 12);
    free(page);
    record_free(r);
}
END_TEST

START_TEST(a_run_that_predicts_text_has_a_sample)
{
    put_model(&attention_softmax, TASK_CAUSAL);
    put_text("config.json", "{\"task\":\"causal\"}");
    char *page = page_here(NULL), *again = page_here(NULL);

    ck_assert_int_eq(times(page, "<pre class=\"sample\">"), 1);
    ck_assert_int_eq(times(page, "<h4>Attention"), 0);
    ck_assert_str_eq(page, again);
    free(page), free(again);
    Record *r = record_here();
    r->parameters = 1e9;
    page = page_of(&r, 1, NULL);
    ck_assert_int_eq(times(page, "<pre class=\"sample\">"), 0);
    check_says(page, "--sample 160");
    free(page);
    record_free(r);
    put_text("config.json", "{\"task\":\"copy\"}");
    page = page_here(NULL);
    ck_assert_int_eq(times(page, "ample"), 0);
    free(page);
}
END_TEST

/* A model that repeats its first token, and whose byte b is token 255 - b. */
static void put_echo(void)
{
    Small *s = small_open(small_variant(0), 1, 4);
    Config c = s->model.config;
    Tokenizer *t = tokenizer_load(with_bytes("gpt2:256", ""));
    const Origin origin = { .task = task_names[TASK_CAUSAL], .tokenizer = t };
    Model model;

    c.vocab = 256, c.tied = true;
    model_init(&model, c, s->mem, 5);
    for (Param *p = model.params.first; p; p = p->next)
        if (strcmp(p->name, "embed") != 0 && p->tensor->ndim > 1)
            memset(p->tensor->data, 0, p->tensor->n * sizeof(real));
        else if (strcmp(p->name, "embed") == 0)
            for (int i = 0; i < 256; i++)
                for (int j = 0; j < c.width; j++)
                    p->tensor->data[i * c.width + j] = R(j < 8 && (i >> j & 1) ? 100 : -100);
    saved_write(in_folder("best.safetensors"), &model, NULL,
                (Progress){ .best = HUGE_VAL, .loss = (double)NAN }, &origin);
    tokenizer_free(t);
    small_close(s);
}

START_TEST(a_sample_begins_after_a_newline)
{
    put_echo();
    put_text("config.json", "{\"task\":\"causal\"}");
    char *page = page_here(NULL);

    check_says(page, "<pre class=\"sample\"></pre>"); /* newlines, which are left out */
    free(page);
}
END_TEST

START_TEST(weights_that_their_reader_refuses_are_noted)
{
    size_t bytes;

    put_model(&attention_softmax, TASK_CAUSAL);
    unsigned char *file = file_read(in_folder("best.safetensors"), &bytes);
    file[bytes - 1] ^= 1; /* of a number: only its hash tells */
    put(in_folder("best.safetensors"), file, bytes);
    free(file);
    Record *r = record_here();
    char *page = page_of(&r, 1, "text");
    ck_assert(noted(r, "No sample and no maps: "));
    ck_assert(noted(r, "best.safetensors"));
    ck_assert_int_eq(times(page, "class=\"map\""), 0);
    free(page);
    record_free(r);
}
END_TEST

START_TEST(a_damaged_checkpoint_is_noted_and_the_previous_one_is_used)
{
    size_t bytes;

    put_model(&attention_softmax, TASK_CAUSAL);
    unsigned char *file = file_read(in_folder("best.safetensors"), &bytes);
    put(in_folder("previous.safetensors"), file, bytes);
    file[bytes - 1] ^= 1;
    put(in_folder("model.safetensors"), file, bytes);
    free(file);
    remove(in_folder("best.safetensors"));
    Record *r = record_here();
    char *page = page_of(&r, 1, "text");
    ck_assert(noted(r, "model.safetensors is damaged: "));
    ck_assert(!noted(r, "warning"));
    ck_assert_int_eq(times(page, "class=\"map\""), 4);
    free(page);
    record_free(r);
}
END_TEST

START_TEST(an_overview_has_every_head_and_its_cells_once)
{
    put_model(&attention_softmax, TASK_CAUSAL);
    char *page = page_here(sentence);

    check_says(page, "style=\"--heads:2\"");
    ck_assert_int_eq(times(page, "<b>layer 2</b>"), 1);
    ck_assert_int_eq(times(page, "class=\"mini\""), 4);
    const char *first = strstr(page, "</title><g class"), *second = strstr(first + 1, "</title><g");
    ck_assert_int_ne(strncmp(first, second, 500), 0); /* a head is not another */
    for (char *map = page; (map = strstr(map, "class=\"mini\"")); map++) {
        bool seen[24][24] = { { false } };
        const char *end = strstr(map, "</svg>"), *d = strstr(map, "fill-opacity");

        for (; d && (d = strpbrk(d + 1, "M<")) && d < end;) {
            int j, i, n;

            if (*d != 'M' || sscanf(d, "M%d %dh%dv1h-", &j, &i, &n) != 3)
                continue;
            for (int k = j; k < j + n; k++) {
                ck_assert_msg(k <= i && !seen[i][k], "row %d, cell %d", i, k);
                seen[i][k] = true;
            }
        }
        for (int i = 0; i < 24; i++) { /* every row of weights that sum to 1 has a visible one */
            bool any = false;

            for (int j = 0; j < 24; j++)
                any |= seen[i][j];
            ck_assert_msg(any, "row %d is empty", i);
        }
    }
    free(page);
}
END_TEST

/* The members after "attn":"NAME", and what the page makes of them. */
static const struct {
    const char *name, *members, *shown;
} configs[] = {
    { "fastformer", "\"share\":\"qv,heads\",\"conv_silu\":false",
      " (share qv+heads, conv-silu off)" },
    { "fastformer", "\"share\":null", "" },
    { "gau", "\"norm\":\"softmax\",\"gate\":false,\"key_size\":16",
      " (norm softmax, key-size 16, gate off)" },
    { "gau", "\"gate\":true", "" },
    { "gau", "\"norm\":\"x\",\"gate\":7,\"key_size\":\"on\"", "" },
    { "gau", "\"norm\":900000,\"gate\":\"x\",\"key_size\":1e300", "" },
    { "gau", "\"norm\":true,\"key_size\":-16", "" },
    { "fastformer", "\"share\":7", "" },
    { "fastformer", "\"share\":\"qv,x\"", "" },
};

START_TEST(valid_settings_other_than_the_defaults_are_shown)
{
    for (int i = 0; i < COUNT(configs); i++) {
        const char *name = configs[i].name;

        put_text("config.json", text_format("{\"attn\":\"%s\",%s}", name, configs[i].members).at);
        char *page = page_here(NULL);
        check_says(page, text_format(">%s%s<", name, configs[i].shown).at);
        free(page);
    }
}
END_TEST

Suite *suite_maps(void)
{
    Suite *s = suite_create("maps");
    TCase *t = with_folder(s, "maps");

    tcase_add_test(t, rows_of_softmax_sum_to_one);
    tcase_add_test(t, maps_show_the_sign);
    tcase_add_test(t, every_attention_has_its_maps_or_says_that_it_has_none);
    tcase_add_test(t, observing_a_model_changes_nothing_and_shows_every_mix);
    tcase_add_test(t, damaged_best_weights_are_noted_and_the_latest_are_used);
    tcase_add_test(t, a_run_that_predicts_text_has_a_sample);
    tcase_add_test(t, a_sample_begins_after_a_newline);
    tcase_add_test(t, weights_that_their_reader_refuses_are_noted);
    tcase_add_test(t, a_damaged_checkpoint_is_noted_and_the_previous_one_is_used);
    tcase_add_test(t, an_overview_has_every_head_and_its_cells_once);
    tcase_add_test(t, valid_settings_other_than_the_defaults_are_shown);
    return s;
}
