/* test_shapes.c - the scenes that examples/detect draws. */
#include "tests/egt.h"

#include "examples/detect/shapes.h"

typedef struct scene {
    eg_tensor *image, *boxes, *labels, *masks;
} scene;

static scene drawn(int64_t i)
{
    scene s;
    EGT_OK(shapes_draw(i, &s.image, &s.boxes, &s.labels, &s.masks));
    return s;
}

EGT(a_number_is_one_scene)
{
    eg_seed(1);
    scene a = drawn(5);
    eg_seed(2);
    scene b = drawn(5), c = drawn(6);
    EGT_CHECK(egt_same_bits(a.image, b.image) && egt_same_bits(a.boxes, b.boxes) && egt_same_bits(a.masks, b.masks));
    EGT_CHECK(!egt_same_bits(a.image, c.image));
}

/* Else what is changed by chance behind it would be the same in each epoch. */
EGT(chance_goes_on_as_if_nothing_had_been_drawn)
{
    eg_seed(7);
    drawn(3);
    eg_tensor *behind = eg_uniform(EG_SHAPE(10), 0, 1, EG_F32);
    eg_seed(7);
    EGT_CHECK(egt_same_bits(behind, eg_uniform(EG_SHAPE(10), 0, 1, EG_F32)));
}

EGT(boxes_are_around_masks)
{
    for (int64_t i = 0; i < 20; i++) {
        scene s = drawn(i);
        for (int64_t k = 0; k < eg_size(s.labels, 0); k++) {
            eg_tensor *mask = eg_cast(eg_select(s.masks, 0, k), EG_F32);
            eg_tensor *columns = eg_nonzero(eg_max(mask, .axes = EG_AXES(0)));
            eg_tensor *rows = eg_nonzero(eg_max(mask, .axes = EG_AXES(1)));
            EGT_EQ(eg_get(s.boxes, 4 * k), eg_get(eg_min(columns), 0));
            EGT_EQ(eg_get(s.boxes, 4 * k + 1), eg_get(eg_min(rows), 0));
            EGT_EQ(eg_get(s.boxes, 4 * k + 2), eg_get(eg_max(columns), 0) + 1);
            EGT_EQ(eg_get(s.boxes, 4 * k + 3), eg_get(eg_max(rows), 0) + 1);
        }
    }
}
