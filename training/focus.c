#include "training/focus.h"

#include <stdlib.h>

/* The sum and the maximum of the absolute weights of a row. */
typedef struct {
    double sum, largest;
} Size;

static Size size_of(const real *A, Span keys)
{
    Size size = { 0, 0 };

    for (int j = keys.from; j < keys.to; j++) {
        const double a = fabs((double)A[j]);

        size.sum += a;
        size.largest = fmax(size.largest, a);
    }
    return size;
}

static void add_row(double sum[FOCUS_NUMBERS], const Look *look, const real *A, int i)
{
    const Span keys = view_keys(&look->view, i);
    const Size size = size_of(A, keys);
    const double n = keys.to - keys.from;
    double entropy = 0;

    for (int j = keys.from; j < keys.to; j++) {
        const double a = (double)A[j], p = fabs(a) / size.sum, away = abs(i - j);

        entropy -= p != 0 ? p * log(p) : 0; /* NaN stays */
        sum[FOCUS_BAND] += away <= look->band ? p : 0;
        sum[FOCUS_DISTANCE] += away * p;
        sum[FOCUS_FAINT] += (fabs(a) < look->faint * size.largest) / n;
        sum[FOCUS_ZERO] += (a == 0) / n;
        sum[FOCUS_NEGATIVE] += a < 0 ? p : 0;
        sum[FOCUS_SUM] += a;
    }
    sum[FOCUS_ENTROPY] += entropy;
    sum[FOCUS_KEYS] += exp(entropy);
    sum[FOCUS_SEEN] += exp(entropy) / n;
}

void focus_add(Focus *f, const Look *look, const real *A)
{
    for (int i = 0; i < look->view.T; i++, A += look->view.T)
        if (size_of(A, view_keys(&look->view, i)).sum == 0) {
            f->empty++;
        } else {
            add_row(f->sum, look, A, i);
            f->rows++;
        }
}
