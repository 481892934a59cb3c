/* read.h - a model while it is read. */
#ifndef EGRET_ONNX_READ_H
#define EGRET_ONNX_READ_H

#include "lib/io/onnx.h"
#include "nn/onnx/graph.h"

/* How the inputs of nodes use a value; AS_FACTOR: as a weight, if it is more than one number. */
enum { EG__ONNX_AS_NUMBERS = 1, EG__ONNX_AS_BUFFER = 2, EG__ONNX_AS_WEIGHT = 4, EG__ONNX_AS_FACTOR = 8 };

typedef struct eg__onnx_import {
    const char *domain;
    int version;
} eg__onnx_import;

enum { EG__ONNX_IMPORTS = 64, EG__ONNX_UNKNOWN = 8 };

/* A name that stands for a place where it can be seen. */
typedef struct eg__onnx_known {
    const char *name;
    uint64_t hash;
    uint32_t place, next; /* next of its bucket, + 1 */
} eg__onnx_known;

/* A function of the model's. */
typedef struct eg__onnx_function {
    eg__wire name, domain, body;
    uint32_t next; /* of its bucket, + 1 */
} eg__onnx_function;

enum { EG__ONNX_FUNCTION_BUCKETS = 1 << 10 };

typedef struct eg__onnx_reader {
    eg__onnx_net *net;
    const char *path;
    eg_tensors *tensors;
    eg__wire model;
    /* What is seen from where the reader is: names from `wall` on, versions, the attributes of the call of a function.
     */
    eg__onnx_known *known;
    uint32_t nknown, cknown, wall;
    uint32_t *bucket, nbuckets; /* a power of 2, no fewer than names */
    eg__onnx_import imports[EG__ONNX_IMPORTS];
    int nimports;
    const eg__onnx_node *caller;
    eg__onnx_function *functions;
    uint32_t nfunctions, cfunctions;
    uint32_t function_bucket[EG__ONNX_FUNCTION_BUCKETS];
    /* Places outside of a graph that its nodes use. */
    int *captured;
    uint32_t ncaptured, ccaptured;
    uint8_t *uses; /* of all places */
    uint32_t cuses;
    const char *unknown[EG__ONNX_UNKNOWN]; /* operators, the first few */
    int nunknown;
    int depth;
    int64_t expanded, called; /* nodes, in functions too; bytes of functions, once for each call */
} eg__onnx_reader;

/* Another one in each reader, so that a file's names cannot be chosen to meet in one bucket. */
uint64_t eg__onnx_hash(const eg__onnx_reader *r, const void *bytes, size_t n);
/* How many fields of that number a message has. */
int eg__onnx_count_fields(eg__wire message, eg__onnx_message of, uint32_t field);
/* Text of the net's; NULL with words. */
const char *eg__onnx_copy_text(eg__onnx_reader *r, const eg__wire *bytes);
eg_status eg__onnx_damaged(const eg__onnx_reader *r, const char *words);
/* A new place; -1 with words. */
int eg__onnx_new_place(eg__onnx_reader *r, const char *name);
/* Makes a name stand for a place from now on. */
eg_status eg__onnx_know(eg__onnx_reader *r, const char *name, int place);
/* Undoes it, down to so many names. */
void eg__onnx_forget(eg__onnx_reader *r, uint32_t down_to);
/* The place of a name; -1: it is not known here. */
int eg__onnx_look_up(eg__onnx_reader *r, const char *name);

/* Notes that a node uses a place outside of its graph. */
eg_status eg__onnx_capture(eg__onnx_reader *r, int place);

eg_status eg__onnx_read_graph(eg__onnx_reader *r, eg__wire graph, const char *path, eg__onnx_graph **out);
/* So that a call finds its function without a walk through all of them. */
eg_status eg__onnx_index_functions(eg__onnx_reader *r);
/* The body of a function as a graph, for a node that calls it. */
eg_status eg__onnx_read_function(eg__onnx_reader *r, eg__wire function, const eg__onnx_node *caller,
                                 eg__onnx_graph **out);
/* The model's function of that name; false: there is none. */
bool eg__onnx_find_function(eg__onnx_reader *r, const char *domain, const char *name, eg__wire *function);
eg_status eg__onnx_read_imports(eg__onnx_reader *r, eg__wire message, eg__onnx_message of, uint32_t field);
/* Finds the places of the outputs, once the nodes are there. */
typedef eg_status eg__onnx_read_outputs(eg__onnx_reader *r, eg__wire message, eg__onnx_graph *g);
/* The nodes of a graph or function, which lie in fields of that number, and its outputs. */
eg_status eg__onnx_read_nodes(eg__onnx_reader *r, eg__wire message, eg__onnx_message of, uint32_t field,
                              const char *path, eg__onnx_graph *g, eg__onnx_read_outputs *outputs);
/* `type`: ONNX's, 0 for none that is known. */
eg_status eg__onnx_read_value(eg__onnx_reader *r, eg__wire value, eg_onnx_value *out, uint8_t *type);

#endif
