/* Manual pages and completion from a table of options; tests/install.sh has shells read them. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/options.h"

#include <stdlib.h>
#include <string.h>

static Choice attention(int i)
{
    static const Choice rows[] = { { "softmax", "exact", NULL }, { "gau", ".gated", NULL }, { 0 } };

    return rows[i];
}

static int attn, layers = 6;
static bool causal;
static const char *out = "page", *folder_name;
static Option options[] = {
    { .name = "What" },
    { "attn", OPTION_CHOICE, &attn, .choice = attention, .help = "it's [one]: \\" },
    { "causal", OPTION_FLAG, &causal, .help = ".only earlier keys" },
    { "n-layer", OPTION_INT, &layers, .help = "blocks" },
    { "out", OPTION_TEXT, &out, .word = "FILE", .letter = 'o', .help = "the page" },
    { "out-dir", OPTION_TEXT, &folder_name, .word = "FOLDER", .help = "a folder" },
    { 0 },
};
static Program program = { .usage = "./train [options] RUN",
                           .summary = "Trains. And more.",
                           .options = options,
                           .notes = "./train RUN\n'quoted'" };

static void print_page(const char *format)
{
    if (!freopen(in_folder("page"), "w", stdout))
        exit(1);
    options_call("/usr/bin/attnc-train");
    options_page(&program, format);
    exit(fclose(stdout) ? 1 : 0);
}

static void check_page(const char *format, const char *usage, const char *const *parts)
{
    size_t bytes;

    program.usage = usage;
    ck_assert_int_eq(exit_code_of(print_page, format), 0);
    char *page = (char *)file_read(in_folder("page"), &bytes);
    for (; *parts; parts++)
        ck_assert_msg(strstr(page, *parts) != NULL, "no '%s' in\n%s", *parts, page);
    ck_assert_ptr_null(strstr(page, "./train"));
    free(page);
}

#define PARTS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
static const char of_run[] = "./train [options] RUN", of_text[] = "./train [options] RUN [TEXT...]",
                  of_nothing[] = "./train [options]";

START_TEST(a_manual_page_has_all_options_and_no_stray_command)
{
    check_page("man", of_run,
               PARTS(".TH \"ATTNC-TRAIN\" 1 ", "\nattnc\\-train \\- Trains\n.SH SYNOPSIS\n",
                     "\nattnc\\-train [options] RUN\n", ".SS What\n",
                     ".B \\-\\-attn \\fINAME\\fR\nit's [one]: \\e, see below (softmax)\n",
                     ".B \\-\\-[no\\-]causal\n\\&.only earlier",
                     ".B \\-o, \\-\\-out \\fIFILE\\fR\n",
                     "\\-\\-attn\n.TP\n.B softmax\nexact\n.TP\n.B gau\n\\&.gated\n",
                     ".nf\nattnc\\-train RUN\n\\&'quoted'\n.fi\n"));
}
END_TEST

START_TEST(completion_knows_the_kind_of_arguments)
{
    check_page("bash", of_run,
               PARTS("_attnc_train()\n",
                     "    --attn) mapfile -t COMPREPLY < <(compgen -W 'softmax gau'",
                     "    --n-layer) return ;;", "    --out | -o) compopt -o filenames; ",
                     "    --out-dir) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d",
                     "--help --version --attn --causal --no-causal --n-layer --out --out-dir'",
                     "else\n        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- ",
                     "complete -F _attnc_train attnc-train\n"));
    check_page("bash", of_text,
               PARTS("else\n        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f"));
    check_page("bash", of_nothing, PARTS("-- \"$cur\")\n    fi\n}\n"));
    check_page("zsh", of_run,
               PARTS("#compdef attnc-train\n",
                     "'--attn=[it'\\''s \\[one\\]: \\\\, see below (softmax)]:NAME:(softmax gau)'",
                     "'--causal[.only", "'--no-causal[", "'--out=[the page (page)]:FILE:_files'",
                     "'*:file:_path_files -g "));
    check_page("zsh", of_text, PARTS("'*:file:_files'\n"));
    check_page("fish", of_run,
               PARTS("complete -c attnc-train -f\n",
                     "-l attn -x -a 'softmax gau' -d 'it\\'s [one]: \\\\,", "-l causal -d",
                     "-l no-causal -d", "-l out -s o -r -F -d", "(__fish_complete_directories)"));
}
END_TEST

START_TEST(another_format_is_refused)
{
    check_dies(print_page, "html", EXIT_USAGE, "man, bash, zsh or fish");
}
END_TEST

START_TEST(help_says_a_default_once)
{
    int n = 0;
    Option o = { "window", OPTION_INT, &n, .help = "keys (0: all)" };

    ck_assert_str_eq(options_describe(&o).at, "keys (0: all)");
    n = 5;
    ck_assert_str_eq(options_describe(&o).at, "keys (0: all) (5)");
    o.help = "keys; default: all";
    ck_assert_str_eq(options_describe(&o).at, "keys; default: all");
    o.help = "keys";
    ck_assert_str_eq(options_describe(&o).at, "keys (5)");
    n = 0;
    ck_assert_str_eq(options_describe(&o).at, "keys (0)");
}
END_TEST

START_TEST(installed_programs_have_their_prefix_in_every_text)
{
    static const char text[] = "./eval RUN (./train, not x./train, ../out or ./1)";

    options_call("./train");
    ck_assert_str_eq(options_installed(text).at, text);
    options_call("/usr/bin/attnc-train");
    ck_assert_str_eq(options_installed(text).at,
                     "attnc-eval RUN (attnc-train, not x./train, ../out or ./1)");
    options_call(NULL);
}
END_TEST

Suite *suite_print(void)
{
    Suite *s = suite_create("print");
    TCase *t = with_folder(s, "pages");

    tcase_add_test(t, installed_programs_have_their_prefix_in_every_text);
    tcase_add_test(t, help_says_a_default_once);
    tcase_add_test(t, a_manual_page_has_all_options_and_no_stray_command);
    tcase_add_test(t, completion_knows_the_kind_of_arguments);
    tcase_add_test(t, another_format_is_refused);
    return s;
}
