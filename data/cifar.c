#include "data/cifar.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* As much of a name as leaves room for the rest in one line of die(). */
#define PATH "%.200s"
enum { PIXELS = 32 * 32, IMAGE = 1 + 3 * PIXELS, ROW = 1 + PIXELS, CLASSES = 10 };
enum { BATCHES = 5 };
static const char TEST[] = "test_batch.bin";

/* Rows as LraRows have them, while they are read. */
typedef struct {
    unsigned char *byte;
    size_t n;
} Images;

static void add_image(unsigned char *to, const unsigned char *image)
{
    const unsigned char *red = image + 1, *green = red + PIXELS, *blue = green + PIXELS;

    to[0] = image[0];
    for (int i = 0; i < PIXELS; i++)
        to[1 + i] = (unsigned char)((299 * red[i] + 587 * green[i] + 114 * blue[i] + 500) / 1000);
}

static CorpusFile add_file(Images *all, const char *path)
{
    size_t bytes;
    unsigned char *byte = file_read(path, &bytes);

    if (bytes == 0 || bytes % IMAGE != 0)
        die(EXIT_DATA,
            PATH " has %zu bytes, but a batch of CIFAR-10 (binary version) has %d for each image",
            path, bytes, IMAGE);
    all->byte = xrealloc(all->byte, (all->n + bytes / IMAGE) * ROW);
    for (size_t i = 0; i < bytes / IMAGE; i++) {
        if (byte[i * IMAGE] >= CLASSES)
            die(EXIT_DATA, PATH ": image %zu has the class %d, but CIFAR-10 has 0 to %d", path, i,
                byte[i * IMAGE], CLASSES - 1);
        add_image(all->byte + all->n++ * ROW, byte + i * IMAGE);
    }
    const CorpusFile file = { path, bytes, hash_bytes(0, byte, bytes) };
    free(byte);
    return file;
}

/* A copy of n of them. */
static LraRows rows_of(Images all, size_t first, size_t n)
{
    LraRows rows = { .rows = n,
                     .start = xmalloc((n + 1) * sizeof *rows.start),
                     .byte = xmalloc(n * ROW + 1) };

    for (size_t i = 0; i <= n; i++)
        rows.start[i] = i * ROW;
    if (n > 0)
        memcpy(rows.byte, all.byte + first * ROW, n * ROW);
    return rows;
}

static bool is_test(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, TEST) == 0;
}

Lra cifar_read(const char *const *file, int files)
{
    Images train = { 0 }, test = { 0 };
    CorpusFile *read = xmalloc((size_t)files * sizeof *read);

    for (int i = 0; i < files; i++)
        read[i] = add_file(is_test(file[i]) ? &test : &train, file[i]);
    if (train.n < 2)
        die(EXIT_DATA, "%zu images to train on are too few: give files such as data_batch_1.bin",
            train.n);
    const size_t held_back = train.n < 20 ? 1 : train.n / 10, n = train.n - held_back;
    const Lra lra = { rows_of(train, 0, n), rows_of(train, n, held_back), rows_of(test, 0, test.n),
                      read, files };
    free(train.byte), free(test.byte);
    return lra;
}

Lra cifar_read_test(const char *const *file, int files)
{
    Images all = { 0 };

    for (int i = 0; i < files; i++)
        add_file(&all, file[i]);
    const Lra lra = { .test = rows_of(all, 0, all.n) };
    free(all.byte);
    return lra;
}

static bool join(char path[PATH_BYTES], const char *folder, const char *below, const char *name)
{
    struct stat st;

    file_join(path, folder, text_format("%s%s", below, name).at);
    return stat(path, &st) == 0;
}

Lra cifar_read_folder(const char *folder)
{
    static char path[BATCHES + 1][PATH_BYTES];
    const char *file[BATCHES + 1], *below = "cifar-10-batches-bin/";
    int files = 0;

    if (!join(path[0], folder, below, "data_batch_1.bin"))
        below = "";
    for (int i = 1; i <= BATCHES; i++) {
        const Text name = text_format("data_batch_%d.bin", i);

        if (join(path[files], folder, below, name.at) || i == 1) /* the first must be there */
            file[files] = path[files], files++;
    }
    if (join(path[files], folder, below, TEST))
        file[files] = path[files], files++;
    return cifar_read(file, files);
}

static void misfit(SyntheticShape s, Text *why)
{
    if (s.T != PIXELS)
        text_add(why, "an image of CIFAR-10 has %d pixels, not %d", PIXELS, s.T);
}

static const char *const no_words[] = { NULL };

const Synthetic cifar_task = {
    .name = "image",
    .summary = "classify CIFAR-10 images, in greyscale (--data; arXiv:2011.04006)",
    .classes = CLASSES,
    .length = PIXELS,
    .image = true,
    .misfit = misfit,
    .others = 256,
    .answers = CLASSES,
    .digits = 256,
    .words = no_words,
};
