/* A trained model at other lengths: its protocols, target by target, and what they refuse. */
#include "data/masking.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/naive.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/evaluate.h"
#include "training/perplexity.h"

#include <string.h>

enum { N = 45, VOCAB = 11, BUCKETS = 64 };
static const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

/* A model with a context of 8, and a text of n tokens. */
typedef struct {
    Small *s;
    Tape tape;
    Tokens text;
    Tokenizer *tokenizer;
} Judged;

static Judged judged_open(Config c, size_t n)
{
    Judged j = { .s = small_open(c, 1, 8), .tape = tape_open(2) };
    Token *token = arena_take(j.s->mem, n * sizeof *token);
    Random r = random_stream(7, RANDOM_TEST, 0);

    for (size_t i = 0; i < n; i++)
        token[i] = (Token)random_below(r, i, VOCAB);
    j.tokenizer = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    j.text = (Tokens){ .at = token, .n = n, .bytes = n, .tokenizer = j.tokenizer };
    small_overwrite(j.s, 0.4);
    return j;
}

static void judged_close(Judged *j)
{
    tokenizer_free(j->tokenizer);
    tape_close(&j->tape);
    small_close(j->s);
}

/* What the loop of training says of the same text. */
static Evaluation evaluated_with(Judged *j, const Model *model, int B, Masking masking)
{
    int mask = model->config.task == TASK_MLM ? config_mask(&model->config) : -1;
    TextSource source = source_text(j->text, j->text, model->config.context, mask);

    source.masking = masking;
    return evaluate(&j->tape, model, (Reading){ .source = &source.source, .B = B });
}

static Evaluation evaluated(Judged *j, const Model *model, int B)
{
    return evaluated_with(j, model, B, (Masking){ 0 });
}

static Score judge(Judged *j, Protocol p)
{
    Score score;

    p.bucket = 0;
    perplexity(&j->tape, &j->s->model, &j->text, p, &score);
    return score;
}

static Config with_position(Position position)
{
    Config c = small_variant(0);

    c.position = position;
    return c;
}

static Config masked(void)
{
    Config c = with_position(POSITION_SINUSOIDAL);

    c.vocab = VOCAB + 1, c.task = TASK_MLM;
    return c;
}

/* The loss of target i given exactly `context` tokens before it. */
static double loss_after(Judged *j, size_t i, int context)
{
    Arena *mem = arena_new();
    const Model at = model_at(&j->s->model, context, mem);
    int id[N], V = j->s->model.config.vocab;

    for (int t = 0; t < context; t++)
        id[t] = j->text.at[i - (size_t)context + (size_t)t];
    tape_reset(&j->tape);
    const Tensor *logits = model_logits(&j->tape, &at, id, 1, context, 0);
    const double *last = doubles(mem, logits->data + (context - 1) * V, (size_t)V);
    double loss = naive_cross_entropy(last, j->text.at[i], V);
    tape_reset(&j->tape);
    arena_free(mem);
    return loss;
}

/* The context of target i: its own first window's, or that of the step which first reaches it. */
static int context_of(size_t i, size_t L, size_t S, size_t targets)
{
    size_t end = L;

    while (end < i)
        end += S;
    if (end > targets)
        end = targets;
    return (int)(i - (end - L));
}

static const struct {
    Position position;
    int length, stride;
} protocols[] = {
    { POSITION_ROPE, 8, 8 },        { POSITION_ROPE, 8, 1 },       { POSITION_ROPE, 8, 3 },
    { POSITION_ROPE, 11, 11 },      { POSITION_ROPE, 44, 44 },     { POSITION_ROPE, 43, 2 },
    { POSITION_ROPE, 1, 1 },        { POSITION_ROPE, 23, 23 },     { POSITION_LEARNED, 5, 5 },
    { POSITION_LEARNED, 8, 6 },     { POSITION_SINUSOIDAL, 8, 5 }, { POSITION_SINUSOIDAL, 16, 16 },
    { POSITION_SINUSOIDAL, 20, 1 }, { POSITION_NONE, 15, 4 },
};

