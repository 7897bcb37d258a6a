/*
 * The passkey (Mohtashami and Jaggi, arXiv:2305.16300): a number hidden in a long text of filler,
 * with a question for it at the end. The text is that of the paper, with a token for each word,
 * full stop and digit. The number, # below, has `items` uniformly random digits; its place in the
 * filler is uniformly random. The filler starts afresh before and after it. In the question # is
 * the answer: each digit is predicted at the position of the one before it.
 */
#include "data/synthetic.h"
#include "ops/base/error.h"

#include <string.h>

enum { DIGITS = 10 };

static const char INTRO[] = "There is an important info hidden inside a lot of irrelevant text . "
                            "Find it and memorize them . I will quiz you about the important "
                            "information there .";
static const char FILLER[] = "The grass is green . The sky is blue . The sun is yellow . "
                             "Here we go . There and back again .";
static const char KEY[] = "The pass key is # . Remember it . # is the pass key .";
static const char QUESTION[] = "What is the pass key ? The pass key is #";

/* The tokens after the digits: the frequent ones first. */
static const char *const words[] = {
    ".",         "is",    "The",   "the",      "There",  "and",  "grass",       "green",
    "sky",       "blue",  "sun",   "yellow",   "Here",   "we",   "go",          "back",
    "again",     "pass",  "key",   "Remember", "it",     "What", "?",           "an",
    "important", "info",  "a",     "hidden",   "inside", "lot",  "of",          "irrelevant",
    "text",      "Find",  "them",  "memorize", "I",      "will", "information", "quiz",
    "you",       "about", "there",
};
enum { WORDS = sizeof words / sizeof *words };

static int tokens(const char *text, int digits)
{
    int n = 1;

    for (; *text; text++)
        n += *text == ' ' ? 1 : *text == '#' ? digits - 1 : 0;
    return n;
}

/* Of the last digit there is only the question. */
static int without_filler(SyntheticShape s)
{
    return tokens(INTRO, 0) + tokens(KEY, s.items) + tokens(QUESTION, s.items) - 1;
}

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T < without_filler(s))
        text_add(why, "passkey needs at least %d positions for a key of %d digits, not %d",
                 without_filler(s), s.items, s.T);
}

static int token_of(const char *at, size_t n)
{
    for (int i = 0; i < WORDS; i++)
        if (strncmp(words[i], at, n) == 0 && !words[i][n])
            return DIGITS + i;
    BUG("no word %.*s", (int)n, at);
}

/* Draw i of the row is digit i: the key needs no memory. */
static int digit(const SyntheticRow *row, int i)
{
    return (int)random_below(row->random, (uint64_t)i, DIGITS);
}

/* Writes the tokens of a text from position t on; returns the position after them. */
static int write_text(SyntheticRow *row, int t, const char *text, bool question)
{
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = strcspn(text, " ");
        if (*text != '#')
            row->id[t++] = token_of(text, n);
        for (int i = 0; *text == '#' && i < row->s.items; i++, t++)
            if (question)
                row_answer(row, t - 1, digit(row, i));
            else
                row->id[t] = digit(row, i);
    }
    return t;
}

/* n tokens of the filler, repeated as needed. */
static int write_filler(SyntheticRow *row, int t, int n)
{
    const int period = tokens(FILLER, 0), end = t + n;
    const char *at = FILLER;

    for (int i = 0; t < end; i++, t++) {
        size_t length = strcspn(at, " ");

        row->id[t] = i < period ? token_of(at, length) : row->id[t - period];
        at += length + (at[length] == ' ');
    }
    return t;
}

static void draw(SyntheticRow *row)
{
    const int filler = row->s.T - without_filler(row->s);

    row->drawn = (uint64_t)row->s.items;
    const int before = row_below(row, filler + 1);
    int t = write_text(row, 0, INTRO, false);
    t = write_filler(row, t, before);
    t = write_text(row, t, KEY, false);
    t = write_filler(row, t, filler - before);
    write_text(row, t, QUESTION, true);
}

const Synthetic synthetic_passkey = {
    .name = "passkey",
    .summary = "recall a number hidden in a long text (arXiv:2305.16300)",
    .takes = SYNTHETIC_ITEMS,
    .items = 5,
    .misfit = misfit,
    .others = DIGITS + WORDS,
    .answers = DIGITS,
    .draw = draw,
    .digits = DIGITS,
    .words = words,
};
