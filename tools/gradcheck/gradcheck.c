/*
 * ./gradcheck: every derivative of this repository, by hand and by finite differences,
 * side by side. In double only: in float, differences are too inexact to prove anything.
 *
 * Sizes are small, odd and different from each other, so that a swapped index shows,
 * and every element of every operand is checked: a single direction could hide
 * one wrong element among many.
 */
#include "tools/gradcheck/gradcheck.h"

#include "ops/base/error.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"

static int attention = -1, elements;
static bool verbose, plain;

static Option options[] = {
    { .name = "Options" },
    { "attn", OPTION_CHOICE, &attention, .choice = settings_attention,
      .help = "check only this attention, and no other op" },
    { "elements", OPTION_INT, &elements, .max = 1 << 24,
      .help = "check N derivatives of each operand: the largest, and others at random; 0: all" },
    { "plain", OPTION_FLAG, &plain,
      .help = "also check the mechanisms' plain twins, and how far their results differ" },
    { "verbose", OPTION_FLAG, &verbose, .letter = 'v', .help = "print a line for every operand" },
    { 0 },
};

static const Program program = {
    .usage = "./gradcheck [options]",
    .summary = "Compares every hand-written derivative with finite differences, in double.",
    .options = options,
};

int main(int argc, char **argv)
{
    if (options_parse(&program, argc, argv) > 0)
        die(EXIT_USAGE, "gradcheck takes options only, such as --attn NAME, not '%.60s'", argv[0]);

    Report r = { .tape = { .mem = arena_new(), .pool = pool_new(1) },
                 .mem = arena_new(),
                 .verbose = verbose,
                 .plain = plain,
                 .most = elements ? (size_t)elements : SIZE_MAX };

    print_header(&r);
    if (attention < 0)
        check_ops(&r);
    for (int i = 0; attentions[i]; i++) {
        if (attention >= 0 && attention != i)
            continue;
        check_mixes(&r, attentions[i]);
        check_model(&r, attentions[i]);
    }
    if (plain)
        printf("\nThe plain twins differ from the mechanisms by at most %.1e; %.0e is allowed.",
               r.all.apart, TWIN_TOLERANCE);
    printf(
        "\nLargest error: %s.\n%zu derivatives of %d operands in %d cases: errors of at most %.1e.\n",
        r.all.what, r.all.derivatives, r.all.operands, r.all.cases, r.all.worst);
    pool_free(r.tape.pool);
    arena_free(r.tape.mem);
    arena_free(r.mem);
    options_finish();
    conclude(&r);
    return 0;
}
