/* loss.c - see loss.h. */
#include "loss.h"

#include <math.h>

/* ---- space and pictures -------------------------------------------------------------------------- */

static eg_tensor *first(eg_tensor *x)
{
    return eg_slice(x, 0, 0, eg_size(x, 0) / 2, 1);
}

static eg_tensor *second(eg_tensor *x)
{
    return eg_slice(x, 0, eg_size(x, 0) / 2, eg_size(x, 0), 1);
}

/* Of each view what belongs to the other one of its pair. */
static eg_tensor *swapped(eg_tensor *x)
{
    return eg_roll(x, eg_size(x, 0) / 2, 0);
}

static eg_tensor *with_depth(eg_tensor *xy, eg_tensor *z)
{
    return eg_concat((eg_tensor *[]){xy, z}, 2, 2);
}

eg_tensor *keypoints_unproject(eg_tensor *uvz, double focal)
{
    eg_tensor *uv = eg_slice(uvz, 2, 0, 2, 1), *z = eg_slice(uvz, 2, 2, 3, 1);
    return with_depth(eg_mul(eg_mul_scalar(uv, -1 / focal), z), z);
}

eg_tensor *keypoints_project(eg_tensor *xyz, double focal)
{
    eg_tensor *xy = eg_slice(xyz, 2, 0, 2, 1), *z = eg_slice(xyz, 2, 2, 3, 1);
    return with_depth(eg_div(eg_mul_scalar(xy, -focal), z), z);
}

/* Points [N, K, 3] moved by matrices [N, 4, 4]. */
static eg_tensor *moved(eg_tensor *xyz, eg_tensor *matrices)
{
    eg_tensor *rows = eg_slice(matrices, 1, 0, 3, 1);
    eg_tensor *turn = eg_transpose(eg_slice(rows, 2, 0, 3, 1), 1, 2);
    return eg_add(eg_matmul(xyz, turn), eg_transpose(eg_slice(rows, 2, 3, 4, 1), 1, 2));
}

eg_tensor *keypoints_in_other(eg_tensor *uvz, const views *v)
{
    eg_tensor *object = moved(keypoints_unproject(uvz, v->focal), v->back);
    return keypoints_project(moved(object, swapped(v->into)), v->focal);
}

eg_tensor *views_facing(const views *v)
{
    eg_tensor *x = eg_select(eg_select(v->into, 1, 0), 1, 0);
    return eg_cast(eg_gt_scalar(x, 0), eg_dtype_of(v->into));
}

/* ---- rotations ----------------------------------------------------------------------------------- */

static eg_tensor *centred(eg_tensor *x)
{
    return eg_sub(x, eg_mean(x, .axes = EG_AXES(1), .keepdim = true));
}

eg_tensor *keypoints_rotation(eg_tensor *x, eg_tensor *y)
{
    eg_tensor *u, *vh, *covariance = eg_matmul(eg_transpose(centred(y), 1, 2), centred(x));
    if (eg_svd(covariance, &u, NULL, &vh)) {
        return NULL;
    }
    /* Without it what is best may be a reflection. */
    eg_tensor *sign = eg_reshape(eg_det(eg_matmul(u, vh)), EG_SHAPE(-1, 1, 1));
    eg_tensor *last = eg_mul(eg_slice(u, 2, 2, 3, 1), sign);
    return eg_matmul(eg_concat((eg_tensor *[]){eg_slice(u, 2, 0, 2, 1), last}, 2, 2), vh);
}

eg_tensor *views_rotation(const views *v)
{
    eg_tensor *both = eg_matmul(second(v->into), first(v->back));
    return eg_slice(eg_slice(both, 1, 0, 3, 1), 2, 0, 3, 1);
}

/* Its slope is infinite at 0 and at half a turn, so it ends a hair before. */
eg_tensor *rotation_angle(eg_tensor *r, eg_tensor *s)
{
    eg_tensor *apart = eg_sum(eg_square(eg_sub(r, s)), .axes = EG_AXES(1, 2));
    eg_tensor *sine = eg_mul_scalar(eg_sqrt(eg_add_scalar(apart, 1e-12)), 1 / sqrt(8));
    return eg_mul_scalar(eg_asin(eg_clamp_max(sine, 1 - 1e-6)), 2);
}

