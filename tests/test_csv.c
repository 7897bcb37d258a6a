/* The reader of CSV: what it makes of every row, and what it refuses. */
#include "ops/base/csv.h"

#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

static Csv csv_of(const char *text, size_t n)
{
    unsigned char *copy = malloc(n + 1);

    memcpy(copy, text, n);
    copy[n] = 0;
    return csv_open(copy, n);
}

static void put_row(FILE *out, const Csv *csv, const char *const *field)
{
    if (csv->wrong.n)
        fprintf(out, "%zu: %s", csv->line, csv->wrong.at);
    else
        for (int i = 0; i < csv->columns; i++)
            fprintf(out, "[%s]", field[i]);
    fputc('/', out);
}

/* All rows, "[a][b]/" each, or "LINE: what is wrong/". For free(). */
static char *rows_of(const char *text, size_t n)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    Csv csv = csv_of(text, n);

    put_row(out, &csv, csv.column);
    while (csv_next(&csv))
        put_row(out, &csv, csv.field);
    ck_assert(!csv_next(&csv));
    csv_close(&csv);
    fclose(out);
    return all;
}

typedef struct {
    const char *text, *rows;
} Case;

static const Case good[] = {
    { "a,b\n1,2\n", "[a][b]/[1][2]/" },
    { "a,b\n1,2", "[a][b]/[1][2]/" },
    { "a,b\r\n1,2\r\n", "[a][b]/[1][2]/" },
    { "a,b", "[a][b]/" },
    { "a\n1\n\n\r\n2\n\n", "[a]/[1]/[2]/" },
    { "\xef\xbb\xbf"
      "a,b\n",
      "[a][b]/" },
    { "a,b,c\n,,\n1,,\n,2,", "[a][b][c]/[][][]/[1][][]/[][2][]/" },
    { "\"a\",\"b,c\"\n\"1\"\"\",\"\"\n", "[a][b,c]/[1\"][]/" },
    { "a,b\n\"x\ny\r\nz\",\"\"\"\"\n", "[a][b]/[x\ny\r\nz][\"]/" },
    { "a,b\n\"\"\"x\"\"\",\"\"\"\"\"\"", "[a][b]/[\"x\"][\"\"]/" },
    { "a b, c\n 1 ,\t2\n", "[a b][ c]/[ 1 ][\t2]/" },
    { "\"a\"\r\n\"1\"\r\n", "[a]/[1]/" },
    { ",a\n0,1\n", "[][a]/[0][1]/" },
    { "na\xc3\xafve\n\xff\n", "[na\xc3\xafve]/[\xff]/" },
};

START_TEST(a_row_has_the_fields_of_its_columns)
{
    char *rows = rows_of(good[_i].text, strlen(good[_i].text));

    ck_assert_str_eq(rows, good[_i].rows);
    free(rows);
}
END_TEST

#define QUOTE "a quote inside an unquoted field: quote the field and double the quote"
#define CONTROL "a control character"

static const Case bad[] = {
    { "", "1: no column names: the file is empty/" },
    { "\n\r\n\n", "4: no column names: the file is empty/" },
    { "a,b\n1\n2,3\n", "[a][b]/2: 1 field where the first row has 2/"
                       "[2][3]/" },
    { "a,b\n\n1,2,3\n4,5\n", "[a][b]/3: 3 fields where the first row has 2/[4][5]/" },
    { "a,b\nx\"y\",2\n4,5\n", "[a][b]/2: " QUOTE "/[4][5]/" },
    { "a,b\n\"x\"y,2\n4,5\n", "[a][b]/2: text after a closing quote/[4][5]/" },
    { "a,b\n\"x\ny\"z,2\n4,5\n", "[a][b]/2: text after a closing quote/[4][5]/" },
    { "a,b\n\"x\ny\",\"2\"z\n4\n", "[a][b]/2: text after a closing quote/"
                                   "4: 1 field where the first row has 2/" },
    { "a,b\n1,\"2\n3,4\n", "[a][b]/2: an unclosed quote/" },
    { "a,b\n\"1\"\"", "[a][b]/2: an unclosed quote/" },
    { "a,b\n1,2\r3,4\n5,6\n", "[a][b]/2: a carriage return inside a line/[5][6]/" },
    { "a,b\n1,\"2\"\r", "[a][b]/2: a carriage return inside a line/" },
    { "a,b\n\x1b[31m,2\n5,6\n", "[a][b]/2: " CONTROL "/[5][6]/" },
    { "a,b\n\"\x07\",2\n5,6\n", "[a][b]/2: " CONTROL "/[5][6]/" },
    { "a,b\n1,\x7f\n5,6\n", "[a][b]/2: " CONTROL "/[5][6]/" },
    { "a,b,a\n1,2,3\n", "1: a second column 'a'/2: 3 fields where the first row has 0/" },
    { "a,\"b\n", "1: an unclosed quote/" },
};

START_TEST(a_bad_row_is_reported_and_the_next_one_is_read)
{
    char *rows = rows_of(bad[_i].text, strlen(bad[_i].text));

    ck_assert_str_eq(rows, bad[_i].rows);
    free(rows);
}
END_TEST

START_TEST(a_zero_byte_is_a_control_character)
{
    static const char plain[] = "a,b\n1,2\0003\n4,5\n", quoted[] = "a,b\n\"1\0\",2\n4,5\n";
    char *first = rows_of(plain, sizeof plain - 1), *second = rows_of(quoted, sizeof quoted - 1);

    ck_assert_str_eq(first, "[a][b]/2: " CONTROL "/[4][5]/");
    ck_assert_str_eq(second, first);
    free(first);
    free(second);
}
END_TEST

