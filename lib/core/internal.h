/* internal.h - what the parts of the library know of each other: the tensor, the thread, the op table,
 * the call. Public behaviour is documented in include/egret. */
#ifndef EGRET_INTERNAL_H
#define EGRET_INTERNAL_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <egret/debug.h>
#include <egret/device.h>
#include <egret/error.h>
#include <egret/tape.h>
#include <egret/tensor.h>

#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)
#define EG__COLD     __attribute__((cold, noinline))
#define EG__COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static inline int64_t eg__min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t eg__max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Copies what the caller's options struct has, by its size, into one of ours; NULL is all defaults. Both
 * begin with their size. */
static inline void eg__options(void *to, size_t size, const void *given)
{
    memset(to, 0, size);
    if (given) {
        size_t n = *(const size_t *)given;
        memcpy(to, given, n && n < size ? n : size);
    }
}

/* Whether the caller's struct of options has its last field: one built before there was one has a shorter struct. */
static inline bool eg__options_whole(const void *given, size_t size)
{
    const size_t n = *(const size_t *)given;
    return !n || n >= size;
}

/* An option's value, or what its 0 stands for. */
static inline double eg__or(double given, double otherwise)
{
    return given == EG_ZERO ? 0 : given == 0 ? otherwise : given;
}

static inline int64_t eg__or_count(int64_t given, int64_t otherwise)
{
    return given == EG_ZERO ? 0 : given == 0 ? otherwise : given;
}

/* The test build shrinks what starts small, so that growth is common. */
#ifdef EG_TINY_LIMITS
enum { EG__START_CAPACITY = 2, EG__CHUNK_BYTES = 4096 };
#else
enum { EG__START_CAPACITY = 64, EG__CHUNK_BYTES = 65536 };
#endif

/* ---- reference counts -------------------------------------------------------------------- */

typedef _Atomic uint32_t eg__refs;

static inline void eg__ref_init(eg__refs *r)
{
    atomic_store_explicit(r, 1, memory_order_relaxed);
}

static inline void eg__ref_inc(eg__refs *r)
{
    atomic_fetch_add_explicit(r, 1, memory_order_relaxed);
}

static inline uint32_t eg__ref_get(eg__refs *r)
{
    return atomic_load_explicit(r, memory_order_acquire);
}

/* A count of one can only be the caller's: nobody else may raise it, so no locked instruction. */
static inline bool eg__ref_dec(eg__refs *r)
{
    return eg__ref_get(r) == 1 || atomic_fetch_sub_explicit(r, 1, memory_order_acq_rel) == 1;
}

/* ---- storage and tensors ----------------------------------------------------------------- */

enum { EG__MAX_DEVICES = 32 };

/* Where storage came from: a size class of the thread cache, or one of these. */
enum { EG__CLS_LARGE = 0x8000, EG__CLS_PLANNED, EG__CLS_SYSTEM, EG__CLS_USER };

typedef struct eg__storage {
    eg__refs refs;
    _Atomic uint32_t version; /* raised by every in-place change */
    uint16_t cls;
    uint8_t device;            /* 0: the CPU; else data is an address there, and user the engine's block */
    uint16_t made_by;          /* op id, for out-of-memory reports */
    const char *_Atomic wrote; /* the op that last changed it in place */
    size_t bytes;              /* as asked for */
    char *data;
    eg_free_fn free_fn; /* EG__CLS_USER only */
    void *user;
    struct eg__packs *packs; /* copies of weights in kernels' layouts, lib/cpu/common/pack.h */
} eg__storage;

enum {
    EG__DENSE = 1,  /* row-major without gaps */
    EG__PARAM = 2,  /* tracked by itself */
    EG__PACKED = 4, /* some order of the axes is row-major without gaps */
    EG__MAGIC = 0xe9e7,
};

struct eg_tensor {
    eg__refs refs;
    uint16_t magic;
    uint8_t dtype, device;
    uint8_t ndim, flags;
    uint16_t made_by;
    _Atomic uint32_t kept;
    _Atomic uint64_t slot; /* record id << 48 | number; tracked iff inside its record's window */
    eg__storage *storage;
    int64_t offset, n; /* in elements */
    int64_t shape[EG_MAX_DIMS], strides[EG_MAX_DIMS];
};

