/* tensor.h - tensors: what they are, who owns them, how they are made, read and printed.
 *
 * A tensor is a typed, strided view of storage. An op's result is *borrowed*: it belongs to the
 * innermost open scope of the calling thread and dies with it, unless it is the scope's result or
 * was kept. Functions that return a tensor return NULL on failure and pass a NULL input through
 * (error.h). Tensors may be read from several threads; only kept ones may cross threads. */
#ifndef EGRET_TENSOR_H
#define EGRET_TENSOR_H

#include <stdio.h>

#include <egret/base.h>

EG_BEGIN_DECLS

/* ---- what a tensor is -------------------------------------------------------------------- */

typedef struct eg_tensor eg_tensor;

/* Element types. EG_F32 is 0 and thereby the default of every option struct. */
typedef enum eg_dtype {
    EG_F32,  /* IEEE binary32 */
    EG_F64,  /* IEEE binary64 */
    EG_F16,  /* IEEE binary16; arithmetic in f32, rounded to nearest even on store */
    EG_BF16, /* the upper half of an f32; arithmetic in f32, rounded to nearest even on store */
    EG_I64,
    EG_I32, /* integer arithmetic wraps around */
    EG_U8,
    EG_BOOL, /* one byte, 0 or 1; any other byte reads as true */
    EG_DTYPE_COUNT
} eg_dtype;

/* Bytes of one element; 0 for a value that is no dtype. */
EG_API size_t eg_dtype_size(eg_dtype dtype);
/* "f32", "bool", ...; "?" for a value that is no dtype. */
EG_API const char *eg_dtype_name(eg_dtype dtype);
/* The dtype a binary op of two tensors with at least one axis gives: the higher category of
 * bool < integer < float wins; within a category the wider one; f16 with bf16 gives f32, u8 with
 * i32 gives i32. 0-dim tensors only count if their category is higher (PyTorch's rule). */
EG_API eg_dtype eg_promote(eg_dtype a, eg_dtype b);

#define EG_MAX_DIMS 8

/* A shape by value: EG_SHAPE(64, 784); EG_SCALAR is the shape of a 0-dim tensor. */
typedef struct eg_shape {
    int ndim;
    int64_t dim[EG_MAX_DIMS];
} eg_shape;
#ifndef __cplusplus
#define EG_SHAPE(...) ((eg_shape){EG_COUNT_(int64_t, __VA_ARGS__), {__VA_ARGS__}})
#define EG_SCALAR     ((eg_shape){0, {0}})
#else
#define EG_SHAPE(...) eg_shape_of_(__VA_ARGS__)
#define EG_SCALAR     eg_shape_of_()
extern "C++" {
template <class... N> constexpr eg_shape eg_shape_of_(N... sizes)
{
    static_assert(sizeof...(N) <= EG_MAX_DIMS, "a shape has at most 8 axes");
    return eg_shape{sizeof...(N), {static_cast<int64_t>(sizes)...}};
}
}
#endif

/* Some axes by value, negative ones counted from the end: EG_AXES(0, -1). Zero-initialised it is
 * "all axes" wherever that makes sense. */
typedef struct eg_axes {
    int count;
    int axis[EG_MAX_DIMS];
} eg_axes;
#ifndef __cplusplus
#define EG_AXES(...) ((eg_axes){EG_COUNT_(int, __VA_ARGS__), {__VA_ARGS__}})
#else
#define EG_AXES(...) (eg_axes{EG_COUNT_(int, __VA_ARGS__), {__VA_ARGS__}})
#endif

/* ---- scopes ------------------------------------------------------------------------------ */

/* A handle by value; a stale one is refused, never followed. */
typedef struct eg_scope {
    uint32_t depth, serial;
} eg_scope;

/* Opens a scope: results made from now on belong to it. Out of memory: a zero handle, and every
 * use of it is refused. About 7 ns for push and pop together. */
EG_API eg_scope eg_scope_push(void);

/* Closes the scope and every scope opened since; frees what they own except `result`, which moves
 * to the scope outside and is returned. NULL passes through. Tapes opened inside are closed. A
 * stale handle is EG_ESTATE and frees nothing. */
