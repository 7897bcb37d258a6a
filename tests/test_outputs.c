/* Files for results: what they may not replace. */
#include "tools/common/outputs.h"

#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two outputs and two inputs of a program; "" is not given. */
typedef struct {
    const char *output[2], *input[2];
    int code; /* 0: they can be written */
    const char *words;
} Case;

static const Case *now;

static void check_them(const char *path)
{
    static char name[4][100];
    const char *at[4];

    (void)path;
    for (int i = 0; i < 4; i++) {
        const char *of = i < 2 ? now->output[i] : now->input[i - 2];

        snprintf(name[i], sizeof *name, "%s", in_folder(of));
        at[i] = *of ? name[i] : NULL;
    }
    outputs_check((const Output[]){ { "csv", at[0] }, { "svg", at[1] } }, 2, at + 2, 2);
}

/* There are a, its other names b and c, the folder run, with a run and results, and a chart in
 * plain. */
static const Case cases[] = {
    { { "new", "" }, { "a", "" }, 0, "" },
    { { "", "" }, { "", "" }, 0, "" },
    { { "run/new", "run/eval.csv" }, { "run", "a" }, 0, "" },
    { { "a", "" }, { "run", "" }, 0, "" },
    { { "a", "" }, { "a", "" }, EXIT_USAGE, "/a is an input, and would be overwritten" },
    { { "run/../a", "" }, { "", "a" }, EXIT_USAGE, "is an input" },
    { { "", "b" }, { "run", "a" }, EXIT_USAGE, "is an input" },
    { { "a", "" }, { "c", "" }, EXIT_USAGE, "is an input" },
    { { "run/log.jsonl", "" }, { "run", "" }, EXIT_USAGE, "/run/log.jsonl is a file of the run" },
    { { "", "run/loss.svg" }, { "a", "run" }, EXIT_USAGE, "is a file of the run" },
    { { "run/log.jsonl", "" }, { "a", "" }, EXIT_USAGE, "/run/log.jsonl is a file of a run" },
    { { "", "run/loss.svg" }, { "", "run/log.jsonl" }, EXIT_USAGE, "is a file of a run" },
    { { "run/config.json", "" }, { "a", "" }, 0, "" },
    { { "plain/loss.svg", "plain/new" }, { "a", "" }, 0, "" },
    { { "new", "new" }, { "", "" }, EXIT_USAGE, "--csv and --svg are the same file" },
    { { "a", "b" }, { "", "" }, EXIT_USAGE, "--csv and --svg are the same file" },
    { { "", "none/new" }, { "", "" }, EXIT_IO, "No such file" },
    { { "run", "" }, { "", "" }, EXIT_IO, "is a directory" },
};

static const char *const files_there[] = { "a", "run/log.jsonl", "run/loss.svg", "run/eval.csv",
                                           "plain/loss.svg" };
static const char *const folders[] = { "run", "plain" };

START_TEST(results_replace_no_input)
{
    for (size_t i = 0; i < COUNT(folders); i++)
        mkdir(in_folder(folders[i]), 0777);
    for (size_t i = 0; i < COUNT(files_there); i++)
        put(in_folder(files_there[i]), "x", 1);
    ck_assert_int_eq(link(in_folder("a"), in_folder("b")), 0);
    ck_assert_int_eq(symlink("a", in_folder("c")), 0);
    now = &cases[_i];
    if (now->code)
        check_dies(check_them, "", now->code, now->words);
    else
        check_them("");
    for (size_t i = 1; i < COUNT(files_there); i++)
        remove(in_folder(files_there[i]));
    for (size_t i = 0; i < COUNT(folders); i++)
        rmdir(in_folder(folders[i]));
}
END_TEST

Suite *suite_outputs(void)
{
    Suite *s = suite_create("outputs");
    TCase *t = with_folder(s, "outputs");

    tcase_add_loop_test(t, results_replace_no_input, 0, COUNT(cases));
    return s;
}
