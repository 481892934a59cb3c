/* module.h - what all modules share: forward, parameters, state, modes, and modules of your own. */
#ifndef EGRET_NN_MODULE_H
#define EGRET_NN_MODULE_H

#include <stdio.h>

#include <egret/base.h>
#include <egret/device.h>
#include <egret/io.h>
#include <egret/parameters.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- using modules ----------------------------------------------------------------------- */

typedef struct eg_module eg_module;

/* What the module makes of x. Works in a scope of its own: of its temporaries only the result stays, and
 * what an open tape saves. */
EG_API eg_tensor *eg_module_forward(eg_module *m, eg_tensor *x);

/* Whether dropout drops and batch norm uses the batch's statistics, for the module and all below it. NULL
 * is the recorded failure, or EG_EINVAL. */
EG_API eg_status eg_module_train(eg_module *m);
EG_API eg_status eg_module_eval(eg_module *m);

/* Whether the parameters of the module and all below it learn: frozen ones are plain tensors to tapes, are
 * left out of eg_module_parameters and passed over by optimizers that have them already. They stay in the
 * state. EG_ESTATE while a tape records. */
EG_API eg_status eg_module_freeze(eg_module *m);
EG_API eg_status eg_module_unfreeze(eg_module *m);

/* Brings float parameters and buffers to a float dtype. They become new tensors: do it before an optimizer
 * or another holder has the old ones. All or none. */
EG_API eg_status eg_module_to(eg_module *m, eg_dtype dtype);

/* Moves parameters and buffers to a device. They stay the tensors they are, whoever holds them: an optimizer that
 * has them brings its state after them at its next step, averages (eg_ema) do at their next update. Views of them
 * keep the old memory. EG_ESTATE while an open tape follows one of them, EG_ENOMEM; then none has moved. */
EG_API eg_status eg_module_to_device(eg_module *m, eg_device *device);

/* The module below m under a path of names as parameters have them, "0.conv"; it stays m's. NULL and
 * EG_EINDEX if there is none. */
EG_API eg_module *eg_module_find(eg_module *m, const char *path);

/* A module like m with everything below it: parameters and buffers are copies where m's are, what is frozen or in eval
 * mode is so there, tensors that are one in m are one in the copy. The caller owns it. EG_ESTATE for a kind of module
 * that cannot be copied (kind->copy), EG_ENOMEM. */
EG_API eg_module *eg_module_copy(eg_module *m);

/* eg_module_forward, which also puts into `taps` what modules below m have made meanwhile, under their paths: inner
 * results by name, without a change of the net.
 *
 *     eg_tensors *taps = eg_tensors_new();
 *     eg_tensor *logits = eg_module_forward_taps(net, x, "block1, block2_unit*", taps);
 *     eg_tensor *features = eg_tensors_get(taps, "block1");
 *
 * Paths are as eg_module_find takes them, between commas; a "*" stands for any name, and "**" for any number of names.
 * Of a module that was called twice the last result counts. A tape follows them as it follows all results. EG_EINDEX,
 * with a NULL result, for a path that no module called has. */
EG_API eg_tensor *eg_module_forward_taps(eg_module *m, eg_tensor *x, const char *paths, eg_tensors *taps);

/* Frees the module and all below it. NULL is fine; EG_ESTATE for a module that another one owns, or that was freed,
 * which is known until another one is made at its address. */
EG_API eg_status eg_module_free(eg_module *m);

/* The parameters that learn (frozen ones do not), with their names, in the order of the members. The list is
 * the module's, until it is asked again or freed. tensors is NULL for a NULL module and after a failure. */
EG_API eg_parameters eg_module_parameters(eg_module *m);
/* How many numbers these have together; -1 after a failure. */
EG_API int64_t eg_module_numel(eg_module *m);
/* Parameters and buffers by name: all that must be saved. The tensors are the module's own, not copies. The caller
 * frees the map with eg_tensors_free. */
EG_API eg_tensors *eg_module_state(eg_module *m);

/* A table of the module and all below it for an input like x: name, kind, shape of the output, parameters,
 * multiply-adds of products, convolutions and recurrent layers in one forward. The forward runs in eval mode and
 * leaves the modes as they were. A module that was not reached has no shape. */
