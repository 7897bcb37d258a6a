/* Ranks at several tolerances: of the matrices of heads, and of the activations. */
#include "model/mechanisms.h"
#include "tools/analyse/analyse.h"

#include "ops/base/csv.h"

static void print_tolerances(void)
{
    for (int i = 0; i < TOLERANCES; i++)
        printf("%8.0e", tolerances[i]);
    printf("\n");
}

static void print_ranks(const double ranks[TOLERANCES])
{
    for (int i = 0; i < TOLERANCES; i++)
        printf("%8.1f", ranks[i]);
    printf("\n");
}

/* Means over the heads of mix m. */
static void print_mix(const Sheet *s, int m, int which)
{
    static const char *const names[SPECTRA] = { [OF_WEIGHTS] = "A", [OF_SCORES] = "Q K^T" };
    const Analysis *a = s->found;
    double mean[TOLERANCES] = { 0 };

    for (int h = 0; h < a->heads; h++)
        for (int i = 0; i < TOLERANCES; i++)
            mean[i] += a->head[m * a->heads + h].ranks[which][i] / a->heads;
    printf("%7d%6s%9s", layer_of_mix(s->config, m),
           is_gated(s->config) ? text_format("%d", unit_of_mix(s->config, m)).at : "",
           names[which]);
    print_ranks(mean);
}

void ranks_print(const Sheet *s)
{
    const Analysis *a = s->found;
    const bool scores = config_traits(s->config) & HAS_SCORES;

    printf("\nRank by tolerance, of at most %d, means over windows and heads:\n%7s%6s%9s",
           a->length, "layer", is_gated(s->config) ? "unit" : "", "of");
    print_tolerances();
    for (int which = 0; which <= scores; which++)
        for (int m = 0; m < a->mixes; m++)
            print_mix(s, m, which);
    printf("\nActivations x (%d x %d) after each layer; 0: the embeddings:\n%7s%10s%11s%8s",
           a->length, s->config->width, "layer", "apart", "effective", "90%");
    print_tolerances();
    for (int l = 0; l < a->layers; l++) {
        const Activations *x = &a->layer[l];

        printf("%7d%10.3g%11.2f%8.1f", l, x->apart, x->effective, x->holding);
        print_ranks(x->ranks);
    }
}

static void csv_names(FILE *out, const char *of)
{
    for (int i = 0; i < TOLERANCES; i++)
        fprintf(out, ",%s_%s", of, text_number(tolerances[i]).at);
}

static void csv_ranks(FILE *out, const double ranks[TOLERANCES])
{
    for (int i = 0; i < TOLERANCES; i++)
        fprintf(out, ",%s", text_number(ranks[i]).at);
}

void ranks_csv_header(FILE *out)
{
    csv_names(out, "rank"), csv_names(out, "score_rank");
}

void ranks_csv(FILE *out, const Findings *f)
{
    csv_ranks(out, f->ranks[OF_WEIGHTS]), csv_ranks(out, f->ranks[OF_SCORES]);
}

void ranks_activations(FILE *out, void *sheet)
{
    const Sheet *s = sheet;

    fprintf(out, "layer,apart,effective,holding_90");
    csv_names(out, "rank");
    fprintf(out, ",run,text,attention,length,width,windows\n");
    for (int l = 0; l < s->found->layers; l++) {
        const Activations *x = &s->found->layer[l];

        fprintf(out, "%d,%s,%s,%s", l, text_number(x->apart).at, text_number(x->effective).at,
                text_number(x->holding).at);
        csv_ranks(out, x->ranks);
        fputc(',', out);
        csv_write_quoted(out, s->run);
        fputc(',', out);
        csv_write_quoted(out, s->text);
        fputc(',', out);
        csv_write(out, config_mechanisms(s->config).at);
        fprintf(out, ",%d,%d,%d\n", s->found->length, s->config->width, s->found->windows);
    }
}
