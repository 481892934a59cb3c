/* loss.c - losses: cross entropy of labels as an op of its own, the others as compositions. */
#include <math.h>

#include "lib/core/follower.h"
#include "lib/ops/index.h"

/* What divides the mean: a number, or the sum of a tensor where that is not known on the host. */
typedef struct total {
    double count;
    eg_tensor *weights;
} total;

static eg_tensor *mean(eg_tensor *sum, eg_tensor *weights)
{
    eg_tensor *by = eg_sum(weights); /* by nothing is 0 */
    by = by && !eg__is_float(by->dtype) ? eg_cast(by, EG_F64) : by;
    eg_tensor *none = eg_scalar((double)INFINITY, by ? (eg_dtype)by->dtype : EG_F32);
    eg_tensor *mean = by ? eg_div(sum, eg_where(eg_ne_scalar(by, 0), by, none)) : NULL;
    return mean ? eg_cast(mean, (eg_dtype)sum->dtype) : NULL;
}

static eg_tensor *reduce(const char *op, eg_tensor *each, eg_reduction how, total t)
{
    double count = t.count;
    if (!each || how == EG_NONE) {
        return each;
    }
    if ((unsigned)how > EG_BATCH_MEAN) {
        return eg__fail_null(EG_EINVAL, op, "reduction is %d, which is none", (int)how);
    }
    if (how == EG_BATCH_MEAN) {
        count = each->ndim ? (double)each->shape[0] : 1;
    }
    eg_tensor *sum = eg_sum(each);
    if (t.weights && how == EG_MEAN && sum) {
        return mean(sum, t.weights);
    }
    return how == EG_SUM || count == 1 ? sum : eg_mul_scalar(sum, count != 0 ? 1 / count : 0);
}

/* ---- element by element ---------------------------------------------------------------------- */

static const eg_loss_options plain = {0};

/* Options that only some losses have. */
enum { DELTA = 1, BETA = 2, ALPHA = 4, GAMMA = 8, LOG_TARGET = 16, POS_WEIGHT = 32 };

/* Refuses options that the loss does not have, which are otherwise ignored. */
static bool has_options(const char *op, const eg_loss_options *o, int has)
{
    const struct {
        const char *name;
        int bit;
        bool given;
    } some[] = {
        {"delta", DELTA, o->delta != 0},           {"beta", BETA, o->beta != 0},
        {"alpha", ALPHA, o->alpha != 0},           {"gamma", GAMMA, o->gamma != 0},
        {"log_target", LOG_TARGET, o->log_target}, {"pos_weight", POS_WEIGHT, o->pos_weight != NULL},
    };
    char known[128] = "reduction, weight";
    const char *unknown = NULL;
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        size_t end = strlen(known);
        if (has & some[k].bit) {
            snprintf(known + end, sizeof known - end, ", %s", some[k].name);
        } else if (some[k].given && !unknown) {
            unknown = some[k].name;
        }
    }
    if (unknown) {
        eg__fail(EG_EINVAL, op, "has no option %s; its options are %s", unknown, known);
    }
    return !unknown;
}

/* The operands of a loss; halves are computed with, and their mean taken, in f32. */
static eg__wide begin(eg_tensor **x, eg_tensor **y, const eg_loss_options *o)
{
    eg_tensor *weight = o->weight; /* for the dtype of the result */
    return EG__WIDE_BEGIN(x, y, &weight);
}

static eg_tensor *finish(const char *op, eg__wide s, eg_tensor *each, const eg_loss_options *o)
{
    each = each && o->weight ? eg_mul(each, o->weight) : each;
    return eg__wide_end_full(s, each ? reduce(op, each, o->reduction, (total){(double)each->n, NULL}) : NULL);
}

eg_tensor *eg_l1_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    if (!has_options("l1_loss", o, 0)) {
        return NULL;
    }
    eg__wide s = begin(&x, &y, o);
    return finish("l1_loss", s, eg_abs(eg_sub(x, y)), o);
}

