/* softmax.c */
#include "tests/differ/differ.h"

static void along_axis(draw *d)
{
    eg_shape s = draw_shape(d, 0, 5);
    operand(d, s, draw_any(d));
    d->i[0] = draw_axis(d, s.ndim);
}
DIFFER(softmax, along_axis, SPECIALS, 2, eg_softmax(T0, K0))
DIFFER(log_softmax, along_axis, SPECIALS, 2, eg_log_softmax(T0, K0))
