/* log.jsonl of a run that is resumed: what is kept once is kept again, and is of the run's past. */
#include "tests/fuzz/fuzz.h"
#include "training/kept.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *data;
    size_t n;
} Input;

static void check_curve(const LossCurve *c, int most)
{
    FUZZ_CHECK(c->n <= c->room);
    for (int i = 0; i < c->n; i++)
        FUZZ_CHECK(c->x[i] <= most);
}

static void keep_twice(void *ctx)
{
    const Input *in = ctx;
    const Progress p = { .step = in->data[0], .evaluated = in->data[0] / 2 };
    const size_t n = in->n - 1;
    LossCurves first = { .train.n = 0 }, second = first;
    Spent spent = { 0 }, same = spent;
    char *log = (char *)fuzz_copy(in->data + 1, n);
    const size_t kept = kept_lines(log, n, p, &first, &spent);

    FUZZ_CHECK(kept <= n && (kept == 0 || log[kept - 1] == '\n'));
    FUZZ_CHECK(!memchr(log, 0, kept));
    check_curve(&first.train, p.step);
    check_curve(&first.validation, p.evaluated);
    char *again = (char *)fuzz_copy((uint8_t *)log, kept);
    FUZZ_CHECK(kept_lines(again, kept, p, &second, &same) == kept && memcmp(again, log, kept) == 0);
    FUZZ_CHECK(first.train.n == second.train.n && first.validation.n == second.validation.n);
    FUZZ_CHECK(spent.step <= p.step && spent.tokens >= 0 && spent.seconds >= 0);
    FUZZ_CHECK(spent.step == same.step && spent.tokens == same.tokens &&
               spent.seconds == same.seconds);
    curves_free(&first);
    curves_free(&second);
    free(log);
    free(again);
    FUZZ_CHECK(fuzz_pieces() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0)
        fuzz_run(keep_twice, &(Input){ data, n });
    return 0;
}
