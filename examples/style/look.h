/* look.h - how an image looks to a net: what is where in it, and of what texture (Gatys et al. 2015).
 *
 * An image here is a canvas, f32 [N, 3, H, W] of B, G, R minus their means (pictures.h). What a layer makes of it, with
 * its places in a row, is F; F F^T / places, its Gram matrix, says which channels go together wherever they are: the
 * texture. F itself says what is where. */
#ifndef EXAMPLES_STYLE_LOOK_H
#define EXAMPLES_STYLE_LOOK_H

#include "../common/trunk.h"

typedef struct look_options {
    trunk_options trunk;
    const char *style_layers, *content_layer; /* NULL: as usual for the net */
    const char *prepared;                     /* how the net's images were; NULL: as usual for it */
    double style, content, smooth;            /* what each loss counts */
} look_options;

/* The rows of a table of flags that fill them in. */
#define LOOK_FLAGS(o)                                                                                               \
    EG_FLAG_TEXT("trunk", &(o)->trunk.net, "vgg_19", "NET", "the net that looks, of docs/models.md"),               \
        EG_FLAG_TEXT("weights", &(o)->trunk.weights, NULL, "FILE", "its weights; without it they are by chance"),   \
        EG_FLAG_CHOICE("pool", &(o)->trunk.pool, "max", "max|avg", "maxima, or means of 2 x 2 instead"),            \
        EG_FLAG_CHOICE("prepared", &(o)->prepared, NULL, "caffe|vgg|torch|inception",                               \
                       "what the net's images are: B, G, R minus means; R, G, B; by ImageNet's deviations; -1..1"), \
        EG_FLAG_TEXT("style-layers", &(o)->style_layers, NULL, "LAYERS", "between commas"),                         \
        EG_FLAG_TEXT("content-layer", &(o)->content_layer, NULL, "LAYER", "one of the net"),                        \
        EG_FLAG_REAL("style-weight", &(o)->style, "1e-2", 0, 1e12, "what texture counts"),                          \
        EG_FLAG_REAL("content-weight", &(o)->content, "1e3", 0, 1e12, "what is where"),                             \
        EG_FLAG_REAL("tv", &(o)->smooth, "0", 0, 1e12, "how far neighbours are from each other, total variation")

typedef struct look look;

/* The run's, as all that it keeps; `o` must live on. */
look *look_open(eg_run *run, const look_options *o);
eg_module *look_trunk(look *l);

/* From now on textures are to be like this image's. */
eg_status look_like(look *l, eg_tensor *canvas);
/* What is where in an image, as look_compare takes it; not followed by tapes. */
eg_tensor *look_content(look *l, eg_tensor *canvas);

/* Tensors of one element in the scope, each with its weight; all NULL after a failure. */
typedef struct look_losses {
    eg_tensor *total, *style, *content, *smooth;
} look_losses;
look_losses look_compare(look *l, eg_tensor *canvas, eg_tensor *content);

#endif
