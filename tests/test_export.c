/*
 * ./export as it lies in the root: a checkpoint in, a folder out. Its checkpoints
 * are in float in the proof build too, where they are made from those in double.
 */
#include "data/tokenizer.h"
#include "model/checkpoint.h"
#include "model/form.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/foreign.h"
#include "tests/hashes.h"
#include "tests/small.h"
#include "tests/suites.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS = 12, DOUBLED = 300 };
static const char *word[WORDS]; /* of the command line, and NULL */
static rlim_t size_limit;       /* of a file; 0: none */

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

static void execute(const char *path)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (size_limit) { /* counters of coverage go elsewhere, as they would be cut short */
        setenv("GCOV_PREFIX", "build/cut-short", 1), setenv("GCOV_ERROR_FILE", "/dev/null", 1);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ size_limit, size_limit });
    }
    execv(path, (char *const *)(uintptr_t)word);
    _exit(127);
}

/* Words that begin with '@' are paths in the folder. */
static int run(const char *const *words)
{
    static char path[WORDS][400];
    int n = 0;

    word[n++] = "./export";
    for (; *words; words++, n++) {
        snprintf(path[n], sizeof path[n], "%s", in_folder(*words + 1));
        word[n] = **words == '@' ? path[n] : *words;
    }
    word[n] = NULL;
    return exit_code_of(execute, word[0]);
}

/* It ends with that code and one line that has the words in it, and leaves `left` names. */
static void check_refused(int got, int code, const char *words, int left)
{
    const char *end = strchr(said, '\n');

    ck_assert_msg(got == code, "exit %d instead of %d: %s", got, code, said);
    ck_assert_msg(strstr(said, words) != NULL, "no '%s' in: %s", words, said);
    ck_assert_msg(strncmp(said, "attn.c: error: ", 15) == 0 && end && !end[1], "%s", said);
    ck_assert_int_eq(files(false), left);
}

/* How many files are in a folder of the folder; with `all` it and they are removed. */
static int files_of(const char *name, bool all)
{
    char path[DOUBLED + 400];
    DIR *dir = opendir(in_folder(name));
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        if (*e->d_name != '.') {
            n++;
            snprintf(path, sizeof path, "%s/%s", in_folder(name), e->d_name);
            if (all)
                remove(path);
        }
    if (dir)
        closedir(dir);
    if (all)
        rmdir(in_folder(name));
    return n;
}

static void remove_folders(void)
{
    files_of("run", true), files_of("out", true), files_of("again", true);
}

/* The same numbers and metadata in float. */
static void narrow(const char *path)
{
    Arena *mem = arena_new();
    Safetensors *s = safetensors_read(path);
    int metas = 0;

    for (int i = 0; i < s->entries; i++) {
        Entry *e = &s->entry[i];
        const size_t n = e->bytes / sizeof(double);
        float *to = arena_take(mem, n * sizeof *to);

        for (size_t j = 0; j < n; j++) {
            double x;

            memcpy(&x, (const double *)e->data + j, sizeof x);
            to[j] = (float)x;
        }
        e->dtype = DTYPE_F32, e->data = to, e->bytes = n * sizeof *to;
    }
    hashes_renew(s, mem);
    for (int i = 0; i < s->metas; i++)
        if (strcmp(s->meta[i].key, "format") != 0)
            s->meta[metas++] = s->meta[i];
    safetensors_write(path, (Contents){ s->entry, s->entries, s->meta, metas, NULL });
    safetensors_free(s);
    arena_free(mem);
}

static void save(const char *name, Config c, int step)
{
    Small *s = small_open(c, 1, 4);

    small_overwrite(s, 0.4 + 0.01 * step);
    small_save(&s->model, in_folder(name), step);
    if (in_double)
        narrow(in_folder(name));
    small_close(s);
}

enum { MODELS = 7 };

