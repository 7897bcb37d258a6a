/*
 * Attention maps: the weights of each head for one text. A cell is A_ij, row i the
 * query, column j the key; its shade is the square root of |A_ij|, since most
 * weights are small, and its colour is the sign.
 */
#include "model/mechanisms.h"
#include "tools/report/model.h"

#include "model/layer.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include "tools/draw/axis.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In pixels: the widest and the narrowest cell, a row of them, the margin for short and long words.
 */
enum {
    CELL_MOST = 18,
    CELL_LEAST = 6,
    MAP_WIDTH = 300,
    MARGIN = 22,
    WIDE_MARGIN = 66,
    MAPS_MOST = 48,
    SMALL_MOST = 256,
    LEVELS = 8
};
enum { WORD_BYTES = 24, WEIGHT_DIGITS = 3, BEGINNING = 1 << 16 };

/* Weights below this share of the largest would not be visible, and are not drawn. */
static const double FAINT = 1e-3;

typedef struct {
    FILE *out;
    const Config *config;
    Tape tape; /* of the matrices; the forward pass has its own */
    int n;     /* positions */
    char (*word)[WORD_BYTES];
    size_t of;   /* tokens of the whole text, */
    bool more;   /* or of its beginning */
    bool turned; /* words above columns are vertical, as some are long */
    int margin;
    int mixes, maps, cell; /* seen so far, drawn so far; pixels */
    FILE *overview;
} Maps;

/* A byte, or something visible in its place. */
static void show_byte(char word[WORD_BYTES], unsigned char byte)
{
    if (byte > ' ' && byte < 0x7f)
        snprintf(word, WORD_BYTES, "%c", byte);
    else if (byte == ' ' || byte == '\n' || byte == '\t')
        strcpy(word, byte == ' ' ? "␣" : byte == '\n' ? "↵" : "⇥");
    else
        snprintf(word, WORD_BYTES, "%02x", byte);
}

static double largest_of(const real *A, int n)
{
    double largest = 0;

    for (int i = 0; i < n * n; i++)
        if (isfinite(A[i]))
            largest = fmax(largest, fabs((double)A[i]));
    return largest;
}

static void draw_cell(const Maps *m, double weight, double largest, int i, int j)
{
    const double shade = sqrt(fabs(weight) / largest);

    if (!(fabs(weight) > FAINT * largest))
        return;
    fprintf(m->out, "<path%s d=\"M%d %dh1v1h-1z\" fill-opacity=\"%.2f\"><title>%s  ",
            weight < 0 ? " class=\"minus\"" : "", j, i, shade,
            number_text(weight, WEIGHT_DIGITS).at);
    svg_text(m->out, m->word[i], HUGE_VAL);
    fprintf(m->out, " (%d) → ", i + 1);
    svg_text(m->out, m->word[j], HUGE_VAL);
    fprintf(m->out, " (%d)</title></path>\n", j + 1);
}

/* The tokens: queries to the left, keys above. */
static void draw_words(const Maps *m)
{
    const double size = fmin(11, m->cell * 1.05), middle = m->cell / 2.0;

    fprintf(m->out, "<g font-size=\"%.1f\">\n", size);
    for (int i = 0; i < m->n; i++) {
        const double at = m->margin + i * m->cell + middle;

        svg_words(m->out, "query", (Point){ m->margin - 4, at + size * 0.34 }, m->word[i], 60);
        if (m->turned) {
            fprintf(m->out, "<g transform=\"translate(%.1f %d) rotate(-90)\">", at + size * 0.34,
                    m->margin - 5);
            svg_words(m->out, "start", (Point){ 0, 0 }, m->word[i], 60);
            fputs("</g>\n", m->out);
        } else {
            svg_words(m->out, "middle", (Point){ at, m->margin - 5 }, m->word[i], 60);
        }
    }
    fputs("</g>\n", m->out);
}

