#include "tools/draw/svg.h"

#include "ops/base/error.h"
#include "ops/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char STYLE[] =
    "<style>"
    ".plot{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}"
    ".plot text{fill:#1f2328}.plot .soft{fill:#59636e;color:#59636e}.plot .title{font-size:20px;font-weight:600}"
    ".plot .subtitle{font-size:14px}.plot .note{font-size:12px}.plot .paper{fill:#fff}"
    ".plot .right{text-anchor:end}.plot .middle{text-anchor:middle}"
    ".plot path,.plot line{fill:none;stroke:currentColor;stroke-linejoin:round;"
    "stroke-linecap:round}"
    ".plot .grid{stroke:#e4e7eb}.plot .minor{stroke:#f1f3f5}.plot .axis{stroke:#8c959f}"
    ".plot .reference{stroke:#59636e;stroke-width:1.5;stroke-dasharray:6 5;stroke-linecap:butt}"
    ".plot .line{stroke-width:2.2}.plot .dense,.plot .thin{stroke-width:1.2}"
    ".plot .d1 .line{stroke-dasharray:8 5}.plot .d2 .line{stroke-dasharray:2 5}"
    ".plot .pale{stroke-width:1;opacity:.32}.plot .bar{stroke-width:1.4}"
    ".plot .leader{opacity:.55}.plot .ring{stroke-width:2}"
    ".plot .mark{fill:currentColor;stroke:#fff;stroke-width:1.2}"
    ".plot .hover{fill:currentColor;stroke:none;opacity:0}.plot .hover:hover{opacity:1}"
    ".plot .s0{color:#264c8c}.plot .s1{color:#af3804}.plot .s2{color:#00ab5d}"
    ".plot .s3{color:#bb7bb2}.plot .s4{color:#d97e00}.plot .s5{color:#7082ff}"
    ".plot .s6{color:#6420c2}.plot .s7{color:#726364}"
    "@media(prefers-color-scheme:dark){"
    ".plot text{fill:#e6edf3}.plot .soft{fill:#9aa4af;color:#9aa4af}.plot .paper{fill:#0d1117}"
    ".plot .grid{stroke:#272d36}.plot .minor{stroke:#1a1f27}.plot .axis{stroke:#656d78}"
    ".plot .pale{opacity:.45}.plot .reference{stroke:#9aa4af}.plot .mark{stroke:#0d1117}"
    ".plot .s0{color:#51c3ff}.plot .s1{color:#fd8547}.plot .s2{color:#529c6f}"
    ".plot .s3{color:#bd69b8}.plot .s4{color:#ffcc29}.plot .s5{color:#c1fcff}"
    ".plot .s6{color:#8277ff}.plot .s7{color:#abafb7}"
    "}</style>\n";

const Point svg_nowhere = { (double)NAN, (double)NAN };

void svg_group(FILE *out, int number)
{
    fprintf(out, "<g class=\"s%d d%d\">\n", number % SVG_COLOURS, number / SVG_COLOURS % 3);
}

/* The second round of colours has other marks than the first. */
const char *svg_mark(int number)
{
    static const char *const mark[SVG_COLOURS] = {
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
        "m-3.7-3.7h7.4v7.4h-7.4z",
        "m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
        "m0-5l4.8 8.4h-9.6z",
        "m0 5l4.8-8.4h-9.6z",
        "m-5 0l8.4 4.8v-9.6z",
        "m5 0l-8.4 4.8v-9.6z",
        "m-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z"
    };

    return mark[(number + number / SVG_COLOURS) % SVG_COLOURS];
}

/*
 * The next character of s, which is advanced. Bytes that are not UTF-8, characters that XML forbids
 * and those that change the direction of the text are U+FFFD; other white space is a space.
 */
static unsigned next_character(const char **s)
{
    uint32_t c;
    const int length = utf8_decode((const unsigned char *)*s, UTF8_MOST, &c);
    const bool none = (c & 0xfffe) == 0xfffe;

    if (length && (c == '\t' || c == '\n' || c == '\r'))
        c = ' ';
    else if (!length || none || text_controls(c)) {
        *s += length ? length : 1;
        return 0xfffd;
    }
    *s += length;
    return c;
}

