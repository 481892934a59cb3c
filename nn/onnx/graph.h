/* graph.h - an ONNX model as it runs: nodes whose inputs and outputs are numbered places for values. */
#ifndef EGRET_ONNX_GRAPH_H
#define EGRET_ONNX_GRAPH_H

#include <egret/onnx.h>

#include "lib/core/base.h"
#include "lib/io/onnx.h"

typedef struct eg__onnx_graph eg__onnx_graph;
typedef struct eg__onnx_row eg__onnx_row;

/* ONNX's numbers of kinds (AttributeProto.AttributeType). */
typedef enum eg__onnx_kind {
    EG__ONNX_FLOAT = 1,
    EG__ONNX_INT,
    EG__ONNX_STRING_,
    EG__ONNX_TENSOR,
    EG__ONNX_GRAPH,
    EG__ONNX_FLOATS,
    EG__ONNX_INTS,
    EG__ONNX_STRINGS,
} eg__onnx_kind;

typedef struct eg__onnx_attribute {
    const char *name;
    eg__onnx_kind kind;
    int count;    /* of a list */
    uint8_t type; /* of a tensor: ONNX's, for types that Egret has not; else 0 */
    union {
        double f;
        int64_t i;
        const char *text;
        eg_tensor *tensor; /* the net's */
        eg__onnx_graph *graph;
        const float *floats;
        const int64_t *ints;
        const char *const *texts;
    };
} eg__onnx_attribute;

typedef struct eg__onnx_node {
    const char *op, *domain, *name; /* name: for words, its own or that of its first output */
    int version;                    /* of the operators of its domain */
    int least;                      /* inputs that must be there */
    const eg__onnx_row *row;        /* NULL: an operator of the user's, or a function of the model's */
    const eg_onnx_op *user;
    eg__onnx_graph *function;
    int nin, nout, nattributes, ndead;
    int *in, *out; /* places; -1: left out */
    int *dead;     /* places whose values nobody needs after it */
    eg__onnx_attribute *attributes;
    /* What fusing made of it: a convolution or product whose result goes through a function; a recurrent layer whose
     * gates lie in Egret's order. */
    eg_tensor *(*then)(eg_tensor *x);
    bool prepared;
} eg__onnx_node;

struct eg__onnx_graph {
    int nnodes, nin, nout;
    eg__onnx_node *nodes;
    int *in, *out;
    int first, end; /* places of its own, and of the graphs in it */
};

/* What a place holds before anything runs. */
typedef enum eg__onnx_role { EG__ONNX_NOTHING, EG__ONNX_CONSTANT, EG__ONNX_WEIGHT } eg__onnx_role;

typedef struct eg__onnx_place {
    const char *name;
    eg_tensor *t; /* kept; of a weight it is the module's member */
    uint8_t role, type;
    bool buffer; /* of a weight: does not learn */
    bool open;   /* an input with a value of its own, for which others may be given */
} eg__onnx_place;

/* In the memory of a tensor, so that it counts towards eg_memory_limit. */
typedef struct eg__onnx_block {
    struct eg__onnx_block *next;
    size_t used, size;
    eg_tensor *memory; /* kept */
} eg__onnx_block;

/* The module. */
typedef struct eg__onnx_net {
    eg_module base;
    eg__onnx_block *memory; /* of all that is below */
    eg__onnx_graph *graph;
    eg__onnx_place *places;
    uint32_t nplaces, cplaces;
    eg_onnx_info info;
    eg_onnx_value *inputs, *outputs;
    int ninputs, noutputs, required; /* inputs without values of their own come first */
    const eg_onnx_op *ops;
    int nops;
} eg__onnx_net;

/* A value while a model runs. */
typedef struct eg__onnx_run_value {
    eg_tensor *t;
    uint8_t type; /* ONNX's, for types that Egret has not; else 0 */
    bool owned;   /* kept by the run */
} eg__onnx_run_value;

struct eg_onnx_call {
    eg__onnx_net *net;
    const eg__onnx_node *node;
    eg__onnx_run_value *values; /* of all places */
    eg_tensor **out;
    uint8_t *out_type;
};

enum { EG__ONNX_MOST_OUT = 64 }; /* outputs of a node */

/* ---- the table of operators --------------------------------------------------------------------- */

/* WRAPS: integers leave the range of small types; RANDOM: not the same at each call; FORMULA: a single number that it
 * takes is no weight (of Add it may be a bias); PREVIEW: of the domain ai.onnx.preview instead of the default one.
 * Work, for what is computed while a model is read: LATE: not bounded by the sizes of its inputs, so never then;
 * PRODUCT: by the product of their sizes; others: by their sum, or by the shape to which they are broadcast. */
enum {
    EG__ONNX_WRAPS = 1,
    EG__ONNX_RANDOM = 2,
    EG__ONNX_FORMULA = 4,
    EG__ONNX_PREVIEW = 8,
    EG__ONNX_LATE = 16,
    EG__ONNX_PRODUCT = 32,
};