/* Llama, Arcee, GPT-2, and four that are none. */
static Config config_of(int i)
{
    static const Config with[MODELS] = {
        { .position = POSITION_ROPE, .ffn = FFN_SWIGLU, .bias = true },
        { .position = POSITION_ROPE, .ffn = FFN_GELU, .tied = true },
        { .position = POSITION_LEARNED, .ffn = FFN_GELU, .norm = NORM_LAYER, .tied = true },
        { .position = POSITION_NONE, .ffn = FFN_GELU },
        { .position = POSITION_ROPE, .ffn = FFN_SWIGLU, .task = TASK_MLM },
        { .attention = &attention_cosformer, .position = POSITION_ROPE, .ffn = FFN_SWIGLU },
        { .attention = &attention_performer, .position = POSITION_LEARNED },
    };
    Config c = with[i];

    c.attention = c.attention ? c.attention : &attention_softmax;
    c.set = settings_default(c.attention);
    if (attention_takes(c.attention, "features"))
        *setting_at(&c.set, "features") = 6;
    c.vocab = 256 + (c.task == TASK_MLM);
    c.layers = 2, c.heads = 2, c.width = 12, c.context = 20;
    return c;
}

static const Form *const form_of[MODELS] = { &form_llama, &form_arcee, &form_gpt };

static char *text_of(const char *file)
{
    size_t bytes;

    return (char *)file_read(in_folder(file), &bytes);
}

static const char text[] = "Once upon a time, the na\xc3\xafve \xff\n and so on";

START_TEST(the_folder_has_all_files_for_from_pretrained)
{
    const Config c = config_of(_i);
    char want[300], *config;

    save("model", c, 0);
    ck_assert_msg(RUN("@model", "@out") == 0, "%s", said);
    snprintf(want, sizeof want,
             "%s: %s; transformers' AutoModelForCausalLM.from_pretrained() loads it\n",
             in_folder("out"), form_of[_i]->class_name);
    ck_assert_str_eq(said, want);
    ck_assert_int_eq(files_of("out", false), 5);
    ck_assert_int_eq(files(false), 2);
    config = text_of("out/config.json");
    ck_assert(strstr(config, form_of[_i]->class_name) && strstr(config, "\"float32\""));
    free(config);
    config = text_of("out/tokenizer_config.json");
    ck_assert(strstr(config, "PreTrainedTokenizerFast") && strstr(config, "_length\": 20,"));
    free(config);
    config = text_of("out/generation_config.json");
    ck_assert(strstr(config, "\"eos_token_id\": null,") && !strstr(config, "_length"));
    free(config);
    Safetensors *s = safetensors_read(in_folder("out/model.safetensors"));
    ck_assert(s->metas == 1 && strcmp(safetensors_meta(s, "format"), "pt") == 0);
    safetensors_free(s);
}
END_TEST

/* tokens (T) and logits (T, V), whose numbers are copied to where they are aligned. */
static float *logits_in(Arena *mem, const Config *c, int T, int64_t *token)
{
    Safetensors *s = safetensors_read(in_folder("logits"));
    const Entry *tokens = safetensors_find(s, "tokens"), *logits = safetensors_find(s, "logits");
    float *to = arena_take(mem, (size_t)(T * c->vocab) * sizeof *to);

    ck_assert(s->entries == 2 && tokens && logits);
    ck_assert(tokens->ndim == 1 && tokens->dim[0] == (size_t)T && tokens->dtype == DTYPE_I64);
    ck_assert(logits->ndim == 2 && logits->dim[0] == (size_t)T && logits->dtype == DTYPE_F32);
    ck_assert_uint_eq(logits->dim[1], (size_t)c->vocab);
    memcpy(token, tokens->data, tokens->bytes);
    memcpy(to, logits->data, logits->bytes);
    safetensors_free(s);
    return to;
}

