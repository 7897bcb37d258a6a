/* The layers around a mix: their formulas, what they share, what they cost. */
#include "model/layers.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "tests/papers.h"
#include "tests/suites.h"
#include "training/optimiser.h"

#include <string.h>

/* The second layer of the model. */
static void check_paper(const Small *s, const char *name)
{
    const Config layer = config_layer(&s->model.config, 1), *c = &layer;
    Tape tape = tape_open(2);
    Pass pass = { .tape = &tape, .config = c, .size = config_mix_size(c), .id = s->batch.id };
    Paper paper = { s->mem, &tape, c, &s->model.blocks[1], &s->model.blocks[0], s->batch.id };
    Tensor *x = leaf(s->mem, 5, 1, SHAPE(B, T, c->width));

    const Tensor *y = layer_of(c->attention)->run(&pass, &s->model.blocks[1], x);
    double off = distance_rms(y->data, paper_layer(&paper, doubles(s->mem, x->data, x->n)), x->n);
    ck_assert_msg(off < (in_double ? 1e-12 : 3e-6), "%s is %.1e off", name, off);
    ck_assert_int_eq(y->ndim, 3);
    tape_close(&tape);
}

START_TEST(a_layer_matches_its_paper)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_open(small_variant(i), B, T);

        small_overwrite(s, 0.3);
        check_paper(s, text_format("variant %d", i).at);
        small_close(s);
    }
}
END_TEST

/* The operand whose projection is such; 0: there is none. */
static int computed_of(const Attention *a, bool (*is)(const Projection *from))
{
    const Operand *o;

    for (int i = 0; (o = attention_operand(a, i)); i++)
        if (o->from && is(o->from))
            return i;
    return 0;
}

static bool is_step(const Projection *from)
{
    return from->step;
}

static bool is_rate(const Projection *from)
{
    return from->rate;
}

/* Steps of these sizes in the two heads of a layer, whatever its input, that decay 16 times as
 * fast. */
static void set_steps(Block *b, int which, const double size[2])
{
    const Computed *c = &b->around.computed[which];

    memset(c->w->data, 0, c->w->n * sizeof(real));
    for (int h = 0; h < 2; h++) {
        c->b->data[h] = R(size[h] == 0 ? -1000 : size[h] > 30 ? size[h] : log(expm1(size[h])));
        c->A->data[h] = R(log(16));
    }
}

static void check_finite_gradients(Small *s)
{
    Tape tape = tape_open(2);

    small_learn(s, &tape, 1);
    for (const Param *p = s->model.params.first; p; p = p->next)
        ck_assert_msg(all_finite(p->tensor->grad, p->tensor->n), "%s", p->name);
    tape_close(&tape);
}

/* Nothing of the input comes in, or all of the state is forgotten, or nothing is. */
START_TEST(steps_of_any_size_match_the_paper)
{
    static const double sizes[][2] = { { 0, 0 },    { 0, 0.1 },    { 1e-13, 1e-7 },
                                       { 1e-7, 3 }, { 1e-3, 400 }, { 0.05, 3.125 } };

    for (int i = 0; i < VARIANTS * COUNT(sizes); i++) {
        const Config c = small_variant(i / COUNT(sizes));
        const double *size = sizes[i % COUNT(sizes)];
        const int which = computed_of(c.attention, is_step);

        if (!which)
            continue;
        Small *s = small_open(c, B, T);
        small_overwrite(s, 0.3);
        for (int l = 0; l < c.layers; l++)
            set_steps(&s->model.blocks[l], which, size);
        check_paper(s, text_format("steps of %g and %g", size[0], size[1]).at);
        check_finite_gradients(s);
        small_close(s);
    }
}
END_TEST

/* n numbers are even from `least` to `most`: none is outside, and their mean is in the middle. */
static void check_even(const double *x, int n, double least, double most)
{
    double mean = 0;

    for (int i = 0; i < n; i++) {
        ck_assert_msg(x[i] > least - 1e-4 && x[i] < most + 1e-4, "%g", x[i]);
        mean += x[i] / n;
    }
    ck_assert_double_eq_tol(mean, (least + most) / 2, 5 * (most - least) / sqrt(12.0 * n));
}

