/* models.h - nets from papers, ready to be trained: a library of its own, libegret-models.
 *
 *     eg_module *net = eg_model_new("resnet_v1_50", .classes = 5);
 *     eg_tensor *logits = eg_module_forward(net, images);     // [N, 3, 224, 224] to [N, 5]
 *     eg_module_free(net);
 *
 * Every net is an ordinary module, made by a constructor of its own (models/vision.h) or by its name. Weights begin as
 * the paper's, or its authors' program's, do, with numbers from the calling thread's random sequence. Images are
 * [N, channels, H, W]; channels-last ones are faster on a CPU. */
#ifndef EGRET_MODELS_H
#define EGRET_MODELS_H

#include <egret/models/cvt.h>
#include <egret/models/detection.h>
#include <egret/models/lstm.h>
#include <egret/models/transformer.h>
#include <egret/models/vision.h>

EG_BEGIN_DECLS

/* One net, as its name stands for it. */
typedef struct eg_model_info {
    const char *name;          /* "resnet_v1_50" */
    const char *source;        /* who made it: "He et al. 2015" */
    const char *preprocessing; /* what its images went through: "inception", "vgg", ... of eg_preprocess */
    int64_t side;              /* of the images it was made for, in pixels */
    int64_t channels;          /* of them */
    int64_t classes;           /* outputs where .classes is not given */
    int64_t parameters;        /* that learn, with these */
    const char *names;         /* map for eg_tensors_renamed: weights that others have (docs/models.md); NULL: none */
    bool aux;                  /* has auxiliary logits, unless .no_aux */
    bool sided;                /* has weights that depend on the images' side, and takes .side */
} eg_model_info;

/* How many nets there are, and the i-th in the order of the table; EG_EINDEX outside 0..count - 1, of which all fields
 * are then NULL and 0. */
EG_API int eg_model_count(void);
EG_API eg_model_info eg_model_at(int i);
/* The net of that name; EG_EINDEX if there is none, in words that name the nearest. */
EG_API eg_model_info eg_model_find(const char *name);

/* The net of that name, with options as its constructor takes them. EG_EINDEX for a name there is not. */
EG_API eg_module *eg_model_new_with(const char *name, const eg_model_options *options);
#define eg_model_new(...)        EG_MODEL_NEW_(__VA_ARGS__, )
#define EG_MODEL_NEW_(name, ...) eg_model_new_with(name, EG_OPTIONS_(eg_model_options, __VA_ARGS__))

EG_END_DECLS

#endif