/* By a naive model of that class, from the folder alone. */
START_TEST(the_exported_tensors_give_the_models_logits)
{
    Arena *mem = arena_new();
    const Config c = config_of(_i);
    const Foreign is = { form_of[_i]->class_name, 2, 2, 12, config_hidden(&c), 256, 0, 0, 0 };
    int64_t token[20];
    int id[20];

    save("model", c, 0);
    put(in_folder("text"), text, sizeof text - 1);
    ck_assert_int_eq(RUN("@model", "@out", "--text", "@text", "--logits", "@logits"), 0);
    const float *logits = logits_in(mem, &c, 20, token);
    for (int t = 0; t < 20; t++)
        ck_assert_int_eq(id[t] = (int)token[t], (unsigned char)text[t]);
    Safetensors *s = safetensors_read(in_folder("out/model.safetensors"));
    const double *want = foreign_logits(mem, is, s, id, 20);
    double off = 0, size = 0;
    for (int i = 0; i < 20 * 256; i++) {
        off += pow((double)logits[i] - want[i], 2);
        size += pow(want[i], 2);
    }
    ck_assert_msg(off <= 1e-10 * size && size > 0, "%g of %g", off, size);
    safetensors_free(s);
    arena_free(mem);
}
END_TEST

START_TEST(a_text_shorter_than_the_context_is_read_whole)
{
    Arena *mem = arena_new();
    const Config c = config_of(4);
    int64_t token[20];

    save("model", c, 0);
    put(in_folder("text"), text, 3);
    ck_assert_int_eq(RUN("@model", "@out", "--text", "@text", "--logits", "@logits"), 0);
    logits_in(mem, &c, 3, token);
    ck_assert(token[0] == 'O' && token[1] == 'n' && token[2] == 'c');
    arena_free(mem);
}
END_TEST

/* The tensors of a checkpoint and of what is exported. */
static void check_same_numbers(const char *a, const char *b)
{
    Safetensors *x = safetensors_read(in_folder(a)), *y = safetensors_read(in_folder(b));

    ck_assert_int_eq(x->entries, y->entries);
    for (int i = 0; i < x->entries; i++) {
        const char *name = x->entry[i].name;
        const Entry *e = safetensors_find(
            y, text_format("%s%s.weight", strcmp(name, "head") ? "model." : "", name).at);

        ck_assert_msg(e && e->bytes == x->entry[i].bytes, "%s", name);
        ck_assert_mem_eq(x->entry[i].data, e->data, e->bytes);
    }
    safetensors_free(x), safetensors_free(y);
}

static void check_same_file(const char *file, const char *path)
{
    size_t bytes, want;
    unsigned char *got = file_read(in_folder(file), &bytes), *of = file_read(path, &want);

    ck_assert_uint_eq(bytes, want);
    ck_assert_mem_eq(got, of, bytes);
    free(got), free(of);
}

static void check_has(const char *file, const char *words, bool has)
{
    char *all = text_of(file);

    ck_assert_msg((strstr(all, words) != NULL) == has, "%s in %s: %s", words, file, all);
    free(all);
}

START_TEST(a_model_without_a_class_brings_its_own_and_says_why)
{
    const Config c = config_of(_i);
    const bool masked = c.task == TASK_MLM;
    const char *name = masked ? "AutoModelForMaskedLM" : "AutoModelForCausalLM";
    Text why;

    ck_assert(form_of_config(&c, &why)->own);
    save("model", c, 7);
    ck_assert_msg(RUN("@model", "@out") == 0, "%s", said);
    ck_assert_msg(strstr(said, name) && strstr(said, "trust_remote_code=True"), "%s", said);
    ck_assert_int_eq(files_of("out", false), masked ? 8 : 9);
    check_has("out/README.md", why.at, true);
    check_has("out/README.md", c.attention->name, true);
    check_has("out/README.md", name, true);
    check_has("out/README.md", "`<mask>`, token 256,", masked);
    check_has("out/tokenizer_config.json", "\"mask_token\": \"<mask>\"", masked);
    check_has("out/config.json", "\"model_type\": \"attnc\"", true);
    if (!masked)
        check_has("out/generation_config.json", "max_length", false);
    check_same_file("out/mechanisms_attnc.py", "tools/export/mechanisms_attnc.py");
    check_same_file("out/modeling_attnc.py", "tools/export/modeling_attnc.py");
    check_same_file("out/configuration_attnc.py", "tools/export/configuration_attnc.py");
    Safetensors *s = safetensors_read(in_folder("out/model.safetensors"));
    ck_assert(s->metas == 1 && safetensors_find(s, "model.blocks.1.attn.wq.weight"));
    safetensors_free(s);
}
END_TEST

