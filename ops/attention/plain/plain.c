/*
 * What all twins share: splitting a mix into heads, the keys that a row sees, and RoPE.
 *
 * RoPE (Su et al., 2021, arXiv:2104.09864) rotates each pair of neighbours of row i:
 *
 *     w = i * base^(-c/width)         c = 0, 2, 4, ...
 *     (x_c, x_c+1)  ->  (x_c cos w - x_c+1 sin w,  x_c sin w + x_c+1 cos w)
 *
 * with base = 10000, or another b. A scale s replaces i by i/s (linear), or the base by b
 * s^(width/(width-2)) (ntk). The transpose of a rotation by w is a rotation by -w, and so is its
 * backward pass.
 */
#include "ops/attention/plain/plain.h"

#include "ops/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int size_of(const PlainMix *mix, char letter)
{
    switch (letter) {
    case 'B':
        return mix->B;
    case 'N':
        return mix->T;
    case 'H':
        return mix->H;
    case 'd':
        return mix->D;
    case 'D':
        return 2 * mix->D;
    case 'e':
        return mix->E;
    case 'm':
        return mix->m;
    case 'c':
        return mix->context;
    }
    return operand_dimension(&(MixSize){ .attention = mix->attention, .set = mix->set }, letter);
}

/* The size of an operand in one head. */
static int count(const PlainMix *mix, const char *shape)
{
    int n = 1;

    for (; *shape; shape++)
        n *= *shape == 'B' || *shape == 'H' ? 1 : size_of(mix, *shape);
    return n;
}

/* The index of a head's n-th number in the whole operand: the last letter varies fastest. */
static size_t place(const PlainHead *x, int b, const char *shape, int n)
{
    size_t at = 0, stride = 1;

    for (size_t c = strlen(shape); c-- > 0;) {
        int size = size_of(x->mix, shape[c]);
        bool outer = shape[c] == 'B' || shape[c] == 'H';
        int index = shape[c] == 'B' ? b : shape[c] == 'H' ? x->head : n % size;

        at += (size_t)index * stride;
        stride *= (size_t)size;
        n = outer ? n : n / size;
    }
    return at;
}

static double *take(const PlainHead *x, int b, const char *shape, const double *whole)
{
    int n = count(x->mix, shape);
    double *rows = plain_zeros(x, n);

    for (int c = 0; whole && c < n; c++)
        rows[c] = whole[place(x, b, shape, c)];
    return rows;
}

static void give(const PlainHead *x, int b, const char *shape, const double *rows, double *whole)
{
    for (int c = 0; whole && c < count(x->mix, shape); c++)
        whole[place(x, b, shape, c)] += rows[c];
}

static void head(PlainHead *x, int b, double *o, const double *g, const PlainTensors *d)
{
    const PlainMix *mix = x->mix;
    const Operand *of;

    x->length = mix->length ? mix->length[b] : x->T;
    for (int i = 0; (of = attention_operand(mix->attention, i)); i++) {
        x->in.x[i] = take(x, b, of->shape, mix->in.x[i]);
        x->d.x[i] = take(x, b, of->shape, NULL);
    }
    x->o = take(x, b, "BNHe", NULL);
    x->g = g ? take(x, b, "BNHe", g) : NULL;
    mix->attention->plain(x);
    give(x, b, "BNHe", x->o, o);
    for (int i = 0; g && (of = attention_operand(mix->attention, i)); i++)
        give(x, b, of->shape, x->d.x[i], d->x[i]);
}

void plain_mix(const PlainMix *mix, double *o, const double *g, const PlainTensors *d)
{
    Arena *memory = arena_new();

    memset(o, 0, (size_t)mix->B * (size_t)mix->T * (size_t)mix->H * (size_t)mix->E * sizeof *o);
    for (int b = 0; b < mix->B; b++)
        for (int h = 0; h < mix->H; h++) {
            PlainHead x = { .mix = mix, .head = h, .memory = memory };

            x.c = mix->c ? mix->c + (b * mix->H + h) * mix->T : NULL;
            x.T = mix->T, x.D = mix->D, x.E = mix->E, x.m = mix->m;
            x.window = setting(&mix->set, "window");
            head(&x, b, o, g, d);
            arena_reset(memory);
        }
    arena_free(memory);
}

