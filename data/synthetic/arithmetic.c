/*
 * Modular arithmetic (Deletang et al., arXiv:2207.02098): n digits below 5 with operators between
 * them, and at the end the result modulo 5; T = 2n. Products come before sums, as usual.
 *
 *     3 + 2 * 4 - 1 =
 *                   0
 *
 * From left to right it takes a state of 25 values: the sum of finished terms, and the last term.
 */
#include "data/synthetic.h"

enum { MODULUS = 5, PLUS = MODULUS, MINUS, TIMES, EQUALS, TOKENS };
static const char *const words[] = { "+", "-", "*", "=" };

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T % 2)
        text_add(why, "a sign after each digit needs an even number of positions, not %d", s.T);
}

static void draw(SyntheticRow *row)
{
    int sum = 0, term = 0, sign = PLUS;

    for (int t = 0; t < row->s.T; t += 2) {
        const int digit = row->id[t] = row_below(row, MODULUS);

        if (sign == TIMES) {
            term = term * digit % MODULUS;
        } else {
            sum = (sum + term) % MODULUS;
            term = sign == PLUS ? digit : (MODULUS - digit) % MODULUS;
        }
        sign = row->id[t + 1] = PLUS + row_below(row, 3);
    }
    row->id[row->s.T - 1] = EQUALS;
    row->target[row->s.T - 1] = (sum + term) % MODULUS;
}

const Synthetic synthetic_arithmetic = {
    .name = "modular-arithmetic",
    .summary = "the result of sums and products modulo 5",
    .misfit = misfit,
    .others = TOKENS,
    .answers = MODULUS,
    .draw = draw,
    .digits = MODULUS,
    .words = words,
};
