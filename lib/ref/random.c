/* random.c - numbers in a row and at random, draws and dropout, element by element. */
#include "lib/ops/options.h"
#include "lib/math/philox64.h"
#include "lib/math/scalar.h"
#include "lib/ref/ref.h"

eg_status eg__ref_arange(const eg__call *c)
{
    const eg__arange_opts *o = c->opts;
    eg_tensor *y = c->out[0];
    const eg__terms *t = &o->terms;
    char *to = eg__ptr(y);
    for (int64_t i = 0; i < o->n; i++) {
        if (t->kind == EG__TERMS_COUNTED) {
            eg__store_int(to, y->dtype, i, eg__counted_term(t, i));
        } else {
            eg__store(to, y->dtype, i, t->kind == EG__TERMS_FLOORED ? eg__floored_term(t, i) : eg__term(t, i));
        }
    }
    return EG_OK;
}

/* Element i of the float kinds in f32. */
static float number(const eg__random_opts *o, int64_t i)
{
    const float a = (float)o->a, b = (float)o->b;
    uint32_t w = eg__philox_word(o->from.seed, o->from.offset, i);
    float x, y;
    switch (o->kind) {
    case EG__RANDOM_UNIFORM:
        return eg__between(eg__word_uniform(w), a, b - a, nextafterf(b, a));
    case EG__RANDOM_NORMAL:
        eg__normal_pair(eg__philox_word(o->from.seed, o->from.offset, i & ~(int64_t)1),
                        eg__philox_word(o->from.seed, o->from.offset, i | 1), &x, &y);
        return fmaf(b, i & 1 ? y : x, a);
    default:
        return fmaf(b, eg__truncated(w), a);
    }
}

/* The same kinds in f64: two words each. */
static double number64(const eg__random_opts *o, int64_t i)
{
    const uint64_t seed = o->from.seed, offset = o->from.offset;
    uint64_t w = eg__philox_word64(seed, offset, i);
    double x, y;
    switch (o->kind) {
    case EG__RANDOM_UNIFORM:
        return eg__between64(eg__word_uniform64(w), o->a, o->b - o->a, nextafter(o->b, o->a));
    case EG__RANDOM_NORMAL:
        eg__normal_pair64(eg__philox_word64(seed, offset, i & ~(int64_t)1), eg__philox_word64(seed, offset, i | 1), &x,
                          &y);
        return fma(o->b, i & 1 ? y : x, o->a);
    default:
        return fma(o->b, eg__truncated64(w), o->a);
    }
}

/* Fisher and Yates, from the end: element i is exchanged with one of 0..i. */
static void permute(const eg__random_opts *o, const eg_tensor *y)
{
    for (int64_t i = 0; i < y->n; i++) {
        eg__set_int_at(y, i, i);
    }
    for (int64_t i = y->n - 1; i > 0; i--) {
        uint64_t w = eg__philox_word64(o->from.seed, o->from.offset, i);
        int64_t k = (int64_t)eg__below(w, (uint64_t)i + 1), t = eg__get_int_at(y, i);
        eg__set_int_at(y, i, eg__get_int_at(y, k));
        eg__set_int_at(y, k, t);
    }
}

eg_status eg__ref_random(const eg__call *c)
{
    const eg__random_opts *o = c->opts;
    const eg_tensor *y = c->out[0];
    const eg_random_state *from = &o->from;
    if (o->kind == EG__RANDOM_PERMUTATION) {
        permute(o, y);
        return EG_OK;
    }
    for (int64_t i = 0; i < y->n; i++) {
        if (o->kind == EG__RANDOM_BERNOULLI) {
            uint32_t w = eg__philox_word(from->seed, from->offset, i);
            eg__set_at(y, i, eg__chance(w, eg__threshold(o->a)));
        } else if (o->kind == EG__RANDOM_INTEGERS) {
            uint64_t w = eg__philox_word64(from->seed, from->offset, i);
            eg__set_int_at(y, i, (int64_t)((uint64_t)o->low + eg__below(w, o->range)));
        } else {
            eg__set_at(y, i, o->dtype == EG_F64 ? number64(o, i) : (double)number(o, i));
        }
    }
    return EG_OK;
}

eg_status eg__ref_categorical(const eg__call *c)
{
    const eg__categorical_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    int64_t classes = x->shape[x->ndim - 1], rows = y->n / (o->n ? o->n : 1);
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)classes * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    double *sum = s.data;
    eg_status st = EG_OK;
    for (int64_t r = 0; r < rows && !st; r++) {
        double top = -(double)INFINITY, total = 0;
        for (int64_t k = 0; k < classes; k++) {
            top = fmax(top, eg__get_at(x, r * classes + k));
        }
        const double scale = eg__f64_near_one(top);
        for (int64_t k = 0; k < classes && !st; k++) {
            double v = eg__get_at(x, r * classes + k);
            v = o->logits ? exp(v - top) : v * scale;
            if (!(v >= 0 && v < (double)INFINITY)) {
                st = eg__fail(EG_EINVAL, c->op->name, "row %lld, class %lld: %g is no %s", (long long)r, (long long)k,
                              eg__get_at(x, r * classes + k), o->logits ? "logit" : "probability");
            }
            sum[k] = total += v;
        }
        if (!st && !(total > 0)) {
            st = eg__fail(EG_EINVAL, c->op->name, "row %lld: the probabilities sum to 0", (long long)r);
        }
        for (int64_t j = 0; j < o->n && !st; j++) {
            double u = total * eg__word_uniform64(eg__philox_word64(o->from.seed, o->from.offset, r * o->n + j));
            int64_t low = 0, high = classes - 1; /* the first class whose running sum exceeds u */
            while (low < high) {
                int64_t middle = low + (high - low) / 2;
                if (sum[middle] > u) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            eg__set_int_at(y, r * o->n + j, low);
        }
    }
    eg__scratch_put(c, &s);
    return st;
}

eg_status eg__ref_dropout(const eg__call *c)
{
    const eg__dropout_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const uint32_t threshold = eg__threshold(o->p);
    double scale = o->p < 1 ? 1 / (1 - o->p) : 0;
    for (int64_t i = 0; i < y->n; i++) {
        int64_t at = eg__at(y, y, i); /* y has no gaps, so this is also its place in memory */
        uint32_t w = eg__philox_word(o->from.seed, o->from.offset, at);
        eg__set_at(y, at, eg__chance(w, threshold) ? 0 : eg__get_at(x, eg__at(x, y, i)) * scale);
    }
    return EG_OK;
}
