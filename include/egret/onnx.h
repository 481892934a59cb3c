/* onnx.h - ONNX models as modules that run and train; of libegret-models.
 *
 *     eg_module *net = eg_onnx_load("model.onnx");
 *     eg_tensor *y = eg_module_forward(net, x);               // a model of one input and one output
 *     eg_tensor *in[] = {ids, mask}, *out[1];
 *     eg_onnx_forward(net, in, 2, out);                       // any
 *
 * A model is read from its file (onnx.proto of github.com/onnx/onnx, IR version 3 on, operators of the default domain
 * in all their versions up to EG_ONNX_OPSET, and FlexAttention of ai.onnx.preview) and checked as a whole before
 * anything runs: EG_ENOKERNEL names the operators that are not known. Initializers of a float dtype with at least one
 * axis that an operator takes as weights are the module's parameters under their names, so a tape follows them and
 * optimizers change them; single numbers of formulas (all without an axis; factors, exponents and limits of one
 * element), the statistics of batch norm, initial states of recurrent layers, scales of quantization and integers are
 * buffers. What depends on no input and no parameter is computed once, when the model is read, unless it is large:
 * beside 4 Mi numbers no more than 8 numbers for each byte of the model's tensors; what is left is computed at each
 * run.
 *
 * Operators run one after the other, as if written by hand: shapes are what they are, If, Loop and Scan look at the
 * values there are. A dtype that Egret has not is the next one with all its values (io.h): its results are brought back
 * into its range. Operators of chance draw from the thread's stream (random.h), those with a seed from that of the
 * seed, the same numbers at each call. Sequences, optionals, texts and the operators of training are not there. */
#ifndef EGRET_ONNX_H
#define EGRET_ONNX_H

#include <egret/nn/module.h>

EG_BEGIN_DECLS

/* The newest version of the operators that is known. */
#define EG_ONNX_OPSET 28

/* ---- operators of your own ---------------------------------------------------------------- */

/* One call of an operator, while it runs. */
typedef struct eg_onnx_call eg_onnx_call;

/* How many inputs and outputs the node has; those left out at the end do not count. */
EG_API int eg_onnx_input_count(const eg_onnx_call *c);
EG_API int eg_onnx_output_count(const eg_onnx_call *c);
/* An input, borrowed; NULL, without words, for one that was left out. */
EG_API eg_tensor *eg_onnx_input(const eg_onnx_call *c, int i);
/* Gives an output, a tensor of the scope in which the call runs; NULL: the recorded failure. Those that the node does
 * not want are ignored. */
EG_API eg_status eg_onnx_give(eg_onnx_call *c, int i, eg_tensor *t);
/* Attributes: the value, or what stands for one that was left out. */
EG_API int64_t eg_onnx_int(const eg_onnx_call *c, const char *name, int64_t otherwise);
EG_API double eg_onnx_float(const eg_onnx_call *c, const char *name, double otherwise);
EG_API const char *eg_onnx_text(const eg_onnx_call *c, const char *name, const char *otherwise);
/* The numbers of a list, which stay with the module, and how many there are; NULL for one that was left out. */
EG_API const int64_t *eg_onnx_ints(const eg_onnx_call *c, const char *name, int *count);
EG_API const float *eg_onnx_floats(const eg_onnx_call *c, const char *name, int *count);
/* A tensor, borrowed; NULL, without words, for one that was left out. */
EG_API eg_tensor *eg_onnx_tensor(const eg_onnx_call *c, const char *name);

typedef struct eg_onnx_op {
    const char *domain, *name; /* "com.example", "Twice"; the default domain is "" */
    eg_status (*run)(eg_onnx_call *c, void *user);
    void *user;
} eg_onnx_op;

/* ---- models --------------------------------------------------------------------------------- */

typedef struct eg_onnx_options {
    size_t size;
    /* For serving: no parameter learns, inputs keep the values of their own, and what depends on no other input is
     * computed once. Nodes that follow each other become one: what scales and shifts the result of a convolution or
     * product goes into its weights, which the module's state then has, so that results may differ in the last bits. */
    bool frozen;
    const eg_onnx_op *ops; /* operators of your own, which come first; copied */
    int op_count;
} eg_onnx_options;

/* The module of a model's file; external data are read beside it. The caller owns it. */
EG_API eg_module *eg_onnx_load_with(const char *path, const eg_onnx_options *options);
#define eg_onnx_load(...)        EG_ONNX_LOAD_(__VA_ARGS__, )
#define EG_ONNX_LOAD_(path, ...) eg_onnx_load_with(path, EG_OPTIONS_(eg_onnx_options, __VA_ARGS__))

/* Runs it: `in` as the model names its inputs, in their order (NULL for one that has a value of its own); `out` gets
 * all of its outputs (eg_onnx_outputs of them), borrowed; all NULL after a failure. EG_EINVAL: not an ONNX module, or
 * another count. */
