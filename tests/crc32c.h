/* crc32c.h - Castagnoli's checksum by its definition, bit by bit: what tests hold the library's against. */
#ifndef EGRET_TESTS_CRC32C_H
#define EGRET_TESTS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t crc32c_by_bits(const void *data, size_t n)
{
    const uint8_t *s = data;
    uint32_t r = ~0u;
    for (size_t i = 0; i < n; i++) {
        r ^= s[i];
        for (int bit = 0; bit < 8; bit++) {
            r = r >> 1 ^ (r & 1 ? 0x82f63b78u : 0);
        }
    }
    return ~r;
}

/* As records store it. */
static inline uint32_t crc32c_masked(const void *data, size_t n)
{
    uint32_t r = crc32c_by_bits(data, n);
    return (r >> 15 | r << 17) + 0xa282ead8u;
}

#endif
