/* parts.c - what nets for images are made of. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/models/vision/parts.h"

/* ---- options ------------------------------------------------------------------------------------ */

typedef struct refusal {
    bool given;
    int takes; /* what a net must take for it */
    const char *name;
} refusal;

static bool refused(const char *op, const eg_model_options *o, int takes)
{
    const refusal all[] = {
        {o->side != 0, EG__TAKES_SIDE, "side"},
        {o->drop_path != 0, EG__TAKES_DROP_PATH, "drop_path"},
        {o->width != 0, EG__TAKES_WIDTH, "width"},
        {o->output_stride != 0, EG__TAKES_STRIDE, "output_stride"},
        {o->no_aux, EG__TAKES_AUX, "no_aux"},
        {(o->bn_momentum != 0 || o->bn_eps != 0) && (takes & EG__TAKES_NO_NORM), 0, "bn_momentum or bn_eps"},
        {o->dropout != 0 && (takes & EG__TAKES_NO_DROPOUT), 0, "dropout"},
        {o->no_global_pool && (takes & EG__TAKES_WHOLE), 0, "no_global_pool"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].given && !(takes & all[i].takes)) {
            eg_failf(EG_EINVAL, op, "this net has no place for %s", all[i].name);
            return true;
        }
    }
    return false;
}

bool eg__model_options(const char *op, const eg_model_options *given, int64_t classes, int64_t channels, int takes,
                       eg_model_options *o)
{
    eg__options(o, sizeof *o, given);
    if (refused(op, o, takes)) {
        return false;
    }
    o->classes = o->classes ? o->classes : classes;
    o->channels = o->channels ? o->channels : channels;
    if ((o->classes < 1 && o->classes != EG_NO_CLASSES) || o->channels < 1) {
        eg_failf(EG_EINVAL, op, "%lld classes of images of %lld channels: at least 1 of each", (long long)o->classes,
                 (long long)o->channels);
        return false;
    }
    double parts[] = {eg__or(o->dropout, 0), eg__or(o->drop_path, 0), eg__or(o->bn_momentum, 0)};
    for (int i = 0; i < 3; i++) {
        if (!(parts[i] >= 0 && parts[i] <= 1)) {
            eg_failf(EG_EINVAL, op, "%s is %g, must be 0..1",
                     (const char *[]){"dropout", "drop_path", "bn_momentum"}[i], parts[i]);
            return false;
        }
    }
    if (!(o->width >= 0 && o->width <= 8) || o->side < 0 || o->side > 65536 ||
        (o->output_stride && o->output_stride != 8 && o->output_stride != 16 && o->output_stride != 32)) {
        eg_failf(EG_EINVAL, op, "width %g, side %lld, output_stride %lld: 0..8, 0..65536, and 8, 16 or 32", o->width,
                 (long long)o->side, (long long)o->output_stride);
        return false;
    }
    return true;
}

int64_t eg__divisible(double channels)
{
    int64_t near = (int64_t)(channels + 4) / 8 * 8;
    near = near > 8 ? near : 8;
    return (double)near < 0.9 * channels ? near + 8 : near;
}

/* ---- convolutions ------------------------------------------------------------------------------- */

eg__style eg__style_of(const eg_model_options *o, double momentum, double eps, eg_tensor *(*activation)(eg_tensor *x))
{
    return (eg__style){.momentum = o->bn_momentum != 0 ? o->bn_momentum : momentum,
                       .eps = o->bn_eps != 0 ? o->bn_eps : eps,
                       .activation = activation};
}

eg_module *eg__norm_new(const eg__style *s, int64_t channels, bool linear)
{
    return eg_batch_norm_new(channels, .momentum = s->momentum, .eps = s->eps, .no_weight = s->no_weight,
                             .relu = !linear && s->activation == eg_relu);
}

