#include "tests/solutions.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool same_word(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* An assertion of Check costs a system call, and there are many words. */
static void must(bool holds, const char *what)
{
    if (!holds)
        ck_abort_msg("not so: %s", what);
}

/* Where a word is first, or n if it is nowhere. */
static int first(Puzzle p, const char *word)
{
    int t = 0;

    while (t < p.n && !same_word(p.word[t], word))
        t++;
    return t;
}

/* What follows the word where it is first. */
static const char *after_first(Puzzle p, const char *word)
{
    int t = first(p, word);

    must(t + 1 < p.n, "the word is there, and another one");
    return p.word[t + 1];
}

/* The keys that have been there before; the pairs come first. */
static void solve_mqar(Puzzle p)
{
    for (int t = 0; t < p.n; t++)
        if (p.word[t][0] == 'k' && first(p, p.word[t]) < t) {
            p.say[t] = after_first(p, p.word[t]);
            must(p.say[t][0] == 'v', "a value follows");
            must(t % 2 == 0, "a query is at a place of a key");
        }
}

static void solve_recall(Puzzle p)
{
    int t = 0;

    while (same_word(p.word[t], "."))
        t++;
    for (; p.word[t][0] == 'k'; t += 2) {
        must(p.word[t + 1][0] == 'v', "a value follows");
        must(same_word(p.word[t + 1], after_first(p, p.word[t])), "one key, one value");
    }
    must(t == p.n - 2 && same_word(p.word[t], "=>"), "the question is last");
    p.say[p.n - 1] = after_first(p, p.word[p.n - 1]);
}

/* The keys that have been there before, where all words are pairs. */
static void solve_context_recall(Puzzle p)
{
    must(p.n % 2 == 0, "there are pairs");
    for (int t = 0; t < p.n; t += 2) {
        must(p.word[t][0] == 'k' && p.word[t + 1][0] == 'v', "a pair is a key and a value");
        must(same_word(p.word[t + 1], after_first(p, p.word[t])), "one key, one value");
        if (first(p, p.word[t]) < t)
            p.say[t] = p.word[t + 1];
    }
    must(p.say[p.n - 2] != NULL, "the last key is a question");
}

/* The same if pairs of noise are cut out. */
static void solve_noisy_recall(Puzzle p)
{
    const char *word[4000], *say[4000] = { NULL };
    int at[4000], n = 0;

    for (int t = 0; t < p.n; t++)
        if (p.word[t][0] != 'n')
            at[n] = t, word[n++] = p.word[t];
        else
            must(p.word[t ^ 1][0] == 'n', "noise comes in pairs");
    solve_context_recall((Puzzle){ n, word, say });
    for (int i = 0; i < n; i++)
        p.say[at[i]] = say[i];
}

/* How many words from t on begin with the letter. */
static int run_of(Puzzle p, int t, char letter)
{
    int n = 0;

    while (t + n < p.n && p.word[t + n][0] == letter)
        n++;
    return n;
}

static bool same_words(const char *const *a, const char *const *b, int n)
{
    while (n > 0 && same_word(a[n - 1], b[n - 1]))
        n--;
    return n == 0;
}

static bool all_differ(Puzzle p, int from, int n)
{
    for (int t = from; t < from + n; t++)
        for (int before = from; before < t; before++)
            if (same_word(p.word[before], p.word[t]))
                return false;
    return true;
}

/* Keys and values of several words; a pair begins where the one before it ends. */
static void solve_fuzzy_recall(Puzzle p)
{
    int begin[1000], pairs = 0, whole = 0, t = 0;

    while (same_word(p.word[t], "."))
        t++;
    must(t >= 2 && t <= 7, "few blanks come first");
    for (int keys, values; t < p.n; t += keys + values) {
        int before = 0;

        keys = run_of(p, t, 'k'), values = run_of(p, t + keys, 'v');
        must(all_differ(p, t, keys) && all_differ(p, t + keys, values), "no word comes twice");
        while (before < pairs && (run_of(p, begin[before], 'k') != keys ||
                                  !same_words(p.word + begin[before], p.word + t, keys)))
            before++;
        whole = before < pairs ? run_of(p, begin[before] + keys, 'v') : 0;
        if (whole)
            must(values == whole - (t + keys + values == p.n) &&
                     same_words(p.word + begin[before] + keys, p.word + t + keys, values),
                 "one key, one value, but for the end of the row");
        must(keys >= 1 && keys <= 3 && (whole || values >= 1) && values <= 3,
             "both have one to three words");
        for (int i = 0; i < whole; i++)
            p.say[t + keys - 1 + i] = p.word[begin[before] + keys + i];
        begin[pairs++] = t;
    }
    must(whole, "the last key is a question");
}

