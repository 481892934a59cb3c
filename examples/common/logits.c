/* logits.c - see logits.h. */
#include "logits.h"

static eg_tensor *loss_of(eg_tensor *logits, eg_tensor *labels)
{
    return eg_cross_entropy(eg_cast(logits, EG_F32), labels);
}

eg_tensor *logits_loss(eg_logits l, eg_tensor *labels)
{
    eg_tensor *loss = loss_of(l.logits, labels);
    return l.aux ? eg_add(loss, eg_mul_scalar(loss_of(l.aux, labels), 0.4)) : loss;
}
