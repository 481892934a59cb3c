/* loss.c - see loss.h. */
#include "loss.h"

#include "icp.h"

static const double warp_weight = 0.85, ssim_weight = 0.15;

enum { PAIRS = 4, CLOUD = 200 }; /* CLOUD: points of one that are compared, at most */

/* Entry i of axis 1, which stays. */
static eg_tensor *column(eg_tensor *x, int64_t i)
{
    return eg_slice(x, 1, i, i + 1, 1);
}

/* ---- points ------------------------------------------------------------------------------------ */

/* 0, 1, .. n - 1 as [1, n] beside x. */
static eg_tensor *places(int64_t n, eg_tensor *x)
{
    return eg_unsqueeze(eg_to(eg_arange(0, (double)n, 1, eg_dtype_of(x)), eg_device_of(x)), 0);
}

/* As numbers for each row of an image, and for each column. */
static eg_tensor *directions(eg_tensor *intrinsics, int axis, int64_t n)
{
    return eg_div(eg_sub(places(n, intrinsics), column(intrinsics, 2 + axis)), column(intrinsics, axis));
}

eg_tensor *loss_points(eg_tensor *disparity, eg_tensor *intrinsics)
{
    if (!disparity || !intrinsics) {
        return NULL;
    }
    const int64_t n = eg_size(disparity, 0), h = eg_size(disparity, 2), w = eg_size(disparity, 3);
    const eg_shape all = EG_SHAPE(n, 1, h, w);
    eg_tensor *depth = eg_reciprocal(disparity);
    eg_tensor *x = eg_expand(eg_reshape(directions(intrinsics, 0, w), EG_SHAPE(n, 1, 1, w)), all);
    eg_tensor *y = eg_expand(eg_reshape(directions(intrinsics, 1, h), EG_SHAPE(n, 1, h, 1)), all);
    eg_tensor *parts[3] = {eg_mul(x, depth), eg_mul(y, depth), depth};
    return eg_reshape(eg_concat(parts, 3, 1), EG_SHAPE(n, 3, h * w));
}

eg_tensor *loss_intrinsics(eg_tensor *intrinsics, double by)
{
    eg_tensor *focal = eg_div_scalar(eg_slice(intrinsics, 1, 0, 2, 1), by);
    eg_tensor *centre = eg_sub_scalar(eg_div_scalar(eg_add_scalar(eg_slice(intrinsics, 1, 2, 4, 1), 0.5), by), 0.5);
    return eg_concat((eg_tensor *[]){focal, centre}, 2, 1);
}

eg_tensor *loss_rotations(eg_tensor *motions)
{
    eg_tensor *s[3], *c[3];
    for (int i = 0; i < 3; i++) {
        s[i] = eg_sin(column(motions, 3 + i));
        c[i] = eg_cos(column(motions, 3 + i));
    }
    eg_tensor *sxsy = eg_mul(s[0], s[1]), *cxsy = eg_mul(c[0], s[1]);
    eg_tensor *of[9] = {
        eg_mul(c[1], c[2]),
        eg_neg(eg_mul(c[1], s[2])),
        s[1],
        eg_add(eg_mul(c[0], s[2]), eg_mul(sxsy, c[2])),
        eg_sub(eg_mul(c[0], c[2]), eg_mul(sxsy, s[2])),
        eg_neg(eg_mul(s[0], c[1])),
        eg_sub(eg_mul(s[0], s[2]), eg_mul(cxsy, c[2])),
        eg_add(eg_mul(s[0], c[2]), eg_mul(cxsy, s[2])),
        eg_mul(c[0], c[1]),
    };
    return motions ? eg_reshape(eg_concat(of, 9, 1), EG_SHAPE(eg_size(motions, 0), 3, 3)) : NULL;
}

eg_tensor *loss_moved(eg_tensor *points, eg_tensor *motions)
{
    eg_tensor *by = eg_unsqueeze(eg_slice(motions, 1, 0, 3, 1), 2);
    return eg_add(eg_matmul(loss_rotations(motions), points), by);
}

/* ---- images ------------------------------------------------------------------------------------ */

/* Where points lie on an image of n pixels along an axis: -1 is its first pixel, 1 its last. What is not ahead lies
 * nowhere near. */
static eg_tensor *seen_at(eg_tensor *points, eg_tensor *intrinsics, int axis, int64_t n)
{
    eg_tensor *ahead = eg_clamp_min(column(points, 2), 1e-3);
    eg_tensor *focal = eg_unsqueeze(column(intrinsics, axis), 2);
    eg_tensor *centre = eg_unsqueeze(column(intrinsics, 2 + axis), 2);
    eg_tensor *pixel = eg_add(eg_mul(eg_div(column(points, axis), ahead), focal), centre);
    return eg_sub_scalar(eg_mul_scalar(pixel, 2 / (double)(n - 1)), 1);
}

