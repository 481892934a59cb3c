/* cifar.c - the binary files of CIFAR-10 and CIFAR-100. */
#include <stdlib.h>

#include "data/chain/dataset.h"
#include "data/readers/stream.h"

enum { SIDE = 32, PIXELS = SIDE * SIDE, MOST_LABELS = 2 };

typedef struct cifar {
    const char *op;
    int labels, order[MOST_LABELS], most[MOST_LABELS]; /* order: of the sample's labels in the file */
    int64_t record;
    eg__names names;
    eg__source *file;
    int64_t *end; /* records up to the end of each file */
} cifar;

static const cifar ten = {.op = "eg_cifar10_new", .labels = 1, .most = {9}};
static const cifar hundred = {.op = "eg_cifar100_new", .labels = 2, .order = {1, 0}, .most = {99, 19}};

static void free_cifar(void *user)
{
    cifar *c = user;
    for (uint32_t i = 0; c->file && i < c->names.n; i++) {
        if (c->file[i].op) {
            eg__source_close(&c->file[i]);
        }
    }
    free(c->file);
    free(c->end);
    eg__names_free(&c->names);
    free(c);
}

static eg_status read_record(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const cifar *c = user;
    uint8_t b[MOST_LABELS + 3 * PIXELS];
    uint32_t k = 0;
    while (index >= c->end[k]) {
        k++;
    }
    int64_t at = (index - (k ? c->end[k - 1] : 0)) * c->record;
    eg_status st = eg__source_read(&c->file[k], at, b, c->record);
    if (st) {
        return st;
    }
    for (int i = 0; i < c->labels; i++) {
        int label = b[c->order[i]];
        if (label > c->most[i]) {
            return eg__source_bad(&c->file[k], at + c->order[i], "label %d is above %d", label, c->most[i]);
        }
        if (!(sample[1 + i] = eg_scalar(label, EG_I64))) {
            return eg__why();
        }
    }
    eg_tensor *hwc = eg__empty_on(0, EG_SHAPE(SIDE, SIDE, 3), EG_U8);
    uint8_t *to = hwc ? (uint8_t *)eg__ptr(hwc) : NULL;
    for (int i = 0; hwc && i < PIXELS; i++) {
        for (int plane = 0; plane < 3; plane++) {
            *to++ = b[c->labels + plane * PIXELS + i];
        }
    }
    *n = 1 + c->labels;
    return (sample[0] = eg_permute(hwc, EG_AXES(2, 0, 1))) ? EG_OK : eg__why();
}

static eg_status open_files(cifar *c, const char *pattern, int64_t *count)
{
    eg_status st = eg__names_match(&c->names, c->op, pattern);
    size_t bytes = c->names.n * (sizeof *c->file + sizeof *c->end);
    if (st) {
        return st;
    }
    c->end = eg__malloc(c->names.n * sizeof *c->end);
    c->file = c->end ? eg__malloc(c->names.n * sizeof *c->file) : NULL;
    if (!c->file) {
        return eg__no_memory(c->op, (int64_t)bytes);
    }
    memset(c->file, 0, c->names.n * sizeof *c->file);
    for (uint32_t i = 0; i < c->names.n; i++) {
        if ((st = eg__source_open(&c->file[i], c->op, c->names.name[i]))) {
            c->file[i].op = NULL;
            return st;
        }
        if (c->file[i].size % c->record) {
            return eg__source_bad(&c->file[i], c->file[i].size,
                                  "the file is not a whole number of records of %lld bytes", (long long)c->record);
        }
        *count += c->file[i].size / c->record;
        c->end[i] = *count;
    }
    return EG_OK;
}

static eg_dataset *open_cifar(const cifar *kind, const char *pattern)
{
    cifar *c = eg__malloc(sizeof *c);
    int64_t count = 0;
    if (!c) {
        return eg__no_memory(kind->op, (int64_t)sizeof *c), NULL;
    }
    *c = *kind;
    c->record = c->labels + 3 * PIXELS;
    eg_dataset *d = open_files(c, pattern, &count) ? NULL : eg_dataset_from(read_record, count, c, free_cifar);
    if (!d) {
        free_cifar(c);
    }
    return d;
}

eg_dataset *eg_cifar10_new(const char *pattern)
{
    return open_cifar(&ten, pattern);
}

eg_dataset *eg_cifar100_new(const char *pattern)
{
    return open_cifar(&hundred, pattern);
}