EG_API eg_status eg_summary(FILE *stream, eg_module *m, eg_tensor *x);

/* ---- loading ----------------------------------------------------------------------------- */

/* What became of a member, or of a tensor that is for no member. */
typedef enum eg_load_fate {
    EG_LOAD_LOADED,
    EG_LOAD_CONVERTED,   /* loaded, from another float dtype */
    EG_LOAD_OTHER_SHAPE, /* does not fit */
    EG_LOAD_OTHER_DTYPE, /* does not fit: not both are floats */
    EG_LOAD_MISSING,     /* the source does not have it */
    EG_LOAD_PASSED_OVER, /* the source has it, but it does not learn (.trainable_only) */
    EG_LOAD_LEFT_OVER,   /* of the source, and nobody's */
    EG_LOAD_NOT_READ,    /* in the file, but left out by its reader (io.h), whether a member wants it or not */
} eg_load_fate;

/* What a report says of one of them. Members come in their order, then what is passed or left over. */
typedef struct eg_load_row {
    const char *name; /* the member's; of what is left over its own, without the prefix */
    const char *from; /* what the source calls it, or what eg_tensors_renamed had it from; NULL: missing */
    eg_load_fate fate;
    eg_shape shape, from_shape; /* here and there, of what there is */
    eg_dtype dtype, from_dtype;
    const char *why; /* EG_LOAD_NOT_READ: the reader's reason; else NULL */
} eg_load_row;

/* Of one loading, in the state the source and the module were in then. */
typedef struct eg_load_report eg_load_report;
/* NULL is fine. */
EG_API void eg_load_report_free(eg_load_report *report);
/* How many rows there are, and the i-th; outside 0..count-1 EG_EINDEX, and `name` is NULL. Its texts are the report's.
 */
EG_API int64_t eg_load_report_count(const eg_load_report *report);
EG_API eg_load_row eg_load_report_at(const eg_load_report *report, int64_t i);
/* How many have this fate. */
EG_API int64_t eg_load_report_of(const eg_load_report *report, eg_load_fate fate);
/* Whether it came to loading; if it was refused, fates are what they would have been. */
EG_API bool eg_load_report_done(const eg_load_report *report);
/* A table: under each fate how many have it, and the first of them with what there is to say of them. */
EG_API eg_status eg_load_report_print(FILE *stream, const eg_load_report *report);

/* What loading may leave out. Zero-initialised: names must agree on both sides. */
typedef struct eg_load_options {
    size_t size;
    bool allow_missing;    /* members the source does not have keep their values */
    bool allow_unexpected; /* tensors of the source that are nobody's are ignored */
    bool trainable_only;   /* only what eg_module_parameters lists; what the source has for other members is ignored */
    bool skip_shape;       /* members whose shape is another keep their values */
    const char *prefix;    /* of the names in the source that count, in front of the members'; NULL: all count */
    eg_load_report **report; /* gets what became of each, also of a refusal, for the caller to free; NULL where there
                                was nothing to report or no memory for it */
} eg_load_options;

/* Writes the source's tensors over the members of the same names, converted between float dtypes where they
 * differ. EG_EFORMAT names what is missing or unexpected, EG_ESHAPE or EG_EDTYPE what does not fit;
 * EG_ESTATE while an open tape follows a parameter. After a refusal nothing has changed.
 *
 *     eg_module_load_state(net, map, .allow_missing = true, .skip_shape = true, .report = &report);
 *     eg_load_report_print(stdout, report);
 *     eg_load_report_free(report); */
EG_API eg_status eg_module_load_state_with(eg_module *m, const eg_tensors *source, const eg_load_options *options);
#define eg_module_load_state(...) EG_MODULE_LOAD_STATE_(__VA_ARGS__, )
#define EG_MODULE_LOAD_STATE_(m, source, ...) \
    eg_module_load_state_with(m, source, EG_OPTIONS_(eg_load_options, __VA_ARGS__))

/* The state as a safetensors file (io.h), replaced whole or not at all. */
EG_API eg_status eg_module_save(eg_module *m, const char *path);
/* The same from a file of any format that eg_tensors_open reads, of which only what is loaded is read. Under names of
 * others it goes by way of eg_tensors_renamed. */
