/* The command line: every parse runs in a child, whose output and exit code are looked at. */
#include "tools/common/options.h"

#include "ops/base/error.h"
#include "ops/base/text.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool causal = true, tied;
static unsigned share;
static int n_layer = 6, shift, attn, preset = -1, ffn = -1;
static OptionList lengths = { 2, { 64, 128 } };
static OptionTexts by;
static uint64_t seed = 1337;
static double rate = 6e-4, beta = 0.9, dropout, max_time = (double)NAN, warm = 90;
static const char *out_dir = "out", *val_file, *start;

static const char *const ffn_choices[] = { "gelu", "swiglu", "none", NULL };
static const char *const share_choices[] = { "qv", "all_layers", "heads", NULL };

static Choice attention_row(int i)
{
    static const Choice rows[] = {
        { "softmax", "exact, tiled", NULL },
        { "cosformer",
          "linear, with a cosine that prefers what is near to what is far away, to "
          "show how a long line is cut",
          NULL },
        { "gated_delta", "a state that forgets", "delta" },
        { 0 },
    };
    return rows[i];
}

static const Preset presets[] = {
    { "nanogpt-cpu", "4 layers, for a laptop",
      (const char *const[][2]){
          { "n-layer", "4" }, { "attn", "cosformer" }, { "causal", "off" }, { 0 } } },
    { "tiny", "1 layer", (const char *const[][2]){ { "n_layer", "1" }, { 0 } } },
    { 0 },
};

static Option options[] = {
    { .name = "What" },
    { "attn", OPTION_CHOICE, &attn, .choice = attention_row, .help = "how positions attend" },
    { "causal", OPTION_FLAG, &causal, .help = "attend only to earlier keys" },
    { "tied", OPTION_FLAG, &tied, .help = "one matrix for both ends" },
    { "preset", OPTION_PRESET, &preset, .presets = presets, .help = "a set of values" },
    { .name = "Model" },
    { "n-layer", OPTION_INT, &n_layer, .min = 1, .max = 1000, .help = "blocks" },
    { "shift", OPTION_INT, &shift, .min = -HUGE_VAL, .max = HUGE_VAL, .help = "any whole number" },
    { "ffn", OPTION_CHOICE, &ffn, .choices = ffn_choices, .help = "feed-forward" },
    { "share", OPTION_SET, &share, .choices = share_choices, .help = "once for all" },
    { "dropout", OPTION_REAL, &dropout, .max = 1, .below = true, .help = "share dropped" },
    { .name = "Training" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = 65536, .help = "of the sequences" },
    { "learning-rate", OPTION_REAL, &rate, .above = true, .alias = "lr,step_size",
      .help = "step size" },
    { "gradient-accumulation-beta", OPTION_REAL, &beta, .min = 0.5, .max = 1, .help = "decay" },
    { "seed", OPTION_SEED, &seed, .help = "of all random numbers" },
    { "max-time", OPTION_DURATION, &max_time, .above = true, .help = "stop after" },
    { "warm", OPTION_DURATION, &warm, .min = 1, .max = 86400, .help = "a time" },
    { "out-dir", OPTION_TEXT, &out_dir, .word = "DIR", .letter = 'o', .help = "run folder" },
    { "start", OPTION_TEXT, &start, .any = true, .help = "the first words" },
    { "by", OPTION_TEXTS, &by, .help = "columns" },
    { "val-file", OPTION_TEXT, &val_file, .word = "FILE", .help = "validation text" },
    { 0 },
};

static const Program program = { "./train [options] CORPUS...",
                                 "Trains a transformer on text files, with a summary that is long "
                                 "enough to need a second line.",
                                 options, "Example: ./train --attn cosformer corpus.txt" };

enum { OUTPUT = 1 << 14 };

typedef struct {
    int code; /* -1: a signal */
    char out[OUTPUT], err[OUTPUT];
} Outcome;

static void read_back(FILE *file, char *to)
{
    rewind(file);
    to[fread(to, 1, OUTPUT - 1, file)] = 0;
    fclose(file);
}

