/* test_resize.c - what resizing refuses, and values known beforehand. */
#include "tests/egt.h"

#include <egret/ops/resize.h>

#define FROM(shape, ...) eg_from_values(shape, EG_F32, (double[]){__VA_ARGS__})

EGT(refused_sizes)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1, 2, 3, 4), EG_F32);
    EGT_REFUSED(eg_resize(NULL, EG_SHAPE(1, 1)), EG_EINVAL, "x");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(0, 4)), EG_ESHAPE, "size 0");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(4, -2)), EG_ESHAPE, "size -2");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(4, -1)), EG_ESHAPE, "size -1");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(4, (int64_t)1 << 31)), EG_ESHAPE, "2147483648");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(INT32_MAX, INT32_MAX)), EG_ESHAPE, "more bytes");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(4)), EG_ESHAPE, "1 sizes");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(4, 4, 4, 4)), EG_ESHAPE, "4 sizes");
    EGT_REFUSED(eg_resize(eg_zeros(EG_SHAPE(2, 0, 4), EG_F32), EG_SHAPE(2, 2)), EG_ESHAPE, "axis 1");
    EGT_REFUSED(eg_resize(x, EG_SCALAR), EG_ESHAPE, "0 sizes");
    EGT_REFUSED(eg_resize(eg_zeros(EG_SHAPE(2, 3), EG_F32), EG_SCALAR), EG_ESHAPE, "[2, 3]");
    EGT_REFUSED(eg_resize(eg_zeros(EG_SHAPE(1, 2, 0, 4), EG_F32), EG_SHAPE(2, 2)), EG_ESHAPE, "axis 2");
    eg_memory_limit(1 << 24);
    EGT_REFUSED(eg_resize(x, EG_SHAPE(1 << 20, 1 << 20)), EG_ENOMEM, "resize");
}

EGT(refused_options)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1, 2, 3, 4), EG_F32), *u = eg_zeros(EG_SHAPE(1, 2, 3, 4), EG_U8);
    eg_shape s = EG_SHAPE(2, 2);
    EGT_REFUSED(eg_resize(u, s), EG_EDTYPE, "u8");
    EGT_REFUSED(eg_resize(x, s, .mode = (eg_resize_mode)9), EG_EINVAL, "mode 9");
    EGT_REFUSED(eg_resize(x, s, .grid = (eg_resize_grid)-1), EG_EINVAL, "grid -1");
    EGT_REFUSED(eg_resize(x, s, .mode = EG_RESIZE_NEAREST, .antialias = true), EG_EINVAL, "antialias");
    EGT_REFUSED(eg_resize(x, s, .mode = EG_RESIZE_AREA, .grid = EG_GRID_CORNERS), EG_EINVAL, "grid 1");
    EGT_REFUSED(eg_resize(x, s, .mode = EG_RESIZE_NEAREST, .grid = EG_GRID_ORIGIN), EG_EINVAL, "grid 2");
    EGT_REFUSED(eg_resize(x, s, .cubic = -0.5), EG_EINVAL, "cubic");
    EGT_REFUSED(eg_resize(x, s, .mode = EG_RESIZE_CUBIC, .cubic = NAN), EG_EINVAL, "cubic");
    EGT_REFUSED(eg_resize(x, s, .scale = {-1}), EG_EINVAL, "scale[0] is -1");
    EGT_REFUSED(eg_resize(x, s, .scale = {0, INFINITY}), EG_EINVAL, "scale[1] is inf");
    EGT_REFUSED(eg_resize(x, s, .scale = {2}, .grid = EG_GRID_CORNERS), EG_EINVAL, "sizes");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(-1, 2), .scale = {1e300}), EG_ESHAPE, "2147483648");
    EGT_REFUSED(eg_resize(x, EG_SHAPE(-1, 2), .scale = {0.1}), EG_ESHAPE, "size 0");
}