static void draw_map(const Maps *m, const real *A, const char *title)
{
    const int side = m->n * m->cell, all = side + m->margin;
    const double largest = largest_of(A, m->n);

    fprintf(m->out, "<figure><figcaption><b>%s</b>, largest %s</figcaption>\n", title,
            number_text(largest, WEIGHT_DIGITS).at);
    fprintf(m->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
            all + 1, all + 1, all + 1, all + 1, title);
    draw_words(m);
    fprintf(m->out, "<g class=\"cells\" transform=\"translate(%d %d) scale(%d)\">\n", m->margin,
            m->margin, m->cell);
    fprintf(m->out, "<path class=\"frame\" d=\"M0 0h%dv%dh-%dz\"/>\n", m->n, m->n, m->n);
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++)
            draw_cell(m, (double)A[i * m->n + j], largest, i, j);
    fputs("</g>\n</svg></figure>\n", m->out);
}

/* The cells of one sign and of shades from one level to the next, as runs along the rows. */
static void draw_level(const Maps *m, const real *A, double largest, int level, bool minus)
{
    const double from = level * level, to = (level + 1) * (level + 1);
    const double unit = largest / (LEVELS * LEVELS);
    bool any = false;

    for (int i = 0; i < m->n; i++)
        for (int j = 0, n; j < m->n; j += n + 1) {
            for (n = 0; j + n < m->n; n++) {
                const double w = (double)A[i * m->n + j + n], weight = fabs(w) / unit;

                if ((w < 0) != minus || !(weight >= from) || (weight >= to && level + 1 < LEVELS))
                    break;
            }
            if (n == 0)
                continue;
            if (!any)
                fprintf(m->overview, "<path%s fill-opacity=\"%.2f\" d=\"",
                        minus ? " class=\"minus\"" : "", (level + 0.5) / LEVELS);
            any = true;
            fprintf(m->overview, "M%d %dh%dv1h-%dz", j, i, n, n);
        }
    fputs(any ? "\"/>\n" : "", m->overview);
}

static void draw_small(const Maps *m, const real *A, const char *title)
{
    const double largest = largest_of(A, m->n);

    fprintf(m->overview,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mini\" viewBox=\"0 0 %d %d\" "
            "role=\"img\"><title>%s</title><g class=\"cells\">\n"
            "<path class=\"frame\" d=\"M0 0h%dv%dh-%dz\"/>\n",
            m->n, m->n, title, m->n, m->n, m->n);
    for (int level = 1; level < LEVELS && largest > 0; level++)
        for (int minus = 0; minus < 2; minus++)
            draw_level(m, A, largest, level, minus);
    fputs("</g></svg>\n", m->overview);
}

static void see(void *ctx, const Mix *in)
{
    Maps *m = ctx;
    const bool gated = layer_of(m->config->attention)->mixes > 1;
    const int H = in->q->dim[2], mix = m->mixes++;
    const size_t n = (size_t)m->n * (size_t)m->n;
    char title[64];

    if (m->maps >= SMALL_MOST)
        return;
    Arena *mem = arena_new();
    real *A = arena_take(mem, (size_t)H * n * sizeof *A);
    attention_matrix(&m->tape, in, A);
    if (!gated || mix % 2 == 0)
        fprintf(m->overview, "<b>layer %d</b>", gated ? mix / 2 + 1 : mix + 1);
    for (int h = 0; h < H && m->maps < SMALL_MOST; h++, m->maps++) {
        if (gated)
            snprintf(title, sizeof title, "Layer %d, unit %d", mix / 2 + 1, mix % 2 + 1);
        else
            snprintf(title, sizeof title, "Layer %d, head %d", mix + 1, h + 1);
        draw_small(m, A + (size_t)h * n, title);
        if (m->maps < MAPS_MOST)
            draw_map(m, A + (size_t)h * n, title);
    }
    arena_free(mem);
}

/* The characters of a token; bytes that are not UTF-8 one by one. */
static void show_token(char word[WORD_BYTES], Bytes token)
{
    uint32_t code;
    size_t n = 0;

    word[0] = 0;
    for (size_t i = 0, length; i < token.n; i += length) {
        char part[WORD_BYTES];

        length = (size_t)utf8_decode(token.at + i, token.n - i, &code);
        if (length > 1) {
            memcpy(part, token.at + i, length);
            part[length] = 0;
        } else {
            length = 1;
            show_byte(part, token.at[i]);
        }
        if (n + strlen(part) >= WORD_BYTES)
            return;
        n += strlen(strcpy(word + n, part));
    }
}