static noreturn void child(int argc, char **argv)
{
    int n = options_parse(&program, argc, argv);

    options_json(&program, "", stdout);
    for (int i = 0; i < n; i++)
        printf("[%s]\n", argv[i]);
    for (Option *o = options; o->name; o++)
        if (o->given)
            printf("given %s\n", o->name);
    fflush(stdout);
    _exit(0);
}

/* What a program makes of these arguments, ended by NULL; its stdout is `out` if that is not -1. */
static Outcome run_into(int out_fd, const char *const *args)
{
    FILE *out = tmpfile(), *err = tmpfile();
    const char **argv = calloc(20000, sizeof *argv);
    Outcome got;
    int argc = 1, status;

    argv[0] = "./train";
    for (; args[argc - 1]; argc++)
        argv[argc] = args[argc - 1];
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out_fd < 0 ? fileno(out) : out_fd, STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        leaks_are_expected();
        child(argc, (char **)argv);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    got.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_back(out, got.out);
    read_back(err, got.err);
    free(argv);
    return got;
}

#define ARGS(...) ((const char *[]){ __VA_ARGS__, NULL })

static Outcome run(const char *const *args)
{
    return run_into(-1, args);
}

static void accepts(const char *const *args, const char *json)
{
    Outcome got = run(args);

    ck_assert_msg(got.code == 0, "'%s': exit %d: %s", args[0], got.code, got.err);
    ck_assert_msg(strstr(got.out, json) != NULL, "'%s': no %s in %s", args[0], json, got.out);
    ck_assert_str_eq(got.err, "");
}

static void check_line(const Outcome *got)
{
    ck_assert_int_eq(strncmp(got->err, "attn.c: error: ", 15), 0);
    ck_assert_uint_le(strlen(got->err), 400);
    ck_assert_ptr_eq(strchr(got->err, '\n'), got->err + strlen(got->err) - 1);
}

static void refuses(const char *const *args, const char *message)
{
    Outcome got = run(args);

    ck_assert_msg(got.code == EXIT_USAGE, "'%s': exit %d: %s", args[0], got.code, got.out);
    ck_assert_str_eq(got.out, "");
    check_line(&got);
    ck_assert_msg(strstr(got.err, message) != NULL, "no '%s' in %s", message, got.err);
}

static char forty_digits[] = "1234567890123456789012345678901234567890";

/* What each option makes of a value: JSON, or NULL where it is refused. */
typedef struct {
    const char *value, *n_layer, *shift, *lengths, *seed, *rate, *dropout, *warm;
} Row;

static const Row rows[] = {
    { "\x1b]0;x\a", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "infinity", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "1e99999999999999999999", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "-2147483649", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "1", "1", "1", "[1]", "1", "1", NULL, "1" },
    { "007", "7", "7", "[7]", "7", "7", NULL, "7" },
    { "-1", NULL, "-1", NULL, NULL, NULL, NULL, NULL },
    { "0", NULL, "0", NULL, "0", NULL, "0", NULL },
    { "-0", NULL, "0", NULL, NULL, NULL, "0", NULL },
    { "1e3", NULL, NULL, NULL, NULL, "1000", NULL, "1000" },
    { "1E3", NULL, NULL, NULL, NULL, "1000", NULL, "1000" },
    { "5e-1", NULL, NULL, NULL, NULL, "0.5", "0.5", NULL },
    { "1.5", NULL, NULL, NULL, NULL, "1.5", NULL, "1.5" },
    { "0.1", NULL, NULL, NULL, NULL, "0.1", "0.1", NULL },
    { ".5", NULL, NULL, NULL, NULL, "0.5", "0.5", NULL },
    { "1.e1", NULL, NULL, NULL, NULL, "10", NULL, "10" },
    { "1,5", NULL, NULL, "[1,5]", NULL, NULL, NULL, NULL },
    { "1e-999", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "1000", "1000", "1000", "[1000]", "1000", "1000", NULL, "1000" },
    { "1001", NULL, "1001", "[1001]", "1001", "1001", NULL, "1001" },
    { "2147483647", NULL, "2147483647", NULL, "2147483647", "2147483647", NULL, NULL },
    { "2147483648", NULL, NULL, NULL, "2147483648", "2147483648", NULL, NULL },
    { "-2147483648", NULL, "-2147483648", NULL, NULL, NULL, NULL, NULL },
    { "4294967296", NULL, NULL, NULL, "4294967296", "4294967296", NULL, NULL },
    { "9223372036854775807", NULL, NULL, NULL, "9223372036854775807", "9.223372036854776e+18", NULL,
      NULL },
    { "18446744073709551615", NULL, NULL, NULL, "18446744073709551615", "1.8446744073709552e+19",
      NULL, NULL },
    { "18446744073709551616", NULL, NULL, NULL, NULL, "1.8446744073709552e+19", NULL, NULL },
    { forty_digits, NULL, NULL, NULL, NULL, "1.2345678901234568e+39", NULL, NULL },
    { "1h29m60s", NULL, NULL, NULL, NULL, NULL, NULL, "5400" },
    { "90s", NULL, NULL, NULL, NULL, NULL, NULL, "90" },
    { "1.5h", NULL, NULL, NULL, NULL, NULL, NULL, "5400" },
    { "1d", NULL, NULL, NULL, NULL, NULL, NULL, "86400" },
};

