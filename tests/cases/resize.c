/* resize.c - resizing: every mode and grid, larger, smaller and both at once, one to three axes,
 * channels that are gathered and channels that are summed as rows. */
#include <egret/ops/resize.h>

#include "tests/cases.h"

/* A case in its user pointer: mode, grid, flags, then the sizes, five bits each. */
enum { ANTIALIAS = 1, SCALED = 2, KEYS = 4 };
#define AS(mode, grid, flags, a, b, c)                                                                           \
    (void *)(uintptr_t)((unsigned)(mode) | (unsigned)(grid) << 3 | (unsigned)(flags) << 5 | (unsigned)(a) << 8 | \
                        (unsigned)(b) << 13 | (unsigned)(c) << 18)

static eg_tensor *resize(eg_tensor *const *x, int n, void *user)
{
    unsigned is = (unsigned)(uintptr_t)user, flags = is >> 5 & 7;
    eg_shape size = {.ndim = 0};
    (void)n;
    for (int a = 0; a < 3 && is >> (8 + 5 * a) & 31; a++) {
        size.dim[size.ndim++] = is >> (8 + 5 * a) & 31;
    }
    eg_resize_options o = {.size = sizeof o,
                           .mode = (eg_resize_mode)(is & 7),
                           .grid = (eg_resize_grid)(is >> 3 & 3),
                           .antialias = flags & ANTIALIAS,
                           .cubic = flags & KEYS ? -0.5 : 0};
    if (flags & SCALED) {
        o.scale[0] = 1.3;
        o.scale[1] = 0.7;
    }
    return eg_resize_with(x[0], size, &o);
}

#define CASE(name, as, ...)                                                                                \
    {                                                                                                      \
        "resize resize_grad", name, resize, {{DIMS(__VA_ARGS__), -1, 1, 0}}, .tolerance = 1e-5, .user = as \
    }
#define WHOLE(name, as, ...)                                                                               \
    {                                                                                                      \
        "resize resize_grad", name, resize, {{DIMS(__VA_ARGS__), -1, 1, 0}}, .flags = EGT_INTS | EGT_BOOL, \
                                                                             .tolerance = 1e-5, .user = as \
    }
#define LINEAR(...)  AS(EG_RESIZE_LINEAR, __VA_ARGS__)
#define CUBIC(...)   AS(EG_RESIZE_CUBIC, __VA_ARGS__)
#define LANCZOS(...) AS(EG_RESIZE_LANCZOS3, __VA_ARGS__)
#define HALF         EG_GRID_HALF_PIXEL
#define CORNERS      EG_GRID_CORNERS
#define ORIGIN       EG_GRID_ORIGIN