EG_API eg_tensor *eg_scope_pop(eg_scope scope, eg_tensor *result);

/* The same for n results, which are left in place; entries may be NULL. A senseless n, no array or a freed tensor
 * in it (EG_EINVAL) closes the scope and moves nothing out. */
EG_API eg_status eg_scope_pop_n(eg_scope scope, eg_tensor *const *results, int n);

/* A block whose temporaries die at its end: EG_SCOPE { ... }. A `return`, `break` or `goto` out of
 * it leaves the scope open until a scope further out is popped: untidy, never unsafe. */
#define EG_SCOPE                                                                  \
    for (eg_scope eg_scope_ = eg_scope_push(), eg_once_ = {1, 0}; eg_once_.depth; \
         eg_scope_pop(eg_scope_, NULL), eg_once_.depth = 0)

/* Adds an owner, you, and returns t. Balance with eg_release. */
EG_API eg_tensor *eg_keep(eg_tensor *t);
/* Gives up one eg_keep. NULL is fine; releasing what was not kept is EG_ESTATE. */
EG_API eg_status eg_release(eg_tensor *t);
/* Hands a kept tensor to the current scope: eg_release, but at the scope's end. */
EG_API eg_tensor *eg_scope_adopt(eg_tensor *t);

/* Frees everything the calling thread owns: scopes, tapes, caches. Threads do this when they end;
 * call it to look for leaks. */
EG_API void eg_thread_end(void);

/* ---- making tensors ---------------------------------------------------------------------- */

/* Of eg_empty the elements are left unset, of eg_zeros they are 0, of eg_ones 1. EG_ESHAPE for a negative size, a
 * rank outside 0..8 or a byte count past int64; EG_ENOMEM names the bytes asked for. So it is with all makers below. */
EG_API eg_tensor *eg_empty(eg_shape shape, eg_dtype dtype);
EG_API eg_tensor *eg_zeros(eg_shape shape, eg_dtype dtype);
EG_API eg_tensor *eg_ones(eg_shape shape, eg_dtype dtype);
/* A number that fills or is put somewhere (here, eg_set, eg_pad, eg_one_hot, eg_masked_fill, ...) is converted:
 * to floats rounded, to integers truncated, out of range to the nearest end, NaN to 0; to bool not 0. The
 * functions in _int take integers, of which no digit is lost on the way. */
EG_API eg_tensor *eg_full(eg_shape shape, double value, eg_dtype dtype);
EG_API eg_tensor *eg_full_int(eg_shape shape, int64_t value, eg_dtype dtype);
/* Of x's shape and dtype, on its device. */
EG_API eg_tensor *eg_zeros_like(eg_tensor *x);
EG_API eg_tensor *eg_ones_like(eg_tensor *x);
EG_API eg_tensor *eg_full_like(eg_tensor *x, double value);
EG_API eg_tensor *eg_full_like_int(eg_tensor *x, int64_t value);
/* A 0-dim tensor. */
EG_API eg_tensor *eg_scalar(double value, eg_dtype dtype);
EG_API eg_tensor *eg_scalar_int(int64_t value, eg_dtype dtype);
/* start, start + step, ... below (or above, for a negative step) stop; 1-D. Integers are counted as NumPy counts
 * them: ceil((stop - start) / step) of them, from start on in steps of the difference of the first two, all
 * truncated. A step of 0, a non-finite limit, more elements than memory can name or integers the dtype cannot
 * hold are refused; start past stop is empty. */
EG_API eg_tensor *eg_arange(double start, double stop, double step, eg_dtype dtype);
EG_API eg_tensor *eg_arange_int(int64_t start, int64_t stop, int64_t step, eg_dtype dtype);
/* n evenly spaced numbers from start to stop inclusive, of integers their floors; n = 1 gives start; n < 0 is
 * refused, and limits an integer dtype cannot hold. */
EG_API eg_tensor *eg_linspace(double start, double stop, int64_t n, eg_dtype dtype);
/* [rows, cols], ones where column - row == k. */
EG_API eg_tensor *eg_eye(int64_t rows, int64_t cols, int64_t k, eg_dtype dtype);