/* _i: one of them. Also by position: the losses of targets with so much context, and no others. */
START_TEST(every_target_is_scored_once_with_its_context_and_counts_the_same)
{
    const int L = protocols[_i].length, S = protocols[_i].stride;
    Judged j = judged_open(with_position(protocols[_i].position), N);
    double loss[N], nats = 0, squares = 0, of_bucket[BUCKETS] = { 0 };
    int in_bucket[BUCKETS] = { 0 };
    Score score[BUCKETS];

    for (size_t i = 1; i < N; i++) {
        int context = context_of(i, (size_t)L, (size_t)S, N - 1);

        nats += loss[i] = loss_after(&j, i, context);
        of_bucket[(context - 1) / 3] += loss[i];
        in_bucket[(context - 1) / 3]++;
    }
    for (size_t i = 1; i < N; i++)
        squares += (loss[i] - nats / (N - 1)) * (loss[i] - nats / (N - 1));
    const Score all = judge(&j, (Protocol){ .length = L, .stride = S });
    ck_assert_double_eq(all.targets, N - 1);
    ck_assert_double_eq(all.bytes, N - 1);
    ck_assert_double_eq_tol(score_loss(&all), nats / (N - 1), tolerance);
    ck_assert_double_eq_tol(score_bits(&all), nats / (N - 1) / log(2), tolerance);
    ck_assert_double_eq_tol(score_error(&all), sqrt(squares / (N - 2) / (N - 1)), tolerance);

    Protocol parts = { .length = L, .stride = S, .bucket = 3 };
    ck_assert_int_eq(perplexity_scores(parts), (L + 2) / 3);
    perplexity(&j.tape, &j.s->model, &j.text, parts, score);
    for (int k = 0; k < (L + 2) / 3; k++) {
        ck_assert_double_eq(score[k].targets, in_bucket[k]);
        ck_assert_double_eq_tol(score[k].nats, of_bucket[k], N * tolerance);
    }
    judged_close(&j);
}
END_TEST

/* 16,384 tokens, or as many as have logits of 256 MiB; and never less than a window. */
START_TEST(fewer_windows_are_read_at_once_where_the_vocabulary_is_large)
{
    static const int want[][3] = { { 256, 1, 16384 }, { 4096, 64, 256 },  { 4097, 1, 16380 },
                                   { 65536, 64, 16 }, { 65536, 1024, 1 }, { 65536, 4096, 1 } };

    for (int i = 0; i < COUNT(want); i++) {
        const Config c = { .vocab = want[i][0], .task = TASK_CAUSAL };

        ck_assert_int_eq(perplexity_batch(&c, want[i][1]), want[i][2]);
    }
}
END_TEST

START_TEST(at_the_trained_context_it_equals_evaluation_bit_for_bit)
{
    Judged j = judged_open(with_position(POSITION_ROPE), 5 * 8 + 1);
    const Score score = judge(&j, (Protocol){ .length = 8, .stride = 8 });

    ck_assert_double_eq(score_loss(&score), evaluated(&j, &j.s->model, 2).loss);
    judged_close(&j);
}
END_TEST

/* _i: a length; at each, whatever is left over, the windows are those of a model of that context.
 */
START_TEST(a_masked_model_is_scored_as_in_evaluation)
{
    static const int length[] = { 8, 1, 5, 20, 44, 30 };
    const int L = length[_i];
    Judged j = judged_open(masked(), N);
    Arena *mem = arena_new();
    const Model at = model_at(&j.s->model, L, mem);
    const Evaluation e = evaluated(&j, &at, 1);
    const Score score = judge(&j, (Protocol){ .length = L, .stride = L });

    ck_assert_double_eq(score_loss(&score), e.loss);
    ck_assert_double_eq(score.right / score.targets, e.accuracy);
    ck_assert_double_eq(score.targets, (N - 1) / L * masking_targets(0, L));
    arena_free(mem);
    judged_close(&j);
}
END_TEST

/* _i: causal, or masked */
START_TEST(batch_size_and_threads_do_not_change_a_bit)
{
    Judged j = judged_open(_i ? masked() : with_position(POSITION_ROPE), N);
    Protocol p = { .length = 5, .stride = _i ? 5 : 2, .batch = 1 };
    const Score one = judge(&j, p);

    for (p.batch = 0; p.batch < 30; p.batch += 7) {
        tape_close(&j.tape);
        j.tape = tape_open(1 + p.batch / 7);
        const Score score = judge(&j, p);
        ck_assert_mem_eq(&score, &one, sizeof one);
    }
    judged_close(&j);
}
END_TEST

START_TEST(a_masked_model_is_scored_with_the_masks_of_its_run)
{
    Judged j = judged_open(masked(), N);
    const int T = j.s->model.config.context;
    const Masking half = { .share = 0.5 };
    const Evaluation e = evaluated_with(&j, &j.s->model, 3, half);
    const Score s = judge(&j, (Protocol){ .length = T, .stride = T, .masking = half });

    ck_assert_double_eq(score_loss(&s), e.loss);
    ck_assert_double_eq(s.targets, (N - 1) / T * (T / 2));
    judged_close(&j);
}
END_TEST

