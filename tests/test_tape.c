/* test_tape.c - recording, walking, nesting; what is refused and what is left behind. */
#include "tests/egt.h"

EGT(gradient_of_a_product)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 4), EG_F64, -1, 1), *dx;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_sum(eg_mul(eg_add(x, x), x));
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    for (int i = 0; i < 12; i++) {
        EGT_NEAR(eg_get(dx, i), 4 * eg_get(x, i), 1e-12);
    }
}

EGT(third_derivative_of_the_fourth_power)
{
    eg_tensor *x = eg_scalar(1.5, EG_F64), *d1, *d2, *d3;
    eg_tape outer = eg_tape_open(), middle, inner;
    EGT_OK(eg_tape_watch(outer, x));
    middle = eg_tape_open();
    inner = eg_tape_open();
    eg_tensor *y = eg_square(eg_square(x));
    EGT_OK(eg_tape_gradients(inner, y, &x, 1, &d1));
    EGT_OK(eg_tape_gradients(middle, d1, &x, 1, &d2));
    EGT_OK(eg_tape_gradients(outer, d2, &x, 1, &d3));
    EGT_NEAR(eg_item(d1), 4 * 1.5 * 1.5 * 1.5, 1e-12);
    EGT_NEAR(eg_item(d2), 12 * 1.5 * 1.5, 1e-12);
    EGT_NEAR(eg_item(d3), 24 * 1.5, 1e-12);
}

EGT(a_tape_is_used_up)
{
    eg_tensor *x = eg_scalar(2, EG_F64), *dx;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_mul(x, x);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx), EG_ESTATE, "used up");
    EGT_CHECK(dx == NULL);
}

EGT(a_persistent_tape_answers_again)
{
    eg_tensor *x = eg_scalar(2, EG_F64), *dx;
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_mul(x, x), *z = eg_mul(y, x);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx));
    EGT_NEAR(eg_item(dx), 4, 1e-12);
    EGT_OK(eg_tape_gradients(tape, z, &x, 1, &dx));
    EGT_NEAR(eg_item(dx), 12, 1e-12);
    EGT_OK(eg_tape_close(tape));
}

EGT(in_place_change_of_a_saved_tensor_is_refused)
{
    eg_tensor *x = eg_scalar(2, EG_F64), *b = eg_scalar(3, EG_F64), *dx;
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tensor *y = eg_mul(x, b);
    eg_add_scalar_(b, 1);
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, &dx), EG_ESTATE, "eg_add_scalar_");
}