struct eg__onnx_row {
    const char *name;
    eg_status (*run)(eg_onnx_call *c);
    int least, most; /* inputs; most -1: any */
    /* A letter for each input: h, looked at as numbers; b, a float that does not learn. The last goes for those behind
     * it. */
    const char *roles;
    int flags;
};

/* The row of an operator; NULL: unknown. */
const eg__onnx_row *eg__onnx_find(const char *name);
/* Returns the number of required inputs of an operator in a version; attributes of older versions may be inputs of
 * newer ones. */
int eg__onnx_least(const eg__onnx_row *row, int version);

/* ---- parts -------------------------------------------------------------------------------------- */

/* Zeroed memory of the net's, as long as it lives; NULL with words. */
void *eg__onnx_memory(eg__onnx_net *net, size_t bytes);
/* Makes room for one element more in an array of such memory; false with words. */
bool eg__onnx_grow(eg__onnx_net *net, void *array, uint32_t count, uint32_t *capacity, size_t element);
/* Reads the model into an empty net. */
eg_status eg__onnx_read(eg__onnx_net *net, const char *path);
/* Computes at once what depends on no input and no parameter, as far as that is little. */
eg_status eg__onnx_fold(eg__onnx_net *net, bool weights_too);
/* Makes fewer nodes of those of a frozen net. */
eg_status eg__onnx_fuse(eg__onnx_net *net);
/* Runs the nodes of a graph whose inputs have their values. */
eg_status eg__onnx_run_graph(eg__onnx_net *net, const eg__onnx_graph *g, eg__onnx_run_value *values);
eg_status eg__onnx_run_node(eg__onnx_net *net, const eg__onnx_node *n, eg__onnx_run_value *values);
/* Returns whether input i of a node of a known operator is required: one of the minimum number, or any input of a
 * variadic operator. */
static inline bool eg__onnx_is_required(const eg__onnx_node *n, int i)
{
    return i < n->least || (n->row->most < 0 && n->least);
}
/* Gives a place a value, which is kept; what it had is released. */
eg_status eg__onnx_put(eg__onnx_run_value *v, eg_tensor *t, uint8_t type);
void eg__onnx_drop(eg__onnx_run_value *v);

extern const char eg__onnx_op_name[]; /* "eg_onnx", for words */

/* The dtype here of one of ONNX's types; EG_DTYPE_COUNT: none. */
eg_dtype eg__onnx_dtype(int64_t type);
/* Bits of a number of that type; 0: of none that is known. */
int eg__onnx_width(int64_t type);
/* ONNX's type of a dtype. */
int eg__onnx_type_of_dtype(eg_dtype dtype);
/* The type that a tensor is of, unless more is known. */
int eg__onnx_type_of(const eg_tensor *t);
/* Integers brought back into the range of a small type. */
eg_tensor *eg__onnx_wrapped(eg_tensor *t, int type);

/* ---- for operators ------------------------------------------------------------------------------ */

static inline eg_tensor *eg__onnx_in(const eg_onnx_call *c, int i)
{
    return i < c->node->nin && c->node->in[i] >= 0 ? c->values[c->node->in[i]].t : NULL;
}

/* ONNX's type of an input; 0 for one that was left out. */
int eg__onnx_in_type(const eg_onnx_call *c, int i);
/* The attribute of that name; NULL. */
const eg__onnx_attribute *eg__onnx_attribute_of(const eg_onnx_call *c, const char *name, eg__onnx_kind kind);
/* The integers of an input, at most `most`; how many there are, -1 with words. An input that was left out has none. */
int eg__onnx_numbers(const eg_onnx_call *c, int i, int64_t *to, int most);
/* The only number of an input; `otherwise` if it was left out. */
double eg__onnx_number(const eg_onnx_call *c, int i, double otherwise);
/* Likewise as an integer, with all its digits. */
int64_t eg__onnx_integer(const eg_onnx_call *c, int i, int64_t otherwise);
/* Axes or sizes that older versions have as an attribute and newer ones as input i; as eg__onnx_numbers. */
int eg__onnx_list(const eg_onnx_call *c, const char *name, int i, int64_t *to, int most);
/* Zeroed memory of `count` elements that lives as long as the innermost scope and counts towards eg_memory_limit; NULL
 * with words. */
void *eg__onnx_scratch(int64_t count, size_t element);
/* Which of the names the attribute is, or `otherwise` if it was left out; -1 with words. */
int eg__onnx_choice(const eg_onnx_call *c, const char *name, const char *const *of, int n, int otherwise);
/* Fails naming the rule. */
eg_status eg__onnx_bad(const eg_onnx_call *c, const char *words);
/* Gives the first output. */
static inline eg_status eg__onnx_give(eg_onnx_call *c, eg_tensor *t)
{
    return eg_onnx_give(c, 0, t);
}

#endif
