/* logits.h - the loss that classifiers learn by. */
#ifndef EXAMPLES_COMMON_LOGITS_H
#define EXAMPLES_COMMON_LOGITS_H

#include <egret/egret.h>
#include <egret/models.h>

/* Mean cross entropy in single precision, and 0.4 of that of the auxiliary logits where the net has any, with this
 * share of label smoothing. */
eg_tensor *logits_loss(eg_logits l, eg_tensor *labels, double smoothing);

#endif