eg_tensor *eg_mse_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    if (!has_options("mse_loss", o, 0)) {
        return NULL;
    }
    eg__wide s = begin(&x, &y, o);
    return finish("mse_loss", s, eg_square(eg_sub(x, y)), o);
}

/* scale d^2 / 2 for |d| <= edge, beyond as a line. */
static eg_tensor *bent(const char *op, eg_tensor *x, eg_tensor *y, double edge, double scale, const eg_loss_options *o)
{
    eg__wide s = begin(&x, &y, o);
    eg_tensor *d = eg_sub(x, y), *a = eg_abs(d);
    eg_tensor *line = eg_mul_scalar(eg_sub_scalar(a, edge / 2), edge * scale);
    eg_tensor *curve = eg_mul_scalar(eg_square(d), 0.5 * scale);
    return finish(op, s, eg_where(eg_le_scalar(a, edge), curve, line), o);
}

eg_tensor *eg_huber_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    double delta = eg__or(o->delta, 1);
    if (!has_options("huber_loss", o, DELTA)) {
        return NULL;
    }
    if (!(delta > 0)) {
        return eg__fail_null(EG_EINVAL, "huber_loss", "delta is %g, must be above 0", delta);
    }
    return bent("huber_loss", x, y, delta, 1, o);
}

eg_tensor *eg_smooth_l1_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    double beta = eg__or(o->beta, 1);
    if (!has_options("smooth_l1_loss", o, BETA)) {
        return NULL;
    }
    if (!(beta >= 0)) {
        return eg__fail_null(EG_EINVAL, "smooth_l1_loss", "beta is %g, must not be negative", beta);
    }
    if (beta == 0) {
        eg_loss_options l1 = *o;
        l1.beta = 0;
        return eg_l1_loss_with(x, y, &l1);
    }
    return bent("smooth_l1_loss", x, y, beta, 1 / beta, o);
}

eg_tensor *eg_bce_with_logits_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    if (!has_options("bce_with_logits", o, POS_WEIGHT)) {
        return NULL;
    }
    eg_tensor *p = o->pos_weight, *weight = o->weight, *each;
    eg__wide s = EG__WIDE_BEGIN(&x, &y, &p, &weight);
    if (p) { /* (1 + (p - 1) y) softplus(-x) + (1 - y) x */
        eg_tensor *more = eg_mul(eg_sub_scalar(p, 1), y);
        eg_tensor *miss = eg_softplus(eg_neg(x));
        each = eg_add(eg_add(miss, eg_mul(more, miss)), eg_sub(x, eg_mul(x, y)));
    } else { /* the formula of the header, so written that it never overflows */
        each = eg_sub(eg_softplus(x), eg_mul(x, y));
    }
    return finish("bce_with_logits", s, each, o);
}

eg_tensor *eg_sigmoid_focal_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    static const char op[] = "sigmoid_focal_loss";
    o = o ? o : &plain;
    double alpha = o->alpha != 0 ? o->alpha : 0.25, gamma = eg__or(o->gamma, 2);
    if (!has_options(op, o, ALPHA | GAMMA)) {
        return NULL;
    }
    if (!(alpha <= 1) || !(gamma >= 0)) {
        return eg__fail_null(EG_EINVAL, op, "alpha is %g, must be up to 1; gamma is %g, must not be negative", alpha,
                             gamma);
    }
    eg__wide s = begin(&x, &y, o);
    eg_tensor *each = eg_sub(eg_softplus(x), eg_mul(x, y)), *p = eg_sigmoid(x);
    eg_tensor *wrong = eg_sub(eg_add(p, y), eg_mul_scalar(eg_mul(p, y), 2)); /* 1 - q */
    each = eg_mul(each, gamma == 2 ? eg_square(wrong) : eg_pow_scalar(wrong, gamma));
    if (alpha >= 0) {
        each = eg_mul(each, eg_add_scalar(eg_mul_scalar(y, 2 * alpha - 1), 1 - alpha));
    }
    return finish(op, s, each, o);
}

