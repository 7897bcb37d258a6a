/*
 * Pathfinder (Linsley et al., 2018, arXiv:1805.08315; in the Long Range Arena, arXiv:2011.04006):
 * do two marked dots lie on the same path? A row is a square image, pixel by pixel, line by line:
 *
 *     .  .  .  .  .  .  .  .  .  .
 *     . 255 .  . 99 .  .  .  .  .        0   background, here "."
 *     . 140 .  .  . 171 .  .  . .      255   a dot: the end of a long path
 *     .  .  .  .  .  . 180 . 150 .     others, 96 to 191: dashes
 *     .  . 100 .  .  .  . 255 . .
 *
 * Every image has two long paths and a few short ones. A path goes from pixel to neighbouring
 * pixel, turns by at most 45 degrees at a time, and never comes back to itself; every third of its
 * pixels is left out. Two paths are at least APART pixels from each other, in x or in y, so a step
 * of at most two pixels never leads from one to another: by following such steps the label is found
 * without error.
 *
 * Nothing but the paths tells the label. Greys are random; both kinds of image have the same paths;
 * and an image is kept only if it has a pair of ends on the same path and a pair on two that are in
 * like places: equally far apart and equally far from the borders, to a pixel in 32. The label says
 * which of the two is marked. Equal distances would not do: the ends of a path tend to be near the
 * border and in line, so that decision trees, given only the places of the dots, would be right in
 * 62% of easy images. Now they are in 52%.
 */
#include "data/synthetic.h"

#include <math.h>
#include <stdlib.h>

/* The target of a pixel while paths are placed: a path may go there, it is at most 1 from the path
 * that grows (but for its last pixel), or less than APART from another. */
enum { FREE = -1, OWN = -2, TAKEN = 0 };

enum {
    APART = 3,
    TRIES = 4000, /* to place a path */
    WHITE = 255,
    DARKEST = 96,
    GREYS = 96,
    LEAST_SIDE = 12,
    MOST_SIDE = 256,
    LONGEST = MOST_SIDE * 10 / 8,
};

const char *const synthetic_difficulties[] = { "easy", "medium", "hard", NULL };

/* The length of the long paths in eighths of the side, and the short ones in an image of 32 x 32.
 */
static const struct {
    int eighths, others;
} kinds[] = { { 4, 2 }, { 6, 4 }, { 10, 6 } };

typedef struct {
    int n, at[LONGEST]; /* pixels */
} Path;

static int side_of(SyntheticShape s)
{
    return (int)floor(sqrt(s.T));
}

static void misfit(SyntheticShape s, Text *why)
{
    const int side = side_of(s);

    if (side * side != s.T || side < LEAST_SIDE || side > MOST_SIDE)
        text_add(why, "images of pathfinder are squares with sides of %d to %d: 1024 is 32 x 32",
                 LEAST_SIDE, MOST_SIDE);
}

/* Two distances, in x and in y, in ascending order: turned and mirrored images have the same. */
typedef struct {
    int less, more;
} Span;

static Span span_of(int x, int y)
{
    return x < y ? (Span){ x, y } : (Span){ y, x };
}

static Span between(int side, int a, int b)
{
    return span_of(abs(a % side - b % side), abs(a / side - b / side));
}

/* From the nearer border. */
static Span inside(int side, int a)
{
    const int last = side - 1, x = a % side, y = a / side;

    return span_of(x < last - x ? x : last - x, y < last - y ? y : last - y);
}

/* To a pixel in 32. */
static bool close_to(int side, Span a, Span b)
{
    const int most = side < 64 ? 1 : side / 32;

    return abs(a.less - b.less) <= most && abs(a.more - b.more) <= most;
}

static bool is_free(const SyntheticRow *row, int x, int y)
{
    const int side = side_of(row->s);

    return x >= 0 && x < side && y >= 0 && y < side && row->target[y * side + x] == FREE;
}

/* Sets the target of all pixels that are not TAKEN and at most `most` from `at`. */
static void set_around(SyntheticRow *row, int at, int most, int to)
{
    const int side = side_of(row->s), x0 = at % side, y0 = at / side;

    for (int y = y0 - most; y <= y0 + most; y++)
        for (int x = x0 - most; x <= x0 + most; x++)
            if (x >= 0 && x < side && y >= 0 && y < side && row->target[y * side + x] != TAKEN)
                row->target[y * side + x] = to;
}

