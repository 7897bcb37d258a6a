/* What a file that is no text looks like. */
#include "ops/base/error.h"
#include "ops/base/file.h"

#include <string.h>
#include <strings.h>

const char *file_looks_like(const unsigned char *file, size_t bytes)
{
    static const struct {
        const char *start, *meaning;
    } known[] = {
        { "<!doctype", "a web page (was the download refused?)" },
        { "<html", "a web page (was the download refused?)" },
        { "version https://git-lfs", "a git LFS pointer ('git lfs pull' fetches the file)" },
        { "GGUF", "a GGUF model" },
        { "PK\3\4", "a zip archive (as .pt and .npz files are)" },
        { "\x80\2", "a Python pickle" },
        { "\x93NUMPY", "a NumPy array" },
        { "\x1f\x8b", "a gzip archive" },
        { "\xfd\x37zXZ", "an xz archive" },
        { "BZh91AY&SY", "a bzip2 archive" },
        { "PAR1\x15", "a Parquet table" },
        { "\x28\xb5\x2f\xfd", "a Zstandard archive" },
        { "%PDF-", "a PDF document" },
        { "\xff\xfe", "UTF-16 ('iconv -f UTF-16 -t UTF-8' converts it)" },
        { "\xfe\xff", "UTF-16 ('iconv -f UTF-16 -t UTF-8' converts it)" },
    };

    for (; bytes && memchr(" \t\r\n", *file, 4); bytes--)
        file++;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const size_t length = strlen(known[k].start);

        if (bytes >= length && !strncasecmp((const char *)file, known[k].start, length))
            return known[k].meaning;
    }
    return NULL;
}

void file_warn_look(const char *path, const unsigned char *text, size_t bytes)
{
    const char *looks = file_looks_like(text, bytes);

    if (looks)
        warn("%.120s looks like %s; it is read as plain bytes", path, looks);
}
