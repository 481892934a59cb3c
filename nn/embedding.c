/* embedding.c - rows of a table by number. */
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct embedding {
    eg_module base;
    eg_tensor *weight;
    eg_embedding_options options;
} embedding;

static eg_tensor *embedding_forward(eg_module *m, eg_tensor *x)
{
    embedding *e = (embedding *)m;
    return eg_embedding_with(e->weight, x, &e->options);
}

static void embedding_members(eg_module *m, eg_members *members)
{
    eg_member_parameter(members, "weight", &((embedding *)m)->weight);
}

static const eg_module_kind embedding_kind = {
    .size = sizeof(eg_module_kind), .name = "embedding", .forward = embedding_forward, .members = embedding_members};

static eg_tensor *first_weight(int64_t count, int64_t width, const eg_embedding_layer_options *o)
{
    eg_scope s = eg_scope_push();
    eg_tensor *w = eg_normal(EG_SHAPE(count, width), 0, 1, o->dtype);
    if (w && o->padded && !eg_mul_scalar_(eg_select(w, 0, o->padding), 0)) {
        w = NULL;
    }
    w = eg_parameter(w);
    eg_scope_pop(s, NULL);
    return w;
}

eg_module *eg_embedding_new_with(int64_t count, int64_t width, const eg_embedding_layer_options *given)
{
    eg_embedding_layer_options o;
    eg__options(&o, sizeof o, given);
    if (count < 1 || width < 1) {
        return eg__fail_null(EG_EINVAL, "embedding", "%lld rows of %lld numbers: at least 1 of each", (long long)count,
                             (long long)width);
    }
    if (o.padded && (o.padding < 0 || o.padding >= count)) {
        return eg__fail_null(EG_EINVAL, "embedding", "padding is %lld, outside 0..%lld", (long long)o.padding,
                             (long long)count - 1);
    }
    embedding *e = eg_module_new(sizeof *e, &embedding_kind);
    if (!e) {
        return NULL;
    }
    e->options = (eg_embedding_options){.size = sizeof e->options, .padded = o.padded, .padding = o.padding};
    e->weight = first_weight(count, width, &o);
    return eg_module_finish(&e->base);
}
