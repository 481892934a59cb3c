/* matmul.c - gradients of matrix products. */
#include "autograd/rules/rules.h"

eg_status eg__grad_matmul(eg__walk *w)
{
    eg_tensor *dy = eg__dy(w, 0);
    if (eg__needs(w, 0)) {
        eg_tensor *da = eg_matmul(dy, eg_transpose(eg__saved_in(w, 1), -2, -1));
        eg__give(w, 0, eg__sum_to(da, eg__in_shape(w, 0)));
    }
    if (eg__needs(w, 1)) {
        eg_tensor *db = eg_matmul(eg_transpose(eg__saved_in(w, 0), -2, -1), dy);
        eg__give(w, 1, eg__sum_to(db, eg__in_shape(w, 1)));
    }
    return w->status;
}
