/* look.c - see look.h. */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/models.h>

#include "pictures.h"

enum { LAYERS_MOST = 32, NAME_SIZE = 128 };

static const char op[] = "style";

struct look {
    const look_options *o;
    eg_module *trunk;
    const char *content;
    char layers[LAYERS_MOST][NAME_SIZE]; /* of textures */
    int count;
    char taps[LAYERS_MOST * NAME_SIZE]; /* all of these */
    eg_tensor *grams[LAYERS_MOST];      /* of the style; kept */
    eg_tensor *scale, *shift;           /* f32 [3], of a canvas to what the net wants; kept */
    bool turned;                        /* to R, G, B before that */
};

static void free_look(void *given)
{
    look *l = given;
    for (int i = 0; i < l->count; i++) {
        eg_release(l->grams[i]);
    }
    eg_release(l->scale);
    eg_release(l->shift);
    eg_module_free(l->trunk);
    free(l);
}

/* ---- layers ---------------------------------------------------------------------------------------- */

/* By the beginning of a net's name. */
static const struct {
    const char *net, *style, *content;
} usual[] = {
    {"vgg_", "conv1_1, conv2_1, conv3_1, conv4_1, conv5_1", "conv5_2"},
    {"resnet_cifar_", "conv1, block1_unit1, block2_unit1, block3_unit1", "block3_unit2"},
    {"resnet", "conv1, block1_unit1, block2_unit1, block3_unit1, block4_unit1", "block4_unit2"},
    {"mobilenet_v2", "Conv, expanded_conv_1, expanded_conv_3, expanded_conv_6, expanded_conv_13", "expanded_conv_14"},
    {"efficientnet_", "stem, unit1, unit3, unit5, unit11", "unit12"},
};

static eg_status choose_layers(look *l)
{
    const char *net = l->o->trunk.net, *style = l->o->style_layers;
    l->content = l->o->content_layer;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && (!style || !l->content); i++) {
        if (strncmp(net, usual[i].net, strlen(usual[i].net)) == 0) {
            style = style ? style : usual[i].style;
            l->content = l->content ? l->content : usual[i].content;
        }
    }
    if (!style || !l->content) {
        return eg_failf(EG_EINVAL, op, "which layers of %.60s? --style-layers and --content-layer say it", net);
    }
    for (const char *at = style + strspn(style, ", "); *at; at += strcspn(at, ", "), at += strspn(at, ", ")) {
        int length = (int)strcspn(at, ", ");
        if (l->count == LAYERS_MOST || length >= NAME_SIZE) {
            return eg_failf(EG_EINVAL, op, "--style-layers are at most %d, of %d letters each", LAYERS_MOST,
                            NAME_SIZE - 1);
        }
        snprintf(l->layers[l->count++], NAME_SIZE, "%.*s", length, at);
    }
    int length = snprintf(l->taps, sizeof l->taps, "%s, %s", style, l->content);
    return l->count && length < (int)sizeof l->taps ? EG_OK : eg_fail(EG_EINVAL, op, "--style-layers names no layer");
}

/* ---- what the net is shown -------------------------------------------------------------------------- */

/* Of 0..255, R, G, B: minus these, over those. */
static const struct {
    const char *name;
    double mean[3], deviation[3];
} ways[] = {
    {"caffe", {CANVAS_RED, CANVAS_GREEN, CANVAS_BLUE}, {1, 1, 1}}, /* the only one in B, G, R: as a canvas is */
    {"vgg", {123.68, 116.78, 103.94}, {1, 1, 1}},
    {"torch", {255 * 0.485, 255 * 0.456, 255 * 0.406}, {255 * 0.229, 255 * 0.224, 255 * 0.225}},
    {"inception", {127.5, 127.5, 127.5}, {127.5, 127.5, 127.5}},
};

static eg_status choose_way(look *l)
{
    static const double canvas[] = {CANVAS_RED, CANVAS_GREEN, CANVAS_BLUE};
    const char *own =
        l->o->trunk.weights ? eg_model_find(l->o->trunk.net).preprocessing : "vgg"; /* chance wants none */
    const char *name = l->o->prepared ? l->o->prepared : strcmp(own, "vgg") != 0 ? own : "caffe";
    int at = 0, last = (int)(sizeof ways / sizeof *ways) - 1;
    while (at < last && strcmp(ways[at].name, name) != 0) {
        at++; /* the last one for those of small images too */
    }
    double scale[3], shift[3];
    for (int c = 0; c < 3; c++) {
        scale[c] = 1 / ways[at].deviation[c];
        shift[c] = (canvas[c] - ways[at].mean[c]) * scale[c];
    }
    l->turned = at > 0;
    EG_SCOPE {
        l->scale = eg_keep(eg_from_values(EG_SHAPE(3), EG_F32, scale));
        l->shift = eg_keep(eg_from_values(EG_SHAPE(3), EG_F32, shift));
    }
    return l->scale && l->shift ? EG_OK : eg_last_error()->code;
}

