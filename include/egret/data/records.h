/* records.h - TFRecord files, and the Example messages that are usually in them.
 *
 * A TFRecord file is records one behind the other: length (u64, little-endian), masked CRC-32C of
 * the length, bytes, masked CRC-32C of the bytes (TensorFlow, core/lib/io/record_writer); the whole
 * may be packed with gzip or zlib. An Example is a map of features by name, a SequenceExample also
 * holds lists of features by name, one feature for each step (TensorFlow, core/example, Protocol
 * Buffers version 3). */
#ifndef EGRET_DATA_RECORDS_H
#define EGRET_DATA_RECORDS_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_dataset eg_dataset;

typedef enum eg_compression {
    EG_COMPRESSION_AUTO, /* by the first bytes */
    EG_COMPRESSION_NONE,
    EG_COMPRESSION_GZIP,
    EG_COMPRESSION_ZLIB,
} eg_compression;

/* ---- reading records ------------------------------------------------------------------------ */

typedef struct eg_tfrecord_options {
    size_t size;
    eg_compression compression;
    bool no_crc; /* do not look at the checksums */
    /* the rest as in eg_shards_new (readers.h) */
    bool shuffle_files;
    uint64_t seed;
    int cycle;
    int64_t block, rank, ranks, ahead;
} eg_tfrecord_options;

/* The records of the files that match a pattern of glob(7), in the order of their names unless the
 * options say otherwise: samples of one tensor, u8 [n]. EG_EIO: no file matches. While walking: EG_EFORMAT with file
 * and offset (of unpacked bytes). After a wrong checksum of the bytes the next record can be read; after a wrong
 * length, or a file cut short, the next file. Records have at most 2^31 - 1 bytes, in
 * packed files as eg_unpack_limit says (io.h); no memory is asked for that the file cannot fill. */
EG_API eg_dataset *eg_tfrecord_new_with(const char *pattern, const eg_tfrecord_options *options);
#define eg_tfrecord_new(...)           EG_TFRECORD_NEW_(__VA_ARGS__, )
#define EG_TFRECORD_NEW_(pattern, ...) eg_tfrecord_new_with(pattern, EG_OPTIONS_(eg_tfrecord_options, __VA_ARGS__))

/* ---- writing records ------------------------------------------------------------------------ */

typedef struct eg_tfrecord_writer eg_tfrecord_writer;

typedef struct eg_tfrecord_writer_options {
    size_t size;
    eg_compression compression; /* AUTO: none */
} eg_tfrecord_writer_options;

/* Begins a file under a temporary name beside `path`. */
EG_API eg_tfrecord_writer *eg_tfrecord_writer_new_with(const char *path, const eg_tfrecord_writer_options *options);
#define eg_tfrecord_writer_new(...) EG_TFRECORD_WRITER_NEW_(__VA_ARGS__, )
#define EG_TFRECORD_WRITER_NEW_(path, ...) \
    eg_tfrecord_writer_new_with(path, EG_OPTIONS_(eg_tfrecord_writer_options, __VA_ARGS__))
/* Appends a record. After a failure the file can only be given up: EG_ESTATE. */
EG_API eg_status eg_tfrecord_write(eg_tfrecord_writer *w, const void *data, size_t bytes);
/* Syncs, puts the file in its place and frees the writer in any case; EG_ESTATE after a failure. */
EG_API eg_status eg_tfrecord_writer_close(eg_tfrecord_writer *w);
/* Gives the file up: nothing is left of it. NULL is fine. */
EG_API void eg_tfrecord_writer_free(eg_tfrecord_writer *w);

/* ---- reading Examples ----------------------------------------------------------------------- */

/* What is wanted of one feature, and how its values become a tensor. dtype says which of the three
 * kinds of list it must be:
 *   F32         floats
 *   I64, I32    integers; EG_EFORMAT for one that is no i32
 *   BOOL        integers, not 0
 *   U8          byte strings
 * Numbers have `shape`, whose elements the list must count; with .variable any multiple of them,
 * [n, shape]. Of U8, a shape without axes (the default) is one string of any length, u8 [length]; a
 * shape with axes one string of exactly its bytes; .variable is any number of strings, u8 [n,
 * longest], with zeros behind the shorter ones. */
typedef struct eg_feature {
    const char *name;
    eg_dtype dtype;
    eg_shape shape;
    bool variable;
    bool optional;   /* where it is missing: elements of `fallback`, or none if its size is open */
    double fallback; /* also behind shorter steps of a sequence */
} eg_feature;

/* Reads the n features of the table out of the bytes of an Example, u8 [size]: out[i] for
 * features[i]. EG_EFORMAT: no such message, a wanted name twice or missing, another kind or count,
 * more than 2^30 bytes of a tensor or than eg_unpack_limit allows (io.h); the words name the feature.
 * After a failure out is all NULL. */
EG_API eg_status eg_example_read(eg_tensor *record, const eg_feature *features, int n, eg_tensor **out);

/* The same of a SequenceExample: `context` (nc of them) as above, then `lists` (nl), each with an
 * axis of steps in front. Steps with other counts than the shape's are allowed with .variable and
 * for U8 strings: shorter ones are filled with `fallback`, [steps, longest, shape]. */
EG_API eg_status eg_sequence_example_read(eg_tensor *record, const eg_feature *context, int nc, const eg_feature *lists,
                                          int nl, eg_tensor **out);

/* ---- making Examples ------------------------------------------------------------------------ */

typedef struct eg_example eg_example;

EG_API eg_example *eg_example_new(void);
/* NULL is fine. */
EG_API void eg_example_free(eg_example *e);
/* Adds a feature: the values of a tensor, floats as floats, i64, i32 and bool as integers, u8 as
 * one byte string, row-major. EG_EINVAL for a name that is there. */
EG_API eg_status eg_example_set(eg_example *e, const char *name, eg_tensor *values);
/* The same from memory, one byte string. */
EG_API eg_status eg_example_set_bytes(eg_example *e, const char *name, const void *data, size_t bytes);
/* Appends a step to a list of features, which makes the whole a SequenceExample. */
EG_API eg_status eg_example_step(eg_example *e, const char *name, eg_tensor *values);
/* The message's bytes, u8 [size], to give to eg_tfrecord_write. */
EG_API eg_tensor *eg_example_encode(const eg_example *e);

EG_END_DECLS

#endif
