/* io.h - tensors in files: named tensors, safetensors, npy, npz.
 *
 * Readers check everything a file says against its size before they ask for memory, and never ask
 * for more than the file holds; what is malformed is EG_EFORMAT with the place of the fault in
 * bytes, what cannot be opened or read EG_EIO with the system's words. Only regular files are read.
 * Writers write beside the file under a temporary name, sync, and rename: after a failure, or a
 * power cut, the old file is still there. A path that is a symbolic link is replaced by the
 * file.
 *
 * What is packed unpacks to as much as eg_unpack_limit allows. */
#ifndef EGRET_IO_H
#define EGRET_IO_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- what is packed ---------------------------------------------------------------------- */

/* A small file can unpack to a very large one. What a reader unpacks into memory in one piece - a member of a tar
 * archive, all arrays of an npz file, a dataset of HDF5 in chunks, an idx or a vocabulary file in gzip, a record of a
 * packed TFRecord file, a padded feature of an Example, a tensor in blocks or all texts of a GGUF file - may have 2^28
 * bytes (256 MiB) or 32 times those of the file (of the Example), whichever is more; then it is EG_EFORMAT, naming the
 * file and both sizes. Lines have limits of their own (data/readers.h), images too (max_pixels in data/image.h).
 *
 * For all threads of the process: at most `bytes` from now on, however large the file is; 0: as said above. EG_EINVAL
 * for a negative number. */
EG_API eg_status eg_unpack_limit(int64_t bytes);

/* ---- any file ---------------------------------------------------------------------------- */

/* Puts a file of these bytes in its place, whole or not at all, as all writers here do: for what a program writes in a
 * format of its own. EG_EIO with the system's words; EG_EINVAL if `bytes` are more than any memory has. */
EG_API eg_status eg_file_write(const char *path, const void *data, size_t bytes);

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4) of what `crc` was of, followed by these bytes; begin with 0. */
EG_API int64_t eg_crc32c(int64_t crc, const void *data, size_t bytes);

/* ---- named tensors ----------------------------------------------------------------------- */

/* Names with tensors, and keys with texts (the file's metadata), each in the order they were set.
 * It keeps its tensors, so they live until eg_tensors_free whatever scopes do. Those of a file that was opened
 * (eg_tensors_open) are read when they are first asked for; that may fail, and may be done by several threads. */
typedef struct eg_tensors eg_tensors;

EG_API eg_tensors *eg_tensors_new(void);
/* Releases the tensors and the map; NULL is fine. */
EG_API void eg_tensors_free(eg_tensors *map);

/* Keeps t under the name, which is copied; a name already there gets t instead of what it had. */
EG_API eg_status eg_tensors_set(eg_tensors *map, const char *name, eg_tensor *t);
/* The tensor of that name, owned by the map; EG_EINDEX if there is none, or why it could not be read. */
EG_API eg_tensor *eg_tensors_get(const eg_tensors *map, const char *name);
EG_API bool eg_tensors_has(const eg_tensors *map, const char *name);
/* How many there are, and the i-th; NULL and EG_EINDEX outside 0..count-1. */
EG_API int64_t eg_tensors_count(const eg_tensors *map);
EG_API const char *eg_tensors_name(const eg_tensors *map, int64_t i);
EG_API eg_tensor *eg_tensors_at(const eg_tensors *map, int64_t i);

/* What the i-th is, without reading it; outside 0..count-1 EG_EINDEX, and `stored` is NULL. */
typedef struct eg_tensor_about {
    eg_dtype dtype;     /* here */
    eg_shape shape;     /* here */
    const char *stored; /* the type of its elements there, a word that stays: "F32", "F8_E4M3", "Q4_K" */
    int64_t bytes;      /* there */
} eg_tensor_about;
EG_API eg_tensor_about eg_tensors_about(const eg_tensors *map, int64_t i);

/* The same for texts, which are copied. eg_tensors_text is NULL, without a failure, for a key not
 * there. */
EG_API eg_status eg_tensors_set_text(eg_tensors *map, const char *key, const char *text);
EG_API const char *eg_tensors_text(const eg_tensors *map, const char *key);
EG_API int64_t eg_tensors_text_count(const eg_tensors *map);
EG_API const char *eg_tensors_text_key(const eg_tensors *map, int64_t i);

/* ---- files of others ----------------------------------------------------------------------- */