/* log x, not below -100; its slope is 1 / x, and 0 where that could overflow. */
static eg_tensor *bounded_log(eg_tensor *x)
{
    eg_tensor *safe = eg_gt_scalar(x, 1e-38);
    eg_tensor *low = eg_clamp_min(eg_log(eg_detach(x)), -100);
    return eg_where(safe, eg_log(eg_where(safe, x, eg_ones_like(x))), low);
}

eg_tensor *eg_bce_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    if (!has_options("bce", o, 0)) {
        return NULL;
    }
    eg__wide s = begin(&x, &y, o);
    eg_tensor *no = bounded_log(eg_add_scalar(eg_neg(x), 1)), *yes = bounded_log(x);
    /* Not no + y (yes - no): where no is -100 and y nearly 1 little is left of it. */
    eg_tensor *each = eg_sub(eg_mul(eg_sub(y, eg_scalar(1, EG_F32)), no), eg_mul(y, yes));
    return finish("bce", s, each, o);
}

eg_tensor *eg_kl_div_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    o = o ? o : &plain;
    if (!has_options("kl_div", o, LOG_TARGET)) {
        return NULL;
    }
    eg__wide s = begin(&x, &y, o);
    eg_tensor *each = o->log_target ? eg_mul(eg_exp(y), eg_sub(y, x)) : eg_sub(eg_xlogy(y, y), eg_mul(y, x));
    return finish("kl_div", s, each, o);
}

/* ---- classes: checks ------------------------------------------------------------------------- */

static const eg_cross_entropy_options unweighted = {0};

static int class_axis(const eg_tensor *x)
{
    return x->ndim > 1;
}

/* Whether the shape is x's without its classes. */
static bool shaped_as_labels(const eg_tensor *x, const eg_tensor *labels)
{
    bool same = labels->ndim == x->ndim - 1;
    for (int d = 0, k = 0; same && d < x->ndim; d++) {
        same = d == class_axis(x) || x->shape[d] == labels->shape[k++];
    }
    return same;
}

static eg_status check_options(const char *op, const eg_tensor *x, const eg_cross_entropy_options *o)
{
    const eg_tensor *w = o->weight;
    const int64_t classes = x->shape[class_axis(x)];
    if (o->ignore_index && !o->ignore) {
        return eg__fail(EG_EINVAL, op, "ignore_index is %lld without .ignore = true, which it needs",
                        (long long)o->ignore_index);
    }
    if (!(o->label_smoothing >= 0 && o->label_smoothing <= 1)) {
        return eg__fail(EG_EINVAL, op, "label_smoothing is %g, must be 0..1", o->label_smoothing);
    }
    if (w && eg__check(w, op, "weight")) {
        return eg__why();
    }
    if (w && (w->ndim != 1 || w->shape[0] != classes)) {
        return eg__fail(EG_ESHAPE, op, "weight is %s, must be [%lld], one per class", EG__SHAPE_OF(w),
                        (long long)classes);
    }
    if (w && !eg__is_float(w->dtype)) {
        return eg__fail(EG_EDTYPE, op, "weight is %s, not a float", eg_dtype_name((eg_dtype)w->dtype));
    }
    return EG_OK;
}

/* Shapes and dtypes that go together; `dense` where targets of x's shape will do, and says if they
 * came. */
