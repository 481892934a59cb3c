/* net.c - see net.h. */
#include "net.h"

#include <egret/egret.h>
#include <string.h>

typedef struct reader {
    eg_module base;
    eg_module *convs, *lstm, *out;
    bool whole; /* rows are read to the end of the longest, padding and all */
} reader;

/* Points behind a drawing's last one, f32 [N, T, 1], are 0, others 1. */
static eg_tensor *mask_of(eg_tensor *ink, eg_tensor *lengths)
{
    eg_tensor *step = eg_arange_int(0, eg_size(ink, 1), 1, EG_I64);
    eg_tensor *inside = eg_lt(eg_unsqueeze(step, 0), eg_unsqueeze(lengths, 1));
    return eg_unsqueeze(eg_cast(inside, EG_F32), 2);
}

eg_tensor *quickdraw_forward(eg_module *net, eg_tensor *ink, eg_tensor *lengths)
{
    const reader *r = (const reader *)net;
    eg_scope s = eg_scope_push();
    eg_tensor *x = eg_transpose(eg_module_forward(r->convs, eg_transpose(ink, 1, 2)), 1, 2);
    eg_tensor *y = eg_rnn_forward(r->lstm, x, .lengths = r->whole ? NULL : lengths).y;
    y = eg_sum(eg_mul(y, mask_of(ink, lengths)), .axes = EG_AXES(1));
    return eg_scope_pop(s, eg_module_forward(r->out, y));
}

static void members(eg_module *m, eg_members *all)
{
    reader *r = (reader *)m;
    eg_member_child(all, "convs", &r->convs);
    eg_member_child(all, "lstm", &r->lstm);
    eg_member_child(all, "out", &r->out);
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "quickdraw", .members = members};

/* 768, 15,424 and 18,528 parameters; there is nothing between them but dropout. */
static eg_module *convolutions(const quickdraw_options *o)
{
    eg_module *all[3 * CONVS_MAX];
    int n = 0;
    int64_t in = 3;
    for (int i = 0; i < o->convs; i++) {
        if (o->batch_norm) {
            all[n++] = eg_batch_norm_new(in, .momentum = 0.01, .eps = 1e-3);
        }
        if (i && o->dropout > 0) {
            all[n++] = eg_dropout_new(o->dropout);
        }
        all[n++] = eg_conv1d_new(in, o->features[i], .kernel = o->kernels[i], .padding = EG_SAME);
        in = o->features[i];
    }
    return eg_sequential_new_with(all, n);
}

/* Weights as Glorot and Bengio have them, biases 0; the forget gates' 1 where TensorFlow's cells have it so. */
static eg_status begin(reader *r, int64_t nodes)
{
    eg_status st = eg_module_init(&r->base, EG_GLOROT_UNIFORM);
    eg_parameters p = eg_module_parameters(r->lstm);
    for (int i = 0; i < p.count && !st && !r->whole; i++) {
        EG_SCOPE {
            eg_tensor *forget = eg_ndim(p.tensors[i]) == 1 ? eg_slice(p.tensors[i], 0, nodes, 2 * nodes, 1) : NULL;
            st = forget ? eg_init(forget, EG_CONSTANT, .value = 1) : EG_OK;
        }
    }
    return st;
}

eg_module *quickdraw_net(int64_t classes, const quickdraw_options *o)
{
    reader *r = eg_module_new(sizeof *r, &kind);
    if (!r) {
        return NULL;
    }
    r->whole = strcmp(o->cell, "cudnn_lstm") == 0;
    r->convs = convolutions(o);
    r->lstm = eg_lstm_new(o->features[o->convs - 1], o->nodes, .layers = (int)o->layers, .bidirectional = true,
                          .batch_first = true, .dropout = r->whole ? o->dropout : 0, .one_bias = !r->whole);
    r->out = eg_linear_new(2 * o->nodes, classes);
    eg_module *m = eg_module_finish(&r->base);
    if (m && begin(r, o->nodes)) {
        eg_module_free(m);
        m = NULL;
    }
    return m;
}