/* What an op's inference says of one output. */
typedef struct eg__desc {
    uint8_t dtype, ndim;
    uint8_t device;    /* for eg__new; of what an op makes, dispatch knows it */
    bool dense;        /* strides are row-major and need not be filled in */
    int64_t n, offset; /* offset: views only */
    int64_t shape[EG_MAX_DIMS], strides[EG_MAX_DIMS];
} eg__desc;

/* ---- the op table ------------------------------------------------------------------------ */

enum { EG__MAX_OUT = 4, EG__MAX_SAVED_IN = 16 };

/* Bits naming what an entry saves. */
#define EG__IN(i)  (1u << (i))
#define EG__OUT(j) (1u << (EG__MAX_SAVED_IN + (j)))

enum {
    EG__STRIDED = 1,     /* the kernel takes any strides */
    EG__VIEW = 2,        /* the output shares the first input's storage */
    EG__NO_GRAD = 4,     /* never recorded */
    EG__PROMOTE = 8,     /* inputs are brought to one dtype */
    EG__INT_TO_F32 = 16, /* integers and bools become f32 first */
    EG__POINTWISE = 32,
    EG__SHAPES = 64, /* the gradient asks for the shapes of untracked inputs too */
    EG__LENGTHS = 128, /* integers may stay on the CPU where the rest is on a device */
};

/* Sets of dtypes. */
#define EG__D(t)     (1u << EG_##t)
#define EG__FLOATS   (EG__D(F32) | EG__D(F64) | EG__D(F16) | EG__D(BF16))
#define EG__INTS     (EG__D(I64) | EG__D(I32) | EG__D(U8))
#define EG__NUMBERS  (EG__FLOATS | EG__INTS)
#define EG__INTEGRAL (EG__INTS | EG__D(BOOL))
#define EG__ANY      (EG__NUMBERS | EG__D(BOOL))

typedef struct eg__call eg__call;
typedef struct eg__thread eg__thread;
typedef struct eg__walk eg__walk;
typedef eg_status eg__kernel(const eg__call *c);
typedef eg_status eg__infer(eg__call *c);
typedef eg_status eg__rule(eg__walk *w);

typedef struct eg__op {
    const char *name;
    uint16_t id, opts_size, flags, dtypes;
    uint16_t nin_min, nin_max;
    uint8_t nout;
    eg__infer *infer;
    /* saves[i]: what the gradient of input i needs; inputs past the last listed need nothing */
    uint32_t saves[EG__MAX_SAVED_IN];
} eg__op;

/* One op in flight. Inference reads in and opts and fills desc; kernels read in, out, opts. */
struct eg__call {
    const eg__op *op;
    eg__thread *T;
    eg_tensor **in;
    int nin;
    uint8_t device; /* where it runs and its results are */
    const void *opts;
    eg_tensor *out[EG__MAX_OUT];
    eg__desc desc[EG__MAX_OUT];
};

/* Kernels by op id; lib/ops/optable.h has the ids. */
extern eg__kernel *const eg__ref_kernels[];

/* ---- the record -------------------------------------------------------------------------- */

typedef struct eg__entry eg__entry;
typedef struct eg__chunk eg__chunk;
typedef struct eg__tape_state eg__tape_state;
typedef struct eg__leaf eg__leaf;
typedef struct eg__collect eg__collect;

typedef struct eg__record {
    uint64_t base, next; /* a slot s of this thread is live iff base <= s < next */
    int recording;       /* how many tapes record */
    eg__entry *head, *tail;
    eg__chunk *first, *chunk;
    int64_t entries, entry_bytes, told; /* told: entries from which the log hears of their number again */
    eg__tape_state *tapes;
    uint32_t ntapes, ctapes;
    uint64_t serial;
    eg__leaf *leaves; /* with a reference to each */
    uint32_t nleaves, cleaves;
    uint32_t *leaf_hash, leaf_mask; /* their places by address */
    eg__collect *collect; /* a checkpoint noting what its segment reads from outside */
} eg__record;

/* ---- the thread -------------------------------------------------------------------------- */

enum { EG__NCLASS = 48 };

