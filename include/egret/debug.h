/* debug.h - instruments: what Egret's own tests use is in the user's hands too. */
#ifndef EGRET_DEBUG_H
#define EGRET_DEBUG_H

#include <stdio.h>

#include <egret/base.h>
#include <egret/tape.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* The environment variable EG_DEBUG, a comma list, is read once per thread at its first call (the others
 * Egret reads are in docs/environment.md; a program with more rights than its user heeds none of them):
 *   ops      each op with shapes, dtype and microseconds, to stderr
 *   nan      an op that makes a non-finite value from finite inputs fails, naming itself
 *   ref      run the reference loops instead of the tuned kernels
 *   poison   fill freed storage with NaN patterns and new storage with others
 *   nocache  give storage back to the system at once (for valgrind)
 *   sync     wait for each op on a device, so that what goes wrong in it is reported by it
 *   scope    say when a scope holds thousands of tensors, as in a loop that opens none
 *   tape     say when open tapes hold hundreds of thousands of entries
 *   fallback say where a library or its fast way is missing and a slower one is taken
 *   slow     say what takes long once: loading libraries, making their plans and primitives
 *   step     say which op keeps a step from being captured (step.h)
 *   env      report values of environment variables that are not understood, and so ignored
 *   abort    stop in a debugger at the first failure
 * An unknown word in EG_DEBUG is reported once per process and ignored; the other words take effect.
 * What is said goes to stderr, or to the function given to eg_log_to. eg_debug sets the same words for the
 * calling thread; NULL or "" clears them; an unknown word is EG_EINVAL and changes nothing. */
EG_API eg_status eg_debug(const char *words);

/* From now on f is told, from all threads, one at a time, what the library otherwise keeps to itself: the words of
 * EG_DEBUG that say something are its topics, and but for "ops" they need not be set. op names the function or op in
 * question; the texts are f's for the time of the call. It is called in the midst of other calls and must not call
 * Egret. NULL: nobody is told, and when eg_log_to has returned the function before is not called any more.
 * EG_ESTATE inside of f. */
typedef void (*eg_log_fn)(const char *topic, const char *op, const char *words, void *user);
EG_API eg_status eg_log_to(eg_log_fn f, void *user);

/* Compares the gradient of f with central differences: f maps n tensors to one tensor (any shape; a
 * fixed random weighting makes it a number). Inputs must be f64 and on the CPU, and are restored; f may move
 * them. Every element of inputs up to 64 elements, else one random direction. */
typedef eg_tensor *(*eg_function)(eg_tensor *const *inputs, int n, void *user);
typedef struct eg_gradcheck_options {
    size_t size;
    double step;      /* 0: 1e-5 */
    double tolerance; /* relative to 1 + |difference|; 0: 1e-6 */
    bool second;      /* also check the gradient of the gradient, with nested tapes */
    unsigned skip;    /* bit i: input i is not differentiable */
} eg_gradcheck_options;
/* EG_OK, or EG_EUSER with input, element, both numbers in the record; f's own failure as it is. */
EG_API eg_status eg_gradcheck_with(eg_function f, eg_tensor *const *inputs, int n, void *user,
                                   const eg_gradcheck_options *options);
#define eg_gradcheck(...) EG_GRADCHECK_(__VA_ARGS__, )
#define EG_GRADCHECK_(f, inputs, n, user, ...) \
    eg_gradcheck_with(f, inputs, n, user, EG_OPTIONS_(eg_gradcheck_options, __VA_ARGS__))

/* One op as it ran. */
typedef struct eg_op_call {
    const char *op;       /* of the op table; of a change in place the function that makes it */
    eg_tensor *const *in; /* as they were given; optional ones that were not are NULL */
    int nin;
    eg_tensor *const *out;
    int nout;
    const void *options; /* the row's struct of lib/ops/options.h, which is no promise from version to version */
    bool in_place;       /* out[0] is about to be changed, by what is not told */
} eg_op_call;

typedef struct eg_follower {
    eg_status (*call)(const eg_op_call *call, void *user); /* a failure is the op's */
    void *user;
    /* A function, which `op` names, is about to read elements of in[0] on the host, as eg_item does: what is made of
     * them is not told. A failure is the function's. NULL: nobody asks. */
    eg_status (*read)(const eg_op_call *call, void *user);
} eg_follower;

/* Runs body(user) and tells `by` of each op that the calling thread runs in it, after it ran, and of each change in
 * place before it is made; the ops of `by` are not told. Returns what body returns; EG_ESTATE inside of itself. */
EG_API eg_status eg_follow(const eg_follower *by, eg_status (*body)(void *user), void *user);

/* Writes what the open tapes of this thread recorded as a Graphviz digraph: ops, shapes, saves. */
EG_API eg_status eg_graph_dot(FILE *stream);

/* Makes the n-th allocation from now on (process-wide, 1 is the next) fail once; 0 switches it off.
 * For tests of what happens then. */
EG_API void eg_debug_fail_alloc(int64_t n);

/* The instruction set the CPU kernels run with: "avx512", "avx2", "base". eg_debug_isa chooses a
 * lower one for the whole process, for tests; what the processor or the build lacks is EG_ENODEVICE. */
EG_API const char *eg_cpu_isa(void);
EG_API eg_status eg_debug_isa(const char *name);

/* Walks the op table: calls f for every row. For generated documents and tests. */
typedef struct eg_op_info {
    const char *name;
    const char *kind; /* "pointwise", "primitive", "view" */
    int min_inputs, max_inputs, outputs;
    unsigned dtypes; /* bit per eg_dtype the op computes in */
    bool strided;    /* takes any strides; others are made contiguous first */
    bool tuned;      /* has a kernel of its own beside the reference loop */
    bool differentiable;
    const char *autocast; /* under eg_autocast: "low" is in its dtype, "f32" is in f32, "" as given */
} eg_op_info;
EG_API void eg_op_walk(void (*f)(const eg_op_info *info, void *user), void *user);

EG_END_DECLS

#endif
