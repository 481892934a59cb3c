/* tf.h - what the checkpoints of TensorFlow have in common: types, shapes, and tensors in slices. */
#ifndef EGRET_TF_H
#define EGRET_TF_H

#include "lib/io/backing.h"
#include "lib/io/buffer.h"
#include "lib/io/formats.h"
#include "lib/io/sstable.h"
#include "lib/io/wire.h"

/* What a dtype's number (types.proto) means here; EG__ELEMENTS: nothing. And the number of a dtype. */
eg__element eg__tf_element(uint64_t number);
int eg__tf_number(eg_dtype dtype);

/* Bytes of memory that a name in a table may take, with all that is known of its tensor. */
enum { EG__TF_NAME = 256 };

/* What an entry says of a tensor, or of a slice of one. */
typedef struct eg__tf_kind {
    uint64_t number; /* of the dtype */
    eg__element element;
    eg_shape shape;
    bool bad;      /* the shape was none */
    bool too_many; /* more axes than a shape has */
} eg__tf_kind;

/* A TensorShapeProto. */
void eg__tf_read_shape(eg__wire w, eg__tf_kind *k);
/* What is known of it; EG_EFORMAT with words if it cannot be. */
eg_status eg__tf_about(const eg__source *s, int64_t place, const char *name, const eg__tf_kind *k,
                       eg_tensor_about *about);
/* If it can be no tensor here says so in the text of its name, and true. */
bool eg__tf_left_out(eg_tensors *map, const char *name, const eg__tf_kind *k, eg_status *st);

/* Which of several has a name; and the order of those names, which is that of tables. */
typedef struct eg__tf_named {
    const char *name;
    int64_t i;
} eg__tf_named;
void eg__tf_sort(eg__tf_named *all, size_t n);

/* Where a slice begins, and its lengths; of an axis that is there as a whole 0 and -1. */
typedef struct eg__tf_slice {
    int64_t start[EG_MAX_DIMS], length[EG_MAX_DIMS];
} eg__tf_slice;

typedef struct eg__tf_slices {
    eg__tf_slice *slice;
    uint32_t count, capacity;
} eg__tf_slices;

/* The shape of a slice. */
eg_shape eg__tf_slice_shape(const eg__tf_slice *slice, const eg_shape *full);
/* Adds all TensorSliceProtos that are this field of a message, of a tensor of that shape; EG_EFORMAT unless they have
 * as many elements as it. */
eg_status eg__tf_read_slices(const eg__source *s, int64_t place, const char *name, eg__tf_slices *all, eg__wire message,
                             uint32_t field, const eg_shape *full);
/* The key under which a slice lies in tables. */
void eg__tf_key(eg__buffer *b, const char *name, const eg__tf_slice *slice, int ndim);
/* The tensor made of `count` slices; read gives the i-th of them, borrowed. EG_EFORMAT if two overlap. */
eg_tensor *eg__tf_join(const eg__source *s, const eg_tensor_about *about, const eg__tf_slice *slice, uint32_t count,
                       eg_tensor *(*read)(void *user, uint32_t i), void *user);

/* The path of a file of version 2, to be freed, by that of the index, X.index, or by the prefix X alone: of the index
 * or, of `count`, of data file `which`. */
char *eg__tf_index_path(const char *path);
char *eg__tf_data_path(const char *path, uint32_t which, uint32_t count);
eg_status eg__tf_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o);

#endif
