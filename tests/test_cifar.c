/* The images of CIFAR-10: what is read from its files, and what is refused. */
#include "data/cifar.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIXELS = 1024, IMAGE = 3073, MOST = 40 };

/* Image i has the class i % 10, its first red and last blue pixel 10 i, and otherwise i. */
static void put_batch(const char *name, int images)
{
    unsigned char *byte = xmalloc((size_t)images * IMAGE + 1);

    for (int i = 0; i < images; i++) {
        unsigned char *image = byte + (size_t)i * IMAGE;

        memset(image, i, IMAGE);
        image[0] = (unsigned char)(i % 10);
        image[1] = image[IMAGE - 1] = (unsigned char)(10 * i);
    }
    put(in_folder(name), byte, (size_t)images * IMAGE);
    free(byte);
}

static void check_image(const LraRows *rows, size_t k, int i)
{
    int id[PIXELS], target[PIXELS];

    ck_assert_int_eq(lra_row(rows, k, (Batch){ .B = 1, .T = PIXELS, .id = id, .target = target }),
                     PIXELS);
    ck_assert_int_eq(target[0], i % 10);
    for (int t = 0; t < PIXELS; t++) {
        const double red = t == 0 ? 10 * i : i, blue = t == PIXELS - 1 ? 10 * i : i;

        ck_assert_int_eq(id[t], (int)floor(0.299 * red + 0.587 * i + 0.114 * blue + 0.5));
        ck_assert_int_eq(target[t], t ? -1 : i % 10);
    }
}

START_TEST(a_row_is_an_image_in_grey_with_its_class)
{
    put_batch("data_batch_1.bin", 25);
    const char *const file = in_folder("data_batch_1.bin");
    Lra lra = cifar_read(&file, 1);

    ck_assert_uint_eq(lra.train.rows, 23);
    ck_assert_uint_eq(lra.validation.rows, 2);
    ck_assert_uint_eq(lra.test.rows, 0);
    for (int i = 0; i < 25; i++)
        check_image(i < 23 ? &lra.train : &lra.validation, (size_t)(i < 23 ? i : i - 23), i);
    lra_free(&lra);
}
END_TEST

START_TEST(each_colour_has_its_weight)
{
    static const int grey[3] = { 76, 150, 29 };
    unsigned char byte[2 * IMAGE] = { 0 };
    int id[PIXELS], target[1];

    for (int c = 0; c < 3; c++) {
        memset(byte, 0, sizeof byte);
        memset(byte + 1 + c * PIXELS, 255, PIXELS);
        put(in_folder("some"), byte, sizeof byte);
        const char *const file = in_folder("some");
        Lra lra = cifar_read(&file, 1);
        lra_row(&lra.train, 0,
                (Batch){ .B = 1, .T = PIXELS, .id = id, .target = target, .whole = true });
        for (int t = 0; t < PIXELS; t++)
            ck_assert_int_eq(id[t], grey[c]);
        lra_free(&lra);
    }
}
END_TEST

START_TEST(files_are_read_in_order_and_the_test_batch_is_apart)
{
    put_batch("a", 3), put_batch("test_batch.bin", 7), put_batch("b", 8);
    char path[3][100];
    const char *file[3];

    for (int i = 0; i < 3; i++) {
        strcpy(path[i], in_folder((const char *[]){ "a", "test_batch.bin", "b" }[i]));
        file[i] = path[i];
    }
    Lra lra = cifar_read(file, 3);
    ck_assert_uint_eq(lra.train.rows, 10);
    ck_assert_uint_eq(lra.validation.rows, 1);
    ck_assert_uint_eq(lra.test.rows, 7);
    check_image(&lra.train, 2, 2), check_image(&lra.train, 3, 0);
    check_image(&lra.validation, 0, 7), check_image(&lra.test, 6, 6);
    ck_assert_int_eq(lra.files, 3);
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        unsigned char *byte = file_read(path[i], &bytes);

        ck_assert_str_eq(lra.file[i].path, path[i]);
        ck_assert_uint_eq(lra.file[i].bytes, bytes);
        ck_assert(lra.file[i].hash == hash_bytes(0, byte, bytes));
        free(byte);
    }
    lra_free(&lra);
    lra = cifar_read_test(file, 3);
    ck_assert_uint_eq(lra.test.rows, 18);
    ck_assert_uint_eq(lra.train.rows, 0);
    check_image(&lra.test, 3, 0), check_image(&lra.test, 17, 7);
    lra_free(&lra);
}
END_TEST

