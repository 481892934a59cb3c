/* table.c - the rule of every op that has one. */
#include "autograd/rules/rules.h"

eg__rule *const eg__rules[EG__OP_COUNT] = {
#define EG_OP(name, kernel, grad, ...) EG__RULE_##grad(name),
#include "lib/ops/ops.def"
#undef EG_OP
};
