#include "tests/xml.h"

#include "tests/tests.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH = 16 };

/* The bytes of the UTF-8 character at p that XML allows; 0 if it is none. */
static int character_bytes(const unsigned char *p)
{
    int n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    unsigned c = n == 1 ? *p : *p & (0x7fU >> n);

    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    bool control = (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0);
    bool overlong = (n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff));
    bool no_character = (c >= 0xd800 && c < 0xe000) || c == 0xfffe || c == 0xffff;
    return control || overlong || no_character ? 0 : n;
}

/* Past an entity; NULL if it is not one. */
static const char *past_entity(const char *p)
{
    static const char *const named[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&apos;" };

    for (int i = 0; i < COUNT(named); i++)
        if (!strncmp(p, named[i], strlen(named[i])))
            return p + strlen(named[i]);
    if (p[1] != '#' || !isdigit((unsigned char)p[2]))
        return NULL;
    for (p += 2; isdigit((unsigned char)*p); p++)
        ;
    return *p == ';' ? p + 1 : NULL;
}

static const char *past_name(const char *p)
{
    while (isalnum((unsigned char)*p) || *p == '-')
        p++;
    return p;
}

/* Past the attributes to the '>' or the '/' that ends the tag; NULL if they are no attributes. */
static const char *past_attributes(const char *p)
{
    while (*p == ' ') {
        const char *name = p + 1;

        p = past_name(name);
        if (p == name || p[0] != '=' || p[1] != '"')
            return NULL;
        for (p += 2; *p != '"';) {
            if (!*p || *p == '<')
                return NULL;
            p = *p == '&' ? past_entity(p) : p + 1;
            if (!p)
                return NULL;
        }
        p++;
    }
    return p;
}

/* Past the tag at p, which opens or closes an element on the stack; NULL if it cannot. */
static const char *past_tag(const char *p, char (*stack)[16], int *depth)
{
    bool closing = p[1] == '/';
    const char *name = p + 1 + closing;
    size_t length = (size_t)((p = past_name(name)) - name);

    if (length == 0 || length >= 16)
        return NULL;
    if (closing) {
        if (--*depth < 0 || strlen(stack[*depth]) != length || strncmp(stack[*depth], name, length))
            return NULL;
        return *p == '>' ? p + 1 : NULL;
    }
    p = past_attributes(p);
    if (p && p[0] == '/')
        return p[1] == '>' ? p + 2 : NULL;
    if (!p || *p != '>' || *depth == DEPTH)
        return NULL;
    memcpy(stack[*depth], name, length);
    stack[(*depth)++][length] = '\0';
    return p + 1;
}

bool well_formed(const char *text)
{
    char stack[DEPTH][16];
    int depth = 0, n;
    const char *p = text;

    for (const unsigned char *c = (const unsigned char *)text; *c; c += n)
        if ((n = character_bytes(c)) == 0)
            return false;
    do {
        if (*p == '<')
            p = past_tag(p, stack, &depth);
        else if (!*p || depth == 0 || strncmp(p, "]]>", 3) == 0)
            return false;
        else
            p = *p == '&' ? past_entity(p) : p + 1;
        if (!p || depth < 0)
            return false;
    } while (depth > 0);
    return strspn(p, "\n") == strlen(p);
}

int times(const char *text, const char *words)
{
    int n = 0;

    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}
