/* driver.c - runs a fuzz target without a fuzzer: every file of the folders given, and mutations of it that
 * are the same on every run with the same --seed=N (default 1); --mutations=N of each file (default 3000). With clang
 * the targets also build alone: clang -fsanitize=fuzzer,address,undefined -I. -Iinclude tests/fuzz/npy.c
 * build/libegret.a -lm */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { MOST = 1 << 16 };

static uint64_t state = 1;
static int mutations = 3000;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return below ? (uint32_t)(state >> 33) % below : 0;
}

/* A few small changes: bits, bytes, cuts, doubled pieces. Returns the new length. */
static size_t mutate(uint8_t *p, size_t n)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '{', '}', '[', '"', '\'', ',', '-', '9'};
    for (uint32_t k = 1 + draw(4); k-- > 0 && n;) {
        uint32_t at = draw((uint32_t)n), many = draw(8) + 1;
        switch (draw(5)) {
        case 0:
            p[at] ^= (uint8_t)(1 << draw(8));
            break;
        case 1:
            p[at] = telling[draw(sizeof telling)];
            break;
        case 2:
            n = at;
            break;
        case 3:
            many = many > n - at ? (uint32_t)n - at : many;
            memmove(p + at, p + at + many, n - at - many);
            n -= many;
            break;
        default:
            if (n + many <= MOST) {
                memmove(p + at + many, p + at, n - at);
                n += many;
            }
        }
    }
    return n;
}

static int replay(const char *path)
{
    static uint8_t seed[MOST], work[MOST];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = fread(seed, 1, MOST, f);
    fclose(f);
    LLVMFuzzerTestOneInput(seed, n);
    for (int i = 0; i < mutations; i++) {
        memcpy(work, seed, n);
        size_t m = mutate(work, n);
        /* In a block of its own size, so that a sanitizer sees every byte read too far. */
        uint8_t *exact = malloc(m ? m : 1);
        if (!exact) {
            return 1;
        }
        memcpy(exact, work, m);
        LLVMFuzzerTestOneInput(exact, m);
        free(exact);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--seed=", 7)) {
            state = strtoull(argv[i] + 7, NULL, 10);
            continue;
        }
        if (!strncmp(argv[i], "--mutations=", 12)) {
            mutations = atoi(argv[i] + 12);
            continue;
        }
        DIR *d = opendir(argv[i]);
        for (struct dirent *e; d && (e = readdir(d));) {
            char path[600];
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (e->d_name[0] != '.') {
                files++;
                if (replay(path)) {
                    return 1;
                }
            }
        }
        if (d) {
            closedir(d);
        }
    }
    printf("%d files and %d mutations of each\n%d passed, 0 failed, 0 skipped\n", files, mutations, files);
    return files ? 0 : 2;
}