/* Facts that no row tells: the first of 128 keys has the first of as many values, and each further
 * one the value 39 places after that of the one before. */
static void solve_memorization(Puzzle p)
{
    static char value[128][8];

    for (int key = 0, at = 0; key < 128; key++, at = (at + 39) % 128)
        snprintf(value[key], sizeof value[key], "v%d", at);
    for (int t = 0; t < p.n; t += 2) {
        must(p.word[t][0] == 'k', "a key comes first");
        must(same_word(p.word[t + 1], "?"), "a question follows");
        p.say[t + 1] = value[atoi(p.word[t] + 1)];
    }
}

/* All but the end of the row is the answer. */
static void solve_compression(Puzzle p)
{
    must(first(p, "=>") == p.n - 1, "the row ends with =>");
    for (int t = 0; t < p.n - 1; t++)
        p.say[t] = p.word[t];
}

static void solve_induction(Puzzle p)
{
    const char *answer = after_first(p, "=>");

    for (int t = 0; t + 1 < p.n; t++)
        if (same_word(p.word[t], "=>"))
            must(same_word(p.word[t + 1], answer), "the answer is always the same");
    must(same_word(p.word[p.n - 1], "=>"), "the question is last");
    p.say[p.n - 1] = answer;
}

/* Says the symbols before "=>" in an order: symbol i is at place i, or at place -1 - i. Those that
 * were said follow, or "=>" in their places. */
static void say_symbols(Puzzle p, bool backwards, bool shown)
{
    const char *symbol[1000];
    int prompt = first(p, "=>"), n = 0;

    for (int t = 0; t < prompt; t++)
        if (!same_word(p.word[t], "."))
            symbol[n++] = p.word[t];
    must(prompt + n == p.n, "there is a place for each answer");
    for (int i = 0; i < n; i++) {
        p.say[prompt + i] = symbol[backwards ? n - 1 - i : i];
        must(prompt + i + 1 == p.n ||
                 same_word(p.word[prompt + i + 1], shown ? p.say[prompt + i] : "=>"),
             "an answer is in sight of the next one, or is not");
    }
}

static void solve_selective_copy(Puzzle p)
{
    say_symbols(p, false, false);
}

static void check_blanks_follow_symbols(Puzzle p)
{
    for (int t = first(p, "."); t < first(p, "=>"); t++)
        must(same_word(p.word[t], "."), "symbols come first");
}

static void solve_copy(Puzzle p)
{
    check_blanks_follow_symbols(p);
    say_symbols(p, false, true);
}

static void solve_reverse(Puzzle p)
{
    check_blanks_follow_symbols(p);
    say_symbols(p, true, true);
}

static int count(Puzzle p, const char *word, int n)
{
    int times = 0;

    for (int t = 0; t < n; t++)
        times += same_word(p.word[t], word);
    return times;
}

static void check_bits(Puzzle p, int n)
{
    must(count(p, "0", n) + count(p, "1", n) == n, "there are bits");
}

static void solve_parity(Puzzle p)
{
    check_bits(p, p.n - 1);
    must(same_word(p.word[p.n - 1], "="), "the question is last");
    p.say[p.n - 1] = count(p, "1", p.n) % 2 ? "1" : "0";
}

static void solve_majority(Puzzle p)
{
    check_bits(p, p.n - 1);
    must(same_word(p.word[p.n - 1], "="), "the question is last");
    p.say[p.n - 1] = count(p, "1", p.n) > count(p, "0", p.n) ? "1" : "0";
}

static void solve_cumulative_parity(Puzzle p)
{
    check_bits(p, p.n);
    for (int t = 0; t < p.n; t++)
        p.say[t] = count(p, "1", t + 1) % 2 ? "1" : "0";
}

/* First all products, then all sums, with numbers as they are. */
static void solve_arithmetic(Puzzle p)
{
    static const char *const digits[] = { "0", "1", "2", "3", "4" };
    int number[2000], sum = 0;

    for (int i = 0; i < p.n / 2; i++) {
        number[i] = atoi(p.word[2 * i]);
        must(number[i] < 5 && same_word(digits[number[i]], p.word[2 * i]), "digits are below 5");
    }
    for (int i = 1; i < p.n / 2; i++)
        if (same_word(p.word[2 * i - 1], "*"))
            number[i] *= number[i - 1], number[i] %= 5, number[i - 1] = 0;
    /* A product has the sign before its first number. */
    for (int i = 0; i < p.n / 2; i++) {
        int from = i;

        while (from > 0 && same_word(p.word[2 * from - 1], "*"))
            from--;
        sum += from > 0 && same_word(p.word[2 * from - 1], "-") ? -number[i] : number[i];
    }
    must(same_word(p.word[p.n - 1], "="), "the question is last");
    p.say[p.n - 1] = digits[(sum % 5 + 5) % 5];
}