/* The first tokens of the text; 0: the model was not trained on text. */
static int tokens_of(Maps *m, const Report *report, const Saved *s, int *id)
{
    const int context = m->config->context,
              most = report->positions < context ? report->positions : context;
    const size_t bytes = report->text_bytes < BEGINNING ? report->text_bytes : BEGINNING;

    if (!s->tokenizer)
        return 0;
    m->more = bytes < report->text_bytes;
    Token *token = xmalloc((bytes + 1) * sizeof *token);
    m->of = tokenizer_encode(s->tokenizer, (Bytes){ report->text, bytes }, token);
    const int n = m->of < (size_t)most ? (int)m->of : most;
    for (int i = 0; i < n; i++) {
        id[i] = token[i];
        show_token(m->word[i], tokenizer_token(s->tokenizer, token[i]));
        m->turned |= svg_width(m->word[i]) > 20;
    }
    free(token);
    m->margin = m->turned ? WIDE_MARGIN : MARGIN;
    return n;
}

/* What the maps are of, while they are printed. */
typedef struct {
    Maps *maps;
    const Model *model;
    const int *id;
} Watched;

static void put_maps(FILE *out, void *ctx)
{
    const Watched *w = ctx;
    Tape tape = { .mem = arena_new(), .pool = w->maps->tape.pool, .forward_only = true };

    w->maps->out = out;
    model_watch(&tape, w->model, w->id, w->maps->n, (Watch){ .see = see, .ctx = w->maps });
    arena_free(tape.mem);
}

/* The overview, and the maps folded under it. */
static void draw_maps(Maps *m, const Model *model, const int *id)
{
    const int mixes = layer_of(m->config->attention)->mixes;
    const int all = config_mixes(m->config) * config_mix_size(m->config).H;
    FILE *out = m->overview;
    size_t bytes;

    fputs("<p class=\"soft\">", out);
    if ((size_t)m->n < m->of)
        fprintf(out, "The first %d of the text's %zu%s tokens. ", m->n, m->of,
                m->more ? " or more" : "");
    fputs("Rows are queries, columns keys; the shade is the square root of the weight, relative to "
          "the largest of the map; orange weights are negative.</p>\n",
          out);
    fprintf(out, "<div class=\"overview\" style=\"--heads:%d\">\n",
            mixes > 1 ? mixes : config_mix_size(m->config).H);
    char *maps = print_to_memory(put_maps, &(Watched){ m, model, id }, &bytes);
    fputs("</div>\n", out);
    if (m->maps < all)
        fprintf(out, "<p class=\"soft\">The first %d of %d maps.</p>\n", m->maps, all);
    fprintf(
        out,
        "<details><summary>%s %d map%s with tokens and weights</summary>\n<div class=\"maps\">\n",
        m->maps > MAPS_MOST ? "The first"
        : all > 1           ? "All"
                            : "The",
        m->maps < MAPS_MOST ? m->maps : MAPS_MOST, all > 1 ? "s" : "");
    fwrite(maps, 1, bytes, out);
    fputs("</div>\n</details>\n", out);
    free(maps);
}

void maps_write(const Report *report, const Saved *s, Pool *pool, FILE *out)
{
    Arena *mem = arena_new();
    Maps m = { .overview = out, .config = &s->model.config };
    int *id = arena_take(mem, (size_t)report->positions * sizeof *id);

    fputs("<h4>Attention</h4>\n", out);
    m.word = arena_take(mem, (size_t)report->positions * sizeof *m.word);
    m.tape = (Tape){ .mem = arena_new(), .pool = pool, .forward_only = true };
    if (!(config_traits(m.config) & HAS_MATRIX)) {
        fprintf(out,
                "<p class=\"soft\">%s has no maps: its output is not a weighted sum of v.</p>\n",
                config_mechanisms(m.config).at);
    } else if ((m.n = tokens_of(&m, report, s, id)) == 0) {
        fputs("<p class=\"soft\">The model was not trained on text.</p>\n", out);
    } else {
        m.cell = MAP_WIDTH / m.n;
        m.cell = m.cell > CELL_MOST ? CELL_MOST : m.cell < CELL_LEAST ? CELL_LEAST : m.cell;
        draw_maps(&m, &s->model, id);
    }
    arena_free(m.tape.mem);
    arena_free(mem);
}
