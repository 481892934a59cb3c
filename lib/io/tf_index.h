/* tf_index.h - the index of a checkpoint of TensorFlow, version 2, once it is read. */
#ifndef EGRET_TF_INDEX_H
#define EGRET_TF_INDEX_H

#include "lib/io/tf.h"

/* Elements side by side in a data file. */
typedef struct eg__tf_piece {
    eg__element element;
    eg_shape shape;
    uint32_t shard, crc;
    int64_t at, bytes;
    bool joined; /* it is a slice of a tensor */
} eg__tf_piece;

/* A tensor in slices, those from `first` on. */
typedef struct eg__tf_whole {
    eg__element element;
    eg_shape shape;
    uint32_t first, count;
} eg__tf_whole;

typedef struct eg__tf_index {
    eg__backing *backing; /* of the index */
    eg__backing **shards; /* NULL where none was needed yet */
    uint32_t nshards;
    eg__tf_piece *pieces;
    uint32_t npieces, cpieces;
    eg__tf_whole *wholes;
    uint32_t nwholes, cwholes;
    eg__tf_slices slices;
    uint32_t *slice_piece; /* of each slice */
    uint32_t cslice_piece;
} eg__tf_index;

/* Reads and checks it, opens the data files and promises the map their tensors: of piece i under the number 2 i, of
 * whole i under 2 i + 1. */
eg_status eg__tf_read_index(eg__tf_index *r, eg_tensors *map);

#endif