/* How eg_tensors_open reads. */
typedef struct eg_open_options {
    size_t size;
    const char *format; /* of the list below; NULL: what the file shows itself to be */
    bool copy;          /* tensors get memory of their own: for files that another process may write to */
} eg_open_options;

/* The named tensors of a file, whoever wrote it. Only what says where they are is read at once; a tensor when it is
 * asked for. Where it lies in the file as it would in memory it is a view of the file, mapped: neither time nor memory
 * goes by its size, what is written to it stays in this process, and it keeps the mapping, not the map, alive. Then the
 * file is trusted in one thing: that nobody makes it shorter or writes into it meanwhile, which the system answers with
 * a signal or with other numbers; replacing it by another file, as all writers here do, is fine. `.copy` trusts in
 * nothing.
 *
 * Elements that Egret has no dtype for become the next one that has all their values: 8 and 16 bits i32, u32 and u64
 * i64 (EG_EFORMAT beyond it), ONNX's integers of 2 and 4 bits i32 and u8, floats of 8 bits and less f16 (powers of two,
 * F8_E8M0, f32), complex numbers an axis of 2 more. */
EG_API eg_tensors *eg_tensors_open_with(const char *path, const eg_open_options *options);
#define eg_tensors_open(...)        EG_TENSORS_OPEN_(__VA_ARGS__, )
#define EG_TENSORS_OPEN_(path, ...) eg_tensors_open_with(path, EG_OPTIONS_(eg_open_options, __VA_ARGS__))
/* The same of a file's bytes in memory, which are copied. */
EG_API eg_tensors *eg_tensors_parse_with(const void *data, size_t bytes, const eg_open_options *options);
#define eg_tensors_parse(...) EG_TENSORS_PARSE_(__VA_ARGS__, )
#define EG_TENSORS_PARSE_(data, bytes, ...) \
    eg_tensors_parse_with(data, bytes, EG_OPTIONS_(eg_open_options, __VA_ARGS__))
/* The format it was read from; NULL for a map that was not opened. */
EG_API const char *eg_tensors_format(const eg_tensors *map);

/* How eg_tensors_save writes. */
typedef struct eg_save_options {
    size_t size;
    const char *format;  /* of the list below; NULL: by the ending of the path */
    int64_t shard_bytes; /* safetensors: files of at most so many bytes of tensors, and an index; 0: one file */
    /* safetensors: tensors of floats with many zeros (pruning.h) are written without them, where that takes
     * fewer bytes: NAME.nonzero, the elements of which a bit is set, in their order, and NAME.places [(n + 7) / 8] u8,
     * where element i is bit i % 8 of byte i / 8; the text egret.sparse/NAME has the sizes of the axes between blanks.
     * Readers here give NAME as it was, to the bit, and do not show the parts. */
    bool sparse;
    /* Told of each tensor as it comes to it, in bytes of all there are. It must not use the map. */
    void (*told)(int64_t done, int64_t all, void *user);
    void *user;
} eg_save_options;

/* Writes the map to a file, or files, each whole or not at all, what names the others last. Of a map that was opened,
 * tensors pass through memory one by one. EG_EINVAL for a format that is not written, or a path whose ending says none.
 */
EG_API eg_status eg_tensors_save_with(const eg_tensors *map, const char *path, const eg_save_options *options);
#define eg_tensors_save(...)             EG_TENSORS_SAVE_(__VA_ARGS__, )
#define EG_TENSORS_SAVE_(map, path, ...) eg_tensors_save_with(map, path, EG_OPTIONS_(eg_save_options, __VA_ARGS__))

/* A format that is read or written. */
typedef struct eg_file_format {
    const char *name, *words; /* "gguf", and what it is in words */
    const char *endings;      /* of paths, between blanks: ".gguf" */
    bool written;
} eg_file_format;
/* How many there are, and the i-th; outside EG_EINDEX, and `name` is NULL. */
EG_API int eg_file_format_count(void);
EG_API eg_file_format eg_file_format_at(int i);

/* ---- formats ----------------------------------------------------------------------------- */

/* "safetensors": huggingface.co/docs/safetensors, all its types but F6; "safetensors-index": the JSON file that names
 * the files of a model in several, which lie beside it.
 *
 * "onnx": the tensors of a model (github.com/onnx/onnx): initializers under their names, values of Constants under
 * those of their outputs, tensors of other attributes as "output.attribute", inside of a graph of an attribute behind
 * "output.attribute/", of a function behind "domain::function/"; external data are read beside the model, not outside
 * of its folder. "onnx-tensor", only by name: a file of one TensorProto, called "tensor". onnx.h runs and writes
 * models. */

