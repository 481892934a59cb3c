/* golden.h - replaying the golden numbers: what a case is, and how a file of rows says which call
 * of Egret's it stands for. README.md describes the files. */
#ifndef EGRET_GOLDEN_H
#define EGRET_GOLDEN_H

#include "tests/egt.h"

enum { GOLDEN_INPUTS = 24, GOLDEN_OUTPUTS = 8, GOLDEN_LIST = 8 };

typedef struct golden_case {
    char name[64], op[32];                             /* "conv2d/3", "conv2d" */
    char options[512];                                 /* "stride=2,2;padding=same" */
    eg_tensor *x[GOLDEN_INPUTS], *g[GOLDEN_INPUTS];    /* inputs; their gradients, or NULL */
    eg_tensor *y[GOLDEN_OUTPUTS], *dy[GOLDEN_OUTPUTS]; /* values; gradients given, or NULL */
    eg_tensor *extra;                                  /* the tensor of a role of another name, or NULL */
    int nx, ny;
} golden_case;

/* One op of the files. One of the functions is set: f1 of x0, f2 of x0 and x1, `one` for a single
 * result, or `many`, which fills out[0..ny) and returns false after a refusal. */
typedef struct golden_row {
    const char *op;
    eg_tensor *(*f1)(eg_tensor *x);
    eg_tensor *(*f2)(eg_tensor *a, eg_tensor *b);
    eg_tensor *(*one)(const golden_case *c);
    bool (*many)(const golden_case *c, eg_tensor **out);
    bool branches; /* on the last bits, as a search for a minimum does: not replayed in f32 */
} golden_row;

/* Rows of ops whose names agree. */
#define GOLDEN_1(name)               \
    {                                \
        .op = #name, .f1 = eg_##name \
    }
#define GOLDEN_2(name)               \
    {                                \
        .op = #name, .f2 = eg_##name \
    }

typedef struct golden_rows {
    const golden_row *rows;
    int count;
    struct golden_rows *next;
} golden_rows;

void golden_add(golden_rows *rows);
/* The case with what goes into it on the device that makers use; what has to come out stays. */
golden_case golden_there(const golden_case *c);

/* GOLDEN_ROWS(conv, {.op = "conv2d", .one = conv2d}, ...) at the end of conv.c replays
 * conv.safetensors as the test golden_conv. Rows serve every family. */
#define GOLDEN_ROWS(family, ...)                                                \
    __attribute__((constructor)) static void golden_add_##family(void)          \
    {                                                                           \
        static const golden_row list[] = {__VA_ARGS__};                         \
        static golden_rows r = {list, (int)(sizeof list / sizeof *list), NULL}; \
        golden_add(&r);                                                         \
    }                                                                           \
    EGT(golden_##family)                                                        \
    {                                                                           \
        golden_replay(#family);                                                 \
    }

/* The row of an op, or NULL; and a row's results for a case: false after a refusal. */
const golden_row *golden_find(const char *op);
bool golden_run(const golden_row *row, const golden_case *c, eg_tensor **out);

/* Replays every case of tests/golden/FAMILY.safetensors: values and gradients, in the dtypes of the
 * file and, where f32 can hold the inputs, once more in f32. Prints each case that differs or has
 * no row, and fails if there was one. */
void golden_replay(const char *family);

/* ---- options ----------------------------------------------------------------------------------
 */

/* The text after key=, up to the next ';', valid until the next call; "" without such a key. */
const char *golden_word(const golden_case *c, const char *key);
bool golden_is(const golden_case *c, const char *key, const char *word);
bool golden_has(const golden_case *c, const char *key);
double golden_number(const golden_case *c, const char *key, double absent);
/* The numbers of a comma list, at most GOLDEN_LIST; how many there are. */
int golden_list(const golden_case *c, const char *key, int64_t *values);
/* The same as axes or as a shape; no axes without such a key. */
eg_axes golden_axes(const golden_case *c, const char *key);
eg_shape golden_shape(const golden_case *c, const char *key);

/* ---- files ------------------------------------------------------------------------------------
 */

/* Loads a file and sorts its tensors into cases; their number, at least 1. Both results are the
 * caller's to free, the tensors belong to the file. Fails the running test if it cannot. */
int golden_load(const char *family, eg_tensors **file, golden_case **cases);

/* What TF-Slim, torchvision or others publish of a net, by their names: tensors of the right shapes without values, for
 * the caller to free. NULL if names.txt.gz has nothing of the kind. */
eg_tensors *golden_names(const char *net, const char *whose);

#endif
