/* readers.h - files of common formats as datasets and tensors.
 *
 * Where a pattern is asked for it is one of glob(7): the files that match are read one after the
 * other, in the order of their names; EG_EIO if there are none. Texts and contents of files are
 * u8 [n]. Files are not trusted: what is malformed is EG_EFORMAT naming file and place, and memory
 * is asked for as the file can fill it. Behind a bad record the next one can be read, unless the
 * words are about the whole file. */
#ifndef EGRET_DATA_READERS_H
#define EGRET_DATA_READERS_H

#include <egret/data/records.h>
#include <egret/io.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- pictures ------------------------------------------------------------------------------- */

/* The binary files of CIFAR-10 (Krizhevsky 2009): samples are an image, u8 [3, 32, 32] as image.h
 * lays it out, and its label, i64 []. Of CIFAR-100: the image, the fine label 0..99, the coarse one
 * 0..19. EG_EFORMAT for a file that is not a whole number of records, or a label out of range. */
EG_API eg_dataset *eg_cifar10_new(const char *pattern);
EG_API eg_dataset *eg_cifar100_new(const char *pattern);

/* A folder with a folder of images for each class: samples are the bytes of a file and the number
 * of its class, i64 []. Classes are the sub-folders sorted by name, files sorted within them; names
 * that begin with a dot are left out, and files that do not end in jpg, jpeg, png, gif, bmp, ppm or
 * pgm, in either case of letters. EG_EIO for no class, or no image at all. */
EG_API eg_dataset *eg_image_folder_new(const char *folder);
/* The names of the classes, *n of them, valid until the chain is freed. d is such a dataset or
 * stands behind one; else NULL and EG_EINVAL. */
EG_API const char *const *eg_image_folder_classes(const eg_dataset *d, int64_t *n);

/* ---- whole files ---------------------------------------------------------------------------- */

/* Samples are the name and the contents of a file. */
EG_API eg_dataset *eg_files_new(const char *pattern);

/* The same for the regular files inside tar archives, which may be packed with gzip, bzip2, xz or
 * zstd; through libarchive. Links are passed over. Members have at most 2^31 - 1 bytes, and no more than
 * eg_unpack_limit allows (io.h): 2^28, or 32 times those of the archive. Names are the archive's: they may be
 * absolute, hold "..", or come twice, so who makes files of them must check them first. */
EG_API eg_dataset *eg_tar_new(const char *pattern);

/* ---- sets of files -------------------------------------------------------------------------- */

/* A file of a set as a dataset, which the set takes over; NULL is a failure. Called when its turn comes, possibly from
 * another thread, one call at a time. */
typedef eg_dataset *(*eg_open_fn)(const char *path, void *user);

typedef struct eg_shards_options {
    size_t size;
    bool shuffle;  /* the files come in another order in each pass */
    uint64_t seed; /* of these orders */
    int cycle;     /* files that are open at once and take turns; 0: 1 */
    int64_t block; /* samples of a turn; 0: 1 */
    int64_t rank;  /* only the files rank, rank + ranks, ... of those sorted by name, of which there must be one: */
    int64_t ranks; /* so that `ranks` processes read each file once; 0: all files */
    int64_t ahead; /* samples that each open file has read ahead, by a thread of its own; 0: none, without threads */
} eg_shards_options;

/* The samples of many files, `cycle` of which take turns of `block` samples; where one ends, the next takes its place
 * when its turn comes round (tf.data's interleave). The same samples in the same order whatever `ahead` is. A file
 * that cannot be opened takes a step of the pass, as a bad record does. EG_EIO: no file matches; EG_EINVAL: none is
 * left for this rank, numbers out of range.
 *
 *     static eg_dataset *open(const char *path, void *user)
 *     {
 *         return eg_text_lines_new(path);
 *     }
 *     d = eg_shards_new("part-*", open, NULL, .shuffle = true, .seed = 1, .cycle = 4, .block = 16, .ahead = 64); */
EG_API eg_dataset *eg_shards_new_with(const char *pattern, eg_open_fn open, void *user,
                                      const eg_shards_options *options);