static const char *const no_numbers[] = { "",       "abc",   "1x",   "0x10",  " 1",    "1 ",
                                          "+1",     "--1",   "1\n",  "-",     ".",     "-.",
                                          "1e",     "1e+",   ".e3",  "1e1.5", "0x1p3", "0,5",
                                          "1,",     "1,,2",  "nan",  "inf",   "-inf",  "1e999",
                                          "-1e999", "24.1h", "1hs",  "1 h",   "h",     "1e308h",
                                          "1h30",   "1m1h",  "1m1m", "1h-1m", "1d1s",  "1hm" };

static void try_value(const char *name, const char *value, const char *json)
{
    Text key = { 0 }, argument = { 0 }, line = { 0 };

    text_add(&key, "--%s", name);
    text_add(&argument, "--%s=%s", name, value);
    text_add(&line, "\": %s,", json ? json : "");
    const char **apart = ARGS(key.at, value), **one = ARGS(argument.at);
    if (json) {
        accepts(one, line.at);
        accepts(apart, line.at);
    } else {
        refuses(one, name);
        refuses(apart, name);
    }
}

static void try_row(const Row *r)
{
    try_value("n-layer", r->value, r->n_layer);
    try_value("shift", r->value, r->shift);
    try_value("lengths", r->value, r->lengths);
    try_value("seed", r->value, r->seed);
    try_value("learning-rate", r->value, r->rate);
    try_value("dropout", r->value, r->dropout);
    try_value("warm", r->value, r->warm);
}

START_TEST(a_number_is_read_strictly)
{
    try_row(&rows[_i]);
}
END_TEST

START_TEST(invalid_numbers_are_refused)
{
    try_row(&(Row){ .value = no_numbers[_i] });
}
END_TEST

START_TEST(errors_state_the_valid_range)
{
    refuses(ARGS("--n-layer", "0"), "--n-layer 0: must be a whole number from 1 to 1000\n");
    refuses(ARGS("--shift=x"), "must be a whole number from -2147483648 to 2147483647\n");
    refuses(ARGS("--dropout=1"), "must be a number from 0 to below 1, such as 0.5");
    refuses(ARGS("--learning-rate=0"), "--learning-rate 0: must be a number above 0, such");
    refuses(ARGS("--max-time=0"), "must be seconds above 0, such as 90s, 10m or 1h30m\n");
    refuses(ARGS("--lengths=8,0"), "must be whole numbers from 1 to 65536, such as 64,128,256");
    refuses(ARGS("--seed=-1"), "must be a whole number from 0 to 18446744073709551615\n");
}
END_TEST

START_TEST(the_length_of_lists_is_limited)
{
    char list[2 * OPTION_LIST_MAX + 12] = "--lengths=1";

    for (int i = 1; i < OPTION_LIST_MAX; i++)
        strcat(list, ",1");
    accepts(ARGS(list), "[1,1,1,");
    strcat(list, ",1");
    refuses(ARGS(list), "--lengths");
}
END_TEST

