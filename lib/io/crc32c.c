/* crc32c.c - eight bytes at a time through eight tables (Kounavis and Berry 2005, "slicing by 8"). */
#include "lib/io/crc32c.h"

#include <egret/io.h>

#include <pthread.h>

enum { SLICES = 8 };

/* [k][b]: what the byte b does to the remainder with k bytes of zeros behind it. */
typedef uint32_t crc_table[SLICES][256];

static crc_table castagnoli, ethernet;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(crc_table table, uint32_t polynomial)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t r = b;
        for (int bit = 0; bit < 8; bit++) {
            r = r >> 1 ^ (r & 1 ? polynomial : 0);
        }
        table[0][b] = r;
    }
    for (int k = 1; k < SLICES; k++) {
        for (int b = 0; b < 256; b++) {
            uint32_t r = table[k - 1][b];
            table[k][b] = r >> 8 ^ table[0][r & 255];
        }
    }
}

static void make_tables(void)
{
    make_table(castagnoli, 0x82f63b78u);
    make_table(ethernet, 0xedb88320u);
}

static uint32_t checksum(const crc_table table, uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; bytes >= SLICES; bytes -= SLICES, p += SLICES) {
        crc = table[7][p[0] ^ (crc & 255)] ^ table[6][p[1] ^ (crc >> 8 & 255)] ^ table[5][p[2] ^ (crc >> 16 & 255)] ^
              table[4][p[3] ^ crc >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; bytes; bytes--, p++) {
        crc = crc >> 8 ^ table[0][*p ^ (crc & 255)];
    }
    return ~crc;
}

uint32_t eg__crc32c(uint32_t crc, const void *data, size_t bytes)
{
    pthread_once(&once, make_tables);
    return checksum(castagnoli, crc, data, bytes);
}

uint32_t eg__crc32(uint32_t crc, const void *data, size_t bytes)
{
    pthread_once(&once, make_tables);
    return checksum(ethernet, crc, data, bytes);
}

int64_t eg_crc32c(int64_t crc, const void *data, size_t bytes)
{
    return data && bytes <= PTRDIFF_MAX ? eg__crc32c((uint32_t)crc, data, bytes) : crc;
}
