#include "tools/common/foreign.h"

#include "ops/base/error.h"
#include "ops/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool foreign_has(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    return access(file_join(path, dir, name), F_OK) == 0;
}

/* A string that is a character 0 alone, which the reader of JSON refuses, becomes "<0x00>". */
static void name_zero(char *text)
{
    char *zero = text;

    while ((zero = strstr(zero + 1, "\"\\u0000\"")))
        if (zero[-1] != '\\')
            memcpy(zero, "\"<0x00>\"", 8);
}

const Json *foreign_json(Arena *mem, const char *path)
{
    size_t bytes;
    char *text = (char *)file_read(path, &bytes);
    Text why = { 0 };

    if (bytes > 0)
        name_zero(text);
    const Json *json = json_read(mem, text, bytes, &why);

    if (!json || json->kind != JSON_OBJECT)
        die(EXIT_DATA, "%.180s %s", path, json ? "is not a JSON object" : why.at);
    free(text);
    return json;
}