START_TEST(a_run_gives_its_last_model_or_its_best)
{
    mkdir(in_folder("run"), 0777);
    save("run/model.safetensors", config_of(3), 9);
    save("run/best.safetensors", config_of(3), 5);
    ck_assert_msg(RUN("@run", "@out") == 0, "%s", said);
    check_same_numbers("run/model.safetensors", "out/model.safetensors");
    mkdir(in_folder("again"), 0777); /* it may be there, if it is empty */
    ck_assert_msg(RUN("--best", "@run", "@again/") == 0, "%s", said);
    check_same_numbers("run/best.safetensors", "again/model.safetensors");
}
END_TEST

START_TEST(the_tokenizer_is_that_of_bytes)
{
    save("model", config_of(0), 0);
    ck_assert_int_eq(RUN("@model", "@out"), 0);
    char *json = text_of("out/tokenizer.json");

    ck_assert(strstr(json, "\"ByteLevel\"") && strstr(json, "\"BPE\""));
    free(json);
}
END_TEST

START_TEST(wrong_arguments_are_refused_before_anything_is_created)
{
    save("model", config_of(0), 0);
    check_refused(RUN("@model"), EXIT_USAGE, "takes RUN and DIR, not 1", 1);
    check_refused(RUN("@model", "@out", "@again"), EXIT_USAGE, "not 3 arguments", 1);
    check_refused(RUN("@model", "@out", "--best"), EXIT_USAGE, "--best needs a run's folder", 1);
    check_refused(RUN("@model", "@out", "--text", "@model"), EXIT_USAGE, "go together", 1);
    check_refused(RUN("@model", "@out", "--logits", "@logits"), EXIT_USAGE, "go together", 1);
    check_refused(RUN("@model", "@out", "--beast"), EXIT_USAGE, "--best", 1);
}
END_TEST

START_TEST(a_folder_that_is_not_empty_is_left_alone)
{
    save("model", config_of(0), 0);
    mkdir(in_folder("out"), 0777);
    put(in_folder("out/mine"), "x", 1);
    check_refused(RUN("@model", "@out"), EXIT_IO, "out is not empty; choose another DIR", 2);
    ck_assert_int_eq(files_of("out", false), 1);
    check_refused(RUN("@model", "@model"), EXIT_IO, "choose another DIR", 2);
    check_refused(RUN("@model", "@out/mine/x"), EXIT_IO, "Not a directory", 2);
    ck_assert_msg(RUN("@model", "@new/folder/") == 0, "%s", said);
    ck_assert_int_gt(files_of("new/folder", true), 3);
    rmdir(in_folder("new/folder")), rmdir(in_folder("new"));
}
END_TEST

START_TEST(no_folder_is_created_for_an_unreadable_run)
{
    static const char *const damaged[] = { "attnc.attn", "attnc.config.n_embd" };

    check_refused(RUN("@model", "@out"), EXIT_IO, "cannot open", 0);
    mkdir(in_folder("run"), 0777);
    check_refused(RUN("@run", "@out"), EXIT_IO, "there is no model.safetensors in it", 1);
    put(in_folder("run/best.safetensors"), text, sizeof text);
    check_refused(RUN("--best", "@run", "@out"), EXIT_DATA, "run/best.safetensors", 1);
    for (int i = 0; i < COUNT(damaged); i++) {
        save("model", config_of(0), 0);
        size_t bytes;
        unsigned char *file = file_read(in_folder("model"), &bytes);
        char *key = strstr((char *)file + 8, damaged[i]);

        key[6] = 'X';
        put(in_folder("model"), file, bytes);
        free(file);
        check_refused(RUN("@model", "@out"), EXIT_DATA, damaged[i], 2);
    }
}
END_TEST

START_TEST(a_vocabulary_that_is_not_the_tokenizers_is_refused)
{
    Config c = config_of(0);

    c.vocab = 11;
    save("model", c, 0);
    check_refused(RUN("@model", "@out"), EXIT_DATA,
                  "the tokenizer has 256 tokens, but the model has 11", 1);
}
END_TEST