/* "gguf": GGUF 2 and 3 of ggml and llama.cpp (github.com/ggml-org/ggml, docs/gguf.md), the lowest bytes first. Types of
 * blocks become f32 when they are read (Q4_0 to Q8_1, Q2_K to Q8_K, Q1_0, Q2_0, IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, MXFP4,
 * NVFP4), which is bounded by eg_unpack_limit; those of large code books (IQ1, IQ2, IQ3) stay u8, the last axis the
 * bytes of a row. Keys are texts: numbers in decimal, "true" and "false", strings as they are, also where they are no
 * UTF-8; of lists each value is a line, in strings of lists a newline is "\n", a backslash "\\", a zero "\0".
 * Refused: lists of lists, strings with a zero inside, tensors that overlap or are not aligned.
 * Written is version 3: all texts as strings, "general.alignment" left out, "general.architecture" put in as "egret" if
 * there is none; bool as I8 and u8 as I32, which both come back as i32. EG_EINVAL for names that are no UTF-8 of at
 * most 65535 bytes (ggml itself reads those of up to 63), EG_ESHAPE for more than four axes. */

/* "npz": arrays as numpy.savez and savez_compressed write them (numpy.org, numpy.lib.format; PKWARE's APPNOTE 6.3),
 * also of zip's 64-bit form, under their names without ".npy". A member that is not packed is a view of the file,
 * without a look at its checksum; a packed one is unpacked when it is asked for. Members that are no arrays, and arrays
 * of objects, strings, structures or more than EG_MAX_DIMS axes are left out: under their names there is a text that
 * says why, "left out: descr '<U3' is none Egret has". Written as members that are not packed
 * and begin at multiples of 64 bytes; texts, for which there is no place, are left out, and names with ".." refused.
 * "npy": a map of one array, called as the file without folders and ".npy"; of memory, "array". eg_npy_save writes it.
 */

/* "pt": what PyTorch's torch.save wrote (github.com/pytorch/pytorch, torch/serialization.py), a zip archive or the
 * older form, of little-endian machines. Its pickle is read by a machine that knows tensors, parameters, dicts, lists,
 * tuples, sets, and plain values, and runs nothing. A value of any other class or function - a sparse, quantized or
 * conjugated tensor, an array of NumPy - is left out: under its name there is a text that says why, "left out:
 * torch._utils._rebuild_sparse_tensor, which is not among the values that are read". A file that is such a value, as of
 * a whole module or a TorchScript program, is EG_EFORMAT by its name. Names are the keys and places that lead to a
 * tensor, with dots between: "model.conv1.weight", "optimizer.state.0.exp_avg"; a file of one tensor has "tensor".
 * Numbers, texts, None, dtypes and devices are texts under such names; bytes and integers beyond i64 are left out.
 * Tensors of one storage, slices and transposes of it, are views of one piece of the file with the strides they had; an
 * expanded one may have as many bytes as eg_unpack_limit allows. Not written: safetensors is for that. */
/* "tf", checkpoints of TensorFlow of version 2: X.index, opened by that path or by X alone, and beside it
 * X.data-00000-of-00001 and so on (tensorflow/core/protobuf/tensor_bundle.proto). Names are the keys of the file, which
 * for object-based checkpoints are paths: "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE"; eg_tensors_renamed makes
 * names of them. Partitioned variables are put together. Quantized types are the integers they consist of. Strings,
 * variants, integers of less than 8 bits and tensors of more than EG_MAX_DIMS axes are left out: under their names
 * there is a text, "left out: string". Checksums are those of the index, always, and those of tensors that are read
 * into memory of their own, as all are with `.copy`; a view of the file is not checked, for that would read it. Refused
 * in words: big-endian elements, tensors that share bytes, slices that overlap or leave holes.
 * Written are both files, in one data file the tensors by name, each aligned, so that they are views when they are
 * opened; `path` is X.index or X, which is to end in ".ckpt" unless the format is named; the data are put in place
 * first, then the index. Texts are not written.
 *
 * "tf1", those of version 1: one file (tensorflow/core/util/saved_tensor_slice.proto), a shard of several by its own
 * path. Every tensor is copied and checked. In both, blocks packed by Snappy need libsnappy. */