#define eg_shards_new(...) EG_SHARDS_NEW_(__VA_ARGS__, )
#define EG_SHARDS_NEW_(pattern, open, user, ...) \
    eg_shards_new_with(pattern, open, user, EG_OPTIONS_(eg_shards_options, __VA_ARGS__))

/* ---- text ----------------------------------------------------------------------------------- */

/* What becomes of bytes that are no UTF-8. */
typedef enum eg_utf8_policy {
    EG_UTF8_REFUSE,  /* EG_EFORMAT */
    EG_UTF8_REPLACE, /* U+FFFD stands for each */
    EG_UTF8_KEEP,    /* not looked at */
} eg_utf8_policy;

typedef struct eg_text_lines_options {
    size_t size;
    eg_utf8_policy invalid;
    bool skip_empty;
} eg_text_lines_options;

/* Samples are lines without their ends, LF or CR LF, plain or gzip. A byte order mark in front of a
 * file is dropped. Lines of more than 100,000,000 bytes are EG_EFORMAT. */
EG_API eg_dataset *eg_text_lines_new_with(const char *pattern, const eg_text_lines_options *options);
#define eg_text_lines_new(...) EG_TEXT_LINES_NEW_(__VA_ARGS__, )
#define EG_TEXT_LINES_NEW_(pattern, ...) \
    eg_text_lines_new_with(pattern, EG_OPTIONS_(eg_text_lines_options, __VA_ARGS__))

/* A column of a table, or `count` columns side by side. */
typedef struct eg_column {
    const char *name; /* as the header line has it; NULL or no header: by `at` */
    int64_t at;       /* number of the column, from 0 */
    eg_dtype dtype;   /* U8: the text; else a number, refused where it does not fit */
    int64_t count;    /* of numbers: [count]; 0: one column, [] */
    bool optional;    /* an empty field is `fallback` */
    double fallback;
} eg_column;

typedef struct eg_csv_options {
    size_t size;
    char separator; /* 0: a comma */
    bool header;    /* the first line of each file has names */
    bool no_quotes; /* quotes are characters like others, as in TSV */
    eg_utf8_policy invalid;
} eg_csv_options;

/* Rows of tables (RFC 4180), plain or gzip: samples are a tensor for each of the n columns asked
 * for. Rows end with LF, CR LF or CR. A field that begins with a quote ends with one, may hold
 * separators, line ends, which are kept as they are, and a quote doubled: rows are those of Python's
 * csv.reader with newline="" and strict=True. Each row has as many fields as the first. Numbers are
 * decimal with a point, whatever the locale; nan and inf are numbers; i64, i32 and bool are integers.
 * Empty lines are skipped. Messages name the line. */
EG_API eg_dataset *eg_csv_new_with(const char *pattern, const eg_column *columns, int n, const eg_csv_options *options);
#define eg_csv_new(...) EG_CSV_NEW_(__VA_ARGS__, )
#define EG_CSV_NEW_(pattern, columns, n, ...) \
    eg_csv_new_with(pattern, columns, n, EG_OPTIONS_(eg_csv_options, __VA_ARGS__))

/* A member of JSON objects. */
typedef struct eg_json_field {
    const char *name;
    eg_dtype dtype; /* U8: a string; else numbers, true and false, or arrays of them */
    bool ragged;    /* of arrays: two tensors, the values [n] and the lengths of the innermost lists,
                       i64 [lists], in order */
    bool optional;  /* missing or null: `fallback`; of a string, an empty one; ragged: nothing */
    double fallback;
} eg_json_field;

/* One JSON object per line, plain or gzip; blank lines are skipped. Samples are the tensors of the n
 * fields asked for. Arrays that are not ragged must be regular: [[1, 2], [3, 4]] is [2, 2]. EG_EFORMAT:
 * no JSON, a wanted name twice or missing, another kind of value, a number out of the dtype's range. */
EG_API eg_dataset *eg_ndjson_new(const char *pattern, const eg_json_field *fields, int n);

/* Drawings of "Quick, Draw!" out of a ragged field: values and lengths of lists x, y, x, y, ... as
 * f32 [points, 3]: x, y, and 1 at the last point of each stroke. EG_ESHAPE for lists that do not go
 * together. */
EG_API eg_tensor *eg_strokes(eg_tensor *values, eg_tensor *lengths);

EG_END_DECLS

#endif
