/* optim.h - optimizers: rules that move parameters against their gradients, all of them in one pass.
 *
 *     eg_optim *adam = eg_adam_new(eg_module_parameters(net), .lr = 1e-3);
 *     ...
 *     eg_optim_minimize(adam, tape, loss);
 *
 * An optimizer keeps its parameters and its state (as large as the parameters, once for momentum, twice
 * for Adam) until it is freed. Updates are in place and raise the parameters' versions. */
#ifndef EGRET_OPTIM_H
#define EGRET_OPTIM_H

#include <egret/base.h>
#include <egret/parameters.h>
#include <egret/tape.h>

EG_BEGIN_DECLS

typedef struct eg_optim eg_optim;

/* Stochastic gradient descent, PyTorch's form:
 *   g += weight_decay p;  b = momentum b + (1 - dampening) g  (b = g at the first step)
 *   p -= lr (nesterov ? g + momentum b : b)
 * Zero-initialised: lr 1e-3, no momentum. */
typedef struct eg_sgd_options {
    size_t size;
    double lr, momentum, dampening, weight_decay;
    bool nesterov; /* needs momentum and no dampening */
} eg_sgd_options;
/* EG_EINVAL for no parameters, a parameter that is not a float tensor, a negative or non-finite option.
 * The caller frees the optimizer. */
EG_API eg_optim *eg_sgd_new_with(eg_parameters parameters, const eg_sgd_options *options);
#define eg_sgd_new(...) EG_SGD_NEW_(__VA_ARGS__, .size = sizeof(eg_sgd_options))
#define EG_SGD_NEW_(parameters, ...) eg_sgd_new_with(parameters, &(eg_sgd_options){__VA_ARGS__})

/* Adam (Kingma and Ba 2014), at step t:
 *   g += weight_decay p;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)
 * decoupled: instead of adding to g, p *= 1 - lr weight_decay (AdamW, Loshchilov and Hutter 2017).
 * epsilon_outside: p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps), the form TensorFlow
 * computes. Zero-initialised: lr 1e-3, beta1 0.9, beta2 0.999, eps 1e-8. */
typedef struct eg_adam_options {
    size_t size;
    double lr, beta1, beta2, eps, weight_decay;
    bool decoupled, epsilon_outside;
} eg_adam_options;
/* Refusals as for eg_sgd_new; a beta outside 0..1 too. */
EG_API eg_optim *eg_adam_new_with(eg_parameters parameters, const eg_adam_options *options);
#define eg_adam_new(...) EG_ADAM_NEW_(__VA_ARGS__, .size = sizeof(eg_adam_options))
#define EG_ADAM_NEW_(parameters, ...) eg_adam_new_with(parameters, &(eg_adam_options){__VA_ARGS__})

/* One step with the given gradients, one per parameter in the list's order, of its shape and dtype; NULL
 * leaves a parameter alone. EG_ESTATE while a tape records: close it, or ask it first. After a refusal
 * nothing has moved. */
EG_API eg_status eg_optim_step(eg_optim *optim, eg_tensor *const *gradients);

/* Gradients of the one-element loss for all parameters, then a step. Parameters the loss does not depend on
 * are left alone. Given a NULL optimizer or loss it returns what is on record. */
EG_API eg_status eg_optim_minimize(eg_optim *optim, eg_tape tape, eg_tensor *loss);

/* The learning rate, changeable between steps; NaN for NULL. A rate must be finite and not negative. */
EG_API double eg_optim_rate(const eg_optim *optim);
EG_API eg_status eg_optim_set_rate(eg_optim *optim, double lr);
/* Steps done so far. */
EG_API int64_t eg_optim_steps(const eg_optim *optim);
/* NULL is fine. */
EG_API void eg_optim_free(eg_optim *optim);

EG_END_DECLS

#endif
