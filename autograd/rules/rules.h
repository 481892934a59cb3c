/* rules.h - the gradient rules, declared from the table, and what writing one takes. */
#ifndef EGRET_RULES_H
#define EGRET_RULES_H

#include "autograd/record.h"
#include "lib/ops/options.h"

#define EG__RULE_grad(name)    eg__grad_##name
#define EG__RULE_none(name)    NULL
#define EG__DECLARE_grad(name) eg__rule eg__grad_##name;
#define EG__DECLARE_none(name)
#define EG_OP(name, kernel, grad, ...) EG__DECLARE_##grad(name)
#include "lib/ops/ops.def"
#undef EG_OP

/* The gradient of cumprod(x) along the axis, composed of public ops and in f64: products of the factors before and
 * after one may leave the range of f32 where the product of both does not. */
eg_tensor *eg__cumprod_grad(eg_tensor *x, eg_tensor *dy, int axis);

/* dy before the activation (an eg__act whose derivative can be had from y) that made y. */
eg_tensor *eg__before_activation(eg__walk *w, int act, eg_tensor *dy, eg_tensor *y);

#endif
