/*
 * Half of the 95% interval of the mean of n numbers whose standard deviation is s: t s / sqrt(n),
 * where P(|T| < t) = 0.95 for Student's T with f = n - 1 degrees of freedom. With tan a = t /
 * sqrt(f), P(|T| < t) is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4):
 *
 *     f odd:   2/pi (a + sin a (cos a + 2/3 cos^3 a + 2/3 4/5 cos^5 a + ...))    (f - 1) / 2 terms
 *     f even:  sin a (1 + 1/2 cos^2 a + 1/2 3/4 cos^4 a + ...)                   f / 2 terms
 *
 * It grows with a, which is found by halving (0, pi/2).
 */
#include "tools/common/interval.h"

#include <math.h>

enum { FREEDOM_MOST = 100000 }; /* t hardly changes beyond */

static const double half_pi = 1.57079632679489661923, level = 0.95;

static double within(double a, size_t f)
{
    const double c = cos(a), s = sin(a);
    double term = f % 2 ? c : 1, sum = 0;

    for (size_t i = 2 + f % 2; i <= f; i += 2) {
        sum += term;
        term *= c * c * (double)(i - 1) / (double)i;
    }
    return f % 2 ? (a + s * sum) / half_pi : s * sum;
}

double interval_half(double sd, size_t n)
{
    const size_t f = n - 1 < FREEDOM_MOST ? n - 1 : FREEDOM_MOST;
    double low = 0, high = half_pi;

    while (low < (low + high) / 2 && (low + high) / 2 < high)
        if (within((low + high) / 2, f) < level)
            low = (low + high) / 2;
        else
            high = (low + high) / 2;
    return sqrt((double)f) * tan(low) * sd / sqrt((double)n);
}