START_TEST(texts_given_again_are_added)
{
    char many[2 * OPTION_TEXTS_MAX + 6] = "--by=x";

    accepts(ARGS("--seed=1"), "\"by\": [],");
    accepts(ARGS("--by", "a\"b"), "\"by\": [\"a\\\"b\"],");
    accepts(ARGS("--by", "a,b c", "--seed=1", "--by=d"), "\"by\": [\"a\",\"b c\",\"d\"],");
    refuses(ARGS("--by=a,,b"), "--by a,,b: must be at most 64 texts, separated by commas");
    refuses(ARGS("--by=,"), "--by ,: must be");
    refuses(ARGS("--by=a,"), "--by a,: must be");
    refuses(ARGS("--by"), "--by needs a value");
    for (int i = 1; i < OPTION_TEXTS_MAX; i++)
        strcat(many, ",x");
    accepts(ARGS(many), "[\"x\",\"x\",");
    refuses(ARGS(many, "--by=x"), "--by x: must be at most 64");
}
END_TEST

START_TEST(names_must_be_complete_and_one_dash_is_accepted)
{
    accepts(ARGS("--n_layer", "3"), "\"n_layer\": 3,");
    accepts(ARGS("--attn=gated-delta"), "\"attn\": \"gated_delta\"");
    accepts(ARGS("--lr=0.7", "--step-size=0.5"), "\"learning_rate\": 0.5,");
    refuses(ARGS("--epochs=3"), "there is no --epochs: training is counted in steps: --max-iters");
    refuses(ARGS("--learn-my-rate", "3"), "--learn-my-rate: --help lists all\n");
    accepts(ARGS("-o", "there"), "\"out_dir\": \"there\"");
    refuses(ARGS("--learning", "3"), "unknown option --learning: did you mean --learning-rate?\n");
    refuses(ARGS("-n-layer", "3"), "unknown option -n-layer: did you mean --n-layer?\n");
    refuses(ARGS("--hepl"), "did you mean --help?\n");
    refuses(ARGS("--layers", "3"), "did you mean --n-layer?\n");
    refuses(ARGS("--stop-size", "3"), "did you mean --step_size?\n");
    refuses(ARGS("--c"), "unknown option --c: --help lists all\n");
    refuses(ARGS("--no-teid"), "unknown option --no-teid: did you mean --no-tied?\n");
    refuses(ARGS("--no-n-layer"), "unknown option");
}
END_TEST

START_TEST(a_flag_is_on_or_off_and_takes_no_value)
{
    accepts(ARGS("--no-causal"), "\"causal\": false,");
    accepts(ARGS("--no_causal", "--causal"), "\"causal\": true,");
    accepts(ARGS("--tied"), "\"tied\": true,");
    refuses(ARGS("--tied=on"), "--tied takes no value: write --tied or --no-tied\n");
    refuses(ARGS("--no-tied="), "--tied takes no value");
}
END_TEST

START_TEST(a_missing_value_is_not_taken_from_the_next_option)
{
    refuses(ARGS("--n-layer"), "--n-layer needs a value: a whole number from 1 to 1000\n");
    refuses(ARGS("--n-layer="), "--n-layer needs a value");
    refuses(ARGS("--out-dir", ""), "--out-dir needs a value: a text");
    refuses(ARGS("--attn", "--causal"),
            "--attn needs a value before --causal: one of softmax, cosformer");
    refuses(ARGS("--out-dir", "--", "x"), "--out-dir needs a value before --");
    accepts(ARGS("--out-dir=--causal"), "\"out_dir\": \"--causal\"");
    accepts(ARGS("--val-file", "-"), "\"val_file\": \"-\"");
    accepts(ARGS("--shift", "-3"), "\"shift\": -3,");
}
END_TEST

START_TEST(a_free_text_may_be_empty_or_look_like_an_option)
{
    accepts(ARGS("--start", ""), "\"start\": \"\",");
    accepts(ARGS("--start="), "\"start\": \"\",");
    accepts(ARGS("--start", "--causal"), "\"start\": \"--causal\",");
    accepts(ARGS("--start", "--"), "\"start\": \"--\",");
    refuses(ARGS("--start"), "--start needs a value: a text");
}
END_TEST