static eg_status check_classes(const char *op, const eg_tensor *x, const eg_tensor *labels,
                               const eg_cross_entropy_options *o, bool *dense)
{
    const char *more = dense ? ", or targets of the logits' shape" : "";
    if (eg__check(x, op, "x") || eg__check(labels, op, dense ? "target" : "labels")) {
        return eg__why();
    }
    bool full = dense && eg__same_shape(x, labels) && x->ndim;
    if (!full && (!shaped_as_labels(x, labels) || (x->n == 0 && labels->n > 0))) {
        return eg__fail(EG_ESHAPE, op,
                        "logits %s and labels %s: [N, classes, ...] and [N, ...] go "
                        "together%s",
                        EG__SHAPE_OF(x), EG__SHAPE_OF(labels), more);
    }
    if (!eg__is_float(x->dtype) || (full ? !eg__is_float(labels->dtype) : !(EG__INTS >> labels->dtype & 1))) {
        return eg__fail(EG_EDTYPE, op, "logits %s and %s %s: floats and %s go together",
                        eg_dtype_name((eg_dtype)x->dtype), full ? "targets" : "labels",
                        eg_dtype_name((eg_dtype)labels->dtype), full ? "floats" : "i64, i32 or u8");
    }
    if (full && o->ignore) {
        return eg__fail(EG_EINVAL, op, "ignore_index is for labels, not for targets of every class");
    }
    if (dense) {
        *dense = full;
    }
    return check_options(op, x, o);
}

/* Which labels are not ignored. */
static eg_tensor *counting(eg_tensor *labels, const eg_cross_entropy_options *o)
{
    eg_tensor *index = eg_scalar(0, EG_I64);
    if (index) {
        *(int64_t *)eg__ptr(index) = o->ignore_index; /* all of its bits */
    }
    return eg_ne(labels, index);
}

static bool together(const char *op, const eg_tensor *weight, const eg_tensor *labels)
{
    if (weight->device == labels->device) {
        return true;
    }
    eg__fail(EG_EDEVICE, op, "weight is on %s, the labels are on %s", eg_device_name(eg_device_of(weight)),
             eg_device_name(eg_device_of(labels)));
    return false;
}

/* The labels checked, as contiguous i64, -1 where ignored; the sum of the weights of the others. */
static eg_tensor *checked_labels(const char *op, eg_tensor *labels, const eg_tensor *weight, int64_t classes,
                                 const eg_cross_entropy_options *o, total *sums)
{
    eg_tensor *l = eg_contiguous(eg_cast(labels, EG_I64));
    const int64_t n = l ? l->n : 0, *in = l ? (const int64_t *)eg__ptr(l) : NULL;
    int64_t ignored = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (o->ignore && in[i] == o->ignore_index) {
            ignored++;
        } else if (in[i] < 0 || in[i] >= classes) {
            return eg__fail_null(EG_EINDEX, op, "label %lld of row %lld is outside 0..%lld", (long long)in[i],
                                 (long long)i, (long long)classes - 1);
        } else if (weight) {
            sum += eg__load(eg__ptr(weight), weight->dtype, in[i]);
        }
    }
    sums->count = weight ? sum : (double)(n - ignored);
    if (!ignored) {
        return l;
    }
    return eg_where(counting(l, o), l, eg_scalar(-1, EG_I64));
}

/* ---- classes: the losses --------------------------------------------------------------------- */

eg_status eg__infer_cross_entropy(eg__call *c)
{
    const eg_tensor *x = c->in[0];
    for (int j = 0; j < 2; j++) {
        eg__desc *d = &c->desc[j];
        d->dtype = x->dtype == EG_F64 ? EG_F64 : EG_F32;
        d->ndim = (uint8_t)(1 + j);
        d->shape[0] = x->shape[0];
        d->shape[1] = 2 + (c->device != 0); /* devices add the weight of the label */
        eg__desc_dense(d);
    }
    return EG_OK;
}

eg_status eg__infer_cross_entropy_grad(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[1]);
    c->desc[0].dense = true;
    return EG_OK;
}

/* [rows, classes], a view where the classes lie side by side. */
static eg_tensor *rows_of(eg_tensor *x)
{
    int64_t classes = x->shape[class_axis(x)];
    eg_axes last = {.count = x->ndim};
    if (x->ndim == 2) {
        return x;
    }
    for (int d = 0; d < x->ndim; d++) {
        last.axis[d] = d == 0 ? 0 : d < x->ndim - 1 ? d + 1 : 1;
    }
    eg_tensor *turned = x->ndim > 2 ? eg_permute(x, last) : x;
    return eg_reshape(turned, EG_SHAPE(classes ? x->n / classes : 0, classes));
}

