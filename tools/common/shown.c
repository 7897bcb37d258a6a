#include "tools/common/shown.h"

#include "model/sample.h"

#include <math.h>
#include <string.h>

enum { NAME = 127, PLAIN = 200 };

Text shown_plain(const char *s)
{
    Text text = text_cut(s, PLAIN);

    text_plain(text.at);
    text.n = strlen(text.at);
    return text;
}

Text shown_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    Text name = text_format("%.*s", NAME, strcmp(base, "-") == 0 ? "stdin" : base);
    char *dot = strrchr(name.at, '.');

    if (dot && dot != name.at)
        *dot = 0;
    text_plain(name.at);
    name.n = strlen(name.at);
    return name;
}

Text shown_place(const char *path)
{
    const char *slash = strrchr(path, '/'), *folder = slash;
    const Text name = shown_name(path);

    if (!slash)
        return name;
    while (folder > path && folder[-1] != '/')
        folder--;
    Text place = text_format("%.*s/%s", (int)(slash - folder < NAME ? slash - folder : NAME),
                             folder, name.at);
    text_plain(place.at);
    place.n = strlen(place.at);
    return place;
}

/* Adds the character of n bytes, or an escape. */
static void add_character(Text *text, const unsigned char *at, int n, uint32_t code)
{
    if (code == '\n')
        text_add(text, "\\n");
    else if (code == '"' || code == '\\')
        text_add(text, "\\%c", (char)code);
    else if (n == 0 || text_controls(code))
        for (int i = 0; i < (n ? n : 1); i++)
            text_add(text, "\\x%02x", at[i]);
    else
        text_add(text, "%.*s", n, (const char *)at);
}

Text shown_token(Bytes token)
{
    Text text = { 0 };

    for (size_t i = 0; i < token.n;) {
        uint32_t code = 0;
        const int n = utf8_decode(token.at + i, token.n - i, &code);

        add_character(&text, token.at + i, n, code);
        i += n ? (size_t)n : 1;
    }
    return text;
}

/* An image, a character a pixel, from black to white. */
static void print_image(Batch row)
{
    static const char grey[] = " .:-=+*#%@";
    const int side = (int)sqrt(row.T);

    for (int t = 0; t < row.T; t++)
        printf("%c%s", grey[row.id[t] * 10 / 256], (t + 1) % side ? "" : "|\n");
}

int shown_answers(const Synthetic *task, SyntheticShape shape, Batch row, const real *logits, int V)
{
    const int length = row.length ? row.length[0] : row.T;
    int right = 0;

    if (task->image)
        print_image(row);
    for (int t = 0; t < length && !task->image; t++) {
        printf("%s%s", t ? " " : "", synthetic_word(task, shape, row.id[t]).at);
        if (row.whole || row.target[t] < 0)
            continue;
        const int said = sample_likeliest(logits + (size_t)t * (size_t)V, V);
        const Text answer = synthetic_word(task, shape, said);
        printf("(%s : %s)", answer.at, synthetic_word(task, shape, row.target[t]).at);
        right += said == row.target[t];
    }
    if (row.whole) {
        right = sample_likeliest(logits, V) == row.target[0];
        printf("%s(%d : %d)", task->image ? "" : " ", sample_likeliest(logits, V), row.target[0]);
    }
    putchar('\n');
    return right;
}