/* Delta evenly from 0.001 to 0.1 in its logarithm, e^A from 1 to 16, wherever they are learned; D
 * and the gain at 1. */
START_TEST(steps_and_rates_start_as_in_the_paper)
{
    enum { HEADS = 512 };
    double Delta[HEADS], A[HEADS], together = 0;

    for (const Attention *const *a = attentions; *a; a++) {
        Config c = { .attention = *a, .vocab = 11, .layers = 1, .heads = HEADS, .width = HEADS };
        const int which = computed_of(*a, is_rate);
        Arena *mem = arena_new();
        Model model;

        c.context = 8, c.set = settings_default(*a), c.position = POSITION_NONE;
        if (which) {
            model_init(&model, c, mem, 1);
            const Block *b = model.blocks;
            const Computed *from = &b->around.computed[which];
            for (int h = 0; h < HEADS; h++) {
                Delta[h] = log(log1p(exp((double)from->b->data[h])));
                A[h] = exp((double)from->A->data[h]);
                together += (Delta[h] - log(0.01)) * (A[h] - 8.5);
                ck_assert((!b->skip || b->skip->data[h] == 1) &&
                          (!b->out_norm || b->out_norm->data[h] == 1));
            }
            check_even(Delta, HEADS, log(0.001), log(0.1));
            check_even(A, HEADS, 1, 16);
            ck_assert_double_le(fabs(together), 5 * sqrt(HEADS) * log(100) * 15 / 12);
        }
        arena_free(mem);
    }
}
END_TEST

/* By 1 / sqrt(2 L): there are two in each of L blocks, or one without a feed-forward layer. */
START_TEST(residual_outputs_start_smaller_in_deeper_models)
{
    for (int i = 0; i < VARIANTS; i++) {
        Config c = small_variant(i);
        Arena *mem = arena_new();
        Model model;
        int adds = 0, in_all;

        c.width = 48, c.layers = 8;
        in_all = (c.ffn == FFN_NONE ? 1 : 2) * c.layers;
        model_init(&model, c, mem, 1);
        for (const Param *p = model.params.first; p; p = p->next) {
            const Tensor *w = p->tensor;
            double squares = 0;

            if (w->ndim != 2 || !(strstr(p->name, ".wo") || strstr(p->name, "ffn.down")))
                continue;
            for (size_t n = 0; n < w->n; n++)
                squares += (double)w->data[n] * (double)w->data[n] / (double)w->n;
            ck_assert_double_eq_tol(squares * 3 * w->dim[1] * (c.no_residual ? 1 : in_all), 1,
                                    0.25);
            adds++;
        }
        ck_assert_int_ge(adds, c.layers);
        arena_free(mem);
    }
}
END_TEST

START_TEST(residual_outputs_may_start_at_zero)
{
    for (int i = 0; i < VARIANTS; i++) {
        Config c = small_variant(i);

        c.init_out = OUT_ZERO;
        ck_assert_int_eq(config_misfit(&c).n > 0, c.no_residual);
        Small *s = small_open(c, 1, 8);
        for (const Param *p = s->model.params.first; p; p = p->next) {
            const bool zero = strstr(p->name, ".wo") || strstr(p->name, "ffn.down") ||
                              strstr(p->name, "value_embed");

            if (p->tensor->ndim > 1)
                ck_assert_int_eq(all_zero(p->tensor->data, p->tensor->n), zero);
        }
        small_close(s);
    }
}
END_TEST

/* Every layer's output is x + 0; without residual connections it is 0. */
static void check_zero(void *ctx, int layer, const Tensor *x)
{
    Small *s = ctx;
    static real first[8 * 12];

    for (size_t i = 0; i < x->n; i++)
        if (layer == 0)
            first[i] = x->data[i];
        else
            ck_assert_double_eq(x->data[i], s->model.config.no_residual ? 0 : first[i]);
}

START_TEST(a_layer_of_zeros_passes_its_input_on_and_without_residual_nothing)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_open(small_variant(i), 1, 8);
        Tape tape = tape_open(1);

        for (const Param *p = s->model.params.first; p; p = p->next)
            if (strstr(p->name, ".wo") || strstr(p->name, "ffn.down") || strstr(p->name, ".wq"))
                memset(p->tensor->data, 0, p->tensor->n * sizeof(real));
        model_watch(&tape, &s->model, s->batch.id, 8, (Watch){ .layer = check_zero, .ctx = s });
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

