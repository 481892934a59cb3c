/* crc32c.h - the checksum of checkpoints, TFRecord and event files; and that of zip archives. */
#ifndef EGRET_CRC32C_H
#define EGRET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4) of what crc was of, followed by these bytes; begin with 0. */
uint32_t eg__crc32c(uint32_t crc, const void *data, size_t bytes);
/* The same for CRC-32 (APPNOTE 4.4.7). */
uint32_t eg__crc32(uint32_t crc, const void *data, size_t bytes);

/* As record files store it, so that a checksum of data that hold checksums is no weaker: rotated and moved. */
static inline uint32_t eg__crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