/* The labels as the row cross_entropy wants them, [rows]. */
static eg_tensor *labels_of(const char *op, eg_tensor *labels, const eg_tensor *weight, int64_t classes,
                            const eg_cross_entropy_options *o, total *sums)
{
    sums->count = (double)labels->n;
    eg_tensor *l =
        labels->device ? eg_contiguous(eg_cast(labels, EG_I64)) : checked_labels(op, labels, weight, classes, o, sums);
    return l && l->ndim != 1 ? eg_reshape(l, EG_SHAPE(l->n)) : l;
}

/* The loss of each label, in the labels' shape; of halves f32. The CPU's kernels take no halves. */
static eg_tensor *label_losses(eg_tensor *x, eg_tensor *labels, const eg_cross_entropy_options *o, total *sums)
{
    static const char op[] = "cross_entropy";
    const int dtype = x->dtype == EG_F64 ? EG_F64 : EG_F32;
    const int64_t classes = x->shape[class_axis(x)];
    eg_tensor *weight = o->weight ? eg_contiguous(eg_cast(eg_detach(o->weight), (eg_dtype)dtype)) : NULL;
    if (o->weight && (!weight || !together(op, weight, labels))) {
        return NULL;
    }
    eg_tensor *l = labels_of(op, labels, weight, classes, o, sums);
    eg_tensor *logits = x->device ? x : eg_cast(x, (eg_dtype)dtype);
    eg_tensor *in[3] = {l && logits ? rows_of(logits) : NULL, l, weight};
    eg_tensor *out[EG__MAX_OUT];
    const eg__cross_entropy_opts opts = {o->label_smoothing, weight != NULL, o->ignore, o->ignore_index};
    if (!in[0] || !in[1] || eg__dispatch(&eg__op_cross_entropy, in, 3, &opts, out)) {
        return NULL;
    }
    if (labels->device && (weight || o->ignore) && !(sums->weights = eg_slice(eg_detach(out[1]), 1, 2, 3, 1))) {
        return NULL;
    }
    return labels->ndim == 1 ? out[0] : eg_reshape(out[0], eg_shape_of(labels));
}

/* The weights laid along the classes of x. */
static eg_tensor *along_classes(eg_tensor *weight, const eg_tensor *x)
{
    eg_shape s = {.ndim = x->ndim - class_axis(x), .dim = {x->shape[class_axis(x)], 1, 1, 1, 1, 1, 1, 1}};
    return eg_reshape(weight, s);
}

static eg_tensor *target_losses(eg_tensor *x, eg_tensor *t, eg_tensor *weight, const eg_cross_entropy_options *o)
{
    const int axis = class_axis(x);
    const double smoothing = o->label_smoothing;
    if (smoothing > 0 && x->n) {
        t = eg_add_scalar(eg_mul_scalar(t, 1 - smoothing), smoothing / (double)x->shape[axis]);
    }
    t = weight ? eg_mul(t, along_classes(weight, x)) : t;
    return eg_neg(eg_sum(eg_mul(t, eg_log_softmax(x, axis)), .axes = EG_AXES(axis)));
}

