/* resize.c - what the golden cases of resizing stand for. */
#include <egret/ops/resize.h>

#include "tests/golden/golden.h"

static eg_tensor *resize(const golden_case *c)
{
    static const struct {
        const char *name;
        eg_resize_mode mode;
    } modes[] = {{"nearest", EG_RESIZE_NEAREST},  {"nearest-exact", EG_RESIZE_NEAREST_EXACT},
                 {"linear", EG_RESIZE_LINEAR},    {"bilinear", EG_RESIZE_LINEAR},
                 {"trilinear", EG_RESIZE_LINEAR}, {"bicubic", EG_RESIZE_CUBIC},
                 {"area", EG_RESIZE_AREA},        {"lanczos", EG_RESIZE_LANCZOS3}};
    eg_resize_options o = {.size = sizeof o};
    eg_shape size = golden_shape(c, "size");
    size_t k = 0;
    while (k < sizeof modes / sizeof *modes && !golden_is(c, "mode", modes[k].name)) {
        k++;
    }
    EGT_CHECK(k < sizeof modes / sizeof *modes);
    o.mode = modes[k].mode;
    o.grid = golden_number(c, "align_corners", 0) != 0 ? EG_GRID_CORNERS : EG_GRID_HALF_PIXEL;
    o.antialias = golden_number(c, "antialias", 0) != 0;
    if (golden_has(c, "scale")) {
        const char *word = golden_word(c, "scale");
        char *end;
        for (size.ndim = 0; *word && size.ndim < 3; word = *end ? end + 1 : end) {
            o.scale[size.ndim] = strtod(word, &end);
            size.dim[size.ndim++] = -1;
        }
    }
    return eg_resize_with(c->x[0], size, &o);
}

GOLDEN_ROWS(resize, {.op = "resize", .one = resize})