EG_API eg_status eg_module_load_with(eg_module *m, const char *path, const eg_load_options *options);
#define eg_module_load(...)           EG_MODULE_LOAD_(__VA_ARGS__, )
#define EG_MODULE_LOAD_(m, path, ...) eg_module_load_with(m, path, EG_OPTIONS_(eg_load_options, __VA_ARGS__))

/* ---- modules of your own ----------------------------------------------------------------- *
 *
 *     typedef struct block {
 *         eg_module base; // first
 *         eg_module *conv, *norm;
 *     } block;
 *
 *     static eg_tensor *block_forward(eg_module *m, eg_tensor *x)
 *     {
 *         block *b = (block *)m;
 *         return eg_relu(eg_add(x, eg_module_forward(b->norm, eg_module_forward(b->conv, x))));
 *     }
 *
 *     static void block_members(eg_module *m, eg_members *members)
 *     {
 *         block *b = (block *)m;
 *         eg_member_child(members, "conv", &b->conv);
 *         eg_member_child(members, "norm", &b->norm);
 *     }
 *
 *     static const eg_module_kind block_kind = {
 *         .size = sizeof(eg_module_kind), .name = "block", .forward = block_forward,
 *         .members = block_members};
 *
 *     eg_module *block_new(int64_t channels)
 *     {
 *         block *b = eg_module_new(sizeof *b, &block_kind);
 *         if (!b) {
 *             return NULL;
 *         }
 *         b->conv = eg_conv2d_new(channels, channels, .kernel = 3, .padding = EG_SAME);
 *         b->norm = eg_batch_norm_new(channels);
 *         return eg_module_finish(&b->base);
 *     }
 */

typedef struct eg_members eg_members;

/* What a kind of module is; must outlive its modules. */
typedef struct eg_module_kind {
    size_t size;
    const char *name; /* for messages */
    /* NULL for modules that take more than one tensor, in functions of their own: eg_module_forward refuses
     * them (EG_EINVAL). */
    eg_tensor *(*forward)(eg_module *m, eg_tensor *x);
    /* Names what the module owns, each time the same in the same order, with eg_member_...; NULL: nothing. */
    void (*members)(eg_module *m, eg_members *members);
    /* Frees what the module owns besides its members and its own memory; NULL: nothing. */
    void (*free)(eg_module *m);
    /* For eg_module_copy: gives `to`, whose bytes are those of `from`, such things of its own. After a failure it must
     * hold none of them. NULL: a kind with a free is not copied. */
    eg_status (*copy)(eg_module *to, const eg_module *from);
} eg_module_kind;

/* The first member of every module. */
struct eg_module {
    const eg_module_kind *kind;
    eg_module *parent; /* who owns it; NULL: the caller */
    bool training;     /* read by forward */
    void *list;        /* of eg_module_parameters */
    int64_t height;    /* modules inside each other below it */
    char *name;        /* eg_named; NULL: none */
    size_t bytes;      /* of the whole struct */
    void *reserved[1];
};

/* Zeroed memory for a module of this kind, whose struct has `size` bytes. */
EG_API void *eg_module_new(size_t size, const eg_module_kind *kind);
/* Ends a constructor: returns m, which now owns its members; or frees it with all of them and returns NULL,
 * if one of them is NULL or, EG_ESTATE, is a child of another module already, which keeps it, or was freed. Of modules
 * inside each other 1000 are possible (EG_EINVAL). Do not make a module a member of one below it later: what walks
 * over them then is EG_ESTATE, and a forward too, 2048 calls deep. */
EG_API eg_module *eg_module_finish(eg_module *m);

/* What kind->members calls. Leave out an optional member that is not there. Parameters come from
 * eg_parameter, buffers from eg_keep. */
EG_API void eg_member_child(eg_members *members, const char *name, eg_module **child);
EG_API void eg_member_parameter(eg_members *members, const char *name, eg_tensor **parameter);
EG_API void eg_member_buffer(eg_members *members, const char *name, eg_tensor **buffer);

EG_END_DECLS

#endif
