#include "model/config.h"

#include "ops/error.h"
#include "ops/machine.h"

#include <limits.h>

const char *const position_names[] = { "rope", "learned", "sinusoidal", "none", NULL };
const char *const ffn_names[] = { "gelu", "swiglu", NULL };
const char *const norm_names[] = { "rms", "layer", NULL };
const char *const task_names[] = { "causal", "mlm", NULL };

/* The divisor of n nearest to `to`. */
static int near_divisor(int n, int to)
{
    for (int d = 0; d < n; d++) {
        if (to - d > 0 && n % (to - d) == 0)
            return to - d;
        if (n % (to + d) == 0)
            return to + d;
    }
    return 1;
}

void config_check(const Config *c)
{
    if (c->width % c->heads != 0)
        die(EXIT_USAGE, "--n-head %d does not divide --n-embd %d; --n-head %d would", c->heads,
            c->width, near_divisor(c->width, c->heads));
    if (c->position == POSITION_ROPE && c->width / c->heads % 2 != 0)
        die(EXIT_USAGE,
            "--position rope turns pairs of numbers, but a head has %d (--n-embd %d / --n-head "
            "%d): choose an even width, or another --position",
            c->width / c->heads, c->width, c->heads);
    if ((double)c->width * 4 * c->width > INT_MAX)
        die(EXIT_USAGE, "--n-embd %d makes matrices of more than %d numbers; it can be %d at most",
            c->width, INT_MAX, 23170);
}

/*
 * SwiGLU has three matrices where GELU has two: with two thirds of the width it
 * has as many parameters (Shazeer, 2020). To a multiple of 16.
 */
int config_hidden(const Config *c)
{
    return c->ffn == FFN_SWIGLU ? (8 * c->width / 3 + 15) / 16 * 16 : 4 * c->width;
}

int config_mask(const Config *c)
{
    return c->vocab - 1;
}

double config_matrix_parameters(const Config *c)
{
    double width = c->width, ffn = (c->ffn == FFN_SWIGLU ? 3 : 2) * width * config_hidden(c);

    return c->layers * (4 * width * width + ffn) + width * c->vocab;
}

double config_flops(const Config *c)
{
    /* each multiply-add is two operations, once forward and twice backward */
    int D = c->width / c->heads;
    MixSize size = {
        .T = c->context, .H = c->heads, .D = D, .E = D, .causal = c->task == TASK_CAUSAL
    };

    return 6 * (config_matrix_parameters(c) + c->layers * c->attention->cost(size));
}

double config_memory(const Config *c, double tokens)
{
    /* of a block: two norms, q, k, v, o, two sums; the hidden layer; two numbers a head */
    double hidden = (c->ffn == FFN_SWIGLU ? 3 : 1) * (double)config_hidden(c);
    double block = 8.0 * c->width + hidden + 3.0 * c->heads + (c->dropout > 0 ? 4.0 * c->width : 0);
    double ends = 3.0 * c->width + c->vocab;
    double parameters = config_matrix_parameters(c) + (double)c->vocab * c->width +
                        (c->position == POSITION_LEARNED ? (double)c->context * c->width : 0);

    return sizeof(real) * (4 * parameters + tokens * (c->layers * block + ends));
}

void config_check_memory(const Config *c, double tokens)
{
    double wanted = config_memory(c, tokens), here = machine_memory();

    if (wanted > here)
        die(EXIT_MEMORY,
            "training with a context of %d, %.0f tokens at once, would take about %.1f GiB and the "
            "machine has %.1f: make --batch-size, the context or the model smaller",
            c->context, tokens, wanted / 0x1p30, here / 0x1p30);
}