EG_API eg_status eg_onnx_forward(eg_module *m, eg_tensor *const *in, int nin, eg_tensor **out);

/* What a model says of an input or output. */
typedef struct eg_onnx_value {
    const char *name;
    eg_dtype dtype; /* here */
    eg_shape shape; /* -1 where any size goes */
    bool ranked;    /* else any shape goes */
    bool optional;  /* an input that has a value of its own */
} eg_onnx_value;
/* How many there are, and the i-th; outside EG_EINDEX, and `name` is NULL. Inputs with values of their own come last.
 */
EG_API int eg_onnx_inputs(eg_module *m);
EG_API eg_onnx_value eg_onnx_input_at(eg_module *m, int i);
EG_API int eg_onnx_outputs(eg_module *m);
EG_API eg_onnx_value eg_onnx_output_at(eg_module *m, int i);

/* What the file says of itself. */
typedef struct eg_onnx_info {
    int ir, opset;        /* its version, and that of the default domain's operators */
    const char *producer; /* who made it; "" if it does not say */
} eg_onnx_info;
EG_API eg_onnx_info eg_onnx_about(eg_module *m);

/* The nodes, in the order in which they run, without those that were computed when the model was read. */
typedef struct eg_onnx_node {
    const char *domain, *op, *name; /* name: that of its first output where it has none */
    int64_t parameters;             /* numbers in the parameters that it takes */
} eg_onnx_node;
EG_API int eg_onnx_nodes(eg_module *m);
/* Outside EG_EINDEX, and all is NULL and 0. */
EG_API eg_onnx_node eg_onnx_node_at(eg_module *m, int i);
/* Runs it as eg_onnx_forward does and tells of every node, once it has run: which it is and its first output, which is
 * NULL if nobody takes it, and after the call the model's again. */
EG_API eg_status eg_onnx_follow(eg_module *m, eg_tensor *const *in, int nin,
                                void (*told)(int i, const eg_tensor *first, void *user), void *user);

/* ---- writing ------------------------------------------------------------------------------- */

/* How a model is written. */
typedef struct eg_onnx_save_options {
    size_t size;
    const char *name; /* of the graph; NULL: "egret" */
    /* Of inputs and outputs, the first so many; others are "input", or "input0", "input1", ..., and "output" likewise.
     */
    const char *const *input_names;
    int input_names_count;
    const char *const *output_names;
    int output_names_count;
    /* The first axis of the inputs may have any size, and what grows with it. A call that has to know that size is
     * refused; a shape that is given in numbers means the batch where it has its size. */
    bool any_batch;
    bool beside; /* tensors of 1 KiB or more go into a file beside the model, its name and ".data" */
} eg_onnx_save_options;

/* Writes what the module makes of x as an ONNX model (operators of version 20): one forward is followed, op by op, in
 * the mode the module is in, which for serving is that of eg_module_eval. Sizes are those of x; what does not depend on
 * x is computed and written as an initializer, parameters under their names. EG_ENOKERNEL names the op that ONNX has
 * nothing for, in this option or dtype, a change in place, or the function that reads elements which depend on x, as
 * eg_item does; EG_EINVAL for models of 2^31 bytes or more, to which what lies beside them
 * does not count: that file is put in its place before the model, and its tensors begin at multiples of 64. */
EG_API eg_status eg_onnx_save_with(eg_module *m, eg_tensor *x, const char *path, const eg_onnx_save_options *options);
#define eg_onnx_save(...)              EG_ONNX_SAVE_(__VA_ARGS__, )
#define EG_ONNX_SAVE_(m, x, path, ...) eg_onnx_save_with(m, x, path, EG_OPTIONS_(eg_onnx_save_options, __VA_ARGS__))

/* The same of any function of several tensors, which makes `nout` results (at most 64). `named` are the tensors to be
 * known by names, eg_module_state's above all; NULL: none. */
typedef eg_status (*eg_onnx_function)(eg_tensor *const *in, int nin, eg_tensor **out, int nout, void *user);
EG_API eg_status eg_onnx_save_function_with(eg_onnx_function f, void *user, const eg_tensors *named,
                                            eg_tensor *const *in, int nin, int nout, const char *path,
                                            const eg_onnx_save_options *options);
#define eg_onnx_save_function(...) EG_ONNX_SAVE_FUNCTION_(__VA_ARGS__, )
#define EG_ONNX_SAVE_FUNCTION_(f, user, named, in, nin, nout, path, ...) \
    eg_onnx_save_function_with(f, user, named, in, nin, nout, path, EG_OPTIONS_(eg_onnx_save_options, __VA_ARGS__))

EG_END_DECLS

#endif