/* About the pixels of a character at 13 pixels, for the wider of the usual fonts. */
static double character_width(unsigned c)
{
    if (c < 0x80 && strchr("iljtfrI.,:;|!'()[] ", (int)c))
        return 5;
    if (c < 0x80 && strchr("mwMW@%", (int)c))
        return 12.5;
    return c >= 0x1100 && !(c >= 0x2000 && c < 0x2200) ? 14 : c >= 'A' && c <= 'Z' ? 9.5 : 8;
}

double svg_width(const char *s)
{
    double width = 0;

    while (s && *s)
        width += character_width(next_character(&s));
    return width;
}

/* Writes s as XML, cut short to `width` pixels of 13-pixel letters. */
void svg_text(FILE *out, const char *s, double width)
{
    double left = svg_width(s) > width ? width - 12 : HUGE_VAL;

    while (s && *s) {
        const char *from = s;
        unsigned c = next_character(&s);

        left -= character_width(c);
        if (left < 0) {
            fputs("…", out);
            return;
        }
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            fprintf(out, "&#%u;", c);
        else if (c == 0xfffd || c == ' ')
            fputs(c == ' ' ? " " : "\xef\xbf\xbd", out);
        else
            fwrite(from, 1, (size_t)(s - from), out);
    }
}

static void put_pixel(FILE *out, double v)
{
    long tenths = lround(v * 10);

    fprintf(out, tenths % 10 ? "%ld.%ld" : "%ld", tenths / 10, tenths % 10);
}

void svg_point(FILE *out, const char *before, Point p)
{
    fputs(before, out);
    put_pixel(out, p.x);
    fputc(' ', out);
    put_pixel(out, p.y);
}

void svg_line(FILE *out, const char *class, Point a, Point b)
{
    fprintf(out, "<path class=\"%s\" d=\"", class);
    svg_point(out, "M", a);
    svg_point(out, "L", b);
    fputs("\"/>\n", out);
}

/* One line of text; `size` is that of its letters, the class's. */
void svg_words(FILE *out, const char *class, Point at, const char *s, double width)
{
    if (!s || !*s)
        return;
    fprintf(out, "<text class=\"%s\" x=\"", class);
    put_pixel(out, at.x);
    fputs("\" y=\"", out);
    put_pixel(out, at.y);
    fputs("\">", out);
    svg_text(out, s, width);
    fputs("</text>\n", out);
}

bool svg_placed(Point p)
{
    return !isnan(p.x) && !isnan(p.y);
}

static void pen_flush(Pen *pen)
{
    if (!pen->open)
        return;
    svg_point(pen->out, pen->drawn++ ? " " : "M", pen->high_last ? pen->low : pen->high);
    if (pen->low.y < pen->high.y)
        svg_point(pen->out, (pen->drawn++, " "), pen->high_last ? pen->high : pen->low);
    pen->open = false;
}

void pen_lift(Pen *pen)
{
    pen_flush(pen);
    if (pen->drawn == 1)
        fputs("h0", pen->out); /* a point alone is a dot */
    pen->drawn = 0;
}

void pen_move(Pen *pen, Point p)
{
    if (!svg_placed(p)) {
        pen->gap = true;
        return;
    }
    long at = (long)floor(p.x / pen->column);
    if (!pen->open || at != pen->at) {
        if (pen->gap)
            pen_lift(pen);
        pen_flush(pen);
        pen->low = pen->high = p;
        pen->open = true;
    } else if (p.y < pen->low.y) {
        pen->low = p;
        pen->high_last = false;
    } else if (p.y > pen->high.y) {
        pen->high = p;
        pen->high_last = true;
    }
    pen->at = at;
    pen->gap = false;
}

void pen_smooth(double *y, int n, int points)
{
    double *sum = xmalloc(2 * ((size_t)n + 1) * sizeof *sum), *count = sum + n + 1;

    sum[0] = count[0] = 0;
    for (int i = 0; i < n; i++) {
        sum[i + 1] = sum[i] + (isnan(y[i]) ? 0 : y[i]);
        count[i + 1] = count[i] + !isnan(y[i]);
    }
    for (int i = 0; i < n; i++) {
        int half = points / 2 < i ? points / 2 : i;
        int from = i - half, to = i + half < n ? i + half + 1 : n;
        if (!isnan(y[i]))
            y[i] = (sum[to] - sum[from]) / (count[to] - count[from]);
    }
    free(sum);
}

void svg_open(FILE *out, int width, int height, const char *title)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"",
            width, height);
    svg_text(out, title, 4000);
    fprintf(out, "\">\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", width, height);
}

void svg_style(FILE *out)
{
    fputs(STYLE, out);
}
