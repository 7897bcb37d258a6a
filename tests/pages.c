#include "tests/pages.h"

#include "tests/xml.h"

#include <stdlib.h>

static void check_page(const char *page)
{
    ck_assert_int_eq(strncmp(page, "<!DOCTYPE html>\n", 16), 0);
    ck_assert_msg(well_formed(page + 16), "%.2000s", page);
    ck_assert_ptr_null(strstr(page, "<script"));
    ck_assert_ptr_null(strstr(page, "nan"));
}

char *page_of(Record **record, int n, const char *text)
{
    Report report = { .record = record, .records = n, .positions = 32, .threads = 2, .sample = 12 };
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);

    report.text = (const unsigned char *)text;
    report.text_bytes = text ? strlen(text) : 0;
    page_write(out, &report);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_uint_eq(strlen(page), size);
    check_page(page);
    return page;
}

Record *record_here(void)
{
    Text why;
    Record *r = record_read(folder, &why);

    ck_assert_msg(r, "%s", why.at);
    return r;
}

void check_no_run(const char *path, const char *words)
{
    Text why;

    ck_assert_ptr_null(record_read(path, &why));
    ck_assert_msg(strstr(why.at, words), "%s", why.at);
}

char *page_here(const char *text)
{
    Record *r = record_here();
    char *page = page_of(&r, 1, text);

    record_free(r);
    return page;
}

bool noted(const Record *r, const char *words)
{
    for (const Note *note = r->first_note; note; note = note->next)
        if (strstr(note->text, words))
            return true;
    return false;
}
