#include "tests/studied.h"

#include "model/layer.h"

enum { N = 61 }; /* tokens */

Config studied_config(const Attention *a)
{
    Config c = small_variant(0);

    c.attention = a;
    c.set = settings_default(a);
    c.heads = layer_of(a)->one_head ? 1 : 2;
    c.position = a->traits & CAN_ROPE ? POSITION_ROPE : POSITION_SINUSOIDAL;
    return c;
}

Studied studied_open(Config c, int threads)
{
    Studied x = { .s = small_open(c, 1, LENGTH), .tape = tape_open(threads) };
    const Random r = random_stream(5, RANDOM_TEST, 0);

    x.text = (Tokens){ .at = arena_take(x.s->mem, N * sizeof(Token)), .n = N, .bytes = N };
    for (size_t i = 0; i < N; i++)
        x.text.at[i] = (Token)random_below(r, i, VOCAB);
    x.study = (Study){ .length = LENGTH, .windows = 3, .band = 2, .faint = 0.1, .tolerance = 1e-4 };
    small_overwrite(x.s, 0.5);
    return x;
}

void studied_close(Studied *x)
{
    tape_close(&x->tape);
    small_close(x->s);
}

bool can_study(const Attention *a, int kind)
{
    return (a->traits & HAS_MATRIX) &&
           !(a->traits & (kind == MASKED ? CAUSAL_ONLY : BIDIRECTIONAL_ONLY));
}

Studied studied_kind(Config c, int kind, int threads)
{
    c.task = kind == MASKED ? TASK_MLM : TASK_CAUSAL;
    c.vocab += kind == MASKED;
    Studied x = studied_open(c, threads);
    x.study.unmasked = kind == UNMASKED;
    return x;
}