/* Copies row-major elements of `dtype` from memory: eg_from(EG_SHAPE(2, 2), EG_F32, data). */
EG_API eg_tensor *eg_from(eg_shape shape, eg_dtype dtype, const void *data);
/* The same from double values, converted: eg_from_values(EG_SHAPE(3), EG_I64, (double[]){1, 2, 3}). */
EG_API eg_tensor *eg_from_values(eg_shape shape, eg_dtype dtype, const double *values);

typedef void (*eg_free_fn)(void *data, void *user);
/* A tensor over the caller's memory, row-major, not copied. The memory must be aligned to its
 * element size and stay valid until free_fn(data, user) is called, exactly once, when the last view
 * dies; free_fn may be NULL. On failure free_fn is not called. */
EG_API eg_tensor *eg_wrap(void *data, eg_shape shape, eg_dtype dtype, eg_free_fn free_fn, void *user);

/* ---- looking at tensors ------------------------------------------------------------------ */

/* Each answers 0 (or an empty shape) for NULL. */
EG_API int eg_ndim(const eg_tensor *t);
EG_API int64_t eg_numel(const eg_tensor *t);
EG_API eg_shape eg_shape_of(const eg_tensor *t);
EG_API eg_dtype eg_dtype_of(const eg_tensor *t);
/* Size and stride (in elements) of an axis, negative axes from the end; 0 for an axis out of range. */
EG_API int64_t eg_size(const eg_tensor *t, int axis);
EG_API int64_t eg_stride(const eg_tensor *t, int axis);
/* Whether elements lie row-major without gaps. */
EG_API bool eg_is_contiguous(const eg_tensor *t);
/* Whether a 3- to 5-dim tensor lies channels-last: axis 1 innermost, the rest row-major. */
EG_API bool eg_is_channels_last(const eg_tensor *t);

/* The first element's address, for reading with eg_stride. NULL for NULL or an empty tensor. */
EG_API const void *eg_data(const eg_tensor *t);
/* The same for writing: counts as an in-place change, so it is refused (NULL, EG_ESTATE) while an
 * open tape follows t, and gradients that need the old values will say so. EG_ESHAPE where elements
 * share memory: of an expanded axis, or of strides that meet. */
EG_API void *eg_data_mut(eg_tensor *t);

/* The only element of a one-element tensor as a double; NaN for NULL, otherwise EG_ESHAPE and NaN. */
EG_API double eg_item(const eg_tensor *t);
/* Element i in row-major order whatever the strides; NaN and EG_EINDEX outside. */
EG_API double eg_get(const eg_tensor *t, int64_t i);
/* The same of integers and bool, with all digits: EG_EDTYPE for floats; INT64_MIN where the others give NaN. */
EG_API int64_t eg_item_int(const eg_tensor *t);
EG_API int64_t eg_get_int(const eg_tensor *t, int64_t i);
/* Sets element i in row-major order, converted like eg_full's value; an in-place change as for eg_data_mut. */
EG_API eg_status eg_set(eg_tensor *t, int64_t i, double value);
EG_API eg_status eg_set_int(eg_tensor *t, int64_t i, int64_t value);
/* Copies all elements out, row-major, converted to double. `values` holds eg_numel(t) of them. */
EG_API eg_status eg_to_values(const eg_tensor *t, double *values);
/* Copies all elements out, row-major, in t's dtype. `bytes` must be eg_numel * element size. */
EG_API eg_status eg_copy_out(const eg_tensor *t, void *data, size_t bytes);

/* ---- printing ---------------------------------------------------------------------------- */

/* What print shows. */
typedef struct eg_print_options {
    size_t size;
    int precision;  /* digits behind the point, at most 40; 0: 4; EG_ZERO: none */
    int threshold;  /* of more elements only the edges are shown; 0: 1000; EG_ZERO: of any */
    int edge_items; /* how many at each edge, at least 1; 0: 3 */
    int line_width; /* characters; 0: 80; EG_ZERO: an element a line */
} eg_print_options;