eg_tensor *loss_warp(eg_tensor *source, eg_tensor *disparity, eg_tensor *motions, eg_tensor *intrinsics,
                     eg_tensor **mask)
{
    eg_tensor *points = loss_moved(loss_points(disparity, intrinsics), motions);
    if (!source || !points) {
        return NULL;
    }
    const int64_t n = eg_size(source, 0), h = eg_size(source, 2), w = eg_size(source, 3);
    eg_tensor *at[2] = {seen_at(points, intrinsics, 0, w), seen_at(points, intrinsics, 1, h)};
    eg_tensor *inside =
        eg_logical_and(eg_le_scalar(eg_abs(eg_detach(at[0])), 1), eg_le_scalar(eg_abs(eg_detach(at[1])), 1));
    *mask = inside ? eg_reshape(eg_cast(inside, eg_dtype_of(source)), EG_SHAPE(n, 1, h, w)) : NULL;
    eg_tensor *grid = eg_reshape(eg_transpose(eg_concat(at, 2, 1), 1, 2), EG_SHAPE(n, h, w, 2));
    return *mask ? eg_grid_sample(source, grid, .align_corners = true, .border = EG_SAMPLE_EDGE) : NULL;
}

eg_tensor *loss_difference(eg_tensor *warped, eg_tensor *target, eg_tensor *mask)
{
    return eg_mean(eg_mul(eg_abs(eg_sub(warped, target)), mask));
}

static eg_tensor *blurred(eg_tensor *x)
{
    return eg_avg_pool2d(x, .kernel = 3, .stride = 1);
}

eg_tensor *loss_dissimilarity(eg_tensor *x, eg_tensor *y, eg_tensor *mask)
{
    const double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
    eg_tensor *mx = blurred(x), *my = blurred(y), *mxy = eg_mul(mx, my);
    eg_tensor *squares = eg_add(eg_square(mx), eg_square(my));
    eg_tensor *variances = eg_sub(eg_add(blurred(eg_square(x)), blurred(eg_square(y))), squares);
    eg_tensor *covariance = eg_sub(blurred(eg_mul(x, y)), mxy);
    eg_tensor *above =
        eg_mul(eg_add_scalar(eg_mul_scalar(mxy, 2), c1), eg_add_scalar(eg_mul_scalar(covariance, 2), c2));
    eg_tensor *below = eg_mul(eg_add_scalar(squares, c1), eg_add_scalar(variances, c2));
    eg_tensor *unlike = eg_clamp(eg_mul_scalar(eg_sub_scalar(eg_div(above, below), 1), -0.5), 0, 1);
    return eg_mean(eg_mul(unlike, blurred(mask)));
}

static eg_tensor *roughness_along(eg_tensor *disparity, eg_tensor *image, int axis)
{
    eg_tensor *edges = eg_mean(eg_abs(eg_diff(image, axis)), .axes = EG_AXES(1), .keepdim = true);
    return eg_mean(eg_mul(eg_abs(eg_diff(disparity, axis)), eg_exp(eg_neg(edges))));
}

eg_tensor *loss_roughness(eg_tensor *disparity, eg_tensor *image)
{
    return eg_add(roughness_along(disparity, image, 3), roughness_along(disparity, image, 2));
}

/* ---- clouds ------------------------------------------------------------------------------------ */

/* Of this value, with the gradient -1 to x. */
static eg_tensor *pulled(eg_tensor *value, eg_tensor *x)
{
    return eg_sub(value, eg_sub(x, eg_detach(x)));
}

eg_tensor *loss_clouds(eg_tensor *source, eg_tensor *motions, eg_tensor *target)
{
    icp_result found = icp_fit(eg_detach(loss_moved(source, motions)), eg_detach(target));
    if (!found.motions) {
        return NULL;
    }
    return eg_add(eg_mean(eg_abs(pulled(found.motions, motions))), eg_mean(eg_abs(pulled(found.left, source))));
}

/* Every so many-th row and column, so that few enough are left. */
static eg_tensor *thinned(eg_tensor *points, int64_t h, int64_t w)
{
    int64_t step = 1;
    while ((h + step - 1) / step * ((w + step - 1) / step) > CLOUD) {
        step++;
    }
    eg_tensor *x = points ? eg_reshape(points, EG_SHAPE(eg_size(points, 0), 3, h, w)) : NULL;
    return eg_flatten(eg_slice(eg_slice(x, 2, step / 2, h, step), 3, step / 2, w, step), 2, -1);
}

