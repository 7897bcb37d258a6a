/* A model as a file: it comes back bit by bit, and what is no such file is refused. */
#include "model/checkpoint.h"
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/hashes.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tools/common/model_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 5 };

static Small *open_variant(int i, int batch, int length)
{
    Small *s = small_open(small_variant(i), batch, length);

    small_overwrite(s, layer_of(s->model.config.attention)->one_head ? 0.7 : 0.3);
    return s;
}

static void check_same_configuration(const Config *a, const Config *b)
{
    const Text difference = model_difference(a, b);

    ck_assert_msg(difference.n == 0, "%s", difference.at);
}

START_TEST(a_model_is_read_back_bit_for_bit)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_variant(i, B, T), loaded = { .mem = s->mem };

        checkpoint_save(in_folder("model"), &s->model, (Contents){ 0 });
        safetensors_free(load_checkpoint(in_folder("model"), &loaded.model, s->mem));
        check_same_configuration(&loaded.model.config, &s->model.config);
        ck_assert(same_parameters(&loaded.model, &s->model));
        ck_assert(same_bits(small_logits(&loaded, s->batch.id, B, T, 1),
                            small_logits(s, s->batch.id, B, T, 1), (size_t)(B * T * 11)));
        small_close(s);
    }
}
END_TEST

START_TEST(a_masked_model_is_read_back_as_one)
{
    Config c = small_variant(0);

    c.task = TASK_MLM;
    Small *s = small_open(c, B, T), loaded = { .mem = s->mem };
    checkpoint_save(in_folder("model"), &s->model, (Contents){ 0 });
    safetensors_free(load_checkpoint(in_folder("model"), &loaded.model, s->mem));
    check_same_configuration(&loaded.model.config, &c);
    ck_assert(same_bits(small_logits(&loaded, s->batch.id, B, T, 1),
                        small_logits(s, s->batch.id, B, T, 1), (size_t)(B * T * 11)));
    small_close(s);
}
END_TEST

START_TEST(additional_tensors_and_metadata_are_saved)
{
    Small *s = open_variant(0, B, T);
    const Param *p = s->model.params.first;
    const Meta meta[] = { { "attnc.step", "7" },
                          { "attnc.words", "\xc3\xa9 \"\n" },
                          { "attnc.file", "x\xff.\xc3" } }; /* as names may be */
    Tensor *numbers = leaf(s->mem, 5, 1, p->tensor->ndim, p->tensor->dim);
    const Entry beside = checkpoint_entry("optimizer.m.embed", numbers, numbers->data);
    Model loaded;

    checkpoint_save(in_folder("model"), &s->model, (Contents){ &beside, 1, meta, 3, NULL });
    Safetensors *file = load_checkpoint(in_folder("model"), &loaded, s->mem);
    ck_assert(same_parameters(&loaded, &s->model));
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(safetensors_meta(file, meta[i].key), meta[i].value);
    ck_assert_str_eq(safetensors_meta(file, "attnc.file"), "x\ufffd.\ufffd");
    checkpoint_fill(file, "model",
                    checkpoint_entry("optimizer.m.embed", p->tensor, p->tensor->data));
    ck_assert(same_bits(p->tensor->data, numbers->data, numbers->n));
    safetensors_free(file);
    small_close(s);
}
END_TEST

static void load(const char *path)
{
    Model model;

    load_checkpoint(path, &model, arena_new());
}

START_TEST(any_flipped_bit_is_detected)
{
    Config c = small_variant(0);
    size_t bytes;

    c.layers = 1, c.width = 4, c.vocab = 3;
    Small *s = small_open(c, B, T);
    checkpoint_save(in_folder("model"), &s->model, (Contents){ 0 });
    unsigned char *file = file_read(in_folder("model"), &bytes);
    for (size_t i = 0; i < bytes; i += 37) { /* every bit of a byte in its turn */
        file[i] ^= (unsigned char)(1 << i % 8);
        put(in_folder("turned"), file, bytes);
        ck_assert_msg(exit_code_of(load, in_folder("turned")) == EXIT_DATA, "byte %zu of %zu: %s",
                      i, bytes, said);
        file[i] ^= (unsigned char)(1 << i % 8);
    }
    free(file);
    small_close(s);
}
END_TEST