START_TEST(a_file_may_be_cut_or_damaged_anywhere)
{
    static const char whole[] = "\xef\xbb\xbf\"a\",b\r\n\"x\"\"y\n\",2\n\n3,\"\"\r\n,\"z\"";
    static const char bytes[] = "\0\n\r\t\",a\xef";

    for (size_t n = 0; n < sizeof whole; n++)
        free(rows_of(whole, n));
    for (size_t i = 0; i < sizeof whole - 1; i++)
        for (size_t j = 0; j < sizeof bytes - 1; j++) {
            char text[sizeof whole];

            memcpy(text, whole, sizeof whole);
            text[i] = bytes[j];
            free(rows_of(text, sizeof whole - 1));
        }
}
END_TEST

START_TEST(columns_are_found_by_their_full_names)
{
    static char many[5 * (CSV_COLUMNS + 2)];
    Csv csv = csv_of("length,len\n", 11);

    ck_assert_int_eq(csv_find(&csv, "len"), 1);
    ck_assert_int_eq(csv_find(&csv, "length"), 0);
    ck_assert_int_eq(csv_find(&csv, "le"), -1);
    csv_close(&csv);
    for (int i = 0; i < CSV_COLUMNS; i++)
        sprintf(many + 5 * i, "%04d,", i);
    many[5 * CSV_COLUMNS - 1] = 0;
    csv = csv_of(many, strlen(many));
    ck_assert_int_eq(csv.columns, CSV_COLUMNS);
    csv_close(&csv);
    strcat(many, ",x\n1,2\n");
    csv = csv_of(many, strlen(many));
    ck_assert_str_eq(csv.wrong.at, "more than 4096 columns");
    ck_assert_int_eq(csv.columns, 0);
    csv_close(&csv);
}
END_TEST

START_TEST(a_row_without_names_has_a_limit_as_well)
{
    static char many[2 * (CSV_COLUMNS + 1) + 1];
    unsigned char *copy = malloc(sizeof many);

    memset(many, ',', CSV_COLUMNS); /* one field more than commas */
    strcat(many, "\n1\n");
    Csv csv = csv_open_unnamed(memcpy(copy, many, sizeof many), strlen(many));
    ck_assert(csv_next(&csv));
    ck_assert_str_eq(csv.wrong.at, "more than 4096 fields");
    ck_assert(csv_next(&csv));
    ck_assert_str_eq(csv.wrong.at, "");
    csv_close(&csv);
    many[CSV_COLUMNS - 1] = '\n';
    copy = malloc(sizeof many);
    csv = csv_open_unnamed(memcpy(copy, many, sizeof many), strlen(many));
    ck_assert(csv_next(&csv));
    ck_assert_int_eq(csv.fields, CSV_COLUMNS);
    ck_assert_str_eq(csv.wrong.at, "");
    csv_close(&csv);
    memset(many, ',', CSV_COLUMNS);
    many[0] = '"';
    copy = malloc(sizeof many);
    csv = csv_open_unnamed(memcpy(copy, many, sizeof many), strlen(many));
    ck_assert(csv_next(&csv));
    ck_assert_str_eq(csv.wrong.at, "an unclosed quote");
    csv_close(&csv);
    memset(many, ',', CSV_COLUMNS);
    many[CSV_COLUMNS] = '\a'; /* in one field too many */
    copy = malloc(sizeof many);
    csv = csv_open_unnamed(memcpy(copy, many, sizeof many), strlen(many));
    ck_assert(csv_next(&csv));
    ck_assert_str_eq(csv.wrong.at, CONTROL);
    csv_close(&csv);
}
END_TEST

START_TEST(a_row_of_a_table_may_have_any_number_of_fields_too_many)
{
    static char many[CSV_COLUMNS + 10] = "a,b\n";
    unsigned char *copy = malloc(sizeof many);

    memset(many + 4, ',', CSV_COLUMNS); /* one field more than commas */
    Csv csv = csv_open(memcpy(copy, many, sizeof many), strlen(many));
    ck_assert(csv_next(&csv));
    ck_assert_str_eq(csv.wrong.at, "4097 fields where the first row has 2");
    csv_close(&csv);
}
END_TEST

START_TEST(written_rows_are_read_back)
{
    static const char *const field[] = { "", "x", "a,b", "\"", "a\nb", "\"x\"", "c\r", " y " };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    for (int row = 0; row < 2; row++)
        for (int i = 0; i < COUNT(field); i++) {
            csv_write(out, field[i]);
            fputc(i == COUNT(field) - 1 ? '\n' : ',', out);
        }
    fclose(out);
    ck_assert_int_eq(strncmp(text, ",x,\"a,b\",\"\"\"\",\"a\nb\"", 19), 0);
    Csv csv = csv_of(text, size);
    ck_assert(csv_next(&csv));
    for (int i = 0; i < COUNT(field); i++)
        ck_assert_str_eq(csv.field[i], field[i]);
    csv_close(&csv);
    free(text);
}
END_TEST

Suite *suite_csv(void)
{
    Suite *s = suite_create("csv");
    TCase *t = group(s, "csv");

    tcase_add_loop_test(t, a_row_has_the_fields_of_its_columns, 0, COUNT(good));
    tcase_add_loop_test(t, a_bad_row_is_reported_and_the_next_one_is_read, 0, COUNT(bad));
    tcase_add_test(t, a_zero_byte_is_a_control_character);
    tcase_add_test(t, a_file_may_be_cut_or_damaged_anywhere);
    tcase_add_test(t, columns_are_found_by_their_full_names);
    tcase_add_test(t, a_row_without_names_has_a_limit_as_well);
    tcase_add_test(t, a_row_of_a_table_may_have_any_number_of_fields_too_many);
    tcase_add_test(t, written_rows_are_read_back);
    return s;
}
