/*
 * Every truncation of a checkpoint, every bit of its header turned, and bits of its numbers: all of
 * them, or as many as asked for, spread evenly. None may be accepted, but for "format" and
 * its value in the header, which are for other programs and mean nothing to this one.
 *
 *     flips FILE [BITS-OF-NUMBERS]
 */
#include "ops/base/machine.h"
#include "tests/fuzz/fuzz.h"
#include "training/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 24, LENGTH = 8 };

static void read_run(void *ctx)
{
    Saved *s = saved_read("/dev/null", false);
    const char *name = saved_option(s, "optimizer");
    Optimiser o = { .kind = optimisers[0] };

    (void)ctx;
    for (int i = 0; name && optimisers[i]; i++)
        if (strcmp(optimisers[i]->name, name) == 0)
            o.kind = optimisers[i];
    optimiser_init(&o, &s->model.params, s->mem);
    saved_optimiser(s, &o);
    saved_free(s);
}

static bool accepted(const uint8_t *file, size_t n)
{
    fuzz_file(file, n);
    return fuzz_run(read_run, NULL);
}

/* Those that are accepted, of the bits from..to; every `step`th of them is turned. */
static size_t turn(uint8_t *file, size_t n, size_t from, size_t to, size_t step, size_t *tried)
{
    size_t wrong = 0;

    for (size_t bit = from; bit < to; bit += step, ++*tried) {
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (accepted(file, n)) {
            wrong++;
            fprintf(stderr, "FAILED: bit %zu of byte %zu turns unnoticed\n", bit % 8, bit / 8);
        }
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    return wrong;
}

static size_t read_file(const char *path, uint8_t *to)
{
    FILE *file = fopen(path, "rb");

    if (!file)
        die(EXIT_IO, "cannot open %s", path);
    const size_t n = fread(to, 1, FILE_MOST, file);
    fclose(file);
    return n;
}

/* Where the header ends, and where "format" and its value are in it. */
static size_t header_end(const uint8_t *file, size_t n, size_t format[2])
{
    static const char words[] = "\"format\":\"";
    size_t end = LENGTH;

    for (int i = 0; i < LENGTH; i++)
        end += (size_t)file[i] << 8 * i;
    for (size_t i = LENGTH; i + sizeof words < end && end <= n; i++)
        if (memcmp(file + i, words, sizeof words - 1) == 0) {
            const size_t value = i + sizeof words - 1;

            format[0] = i;
            format[1] = value + strcspn((const char *)file + value, "\"");
        }
    return end;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        die(EXIT_USAGE, "FILE is missing");
    uint8_t *file = xmalloc(FILE_MOST);
    const size_t n = read_file(argv[1], file), most = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    size_t format[2] = { 0, 0 }, header = 0, numbers = 0, wrong = 0;
    const size_t end = header_end(file, n, format), bits = 8 * (n - end);
    const double start = seconds_now();

    if (!accepted(file, n) || !format[0])
        die(EXIT_DATA, "%s is no whole checkpoint", argv[1]);
    for (size_t length = 0; length < n; length++)
        wrong += accepted(file, length);
    wrong += turn(file, n, 0, 8 * format[0], 1, &header);
    wrong += turn(file, n, 8 * format[1], 8 * end, 1, &header);
    wrong += turn(file, n, 8 * end, 8 * n, most && most < bits ? bits / most : 1, &numbers);
    printf("%zu truncations, %zu bits of the header and %zu of %zu of the numbers: %zu accepted\n",
           n, header, numbers, bits, wrong);
    fprintf(stderr, "%.0f reads a second\n",
            (double)(n + header + numbers) / (seconds_now() - start));
    free(file);
    return wrong > 0;
}
