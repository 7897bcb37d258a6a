#include "ops/base/utf8.h"

int utf8_decode(const unsigned char *s, size_t n, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const int length = s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;

    *code = s[0];
    if (s[0] < 0x80)
        return 1;
    if (!length || (size_t)length > n)
        return 0;
    *code &= 0x7fu >> length;
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return length;
}

int utf8_encode(unsigned char *to, uint32_t code)
{
    const int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (length == 1) {
        to[0] = (unsigned char)code;
        return 1;
    }
    for (int i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (unsigned char)(0x80 | (code & 0x3f));
    to[0] = (unsigned char)(0xf00u >> length | code);
    return length;
}