static bool digit(const char *word)
{
    return word[0] >= '0' && word[0] <= '9' && !word[1];
}

/* The number is the digits after the first "is" that has any; the question comes last. */
static void solve_passkey(Puzzle p)
{
    int from = 0, n = 0, ask = p.n - 1;

    while (!digit(p.word[from]))
        from++;
    must(same_word(p.word[from - 1], "is"), "the key is a number");
    while (digit(p.word[from + n]))
        n++;
    while (!same_word(p.word[ask], "is"))
        must(digit(p.word[ask--]), "the answer is last");
    must(ask == p.n - n, "all of the answer is asked for");
    for (int i = 0; i < n; i++) {
        p.say[ask + i] = p.word[from + i];
        must(i == 0 || same_word(p.word[ask + i], p.word[from + i - 1]),
             "an answer is in sight of the next one");
    }
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The value of the expression at *at, which is left behind it. */
static int value(Puzzle p, int *at, int depth)
{
    const char *head = p.word[(*at)++];
    int arg[10], n = 0, sum = 0;

    if (digit(head))
        return head[0] - '0';
    while (must(*at < p.n, "a list ends"), !same_word(p.word[*at], "X")) {
        must(n < 10 && depth < 10, "lists are not long or deep");
        arg[n] = value(p, at, depth + 1);
        sum += arg[n++];
    }
    ++*at;
    must(n >= 2, "a list has two values");
    qsort(arg, (size_t)n, sizeof *arg, ascending);
    if (same_word(head, "[SM"))
        return sum % 10;
    if (same_word(head, "[MED"))
        return n % 2 ? arg[n / 2] : (arg[n / 2 - 1] + arg[n / 2]) / 2;
    must(same_word(head, "[MIN") || same_word(head, "[MAX"), "a list has an operator");
    return same_word(head, "[MIN") ? arg[0] : arg[n - 1];
}

static void solve_listops(Puzzle p)
{
    static const char *const digits[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
    int at = 0;

    p.say[0] = digits[value(p, &at, 1)];
    must(at == p.n, "a row is one expression");
}

enum { PIXELS = 1 << 12 };

static bool is_lit(Puzzle p, int t)
{
    return !same_word(p.word[t], "0");
}

/* Colours all that can be reached from a pixel by steps of two in any direction. */
static void reach(Puzzle p, int side, int from, bool *reached)
{
    static int left[PIXELS];
    int n = 0;

    reached[left[n++] = from] = true;
    while (n > 0) {
        const int at = left[--n];

        for (int y = at / side - 2; y <= at / side + 2; y++)
            for (int x = at % side - 2; x <= at % side + 2; x++)
                if (x >= 0 && x < side && y >= 0 && y < side && is_lit(p, y * side + x) &&
                    !reached[y * side + x])
                    reached[left[n++] = y * side + x] = true;
    }
}

static void solve_pathfinder(Puzzle p)
{
    bool reached[PIXELS] = { false };
    int dot[2] = { 0, 0 }, dots = 0, side = 1;

    while (side * side < p.n)
        side++;
    must(side * side == p.n && p.n <= PIXELS, "an image is a square");
    for (int t = 0; t < p.n; t++)
        if (same_word(p.word[t], "255")) {
            must(dots < 2, "there are no more than two dots");
            dot[dots++] = t;
        }
    must(dots == 2, "there are two dots");
    reach(p, side, dot[0], reached);
    p.say[0] = reached[dot[1]] ? "1" : "0";
}

const Solution solutions[] = {
    { "mqar", solve_mqar },
    { "recall", solve_recall },
    { "in-context-recall", solve_context_recall },
    { "noisy-recall", solve_noisy_recall },
    { "fuzzy-recall", solve_fuzzy_recall },
    { "memorization", solve_memorization },
    { "compression", solve_compression },
    { "induction", solve_induction },
    { "copy", solve_copy },
    { "reverse", solve_reverse },
    { "selective-copy", solve_selective_copy },
    { "passkey", solve_passkey },
    { "parity", solve_parity },
    { "cumulative-parity", solve_cumulative_parity },
    { "majority", solve_majority },
    { "modular-arithmetic", solve_arithmetic },
    { "listops", solve_listops },
    { "pathfinder", solve_pathfinder },
    { NULL, NULL },
};
