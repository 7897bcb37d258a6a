#include "tools/draw/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Beyond LARGEST a span could overflow; below SMALLEST a step could vanish. */
static const double LARGEST = 1e305, SMALLEST = 1e-305;

enum { LABELS_LEAST = 3, LABELS_MOST = 9 };

Axis axis_new(bool log, bool cover)
{
    return (
        Axis){ .log = log, .cover = cover, .lo = HUGE_VAL, .hi = -HUGE_VAL, .most = LABELS_MOST };
}

/* The position of v between lo and hi. */
static double inner(const Axis *axis, double v)
{
    if (!(fabs(v) <= LARGEST) || (axis->log && v < SMALLEST))
        return (double)NAN;
    return axis->log ? log10(v) : v;
}

bool axis_holds(const Axis *axis, double v)
{
    return !isnan(inner(axis, v));
}

void axis_see(Axis *axis, double v)
{
    double at = inner(axis, v);
    int exponent;

    if (isnan(at))
        return;
    axis->lo = fmin(axis->lo, at);
    axis->hi = fmax(axis->hi, at);
    axis->not_twos |= frexp(v, &exponent) != 0.5;
    axis->not_whole |= v != floor(v);
}

bool axis_empty(const Axis *axis)
{
    return axis->lo > axis->hi;
}

double axis_place(const Axis *axis, double v)
{
    double share = (inner(axis, v) - axis->lo) / (axis->hi - axis->lo);

    return axis->from + share * (axis->to - axis->from);
}

/* v with `decimals` digits after the point. */
static Text fixed(double v, int decimals)
{
    while (decimals > 17 || (decimals > 0 && fabs(v) * pow(10, decimals) > 9e17))
        decimals--;

    long long unit = llround(pow(10, decimals)), whole = llround(fabs(v) * pow(10, decimals));
    Text text = text_format("%s%lld", v < 0 && whole ? "−" : "", whole / unit);

    if (decimals)
        text_add(&text, ".%0*lld", decimals, whole % unit);
    return text;
}

/* At most `decimals` of them: no zeros at the end of the fraction. */
static Text fixed_most(double v, int decimals)
{
    Text text = fixed(v, decimals);

    if (strchr(text.at, '.'))
        while (text.at[text.n - 1] == '0' || text.at[text.n - 1] == '.')
            if (text.at[--text.n] == '.')
                break;
    text.at[text.n] = 0;
    return text;
}

