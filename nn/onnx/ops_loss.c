/* ops_loss.c - losses of classes. */
#include <string.h>

#include "nn/onnx/ops.h"

static eg_status options_of(const eg_onnx_call *c, eg_cross_entropy_options *o)
{
    const eg__onnx_attribute *ignored = eg__onnx_attribute_of(c, "ignore_index", EG__ONNX_INT);
    const char *reduction = eg_onnx_text(c, "reduction", "mean");
    *o = (eg_cross_entropy_options){.size = sizeof *o,
                                    .reduction = !strcmp(reduction, "none")  ? EG_NONE
                                                 : !strcmp(reduction, "sum") ? EG_SUM
                                                                             : EG_MEAN,
                                    .ignore = ignored != NULL,
                                    .ignore_index = ignored ? ignored->i : 0,
                                    .weight = eg__onnx_in(c, 2)};
    return o->reduction == EG_MEAN && strcmp(reduction, "mean") != 0
               ? eg_failf(EG_EINVAL, eg__onnx_op_name, "reduction \"%.40s\" is not known", reduction)
               : EG_OK;
}

eg_status eg__onnx_run_nll_loss(eg_onnx_call *c)
{
    eg_cross_entropy_options o;
    eg_status st = options_of(c, &o);
    return st ? st : eg__onnx_give(c, eg_nll_loss_with(eg__onnx_in(c, 0), eg__onnx_in(c, 1), &o));
}

/* The logarithms of the probabilities are made only if they are wanted. */
eg_status eg__onnx_run_softmax_loss(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *labels = eg__onnx_in(c, 1);
    eg_cross_entropy_options o;
    eg_status st = options_of(c, &o);
    if (st || c->node->nout < 2) {
        return st ? st : eg__onnx_give(c, eg_cross_entropy_with(x, labels, &o));
    }
    eg_tensor *logs = eg_log_softmax(x, 1);
    st = eg__onnx_give(c, eg_nll_loss_with(logs, labels, &o));
    return st ? st : eg_onnx_give(c, 1, logs);
}