/* Goes straight on, or turns; false: there is no way. */
static bool go_on(SyntheticRow *row, Path *p, int *direction)
{
    static const int dx[] = { 1, 1, 0, -1, -1, -1, 0, 1 }, turn[] = { 0, 0, 1, 7 };
    const int side = side_of(row->s), last = p->at[p->n - 1], first = row_below(row, 4);

    for (int i = 0; i < 4; i++) {
        const int d = (*direction + turn[(first + i) % 4]) % 8;
        const int x = last % side + dx[d], y = last / side + dx[(d + 6) % 8];

        if (is_free(row, x, y)) {
            set_around(row, last, 1, OWN);
            p->at[p->n++] = y * side + x;
            *direction = d;
            return true;
        }
    }
    return false;
}

static bool grow(SyntheticRow *row, Path *p, int length)
{
    int start = row_below(row, row->s.T), direction = row_below(row, 8);

    if (row->target[start] != FREE)
        return false;
    p->n = 1, p->at[0] = start;
    while (p->n < length && go_on(row, p, &direction))
        ;
    for (int i = 0; p->n < length && i < p->n; i++)
        set_around(row, p->at[i], 1, FREE);
    return p->n == length;
}

/* Draws the dashes, and keeps other paths away. */
static void draw_path(SyntheticRow *row, const Path *p)
{
    for (int i = 0; i < p->n; i++) {
        if (i % 3 < 2 || i == p->n - 1)
            row->id[p->at[i]] = DARKEST + row_below(row, GREYS);
        set_around(row, p->at[i], APART - 1, TAKEN);
    }
}

static bool place(SyntheticRow *row, Path *p, int length)
{
    for (int i = 0; i < TRIES; i++)
        if (grow(row, p, length)) {
            draw_path(row, p);
            return true;
        }
    return false;
}

/* Whether pixels a and b are in places like those of c and d. */
static bool alike(int side, int a, int b, int c, int d)
{
    const Span at = inside(side, a), bt = inside(side, b), ct = inside(side, c),
               dt = inside(side, d);

    return close_to(side, between(side, a, b), between(side, c, d)) &&
           ((close_to(side, at, ct) && close_to(side, bt, dt)) ||
            (close_to(side, at, dt) && close_to(side, bt, ct)));
}

/* False: no two pairs of ends are alike. */
static bool mark(SyntheticRow *row, const Path *a, const Path *b, int label)
{
    static const int one[][2] = { { 0, 1 }, { 2, 3 } },
                     two[][2] = { { 0, 2 }, { 0, 3 }, { 1, 2 }, { 1, 3 } };
    const int end[] = { a->at[0], a->at[a->n - 1], b->at[0], b->at[b->n - 1] };
    const int side = side_of(row->s), first = row_below(row, 8);

    for (int i = 0; i < 8; i++) {
        const int *same = one[(first + i) % 2], *other = two[(first + i) % 8 / 2];
        const int *pair = label ? same : other;

        if (alike(side, end[same[0]], end[same[1]], end[other[0]], end[other[1]])) {
            row->id[end[pair[0]]] = row->id[end[pair[1]]] = WHITE;
            return true;
        }
    }
    return false;
}

static bool draw_image(SyntheticRow *row, int label)
{
    const int side = side_of(row->s), length = kinds[row->s.difficulty].eighths * side / 8;
    Path a, b, other;

    for (int t = 0; t < row->s.T; t++)
        row->id[t] = 0, row->target[t] = FREE;
    if (!place(row, &a, length) || !place(row, &b, length) || !mark(row, &a, &b, label))
        return false;
    for (int i = 0; i < kinds[row->s.difficulty].others * side / 32; i++)
        if (!place(row, &other, length / 3))
            return false;
    return true;
}

static void draw(SyntheticRow *row)
{
    const int label = row_below(row, 2);

    while (!draw_image(row, label))
        ;
    for (int t = 0; t < row->s.T; t++)
        row->target[t] = t ? -1 : label;
}

static const char *const no_words[] = { NULL };

const Synthetic synthetic_pathfinder = {
    .name = "pathfinder",
    .summary = "do two dots lie on the same path? (arXiv:1805.08315)",
    .classes = 2,
    .takes = SYNTHETIC_DIFFICULTY,
    .length = 32 * 32,
    .image = true,
    .misfit = misfit,
    .others = 256,
    .answers = 2,
    .draw = draw,
    .digits = 256,
    .words = no_words,
};