/* hdf5: HDF5 (support.hdfgroup.org, HDF5 File Format Specification 3.0), in which Keras keeps weights. A dataset of
 * numbers is a tensor under its path without the first slash, "conv1/conv1/kernel:0": integers and IEEE floats of 16
 * bits and more, of either byte order, bfloat16, and booleans as h5py has them; in one piece, in the header, or in
 * chunks, of whatever index, that are plain or packed by deflate and shuffle, with checksums of fletcher32 or without.
 * Other datasets, virtual ones, those with elements in other files or packed by other filters, links to other files and
 * soft links to what is no tensor are left out: under their names there is a text that says why, "left out: strings".
 * Each group is walked once; a soft link to a tensor is one more name of it. Attributes of groups that are texts are
 * texts, "layer_names" of the root and "conv1@weight_names" of others, a list of them one in each line; of those that
 * are kept apart from the header, as HDF5 does with very many or long ones, what has more than 4 KiB is left out. No
 * other file is ever opened. EG_EFORMAT for files of HDF5 before 1.6.3, and for a superblock that is not at the
 * beginning or goes on elsewhere. Chunks that were never written have what the dataset is filled with, and a dataset in
 * chunks may have as many bytes as eg_unpack_limit allows. What leads to tensors takes time and memory for at most 2^28
 * bytes, or 32 times those of the file; then it is damaged.
 *
 * keras: the archive of a model of Keras 3, of which model.weights.h5 is read as above, "config.json" and
 * "metadata.json" are texts, and all else is left out. Weights that lie in the archive as they are, as Keras writes
 * them, are not compared with its checksum. */

/* ---- names of others --------------------------------------------------------------------- */

/* The tensors of `from` under the names that a map makes of theirs: published weights as a net of one's own has them.
 * Nets of models.h come with maps (eg_model_info.names). A map is a text, of a rule in each line:
 *
 *     # theirs                    ours                                     layout
 *     conv1.weight                stem.conv.weight
 *     part: 0=conv 1=norm
 *     layer*.*.downsample.*.*     block{1}_unit{2+1}.shortcut.{3:part}.{4}
 *     old/conv*_mean              conv{1}.norm.running_mean
 *     +                           conv{1}.norm.num_batches_tracked         zero
 *     old/fc6_weights             fc6.weight                               hwio
 *
 * Words stand between blanks; "#" begins a comment. In theirs a "*", of which there may be nine, stands for any
 * characters but "/" and ".", or none. In ours {1} is what the first "*" stands for; {1+2} and {1-2} are that number
 * and 2 more or less; {1:part} is what the list `part` has for it. Where there is no such number or word, the rule does
 * not fit. The first rule that fits a name counts; "+" puts what the rule above takes under one more name. What no
 * rule fits is left out.
 *
 * Layouts, one behind the other, say what the tensor is there, and make of it what it is here:
 *
 *     hwio         the kernel of a convolution, [H, W, in, out]: [out, in, H, W]
 *     depthwise    of each channel for itself, [H, W, in, n]: [in * n, 1, H, W]
 *     dense        [in, out] or [1, 1, in, out]: [out, in]
 *     places=64    of a dense layer that reads H * H places of 64 channels, [H * H * 64, out]: [out, 64 * H * H]
 *     kernel=7     a dense layer that is a convolution here, [out, in * 7 * 7]: [out, in, 7, 7]
 *     axes=3201    its axes in this order: of ours the first is the last one there
 *     merge=0      its first axis (the second: 1, ...) and the one behind it, as one
 *     squeeze      without axes of size 1
 *     part=1/3     of three equal parts along the first axis the second
 *     cut=28:92    places 28 to 91 of the first axis; "cut=28:" to the end
 *     gates=0213   as many equal parts along the first axis as there are digits, in this order
 *     add=1        with so much more: the bias of a forget gate that theirs add elsewhere
 *     zero         a 0 instead of it, i64 of no axes: for counters that theirs do without
 *
 * One tensor of theirs becomes several with "+", and several become one where rules that give the same name end in
 * join=0/3, join=1/3 and join=2/3: 64 at most, one behind the other along the first axis, of shapes that agree in the
 * others. So PyTorch's attention comes apart, and a cell of TensorFlow 1, which has its gates as i, g, f, o and of both
 * its inputs the 28 of x first, becomes one of recurrent.h:
 *
 *     attn.in_proj_weight         q.weight                                 part=0/3
 *     +                           k.weight                                 part=1/3
 *     +                           v.weight                                 part=2/3
 *     cell/kernel                 weight_ih_l0                             cut=0:28 dense gates=0213
 *     +                           weight_hh_l0                             cut=28: dense gates=0213
 *     cell/bias                   bias_ih_l0                               part=0/4 join=0/4
 *     +                           bias_ih_l0                               part=2/4 add=1 join=1/4
 *     +                           bias_ih_l0                               part=1/4 join=2/4
 *     +                           bias_ih_l0                               part=3/4 join=3/4
 *
 * Keras' LSTM has i, f, g, o as is, its GRU z, r, n, which is gates=102, and of `reset_after` both biases in one,
 * part=0/2 squeeze and part=1/2 squeeze; ONNX' LSTM has i, o, f, g, which is gates=0231. A projection to heads in
 * Keras, [in, heads, size], is axes=120 merge=0, the one behind attention, [heads, size, out], axes=201 merge=1.
 *
 * The tensors are those of `from`, or views or copies of them; the texts say under each name which one it had:
 * eg_tensors_text(renamed, "stem.conv.weight") is "conv1.weight", of what was joined that of the first part. The caller
 * frees the result. EG_EINVAL for what is no map, naming the line, for two tensors that come under one name, a part
 * whose others are missing, and names of more than 511 bytes; EG_ESHAPE for a tensor that is not of its layout, naming
 * the line, and for parts that do not fit each other. */