/* What comes out of layers of zeros: x_l = a_l x_(l-1) + b_l x_0. */
static void check_shares(void *ctx, int layer, const Tensor *x)
{
    static double first[8 * 12], last[8 * 12];
    const Block *b = layer ? &((Small *)ctx)->model.blocks[layer - 1] : NULL;

    for (size_t i = 0; i < x->n; i++) {
        first[i] = b ? first[i] : (double)x->data[i];
        last[i] = b ? (double)*b->from_x->data * last[i] + (double)*b->from_x0->data * first[i]
                    : first[i];
        ck_assert_double_eq_tol((double)x->data[i], last[i], in_double ? 1e-15 : 1e-7);
    }
}

START_TEST(a_shortcut_adds_a_share_of_the_embeddings_to_the_input_of_each_block)
{
    Config c = small_variant(0);
    Tape tape = tape_open(1);

    c.layers = 3, c.init_out = OUT_ZERO, c.shortcut = true;
    Small *s = small_open(c, 1, 8);
    for (int l = 0; l < c.layers; l++) {
        const Block *b = &s->model.blocks[l];

        ck_assert(*b->from_x->data == 1 && *b->from_x0->data == 0);
        *b->from_x->data = R(0.5 + l), *b->from_x0->data = R(0.7 - l);
    }
    model_watch(&tape, &s->model, s->batch.id, 8, (Watch){ .layer = check_shares, .ctx = s });
    tape_close(&tape);
    small_close(s);
}
END_TEST

static void set_identity(Tensor *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->data[i] = i % (size_t)(w->dim[1] + 1) == 0;
}

/* With heads that change nothing, against the same model whose predictions are of each position. */
START_TEST(predictions_may_be_made_from_the_last_position_alone)
{
    Config c = small_variant(0);
    Tape tape = tape_open(2);

    c.from_last = true, c.tied = false, c.vocab = c.width;
    Small *s = small_open(c, B, T);
    small_overwrite(s, 0.5);
    set_identity(s->model.head);
    Model of_each = s->model;
    of_each.config.from_last = false;
    const Tensor *h = model_logits(&tape, &of_each, s->batch.id, B, T, 0);
    const Tensor *y = model_logits(&tape, &s->model, s->batch.id, B, T, 0);
    const Paper paper = { s->mem, &tape, &c, NULL, NULL, NULL };
    const double *want = paper_from_last(&paper, &s->model.last, doubles(s->mem, h->data, h->n));
    ck_assert_double_lt(distance_rms(y->data, want, y->n), in_double ? 1e-13 : 3e-6);
    tape_close(&tape);
    small_close(s);
}
END_TEST

/* Two mixes of a layer have the same place. */
typedef struct {
    const Config *config;
    int seen;
} Places;

static void check_place(void *ctx, const Mix *in)
{
    Places *p = ctx;

    ck_assert_int_eq(in->layer, p->seen++ / layer_of(p->config->attention)->mixes);
    ck_assert_int_eq(in->layers, p->config->layers);
}

START_TEST(every_mix_knows_the_place_of_its_layer)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_open(small_variant(i), 1, 8);
        Tape tape = tape_open(1);
        Places p = { .config = &s->model.config };

        model_watch(&tape, &s->model, s->batch.id, 8, (Watch){ .see = check_place, .ctx = &p });
        ck_assert_int_eq(p.seen, p.config->layers * layer_of(p.config->attention)->mixes);
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

/* silu is at least -0.2785; of numbers around 1, some are far below without it. */
static void check_silu(void *ctx, const Mix *in)
{
    double least = 0;

    (void)ctx;
    for (int i = 0; i < 2; i++, least = 0) {
        for (size_t j = 0; j < in->x[i]->n; j++)
            least = fmin(least, (double)in->x[i]->data[j]);
        ck_assert_msg(least > -0.2785 && least < -0.2, "%s: %g", in->attention->name, least);
    }
}