eg_module *eg__conv_new_with(const eg__style *s, const char *name, int64_t in, int64_t out, int64_t kernel, eg__conv o)
{
    eg_module *part[3];
    int n = 0;
    part[n++] = eg_named("conv", eg_conv2d_new(in, out, .kernel = kernel, .kernels = {o.rows, o.columns},
                                               .stride = o.stride, .dilation = o.dilation, .groups = o.groups,
                                               .padding = o.valid ? EG_VALID
                                                          : o.pad ? o.pad
                                                                  : EG_SAME,
                                               .no_bias = !o.no_norm));
    if (!o.no_norm) {
        part[n++] = part[0] ? eg_named("norm", eg__norm_new(s, out, o.linear)) : NULL;
    }
    if (!o.linear && (o.no_norm || s->activation != eg_relu)) {
        part[n] = part[n - 1] ? eg_activation_new(s->activation) : NULL;
        n++;
    }
    return eg_named(name, eg_sequential_new_with(part, n));
}

eg_module *eg__max_pool_new(int64_t kernel, int64_t stride, int64_t padding)
{
    return eg_max_pool2d_new(.kernel = kernel, .stride = stride, .padding = padding);
}

eg_module *eg__avg_pool_new(int64_t kernel, int64_t stride, int64_t padding)
{
    return eg_avg_pool2d_new(.kernel = kernel, .stride = stride, .padding = padding);
}

typedef struct dense_conv {
    eg_module base;
    eg_tensor *weight, *bias;
} dense_conv;

static eg_tensor *dense_conv_forward(eg_module *m, eg_tensor *x)
{
    dense_conv *d = (dense_conv *)m;
    int64_t out = eg_size(d->weight, 0), kernel = eg_size(d->weight, 2);
    if (eg_ndim(x) != 4 || eg_size(x, 2) != kernel || eg_size(x, 3) != kernel) {
        return eg_relu(eg_conv2d(x, d->weight, d->bias));
    }
    eg_tensor *y = eg_linear(eg_flatten(x, 1, -1), eg_flatten(d->weight, 1, -1), d->bias, .activation = eg_relu);
    return eg_reshape(y, EG_SHAPE(eg_size(x, 0), out, 1, 1));
}

static void dense_conv_members(eg_module *m, eg_members *members)
{
    eg_member_parameter(members, "weight", &((dense_conv *)m)->weight);
    eg_member_parameter(members, "bias", &((dense_conv *)m)->bias);
}

static const eg_module_kind dense_conv_kind = {
    .size = sizeof(eg_module_kind), .name = "dense_conv", .forward = dense_conv_forward, .members = dense_conv_members};

eg_module *eg__dense_conv_new(const char *name, int64_t in, int64_t out, int64_t kernel)
{
    dense_conv *d = eg_module_new(sizeof *d, &dense_conv_kind);
    if (!d) {
        return NULL;
    }
    EG_SCOPE {
        d->weight = eg_parameter(eg_empty(EG_SHAPE(out, in, kernel, kernel), EG_F32));
        d->bias = d->weight ? eg_parameter(eg_zeros(EG_SHAPE(out), EG_F32)) : NULL;
    }
    return eg__begin(eg_named(name, eg_module_finish(&d->base)), EG_GLOROT_UNIFORM);
}

/* ---- heads -------------------------------------------------------------------------------------- */

typedef struct head {
    eg_module base;
    eg_module *drop, *fc; /* fc: NULL without classes */
    bool everywhere;
} head;

static eg_tensor *head_forward(eg_module *m, eg_tensor *x)
{
    head *h = (head *)m;
    if (!h->everywhere) {
        eg_tensor *mean = eg_ndim(x) == 4 ? eg_mean(x, .axes = EG_AXES(2, 3)) : x;
        return h->fc ? eg_module_forward(h->fc, eg_module_forward(h->drop, mean)) : mean;
    }
    eg_tensor *places = h->fc ? eg_permute(eg_module_forward(h->drop, x), EG_AXES(0, 2, 3, 1)) : x;
    return h->fc ? eg_permute(eg_module_forward(h->fc, places), EG_AXES(0, 3, 1, 2)) : x;
}

static void head_members(eg_module *m, eg_members *members)
{
    head *h = (head *)m;
    eg_member_child(members, "dropout", &h->drop);
    if (h->fc) {
        eg_member_child(members, "fc", &h->fc);
    }
}

static const eg_module_kind head_kind = {
    .size = sizeof(eg_module_kind), .name = "head", .forward = head_forward, .members = head_members};

