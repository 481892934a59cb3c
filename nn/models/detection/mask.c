/* mask.c - which cells of a box are the object (He et al. 2017). */
#include "nn/models/detection/detection.h"

enum { CONVS = 4, SIDE = EG__MASK_SIDE / 2 };

typedef struct mask_head {
    eg_module base;
    eg_module *conv[CONVS], *up, *logits;
} mask_head;

static eg_tensor *forward(eg_module *m, eg_tensor *x)
{
    mask_head *h = (mask_head *)m;
    for (int i = 0; i < CONVS; i++) {
        x = eg_relu(eg_module_forward(h->conv[i], x));
    }
    return eg_module_forward(h->logits, eg_relu(eg_module_forward(h->up, x)));
}

eg_tensor *eg__mask_logits(eg_module *m, const eg__regions *r, const eg__levels *l, eg_tensor *labels, int64_t classes)
{
    eg_tensor *x = eg_module_forward(m, eg__regions_cells(r, l, SIDE));
    if (!x) {
        return NULL;
    }
    x = eg_reshape(x, EG_SHAPE(eg_size(labels, 0) * classes, EG__MASK_SIDE, EG__MASK_SIDE));
    return eg__rows_of_labels(eg_cast(x, eg_dtype_of(r->boxes)), labels, classes);
}

eg_tensor *eg__mask_loss(eg_tensor *logits, const eg__regions *r, eg_tensor *masks, eg_tensor *which)
{
    masks = eg_unsqueeze(eg_cast(masks, eg_dtype_of(r->boxes)), 1);
    eg_tensor *wanted = eg_roi_align(masks, r->boxes, which, EG__MASK_SIDE, EG__MASK_SIDE);
    return eg_bce_with_logits(logits, eg_squeeze(wanted, EG_AXES(1)));
}

/* ---- the module --------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    static const char *const names[CONVS] = {"conv1", "conv2", "conv3", "conv4"};
    mask_head *h = (mask_head *)m;
    for (int i = 0; i < CONVS; i++) {
        eg_member_child(walk, names[i], &h->conv[i]);
    }
    eg_member_child(walk, "up", &h->up);
    eg_member_child(walk, "logits", &h->logits);
}

static const eg_module_kind kind = {
    .size = sizeof(eg_module_kind), .name = "mask_head", .forward = forward, .members = members};

eg_module *eg__mask_head_new(int64_t width, int64_t classes)
{
    mask_head *h = eg_module_new(sizeof *h, &kind);
    if (!h) {
        return NULL;
    }
    for (int i = 0; i < CONVS; i++) {
        h->conv[i] = eg_conv2d_new(width, width, .kernel = 3, .padding = 1);
    }
    h->up = eg_conv_transpose2d_new(width, width, .kernel = 2, .stride = 2);
    h->logits = eg_conv2d_new(width, classes, .kernel = 1);
    return eg__begin(eg_module_finish(&h->base), EG_HE_NORMAL, .fan_out = true);
}