START_TEST(silu_is_applied_to_q_and_k_if_the_row_asks_for_it)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int conv = 0; conv < 5 && (*a)->traits & SILU_QK; conv += 4) {
            Config c = small_variant(0);

            c.attention = *a, c.set = settings_default(*a);
            *setting_at(&c.set, "conv") = conv;
            Small *s = small_open(c, 1, 8);
            Tape tape = tape_open(1);

            for (const Param *p = s->model.params.first; p; p = p->next)
                for (size_t i = 0; i < p->tensor->n && strstr(p->name, "attn."); i++)
                    p->tensor->data[i] *= 5;
            model_watch(&tape, &s->model, s->batch.id, 8, (Watch){ .see = check_silu });
            tape_close(&tape);
            small_close(s);
        }
}
END_TEST

START_TEST(a_unit_starts_with_scores_of_size_one)
{
    Config c = small_variant(PLAIN_VARIANTS + 3);
    Arena *mem = arena_new();
    Tape tape = tape_open(1);
    Model model;
    double squares = 0;

    c.attention = &attention_gau, c.width = 256, c.tied = false;
    c.set = settings_default(c.attention);
    model_init(&model, c, mem, 1);
    const Unit *unit = &model.blocks[0].unit[0];
    Pass p = { .tape = &tape, .config = &c, .size = config_mix_size(&c) };
    Tensor *h = leaf(mem, 6, 1, SHAPE(1, 64, 256));
    Tensor *z = op_activation(&tape, pass_dense(&p, h, unit->z), &activation_silu);
    const real *q = op_scale_offset(&tape, z, unit->scale[0].gamma, unit->scale[0].beta)->data;
    const real *k = op_scale_offset(&tape, z, unit->scale[1].gamma, unit->scale[1].beta)->data;
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) {
            double score = 0;

            for (int d = 0; d < 128; d++)
                score += (double)q[i * 128 + d] * (double)k[j * 128 + d];
            squares += score * score / 128 / (64 * 64);
        }
    ck_assert_double_ge(sqrt(squares), 0.3);
    ck_assert_double_le(sqrt(squares), 3);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

START_TEST(gammas_start_as_they_are_asked_to)
{
    static const double inits[] = { 0, 0.02, 7, -1 }, deviations[] = { 3, 0.02, 7, 1 };
    Config c = small_variant(PLAIN_VARIANTS + 3);

    c.set = settings_default(c.attention), c.width = 32;
    for (int i = 0; i < COUNT(inits); i++) {
        Arena *mem = arena_new();
        Model model;

        c.gamma_init = inits[i];
        model_init(&model, c, mem, 1);
        const Unit *unit = &model.blocks[1].unit[1];
        const Tensor *gamma = unit->scale[1].gamma;
        ck_assert_double_eq_tol(sqrt(sum_of_squares(gamma->data, 128) / 128) / deviations[i], 1,
                                0.2);
        for (int d = 0; d < 128; d++)
            ck_assert((inits[i] >= 0 || gamma->data[d] == 1) && unit->scale[1].beta->data[d] == 0);
        arena_free(mem);
    }
}
END_TEST

/* Twelve layers of 768: a unit has 3 x 768 x 1536 numbers and 768 x 128. */
START_TEST(a_gated_model_has_its_parameters_and_operations)
{
    Config c = { .attention = &attention_gau, .vocab = 256, .layers = 12, .heads = 1 };

    c.width = 768, c.context = 1024, c.set = settings_default(c.attention);
    const double unit = 3 * 768 * 1536 + 768 * 128, head = 256 * 768;
    MixSize size = config_mix_size(&c);
    ck_assert_int_eq(size.D, 128);
    ck_assert_int_eq(size.E, 1536);
    ck_assert_int_eq(size.H, 1);
    ck_assert(size.rope && size.causal);
    ck_assert_double_eq(config_matrix_parameters(&c), 24 * unit + head);
    ck_assert_double_eq(config_flops(&c, 1), 6 * (24 * (unit + attention_cost(&size)) + head));
    *setting_at(&c.set, "gate") = 0;
    ck_assert_double_eq(config_matrix_parameters(&c), 24 * (unit - 768 * 1536) + head);
    c.heads = 4; /* which are parts of the one */
    size = config_mix_size(&c);
    ck_assert_int_eq(size.D, 32);
    ck_assert_int_eq(size.E, 384);
    ck_assert_double_eq(config_matrix_parameters(&c), 24 * (unit - 768 * 1536) + head);
    *setting_at(&c.set, "key-size") = 24; /* of each */
    ck_assert_double_eq(config_matrix_parameters(&c), 24 * (unit - 768 * 1536 - 768 * 32) + head);
}
END_TEST

