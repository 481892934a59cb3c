/* readers.h - for tests of readers: small files, samples of text, how walking ends. */
#ifndef EGRET_TESTS_READERS_H
#define EGRET_TESTS_READERS_H

#include "tests/egt.h"

/* A file of the running test's folder. */
static inline void write_text(const char *name, const char *text)
{
    egt_write(egt_path(name), text, strlen(text));
}

static inline bool is_text(const eg_tensor *t, const char *want)
{
    return t && eg_dtype_of(t) == EG_U8 && eg_numel(t) == (int64_t)strlen(want) &&
           (!*want || !memcmp(eg_data(t), want, strlen(want)));
}

/* How many samples come. */
static inline int64_t walk(eg_dataset *d)
{
    int64_t k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
    }
    return k;
}

#define ENDS_WITH(dataset, code, word)          \
    do {                                        \
        eg_dataset *ends_ = dataset;            \
        walk(ends_);                            \
        EGT_EQ(eg_dataset_status(ends_), code); \
        EGT_CHECK(egt_said(code, word));        \
        eg_dataset_free(ends_);                 \
    } while (0)

#endif