/* _i: a tokenizer; the first token is no target, so a word that it begins is not counted. */
START_TEST(words_are_separated_by_white_space_for_any_tokenizer)
{
    static const char *const words[] = { "byte", "bpe:260" };
    static const char text[] = "Ab abra\t ca dab ra\n\nab ab abra abra, ab .\vab! ";
    const Bytes all = { (const unsigned char *)text, sizeof text - 1 };
    Config c = with_position(POSITION_ROPE);
    Tokenizer *tokenizer = tokenizer_learn(words[_i], all);

    c.vocab = tokenizer_size(tokenizer);
    Small *s = small_open(c, 1, 8);
    Tape tape = tape_open(1);
    Tokens tokens = tokens_of(tokenizer, all);
    Score parts[BUCKETS];
    double inside = 0;
    const Protocol p = { .length = 5, .stride = 3 };
    ck_assert(_i == 0 || tokens.n < 30);
    perplexity(&tape, &s->model, &tokens, p, parts);
    ck_assert_double_eq(parts[0].words, 11);
    ck_assert_double_eq_tol(log(score_word_ppl(parts)), parts[0].nats / 11, 1e-9);
    perplexity(&tape, &s->model, &tokens, (Protocol){ .length = 5, .stride = 5, .bucket = 2 },
               parts);
    for (int i = 0; i < 3; i++)
        inside += parts[i].words;
    ck_assert_double_eq(inside, 11);
    ck_assert(isnan(score_word_ppl(&(Score){ .nats = 1 })));
    tokens_free(&tokens);
    tokenizer_free(tokenizer);
    tape_close(&tape);
    small_close(s);
}
END_TEST

static double last_told;

static void listen(double share)
{
    ck_assert_double_gt(share, last_told);
    last_told = share;
}

START_TEST(there_is_no_dropout_and_the_tape_is_restored)
{
    Judged j = judged_open(with_position(POSITION_ROPE), N);
    Protocol p = { .length = 5, .stride = 2, .batch = 4, .tell = listen };
    const Score plain = judge(&j, p);

    ck_assert_double_eq(last_told, 1);
    last_told = 0;
    j.s->model.config.dropout = 0.5;
    const Score score = judge(&j, p);
    ck_assert_mem_eq(&score, &plain, sizeof plain);
    ck_assert(!j.tape.forward_only && !j.tape.last);
    j.tape.forward_only = true;
    p.tell = NULL;
    judge(&j, p);
    ck_assert(j.tape.forward_only);
    judged_close(&j);
}
END_TEST

/* _i: positions, of which none is learned */
START_TEST(a_model_at_another_context_equals_one_built_for_it)
{
    enum { LONG = 21 };
    static const Position position[] = { POSITION_ROPE, POSITION_SINUSOIDAL, POSITION_NONE };
    Config c = with_position(position[_i]), longer = c;
    Arena *mem = arena_new();
    Tape tape = tape_open(2);
    Model small, large;

    longer.context = LONG;
    model_init(&small, c, mem, 3);
    model_init(&large, longer, mem, 3);
    const Model at = model_at(&small, LONG, mem);
    int id[LONG];
    for (int t = 0; t < LONG; t++)
        id[t] = t * t % VOCAB;
    const Tensor *got = model_logits(&tape, &at, id, 1, LONG, 0);
    const Tensor *want = model_logits(&tape, &large, id, 1, LONG, 0);
    ck_assert(same_bits(got->data, want->data, want->n));
    ck_assert_int_eq(small.config.context, 8);
    tape_close(&tape);
    arena_free(mem);
}
END_TEST

START_TEST(rope_scale_takes_effect_and_1_does_not_change_a_bit)
{
    Judged j = judged_open(with_position(POSITION_ROPE), N);
    Config *c = &j.s->model.config;
    const Protocol p = { .length = 16, .stride = 16 };
    const Score plain = judge(&j, p);

    for (int kind = ROPE_LINEAR; kind <= ROPE_NTK; kind++) {
        c->rope_scale = (RopeScale){ (RopeKind)kind, 1, 0 };
        const Score same = judge(&j, p);
        ck_assert_mem_eq(&same, &plain, sizeof plain);
        c->rope_scale.by = 2;
        const Score other = judge(&j, p);
        ck_assert_double_ne(other.nats, plain.nats);
    }
    judged_close(&j);
}
END_TEST