START_TEST(shared_weights_exist_once_and_are_multiplied_each_time)
{
    for (int i = PLAIN_VARIANTS; i < VARIANTS; i++) {
        Config c = small_variant(i), apart = c;
        const int share = setting(&c.set, "share");
        const bool qv = setting_is(&c.set, "share", "qv");
        const bool layers = setting_is(&c.set, "share", "layers");
        const int heads = setting_is(&c.set, "share", "heads") ? 2 : 1;
        const double square = 12 * 12, own = attention_needs(c.attention, &c.set, 5) * square;
        const double all = own * (1 + attention_needs(c.attention, &c.set, 6));

        *setting_at(&apart.set, "share") = 0;
        if (!share)
            continue;
        ck_assert_double_eq(config_flops(&apart, 1) - config_flops(&c, 1), qv ? 6 * 2 * square : 0);
        ck_assert_double_eq(config_matrix_parameters(&apart) - config_matrix_parameters(&c),
                            2 * (4 * square + all) -
                                (layers ? 1 : 2) *
                                    (square + ((qv ? 2 : 3) * square + all) / heads));
    }
}
END_TEST

START_TEST(layers_of_a_list_share_with_the_first_of_their_mechanism)
{
    Config c = small_variant(0);
    int own = 0;

    ck_assert_uint_eq(config_read_mechanisms(&c, "retnet,fastformer:share=layers").n, 0);
    c.layers = 4;
    Small *s = small_open(c, 1, 8);
    for (const Param *p = s->model.params.first; p; p = p->next) {
        ck_assert_msg(!strstr(p->name, "blocks.3.attn.w"), "%s", p->name);
        own += strstr(p->name, "blocks.1.attn.w") != NULL;
    }
    ck_assert_int_ge(own, 3);
    small_close(s);
}
END_TEST

/* In the paper's letters 3hd^2 + 2hd: hd is the width, and there are three matrices from d to hd.
 */
START_TEST(fastformer_has_the_parameters_of_its_paper)
{
    Config c = small_variant(0);

    c.attention = attention_find("fastformer"), c.set = settings_default(c.attention);
    c.position = POSITION_NONE, c.bias = false;
    small_set(&c, "share", "qv"), small_set(&c, "share", "layers");
    for (c.heads = 1; c.heads <= 4; c.heads *= 2)
        for (c.layers = 1; c.layers <= 3; c.layers++) {
            Small *s = small_open(c, 1, 8);
            const int hd = c.width;
            size_t n = 0;

            for (const Param *p = s->model.params.first; p; p = p->next)
                if (strstr(p->name, ".attn.") && !strstr(p->name, "norm"))
                    n += p->tensor->n;
            ck_assert_uint_eq(n, (size_t)(3 * hd * hd + 2 * hd));
            small_close(s);
        }
}
END_TEST

START_TEST(narrow_keys_and_windows_are_cheaper)
{
    Config c = small_variant(0), narrow = c, near = c;
    const Load load = { .tokens = 1e6 };

    *setting_at(&narrow.set, "key-size") = 2;
    *setting_at(&near.set, "window") = 1;
    ck_assert_double_eq(config_matrix_parameters(&c) - config_matrix_parameters(&narrow),
                        2 * 2 * 12 * 2 * (6 - 2));
    ck_assert_double_lt(config_flops(&near, 1), config_flops(&c, 1));
    ck_assert_double_lt(config_memory(&narrow, load), config_memory(&c, load));
}
END_TEST

