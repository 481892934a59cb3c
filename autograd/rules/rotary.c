/* rotary.c - the gradient of pairs (a, b) turned by tables: turned back, and to the tables da a + db b, db a - da b. */
#include "autograd/rules/rules.h"

/* The first or the second of each pair, in the dtype of tables. */
static eg_tensor *parts_of(eg_tensor *x, int64_t pairs, bool interleaved, int second, eg_dtype dtype)
{
    const int last = eg_ndim(x) - 1;
    const int64_t from = interleaved ? second : second * pairs, to = interleaved ? 2 * pairs : from + pairs;
    return eg_cast(eg_slice(x, last, from, to, interleaved ? 2 : 1), dtype);
}

eg_status eg__grad_rotary(eg__walk *w)
{
    const eg__rotary_opts *o = w->opts;
    eg_tensor *dy = eg__dy(w, 0), *out[EG__MAX_OUT];
    eg_status st = dy ? EG_OK : eg__why();
    if (!st && eg__needs(w, 0)) {
        eg_tensor *cos = eg__saved_in(w, 1), *sin = eg__saved_in(w, 2);
        eg_tensor *in[3] = {dy, cos, sin ? eg_neg(sin) : NULL};
        st = cos && in[2] ? eg__dispatch(&eg__op_rotary, in, 3, o, out) : eg__why();
        st = st ? st : eg__give(w, 0, out[0]);
    }
    for (int i = 1; i < 3 && !st; i++) {
        if (eg__needs(w, i)) {
            const eg_dtype dtype = eg_dtype_of(dy) == EG_F64 ? EG_F64 : EG_F32;
            const eg_shape table = eg__in_shape(w, i);
            const int64_t pairs = table.dim[table.ndim - 1];
            eg_tensor *x = eg__saved_in(w, 0), *part[4];
            for (int k = 0; k < 4; k++) {
                part[k] = x ? parts_of(k < 2 ? x : dy, pairs, o->interleaved, k % 2, dtype) : NULL;
            }
            eg_tensor *a = eg_mul(part[i == 1 ? 2 : 3], part[0]), *b = eg_mul(part[i == 1 ? 3 : 2], part[1]);
            eg_tensor *g = !a || !b ? NULL : i == 1 ? eg_add(a, b) : eg_sub(a, b);
            st = g ? eg__give(w, i, eg__sum_to(g, table)) : eg__why();
        }
    }
    return st;
}