/* Formats as NumPy does: brackets, aligned columns of a common form (exponents when the range asks for them),
 * no more digits than tell a number from its neighbours in the dtype, "..." in the middle of long axes of
 * tensors with more than `threshold` elements. Behind it stand dtype and shape, "i64 [2, 3]", unless it is
 * plain f32, not empty and shown whole. Like snprintf: writes at most size bytes with the final 0 and returns
 * the length the whole text has; -1 for NULL or negative options. */
EG_API int64_t eg_format_with(const eg_tensor *t, char *buffer, size_t size, const eg_print_options *options);
#define eg_format(t, buffer, size) eg_format_with(t, buffer, size, NULL)
/* Writes the text and a newline to the stream. */
EG_API eg_status eg_print_to(FILE *stream, const eg_tensor *t);
#define eg_print(t) eg_print_to(stdout, t)

/* ---- memory ------------------------------------------------------------------------------ */

typedef struct eg_memory {
    int64_t live_tensors;   /* tensor headers in use, all threads */
    int64_t live_bytes;     /* bytes of storage in use, as asked for, all threads */
    int64_t reserved_bytes; /* taken from the system for data and headers, in use or cached */
    int64_t peak_bytes;     /* the most reserved_bytes has been since eg_memory_reset_peak */
    int64_t system_calls;   /* times memory was asked of the system */
    int64_t limit_bytes;    /* 0: none */
} eg_memory;

/* CPU memory. Counts of other threads may lag by the op they are in. */
EG_API eg_memory eg_memory_stats(void);
EG_API void eg_memory_reset_peak(void);
/* Most bytes to take from the system; 0 removes the cap. Cached memory is given back before an op
 * is refused with EG_ENOMEM. */
EG_API eg_status eg_memory_limit(int64_t bytes);
/* Returns cached memory to the system, except what other threads cache for themselves. */
EG_API void eg_memory_trim(void);

/* ---- random seed ------------------------------------------------------------------------- */

/* Starts the calling thread's random sequence (Philox 4x32-10, Salmon et al. 2011) anew. A thread
 * that never calls it starts with seed 0. Same seed, same numbers on every device. */
EG_API void eg_seed(uint64_t seed);

/* Where the calling thread's sequence stands, to continue it later with eg_random_set_state. */
typedef struct eg_random_state {
    uint64_t seed, offset;
} eg_random_state;
EG_API eg_random_state eg_random_get_state(void);
EG_API void eg_random_set_state(eg_random_state state);

/* ---- threads and processes ----------------------------------------------------------------- */

/* How many threads an op may use; before the first call as many as there are processors for this process, by the
 * affinity of the thread that asks first, the quotas of its control groups and OMP_NUM_THREADS. n outside 1..1024 is
 * EG_EINVAL. In the threads of a dataset it is always 1. The threads are the process's: one call has them at a time,
 * others meanwhile do with their own. Between calls they look for work for some 50 microseconds, then they sleep.
 *
 * The order in which numbers are added does not depend on it, so results have the same bits for any number of threads,
 * but for f32 products and convolutions that oneDNN computes, with their gradients (linear and recurrent layers and
 * attention are made of them): it shares out their sums by the number of threads it finds. To have the same bits on
 * machines with different numbers of processors, call this with the same number everywhere, which may be above that of
 * the processors there are (then at the cost of threads that take turns), or build without oneDNN, or use f64. The
 * instruction set must be the same too (eg_cpu_isa, debug.h; for oneDNN its own variable ONEDNN_MAX_CPU_ISA). */
EG_API eg_status eg_set_threads(int n);
EG_API int eg_threads(void);

/* A process may fork while no other thread of the program is in a call. The child has its own copy of everything
 * but threads and devices:
 *   - Its ops have threads of their own.
 *   - A dataset whose own threads had begun refuses to be walked on or anew (EG_ESTATE), and can be freed; what
 *     those threads were in the middle of is not freed. Others, and new ones, work, with threads of their own.
 *   - Devices that were looked for before are the parent's: ops on their tensors are EG_EDEVICE, eg_cuda
 *     EG_ENODEVICE. Freeing such tensors is fine. */

EG_END_DECLS

#endif