bool plain_sees(const PlainHead *x, int i, int j)
{
    PlainSees *sees = x->mix->attention->sees;

    return j < x->length && (i < x->length || !x->mix->attention->keys_are_q) &&
           (j <= i || !x->mix->causal) && (abs(i - j) <= x->window || !x->window) &&
           (!sees || sees(x, i, j));
}

int plain_seen(const PlainHead *x, int i)
{
    int n = 0;

    for (int j = 0; j < x->T; j++)
        n += plain_sees(x, i, j);
    return n;
}

double plain_guard(double z)
{
    return z >= 0 ? fmax(z, 1e-6) : fmin(z, -1e-6);
}

static double angle(RopeScale scale, int i, int c, int width)
{
    double s = scale.by > 0 ? scale.by : 1, b = scale.base > 0 ? scale.base : 10000;

    if (scale.kind == ROPE_LINEAR)
        return i / s * pow(b, -(double)c / width);
    return i * pow(b * pow(s, width / (width - 2.0)), -(double)c / width);
}

static void rotate(const PlainHead *x, double *rows, int width, int ladder, double sign)
{
    for (int i = 0; i < x->T; i++)
        for (int c = 0; c + 1 < width; c += 2) {
            double w = sign * angle(x->mix->rope_scale, i, c % ladder, ladder);
            double *pair = rows + i * width + c, first = pair[0];

            pair[0] = first * cos(w) - pair[1] * sin(w);
            pair[1] = first * sin(w) + pair[1] * cos(w);
        }
}

double *plain_rotated(const PlainHead *x, const double *rows, int width, int ladder)
{
    double *copy = plain_zeros(x, x->T * width);

    plain_add(copy, 1, rows, x->T * width);
    if (x->mix->rope)
        rotate(x, copy, width, ladder, 1);
    return copy;
}

void plain_rotate_back(const PlainHead *x, double *rows, int width, int ladder)
{
    if (x->mix->rope)
        rotate(x, rows, width, ladder, -1);
}

void plain_turn(const PlainHead *x, double *rows, int width, double sign)
{
    rotate(x, rows, width, width - width % 2, sign);
}

bool plain_rotates_before(const PlainHead *x)
{
    return x->mix->rope && attention_takes(x->mix->attention, "rope-at") &&
           setting_is(&x->mix->set, "rope-at", "before");
}

static int named(const PlainHead *x, const char *name)
{
    const Operand *of;

    for (int i = 0; (of = attention_operand(x->mix->attention, i)); i++)
        if (strcmp(of->name, name) == 0)
            return i;
    BUG("%s has no operand %s", x->mix->attention->name, name);
}

double *plain_operand(const PlainHead *x, const char *name)
{
    return x->in.x[named(x, name)];
}

double *plain_gradient(const PlainHead *x, const char *name)
{
    return x->d.x[named(x, name)];
}

void plain_put_sum(const PlainHead *x, int i, double c)
{
    if (x->c)
        x->c[i] = c;
}

double *plain_zeros(const PlainHead *x, int n)
{
    return arena_zeros(x->memory, (size_t)n * sizeof(double));
}

double plain_dot(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

void plain_add(double *a, double s, const double *b, int n)
{
    for (int c = 0; c < n; c++)
        a[c] += s * b[c];
}

double *plain_products(const PlainHead *x, const double *a, const double *b, int width)
{
    double *products = plain_zeros(x, x->T * x->T);

    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->T; j++)
            if (plain_sees(x, i, j))
                products[i * x->T + j] = plain_dot(a + i * width, b + j * width, width);
    return products;
}

void plain_times(const PlainHead *x, const double *A, const double *v, int width, double *o)
{
    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->T; j++)
            plain_add(o + i * width, A[i * x->T + j], v + j * width, width);
}

void plain_transposed_times(const PlainHead *x, const double *A, const double *g, int width,
                            double *dv)
{
    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->T; j++)
            plain_add(dv + j * width, A[i * x->T + j], g + i * width, width);
}