static void add_power(Text *text, const char *base, int exponent)
{
    static const char *digit[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    const Text plain = text_format("%d", exponent);

    text_add(text, "%s", base);
    for (const char *c = plain.at; *c; c++)
        text_add(text, "%s", *c == '-' ? "⁻" : digit[*c - '0']);
}

Text number_text(double v, int digits)
{
    const int exponent = v == 0 || !isfinite(v) ? 0 : (int)floor(log10(fabs(v)));

    if (!isfinite(v))
        return text_format("%s", isnan(v) ? "NaN" : v < 0 ? "−∞" : "∞");
    if (exponent >= -5 && exponent < 9)
        return fixed_most(v, digits - 1 > exponent ? digits - 1 - exponent : 0);
    Text text = fixed_most(v / pow(10, exponent), digits - 1);
    add_power(&text, "×10", exponent);
    return text;
}

/* The power of ten that a label leaves to its suffix. */
static int unit_of(double v)
{
    if (v == 0 || (v >= 1e-3 && v < 1e4))
        return 0;

    int exponent = (int)floor(log10(v) + 1e-9);
    return v < 1e-3 || v >= 1e15 ? exponent : exponent / 3 * 3;
}

static void add_suffix(Text *text, int unit)
{
    static const char *thousand[] = { "", "k", "M", "G", "T" };

    if (unit >= 0 && unit <= 12 && unit % 3 == 0)
        text_add(text, "%s", thousand[unit / 3]);
    else
        add_power(text, "×10", unit);
}

static void label_linear(Axis *axis)
{
    double step = axis->tick[1] - axis->tick[0], largest = 0;

    for (int i = 0; i < axis->n; i++)
        largest = fmax(largest, fabs(axis->tick[i]));
    int unit = unit_of(largest), decimals = unit - (int)floor(log10(step) + 1e-6);
    for (int i = 0; i < axis->n; i++) {
        axis->label[i] = fixed(axis->tick[i] / pow(10, unit), decimals > 0 ? decimals : 0);
        add_suffix(&axis->label[i], unit);
        if (axis->tick[i] == 0)
            axis->label[i] = text_format("0");
    }
}

static Text log_label(double v)
{
    const int unit = unit_of(v);
    Text text = fixed_most(v / pow(10, unit), 3);

    if (strcmp(text.at, "1") == 0 && (unit < 0 || unit > 12)) {
        text = (Text){ 0 };
        add_power(&text, "10", unit);
    } else {
        add_suffix(&text, unit);
    }
    return text;
}

int axis_ticks(double lo, double hi, int most, double *tick)
{
    static const int factor[] = { 1, 2, 5 };
    int exponent = (int)floor(log10((hi - lo) / most)), n;
    double step, first;

    for (int i = 0;; i++) {
        step = factor[i % 3] * pow(10, exponent + i / 3);
        first = floor(lo / step + 1e-6);
        double last = ceil(hi / step - 1e-6);
        if (last - first < most) {
            n = (int)(last - first) + 1;
            break;
        }
    }
    for (int i = 0; i < n; i++)
        tick[i] = (first + i) * step;
    return n;
}

/* Of layers 1 to 4 none is at 1.5. */
static int labels_most(const Axis *axis)
{
    double whole = axis->hi - axis->lo + 1;

    if (axis->not_whole || axis->cover || whole >= axis->most)
        return axis->most;
    return whole > LABELS_LEAST ? (int)whole : LABELS_LEAST;
}

static void fit_linear(Axis *axis)
{
    double largest = fmax(fabs(axis->lo), fabs(axis->hi)), span = axis->hi - axis->lo;

    if (span <= 1e-12 * largest || span < SMALLEST) {
        double pad = largest < SMALLEST ? 1 : largest / 10;
        axis->lo -= pad, axis->hi += pad;
    } else if (axis->cover) { /* a line does not lie on the edge, unless the edge is 0 */
        axis->lo = axis->lo >= 0 ? fmax(0, axis->lo - span / 50) : axis->lo - span / 50;
        axis->hi = axis->hi <= 0 ? fmin(0, axis->hi + span / 50) : axis->hi + span / 50;
    }
    double slack = axis->cover ? HUGE_VAL : 0.06 * (axis->hi - axis->lo);
    double tick[TICKS_MAX];
    int most = labels_most(axis), n, skip, drop;

    do { /* around a single number there are perhaps none that close */
        n = axis_ticks(axis->lo, axis->hi, most++, tick);
        skip = tick[0] < axis->lo - slack;
        drop = tick[n - 1] > axis->hi + slack;
    } while (n - skip - drop < 2);

    axis->lo = skip ? axis->lo : tick[0];
    axis->hi = drop ? axis->hi : tick[n - 1];
    axis->n = n - skip - drop;
    memcpy(axis->tick, tick + skip, (size_t)axis->n * sizeof *tick);
    label_linear(axis);
}

static void add_log(Axis *axis, double v, bool labelled)
{
    double at = log10(v);

    if (at < axis->lo || at > axis->hi || axis->n == TICKS_MAX)
        return;
    axis->tick[axis->n] = v;
    if (labelled)
        axis->label[axis->n] = log_label(v);
    axis->n++;
}

static void fit_twos(Axis *axis)
{
    int first = (int)ceil(axis->lo / log10(2)), last = (int)floor(axis->hi / log10(2));
    int stride = 1 + (last - first) * 3 / (4 * axis->most);

    for (int i = first; i <= last; i += stride) {
        if (i >= 0 && i < 20)
            text_add(&axis->label[axis->n], "%d", 1 << i);
        else
            add_power(&axis->label[axis->n], "2", i);
        axis->tick[axis->n++] = ldexp(1, i);
    }
}

static void fit_decades(Axis *axis)
{
    double span = axis->hi - axis->lo;
    int first = (int)floor(axis->lo), last = (int)floor(axis->hi);
    int stride = 1 + (last - (int)ceil(axis->lo)) / (axis->most + 1);

    for (int i = first; i <= last; i++)
        for (int m = 1; m < 10; m++) {
            bool even = (i % stride + stride) % stride == 0;

            if (m == 1 ? even : span < 5)
                add_log(axis, m * pow(10, i), m == 1 || (span < 2 && (m == 2 || m == 5)));
        }
}

static void fit_log(Axis *axis)
{
    bool wide = axis->hi - axis->lo > 1e-9, twos = wide && !axis->not_twos;
    double pad = wide ? (axis->hi - axis->lo) / 30 : 0.15;

    axis->lo -= pad, axis->hi += pad;
    if (twos) {
        fit_twos(axis);
    } else if (axis->hi - axis->lo > 0.7) {
        fit_decades(axis);
    } else {
        double tick[TICKS_MAX];
        int n = axis_ticks(pow(10, axis->lo), pow(10, axis->hi), axis->most, tick);

        for (int i = 0; i < n; i++)
            if (tick[i] > 0)
                add_log(axis, tick[i], false);
        if (axis->n > 1)
            label_linear(axis);
    }
}

void axis_fit(Axis *axis)
{
    if (axis_empty(axis))
        return;
    if (axis->log)
        fit_log(axis);
    else
        fit_linear(axis);
}
