/* egt.h - the test harness. A test is EGT(name) { ... }; it registers itself. After each, live tensors and
 * bytes must be back where they were and no scope may be open. A failed check ends its test, not the
 * program. Programs take words: run only tests whose name contains one of them. Of those, EGT_PART=2/8 in the
 * environment runs every eighth alone, another one for 1/8; with EGT_VERBOSE each is named on stderr first. */
#ifndef EGRET_EGT_H
#define EGRET_EGT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

typedef struct egt_test {
    const char *name;
    void (*run)(void);
    struct egt_test *next;
} egt_test;

void egt_register(egt_test *t);
/* Defined by programs driven by a table: the next row's test, NULL after the last. */
const egt_test *egt_next_case(void);
/* Ends the running test as failed, in words. */
_Noreturn void egt_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends the running test as skipped, in words. */
_Noreturn void egt_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The running test's name, for messages; tests driven by tables may change it per row. */
extern char egt_case[256];
/* Whether the latest failure has this code and its op or message contains the word; clears it. */
bool egt_said(eg_status code, const char *word);
/* Uniform numbers in low..high, the same on every run: the n-th call gives the n-th tensor. */
eg_tensor *egt_random(eg_shape shape, eg_dtype dtype, double low, double high);
/* Number i of tensor k of those that scripts of golden numbers know too (tests/golden/nets.py): in [-1, 1). */
double egt_hashed(uint32_t k, uint32_t i);
/* Largest |a - b| / (1 + |b|) over elements (both NaN: 0); infinity if shapes or dtypes differ. */
double egt_distance(const eg_tensor *a, const eg_tensor *b);
/* Whether dtype, number of elements and every bit are the same, wherever the tensors lie. */
bool egt_same_bits(eg_tensor *a, eg_tensor *b);
/* Skips the running test if `made` is NULL because this build has no such library. */
void egt_need(const void *made, const char *library);

/* Fails the first, second, ... allocation of a job until none is left to fail: each time it must give false, say
 * EG_ENOMEM and leave nothing alive. How many failed. Ends early where this build cannot do the job. */
int egt_fail_allocations(bool (*job)(void *user), void *user);

/* Folder of the real data sets, or NULL: EGRET_DATA, else ../shared/data. */
const char *egt_data(void);
/* Path of a file of them, valid until the next call; skips the running test if they are not here. */
const char *egt_real(const char *name);
/* Folder of the running test's own, made when first asked for; it and all in it go when the test ends. */
const char *egt_folder(void);
/* Path of something in it, valid until the fourth call from now. */
const char *egt_path(const char *name);
/* How many names in it have this word in them. */
int egt_files(const char *word);
/* Removes it now; asked for again, there is a new one. */
void egt_remove_folder(void);
/* Writes that make a file larger fail from now on; -1: no longer. */
void egt_limit_files(int64_t most);
void egt_write(const char *path, const void *bytes, size_t n);
/* The bytes of a file, a 0 behind them, for free(). */
char *egt_read(const char *path, size_t *n);

#define EGT(name)                                                 \
    static void egt_run_##name(void);                             \
    __attribute__((constructor)) static void egt_add_##name(void) \
    {                                                             \
        static egt_test t = {#name, egt_run_##name, NULL};        \
        egt_register(&t);                                         \
    }                                                             \
    static void egt_run_##name(void)

#define EGT_CHECK(condition)                                \
    do {                                                    \
        if (!(condition)) {                                 \
            egt_fail(__FILE__, __LINE__, "%s", #condition); \
        }                                                   \
    } while (0)
#define EGT_EQ(a, b)                                                                        \
    do {                                                                                    \
        double egt_a = (double)(a), egt_b = (double)(b);                                    \
        if (!(egt_a == egt_b)) {                                                            \
            egt_fail(__FILE__, __LINE__, "%s is %.17g, %s is %.17g", #a, egt_a, #b, egt_b); \
        }                                                                                   \
    } while (0)
#define EGT_NEAR(a, b, tolerance)                                                           \
    do {                                                                                    \
        double egt_a = (double)(a), egt_b = (double)(b);                                    \
        if (!(fabs(egt_a - egt_b) <= (tolerance) * (1 + fabs(egt_b)))) {                    \
            egt_fail(__FILE__, __LINE__, "%s is %.17g, %s is %.17g", #a, egt_a, #b, egt_b); \
        }                                                                                   \
    } while (0)
#define EGT_STR(a, b)                                                   \
    do {                                                                \
        if (strcmp(a, b)) {                                             \
            egt_fail(__FILE__, __LINE__, "\"%s\" is not \"%s\"", a, b); \
        }                                                               \
    } while (0)
#define EGT_OK(status)                                           \
    do {                                                         \
        if ((status) != EG_OK) {                                 \
            egt_fail(__FILE__, __LINE__, "%s refused", #status); \
        }                                                        \
    } while (0)
/* The expression is NULL or a failure, and the record says so with this code and word. */
#define EGT_REFUSED(expression, code, word)                                                        \
    do {                                                                                           \
        eg_clear_error();                                                                          \
        (void)(expression);                                                                        \
        if (!egt_said(code, word)) {                                                               \
            egt_fail(__FILE__, __LINE__, "%s: expected %s with \"%s\"", #expression, #code, word); \
        }                                                                                          \
    } while (0)

#endif