/* All that the tables hold but for "format", which is added. */
static void write_tables(const Safetensors *file)
{
    Meta *meta = arena_take(file->mem, (size_t)file->metas * sizeof *meta);
    int metas = 0;

    for (int i = 0; i < file->metas; i++)
        if (strcmp(file->meta[i].key, "format") != 0)
            meta[metas++] = file->meta[i];
    safetensors_write(in_folder("model"),
                      (Contents){ file->entry, file->entries, meta, metas, NULL });
}

/* Two values change places, or a number its sign. */
START_TEST(additional_tensors_are_hashed_separately)
{
    Small *s = open_variant(0, B, T);
    const Param *p = s->model.params.first;
    const Meta meta[] = { { "attnc.one", "1" }, { "attnc.two", "2" } };
    const Entry beside = checkpoint_entry("optimizer.m.embed", p->tensor, p->tensor->data);
    Model loaded;

    for (int change = 0; change < 3; change++) {
        checkpoint_save(in_folder("model"), &s->model, (Contents){ &beside, 1, meta, 2, NULL });
        Safetensors *file = safetensors_read(in_folder("model"));
        if (change == 1)
            hashes_set(file, "attnc.one", "2"), hashes_set(file, "attnc.two", "1");
        real *number = (real *)(uintptr_t)safetensors_find(file, "optimizer.m.embed")->data;
        if (change == 2)
            number[7] = -number[7];
        write_tables(file);
        safetensors_free(file);
        if (change)
            check_dies(load, in_folder("model"), EXIT_DATA, "is damaged: attnc.hash");
        else
            safetensors_free(load_checkpoint(in_folder("model"), &loaded, s->mem));
    }
    small_close(s);
}
END_TEST

static Entry *entry_of(const Safetensors *s, const char *name)
{
    return (Entry *)(uintptr_t)safetensors_find(s, name);
}

static void lose_a_tensor(Safetensors *s)
{
    s->entries--;
}

static void add_a_tensor(Safetensors *s)
{
    static const unsigned char byte = 1;

    s->entry[s->entries++] = (Entry){ "extra", DTYPE_U8, 1, { 1 }, &byte, 1 };
}

static void rename_a_tensor(Safetensors *s)
{
    entry_of(s, "blocks.1.ffn.up")->name = "blocks.2.ffn.up";
}

static void turn_a_tensor(Safetensors *s)
{
    Entry *e = entry_of(s, "blocks.1.ffn.up");
    size_t rows = e->dim[0];

    e->dim[0] = e->dim[1], e->dim[1] = rows;
}

static void flatten_a_tensor(Safetensors *s)
{
    Entry *e = entry_of(s, "blocks.1.ffn.up");

    e->dim[0] *= e->dim[1], e->ndim = 1;
}

static void shrink_to_a_number(Safetensors *s)
{
    Entry *e = entry_of(s, "norm");

    e->ndim = 0, e->bytes = sizeof(real);
}

static void count_in_a_tensor(Safetensors *s)
{
    entry_of(s, "norm")->dtype = in_double ? DTYPE_I64 : DTYPE_I32;
}

static void spoil(Safetensors *s, const char *name, real by)
{
    const Entry *e = entry_of(s, name);

    memcpy((char *)(uintptr_t)e->data + e->bytes - sizeof by, &by, sizeof by);
}

static void spoil_with_nan(Safetensors *s)
{
    spoil(s, "head", R(NAN));
}

static void spoil_with_infinity(Safetensors *s)
{
    spoil(s, "embed", -R(HUGE_VAL));
}

/* Saves a model, but for what `damage` did to the file, and for one of the metadata. */
static void save_damaged_of(Config c, void (*damage)(Safetensors *s), const char *key,
                            const char *value)
{
    c.tied = false;
    Small *s = small_open(c, B, T);
    checkpoint_save(in_folder("model"), &s->model, (Contents){ 0 });
    Safetensors *file = safetensors_read(in_folder("model"));
    int metas = 0;
    bool found = false;
    Entry *entry = arena_take(file->mem, ((size_t)file->entries + 1) * sizeof *entry);
    Meta *meta = arena_take(file->mem, ((size_t)file->metas + 1) * sizeof *meta);

    file->entry = memcpy(entry, file->entry, (size_t)file->entries * sizeof *entry);
    for (int i = 0; i < file->metas; i++) {
        bool it = key && strcmp(file->meta[i].key, key) == 0;

        found |= it;
        if (strcmp(file->meta[i].key, "format") != 0 && !(it && !value))
            meta[metas++] = (Meta){ file->meta[i].key, it ? value : file->meta[i].value };
    }
    if (value && !found)
        meta[metas++] = (Meta){ key, value };
    if (damage)
        damage(file);
    safetensors_write(in_folder("model"),
                      (Contents){ file->entry, file->entries, meta, metas, NULL });
    safetensors_free(file);
    small_close(s);
}

