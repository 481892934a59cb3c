/* values.h - plausible arguments, and the hostile ones in their places. */
#ifndef EGRET_TESTS_HOSTILE_VALUES_H
#define EGRET_TESTS_HOSTILE_VALUES_H

#include <limits.h>
#include <math.h>

#include <egret/egret.h>
#include <egret/models.h>
#include <egret/onnx.h>
#include <egret/saver.h>

/* Of the call under way: the slot `at` (-1: none) has hostile value number `how`, tensors are those of a world. */
typedef struct hostile {
    int at, how, world;
    const char *function;
} hostile;

/* How many hostile values slots of a kind have. */
enum {
    HOW_REAL = 7,
    HOW_INT64 = 6,
    HOW_INT = 5,
    HOW_SIZE = 3,
    HOW_COUNT = 3,
    HOW_ENUM = 4,
    HOW_SHAPE = 6,
    HOW_AXES = 5,
    HOW_TENSOR = 3,
    HOW_TENSORS = 2,
    HOW_OUT = 1,
    HOW_POINTER = 1,
    HOW_PARAMETERS = 4,
    HOW_TEXT = 3,
    HOW_ACTIVATION = 1,
    WORLDS = 12
};

typedef struct argument {
    const char *name;
    int hows;
} argument;

typedef struct call {
    const char *name;
    bool (*run)(const hostile *h); /* false: it failed */
    const argument *slots;
    int count;
    bool checked; /* a failure must be on record */
} call;

extern const call calls[];
extern const int call_count;

/* The hostile values, and how one comes into its slot. */
#define ONE_OF(type, h, slot, good, ...) ((h)->at == (slot) ? ((const type[]){__VA_ARGS__})[(h)->how] : (good))
#define REALS                            NAN, INFINITY, -INFINITY, -1, 0, 1e300, -1e300
#define INT64S                           INT64_MIN, INT64_MAX, -1, 0, (int64_t)1 << 40, (int64_t)1 << 33
#define INTS                             INT_MIN, INT_MAX, -1, 0, 1 << 28

double v_real(const hostile *h, int slot);
int64_t v_int64(const hostile *h, int slot);
bool v_bool(const hostile *h); /* a world's */
eg_cvt_states v_cvt_states(void);
/* What the open tape or the optimizer of the call follows, NULL: nothing; and a loss of it. */
extern eg_tensor *followed[2];
eg_tensor *v_loss(void);
int v_int(const hostile *h, int slot);
size_t v_size(const hostile *h, int slot);
int v_count(const hostile *h, int slot);
int v_enum(const hostile *h, int slot);
eg_shape v_shape(const hostile *h, int slot);
eg_axes v_axes(const hostile *h, int slot);
eg_parameters v_parameters(const hostile *h, int slot);
const char *v_text(const hostile *h, int slot, const char *function, const char *name);
const char *const *v_texts(const hostile *h, int slot);
FILE *v_file(const hostile *h, int slot);
void *v_memory(const hostile *h, int slot, bool input); /* 64 KiB */
void *v_options(const hostile *h, int slot, void *options);
eg_tensor *v_optional(const hostile *h, int slot); /* NULL is the default */
/* The k-th tensor of the call; arrays of two, and room for some. */
/* The k-th tensor of the call, as it would be given. */
eg_tensor *v_plausible(const hostile *h, int k);
eg_tensor *v_tensor(const hostile *h, int slot, int k);
eg_tensor **v_tensors(const hostile *h, int slot);
eg_tensor **v_out(const hostile *h, int slot);
eg_module **v_modules(const hostile *h, int slot);
eg_dataset **v_datasets(const hostile *h, int slot);

#define V_HANDLES(X)   \
    X(module)          \
    X(dataset)         \
    X(optim)           \
    X(saver)           \
    X(tensors_map)     \
    X(scaler)          \
    X(comm)            \
    X(work)            \
    X(ema)             \
    X(step)            \
    X(events)          \
    X(journal)         \
    X(metrics)         \
    X(example)         \
    X(cache)           \
    X(word_counts)     \
    X(vocabulary)      \
    X(ngram)           \
    X(tokenizer)       \
    X(tfrecord_writer) \
    X(json)            \
    X(device)
#define eg_tensors_map eg_tensors
#define V_HANDLE(name) eg_##name *v_##name(const hostile *h, int slot, const char *function);
V_HANDLES(V_HANDLE)
eg_stream *v_stream(const hostile *h, int slot, const char *function);
eg_event *v_event(const hostile *h, int slot, const char *function);

eg_tape v_tape(const hostile *h);
eg_schedule v_schedule(void);
eg_custom_op v_custom_op(void);
eg_module_kind v_module_kind(void);
eg_saver_part v_saver_part(void);

typedef eg_tensor *one_fn(eg_tensor *x);
typedef eg_tensor *many_fn(eg_tensor *const *in, int n, void *user);
typedef eg_tensor *loss_fn(void *user);
typedef void walk_fn(const eg_op_info *info, void *user);
typedef void drop_fn(void *user);
one_fn *f_activation_new(const hostile *h, int slot);
many_fn *f_checkpoint(const hostile *h, int slot);
eg_function f_function(const hostile *h, int slot);
walk_fn *f_op_walk(const hostile *h, int slot);
loss_fn *f_optim_minimize_function(const hostile *h, int slot);
drop_fn *f_dataset_from(const hostile *h, int slot);
eg_free_fn f_free_fn(const hostile *h, int slot);
eg_sample_fn f_sample_fn(const hostile *h, int slot);
eg_map_fn f_map_fn(const hostile *h, int slot);
eg_open_fn f_open_fn(const hostile *h, int slot);
eg_filter_fn f_filter_fn(const hostile *h, int slot);
eg_step_fn *f_step_fn(const hostile *h, int slot);
eg_decode_fn f_decode_fn(const hostile *h, int slot);
eg_log_fn f_log_fn(const hostile *h, int slot);

/* Fields of options keep their default but for the hostile one; arrays have it in their first place. */
void set_real(const hostile *h, int slot, double *v);
void set_int64(const hostile *h, int slot, int64_t *v);
void set_int(const hostile *h, int slot, int *v);
void set_enum(const hostile *h, int slot, void *v, size_t bytes);
void set_shape(const hostile *h, int slot, eg_shape *v);
void set_axes(const hostile *h, int slot, eg_axes *v);
void set_tensor(const hostile *h, int slot, eg_tensor **v);
void set_bool(const hostile *h, bool *v);
void set_activation(const hostile *h, int slot, one_fn **v);

#endif