/* Options of a checkpoint are not trusted: this one would be JSON of the folder's. */
START_TEST(an_end_of_text_that_is_no_token_is_refused)
{
    static const char *const ends[] = { "0,\n \"auto_map\": {}", "-1", "" };
    Config c = config_of(0);
    Small *s = small_open(c, 1, 4);

    for (int i = 0; i < 3; i++) {
        small_save_with(&s->model, in_folder("model"), 0, &(Meta){ "eos", ends[i] });
        if (in_double)
            narrow(in_folder("model"));
        check_refused(RUN("@model", "@out"), EXIT_DATA, "which is not a token", 1);
    }
    small_close(s);
}
END_TEST

START_TEST(no_folder_is_created_for_an_unreadable_text)
{
    save("model", config_of(0), 0);
    put(in_folder("text"), "", 0);
    check_refused(RUN("@model", "@out", "--text", "@text", "--logits", "@logits"), EXIT_DATA,
                  "text is empty", 2);
    check_refused(RUN("@model", "@out", "--text", "@none", "--logits", "@logits"), EXIT_IO,
                  "cannot open", 2);
}
END_TEST

/* In the middle of the first file, or of the second. */
START_TEST(a_failure_while_writing_leaves_nothing)
{
    save("model", config_of(0), 0);
    size_limit = 1000;
    check_refused(RUN("@model", "@out"), EXIT_IO, "model.safetensors", 1);
    save("model", config_of(0), 0);
    mkdir(in_folder("again"), 0777);
    check_refused(RUN("@model", "@again"), EXIT_IO, "model.safetensors", 2);
    ck_assert_int_eq(files_of("again", false), 0);
}
END_TEST

START_TEST(an_empty_folder_may_have_other_names)
{
    struct stat before, after;

    save("model", config_of(0), 0);
    mkdir(in_folder("run"), 0777);
    ck_assert_int_eq(stat(in_folder("run"), &before), 0);
    ck_assert_int_eq(symlink("run", in_folder("out")), 0);
    ck_assert_msg(RUN("@model", "@out") == 0, "%s", said);
    ck_assert_int_eq(files_of("run", false), 5);
    ck_assert_int_eq(stat(in_folder("run"), &after), 0);
    ck_assert(before.st_ino == after.st_ino); /* who is in it sees the files */
    ck_assert_int_eq(files(false), 3);
    remove(in_folder("out"));
    ck_assert_int_eq(symlink("nothing", in_folder("out")), 0);
    check_refused(RUN("@model", "@out"), EXIT_IO, "choose another DIR", 3);
}
END_TEST

Suite *suite_export(void)
{
    Suite *s = suite_create("export");
    TCase *t = with_folder(s, "what comes out");

    tcase_add_checked_fixture(t, NULL, remove_folders);
    tcase_add_loop_test(t, the_folder_has_all_files_for_from_pretrained, 0, 3);
    tcase_add_loop_test(t, the_exported_tensors_give_the_models_logits, 0, 3);
    tcase_add_test(t, a_text_shorter_than_the_context_is_read_whole);
    tcase_add_loop_test(t, a_model_without_a_class_brings_its_own_and_says_why, 3, MODELS);
    tcase_add_test(t, a_run_gives_its_last_model_or_its_best);
    tcase_add_test(t, the_tokenizer_is_that_of_bytes);
    tcase_add_test(t, an_empty_folder_may_have_other_names);
    t = with_folder(s, "what does not");
    tcase_add_checked_fixture(t, NULL, remove_folders);
    tcase_add_test(t, wrong_arguments_are_refused_before_anything_is_created);
    tcase_add_test(t, a_folder_that_is_not_empty_is_left_alone);
    tcase_add_test(t, no_folder_is_created_for_an_unreadable_run);
    tcase_add_test(t, a_vocabulary_that_is_not_the_tokenizers_is_refused);
    tcase_add_test(t, an_end_of_text_that_is_no_token_is_refused);
    tcase_add_test(t, no_folder_is_created_for_an_unreadable_text);
    tcase_add_test(t, a_failure_while_writing_leaves_nothing);
    return s;
}