START_TEST(a_folder_has_its_batches_or_a_folder_of_the_release_in_it)
{
    static const char below[] = "cifar-10-batches-bin";
    char path[100], kept[200];

    put_batch("data_batch_1.bin", 20), put_batch("data_batch_4.bin", 20);
    put_batch("data_batch_6.bin", 20);
    Lra lra = cifar_read_folder(folder);
    ck_assert_uint_eq(lra.train.rows + lra.validation.rows, 40);
    ck_assert_uint_eq(lra.test.rows, 0);
    lra_free(&lra);
    put_batch("test_batch.bin", 5);
    lra = cifar_read_folder(folder);
    ck_assert_uint_eq(lra.validation.rows, 4);
    ck_assert_uint_eq(lra.test.rows, 5);
    lra_free(&lra);
    strcpy(path, in_folder(below));
    ck_assert_int_eq(mkdir(path, 0777), 0);
    snprintf(kept, sizeof kept, "%s/data_batch_1.bin", path);
    ck_assert_int_eq(rename(in_folder("data_batch_1.bin"), kept), 0);
    lra = cifar_read_folder(folder);
    ck_assert_uint_eq(lra.train.rows, 18);
    ck_assert_uint_eq(lra.test.rows, 0);
    lra_free(&lra);
    remove(kept), rmdir(path);
}
END_TEST

static void read_file(const char *path)
{
    Lra lra = cifar_read(&path, 1);

    lra_free(&lra);
}

static void read_folder(const char *path)
{
    Lra lra = cifar_read_folder(path);

    lra_free(&lra);
}

START_TEST(files_that_are_not_batches_are_refused)
{
    unsigned char byte[3 * IMAGE] = { 0 };
    char name[5001];

    for (size_t n = 0; n <= sizeof byte; n += IMAGE)
        for (int off = -1; off <= 1; off++) {
            if ((n == 0 && off < 0) || (n > 0 && off == 0) || n + (size_t)off > sizeof byte)
                continue;
            put(in_folder("some"), byte, n + (size_t)off);
            check_dies(read_file, in_folder("some"), EXIT_DATA, "3073 for each image");
        }
    byte[2 * IMAGE] = 10;
    put(in_folder("some"), byte, sizeof byte);
    check_dies(read_file, in_folder("some"), EXIT_DATA, "image 2 has the class 10");
    put_batch("some", 1);
    check_dies(read_file, in_folder("some"), EXIT_DATA, "1 images to train on are too few");
    put_batch("test_batch.bin", 9);
    check_dies(read_file, in_folder("test_batch.bin"), EXIT_DATA, "0 images to train on");
    check_dies(read_file, in_folder("none"), EXIT_IO, "none");
    check_dies(read_folder, folder, EXIT_IO, "data_batch_1.bin");
    memset(name, 'a', 5000), name[5000] = 0;
    check_dies(read_folder, name, EXIT_IO, "is too long");
}
END_TEST

Suite *suite_cifar(void)
{
    Suite *s = suite_create("cifar");
    TCase *t = with_folder(s, "files");

    tcase_add_test(t, a_row_is_an_image_in_grey_with_its_class);
    tcase_add_test(t, each_colour_has_its_weight);
    tcase_add_test(t, files_are_read_in_order_and_the_test_batch_is_apart);
    tcase_add_test(t, a_folder_has_its_batches_or_a_folder_of_the_release_in_it);
    tcase_add_test(t, files_that_are_not_batches_are_refused);
    return s;
}