eg_module *eg__head_new(const char *name, int64_t in, int64_t classes, double dropout, const eg_model_options *o)
{
    head *h = eg_module_new(sizeof *h, &head_kind);
    if (!h) {
        return NULL;
    }
    h->everywhere = o->no_global_pool;
    h->drop = eg_dropout_new(eg__or(o->dropout, dropout));
    h->fc = h->drop && classes != EG_NO_CLASSES ? eg_linear_new(in, classes) : NULL;
    bool good = h->drop && (h->fc || classes == EG_NO_CLASSES);
    eg_module *done = eg_module_finish(&h->base);
    if (!good) {
        eg_module_free(done);
        return NULL;
    }
    return eg_named(name, done);
}

/* ---- auxiliary heads ---------------------------------------------------------------------------- */

/* Of the eg_model_forward under way in this thread. */
static _Thread_local struct {
    bool wanted;
    eg_tensor *made; /* kept */
} aux;

bool eg__aux_wanted(const eg_module *m)
{
    return aux.wanted && m->training;
}

void eg__aux_made(eg_tensor *logits)
{
    eg_release(aux.made);
    aux.made = logits ? eg_keep(logits) : NULL;
}

eg_logits eg_model_forward(eg_module *m, eg_tensor *x)
{
    eg_logits r = {NULL, NULL};
    bool before = aux.wanted;
    eg_tensor *outer = aux.made;
    aux.wanted = true;
    aux.made = NULL;
    r.logits = eg_module_forward(m, x);
    eg_tensor *made = aux.made;
    aux.wanted = before;
    aux.made = outer;
    if (!made) {
        return r;
    }
    r.aux = r.logits ? eg_scope_adopt(made) : NULL;
    if (!r.aux) {
        eg_release(made);
        r.logits = NULL;
    }
    return r;
}

typedef struct with_aux {
    eg_module base;
    eg_module *body, *aux, *rest; /* aux: NULL without one */
} with_aux;

static eg_tensor *with_aux_forward(eg_module *m, eg_tensor *x)
{
    with_aux *w = (with_aux *)m;
    eg_tensor *middle = eg_module_forward(w->body, x);
    if (w->aux && middle && eg__aux_wanted(m)) {
        eg_tensor *logits = eg_module_forward(w->aux, middle);
        if (!logits) {
            return NULL;
        }
        eg__aux_made(logits);
    }
    return eg_module_forward(w->rest, middle);
}

static void with_aux_members(eg_module *m, eg_members *members)
{
    with_aux *w = (with_aux *)m;
    eg_member_child(members, "body", &w->body);
    if (w->aux) {
        eg_member_child(members, "aux", &w->aux);
    }
    eg_member_child(members, "rest", &w->rest);
}

static const eg_module_kind with_aux_kind = {
    .size = sizeof(eg_module_kind), .name = "with_aux", .forward = with_aux_forward, .members = with_aux_members};

eg_module *eg__with_aux_new(eg_module *body, eg_module *side, eg_module *rest, const eg_model_options *o)
{
    bool none = o->no_aux || o->classes == EG_NO_CLASSES;
    with_aux *w = body && rest && (side || none) ? eg_module_new(sizeof *w, &with_aux_kind) : NULL;
    if (!w) {
        eg_module_free(body);
        eg_module_free(side);
        eg_module_free(rest);
        return NULL;
    }
    w->body = body;
    w->aux = side;
    w->rest = rest;
    return eg_module_finish(&w->base);
}

eg_module *eg__aux_new(const eg__style *s, int64_t in, int64_t places, int64_t classes, const eg_model_options *o)
{
    if (o->no_aux || classes == EG_NO_CLASSES) {
        return NULL;
    }
    const eg_model_options whole = {.size = sizeof whole};
    return eg_sequential_new(eg__avg_pool_new(5, 3, EG_VALID), eg__conv_new(s, "Conv2d_1b_1x1", in, 128, 1),
                             eg__conv_new(s, "Conv2d_2a", 128, 768, places, .valid = true),
                             eg__head_new("Logits", 768, classes, 0, &whole));
}
