/* cases.c - the clock, and reading ops.txt. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, rising);
}

/* Copies a word into a field of `size` bytes; false when it does not fit. */
static bool take(char *field, size_t size, const char *word, size_t length)
{
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(field, word, length);
    field[length] = 0;
    return true;
}

/* 1: a case, 0: nothing on this line, -1: not to be understood. */
static int parse_line(char *line, bench_case *c)
{
    int words = 0;
    memset(c, 0, sizeof *c);
    for (char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest), words++) {
        char *equals = strchr(word, '=');
        bool ok;
        if (words == 0 && word[0] == '#') {
            return 0;
        }
        if (words == 0) {
            ok = take(c->name, BENCH_NAME, word, strlen(word));
        } else if (words == 1) {
            ok = take(c->op, BENCH_WORD, word, strlen(word));
        } else {
            ok = equals && c->keys < BENCH_KEYS && take(c->key[c->keys], BENCH_WORD, word, (size_t)(equals - word)) &&
                 take(c->word[c->keys], BENCH_WORD, equals + 1, strlen(equals + 1));
            c->keys++;
        }
        if (!ok) {
            return -1;
        }
    }
    return words == 0 ? 0 : words == 1 ? -1 : 1;
}

int bench_read_cases(const char *path, bench_case *cases)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int count = 0, number = 0;
    if (!file) {
        perror(path);
        return -1;
    }
    while (count >= 0 && fgets(line, sizeof line, file)) {
        number++;
        bench_case c;
        int got = parse_line(line, &c);
        if (got < 0 || (got && count == BENCH_CASES)) {
            fprintf(stderr, "%s:%d: not a case, or one too many\n", path, number);
            count = -1;
        } else if (got) {
            cases[count++] = c;
        }
    }
    fclose(file);
    return count;
}

const char *bench_word(const bench_case *c, const char *key)
{
    for (int i = 0; i < c->keys; i++) {
        if (!strcmp(c->key[i], key)) {
            return c->word[i];
        }
    }
    return "";
}

bool bench_smoke;

int64_t bench_int(const bench_case *c, const char *key)
{
    int64_t n = strtoll(bench_word(c, key), NULL, 10);
    return bench_smoke && n > BENCH_SMOKE ? BENCH_SMOKE : n;
}

bool bench_is(const bench_case *c, const char *key, const char *word)
{
    return !strcmp(bench_word(c, key), word);
}