enum { /* eg__thread.mode */
    EG__DEBUG_OPS = 1,
    EG__DEBUG_NAN = 2,
    EG__DEBUG_POISON = 4,
    EG__DEBUG_NOCACHE = 8,
    EG__DEBUG_ABORT = 16,
    EG__DEBUG_REF = 32,
    EG__MODE_PROFILE = 64,
    EG__MODE_MACS = 128, /* adds up what products do, for eg_summary */
    EG__DEBUG_SYNC = 256,
    EG__DEBUG_STEP = 512,
    EG__MODE_CAPTURE = 1024, /* a step is captured on a device */
    EG__DEBUG_SCOPE = 2048,
    EG__DEBUG_TAPE = 4096,
    EG__DEBUG_FALLBACK = 8192,
    EG__DEBUG_SLOW = 16384,
    /* the bits dispatch tests, once per op */
    EG__MODE_DISPATCH = EG__DEBUG_OPS | EG__DEBUG_NAN | EG__DEBUG_SYNC | EG__MODE_PROFILE | EG__MODE_MACS |
                        EG__MODE_CAPTURE,
};

typedef struct eg__scope_state {
    uint32_t own, serial;
    uint8_t autocast; /* of when it was opened */
} eg__scope_state;

struct eg__thread {
    eg_tensor **own; /* what the open scopes own, innermost last */
    uint32_t nown, cown;
    eg__scope_state *scopes;
    uint32_t nscopes, cscopes, serial;
    _Atomic uint32_t mode; /* a profile switches its bit from another thread */
    eg__kernel *const *kernels;
    void *headers; /* free tensor headers */
    struct {
        void *free;
        uint32_t count;
    } cls[EG__NCLASS];
    eg__record record;
    _Atomic int64_t live_tensors, live_bytes; /* written by this thread only, summed by others */
    eg_random_state random;
    int forwards; /* of modules, inside each other */
    int64_t macs; /* multiply-adds counted under EG__MODE_MACS */
    struct eg__plan *plan;       /* of the step that is called, lib/step/plan.h */
    struct eg__capture *capture; /* under EG__MODE_CAPTURE, lib/step/capture.h */
    eg_error error;
    struct eg__dnnl *dnnl; /* primitives, lib/cpu/dnnl/dnnl.h */
    uint8_t device;        /* of makers; EG__MAX_DEVICES: what EGRET_DEVICE names, not looked at yet */
    uint8_t math;          /* an eg_math_mode */
    uint8_t autocast;      /* a dtype; EG_F32, which is 0: none */
    struct {
        eg_stream *now, *own;
        struct eg__lap *lap; /* the innermost that is open, of a profile */
    } lane[EG__MAX_DEVICES]; /* by device; NULL before first use */
    eg__thread *prev, *next;
    bool alone; /* its ops use no further threads */
    bool dead;  /* stands in for a thread whose own state could not be allocated */
};

extern _Thread_local eg__thread *eg__self __attribute__((tls_model("initial-exec")));
eg__thread *eg__thread_start(void);

static inline eg__thread *eg__thread_get(void)
{
    eg__thread *T = eg__self;
    return likely(T != NULL) ? T : eg__thread_start();
}

static inline uint32_t eg__mode(eg__thread *T)
{
    return atomic_load_explicit(&T->mode, memory_order_relaxed);
}

static inline void eg__count(_Atomic int64_t *counter, int64_t d)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + d,
                          memory_order_relaxed);
}

/* ---- failing ----------------------------------------------------------------------------- */

/* The only way to fail: records code, op and words; returns the code. */
eg_status eg__fail(eg_status code, const char *op, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
eg_status eg__fail_list(eg_status code, const char *op, const char *format, va_list args)
    __attribute__((format(printf, 3, 0), cold));
/* The same, returning NULL. */
#define eg__fail_null(...) (eg__fail(__VA_ARGS__), NULL)
/* For a NULL argument: the recorded code, or EG_EINVAL naming it if nothing was recorded. */
eg_status eg__null_argument(const char *op, const char *name);
eg_status eg__no_memory(const char *op, int64_t bytes);
eg_status eg__no_memory_on(uint8_t device, const char *op, int64_t bytes);
/* What is on record after something returned NULL: never EG_OK. */
eg_status eg__why(void);
/* Around a call of the user's function, whose status st becomes: what was on record before is put aside, so that a
 * failure without a word is seen and gets one (EG_EUSER, "its <what> failed without a word"), and back after
 * success. */
void eg__user_begin(eg_error *before);
eg_status eg__user_end(const eg_error *before, eg_status st, const char *op, const char *what);

/* Something for the log (eg_log_to), of the topic whose EG_DEBUG word sets this bit. */
void eg__log(uint32_t topic, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4), cold));
void eg__log_words(uint32_t topic, const char *op, const char *words);
double eg__seconds(void);
/* Logs what was done once and took long. */
void eg__took(const char *op, const char *what, double seconds);

