/* logits.c - see logits.h. */
#include "logits.h"

static eg_tensor *loss_of(eg_tensor *logits, eg_tensor *labels, double smoothing)
{
    return eg_cross_entropy(eg_cast(logits, EG_F32), labels, .label_smoothing = smoothing);
}

eg_tensor *logits_loss(eg_logits l, eg_tensor *labels, double smoothing)
{
    eg_tensor *loss = loss_of(l.logits, labels, smoothing);
    return l.aux ? eg_add(loss, eg_mul_scalar(loss_of(l.aux, labels, smoothing), 0.4)) : loss;
}
