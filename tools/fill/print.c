#include "tools/fill/print.h"

#include "data/stream.h"
#include "ops/base/buffer.h"
#include "ops/base/csv.h"
#include "tools/common/lines.h"
#include "tools/common/shown.h"

#include <stdlib.h>

/* The text with the most likely token in each gap; the caller frees it. */
static Buffer best_text(const Filled *f)
{
    const Blanks *b = f->blanks;
    Buffer text = { 0 };

    for (size_t i = 0, k = 0; i < b->n; i++) {
        const bool gap = k < b->gaps && b->gap[k].at == i;
        const int id = gap ? f->guess[k++ * (size_t)f->most].token : b->id[i];
        const Bytes token = tokenizer_token(f->tokenizer, id);

        buffer_add(&text, token.at, token.n);
    }
    return text;
}

static Text shown(const Filled *f, const Guess *g)
{
    return shown_token(tokenizer_token(f->tokenizer, g->token));
}

static void print_gap(const Filled *f, size_t k)
{
    const Gap *gap = &f->blanks->gap[k];

    printf("  %d", gap->blank + 1);
    if (gap->parts > 1)
        printf(".%d", gap->part + 1);
    for (int i = 0; i < f->most; i++) {
        const Guess *g = &f->guess[k * (size_t)f->most + (size_t)i];

        printf("  \"%s\" %.1f%%", shown(f, g).at, 100 * g->probability);
    }
    putchar('\n');
}

void filled_text(const Filled *f)
{
    Buffer text = best_text(f);
    Stream out = { .out = stdout };

    stream_write(&out, (Bytes){ text.at, text.n });
    stream_end(&out);
    putchar('\n');
    for (size_t k = 0; k < f->blanks->gaps; k++)
        print_gap(f, k);
    free(text.at);
}

static void json_gap(const Filled *f, size_t k)
{
    const Gap *gap = &f->blanks->gap[k];

    printf("%s{\"blank\":%d,\"part\":%d,\"candidates\":[", k ? "," : "", gap->blank + 1,
           gap->part + 1);
    for (int i = 0; i < f->most; i++) {
        const Guess *g = &f->guess[k * (size_t)f->most + (size_t)i];

        printf("%s{\"token\":", i ? "," : "");
        lines_json(tokenizer_token(f->tokenizer, g->token), stdout);
        printf(",\"id\":%d,\"probability\":%s}", g->token, text_number(g->probability).at);
    }
    printf("]}");
}

void filled_json(const Filled *f)
{
    Buffer text = best_text(f);

    printf("{\"line\":%d,\"text\":", f->line);
    lines_json(f->text, stdout);
    printf(",\"filled\":");
    lines_json((Bytes){ text.at, text.n }, stdout);
    printf(",\"blanks\":[");
    for (size_t k = 0; k < f->blanks->gaps; k++)
        json_gap(f, k);
    printf("]}\n");
    free(text.at);
}

void filled_csv_header(void)
{
    printf("line,blank,part,rank,token,id,probability\n");
}

void filled_csv(const Filled *f)
{
    for (size_t k = 0; k < f->blanks->gaps; k++)
        for (int i = 0; i < f->most; i++) {
            const Gap *gap = &f->blanks->gap[k];
            const Guess *g = &f->guess[k * (size_t)f->most + (size_t)i];

            printf("%d,%d,%d,%d,", f->line, gap->blank + 1, gap->part + 1, i + 1);
            csv_write_quoted(stdout, shown(f, g).at);
            printf(",%d,%s\n", g->token, text_number(g->probability).at);
        }
}
