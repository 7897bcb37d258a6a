#include "ops/setting.h"

#include <stdlib.h>
#include <string.h>

Text setting_print(const Setting *s, int value)
{
    Text text = { 0 };

    if (s->kind == SETTING_CHOICE)
        text_add(&text, "%s", s->choices[value]);
    else
        text_add(&text, "%d", value);
    return text;
}

Text setting_words(const Setting *s, int value, char between)
{
    const char ends[] = { between, 0 };
    Text text = { 0 };

    if (s->kind == SETTING_FLAG)
        return text_format("%s", value ? "on" : "off");
    if (s->kind != SETTING_SET)
        return setting_print(s, value);
    for (int bit = 0; s->choices[bit]; bit++)
        if (value >> bit & 1)
            text_add(&text, "%s%s", text.n ? ends : "", s->choices[bit]);
    return text;
}

/* The largest valid value. */
static int most_of(const Setting *s)
{
    int names = 0;

    while (s->choices && s->choices[names])
        names++;
    return s->kind == SETTING_FLAG ? 1 : s->kind == SETTING_SET ? (1 << names) - 1 : s->most;
}

bool setting_parse(const Setting *s, const char *words, int *value)
{
    char *end;

    if (s->kind == SETTING_CHOICE) {
        for (*value = 0; s->choices[*value]; ++*value)
            if (strcmp(s->choices[*value], words) == 0)
                return true;
        return false;
    }
    long n = strtol(words, &end, 10);
    *value = (int)n;
    const bool in_range = (n >= s->least || (n == 0 && s->zero)) && n <= most_of(s);

    return *words >= '0' && *words <= '9' && !*end && in_range;
}

Text setting_takes(const Setting *s, char between)
{
    Text text = { 0 };

    if (s->kind == SETTING_FLAG)
        return text_format("on or off");
    if (s->kind == SETTING_NUMBER)
        return text_format("%sa number from %d to %d", s->zero && s->least > 1 ? "0 or " : "",
                           s->zero && s->least <= 1 ? 0 : s->least, s->most);
    for (int i = 0; s->choices[i]; i++)
        text_add(&text, "%s%s", i ? ", " : "", s->choices[i]);
    if (s->kind == SETTING_SET)
        text_add(&text, ", or several with '%c' between them", between);
    return text;
}

Text setting_key(const Setting *s)
{
    Text text = { 0 };

    text_add(&text, "%s", s->name);
    for (char *c = text.at; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return text;
}

static bool parse_set(const Setting *s, const char *words, char between, int *value)
{
    const char ends[] = { between, 0 };

    for (*value = 0; *words; words += *words == between) {
        const size_t n = strcspn(words, ends);
        int bit = 0;

        while (s->choices[bit] &&
               (strlen(s->choices[bit]) != n || strncmp(s->choices[bit], words, n) != 0))
            bit++;
        if (!s->choices[bit])
            return false;
        *value |= 1 << bit;
        words += n;
    }
    return true;
}

bool setting_parse_words(const Setting *s, const char *words, char between, int *value)
{
    if (s->kind == SETTING_SET)
        return parse_set(s, words, between, value);
    if (s->kind == SETTING_FLAG) {
        *value = strcmp(words, "on") == 0;
        return *value || strcmp(words, "off") == 0;
    }
    return setting_parse(s, words, value);
}
