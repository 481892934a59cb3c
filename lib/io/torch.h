/* torch.h - what both forms of PyTorch's files share: storages and tensors that a pickle speaks of, and their names. */
#ifndef EGRET_TORCH_H
#define EGRET_TORCH_H

#include "lib/io/backing.h"
#include "lib/io/lazy.h"
#include "lib/io/pickle.h"
#include "lib/io/zip.h"

/* What objects of the pickle are: their integer is a number of a storage or tensor, or a tuple's. */
typedef enum eg__torch_object {
    EG__TORCH_STORAGE,
    EG__TORCH_TENSOR,
    EG__TORCH_DEVICE,
    EG__TORCH_OPAQUE, /* what is not read: the integer is a number of a reason */
} eg__torch_object;

typedef struct eg__torch_storage {
    uint32_t key;                 /* a text of the pickle */
    eg__element element;          /* EG__ELEMENTS: bytes of whatever */
    int64_t bytes;                /* as the pickle says */
    int64_t at;                   /* in the file; -1: nobody said yet */
    const eg__zip_member *packed; /* where it must be unpacked from, or NULL */
} eg__torch_storage;

typedef struct eg__torch_tensor {
    uint32_t storage;
    eg__element element;
    int64_t offset; /* in elements */
    eg_shape shape;
    int64_t strides[EG_MAX_DIMS];
    eg_tensor_about about;
} eg__torch_tensor;

/* Why a value is not read. */
typedef struct eg__torch_why {
    char words[140];
} eg__torch_why;

/* What stays open for the tensors. */
typedef struct eg__torch {
    eg__backing *backing;
    eg__torch_storage *storage;
    uint32_t nstorages, cstorages;
    eg__torch_tensor *tensor;
    uint32_t ntensors, ctensors;
    eg__torch_why *why; /* of values that are not read */
    uint32_t nwhy, cwhy;
    eg__zip zip;
    eg__backing **unpacked; /* of each of the zip's members, once it was needed; or NULL */
} eg__torch;

/* A pickle of a source's, whose storages and tensors come into `t`. */
eg_status eg__torch_pickle(eg__torch *t, eg__pickle *p, const eg__source *s, int64_t place, int64_t size);
/* The word of a dtype's or another global's row. */
const char *eg__torch_word(int64_t row);
/* The names of the map, as promises of the tensors, and its texts. */
eg_status eg__torch_name_all(const eg__torch *t, eg__pickle *p, eg_tensors *map);
/* The older form: the whole file, when the map is there. */
eg_status eg__torch_legacy(eg__torch *t, eg_tensors *map);
bool eg__torch_is_legacy(const eg__source *s);

#endif