/* The model of variant 1, which has learned positions. */
static void save_damaged(void (*damage)(Safetensors *s), const char *key, const char *value)
{
    save_damaged_of(small_variant(1), damage, key, value);
}

START_TEST(a_file_with_other_tensors_is_refused)
{
    static const struct {
        void (*damage)(Safetensors *s);
        const char *words;
    } row[] = {
        { lose_a_tensor, "tensors, but its configuration needs" },
        { add_a_tensor, "tensors, but its configuration needs" },
        { rename_a_tensor, "has no tensor blocks.1.ffn.up" },
        { turn_a_tensor, "but the model needs" },
        { flatten_a_tensor, "but the model needs" },
        { shrink_to_a_number, "with 0 dimensions from 1, but the model needs" },
        { count_in_a_tensor, "norm is I" },
        { spoil_with_nan, "of head is not finite" },
        { spoil_with_infinity, "of embed is not finite" },
    };

    for (int i = 0; i < COUNT(row); i++) {
        save_damaged(row[i].damage, NULL, NULL);
        check_dies(load, in_folder("model"), EXIT_DATA, row[i].words);
    }
}
END_TEST

/* A key, a wrong value (NULL: the key is missing) and words of the message (NULL: of that for an
 * unknown value). */
static const char *const wrong_metadata[][3] = {
    { "attnc.version", NULL, "has no attnc.version" },
    { "attnc.version", "2", "has format 2" },
    { "attnc.version", "5", "has format 5" },
    { "attnc.attn", "gau", "has fewer numbers" },
    { "attnc.config.scale", "log" },
    { "attnc.config.norm", "" },
    { "attnc.config.norm", "fixed", "--norm does not apply to --attn softmax" },
    { "attnc.config.interaction", "add", "--interaction does not apply to --attn softmax" },
    { "attnc.config.base", "" },
    { "attnc.config.base", "1" },
    { "attnc.config.window", "-1" },
    { "attnc.config.window", "16777217" },
    { "attnc.config.horizon", "8", "--horizon does not apply to --attn softmax" },
    { "attnc.config.chunk", "4", "--chunk does not apply to --attn softmax" },
    { "attnc.config.key_size", "5", "blocks.0.attn.wq is " },
    { "attnc.config.key_size", "16384", "has fewer numbers" },
    { "attnc.config.key_size", "16385" },
    { "attnc.config.features", "7", "--features does not apply to --attn softmax" },
    { "attnc.config.share", "8", "--share does not apply to --attn softmax" },
    { "attnc.config.share", "1", "--share does not apply to --attn softmax" },
    { "attnc.config.share", "qv" },
    { "attnc.config.gate", "0", "--no-gate does not apply to --attn softmax" },
    { "attnc.config.gate", "on" },
    { "attnc.attn", NULL, "has no attnc.attn" },
    { "attnc.attn", "telepathy", "attention called 'telepathy'" },
    { "attnc.config.position", NULL, "its configuration needs 19" },
    { "attnc.config.position", "Rope" },
    { "attnc.config.position", "rope", "its configuration needs 19" },
    { "attnc.config.ffn", "" },
    { "attnc.config.ffn", "swiglu", "its configuration needs 22" },
    { "attnc.config.layer_norm", "batch" },
    { "attnc.config.layer_norm", "layer", "its configuration needs 25" },
    { "attnc.config.tied", "2" },
    { "attnc.config.tied", "1", "its configuration needs 19" },
    { "attnc.config.bias", "true" },
    { "attnc.config.bias", "1", "its configuration needs 32" },
    { "attnc.config.vocab", "0" },
    { "attnc.config.vocab", "12", "embed is " },
    { "attnc.config.vocab", "16777216", "has fewer numbers" },
    { "attnc.config.n_layer", NULL, "has no attnc.config.n_layer" },
    { "attnc.config.n_layer", "" },
    { "attnc.config.n_layer", "-1" },
    { "attnc.config.n_layer", "+2" },
    { "attnc.config.n_layer", " 2" },
    { "attnc.config.n_layer", "2x" },
    { "attnc.config.n_layer", "1", "its configuration needs 12" },
    { "attnc.config.n_layer", "1000", "has fewer numbers" },
    { "attnc.config.n_layer", "1001" },
    { "attnc.config.n_layer", "99999999999999999999" },
    { "attnc.config.n_head", "0" },
    { "attnc.config.n_head", "5", "--n-head 5 does not divide --n-embd 12" },
    { "attnc.config.n_embd", "13", "--n-head 2 does not divide --n-embd 13" },
    { "attnc.config.n_embd", "16384", "has fewer numbers" },
    { "attnc.config.block_size", "9", "position is " },
    { "attnc.config.block_size", "67108864" },
    { "attnc.config.block_size", "1e1" },
    { "attnc.config.task", "classify", "is a classifier without classes" },
    { "attnc.config.classes", "-1" },
    { "attnc.config.classes", "3", "is damaged" },
    { "attnc.hash", NULL, "has no attnc.hash" },
    { "attnc.hash", "0123456789abcdef", "is damaged" },
    { "attnc.hash.head", NULL, "is damaged" },
    { "attnc.hash.head", "", "is damaged" },
};