EGT_CASES(resize, CASE("linear up", LINEAR(HALF, 0, 7, 9, 0), 2, 2, 3, 4),
          CASE("linear down", LINEAR(HALF, 0, 2, 3, 0), 1, 2, 5, 7),
          CASE("linear both", LINEAR(HALF, 0, 9, 3, 0), 1, 2, 5, 7),
          CASE("linear corners", LINEAR(CORNERS, 0, 7, 3, 0), 1, 2, 4, 6),
          CASE("linear to one corner", LINEAR(CORNERS, 0, 1, 6, 0), 1, 2, 4, 3),
          CASE("linear origin", LINEAR(ORIGIN, 0, 7, 3, 0), 1, 2, 4, 6),
          CASE("linear from one", LINEAR(HALF, 0, 4, 3, 0), 1, 2, 1, 1),
          CASE("linear same", LINEAR(HALF, 0, 4, 3, 0), 1, 2, 4, 3),
          CASE("linear one axis", LINEAR(HALF, 0, 4, 9, 0), 1, 2, 4, 3),
          CASE("linear antialias", LINEAR(HALF, ANTIALIAS, 3, 9, 0), 1, 2, 10, 4),
          CASE("linear antialias corners", LINEAR(CORNERS, ANTIALIAS, 3, 9, 0), 1, 2, 10, 4),
          CASE("linear scaled", LINEAR(HALF, SCALED, 6, 3, 0), 1, 2, 5, 5),
          CASE("signal", LINEAR(HALF, 0, 9, 0, 0), 2, 3, 5), CASE("volume up", LINEAR(HALF, 0, 5, 4, 3), 1, 2, 3, 2, 2),
          CASE("volume down", LINEAR(HALF, 0, 2, 4, 3), 1, 2, 4, 2, 2),
          CASE("volume depth alone", LINEAR(HALF, 0, 5, 2, 2), 1, 2, 3, 2, 2),
          CASE("wide channels", LINEAR(HALF, 0, 5, 3, 0), 1, 19, 3, 4),
          CASE("cubic up", CUBIC(HALF, 0, 7, 9, 0), 1, 2, 3, 4),
          CASE("cubic down", CUBIC(HALF, 0, 2, 3, 0), 1, 2, 6, 7),
          CASE("cubic corners", CUBIC(CORNERS, 0, 7, 3, 0), 1, 2, 4, 6),
          CASE("cubic of two", CUBIC(HALF, 0, 5, 5, 0), 1, 2, 2, 1),
          CASE("cubic keys", CUBIC(ORIGIN, KEYS, 5, 5, 0), 1, 2, 4, 3),
          CASE("cubic antialias", CUBIC(HALF, ANTIALIAS, 3, 7, 0), 1, 2, 9, 4),
          CASE("cubic scaled", CUBIC(HALF, SCALED, 6, 3, 0), 1, 2, 5, 5),
          CASE("cubic wide channels", CUBIC(HALF, 0, 5, 3, 0), 1, 19, 3, 4),
          CASE("lanczos up", LANCZOS(HALF, 0, 7, 9, 0), 1, 2, 5, 4),
          CASE("lanczos down", LANCZOS(HALF, ANTIALIAS, 2, 3, 0), 1, 2, 9, 7),
          CASE("lanczos without", LANCZOS(HALF, 0, 2, 3, 0), 1, 2, 9, 7),
          CASE("area down", AS(EG_RESIZE_AREA, HALF, 0, 2, 3, 0), 1, 2, 5, 6),
          CASE("area up", AS(EG_RESIZE_AREA, HALF, 0, 7, 5, 0), 1, 2, 3, 4),
          CASE("area volume", AS(EG_RESIZE_AREA, HALF, 0, 2, 3, 4), 1, 2, 3, 3, 5),
          WHOLE("nearest up", AS(EG_RESIZE_NEAREST, HALF, 0, 7, 9, 0), 2, 2, 3, 4),
          WHOLE("nearest down", AS(EG_RESIZE_NEAREST, HALF, 0, 2, 3, 0), 1, 2, 5, 7),
          WHOLE("nearest corners", AS(EG_RESIZE_NEAREST, CORNERS, 0, 7, 3, 0), 1, 2, 4, 6),
          WHOLE("nearest volume", AS(EG_RESIZE_NEAREST, HALF, 0, 5, 3, 2), 1, 2, 3, 2, 3),
          WHOLE("nearest scaled", AS(EG_RESIZE_NEAREST, HALF, SCALED, 6, 3, 0), 1, 2, 5, 5),
          WHOLE("nearest wide channels", AS(EG_RESIZE_NEAREST, HALF, 0, 5, 3, 0), 1, 19, 3, 4),
          WHOLE("exact up", AS(EG_RESIZE_NEAREST_EXACT, HALF, 0, 7, 9, 0), 1, 2, 3, 4),
          WHOLE("exact down", AS(EG_RESIZE_NEAREST_EXACT, HALF, 0, 2, 3, 0), 1, 2, 5, 7),
          CASE("no rows", LINEAR(HALF, 0, 4, 4, 0), 0, 2, 3, 3),
          CASE("no channels", CUBIC(HALF, 0, 4, 4, 0), 2, 0, 3, 3),
          CASE("shared by threads", LINEAR(HALF, 0, 31, 29, 0), 3, 17, 13, 27))
