/* crc32c.c - eight bytes at a time through eight tables (Kounavis and Berry 2005, "slicing by 8"). */
#include "lib/io/crc32c.h"

#include <pthread.h>

enum { SLICES = 8 };

static uint32_t table[SLICES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* table[k][b]: what the byte b does to the remainder with k bytes of zeros behind it. */
static void make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t r = b;
        for (int bit = 0; bit < 8; bit++) {
            r = r >> 1 ^ (r & 1 ? 0x82f63b78u : 0);
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

uint32_t eg__crc32c(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    pthread_once(&once, make_table);
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
