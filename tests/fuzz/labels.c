/* Labelled texts: every row that is read is valid, and becomes a row for a model. The first byte
 * chooses between lines and CSV. */
#include "data/label_rows.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

typedef struct {
    const uint8_t *data;
    size_t n;
} Input;

static void check_row(const LabelledTexts *t, size_t i)
{
    const Labelled *row = &t->row[i];

    FUZZ_CHECK(row->label.n > 0 && row->label.n <= LABEL_BYTES);
    FUZZ_CHECK(i == 0 || row->line > row[-1].line);
    for (int j = 0; j < t->texts; j++)
        FUZZ_CHECK(row->text[j].n > 0 && !memchr(row->text[j].at, 0, row->text[j].n));
}

/* In a few positions, so that most rows are cut. */
static void check_batches(const LabelRows *rows, int labels, bool paired)
{
    enum { T = 6 };
    int id[T], target, length[2] = { 0 };
    const Batch row = { 1, T, id, &target, length, true, paired };

    for (size_t i = 0; i < rows->rows; i++) {
        label_rows_put(rows, i, row);
        FUZZ_CHECK(target >= 0 && target < labels);
        FUZZ_CHECK(length[0] > 0 && length[0] + length[1] <= T);
    }
    FUZZ_CHECK(label_rows_cut(rows, T, paired) <= rows->rows);
}

static void read_labels(void *ctx)
{
    const Input *in = ctx;
    const char *name = in->data[0] % 2 ? "x.csv" : "x.tsv";
    LabelledTexts t = labelled_parse(name, fuzz_copy(in->data + 1, in->n - 1), in->n - 1);
    const size_t all = t.rows;
    Tokenizer *bytes = tokenizer_learn("byte", (Bytes){ NULL, 0 });

    for (size_t i = 0; i < t.rows; i++)
        check_row(&t, i);
    Labels labels = labels_of(&t);
    LabelRows rows = label_rows(&t, &labels, bytes);
    check_batches(&rows, labels.n, false);
    if (t.texts > 1)
        check_batches(&rows, labels.n, true);
    LabelledTexts out = labelled_split(&t, 0.5);
    FUZZ_CHECK(out.rows + t.rows == all && t.rows >= (size_t)labels.n);
    labels_check(&labels, &out);
    label_rows_free(&rows);
    tokenizer_free(bytes);
    labels_free(&labels);
    labelled_free(&out);
    labelled_free(&t);
    FUZZ_CHECK(fuzz_pieces() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0)
        fuzz_run(read_labels, &(Input){ data, n });
    return 0;
}