/* What is refused: a model, windows, the tokens of a text. */
static const struct {
    const char *about;
    Position position;
    Task task;
    Protocol p;
    size_t tokens;
    int code;
    const char *words;
} refused[] = {
    { "too short",
      POSITION_ROPE,
      TASK_CAUSAL,
      { .length = 45, .stride = 45 },
      45,
      EXIT_DATA,
      "the text has 45 tokens, but a window of 45 takes 46" },
    { "nothing",
      POSITION_ROPE,
      TASK_CAUSAL,
      { .length = 1, .stride = 1 },
      0,
      EXIT_DATA,
      "the text has 0 tokens" },
    { "too short, masked",
      POSITION_SINUSOIDAL,
      TASK_MLM,
      { .length = 9, .stride = 9 },
      9,
      EXIT_DATA,
      "a window of 9 takes 10" },
    { "learned",
      POSITION_LEARNED,
      TASK_CAUSAL,
      { .length = 9, .stride = 9 },
      99,
      EXIT_USAGE,
      "--lengths up to 8" },
    { "gaps",
      POSITION_ROPE,
      TASK_CAUSAL,
      { .length = 8, .stride = 9 },
      99,
      EXIT_USAGE,
      "is at most the length" },
    { "sliding, masked",
      POSITION_ROPE,
      TASK_MLM,
      { .length = 8, .stride = 4 },
      99,
      EXIT_USAGE,
      "needs --protocol disjoint" },
    { "parts, masked",
      POSITION_ROPE,
      TASK_MLM,
      { .length = 8, .stride = 8, .bucket = 2 },
      99,
      EXIT_USAGE,
      "needs --protocol disjoint" },
    { "memory",
      POSITION_ROPE,
      TASK_CAUSAL,
      { .length = 1 << 30, .stride = 1 },
      (size_t)1 << 31,
      EXIT_MEMORY,
      "GiB, but the machine has" },
};

static void check(const char *about)
{
    int i = 0;

    while (strcmp(refused[i].about, about) != 0)
        i++;
    Config c = with_position(refused[i].position);
    c.task = refused[i].task;
    Small *s = small_open(c, 1, 8);
    perplexity_check(&s->model, refused[i].p, refused[i].tokens);
    small_close(s);
}

START_TEST(impossible_lengths_are_refused_with_the_limit)
{
    check_dies(check, refused[_i].about, refused[_i].code, refused[_i].words);
}
END_TEST

START_TEST(the_smallest_valid_input_is_accepted)
{
    Small *s = small_open(with_position(POSITION_LEARNED), 1, 8);

    perplexity_check(&s->model, (Protocol){ .length = 8, .stride = 8 }, 9);
    perplexity_check(&s->model, (Protocol){ .length = 1, .stride = 1 }, 2);
    small_close(s);
}
END_TEST

START_TEST(reading_takes_less_memory_than_learning_and_more_with_more_tokens)
{
    Config c = small_variant(0);

    ck_assert_double_lt(config_forward_memory(&c, 100), config_memory(&c, (Load){ .tokens = 100 }));
    ck_assert_double_gt(config_forward_memory(&c, 1e6), 1e6 * sizeof(real) * c.width * c.layers);
    ck_assert_double_gt(config_forward_memory(&c, 0), 0);
}
END_TEST

Suite *suite_perplexity(void)
{
    Suite *s = suite_create("perplexity");
    TCase *t = group(s, "perplexity");

    tcase_add_loop_test(t, every_target_is_scored_once_with_its_context_and_counts_the_same, 0,
                        COUNT(protocols));
    tcase_add_test(t, fewer_windows_are_read_at_once_where_the_vocabulary_is_large);
    tcase_add_test(t, at_the_trained_context_it_equals_evaluation_bit_for_bit);
    tcase_add_loop_test(t, a_masked_model_is_scored_as_in_evaluation, 0, 6);
    tcase_add_loop_test(t, batch_size_and_threads_do_not_change_a_bit, 0, 2);
    tcase_add_test(t, a_masked_model_is_scored_with_the_masks_of_its_run);
    tcase_add_loop_test(t, words_are_separated_by_white_space_for_any_tokenizer, 0, 2);
    tcase_add_test(t, there_is_no_dropout_and_the_tape_is_restored);
    tcase_add_loop_test(t, a_model_at_another_context_equals_one_built_for_it, 0, 3);
    tcase_add_test(t, rope_scale_takes_effect_and_1_does_not_change_a_bit);
    tcase_add_loop_test(t, impossible_lengths_are_refused_with_the_limit, 0, COUNT(refused));
    tcase_add_test(t, the_smallest_valid_input_is_accepted);
    tcase_add_test(t, reading_takes_less_memory_than_learning_and_more_with_more_tokens);
    return s;
}