/* ---- losses -------------------------------------------------------------------------------------- */

/* The mean over pairs of what both views have together: twice the mean over views. */
static eg_tensor *of_both(eg_tensor *x)
{
    return eg_mul_scalar(eg_mean(x), 2);
}

/* How far, squared, keypoints are from where those of the other view say that they are. */
static eg_tensor *consistency(const keypoints *found, const views *v)
{
    eg_tensor *off = eg_sub(keypoints_in_other(found->uvz, v), swapped(found->uvz));
    return of_both(eg_sum(eg_square(eg_slice(off, 2, 0, 2, 1)), .axes = EG_AXES(2)));
}

static eg_tensor *pose(eg_tensor *xyz, const views *v, eg_tensor *noise)
{
    xyz = noise ? eg_add(xyz, noise) : xyz;
    return eg_mean(rotation_angle(keypoints_rotation(first(xyz), second(xyz)), views_rotation(v)));
}

/* How much nearer than wanted pairs of keypoints are, per keypoint. */
static eg_tensor *separation(eg_tensor *xyz, double apart)
{
    eg_tensor *between = eg_sub(eg_unsqueeze(xyz, 1), eg_unsqueeze(xyz, 2));
    eg_tensor *square = eg_sum(eg_square(between), .axes = EG_AXES(3));
    eg_tensor *nearer = eg_relu(eg_add_scalar(eg_neg(square), apart));
    return of_both(eg_mul_scalar(eg_sum(eg_triu(nearer, 1), .axes = EG_AXES(1, 2)), 1 / (double)eg_size(xyz, 1)));
}

/* How little of each map is on the object. */
static eg_tensor *silhouette(const keypoints *found, eg_tensor *inside)
{
    eg_tensor *mass = eg_matmul(found->maps, eg_unsqueeze(eg_flatten(inside, 1, 2), 2));
    return of_both(eg_neg(eg_log(eg_add_scalar(mass, 1e-12))));
}

/* How far the ends of the object's x axis are from where they are believed to be. */
static eg_tensor *orientation(const keypoints *found, const views *v)
{
    const int64_t n = eg_size(found->axis, 0);
    static const double ends[6] = {1, 0, 0, -1, 0, 0};
    eg_tensor *axis = eg_from_values(EG_SHAPE(1, 2, 3), eg_dtype_of(v->into), ends);
    axis = eg_expand(eg_to(axis, eg_device_of(v->into)), EG_SHAPE(n, 2, 3));
    eg_tensor *seen = eg_slice(keypoints_project(moved(axis, v->into), v->focal), 2, 0, 2, 1);
    return of_both(eg_square(eg_sub(found->axis, seen)));
}

keypoint_losses keypoint_losses_of(const keypoints *found, eg_tensor *inside, const views *v, eg_tensor *noise,
                                   const keypoint_weights *w)
{
    eg_tensor *xyz = keypoints_unproject(found->uvz, v->focal);
    keypoint_losses l = {.consistency = consistency(found, v),
                         .pose = pose(xyz, v, noise),
                         .separation = separation(xyz, w->apart),
                         .silhouette = silhouette(found, inside),
                         .variance = of_both(found->variance),
                         .orientation = orientation(found, v)};
    const struct {
        eg_tensor *value;
        double weight;
    } parts[] = {{l.consistency, w->consistency}, {l.pose, w->pose},         {l.separation, w->separation},
                 {l.silhouette, w->silhouette},   {l.variance, w->variance}, {l.orientation, w->orientation}};
    for (int i = 0; i < 6; i++) {
        eg_tensor *weighted = eg_mul_scalar(parts[i].value, parts[i].weight);
        l.loss = i ? eg_add(l.loss, weighted) : weighted;
    }
    return l;
}
