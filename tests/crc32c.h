/* crc32c.h - 32-bit checksums computed bit by bit, as references: CRC-32C (Castagnoli) and CRC-32 (of PNG). */
#ifndef EGRET_TESTS_CRC32C_H
#define EGRET_TESTS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t crc_by_bits(const void *data, size_t n, uint32_t polynomial)
{
    const uint8_t *s = data;
    uint32_t r = ~0u;
    for (size_t i = 0; i < n; i++) {
        r ^= s[i];
        for (int bit = 0; bit < 8; bit++) {
            r = r >> 1 ^ (r & 1 ? polynomial : 0);
        }
    }
    return ~r;
}

static inline uint32_t crc32c_by_bits(const void *data, size_t n)
{
    return crc_by_bits(data, n, 0x82f63b78u);
}

static inline uint32_t crc32_by_bits(const void *data, size_t n)
{
    return crc_by_bits(data, n, 0xedb88320u);
}

/* As records store it. */
static inline uint32_t crc32c_masked(const void *data, size_t n)
{
    uint32_t r = crc32c_by_bits(data, n);
    return (r >> 15 | r << 17) + 0xa282ead8u;
}

#endif