START_TEST(the_last_of_two_counts_and_both_are_checked)
{
    accepts(ARGS("--n-layer", "3", "--n_layer=5"), "\"n_layer\": 5,");
    refuses(ARGS("--n-layer", "0", "--n-layer", "5"), "--n-layer 0");
}
END_TEST

START_TEST(arguments_keep_their_order)
{
    accepts(ARGS("a", "--n-layer", "3", "-", "--", "--causal", "--"),
            "[a]\n[-]\n[--causal]\n[--]\n");
    accepts(ARGS("--n-layer=3", ""), "}\n[]\ngiven n-layer\n");
    accepts((const char *[]){ NULL }, "\"n_layer\": 6,");
}
END_TEST

START_TEST(a_misspelt_choice_gets_a_suggestion)
{
    accepts(ARGS("--ffn", "swiglu"), "\"ffn\": \"swiglu\"");
    accepts(ARGS("--no-ffn"), "\"ffn\": \"none\"");
    accepts((const char *[]){ NULL }, "\"ffn\": null");
    refuses(ARGS("--ffn", "swilgu"), "one of gelu, swiglu, none (did you mean swiglu?)\n");
    refuses(ARGS("--ffn", "relu"), "(did you mean gelu?)\n");
    refuses(ARGS("--attn", "cosforme"), "gated_delta (did you mean cosformer?)\n");
    refuses(ARGS("--attn", "zzzzzzz"), "must be one of softmax, cosformer, gated_delta\n");
    refuses(ARGS("--attn", "0"), "must be one of softmax");
}
END_TEST

START_TEST(an_older_name_of_a_choice_works_with_a_note)
{
    const Outcome got = run(ARGS("--attn", "delta"));

    ck_assert_int_eq(got.code, 0);
    ck_assert_ptr_nonnull(strstr(got.out, "\"attn\": \"gated_delta\""));
    ck_assert_str_eq(got.err, "attn.c: warning: delta is now called gated_delta\n");
}
END_TEST

START_TEST(a_set_is_names_with_commas)
{
    accepts((const char *[]){ NULL }, "\"share\": null,");
    accepts(ARGS("--share", "heads"), "\"share\": \"heads\",");
    accepts(ARGS("--share=heads,qv"), "\"share\": \"qv,heads\",");
    accepts(ARGS("--share", "qv,all-layers,heads,qv"), "\"share\": \"qv,all_layers,heads\",");
    accepts(ARGS("--share", "qv", "--share", "heads"), "\"share\": \"heads\",");
    refuses(ARGS("--share", "qv,haeds"), "by commas, from qv, all_layers, heads (did "
                                         "you mean heads?)\n");
    refuses(ARGS("--share", "all-layer,qv"), "(did you mean all_layers?)\n");
    refuses(ARGS("--share", "zzzzzzzzzz"), "from qv, all_layers, heads\n");
    refuses(ARGS("--share", "0"), "--share 0: must be names");
    refuses(ARGS("--share="), "--share needs a value");
    for (int i = 0; i < 6; i++)
        refuses(ARGS("--share", ((const char *[]){ ",", "qv,", ",qv", "qv,,heads", "qv, heads",
                                                   "qv heads" })[i]),
                "--share");
}
END_TEST

START_TEST(the_command_line_overrides_a_preset)
{
    accepts(ARGS("--preset", "nanogpt-cpu"), "\"n_layer\": 4,");
    accepts(ARGS("--preset", "nanogpt_cpu"), "\"preset\": \"nanogpt-cpu\"");
    accepts(ARGS("--preset=nanogpt-cpu"), "\"causal\": false");
    accepts(ARGS("--n-layer", "9", "--preset", "nanogpt-cpu"), "\"n_layer\": 9,");
    accepts(ARGS("--causal", "--preset", "nanogpt-cpu"), "\"causal\": true");
    accepts(ARGS("--preset", "tiny", "--n-layer", "9"), "\"n_layer\": 9,");
    accepts(ARGS("--preset", "nanogpt-cpu", "--preset=tiny"), "\"attn\": \"softmax\"");
    refuses(ARGS("--preset", "nanogpt"),
            "--preset nanogpt: must be one of nanogpt-cpu, tiny (did you mean nanogpt-cpu?)\n");
}
END_TEST

