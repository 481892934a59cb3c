/* rotary.c - pairs of columns turned by angles. */
#include "lib/ops/attention.h"
#include "lib/ref/ref.h"

eg_status eg__ref_rotary(const eg__call *c)
{
    const eg__rotary_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *cos = c->in[1], *sin = c->in[2];
    eg_tensor *y = c->out[0];
    const int64_t columns = x->shape[x->ndim - 1], pairs = cos->shape[cos->ndim - 1];
    for (int64_t i = 0; i < x->n; i++) {
        const int64_t k = i % columns, pair = o->interleaved ? k / 2 : k % eg__max(pairs, 1);
        const int64_t step = o->interleaved ? 1 : pairs, row = i - k;
        double v = eg__get_at(x, eg__at(x, x, i));
        if (k < 2 * pairs) {
            int64_t of_cos = pair * cos->strides[cos->ndim - 1], of_sin = pair * sin->strides[sin->ndim - 1];
            int64_t rest = row / eg__max(columns, 1);
            for (int back = 1; back < x->ndim; back++) {
                const int64_t at = rest % x->shape[x->ndim - 1 - back];
                rest /= x->shape[x->ndim - 1 - back];
                if (eg__lead_size(cos, back) > 1) {
                    of_cos += at * cos->strides[cos->ndim - 1 - back];
                    of_sin += at * sin->strides[sin->ndim - 1 - back];
                }
            }
            const bool second = o->interleaved ? k % 2 : k >= pairs;
            const double other = eg__get_at(x, eg__at(x, x, second ? i - step : i + step));
            const double a = eg__get_at(cos, of_cos), b = eg__get_at(sin, of_sin);
            v = second ? other * b + v * a : v * a - other * b;
        }
        eg__set_at(y, eg__at(y, y, i), v);
    }
    return EG_OK;
}
