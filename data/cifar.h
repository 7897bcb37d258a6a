/*
 * The task image of the Long Range Arena (arXiv:2011.04006): what does an image of CIFAR-10 show,
 * read pixel by pixel in grey? From the dataset's binary files (cs.toronto.edu/~kriz/cifar.html),
 *
 *     data_batch_1.bin ... data_batch_5.bin, test_batch.bin
 *
 * which have 3073 bytes for each image: its class from 0 to 9, and 32 lines of 32 pixels in red,
 * then in green, then in blue. A row is 1,024 greys, (299 red + 587 green + 114 blue) / 1000 to the
 * nearest.
 */
#ifndef DATA_CIFAR_H
#define DATA_CIFAR_H

#include "data/lra.h"
#include "data/synthetic.h"

/* Not one of synthetics[]: nothing draws its rows. */
extern const Synthetic cifar_task;

/*
 * Reads files, where one that is called test_batch.bin has the test data, and others training data,
 * whose last tenth is for validation. Dies with EXIT_IO or EXIT_DATA if a file is missing or not
 * valid, or there is too little to train on; `test` may be empty.
 */
Lra cifar_read(const char *const *file, int files);

/* The files of those names in a folder, or in the folder cifar-10-batches-bin in it. */
Lra cifar_read_folder(const char *folder);

/* All images of all files as test data. */
Lra cifar_read_test(const char *const *file, int files);

#endif
