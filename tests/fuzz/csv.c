/* CSV: rows that are read and written again are the same rows. */
#include "ops/base/csv.h"

#include "ops/base/file.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *data;
    size_t n;
} Input;

static void put_row(FILE *out, const char **field, int n)
{
    for (int i = 0; i < n; i++) {
        if (i)
            fputc(',', out);
        if (i % 2)
            csv_write(out, field[i]);
        else
            csv_write_quoted(out, field[i]);
    }
    fputc('\n', out);
}

/* All rows that are not wrong. */
static void put(FILE *out, void *ctx)
{
    Csv *csv = ctx;

    if (csv->wrong.n)
        return;
    put_row(out, csv->column, csv->columns);
    for (size_t line = csv->line; csv_next(csv); line = csv->line) {
        FUZZ_CHECK(csv->line >= line && csv->next_line >= csv->line);
        if (!csv->wrong.n)
            put_row(out, csv->field, csv->columns);
    }
}

static void read_twice(void *ctx)
{
    const Input *in = ctx;
    size_t bytes, again;
    Csv first = csv_open(fuzz_copy(in->data, in->n), in->n);
    char *written = print_to_memory(put, &first, &bytes);
    Csv second = csv_open(fuzz_copy((uint8_t *)written, bytes), bytes);

    FUZZ_CHECK(bytes == 0 || !second.wrong.n);
    for (int i = 0; bytes && i < second.columns; i++)
        FUZZ_CHECK(csv_find(&second, second.column[i]) == i);
    char *twice = print_to_memory(put, &second, &again);
    FUZZ_CHECK(again == bytes && memcmp(written, twice, bytes) == 0);
    free(written);
    free(twice);
    csv_close(&first);
    csv_close(&second);
    FUZZ_CHECK(fuzz_pieces() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_run(read_twice, &(Input){ data, n });
    return 0;
}
