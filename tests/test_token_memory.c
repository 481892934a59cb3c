/* test_token_memory.c - memory and time that tokenizers take: counted by the limit, in proportion to file and text. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "egt.h"

#define GOLDEN "tests/golden/tokens/"

/* Tests of what needs utf8proc, PCRE2 and protobuf-c. */
static void need(void)
{
    static const char *const files[] = {"tests/fuzz/corpus/tokenizer/patterns.json",
                                        "tests/fuzz/corpus/tokenizer/unigram.model"};
    for (int i = 0; i < 2; i++) {
        eg_tokenizer *t = eg_tokenizer_load(files[i]);
        egt_need(t, "utf8proc, PCRE2, or protobuf-c");
        eg_tokenizer_free(t);
    }
}

static int64_t reserved(void)
{
    return eg_memory_stats().reserved_bytes;
}

EGT(memory_is_counted_by_the_limit)
{
    need();
    enum { LONG = 1 << 20 };
    EG_SCOPE {
        eg_tensor *text = eg_full(EG_SHAPE(LONG), 'a', EG_U8);
        const int64_t before = reserved();
        eg_tokenizer *t = eg_tokenizer_load(GOLDEN "llama.json");
        EGT_CHECK(reserved() - before > 60000); /* the vocabulary has 59 KB of file */
        EGT_OK(eg_memory_limit(reserved() + 2 * LONG));
        EGT_REFUSED(eg_tokenizer_encode(t, text).ids, EG_ENOMEM, "");
        EGT_OK(eg_memory_limit(reserved()));
        EGT_REFUSED(eg_tokenizer_load(GOLDEN "llama.json"), EG_ENOMEM, "");
        EGT_OK(eg_memory_limit(0));
        EGT_CHECK(eg_tokenizer_encode(t, text).ids);
        eg_tokenizer_free(t);
    }
}

/* Most that a tokenizer may take, as SECURITY.md has it. */
enum { TEXT = 1 << 16, FILE_BYTES = 256, TEXT_BYTES = 256, BASE_BYTES = 4 << 20, NANOSECONDS = 20000 };

static eg_tensor *long_text(const char *bytes, size_t n)
{
    char *text = malloc(TEXT + 1);
    EGT_CHECK(text);
    for (size_t i = 0; i < TEXT; i++) {
        text[i] = (uint8_t)bytes[i % n] < 0x80 && bytes[i % n] ? bytes[i % n] : (char)('a' + i % 26);
    }
    text[TEXT] = '\0';
    eg_tensor *made = eg_text(text);
    free(text);
    return made;
}

static void measure(const char *name)
{
    char path[400];
    size_t n;
    snprintf(path, sizeof path, "tests/fuzz/corpus/tokenizer/%.60s", name);
    char *bytes = egt_read(path, &n);
    EG_SCOPE {
        eg_tensor *text = long_text(bytes, n);
        eg_memory_trim();
        eg_memory_reset_peak();
        const int64_t before = eg_memory_stats().reserved_bytes;
        const clock_t start = clock();
        eg_tokenizer *t = eg_tokenizer_load(path);
        EGT_CHECK(t);
        const int64_t loaded_peak = eg_memory_stats().peak_bytes - before;
        eg_tokens x = eg_tokenizer_encode(t, text);
        eg_tensor *back = x.ids ? eg_tokenizer_decode(t, x.ids) : NULL;
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        const int64_t peak = eg_memory_stats().peak_bytes - before;
        eg_tokenizer_free(t);
        if (loaded_peak > BASE_BYTES + (int64_t)n * FILE_BYTES ||
            peak > BASE_BYTES + (int64_t)n * FILE_BYTES + TEXT * TEXT_BYTES ||
            seconds > 1e-9 * NANOSECONDS * (double)(n + TEXT)) {
            printf("  %s: %lld bytes to load %zu, %lld for a text of %d, %.3f s\n", name, (long long)loaded_peak, n,
                   (long long)peak, TEXT, seconds);
        }
        EGT_CHECK(x.ids ? back != NULL : eg_last_error()->code == EG_EINVAL);
        eg_clear_error();
        EGT_CHECK(loaded_peak <= BASE_BYTES + (int64_t)n * FILE_BYTES);
        EGT_CHECK(peak <= BASE_BYTES + (int64_t)n * FILE_BYTES + TEXT * TEXT_BYTES);
        EGT_CHECK(seconds <= 1e-9 * NANOSECONDS * (double)(n + TEXT));
    }
    free(bytes);
}

EGT(memory_and_time_are_in_proportion)
{
    need();
    DIR *d = opendir("tests/fuzz/corpus/tokenizer");
    EGT_CHECK(d);
    static char names[64][64];
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) && n < 64;) {
        if (e->d_name[0] != '.') {
            snprintf(names[n++], sizeof names[0], "%.60s", e->d_name);
        }
    }
    closedir(d);
    EGT_CHECK(n > 10);
    for (int i = 0; i < n; i++) {
        measure(names[i]);
    }
}
