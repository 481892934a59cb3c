/* texts.c - how fast lines of text become ids, a thousand at a time, with places and words, as a tokenizer's file has
 * it. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

#include "bench.h"

enum { LINES = 20000, AT_ONCE = 1000 };

static int read_lines(const char *path, eg_tensor **lines)
{
    int n = 0;
    eg_dataset *d = eg_text_lines_new(path);
    EG_FOR_EACH(line, d) {
        lines[n++] = eg_keep(line[0]);
        if (n == LINES) {
            break;
        }
    }
    eg_dataset_free(d);
    return n;
}

/* All lines again and again, for about so many microseconds. */
static eg_status measure(const eg_tokenizer *t, eg_tensor *const *lines, int n, double budget)
{
    double start = bench_now();
    int64_t done = 0, bytes = 0;
    eg_status st = EG_OK;
    do {
        for (int i = 0; i < n && !st; i += AT_ONCE) {
            EG_SCOPE {
                int many = n - i < AT_ONCE ? n - i : AT_ONCE;
                st = eg_tokenizer_encode_batch(t, lines + i, many).ids ? EG_OK : eg_last_error()->code;
            }
        }
        for (int i = 0; i < n; i++) {
            bytes += eg_numel(lines[i]);
        }
        done += n;
    } while (!st && bench_now() - start < budget * 1e-6);
    printf("{\"lines\": %lld, \"bytes\": %lld, \"seconds\": %.5f}\n", (long long)done, (long long)bytes,
           bench_now() - start);
    return st;
}

int bench_texts(const char *tokenizer, const char *text)
{
    eg_tensor **lines = calloc(LINES, sizeof *lines);
    eg_tokenizer *t = lines ? eg_tokenizer_load(tokenizer) : NULL;
    eg_status st = t ? EG_OK : eg_last_error()->code;
    int n = t ? read_lines(text, lines) : 0;
    char command[64];
    while (!st && fgets(command, sizeof command, stdin)) {
        st = measure(t, lines, n, strtod(command + 4, NULL));
        fflush(stdout);
    }
    for (int i = 0; i < n; i++) {
        eg_release(lines[i]);
    }
    free(lines);
    eg_tokenizer_free(t);
    return st ? eg_error_print(stderr) : 0;
}
