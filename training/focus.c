#include "training/focus.h"

#include <stdlib.h>

/* The sum and the maximum of the absolute weights of a row. */
typedef struct {
    double sum, largest;
} Size;

static Size size_of(const View *v, const real *A, int i)
{
    Size size = { 0, 0 };

    for (Span s = view_run(v, i, 0); s.from < s.to; s = view_run(v, i, s.to))
        for (int j = s.from; j < s.to; j++) {
            const double a = fabs((double)A[j]);

            size.sum += a;
            size.largest = fmax(size.largest, a);
        }
    return size;
}

/* A row whose weights are being added. */
typedef struct {
    const Look *look;
    Size size;
    double n, *sum;
} Row;

/* Key j of weight a, `away` from the row; returns its part of the entropy. */
static double add_weight(const Row *row, double a, int away)
{
    const double p = fabs(a) / row->size.sum;
    double *sum = row->sum;

    sum[FOCUS_BAND] += away <= row->look->band ? p : 0;
    sum[FOCUS_DISTANCE] += away * p;
    sum[FOCUS_FAINT] += (fabs(a) < row->look->faint * row->size.largest) / row->n;
    sum[FOCUS_ZERO] += (a == 0) / row->n;
    sum[FOCUS_NEGATIVE] += a < 0 ? p : 0;
    sum[FOCUS_SUM] += a;
    return p != 0 ? -p * log(p) : 0; /* NaN stays */
}

static void add_row(double sum[FOCUS_NUMBERS], const Look *look, const real *A, int i)
{
    const View *v = &look->view;
    const Row row = { look, size_of(v, A, i), view_count(v, i), sum };
    double entropy = 0;

    for (Span s = view_run(v, i, 0); s.from < s.to; s = view_run(v, i, s.to))
        for (int j = s.from; j < s.to; j++)
            entropy += add_weight(&row, (double)A[j], abs(i - j));
    sum[FOCUS_ENTROPY] += entropy;
    sum[FOCUS_KEYS] += exp(entropy);
    sum[FOCUS_SEEN] += exp(entropy) / row.n;
}

void focus_add(Focus *f, const Look *look, const real *A)
{
    for (int i = 0; i < look->view.T; i++, A += look->view.T)
        if (size_of(&look->view, A, i).sum == 0) {
            f->empty++;
        } else {
            add_row(f->sum, look, A, i);
            f->rows++;
        }
}