EGT(known_values)
{
    eg_tensor *x = FROM(EG_SHAPE(1, 1, 3), 0, 3, 6);
    EGT_EQ(egt_distance(eg_resize(x, EG_SHAPE(6)), FROM(EG_SHAPE(1, 1, 6), 0, 0.75, 2.25, 3.75, 5.25, 6)), 0);
    EGT_EQ(egt_distance(eg_resize(x, EG_SHAPE(5), .grid = EG_GRID_CORNERS), FROM(EG_SHAPE(1, 1, 5), 0, 1.5, 3, 4.5, 6)),
           0);
    EGT_EQ(
        egt_distance(eg_resize(x, EG_SHAPE(6), .grid = EG_GRID_ORIGIN), FROM(EG_SHAPE(1, 1, 6), 0, 1.5, 3, 4.5, 6, 6)),
        0);
    EGT_EQ(egt_distance(eg_resize(x, EG_SHAPE(2), .mode = EG_RESIZE_NEAREST), FROM(EG_SHAPE(1, 1, 2), 0, 3)), 0);
    EGT_EQ(egt_distance(eg_resize(x, EG_SHAPE(2), .mode = EG_RESIZE_NEAREST_EXACT), FROM(EG_SHAPE(1, 1, 2), 0, 6)), 0);
    EGT_EQ(egt_distance(eg_resize(x, EG_SHAPE(2), .mode = EG_RESIZE_AREA), FROM(EG_SHAPE(1, 1, 2), 1.5, 4.5)), 0);
}

/* Every filter keeps a constant; a pixel without weight does not count, not even as infinity times
 * 0. */
EGT(constants_and_infinities)
{
    for (int mode = EG_RESIZE_LINEAR; mode <= EG_RESIZE_LANCZOS3; mode++) {
        eg_tensor *y = eg_resize(eg_full(EG_SHAPE(1, 2, 7, 5), 3, EG_F32), EG_SHAPE(4, 9), .mode = mode);
        EGT_CHECK(egt_distance(y, eg_full(EG_SHAPE(1, 2, 4, 9), 3, EG_F32)) < 1e-6);
    }
    eg_tensor *x = FROM(EG_SHAPE(1, 1, 1, 3), 1, 2, INFINITY);
    eg_tensor *y = eg_resize(x, EG_SHAPE(2, 6));
    EGT_CHECK(eg_get(y, 0) == 1 && eg_get(y, 2) == 1.75 && isinf(eg_get(y, 4)));
    y = eg_resize(eg_transpose(x, 2, 3), EG_SHAPE(6, 2));
    EGT_CHECK(eg_get(y, 0) == 1 && eg_get(y, 4) == 1.75 && isinf(eg_get(y, 8)));
    y = eg_resize(FROM(EG_SHAPE(1, 1, 2), NAN, 1), EG_SHAPE(4));
    EGT_CHECK(isnan(eg_get(y, 0)) && eg_get(y, 3) == 1);
}

EGT(layout_and_scale)
{
    eg_tensor *x = eg_channels_last(egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1));
    EGT_CHECK(eg_is_channels_last(eg_resize(x, EG_SHAPE(8, 3))));
    eg_tensor *y = eg_resize(x, EG_SHAPE(-1, -1), .scale = {1.6, 0.5});
    EGT_CHECK(eg_size(y, 2) == 6 && eg_size(y, 3) == 2);
    /* The same size is the same picture. */
    EGT_EQ(egt_distance(eg_resize(x, EG_SHAPE(4, 5)), x), 0);
}

/* [C, spatial...] is one image. */
EGT(images_without_a_batch)
{
    eg_tensor *x = egt_random(EG_SHAPE(1, 3, 4, 5), EG_F32, -1, 1), *one = eg_squeeze(x, EG_AXES(0));
    eg_tensor *y = eg_resize(one, EG_SHAPE(6, 3));
    EGT_EQ(eg_ndim(y), 3);
    EGT_EQ(egt_distance(eg_unsqueeze(y, 0), eg_resize(x, EG_SHAPE(6, 3))), 0);
    y = eg_resize(eg_select(one, 1, 0), EG_SHAPE(-1), .scale = {2});
    EGT_EQ(egt_distance(eg_unsqueeze(y, 0), eg_resize(eg_select(x, 2, 0), EG_SHAPE(10), .scale = {2})), 0);
}