START_TEST(given_options_are_recorded)
{
    accepts(ARGS("--preset=tiny", "--seed=1"), "given preset\ngiven n-layer\ngiven seed\n");
    options_parse(&program, 2, (char **)ARGS("./train", "--n-layer=6"));
    ck_assert(options_given(&program, "n_layer"));
    ck_assert(!options_given(&program, "seed"));
    for (Option *o = options; o->name; o++)
        o->given = false;
}
END_TEST

START_TEST(a_huge_or_hostile_argument_makes_one_short_line)
{
    char *big = malloc(1 << 20);
    const char *forms[] = { "--", "--n-layer=", "--seed=", "--learning-rate=", "--attn=", "-" };

    for (int f = 0; f < COUNT(forms); f++)
        for (int c = 0; c < 3; c++) {
            memset(big, "9\n\xc3"[c], 1 << 20);
            memcpy(big, forms[f], strlen(forms[f]));
            big[(1 << 20) - 1] = 0;
            refuses(ARGS(big), "...");
            refuses(ARGS("--attn", big), "--attn");
        }
    free(big);
}
END_TEST

START_TEST(ten_thousand_arguments_are_read)
{
    const char **args = calloc(10001, sizeof *args);

    for (int i = 0; i < 10000; i++)
        args[i] = i % 2 ? "--tied" : "word";
    Outcome got = run(args);
    ck_assert_int_eq(got.code, 0);
    free(args);
}
END_TEST

START_TEST(random_bytes_are_read_or_refused)
{
    static const char alphabet[] = "--==nolayerseed_-0123456789.e \n\x1b\xc3";
    Random r = random_stream(3, RANDOM_TEST, 0);
    uint64_t draws = 0;

    for (int round = 0; round < 300; round++) {
        char text[4][24] = { { 0 } };

        for (int i = 0; i < 4; i++)
            for (uint64_t j = 0, n = random_below(r, draws++, 23); j < n; j++)
                text[i][j] = alphabet[random_below(r, draws++, sizeof alphabet - 1)];
        memcpy(text[0], "--n-layer=", round % 2 * 10);
        Outcome got = run(ARGS(text[0], text[1], text[2], text[3]));
        ck_assert(got.code == 0 || got.code == EXIT_USAGE);
        if (got.code)
            check_line(&got);
    }
}
END_TEST

