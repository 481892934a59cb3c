/* text.c - see text.h. */
#include <math.h>

#include "nn/models/text/text.h"

static bool is_share(double p)
{
    return p >= 0 && p <= 1;
}

bool eg__text_options(const char *op, const eg_transformer_options *given, const eg__text_size *of,
                      const eg_transformer_options *rest, eg_transformer_options *o)
{
    eg__options(o, sizeof *o, given);
    o->vocabulary = o->vocabulary ? o->vocabulary : rest->vocabulary;
    o->positions = o->positions ? o->positions : rest->positions;
    o->types = o->types ? o->types : rest->types;
    o->width = o->width ? o->width : of->width;
    o->heads = o->heads ? o->heads : of->heads;
    o->hidden = o->hidden ? o->hidden : of->hidden;
    o->layers = o->layers ? o->layers : of->layers;
    o->dropout = eg__or(o->dropout, 0.1);
    o->attention_dropout = eg__or(o->attention_dropout, 0.1);
    o->hidden_dropout = eg__or(o->hidden_dropout, 0.1);
    o->eps = o->eps != 0 ? o->eps : rest->eps;
    o->activation = o->activation ? o->activation : rest->activation;
    if (o->vocabulary < 1 || o->positions < (rest->positions > 0) || o->types < (rest->types > 0) || o->layers < 1 ||
        o->layers > EG__TEXT_LAYERS || o->width < 1 || o->heads < 1 || o->width % o->heads || o->hidden < 1) {
        eg_failf(EG_EINVAL, op,
                 "vocabulary %lld, positions %lld, types %lld, width %lld in %lld heads, hidden %lld, layers %lld: at "
                 "least 1 of each, the heads divide the width, and there are at most %d layers",
                 (long long)o->vocabulary, (long long)o->positions, (long long)o->types, (long long)o->width,
                 (long long)o->heads, (long long)o->hidden, (long long)o->layers, EG__TEXT_LAYERS);
        return false;
    }
    if (!is_share(o->dropout) || !is_share(o->attention_dropout) || !is_share(o->hidden_dropout) || !(o->eps > 0)) {
        eg_failf(EG_EINVAL, op, "dropout %g, of attention %g, of hidden columns %g: must be 0..1; eps %g: above 0",
                 o->dropout, o->attention_dropout, o->hidden_dropout, o->eps);
        return false;
    }
    return true;
}

eg_status eg__check_text_input(const char *op, const eg_module *m, const eg_module_kind *kind, const eg_tensor *t,
                               const char *name, int ndim)
{
    if (!m || !t) {
        const eg_status before = eg_last_error()->code;
        return before ? before : eg_failf(EG_EINVAL, op, "%s is NULL", m ? name : "m");
    }
    if (m->kind != kind) {
        return eg_failf(EG_EINVAL, op, "a %s is no %s", m->kind->name, kind->name);
    }
    return !ndim || eg_ndim(t) == ndim
               ? EG_OK
               : eg_failf(EG_ESHAPE, op, "%s has %d axes, must have %d", name, eg_ndim(t), ndim);
}

eg_tensor *eg__dropped(eg_tensor *x, double share, const eg_module *m)
{
    return share > 0 ? eg_dropout(x, share, m->training) : x;
}

eg_module *eg__text_layers(int64_t count, eg_module *(*make)(const eg_transformer_options *o),
                           const eg_transformer_options *o)
{
    eg__stack layers = {.count = 0};
    for (int64_t i = 0; i < count && !layers.failed; i++) {
        eg__stack_add(&layers, make(o));
    }
    return eg__stack_end(&layers);
}
