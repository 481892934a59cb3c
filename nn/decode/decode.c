/* decode.c - see decode.h. */
#include <math.h>
#include <stdlib.h>

#include "nn/decode/decode.h"

int64_t eg__decoding_end_id(const eg__decoding *d)
{
    return d->o.end == EG_ZERO ? 0 : d->o.end == 0 ? -1 : d->o.end;
}

static eg_status check_options(const eg__decoding *d)
{
    const eg_decode_options *o = &d->o;
    if (o->steps < 1 || o->steps > INT32_MAX || (o->end < 0 && o->end != EG_ZERO)) {
        return eg__fail(EG_EINVAL, d->op, "steps is %lld, must be 1..2^31 - 1; end is %lld, must be an id",
                        (long long)o->steps, (long long)o->end);
    }
    if (!(o->repetition_penalty >= 0) || !isfinite(o->repetition_penalty) || !isfinite(o->length_power)) {
        return eg__fail(EG_EINVAL, d->op,
                        "repetition_penalty is %g, must be finite and not negative; length_power is %g, must be finite",
                        o->repetition_penalty, o->length_power);
    }
    if (o->beams < 0 || o->best < 0 || o->best > (o->beams ? o->beams : 4) || o->beams > 4096) {
        return eg__fail(EG_EINVAL, d->op, "beams is %lld, must be 1..4096; best is %lld, must be 1..beams",
                        (long long)o->beams, (long long)o->best);
    }
    return EG_OK;
}

static eg_status read_lengths(eg__decoding *d)
{
    eg_tensor *given = d->o.lengths;
    for (int64_t i = 0; i < d->n; i++) {
        d->lengths[i] = d->longest;
    }
    if (!given) {
        return EG_OK;
    }
    eg_status st = eg__check(given, d->op, "lengths");
    if (!st && (given->ndim != 1 || given->shape[0] != d->n || eg__is_float(given->dtype))) {
        st = eg__fail(EG_ESHAPE, d->op, "lengths are %s %s, must be integers [%lld]",
                      eg_dtype_name((eg_dtype)given->dtype), EG__SHAPE_OF(given), (long long)d->n);
    }
    st = st ? st : eg__decoding_fetch(given, EG_I64, d->lengths, d->n);
    for (int64_t i = 0; i < d->n && !st; i++) {
        if (d->lengths[i] < 1 || d->lengths[i] > d->longest) {
            st = eg__fail(EG_EINDEX, d->op, "lengths[%lld] is %lld, outside 1..%lld", (long long)i,
                          (long long)d->lengths[i], (long long)d->longest);
        }
    }
    return st;
}

eg_status eg__decoding_begin(eg__decoding *d, const char *op, eg_decode_fn next, void *user, eg_tensor *prompts,
                             const eg_decode_options *given)
{
    *d = (eg__decoding){.op = op, .next = next, .user = user};
    eg__options(&d->o, sizeof d->o, given);
    eg_status st = next ? eg__check(prompts, op, "prompts") : eg__null_argument(op, "next");
    st = st ? st : check_options(d);
    if (st) {
        return st;
    }
    if (prompts->ndim != 2 || prompts->shape[1] < 1 || eg__is_float(prompts->dtype)) {
        return eg__fail(EG_ESHAPE, op, "prompts are %s %s, must be integers [N, T], T at least 1",
                        eg_dtype_name((eg_dtype)prompts->dtype), EG__SHAPE_OF(prompts));
    }
    d->n = prompts->shape[0];
    d->longest = prompts->shape[1];
    d->device = eg_device_of(prompts);
    d->outside = eg_use_device(eg_cpu());
    eg_tensor *here = eg_contiguous(eg_to(eg_cast(prompts, EG_I64), eg_cpu()));
    d->prompts = here ? eg_data(here) : NULL;
    d->lengths = here ? calloc((size_t)eg__max(d->n, 1), sizeof *d->lengths) : NULL;
    st = !here ? eg__why() : !d->lengths ? eg__fail(EG_ENOMEM, op, "no memory for lengths") : read_lengths(d);
    if (!st) {
        d->own = !d->o.cache;
        d->cache = d->own ? eg_cache_new() : d->o.cache;
        st = d->cache ? EG_OK : eg__why();
    }
    return st;
}

void eg__decoding_end(eg__decoding *d)
{
    eg_use_device(d->outside);
    free(d->lengths);
    if (d->own) {
        eg_cache_free(d->cache);
    }
}

eg_tensor *eg__decoding_ids(const eg__decoding *d, eg_shape shape, const int64_t *ids)
{
    return eg_to(eg_from(shape, EG_I64, ids), d->device);
}

eg_tensor *eg__decoding_ask(eg__decoding *d, const int64_t *ids, int64_t rows, int64_t steps)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg__decoding_ids(d, EG_SHAPE(rows, steps), ids) : NULL, *logits = NULL;
    if (t) {
        eg_error before;
        eg_device *here = eg_use_device(d->outside);
        eg__user_begin(&before);
        logits = d->next(d->user, t, d->cache);
        eg__user_end(&before, logits ? EG_OK : EG_EUSER, d->op, "net");
        eg_use_device(here);
    }
    const bool fits = logits && logits->ndim == 2 && logits->shape[0] == rows && logits->shape[1] >= 1;
    if (logits && (!fits || !eg__is_float(logits->dtype))) {
        logits = eg__fail_null(EG_ESHAPE, d->op, "the net gave %s %s, must be floats [%lld, words]",
                               eg_dtype_name((eg_dtype)logits->dtype), EG__SHAPE_OF(logits), (long long)rows);
    }
    return eg_scope_pop(s, logits);
}

eg_status eg__decoding_fetch(eg_tensor *t, eg_dtype dtype, void *to, int64_t n)
{
    eg_scope s = eg_scope_push();
    eg_tensor *here = s.depth ? eg_to(eg_cast(t, dtype), eg_cpu()) : NULL;
    eg_status st = here ? eg_copy_out(here, to, (size_t)n * eg_dtype_size(dtype)) : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}
