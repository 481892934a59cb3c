/* convert.c - the weights of a model as another file, and nets of the zoo as models. */
#include <stdio.h>

#include <egret/models.h>

#include "onnx.h"

static eg_status model_of_net(const char *path, const onnx_options *o)
{
    const eg_model_info info = eg_model_find(o->net);
    const int64_t side = o->side ? o->side : info.side;
    eg_module *m = info.name ? eg_model_new(o->net, .classes = o->classes, .side = info.sided ? side : 0) : NULL;
    eg_status st = m ? EG_OK : eg_last_error()->code;
    st = st || !o->weights ? st : eg_module_load(m, o->weights);
    st = st ? st : eg_module_eval(m);
    eg_scope s = st ? (eg_scope){0} : eg_scope_push();
    if (!st) {
        eg_tensor *x = s.depth ? eg_zeros(EG_SHAPE(o->dim, info.channels, side, side), EG_F32) : NULL;
        st = x ? eg_onnx_save(m, x, path, .name = o->net, .any_batch = o->any_batch, .beside = o->beside)
               : eg_last_error()->code;
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg_module_free(m);
    if (!st) {
        printf("%s is %s\n", path, o->net);
    }
    return st;
}

static eg_status weights_of_model(const char *from, const char *to, const onnx_options *o)
{
    eg_module *m = onnx_open(from, o);
    eg_tensors *state = m ? eg_module_state(m) : NULL;
    eg_status st = state ? eg_tensors_save(state, to, .format = o->to) : eg_last_error()->code;
    if (!st) {
        printf("%s has %lld tensors\n", to, (long long)eg_tensors_count(state));
    }
    eg_tensors_free(state);
    eg_module_free(m);
    return st;
}

eg_status onnx_convert(char *const *paths, const void *options)
{
    const onnx_options *o = options;
    return o->net ? model_of_net(paths[0], o) : weights_of_model(paths[0], paths[1], o);
}
