/* write.h - a forward pass while it is being written as an ONNX graph: named values and the nodes between them. */
#ifndef EGRET_ONNX_WRITE_H
#define EGRET_ONNX_WRITE_H

#include <egret/debug.h>
#include <egret/onnx.h>

#include "nn/onnx/bytes.h"

enum { EG__ONNX_WRITTEN_OPSET = 20 };

/* Role of a tensor in the graph. */
typedef enum eg__onnx_known_as {
    EG__ONNX_WEIGHT_LATER, /* has a name; becomes an initializer when it is used */
    EG__ONNX_CONSTANT_NOW, /* an initializer */
    EG__ONNX_VALUE,        /* computed from an input */
    EG__ONNX_UNWRITTEN,    /* computed from an input, but no node gives it */
    EG__ONNX_PLACES,       /* computed from an input; the node gives other numbers, max_pool_places' alone */
} eg__onnx_known_as;

/* The axis that grows with the batch under .any_batch: its size is `times` times the batch size. `from_end` counts
 * axes from the last one, which is 1; 0: no axis does. */
typedef struct eg__batch {
    int from_end;
    int64_t times;
} eg__batch;

typedef struct eg__onnx_seen {
    eg_tensor *t; /* kept */
    const char *name;
    eg__onnx_known_as is;
    eg__batch batch;
} eg__onnx_seen;

typedef struct eg__onnx_text eg__onnx_text;

typedef struct eg__onnx_writer {
    eg__bytes nodes, initializers, data; /* data: of the external file */
    eg__bytes attributes;                /* of the next node */
    char *beside;                        /* path of the external file; NULL: there is none */
    const char *location;                /* its name, as the model stores it */
    eg__onnx_seen *seen;
    uint32_t nseen, cseen;
    uint32_t *index;     /* of seen, by address: index + 1 */
    uint32_t cindex;     /* a power of two */
    uint32_t serial;     /* of names */
    eg__onnx_text *text; /* names, freed at the end */
    int64_t batch;       /* the batch size of the example under .any_batch, else -1 */
    eg_tensor *first;    /* the first input, which has it */
    eg_status status;
    char words[200]; /* of the first failure */
} eg__onnx_writer;

extern const char eg__onnx_save_name[]; /* "eg_onnx_save" */

/* The first failure, whose error is recorded, holds for the rest. */
void eg__onnx_failed(eg__onnx_writer *w, eg_status st);

/* ---- tensors -------------------------------------------------------------------------------------- */

/* What is known of a tensor; NULL: nothing. */
eg__onnx_seen *eg__onnx_seen_of(const eg__onnx_writer *w, const eg_tensor *t);
/* Returns whether the tensor is computed from an input. */
bool eg__onnx_depends(const eg__onnx_writer *w, const eg_tensor *t);
/* Gives t a name, which is copied; NULL: a new one. */
void eg__onnx_see(eg__onnx_writer *w, eg_tensor *t, const char *name, eg__onnx_known_as is);
/* The axis of t that grows with the batch. */
eg__batch eg__batch_of(const eg__onnx_writer *w, const eg_tensor *t);
void eg__batch_set(const eg__onnx_writer *w, const eg_tensor *t, eg__batch b);
/* Writes t's elements as an initializer of that name. */
void eg__onnx_initializer(eg__onnx_writer *w, eg_tensor *t, const char *name);

/* ---- values and nodes ------------------------------------------------------------------------------ */

/* An edge of the graph. A literal has no name yet: it becomes an initializer of the dtype that its node works in. */
typedef struct eg__val {
    const char *name; /* ""; an input that is left out */
    eg_dtype dtype;
    enum { EG__NAMED, EG__REAL, EG__WHOLE } kind;
    double real;
    int64_t whole;
} eg__val;

static inline eg__val eg__real(double v)
{
    return (eg__val)
    {
        .name = "", .kind = EG__REAL
        , .real = v
    };
}

static inline eg__val eg__whole(int64_t v)
{
    return (eg__val){.name = "", .kind = EG__WHOLE, .whole = v};
}

/* An optional input that is left out. */
static inline eg__val eg__none(void)
{
    return (eg__val){.name = ""};
}

/* The value of a tensor; one of which nothing is known becomes an initializer. NULL: eg__none(). */
eg__val eg__of(eg__onnx_writer *w, eg_tensor *t);
/* An initializer with the elements of t, which is not seen again; t NULL: a recorded failure. */
eg__val eg__constant(eg__onnx_writer *w, eg_tensor *t);
/* A list of integers; one filled with v. */
eg__val eg__ints(eg__onnx_writer *w, const int64_t *v, int n);
eg__val eg__filled(eg__onnx_writer *w, eg_shape s, double v, eg_dtype dtype);
/* The value cast to the dtype, unless it has it. */
eg__val eg__as(eg__onnx_writer *w, eg__val v, eg_dtype dtype);

/* Attributes of the node that is put next. */
void eg__set_int(eg__onnx_writer *w, const char *name, int64_t v);
void eg__set_float(eg__onnx_writer *w, const char *name, double v);
void eg__set_text(eg__onnx_writer *w, const char *name, const char *v);
void eg__set_ints(eg__onnx_writer *w, const char *name, const int64_t *v, int n);

/* Writes a node and gives its outputs. Inputs are brought to a dtype that ONNX defines the operator for, which a wider
 * one of the same category may stand for; there may be none, which is a failure. */
void eg__put_nodes(eg__onnx_writer *w, const char *op, const eg__val *in, int nin, eg__val *out, int nout);
eg__val eg__put_node(eg__onnx_writer *w, const char *op, const eg__val *in, int nin);
#define eg__put(w, op, ...) \
    eg__put_node(w, op, (const eg__val[]){__VA_ARGS__}, (int)(sizeof((const eg__val[]){__VA_ARGS__}) / sizeof(eg__val)))
/* The tensor is this value from now on, cast if it has another dtype. */
void eg__set_output(eg__onnx_writer *w, eg_tensor *y, eg__val v);
/* The value as an output of the graph. */
void eg__put_output(eg__onnx_writer *w, eg_tensor *y, const char *name);

/* Writes the call as nodes; EG_ENOKERNEL names what cannot be written. */
eg_status eg__onnx_write_op(eg__onnx_writer *w, const eg_op_call *c);

#endif
