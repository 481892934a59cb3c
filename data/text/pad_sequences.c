/* pad_sequences.c - sequences as rows of one length. */
#include "data/text/text.h"
#include "lib/core/device.h"

static const char me[] = "eg_pad_sequences";

static eg_status check(eg_tensor *const *x, int n, int64_t *longest)
{
    *longest = 0;
    for (int i = 0; i < n; i++) {
        eg_status st = eg__check(x[i], me, "a sequence");
        st = st ? st : eg__host_only(x[i], me, "a sequence");
        if (st) {
            return st;
        }
        bool fits = x[i]->ndim >= 1 && x[i]->ndim == x[0]->ndim && x[i]->ndim < EG_MAX_DIMS;
        for (int d = 1; fits && d < x[0]->ndim; d++) {
            fits = x[i]->shape[d] == x[0]->shape[d];
        }
        if (!fits) {
            return eg__fail(EG_ESHAPE, me, "sequence %d is %s, the first %s, not [length, inner] alike", i,
                            EG__SHAPE_OF(x[i]), EG__SHAPE_OF(x[0]));
        }
        if (x[i]->dtype != x[0]->dtype) {
            return eg__fail(EG_EDTYPE, me, "sequence %d is %s, the first %s", i, eg_dtype_name((eg_dtype)x[i]->dtype),
                            eg_dtype_name((eg_dtype)x[0]->dtype));
        }
        *longest = eg__max(*longest, x[i]->shape[0]);
    }
    return EG_OK;
}

static eg_tensor *pad(eg_tensor *const *x, int n, int64_t length, const eg_pad_sequences_options *o)
{
    eg_shape shape = eg_shape_of(x[0]);
    int64_t step = (int64_t)eg__esize(x[0]);
    for (int d = shape.ndim; d > 1; d--) {
        shape.dim[d] = shape.dim[d - 1];
        step *= shape.dim[d];
    }
    shape.ndim++;
    shape.dim[0] = n;
    shape.dim[1] = length;
    eg_tensor *y = eg__full_on(0, shape, o->value, (eg_dtype)x[0]->dtype);
    for (int i = 0; i < n && y; i++) {
        int64_t have = x[i]->shape[0], take = eg__min(have, length);
        eg_tensor *from = eg_contiguous(eg_detach(x[i]));
        if (!from) {
            return NULL;
        }
        int64_t first = o->cut_after ? 0 : have - take, at = o->pad_after ? 0 : length - take;
        if (take > 0 && step > 0) {
            memcpy(eg__ptr(y) + (i * length + at) * step, eg__ptr(from) + first * step, (size_t)(take * step));
        }
    }
    return y;
}

eg_tensor *eg_pad_sequences_with(eg_tensor *const *sequences, int n, const eg_pad_sequences_options *options)
{
    eg_pad_sequences_options o;
    int64_t longest;
    eg__options(&o, sizeof o, options);
    if (!sequences) {
        return eg__null_argument(me, "sequences"), NULL;
    }
    if (n < 1) {
        return eg__fail_null(EG_EINVAL, me, "n is %d", n);
    }
    if (check(sequences, n, &longest)) {
        return NULL;
    }
    o.maxlen = eg__or_count(o.maxlen, longest);
    if (o.maxlen < 0) {
        return eg__fail_null(EG_EINVAL, me, "maxlen is %lld", (long long)o.maxlen);
    }
    eg_scope scope = eg_scope_push();
    return scope.depth ? eg_scope_pop(scope, pad(sequences, n, o.maxlen, &o)) : NULL;
}