typedef struct eg__text {
    char s[160];
} eg__text;
eg__text eg__shape_text(int ndim, const int64_t *shape);
#define EG__SHAPE_OF(t) (eg__shape_text((t)->ndim, (t)->shape).s)

/* ---- memory ------------------------------------------------------------------------------ */

void *eg__malloc(size_t bytes);                                 /* counted for failure injection */
bool eg__fail_injected(void);                                   /* counts an allocation of another kind */
bool eg__grow(void *array, uint32_t *capacity, size_t element); /* doubles */

/* Cached blocks, 64-byte aligned: storage, entries, walk tables, scratch. */
void *eg__block_alloc(eg__thread *T, size_t bytes, uint16_t *cls);
void eg__block_free(eg__thread *T, void *p, uint16_t cls);

/* Scratch memory of a kernel. */
typedef struct eg__scratch {
    void *data;
    uint16_t cls;
} eg__scratch;
eg_status eg__scratch_get(const eg__call *c, size_t bytes, eg__scratch *s);
void eg__scratch_put(const eg__call *c, eg__scratch *s); /* a zeroed one is fine */

/* On the CPU; on the device with this id, never 0; on either. */
eg__storage *eg__storage_new(eg__thread *T, size_t bytes, uint16_t made_by);
eg__storage *eg__device_storage(eg__thread *T, uint8_t device, size_t bytes, uint16_t made_by);
static inline eg__storage *eg__storage_on(eg__thread *T, uint8_t device, size_t bytes,
                                          uint16_t made_by)
{
    return likely(!device) ? eg__storage_new(T, bytes, made_by)
                           : eg__device_storage(T, device, bytes, made_by);
}
void eg__storage_free(eg__thread *T, eg__storage *s);

static inline void eg__storage_unref(eg__thread *T, eg__storage *s)
{
    if (eg__ref_dec(&s->refs)) {
        eg__storage_free(T, s);
    }
}

/* ---- tensors ----------------------------------------------------------------------------- */

eg_tensor *eg__header_new(eg__thread *T);
void eg__header_free(eg__thread *T, eg_tensor *t);

static inline void eg__unref(eg__thread *T, eg_tensor *t)
{
    if (t && eg__ref_dec(&t->refs)) {
        eg__header_free(T, t);
    }
}

/* Room for n more borrowed tensors; make it before the tensors, so that handing over cannot fail. */
bool eg__own_grow(eg__thread *T, uint32_t n);
static inline bool eg__own_room(eg__thread *T, uint32_t n)
{
    return likely(T->cown - T->nown >= n) || eg__own_grow(T, n);
}

static inline void eg__own(eg__thread *T, eg_tensor *t)
{
    T->own[T->nown++] = t;
}

/* A live tensor? Otherwise says so for argument `name` of `op`. */
eg_status eg__check(const eg_tensor *t, const char *op, const char *name);

extern const uint8_t eg__dtype_sizes[EG_DTYPE_COUNT];

/* Of n elements. Where that is beyond 64 bits (n was counted in a narrower dtype) the most there is: no memory
 * has it. */
static inline int64_t eg__bytes_of(int64_t n, int dtype)
{
    int64_t bytes;
    return __builtin_mul_overflow(n, eg__dtype_sizes[dtype], &bytes) ? INT64_MAX : bytes;
}

static inline size_t eg__esize(const eg_tensor *t)
{
    return eg__dtype_sizes[t->dtype];
}

static inline char *eg__ptr(const eg_tensor *t)
{
    return t->storage->data + t->offset * (int64_t)eg__esize(t);
}

static inline bool eg__is_float(int dtype)
{
    return EG__FLOATS >> dtype & 1;
}

