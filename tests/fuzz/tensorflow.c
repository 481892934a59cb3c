/* tensorflow.c - any bytes as a checkpoint of TensorFlow: the length of an index (4 bytes), an index and data; of
 * length 0: a checkpoint of version 1. Where blocks can be found they get the checksums that they should have. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <egret/egret.h>

#include "tests/crc32c.h"
#include "tests/fuzz/fuzz.h"

enum { FOOTER = 48, TRAILER = 5 };

/* ---- checksums ----------------------------------------------------------------------------------- */

static uint64_t varint(const uint8_t *p, size_t end, size_t *at)
{
    uint64_t v = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        v |= (uint64_t)(p[*at] & 127) << shift;
        if (p[(*at)++] < 128) {
            break;
        }
    }
    return v;
}

/* The block whose place and size lie at `at`; the end of its bytes, or 0. */
static size_t seal(uint8_t *p, size_t n, size_t at, size_t end, size_t *place)
{
    const uint64_t from = varint(p, end, &at), size = varint(p, end, &at);
    if (from > n || size > n - from || n - from - size < TRAILER) {
        return 0;
    }
    const size_t to = (size_t)(from + size);
    const uint32_t crc = crc32c_masked(p + from, (size_t)size + 1);
    for (int i = 0; i < 4; i++) {
        p[to + 1 + i] = (uint8_t)(crc >> 8 * i);
    }
    *place = (size_t)from;
    return to;
}

static void seal_table(uint8_t *p, size_t n)
{
    size_t at = n - FOOTER, place = 0, ignored = 0;
    if (n < FOOTER) {
        return;
    }
    varint(p, n, &at);
    varint(p, n, &at);
    const size_t whole = seal(p, n, at, n, &place), restarts = whole - place < 4 ? 0 : p[whole - 4];
    const size_t end = whole - place < 4 + 4 * restarts ? 0 : whole - 4 - 4 * restarts;
    for (size_t entry = place; entry < end;) {
        varint(p, end, &entry);
        const uint64_t key = varint(p, end, &entry), value = varint(p, end, &entry);
        if (key > end - entry || value > end - entry - key) {
            break;
        }
        seal(p, n, entry + (size_t)key, end, &ignored);
        entry += (size_t)(key + value);
    }
    if (whole) { /* some of its bytes may have been those of another block's */
        at = n - FOOTER;
        varint(p, n, &at);
        varint(p, n, &at);
        seal(p, n, at, n, &place);
    }
}

/* ---- files ----------------------------------------------------------------------------------------- */

/* The latest path of all with this behind it. */
static const char *beside(const char *path, const char *ending)
{
    static char to[200];
    snprintf(to, sizeof to, "%s%s", path, ending);
    return to;
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) {
        abort();
    }
}

/* All of their elements, which are in `most` bytes. */
static void read_all(const eg_tensors *m, size_t most)
{
    size_t bytes = 0;
    fuzz_expect(m != NULL);
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        EG_SCOPE {
            eg_clear_error();
            eg_tensor *t = eg_tensors_at(m, i);
            fuzz_expect(t != NULL);
            bytes += t ? (size_t)eg_numel(t) * eg_dtype_size(eg_dtype_of(t)) : 0;
            if (t && !eg_sum(t)) {
                abort();
            }
        }
    }
    if (bytes > most) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t n = size < 4 ? 0 : data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;
    if (size < 4 || n > size - 4) {
        return 0;
    }
    uint8_t *copy = malloc(size);
    if (!copy) {
        abort();
    }
    memcpy(copy, data + 4, size - 4);
    seal_table(copy, n ? n : size - 4);
    eg_clear_error();
    if (n) {
        const char *path = fuzz_file(data, 0);
        write_file(beside(path, ".index"), copy, n);
        write_file(beside(path, ".data-00000-of-00001"), copy + n, size - 4 - n);
        for (int again = 0; again < 2; again++) {
            eg_tensors *m = eg_tensors_open(beside(path, ".index"), .copy = again == 0);
            read_all(m, 5 * (size - 4 - n));
            eg_tensors_free(m);
        }
        unlink(beside(path, ".index"));
        unlink(beside(path, ".data-00000-of-00001"));
    } else {
        eg_tensors *m = eg_tensors_parse(copy, size - 4);
        read_all(m, 200 * size); /* a varint of one byte, itself packed 22 times */
        eg_tensors_free(m);
    }
    free(copy);
    return 0;
}