EG_API eg_tensors *eg_tensors_renamed(const eg_tensors *from, const char *map);
/* Those of `from` that no rule fits, under the names they have. The caller frees the result. EG_EINVAL for what is no
 * map. */
EG_API eg_tensors *eg_tensors_left_out(const eg_tensors *from, const char *map);

/* ---- safetensors ------------------------------------------------------------------------- */

/* Reads all tensors of a safetensors file (huggingface.co/docs/safetensors), in the order of its
 * header; the caller frees it with eg_tensors_free. Refused in words: a header that is not strict JSON,
 * repeated names, data that overlap, leave holes or do not fill the file, sizes that do not fit
 * shape and dtype, dtypes Egret lacks, more than EG_MAX_DIMS axes, headers beyond 100 MB. */
EG_API eg_tensors *eg_safetensors_load(const char *path);
/* The same from the bytes of such a file in memory, which are copied. */
EG_API eg_tensors *eg_safetensors_parse(const void *data, size_t bytes);
/* Writes the map: wide elements first, so that all data are aligned; the same map gives the same
 * bytes. Names and texts must be UTF-8. Tensors of any strides are written row-major. */
EG_API eg_status eg_safetensors_save(const eg_tensors *map, const char *path);

/* ---- npy --------------------------------------------------------------------------------- */

/* Reads an array NumPy saved (format versions 1 to 3), of either byte order and either storage
 * order; the result is row-major in our own byte order, of the dtype that eg_tensors_open has for its elements. bf16 is
 * stored as NumPy's "<V2", as ml_dtypes does. The header is parsed as a literal, never evaluated; objects, strings,
 * structures and other sizes are refused. */
EG_API eg_tensor *eg_npy_load(const char *path);
/* The same from the bytes of such a file in memory, which are copied. */
EG_API eg_tensor *eg_npy_parse(const void *data, size_t bytes);
/* Writes format version 1, little-endian, row-major. */
EG_API eg_status eg_npy_save(const eg_tensor *t, const char *path);

/* The arrays of an npz file (numpy.savez, numpy.savez_compressed) by name, without ".npy", all read at once; the caller
 * frees it with eg_tensors_free. EG_EFORMAT: damaged (CRC-32), encrypted, split, packed by other than deflate, sizes
 * that deflate cannot reach, members that share bytes, a name twice or with "..", a directory that tells another story
 * than the members, arrays of more bytes than eg_unpack_limit allows: 2^28, or 32 times those of the file. What is
 * no array or has elements that Egret lacks is left out, as by eg_tensors_open. */
EG_API eg_tensors *eg_npz_load(const char *path);
EG_API eg_tensors *eg_npz_parse(const void *data, size_t bytes);

EG_END_DECLS

#endif