/* Makers for functions that compute beside a tensor: on the device with this id. */
eg_tensor *eg__empty_on(int device, eg_shape shape, eg_dtype dtype);
eg_tensor *eg__full_on(int device, eg_shape shape, double value, eg_dtype dtype);
eg_tensor *eg__from_on(int device, eg_shape shape, eg_dtype dtype, const void *data);
eg_tensor *eg__arange_on(int device, double start, double stop, double step, eg_dtype dtype);
eg_tensor *eg__eye_on(int device, int64_t rows, int64_t cols, int64_t k, eg_dtype dtype);

/* Allocates a tensor as described, owned by the innermost scope. */
eg_tensor *eg__new(const eg__desc *d, const char *op, uint16_t made_by);

/* One element as double or int64, by dtype; storing rounds or saturates, of integers wraps (eg_cast). */
double eg__load(const void *p, int dtype, int64_t i);
void eg__store(void *p, int dtype, int64_t i, double v);
int64_t eg__load_int(const void *p, int dtype, int64_t i);
void eg__store_int(void *p, int dtype, int64_t i, int64_t v);
/* The same, what is out of range as the nearest end. */
void eg__store_nearest(void *p, int dtype, int64_t i, int64_t v);
/* The integers of a dtype are least..most; of a float's there are those of int64. */
int64_t eg__least(int dtype);
int64_t eg__most(int dtype);

/* ---- geometry ---------------------------------------------------------------------------- */

/* The one checked multiply: elements of a shape, whose bytes must fit int64. */
eg_status eg__check_shape(const char *op, int ndim, const int64_t *shape, int dtype, int64_t *n);
/* The same, and that the device has as much memory at all, or its limit allows it: for results whose parts are
 * large too, before they are made. */
eg_status eg__check_room(const char *op, uint8_t device, int ndim, const int64_t *shape, int dtype);
/* Axis in 0..ndim-1, or -1 with words. */
int eg__axis(const char *op, int ndim, int64_t axis);
/* The same where a 0-dim tensor counts as a line of one, whose axis is 0 or -1. */
int eg__line_axis(const char *op, int ndim, int64_t axis);
/* Axes, of 0-dim tensors too, as a bit mask; count 0 means all. Repeats are refused. */
eg_status eg__axes_mask(const char *op, int ndim, const eg_axes *axes, unsigned *mask);

void eg__desc_dense(eg__desc *d);                    /* n and dense from ndim and shape */
void eg__desc_like(eg__desc *d, const eg_tensor *t); /* shape, dtype, n; same packed order */
/* Dense strides for d's shape with the axes in the order t's lie in, if t is packed. */
void eg__desc_order(eg__desc *d, const eg_tensor *t);
uint8_t eg__layout_flags(int ndim, const int64_t *shape, const int64_t *strides);
/* Strides of `shape` in channels-last order (axis 1 innermost). */
void eg__channels_last(int ndim, const int64_t *shape, int64_t *strides);
bool eg__same_shape(const eg_tensor *a, const eg_tensor *b);
bool eg__same_strides(const eg_tensor *a, const eg_tensor *b);
eg_status eg__broadcast(const char *op, eg_tensor *const *in, int nin, eg__desc *d);
/* Offset in elements of row-major element i. */
int64_t eg__place(int ndim, const int64_t *shape, const int64_t *strides, int64_t i);

/* A walk over operands of one broadcast shape: axes in the order of operand 0's strides, axes of size
 * 1 dropped, mergeable axes merged, strides in bytes. */
enum { EG__ITER_MAX = 8 };
typedef struct eg__iter {
    int ndim, nops;
    int64_t n, shape[EG_MAX_DIMS];
    int64_t strides[EG__ITER_MAX][EG_MAX_DIMS];
    char *ptr[EG__ITER_MAX];
} eg__iter;
typedef void eg__iter_fn(void *ctx, int64_t n, char *const *ptr, const int64_t *strides);
/* Operand 0 gives the shape; the others broadcast to it. */
void eg__iter_init(eg__iter *it, eg_tensor *const *ops, int nops);
/* Calls fn for runs along the innermost axis, on all threads when there are many elements. */
void eg__iter_run(const eg__iter *it, int64_t grain, eg__iter_fn *fn, void *ctx);

/* ---- dispatch ---------------------------------------------------------------------------- */

/* NULL check, infer, kernel, contiguous, allocate, run, record. The out[j] are borrowed. */
eg_status eg__dispatch(const eg__op *op, eg_tensor *const *in, int nin, const void *opts,
                       eg_tensor **out);