START_TEST(a_file_with_other_metadata_is_refused)
{
    for (int i = 0; i < COUNT(wrong_metadata); i++) {
        const char *const *m = wrong_metadata[i];
        char unknown[100];

        save_damaged(NULL, m[0], m[1]);
        if (!m[2])
            snprintf(unknown, sizeof unknown, "%s is '%s', which this version does not know", m[0],
                     m[1]);
        check_dies(load, in_folder("model"), EXIT_DATA, m[2] ? m[2] : unknown);
    }
}
END_TEST

START_TEST(a_list_of_mechanisms_has_no_settings_of_a_single_one)
{
    int i = 0;

    while (i < VARIANTS && !small_variant(i).listed)
        i++;
    save_damaged_of(small_variant(i), NULL, "attnc.config.window", "4");
    check_dies(load, in_folder("model"), EXIT_DATA,
               "attnc.config.window is for a single mechanism");
}
END_TEST

START_TEST(a_file_that_is_not_a_checkpoint_is_refused)
{
    put(in_folder("text"), "Once upon a time, there was no tensor anywhere.", 47);
    check_dies(load, in_folder("text"), EXIT_DATA, "not a safetensors file");
    safetensors_write(in_folder("other"), (Contents){ 0 });
    check_dies(load, in_folder("other"), EXIT_DATA, "not a checkpoint of attn.c");
    check_dies(load, in_folder("missing"), EXIT_IO, "No such file");
}
END_TEST

/* Keys of settings that this program does not have. */
START_TEST(an_unknown_setting_is_refused_unless_it_is_zero)
{
    static const char *const values[] = { "1", "rms", "0" };
    Small *s = open_variant(1, B, T), loaded = { .mem = s->mem };

    for (int i = 0; i < COUNT(values); i++) {
        const Meta meta = { "attnc.config.of_tomorrow", values[i] };

        checkpoint_save(in_folder("model"), &s->model, (Contents){ NULL, 0, &meta, 1, NULL });
        if (strcmp(values[i], "0") != 0)
            check_dies(load, in_folder("model"), EXIT_DATA,
                       "a setting that this version does not know");
        else
            safetensors_free(load_checkpoint(in_folder("model"), &loaded.model, s->mem));
    }
    small_close(s);
}
END_TEST

/* A setting at its default, or at that of older versions if it has changed, leaves no key. */
START_TEST(a_setting_at_its_default_is_not_in_the_file)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_variant(i, B, T);
        const Config *c = &s->model.config;
        const Values plain = settings_unsaved(c->attention);

        checkpoint_save(in_folder("model"), &s->model, (Contents){ 0 });
        Safetensors *file = safetensors_read(in_folder("model"));
        for (int k = 0; settings_at(k); k++) {
            char key[64];

            snprintf(key, sizeof key, "attnc.config.%.40s", setting_key(settings_at(k)).at);
            ck_assert((safetensors_meta(file, key) != NULL) == (c->set.at[k] != plain.at[k]));
        }
        safetensors_free(file);
        small_close(s);
    }
}
END_TEST

