/* test_crc32c.c - the checksum against its published values and against its definition. */
#include "tests/egt.h"

#include "lib/io/crc32c.h"
#include "tests/crc32c.h"

EGT(published_values)
{
    uint8_t zeros[32] = {0}, ones[32], up[32];
    for (int i = 0; i < 32; i++) {
        ones[i] = 0xff;
        up[i] = (uint8_t)i;
    }
    EGT_EQ(eg__crc32c(0, "123456789", 9), 0xe3069283u);
    EGT_EQ(eg__crc32c(0, zeros, 32), 0x8a9136aau); /* RFC 3720, B.4 */
    EGT_EQ(eg__crc32c(0, ones, 32), 0x62a8ab43u);
    EGT_EQ(eg__crc32c(0, up, 32), 0x46dd794eu);
    EGT_EQ(eg__crc32c(0, NULL, 0), 0);
    EGT_EQ(eg__crc32(0, "123456789", 9), 0xcbf43926u);
    EGT_EQ(eg__crc32(eg__crc32(0, "1", 1), "23456789", 8), 0xcbf43926u);
}

EGT(pieces_and_places_do_not_matter)
{
    uint8_t data[100];
    for (int i = 0; i < 100; i++) {
        data[i] = (uint8_t)(i * 37 + 11);
    }
    for (int n = 0; n < 80; n++) {
        for (int from = 0; from < 9; from++) {
            uint32_t slow = crc32c_by_bits(data + from, (size_t)n);
            EGT_EQ(eg__crc32c(0, data + from, (size_t)n), slow);
            size_t cut = (size_t)(n * from / 9);
            EGT_EQ(eg__crc32c(eg__crc32c(0, data + from, cut), data + from + cut, (size_t)n - cut), slow);
        }
    }
}

EGT(mask)
{
    uint32_t crc = eg__crc32c(0, "foo", 3), masked = eg__crc32c_mask(crc);
    uint32_t back = masked - 0xa282ead8u;
    EGT_CHECK(masked != crc);
    EGT_EQ(back << 15 | back >> 17, crc);
}
