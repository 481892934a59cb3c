/* driver.c - runs a fuzz target without a fuzzer: every file of the folders given, and mutations of it that
 * are the same on every run with the same --seed=N (default 1); --mutations=N of each file (default 3000). With clang
 * the targets also build alone: clang -fsanitize=fuzzer,address,undefined -I. -Iinclude tests/fuzz/npy.c
 * build/libegret.a -lm */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ---- what an input takes ---------------------------------------------------------------------- */

/* Readers of untrusted files, and the bounds that SECURITY.md states of them, for the limits that the targets set. */
static const fuzz_bound bounds[] = {
#include "tests/fuzz/bounds.def"
};

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { MEASURED = 1 };

static atomic_size_t live, peak;

#define SEEN __attribute__((visibility("default")))

/* glibc's own, under the names that stay when a program has its own. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

static void *took(void *p)
{
    size_t now = p ? atomic_fetch_add(&live, malloc_usable_size(p)) + malloc_usable_size(p) : 0,
           most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
    }
    return p;
}

static void gave(void *p)
{
    atomic_fetch_sub(&live, p ? malloc_usable_size(p) : 0);
}

SEEN void *malloc(size_t n)
{
    return took(__libc_malloc(n));
}

SEEN void *calloc(size_t n, size_t size)
{
    return took(__libc_calloc(n, size));
}

SEEN void *aligned_alloc(size_t alignment, size_t n)
{
    return took(__libc_memalign(alignment, n));
}

SEEN void *realloc(void *p, size_t n)
{
    size_t had = p ? malloc_usable_size(p) : 0;
    void *q = __libc_realloc(p, n);
    atomic_fetch_sub(&live, q || !n ? had : 0);
    return took(q);
}

SEEN void free(void *p)
{
    gave(p);
    __libc_free(p);
}
#else
enum { MEASURED = 0 };
static atomic_size_t live, peak;
#endif

static const fuzz_bound *bound;
static size_t most_bytes, most_bytes_of;
static double most_seconds;

static void find_bound(const char *program)
{
    for (size_t i = 0; MEASURED && i < sizeof bounds / sizeof *bounds; i++) {
        const size_t n = strlen(program), m = strlen(bounds[i].target);
        bound = n >= m && !strcmp(program + n - m, bounds[i].target) ? &bounds[i] : bound;
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One input; ends the program where it takes more than it may. */
static void run(const uint8_t *data, size_t n)
{
    const size_t before = atomic_load(&live);
    const double begun = seconds();
    atomic_store(&peak, before);
    LLVMFuzzerTestOneInput(data, n);
    const size_t bytes = atomic_load(&peak) - before;
    const double took_seconds = seconds() - begun;
    if (bytes > most_bytes) {
        most_bytes = bytes;
        most_bytes_of = n;
    }
    most_seconds = took_seconds > most_seconds ? took_seconds : most_seconds;
    if (bound && (bytes > bound->bytes + bound->bytes_per_byte * n ||
                  took_seconds > bound->seconds + bound->seconds_per_byte * (double)n)) {
        fprintf(stderr, "%zu bytes of input took %zu bytes of memory and %.3f s, more than tests/fuzz/bounds.def has\n",
                n, bytes, took_seconds);
        abort();
    }
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
    static bool warm; /* what the library keeps from its first call on is no input's */
    if (!warm) {
        warm = true;
        LLVMFuzzerTestOneInput(seed, n);
    }
    run(seed, n);
    for (int i = 0; i < mutations; i++) {
        memcpy(work, seed, n);
        size_t m = mutate(work, n);
        /* In a block of its own size, so that a sanitizer sees every byte read too far. */
        uint8_t *exact = malloc(m ? m : 1);
        if (!exact) {
            return 1;
        }
        memcpy(exact, work, m);
        run(exact, m);
        free(exact);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int files = 0;
    setenv("EG_DEBUG", "nocache", 1); /* tensors are measured too */
    find_bound(argv[0]);
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
    if (MEASURED) {
        printf("at most %zu bytes of memory, for an input of %zu bytes, and %.3f s\n", most_bytes, most_bytes_of,
               most_seconds);
    }
    printf("%d files and %d mutations of each\n%d passed, 0 failed, 0 skipped\n", files, mutations, files);
    return files ? 0 : 2;
}
