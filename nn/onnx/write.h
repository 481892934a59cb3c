/* write.h - a forward while it is written as a graph of ONNX. */
#ifndef EGRET_ONNX_WRITE_H
#define EGRET_ONNX_WRITE_H

#include <egret/debug.h>
#include <egret/onnx.h>

#include "nn/onnx/bytes.h"

enum { EG__ONNX_WRITTEN_OPSET = 20 };

/* What a tensor is to the graph. */
typedef enum eg__onnx_known_as {
    EG__ONNX_WEIGHT_LATER, /* has a name; becomes an initializer when it is used */
    EG__ONNX_CONSTANT_NOW, /* an initializer */
    EG__ONNX_VALUE,        /* comes from an input */
} eg__onnx_known_as;

typedef struct eg__onnx_seen {
    eg_tensor *t; /* kept */
    char *name;
    eg__onnx_known_as is;
} eg__onnx_seen;

typedef struct eg__onnx_writer {
    eg__bytes nodes, initializers, data; /* data: of the file beside */
    char *beside;                        /* its path; NULL: there is none */
    const char *location;                /* its name, as the model says it */
    eg__onnx_seen *seen;
    uint32_t nseen, cseen;
    uint32_t *index;  /* of seen, by address: places + 1 */
    uint32_t cindex;  /* a power of two */
    uint32_t serial;  /* of names */
    size_t node;      /* where the one being written began; 0: none is */
    int64_t batch;    /* the size that may be any, -1: none */
    eg_tensor *first; /* the input that has it */
    eg_status status;
} eg__onnx_writer;

extern const char eg__onnx_save_name[]; /* "eg_onnx_save" */

/* What is known of a tensor; NULL: nothing. */
eg__onnx_seen *eg__onnx_seen_of(const eg__onnx_writer *w, const eg_tensor *t);
/* From now on t has this name, which is copied; NULL: one is made. Returns it; NULL: failed. */
const char *eg__onnx_see(eg__onnx_writer *w, eg_tensor *t, const char *name, eg__onnx_known_as is);
/* The result of an op that changes nothing has its input's name. */
void eg__onnx_same(eg__onnx_writer *w, eg_tensor *x, eg_tensor *y);

/* ---- nodes ---------------------------------------------------------------------------------------- */

/* A node's fields are written between begin and end, in any order but that of inputs and of outputs. */
void eg__onnx_begin(eg__onnx_writer *w, const char *op);
void eg__onnx_end(eg__onnx_writer *w);
void eg__onnx_from(eg__onnx_writer *w, eg_tensor *x);          /* an input; NULL: left out */
void eg__onnx_from_name(eg__onnx_writer *w, const char *name); /* of a result without a tensor */
void eg__onnx_from_ints(eg__onnx_writer *w, const int64_t *v, int n);
void eg__onnx_from_number(eg__onnx_writer *w, double v, eg_dtype dtype); /* without axes */
void eg__onnx_to(eg__onnx_writer *w, eg_tensor *y);                      /* an output */
void eg__onnx_no_output(eg__onnx_writer *w);
/* An output without a tensor: its name, into 24 bytes. */
typedef struct eg__onnx_temp {
    char name[24];
} eg__onnx_temp;
eg__onnx_temp eg__onnx_to_temp(eg__onnx_writer *w);
void eg__onnx_set_int(eg__onnx_writer *w, const char *name, int64_t v);
void eg__onnx_set_float(eg__onnx_writer *w, const char *name, double v);
void eg__onnx_set_text(eg__onnx_writer *w, const char *name, const char *v);
void eg__onnx_set_ints(eg__onnx_writer *w, const char *name, const int64_t *v, int n);
/* A tensor as an initializer of that name. */
void eg__onnx_initializer(eg__onnx_writer *w, eg_tensor *t, const char *name);

/* Writes the call as nodes; EG_ENOKERNEL names what cannot be. */
eg_status eg__onnx_write_op(eg__onnx_writer *w, const eg_op_call *c);

#endif