static eg_tensor *prepared(const look *l, eg_tensor *canvas)
{
    return l->turned ? eg_scale_channels(eg_flip(canvas, EG_AXES(1)), l->scale, l->shift) : canvas;
}

/* ---- to begin with ---------------------------------------------------------------------------------- */

static eg_status begin(eg_run *run, look *l)
{
    eg_status st = choose_layers(l);
    l->trunk = st ? NULL : trunk_new(&l->o->trunk, l->taps);
    st = st || l->trunk ? st : eg_last_error()->code;
    st = st ? st : eg_module_to_device(l->trunk, eg_run_device(run));
    EG_RUN_COMPUTES(run)
    {
        st = st ? st : choose_way(l);
    }
    return st;
}

look *look_open(eg_run *run, const look_options *o)
{
    if (eg_run_status(run)) {
        return NULL;
    }
    look *l = calloc(1, sizeof *l);
    if (!l) {
        eg_fail(EG_ENOMEM, op, "out of memory");
    }
    if (eg_run_own(run, l, free_look)) {
        return NULL;
    }
    l->o = o;
    return eg_run_heed(run, begin(run, l)) ? NULL : l;
}

eg_module *look_trunk(look *l)
{
    return l ? l->trunk : NULL;
}

/* ---- to compare ------------------------------------------------------------------------------------- */

/* What the layers make of it; the caller frees it. */
static eg_tensors *see(look *l, eg_tensor *canvas)
{
    eg_tensors *seen = eg_tensors_new();
    if (seen && !eg_module_forward_taps(l->trunk, prepared(l, canvas), l->taps, seen)) {
        eg_tensors_free(seen);
        return NULL;
    }
    return seen;
}

static eg_tensor *gram(eg_tensor *features)
{
    eg_tensor *f = eg_flatten(eg_cast(features, EG_F32), 2, -1);
    return eg_mul_scalar(eg_matmul(f, eg_transpose(f, 1, 2)), 1.0 / (double)eg_size(f, 2));
}

eg_status look_like(look *l, eg_tensor *canvas)
{
    eg_tensors *seen = see(l, canvas);
    eg_status st = seen ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < l->count && !st; i++) {
        eg_release(l->grams[i]);
        l->grams[i] = eg_keep(gram(eg_tensors_get(seen, l->layers[i])));
        st = l->grams[i] ? EG_OK : eg_last_error()->code;
    }
    eg_tensors_free(seen);
    return st;
}

eg_tensor *look_content(look *l, eg_tensor *canvas)
{
    eg_tensors *seen = see(l, canvas);
    eg_tensor *content = seen ? eg_detach(eg_tensors_get(seen, l->content)) : NULL;
    eg_tensors_free(seen);
    return content;
}

static eg_tensor *far(eg_tensor *a, eg_tensor *b)
{
    return eg_mean(eg_square(eg_sub(a, b)));
}

/* Neighbours below and beside each other. */
static eg_tensor *roughness(eg_tensor *canvas)
{
    return eg_add(eg_mean(eg_square(eg_diff(canvas, 2))), eg_mean(eg_square(eg_diff(canvas, 3))));
}

look_losses look_compare(look *l, eg_tensor *canvas, eg_tensor *content)
{
    look_losses made = {.total = NULL};
    eg_tensors *seen = see(l, canvas);
    if (seen) {
        eg_tensor *sum = NULL;
        for (int i = 0; i < l->count; i++) {
            eg_tensor *each = far(gram(eg_tensors_get(seen, l->layers[i])), l->grams[i]);
            sum = i ? eg_add(sum, each) : each;
        }
        made.style = eg_mul_scalar(sum, l->o->style / l->count);
        eg_tensor *features = eg_cast(eg_tensors_get(seen, l->content), EG_F32);
        made.content = eg_mul_scalar(far(features, eg_cast(content, EG_F32)), l->o->content);
        made.total = eg_add(made.style, made.content);
    }
    if (seen && l->o->smooth > 0) {
        made.smooth = eg_mul_scalar(roughness(canvas), l->o->smooth);
        made.total = eg_add(made.total, made.smooth);
    }
    eg_tensors_free(seen);
    return made;
}