START_TEST(help_shows_every_option_and_its_default)
{
    static const char *const lines[] = {
        "usage: ./train [options] CORPUS...\n\nTrains a transformer",
        "\n\nWhat\n  --attn NAME",
        "how positions attend, see below (softmax)\n",
        "  --[no-]causal      attend only to earlier keys (on)\n",
        "both ends (off)\n",
        "\n\nModel\n  --n-layer N        blocks (6)\n",
        "feed-forward: gelu, swiglu, none\n",
        "  --share NAME,...   once for all: qv, all_layers, heads\n",
        "share dropped (0)\n",
        "of the sequences (64,128)\n",
        "step size (0.0006); also --lr, --step_size\n",
        "\n  --gradient-accumulation-beta X\n                     decay (0.9)\n",
        "(1337)\n",
        "  --max-time TIME    stop after\n",
        "a time (90s)\n",
        "  -o, --out-dir DIR  run folder (out)\n",
        "  --val-file FILE    validation text\n",
        "  -h, --help ",
        "  --version ",
        "\n\n--attn NAME\n  softmax      exact, tiled\n",
        "\n\n--preset NAME\n  nanogpt-cpu  4 layers, for a laptop\n  tiny         1 layer\n",
        "\n\nExample: ./train --attn cosformer corpus.txt\n",
    };
    Outcome got = run(ARGS("--n-layer", "3", "--preset=tiny", "--seed", "x", "--help"));

    ck_assert_int_eq(got.code, 0);
    ck_assert_str_eq(got.err, "");
    for (int i = 0; i < COUNT(lines); i++)
        ck_assert_msg(strstr(got.out, lines[i]) != NULL, "no '%s' in\n%s", lines[i], got.out);
    for (char *line = strtok(got.out, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_uint_le(strlen(line), 80);
        ck_assert_int_ne(line[strlen(line) - 1], ' ');
    }
    ck_assert_int_eq(run(ARGS("-h")).code, 0);
}
END_TEST

START_TEST(help_and_version_fail_if_they_cannot_be_written_to_who_reads)
{
    const char *asked[] = { "--help", "--version" };
    int full = open("/dev/full", O_WRONLY), closed = open("/dev/null", O_RDONLY), ends[2];

    ck_assert(pipe(ends) == 0 && close(ends[0]) == 0);
    for (int i = 0; i < 2; i++) {
        Outcome got = run_into(full, ARGS(asked[i]));
        ck_assert_int_eq(got.code, EXIT_IO);
        check_line(&got);
        ck_assert_int_eq(run_into(closed, ARGS(asked[i])).code, EXIT_IO);
        got = run_into(ends[1], ARGS(asked[i])); /* whose reader has enough */
        ck_assert(got.code == EXIT_SUCCESS && got.err[0] == 0);
    }
    ck_assert_int_eq(strncmp(run(ARGS("--version")).out, "attn.c ", 7), 0);
}
END_TEST

START_TEST(json_holds_every_value_and_is_escaped)
{
    static const char want[] =
        "{\n  \"attn\": \"softmax\",\n  \"causal\": true,\n  \"tied\": false,\n"
        "  \"preset\": null,\n  \"n_layer\": 6,\n  \"shift\": 0,\n"
        "  \"ffn\": null,\n  \"share\": null,\n  \"dropout\": 0,\n  \"lengths\": [64,128],\n"
        "  \"learning_rate\": 0.0006,\n"
        "  \"gradient_accumulation_beta\": 0.9,\n  \"seed\": 1337,\n"
        "  \"max_time\": null,\n  \"warm\": 90,\n"
        "  \"out_dir\": \"out\",\n  \"start\": null,\n  \"by\": [],\n  \"val_file\": null\n}\n";

    ck_assert_str_eq(run((const char *[]){ NULL }).out, want);
    accepts(ARGS("--out-dir", "a\"b\\c\nd\x1b"), "\"a\\\"b\\\\c\\u000ad\\u001b\"");
    accepts(ARGS("--out-dir", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    accepts(ARGS("--out-dir", "\xff\xc3"), "\"\\ufffd\\ufffd\"");
    accepts(ARGS("--out-dir", "\xc0\x80z"), "\"\\ufffd\\ufffdz\"");
    accepts(ARGS("--out-dir", "\xed\xa0\x80z"), "\"\\ufffd\\ufffd\\ufffdz\"");
}
END_TEST

Suite *suite_options(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_number_is_read_strictly, 0, COUNT(rows));
    tcase_add_loop_test(t, invalid_numbers_are_refused, 0, COUNT(no_numbers));
    tcase_add_test(t, errors_state_the_valid_range);
    tcase_add_test(t, the_length_of_lists_is_limited);
    tcase_add_test(t, texts_given_again_are_added);
    tcase_add_test(t, names_must_be_complete_and_one_dash_is_accepted);
    tcase_add_test(t, a_flag_is_on_or_off_and_takes_no_value);
    tcase_add_test(t, a_missing_value_is_not_taken_from_the_next_option);
    tcase_add_test(t, a_free_text_may_be_empty_or_look_like_an_option);
    tcase_add_test(t, the_last_of_two_counts_and_both_are_checked);
    tcase_add_test(t, arguments_keep_their_order);
    tcase_add_test(t, a_misspelt_choice_gets_a_suggestion);
    tcase_add_test(t, an_older_name_of_a_choice_works_with_a_note);
    tcase_add_test(t, a_set_is_names_with_commas);
    tcase_add_test(t, the_command_line_overrides_a_preset);
    tcase_add_test(t, given_options_are_recorded);
    tcase_add_test(t, a_huge_or_hostile_argument_makes_one_short_line);
    tcase_add_test(t, ten_thousand_arguments_are_read);
    tcase_add_test(t, random_bytes_are_read_or_refused);
    tcase_add_test(t, help_shows_every_option_and_its_default);
    tcase_add_test(t, help_and_version_fail_if_they_cannot_be_written_to_who_reads);
    tcase_add_test(t, json_holds_every_value_and_is_escaped);
    suite_add_tcase(s, t);
    return s;
}
