#include "data/synthetic/row.h"

int alphabet_prompt(SyntheticShape s)
{
    return s.symbols + 1;
}

int alphabet_vocab(SyntheticShape s)
{
    return s.symbols + 2;
}

double alphabet_chance(SyntheticShape s)
{
    return 1.0 / s.symbols;
}

void alphabet_word(SyntheticShape s, int token, Text *word)
{
    if (token == BLANK)
        text_add(word, ".");
    else if (token == alphabet_prompt(s))
        text_add(word, "=>");
    else
        text_add(word, "%d", token);
}
