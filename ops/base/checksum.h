/* A number that detects changed bytes. */
#ifndef OPS_BASE_CHECKSUM_H
#define OPS_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), as iSCSI, ext4 and TensorBoard have it; of "123456789" it is e3069283. */
uint32_t checksum_crc32c(const void *at, size_t bytes);

#endif