START_TEST(invalid_combinations_are_reported)
{
    const Config heads = small_variant(0), gau = small_variant(PLAIN_VARIANTS + 3);
    const Config pooled = small_variant(PLAIN_VARIANTS + 8);
    const Config performer = small_variant(VARIANTS - 2);
    struct {
        const char *words;
        Config c;
    } row[] = {
        { "", heads },
        { "", gau },
        { "--n-head", heads },
        { "--no-gate does not apply to --attn softmax", heads },
        { "--share does not apply to --attn gau", gau },
        { "--key-size does not apply to --attn fastformer", pooled },
        { "--position rope does not apply to --attn fastformer", pooled },
        { "--norm does not apply to --attn softmax", heads },
        { "--base is 1: it must be at least 2", heads },
        { "a head has 3: choose an even width", heads },
        { "a head has 5: choose an even width", performer },
        { "a matrix would have", performer },
        { "a matrix would have", gau },
        { "--redraw and --learn-omega exclude each other", performer },
        { "--n-head 5 does not divide twice --n-embd 12; --n-head 4 would", gau },
        { "--n-kv-head does not apply to --attn gau", gau },
        { "--n-kv-head does not apply to --attn fastformer", pooled },
        { "--n-kv-head 4 does not divide --n-head 6; --n-kv-head 3 would", heads },
        { "--n-kv-head does not apply to --attn mamba2 with --share-keys", heads },
    };

    row[1].c.heads = 8;
    row[2].c.heads = 5;
    *setting_at(&row[3].c.set, "gate") = 0;
    *setting_at(&row[4].c.set, "share") = 1;
    *setting_at(&row[5].c.set, "key-size") = 4;
    row[6].c.position = POSITION_ROPE;
    *setting_at(&row[7].c.set, "norm") = 3;
    *setting_at(&row[8].c.set, "base") = 1;
    *setting_at(&row[9].c.set, "key-size") = 3;
    *setting_at(&row[10].c.set, "features") = 5;
    *setting_at(&row[11].c.set, "features") = 1 << 20;
    *setting_at(&row[11].c.set, "key-size") = 1 << 14;
    row[12].c.width = 1 << 18;
    row[14].c.heads = 5;
    row[15].c.kv_heads = row[16].c.kv_heads = 1;
    row[17].c.heads = 6, row[17].c.kv_heads = 4;
    row[18].c.attention = &attention_mamba2, row[18].c.set = settings_default(&attention_mamba2);
    row[18].c.kv_heads = 1, row[18].c.position = POSITION_NONE;
    *setting_at(&row[12].c.set, "key-size") = 1 << 14;
    *setting_at(&row[13].c.set, "redraw") = *setting_at(&row[13].c.set, "learn-omega") = 1;
    for (int i = 0; i < COUNT(row); i++) {
        Text why = config_misfit(&row[i].c);

        ck_assert_msg(*row[i].words ? strstr(why.at, row[i].words) != NULL : why.n == 0,
                      "no '%s' in '%s'", row[i].words, why.at);
    }
}
END_TEST

Suite *suite_layers(void)
{
    Suite *s = suite_create("layers");
    TCase *t = group(s, "layers");

    tcase_add_test(t, a_layer_matches_its_paper);
    tcase_add_test(t, steps_of_any_size_match_the_paper);
    tcase_add_test(t, steps_and_rates_start_as_in_the_paper);
    tcase_add_test(t, residual_outputs_start_smaller_in_deeper_models);
    tcase_add_test(t, residual_outputs_may_start_at_zero);
    tcase_add_test(t, a_shortcut_adds_a_share_of_the_embeddings_to_the_input_of_each_block);
    tcase_add_test(t, a_layer_of_zeros_passes_its_input_on_and_without_residual_nothing);
    tcase_add_test(t, predictions_may_be_made_from_the_last_position_alone);
    tcase_add_test(t, every_mix_knows_the_place_of_its_layer);
    tcase_add_test(t, silu_is_applied_to_q_and_k_if_the_row_asks_for_it);
    tcase_add_test(t, a_unit_starts_with_scores_of_size_one);
    tcase_add_test(t, gammas_start_as_they_are_asked_to);
    tcase_add_test(t, a_gated_model_has_its_parameters_and_operations);
    tcase_add_test(t, shared_weights_exist_once_and_are_multiplied_each_time);
    tcase_add_test(t, layers_of_a_list_share_with_the_first_of_their_mechanism);
    tcase_add_test(t, fastformer_has_the_parameters_of_its_paper);
    tcase_add_test(t, narrow_keys_and_windows_are_cheaper);
    tcase_add_test(t, invalid_combinations_are_reported);
    return s;
}