/* The first output. */
eg_tensor *eg__op1(const eg__op *op, eg_tensor *a, const void *opts);
eg_tensor *eg__op2(const eg__op *op, eg_tensor *a, eg_tensor *b, const void *opts);
eg_tensor *eg__op3(const eg__op *op, eg_tensor *a, eg_tensor *b, eg_tensor *d, const void *opts);
/* The op's result written over in[0], whose shape and dtype stay; never recorded. `name` is what
 * messages and later version complaints call it. Returns in[0]. */
eg_tensor *eg__inplace(const eg__op *op, const char *name, eg_tensor *const *in, int nin,
                       const void *opts);
/* Whether x may be written now. */
eg_status eg__check_write(const eg_tensor *x, const char *name);
/* The same, and counts the change. */
eg_status eg__begin_write(eg_tensor *x, const char *name);
/* Runs the op's kernel on checked operands into an existing tensor; nothing else. */
eg_status eg__run(const eg__op *op, eg_tensor *const *in, int nin, const void *opts,
                  eg_tensor *out);

/* Where a call with these inputs runs, all of one device but for numbers of pointwise ops: sets c->device. */
eg_status eg__locate(eg__call *c);
/* The kernel of a located call, NULL if there is none; running it, seen by a profile and a capture. */
eg__kernel *eg__device_kernel(const eg__call *c);
eg_status eg__device_run(const eg__call *c, eg__kernel *k);
eg_status eg__watched_run(const eg__call *c, eg__kernel *k);
eg_status eg__profile_kernel(const eg__call *c, eg__kernel *k);
static inline eg__kernel *eg__kernel_of(const eg__call *c)
{
    return likely(!c->device) ? c->T->kernels[c->op->id] : eg__device_kernel(c);
}

static inline eg_status eg__run_kernel(const eg__call *c, eg__kernel *k)
{
    if (unlikely(eg__mode(c->T) & (EG__MODE_PROFILE | EG__MODE_CAPTURE))) {
        return eg__watched_run(c, k);
    }
    return likely(!c->device) ? k(c) : eg__device_run(c, k);
}
/* The kernel of a located call, or words if there is none. */
eg_status eg__run_call(const eg__call *c);

/* The dtype several inputs are brought to (eg_promote); NULLs are skipped. */
int eg__common_dtype(eg_tensor *const *in, int nin);

/* ---- autocast (precision.c) -------------------------------------------------------------------- */

enum { EG__CAST_LOW = 1, EG__CAST_FULL }; /* the kinds of autocast.def */
int eg__autocast_kind(const eg__op *op);  /* 0: not named there */

/* What inputs are brought to: those whose dtype has a bit in `from`. */
typedef struct eg__recast {
    unsigned from;
    int dtype;
} eg__recast;

/* Whether autocast to `low` changes inputs of the op, and how. */
bool eg__autocast(const eg__op *op, eg_tensor *const *in, int nin, int low, eg__recast *how);
/* What compositions that EG_FULL would be for take: x, or a half as f32 where autocast is on. */
eg_tensor *eg__full(eg_tensor *x);

/* Inference shared by families. */
eg__infer eg__infer_same;    /* like the first input, packed order kept */
eg__infer eg__infer_binary;  /* broadcast, dtype of the first */
eg__infer eg__infer_compare; /* broadcast, bool */

/* ---- threads of an op -------------------------------------------------------------------- */

/* Splits [0, n) into pieces of at least `grain` and calls fn for each, on all threads; where others want the
 * processors, of many grains, if a grain is more than 1. fn cannot fail and does not call the library. */
typedef void eg__range_fn(void *ctx, int64_t begin, int64_t end);
void eg__parallel(int64_t n, int64_t grain, eg__range_fn *fn, void *ctx);
enum { EG__GRAIN = 16384 }; /* elements of cheap work below which threads do not pay */

/* ---- the one hook: autograd -------------------------------------------------------------- */

/* Appends an entry for the call if an input is tracked. False: out of memory, nothing changed. */
bool eg__record_call(eg__thread *T, const eg__call *c);
bool eg__tracked(eg__thread *T, const eg_tensor *t);
/* Closes tapes opened in scopes of this depth or deeper. */
void eg__close_tapes(eg__thread *T, uint32_t depth);
void eg__record_end(eg__thread *T);

#endif