/* ---- all of it --------------------------------------------------------------------------------- */

/* Which frame of three the pairs look at, and which they look from. */
static const int sources[PAIRS] = {0, 1, 1, 2}, targets[PAIRS] = {1, 0, 2, 1};

/* x [N, FRAMES c, ..], parts of it as pairs have them: [PAIRS N, c, ..]. */
static eg_tensor *of_pairs(eg_tensor *x, const int *which)
{
    eg_tensor *parts[PAIRS];
    const int64_t c = x ? eg_size(x, 1) / FRAMES : 0;
    for (int i = 0; i < PAIRS; i++) {
        parts[i] = eg_slice(x, 1, which[i] * c, (which[i] + 1) * c, 1);
    }
    return eg_concat(parts, PAIRS, 0);
}

/* Of motions [N, 2, 6] those of the pairs; back it goes by the same the other way, as they are small. */
static eg_tensor *motions_of_pairs(eg_tensor *motions)
{
    eg_tensor *a = eg_select(motions, 1, 0), *b = eg_select(motions, 1, 1);
    return eg_concat((eg_tensor *[]){a, eg_neg(a), b, eg_neg(b)}, PAIRS, 0);
}

typedef struct scene {
    eg_tensor *frames, *motions, *intrinsics; /* the latter two of pairs */
    double icp;
} scene;

static eg_tensor *more(eg_tensor *sum, eg_tensor *x, double weight)
{
    x = eg_mul_scalar(x, weight);
    return sum ? eg_add(sum, x) : x;
}

/* Adds what one scale has, of disparities [FRAMES N, 1, h, w]; sums over pairs and frames, means over pixels. */
static bool add_scale(losses *l, const scene *s, eg_tensor *disparity, int scale)
{
    const int64_t n = eg_size(s->frames, 0), h = eg_size(disparity, 2), w = eg_size(disparity, 3);
    const double share = 1.0 / (1 << scale);
    eg_tensor *frames = scale ? eg_resize(s->frames, EG_SHAPE(h, w), .mode = EG_RESIZE_AREA) : s->frames;
    eg_tensor *each = eg_reshape(disparity, EG_SHAPE(n, FRAMES, h, w)), *k = loss_intrinsics(s->intrinsics, 1 << scale);
    eg_tensor *from = of_pairs(each, targets), *target = of_pairs(frames, targets), *mask = NULL;
    eg_tensor *warped = loss_warp(of_pairs(frames, sources), from, s->motions, k, &mask);
    eg_tensor *images = frames ? eg_reshape(frames, EG_SHAPE(n * FRAMES, 3, h, w)) : NULL;
    l->warp = more(l->warp, loss_difference(warped, target, mask), PAIRS);
    l->ssim = more(l->ssim, loss_dissimilarity(warped, target, mask), PAIRS);
    l->smooth = more(l->smooth, loss_roughness(disparity, images), FRAMES * share);
    if (s->icp > 0) {
        eg_tensor *a = thinned(loss_points(from, k), h, w), *b = thinned(loss_points(of_pairs(each, sources), k), h, w);
        l->icp = more(l->icp, loss_clouds(a, s->motions, b), PAIRS * share);
    }
    return l->warp && l->ssim && l->smooth && (l->icp || s->icp <= 0);
}

losses loss_of(eg_module *nets, eg_tensor *frames, eg_tensor *intrinsics, const loss_weights *by)
{
    losses l = {0};
    eg_tensor *disparities[SCALES], *k[PAIRS] = {intrinsics, intrinsics, intrinsics, intrinsics};
    const int64_t n = eg_size(frames, 0), h = eg_size(frames, 2), w = eg_size(frames, 3);
    const scene s = {frames, motions_of_pairs(nets_motions(nets, frames)), eg_concat(k, PAIRS, 0), by->icp};
    if (!s.motions || !s.intrinsics ||
        nets_disparities(nets, eg_reshape(frames, EG_SHAPE(n * FRAMES, 3, h, w)), disparities)) {
        return l;
    }
    for (int i = 0; i < SCALES; i++) {
        if (!add_scale(&l, &s, disparities[i], i)) {
            return (losses){0};
        }
    }
    l.loss = more(more(eg_mul_scalar(l.warp, warp_weight), l.ssim, ssim_weight), l.smooth, by->smooth);
    l.loss = by->icp > 0 ? more(l.loss, l.icp, by->icp) : l.loss;
    return l;
}