eg_tensor *eg_cross_entropy_with(eg_tensor *x, eg_tensor *target, const eg_cross_entropy_options *o)
{
    static const char op[] = "cross_entropy";
    bool dense = true;
    total sums = {0, NULL};
    o = o ? o : &unweighted;
    if (check_classes(op, x, target, o, &dense)) {
        return NULL;
    }
    if (!dense && eg__followed() && (o->ignore || o->weight)) { /* whose sum of weights is not told */
        const eg_dtype wide = x->dtype == EG_F64 ? EG_F64 : EG_F32;
        eg_scope told = eg_scope_push();
        eg_tensor *y = eg_nll_loss_with(eg_log_softmax(eg_cast(x, wide), class_axis(x)), target, o);
        return eg_scope_pop(told, y ? eg_cast(y, (eg_dtype)x->dtype) : NULL);
    }
    eg_tensor *weight = o->weight, *each;
    eg__wide s = {.dtype = eg__is_half(x->dtype) ? x->dtype : -1};
    if (dense) {
        s = EG__WIDE_BEGIN(&x, &target, &weight);
        each = x ? target_losses(x, target, weight, o) : NULL;
        sums.count = each ? (double)each->n : 0;
    } else {
        s.scope = eg_scope_push();
        each = label_losses(x, target, o, &sums);
    }
    return eg__wide_end_full(s, reduce(op, each, o->reduction, sums));
}

/* Of labels of nll_loss: a class to pick for each, and which count; NULL: all of them. */
typedef struct picks {
    eg_tensor *safe, *counts;
} picks;

static eg_status pick(const char *op, eg_tensor *labels, const eg_tensor *weight, int64_t classes,
                      const eg_cross_entropy_options *o, total *sums, picks *p)
{
    *p = (picks){NULL, NULL};
    if (!labels->device && !eg__followed()) {
        eg_tensor *l = checked_labels(op, labels, weight, classes, o, sums);
        p->counts = o->ignore ? eg_ge_scalar(l, 0) : NULL;
        p->safe = eg_clamp_min(l, 0);
    } else {
        eg_tensor *l = eg_contiguous(eg_cast(labels, EG_I64));
        sums->count = (double)labels->n;
        p->counts = o->ignore ? counting(l, o) : NULL;
        p->safe = o->ignore ? eg_where(p->counts, l, eg_scalar(0, EG_I64)) : l;
        p->safe = p->safe ? eg__checked_index(op, p->safe, classes, true) : NULL;
    }
    return p->safe && (p->counts || !o->ignore) ? EG_OK : eg__why();
}

eg_tensor *eg_nll_loss_with(eg_tensor *x, eg_tensor *labels, const eg_cross_entropy_options *o)
{
    static const char op[] = "nll_loss";
    total sums = {0, NULL};
    o = o ? o : &unweighted;
    if (check_classes(op, x, labels, o, NULL)) {
        return NULL;
    }
    const int axis = class_axis(x);
    eg_tensor *weight = o->weight;
    eg__wide s = EG__WIDE_BEGIN(&x, &weight);
    weight = weight ? eg_contiguous(eg_detach(weight)) : NULL;
    if (o->weight && (!weight || !together(op, weight, labels))) {
        return eg__wide_end(s, NULL);
    }
    picks p;
    if (!x || pick(op, labels, weight, x->shape[axis], o, &sums, &p)) {
        return eg__wide_end(s, NULL);
    }
    eg_tensor *each = eg_neg(eg_squeeze(eg_gather(x, axis, eg_unsqueeze(p.safe, axis)), EG_AXES(axis)));
    eg_tensor *picked = weight ? eg_index_select(weight, 0, p.safe) : NULL;
    each = weight ? eg_mul(each, picked) : each;
    if (o->label_smoothing > 0 && x->n) {
        eg_tensor *all = weight ? eg_mul(x, along_classes(weight, x)) : x;
        eg_tensor *spread =
            eg_mul_scalar(eg_sum(all, .axes = EG_AXES(axis)), -o->label_smoothing / (double)x->shape[axis]);
        each = eg_add(eg_mul_scalar(each, 1 - o->label_smoothing), spread);
    }
    if ((labels->device || eg__followed()) && (weight || o->ignore)) {
        sums.weights = !weight ? p.counts : !o->ignore ? picked : eg_mul(picked, p.counts);
        each = sums.weights ? each : NULL;
    }
    each = p.counts ? eg_where(p.counts, each, eg_scalar(0, (eg_dtype)x->dtype)) : each;
    return eg__wide_end_full(s, reduce(op, each, o->reduction, sums));
}
