/*
 * What an exponential does to the rank of a matrix. X and Y are (N, R), all numbers
 * standard normal; of
 *
 *     S = X Y^T / sqrt(R)        and        E_ij = e^(S_ij)
 *
 * S has rank R: it is a head's Q K^T before there is anything to learn. With R = 1 the
 * series of e^s is E = sum over m of (x^m)(y^m)^T / m!, of powers number by number: its
 * rank is full in theory, and above a tolerance that of the terms that are not too small.
 * Softmax divides the rows of E, which adds no rank and takes none.
 */
#include "tools/analyse/analyse.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "ops/base/random.h"
#include "ops/base/text.h"
#include "ops/kernel/svd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The rank at each tolerance, the last of them NumPy's; then the other measures of svd_rank(). */
enum { COUNTED = 5, EFFECTIVE = COUNTED, HOLDING, MEASURES };
enum { SCORES, EXPONENTIALS, MATRICES };

typedef struct {
    double of[MATRICES][MEASURES];
} Draw;

typedef struct {
    const Exponent *e;
    Draw *draw;
} Draws;

static double tolerance_of(int measure, int n)
{
    static const double tolerance[COUNTED] = { 1e-3, 1e-6, 1e-9, 1e-12, 0 };

    return measure == COUNTED - 1 ? n * DBL_EPSILON : tolerance[measure];
}

/* "1e-03", "2.2e-14 (NumPy)", "effective" */
static Text name_of(int measure, int n)
{
    return measure < COUNTED ? text_format("%.1e%s", tolerance_of(measure, n),
                                           measure == COUNTED - 1 ? " (NumPy)" : "")
                             : text_format("%s", measure == EFFECTIVE ? "effective" : "90%");
}

/* XY: X, then Y. */
static void draw_scores(const Exponent *e, int number, double *XY, double *S)
{
    const Random r = random_stream(e->seed, RANDOM_WEIGHTS, (uint64_t)number);
    const size_t N = (size_t)e->n, R = (size_t)e->rank;

    for (size_t i = 0; i < 2 * N * R; i++)
        XY[i] = random_normal(r, i);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0;

            for (size_t c = 0; c < R; c++)
                sum += XY[i * R + c] * XY[(N + j) * R + c];
            S[i * N + j] = sum / sqrt((double)R);
        }
}

/* M is overwritten. */
static void measure(double *M, int n, double *s, double of[MEASURES])
{
    svd_values(M, n, n, s);
    for (int i = 0; i < COUNTED; i++) {
        const Rank r = svd_rank(s, n, tolerance_of(i, n));

        of[i] = r.rank, of[EFFECTIVE] = r.effective, of[HOLDING] = r.holding;
    }
}

static void measure_draws(void *ctx, int begin, int end)
{
    const Draws *d = ctx;
    const int n = d->e->n;
    const size_t all = (size_t)n * (size_t)n;
    double *S = pool_scratch(), *E = S + all, *s = E + all, *XY = s + n;

    for (int i = begin; i < end; i++) {
        draw_scores(d->e, i, XY, S);
        for (size_t j = 0; j < all; j++)
            E[j] = exp(S[j]);
        measure(S, n, s, d->draw[i].of[SCORES]);
        measure(E, n, s, d->draw[i].of[EXPONENTIALS]);
    }
}

static void print_spread(const Draws *d, int matrix, int measure)
{
    double sum = 0, least = HUGE_VAL, most = 0;

    for (int i = 0; i < d->e->draws; i++) {
        const double x = d->draw[i].of[matrix][measure];

        sum += x, least = fmin(least, x), most = fmax(most, x);
    }
    printf("%10.2f%8.1f%8.1f", sum / d->e->draws, least, most);
}

static void print_table(const Draws *d)
{
    const Exponent *e = d->e;

    printf("Random S (%d x %d) of rank %d, and e^ of each of its numbers, in %d draw%s:\n", e->n,
           e->n, e->rank, e->draws, e->draws == 1 ? "" : "s");
    printf("%-17s%10s%8s%8s%10s%8s%8s\n", "tolerance", "rank of S", "least", "most", "of e^S",
           "least", "most");
    for (int m = 0; m < MEASURES; m++) {
        printf("%-17s", name_of(m, e->n).at);
        print_spread(d, SCORES, m);
        print_spread(d, EXPONENTIALS, m);
        printf("\n");
    }
}

static void print_csv(FILE *out, void *ctx)
{
    static const char *const names[MATRICES] = { "S", "exp(S)" };
    const Draws *d = ctx;

    fprintf(out, "n,rank,seed,draw,matrix,");
    for (int i = 0; i < COUNTED; i++)
        fprintf(out, "rank_%s,", text_number(tolerance_of(i, d->e->n)).at);
    fprintf(out, "effective,holding_90\n");
    for (int i = 0; i < d->e->draws * MATRICES; i++) {
        const double *of = d->draw[i / MATRICES].of[i % MATRICES];

        fprintf(out, "%d,%d,%llu,%d,%s", d->e->n, d->e->rank, (unsigned long long)d->e->seed,
                i / MATRICES + 1, names[i % MATRICES]);
        for (int m = 0; m < MEASURES; m++)
            fprintf(out, ",%s", text_number(of[m]).at);
        fprintf(out, "\n");
    }
}

void exponent_print(const Exponent *e, Pool *pool, const char *csv_path)
{
    const size_t n = (size_t)e->n, bytes = n * (2 * n + 1 + 2 * (size_t)e->rank) * sizeof(double);
    const double all = (double)bytes * pool_threads(pool), here = machine_memory();

    if (all > here)
        die(EXIT_MEMORY, "--exponent %d would take %s, but the machine has %s", e->n,
            text_memory(all).at, text_memory(here).at);
    Draws d = { e, xmalloc((size_t)e->draws * sizeof *d.draw) };
    pool_reserve(pool, bytes);
    pool_for(pool, e->draws, 1, measure_draws, &d);
    print_table(&d);
    if (csv_path)
        file_print(csv_path, print_csv, &d);
    free(d.draw);
}