/* The mean loss of a sequence of tokens. */
static double loss_of(const Model *model)
{
    int id[64], target[64];
    double sum = 0;
    Tape tape = tape_open(1);

    for (int t = 0; t < COUNT(id); t++)
        id[t] = (7 * t + 3) % model->config.vocab, target[t] = (5 * t + 1) % model->config.vocab;
    tape.forward_only = true;
    const Tensor *losses = model_losses(
        &tape, model, (Batch){ .B = 1, .T = model->config.context, .id = id, .target = target }, 0);
    for (size_t i = 0; i < losses->n; i++)
        sum += (double)losses->data[i] / (double)losses->n;
    tape_close(&tape);
    return sum;
}

/*
 * Files that older versions have left, which must be read for ever, and compute what they did then,
 * whatever has changed since.
 */
START_TEST(a_checkpoint_of_an_older_version_loads)
{
    static const struct {
        const char *path, *attention, *setting;
        int value;
        double loss; /* when it was written */
    } row[] = {
        { "tests/checkpoints/version-3-gau.safetensors", "gau", "gate", 0, 2.277285 },
        { "tests/checkpoints/version-3-gau.safetensors", "gau", "base", 8, 2.277285 },
        { "tests/checkpoints/version-3-gau.safetensors", "gau", "key-size", 4, 2.277285 },
        { "tests/checkpoints/version-3-gau.safetensors", "gau", "norm", 5, 2.277285 },
        { "tests/checkpoints/version-3-fastformer.safetensors", "fastformer", "share", 5,
          2.329139 },
        { "tests/checkpoints/version-3-fastformer.safetensors", "fastformer", "interaction", 2,
          2.329139 },
        { "tests/checkpoints/version-3-performer.safetensors", "performer", "features", 6,
          2.294470 },
        { "tests/checkpoints/version-3-performer.safetensors", "performer", "window", 7, 2.294470 },
        { "tests/checkpoints/version-4-fastformer.safetensors", "fastformer", "products", 0,
          9.946610 },
        { "tests/checkpoints/version-4-fastformer.safetensors", "fastformer", "share", 5,
          9.946610 },
        { "tests/checkpoints/version-4-cosformer.safetensors", "cosformer", "rope-ladder", 0,
          9.179488 },
    };

    for (int i = 0; i < COUNT(row) && !in_double; i++) {
        Arena *mem = arena_new();
        Model model;

        safetensors_free(load_checkpoint(row[i].path, &model, mem));
        ck_assert_str_eq(model.config.attention->name, row[i].attention);
        ck_assert_int_eq(setting(&model.config.set, row[i].setting), row[i].value);
        ck_assert_int_eq(model.config.width, 8);
        ck_assert_int_eq(model.config.task, TASK_CAUSAL);
        const double loss = loss_of(&model);
        ck_assert_msg(fabs(loss - row[i].loss) < 1e-4, "%s: %.6f", row[i].path, loss);
        arena_free(mem);
    }
}
END_TEST

Suite *suite_checkpoint(void)
{
    Suite *s = suite_create("checkpoint");
    TCase *t = with_folder(s, "checkpoint");

    tcase_add_test(t, a_model_is_read_back_bit_for_bit);
    tcase_add_test(t, a_masked_model_is_read_back_as_one);
    tcase_add_test(t, additional_tensors_and_metadata_are_saved);
    tcase_add_test(t, any_flipped_bit_is_detected);
    tcase_add_test(t, additional_tensors_are_hashed_separately);
    tcase_add_test(t, a_file_with_other_tensors_is_refused);
    tcase_add_test(t, a_file_with_other_metadata_is_refused);
    tcase_add_test(t, a_list_of_mechanisms_has_no_settings_of_a_single_one);
    tcase_add_test(t, a_file_that_is_not_a_checkpoint_is_refused);
    tcase_add_test(t, an_unknown_setting_is_refused_unless_it_is_zero);
    tcase_add_test(t, a_setting_at_its_default_is_not_in_the_file);
    tcase_add_test(t, a_checkpoint_of_an_older_version_loads);
    return s;
}
