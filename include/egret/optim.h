/* optim.h - optimizers: rules that move parameters against their gradients, all in one pass.
 *
 *     eg_optim *adam = eg_adam_new(eg_module_parameters(net), .lr = 1e-3, .weight_decay = 0.01);
 *     eg_optim_group(adam, .max_axes = 1);      (biases and norms without decay)
 *     eg_optim_clip_norm(adam, 1.0);
 *     ...
 *     eg_optim_minimize(adam, tape, loss);
 *
 * An optimizer keeps its parameters and its state (as large as the parameters for each name in []
 * at a rule) until it is freed. Updates are in place and raise the parameters' versions. For
 * parameters in f16 and bf16 it keeps the state and a copy of the parameter, the master [master],
 * in f32: the parameter is the master rounded; if somebody else writes it the master follows.
 *
 * The state of a parameter is on its device; if it is moved (eg_module_to_device), the state follows at
 * the next step. On a device that is not the CPU a step is a few kernels, and nobody waits for them: not
 * for the norm of clipping, nor for what a scaler makes of the gradients. What asks for such a number
 * waits. Parameters may be on several devices: then each has its kernels, and clipping and scalers wait. */
#ifndef EGRET_OPTIM_H
#define EGRET_OPTIM_H

#include <egret/base.h>
#include <egret/io.h>
#include <egret/parameters.h>
#include <egret/schedule.h>
#include <egret/tape.h>

EG_BEGIN_DECLS

typedef struct eg_optim eg_optim;

/* ---- rules ------------------------------------------------------------------------------- */

/* For all rules: p is a parameter, g its gradient, t the number of this step from 1. g is first
 * clipped (below), then g += weight_decay p. State starts at 0 if nothing else is said. Options
 * left 0 have the default, which is PyTorch's; EG_ZERO is 0. The constructors give NULL and EG_EINVAL for no
 * parameters, a tensor that is not a contiguous float tensor, the same name twice, an option that is negative, not
 * finite or out of its range. A tensor that does not require gradients (eg_is_parameter) takes steps with given
 * gradients only. A tensor listed twice (tied weights) counts once: its later places are passed over. Two tensors that
 * are views of the same memory are EG_EINVAL. The caller frees the optimizer. */

/* Stochastic gradient descent. [momentum_buffer], only with momentum:
 *   b = momentum b + (1 - dampening) g  (b = g at the first step)
 *   p -= lr (nesterov ? g + momentum b : b)
 * TensorFlow's forms are the same: a = momentum a + g; v -= lr a, and with nesterov
 * v -= lr g + lr momentum a. */
typedef struct eg_sgd_options {
    size_t size;
    double lr; /* 0: 1e-3 */
    double momentum, dampening, weight_decay;
    bool nesterov; /* needs momentum and no dampening */
} eg_sgd_options;
EG_API eg_optim *eg_sgd_new_with(eg_parameters parameters, const eg_sgd_options *options);
#define eg_sgd_new(...)              EG_SGD_NEW_(__VA_ARGS__, )
#define EG_SGD_NEW_(parameters, ...) eg_sgd_new_with(parameters, EG_OPTIONS_(eg_sgd_options, __VA_ARGS__))

/* Adam (Kingma and Ba 2014). [exp_avg: m, exp_avg_sq: v]
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps) */
typedef struct eg_adam_options {
    size_t size;
    double lr, beta1, beta2, eps; /* 0: 1e-3, 0.9, 0.999, 1e-8 */
    double weight_decay;
    /* Instead of adding to g, p *= 1 - lr weight_decay (AdamW, Loshchilov and Hutter 2017). */
    bool decoupled;
    /* p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps): TensorFlow's form, and the
     * paper's at the end of its section 2. */
    bool epsilon_outside;
    /* p -= lr m / (sqrt(v) + eps); decoupled and with eps 1e-6, weight_decay 0.01 it is BERT's
     * AdamW (github.com/google-research/bert, optimization.py). */
    bool no_bias_correction;
    /* Of parameters of 2 axes or more, rows (axis 0) whose gradient is all zero keep p, m and v:
     * embeddings only move where words occurred (tf.contrib.opt.LazyAdamOptimizer). t goes on for
     * all rows. */
    bool lazy;
} eg_adam_options;
EG_API eg_optim *eg_adam_new_with(eg_parameters parameters, const eg_adam_options *options);
#define eg_adam_new(...)              EG_ADAM_NEW_(__VA_ARGS__, )
#define EG_ADAM_NEW_(parameters, ...) eg_adam_new_with(parameters, EG_OPTIONS_(eg_adam_options, __VA_ARGS__))

/* Adamax, Adam in the maximum norm (Kingma and Ba 2014, section 7.1). [exp_avg: m, exp_inf: u]
 *   m = beta1 m + (1 - beta1) g;  u = max(beta2 u, |g| + eps);  p -= lr / (1 - beta1^t) m / u */
typedef struct eg_adamax_options {
    size_t size;
    double lr, beta1, beta2, eps; /* 0: 2e-3, 0.9, 0.999, 1e-8 */
    double weight_decay;
} eg_adamax_options;
EG_API eg_optim *eg_adamax_new_with(eg_parameters parameters, const eg_adamax_options *options);
#define eg_adamax_new(...)              EG_ADAMAX_NEW_(__VA_ARGS__, )
#define EG_ADAMAX_NEW_(parameters, ...) eg_adamax_new_with(parameters, EG_OPTIONS_(eg_adamax_options, __VA_ARGS__))

/* Adam with Nesterov's momentum (Dozat 2016). [exp_avg: m, exp_avg_sq: v] With m and v as Adam's,
 *   f(t) = beta1 (1 - 0.96^(t momentum_decay) / 2);  F(t) = f(1) f(2) ... f(t)
 *   u = (1 - f(t)) / (1 - F(t)) g + f(t + 1) / (1 - F(t + 1)) m
 *   p -= lr u / (sqrt(v / (1 - beta2^t)) + eps) */
typedef struct eg_nadam_options {
    size_t size;
    double lr, beta1, beta2, eps, momentum_decay; /* 0: 2e-3, 0.9, 0.999, 1e-8, 4e-3 */
    double weight_decay;
} eg_nadam_options;
EG_API eg_optim *eg_nadam_new_with(eg_parameters parameters, const eg_nadam_options *options);
#define eg_nadam_new(...)              EG_NADAM_NEW_(__VA_ARGS__, )
#define EG_NADAM_NEW_(parameters, ...) eg_nadam_new_with(parameters, EG_OPTIONS_(eg_nadam_options, __VA_ARGS__))

/* Rectified Adam (Liu et al. 2019). [exp_avg: m, exp_avg_sq: v] With m and v as Adam's,
 *   R = 2 / (1 - beta2) - 1;  r = R - 2 t beta2^t / (1 - beta2^t)
 *   r > 5:  p -= lr m / (1 - beta1^t) c sqrt(1 - beta2^t) / (sqrt(v) + eps),
 *           c = sqrt((r - 4) (r - 2) R / ((R - 4) (R - 2) r))
 *   else:   p -= lr m / (1 - beta1^t) */
typedef struct eg_radam_options {
    size_t size;
    double lr, beta1, beta2, eps; /* 0: 1e-3, 0.9, 0.999, 1e-8 */
    double weight_decay;
} eg_radam_options;
EG_API eg_optim *eg_radam_new_with(eg_parameters parameters, const eg_radam_options *options);
#define eg_radam_new(...)              EG_RADAM_NEW_(__VA_ARGS__, )
#define EG_RADAM_NEW_(parameters, ...) eg_radam_new_with(parameters, EG_OPTIONS_(eg_radam_options, __VA_ARGS__))

/* RMSProp (Tieleman and Hinton 2012, lecture 6e). [square_avg: s; momentum_buffer: b with momentum;
 * grad_avg: a if centered]
 *   s = alpha s + (1 - alpha) g^2;  a = alpha a + (1 - alpha) g
 *   e = centered ? max(s - a^2, 0) : s
 *   b = momentum b + g / (sqrt(e) + eps);  p -= lr b */
typedef struct eg_rmsprop_options {
    size_t size;
    double lr, alpha, eps; /* 0: 1e-2, 0.99, 1e-8 */
    double momentum, weight_decay;
    bool centered;
    /* tf.train.RMSPropOptimizer: s starts at 1, b = momentum b + lr g / sqrt(e + eps), p -= b. Then
     * the defaults are alpha 0.9, eps 1e-10. */
    bool tensorflow;
} eg_rmsprop_options;
EG_API eg_optim *eg_rmsprop_new_with(eg_parameters parameters, const eg_rmsprop_options *options);
#define eg_rmsprop_new(...)              EG_RMSPROP_NEW_(__VA_ARGS__, )
#define EG_RMSPROP_NEW_(parameters, ...) eg_rmsprop_new_with(parameters, EG_OPTIONS_(eg_rmsprop_options, __VA_ARGS__))

/* Adagrad (Duchi, Hazan and Singer 2011). [sum: s, starting at initial_accumulator_value]
 *   s += g^2;  p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps) */
typedef struct eg_adagrad_options {
    size_t size;
    double lr; /* 0: 1e-2 */
    double lr_decay;
    double initial_accumulator_value;
    double eps; /* 0: 1e-10 */
    double weight_decay;
    /* tf.train.AdagradOptimizer: there is no eps, and an initial_accumulator_value of 0 is 0.1. */
    bool tensorflow;
} eg_adagrad_options;
EG_API eg_optim *eg_adagrad_new_with(eg_parameters parameters, const eg_adagrad_options *options);
#define eg_adagrad_new(...)              EG_ADAGRAD_NEW_(__VA_ARGS__, )
#define EG_ADAGRAD_NEW_(parameters, ...) eg_adagrad_new_with(parameters, EG_OPTIONS_(eg_adagrad_options, __VA_ARGS__))

/* Adadelta (Zeiler 2012). [square_avg: s, acc_delta: d]
 *   s = rho s + (1 - rho) g^2;  u = sqrt(d + eps) / sqrt(s + eps) g
 *   d = rho d + (1 - rho) u^2;  p -= lr u
 * TensorFlow's form is the same; its defaults are 1e-3, 0.95, 1e-8. */
typedef struct eg_adadelta_options {
    size_t size;
    double lr, rho, eps; /* 0: 1, 0.9, 1e-6 */
    double weight_decay;
} eg_adadelta_options;
EG_API eg_optim *eg_adadelta_new_with(eg_parameters parameters, const eg_adadelta_options *options);
#define eg_adadelta_new(...) EG_ADADELTA_NEW_(__VA_ARGS__, )
#define EG_ADADELTA_NEW_(parameters, ...) \
    eg_adadelta_new_with(parameters, EG_OPTIONS_(eg_adadelta_options, __VA_ARGS__))

/* FTRL-proximal (McMahan et al. 2013), TensorFlow's form. [accumulator: n, starting at
 * initial_accumulator_value; linear: z] With h = -lr_power,
 *   m = n + g^2;  z += g - (m^h - n^h) / lr p;  n = m
 *   p = |z| <= l1 ? 0 : (sign(z) l1 - z) / (m^h / lr + 2 l2)
 * p is made anew of z and n: what it was at the start goes only into z. At a rate of 0 nothing
 * moves. lr_power must not be positive. */
typedef struct eg_ftrl_options {
    size_t size;
    double lr, lr_power, initial_accumulator_value; /* 0: 1e-3, -0.5, 0.1 */
    double l1, l2, weight_decay;
} eg_ftrl_options;
EG_API eg_optim *eg_ftrl_new_with(eg_parameters parameters, const eg_ftrl_options *options);
#define eg_ftrl_new(...)              EG_FTRL_NEW_(__VA_ARGS__, )
#define EG_FTRL_NEW_(parameters, ...) eg_ftrl_new_with(parameters, EG_OPTIONS_(eg_ftrl_options, __VA_ARGS__))

/* Rprop (Riedmiller and Braun 1993), for whole-batch gradients. [prev: q; step_size: s, first lr]
 *   s = s (g q > 0 ? eta_plus : g q < 0 ? eta_minus : 1), within step_min..step_max
 *   g = g q < 0 ? 0 : g;  p -= sign(g) s;  q = g
 * So only the first rate matters. */
typedef struct eg_rprop_options {
    size_t size;
    double lr, eta_minus, eta_plus, step_min, step_max; /* 0: 1e-2, 0.5, 1.2, 1e-6, 50 */
    double weight_decay;
} eg_rprop_options;
EG_API eg_optim *eg_rprop_new_with(eg_parameters parameters, const eg_rprop_options *options);
#define eg_rprop_new(...)              EG_RPROP_NEW_(__VA_ARGS__, )
#define EG_RPROP_NEW_(parameters, ...) eg_rprop_new_with(parameters, EG_OPTIONS_(eg_rprop_options, __VA_ARGS__))

/* Limited-memory BFGS (Nocedal 1980; Nocedal and Wright 2006, section 7.2), for losses that are the same whenever they
 * are asked for. A step is many iterations, and needs the loss as a function: eg_optim_minimize_function; what takes
 * gradients in hand is EG_ESTATE. All parameters, f32 or f64, and their gradients are one vector, so that groups, more
 * parameters and clipping are EG_EINVAL. An iteration goes t along d: t is lr, at the first of all
 * min(1, 1 / sum |g|) lr, or what a line search finds that begins there. A step ends after max_iter iterations or
 * max_eval evaluations, or when all |g| are at most tolerance_grad, all |t d| at most tolerance_change, or the loss
 * changed by less than that.
 * A loss or gradient that is not finite is EG_EINVAL; the line search turns back from there instead. After any failure
 * parameters and memory are as they were before the step. It keeps 2 history_size vectors, as they come, and a step
 * three more; products of vectors are computed in f64. [d, prev_flat_grad, old_dirs.I, old_stps.I, ro, t, H_diag,
 * n_iter, func_evals, as PyTorch has them, without a parameter's name in front; vectors that are replaced, not written
 * to] */
typedef struct eg_lbfgs_options {
    size_t size;
    double lr;                               /* 0: 1 */
    int max_iter, max_eval;                  /* 0: 20, 1.25 max_iter */
    double tolerance_grad, tolerance_change; /* 0: 1e-7, 1e-9 */
    int history_size;                        /* at most 10000; 0: 100 */
    bool strong_wolfe;                       /* a line search for the strong Wolfe conditions */
} eg_lbfgs_options;
EG_API eg_optim *eg_lbfgs_new_with(eg_parameters parameters, const eg_lbfgs_options *options);
#define eg_lbfgs_new(...)              EG_LBFGS_NEW_(__VA_ARGS__, )
#define EG_LBFGS_NEW_(parameters, ...) eg_lbfgs_new_with(parameters, EG_OPTIONS_(eg_lbfgs_options, __VA_ARGS__))

/* NULL is fine. */
EG_API void eg_optim_free(eg_optim *optim);

/* ---- parameters and groups --------------------------------------------------------------- */

typedef struct eg_optim_add_options {
    size_t size;
    const char *prefix; /* put before the names */
} eg_optim_add_options;
/* More parameters, behind those there, with the constructor's settings: those of a second module,
 * say. Refused as by the constructors, and for a tensor that is there already; then nothing has
 * changed. Names, which groups and states go by, are copied; where there are none the place in the
 * whole list is the name. */
EG_API eg_status eg_optim_add_with(eg_optim *optim, eg_parameters parameters, const eg_optim_add_options *options);
#define eg_optim_add(...) EG_OPTIM_ADD_(__VA_ARGS__, )
#define EG_OPTIM_ADD_(optim, parameters, ...) \
    eg_optim_add_with(optim, parameters, EG_OPTIONS_(eg_optim_add_options, __VA_ARGS__))

typedef struct eg_optim_group_options {
    size_t size;
    /* Which parameters: those to which all of this applies. */
    const char *name;       /* the name contains this; NULL: any */
    int min_axes, max_axes; /* that many axes; max_axes 0: any */
    /* Their settings from now on, instead of those they had. */
    double lr_scale;     /* times the optimizer's rate; 0: 1 */
    double weight_decay; /* 0: none */
    /* Elements that are zero stay zero, whatever their gradients and the state say: pruned weights (pruning.h). So
     * nothing else in the group may begin at zero. Norms of gradients count theirs too. */
    bool keep_zeros;
} eg_optim_group_options;
/* Gives some of the parameters settings of their own, at most 63 times. Groups cost nothing: a step
 * is one pass all the same. EG_EINVAL if no parameter is meant. */
EG_API eg_status eg_optim_group_with(eg_optim *optim, const eg_optim_group_options *options);
#define eg_optim_group(...)         EG_OPTIM_GROUP_(__VA_ARGS__, )
#define EG_OPTIM_GROUP_(optim, ...) eg_optim_group_with(optim, EG_OPTIONS_(eg_optim_group_options, __VA_ARGS__))

/* How many parameters were listed, so how many gradients a step takes; 0 for NULL. */
EG_API int eg_optim_count(const eg_optim *optim);

/* ---- steps ------------------------------------------------------------------------------- */

/* One step with the given gradients, one per parameter in the list's order, of its shape and dtype;
 * NULL leaves a parameter alone. EG_ESTATE while a tape records: close it, or ask it first. After a
 * refusal nothing has moved. */
EG_API eg_status eg_optim_step(eg_optim *optim, eg_tensor *const *gradients);

/* Gradients of the one-element loss for all parameters, then a step. Parameters the loss does not
 * depend on are left alone, and so are frozen ones: tensors that are neither parameters
 * (eg_is_parameter) any more nor watched; EG_ESTATE if all are. EG_EINVAL for a tensor that is neither and was no
 * parameter when it was added: it would never be trained. Given a NULL optimizer or loss it
 * returns what is on record. */
EG_API eg_status eg_optim_minimize(eg_optim *optim, eg_tape tape, eg_tensor *loss);

/* The same with the loss as a function, which is called under a tape of the step's own, in a scope of its own: once, or
 * by rules that look around first (eg_lbfgs_new) as often as they need. Gives the loss before the step. A function that
 * gives NULL has failed. EG_ESTATE while a tape records. */
EG_API eg_tensor *eg_optim_minimize_function(eg_optim *optim, eg_tensor *(*loss)(void *user), void *user);
/* Whether a step cannot be done otherwise; false for NULL. */
EG_API bool eg_optim_needs_function(const eg_optim *optim);

/* The two halves of it, for several losses of one forward (adversaries, with a persistent tape) and
 * for batches in parts. backward adds the gradients of the loss to those gathered since the latest
 * update; update steps with their sum, which is dropped when that went well. EG_ESTATE: nothing was
 * gathered, or a tape still records. */
EG_API eg_status eg_optim_backward(eg_optim *optim, eg_tape tape, eg_tensor *loss);
EG_API eg_status eg_optim_update(eg_optim *optim);

/* The learning rate, changeable between steps; NaN for NULL. A rate must be finite and not
 * negative. */
EG_API double eg_optim_rate(const eg_optim *optim);
EG_API eg_status eg_optim_set_rate(eg_optim *optim, double lr);
/* Sets the rate by the schedule, which is copied, now and before each step; NULL ends that.
 * EG_EINVAL as for eg_schedule_at. Meanwhile eg_optim_set_rate is EG_ESTATE. */
EG_API eg_status eg_optim_follow(eg_optim *optim, const eg_schedule *schedule);
/* Steps done so far. Waits for the device if some may have been skipped. */
EG_API int64_t eg_optim_steps(const eg_optim *optim);

/* ---- clipping ---------------------------------------------------------------------------- */

typedef struct eg_clip_options {
    size_t size;
    double p;   /* of the norm: 1, 2 or INFINITY; 0: 2 */
    double eps; /* scale = min(1, max / (norm + eps)); PyTorch's is 1e-6, with 0 it is TensorFlow's
                 * max / maximum(norm, max) */
} eg_clip_options;

/* Before each step, all gradients are scaled so that their norm, as one vector, is at most max
 * (Pascanu et al. 2012). It costs one pass over the gradients, added up in double. max 0 ends that,
 * INFINITY only measures. If the norm is not finite, the step is EG_EINVAL with the norm in words,
 * and nothing has moved. On a device that is not the CPU nothing moves either, but the step is
 * EG_OK; it is not counted, and one of the next 16 is EG_EINVAL for it. */
EG_API eg_status eg_optim_clip_norm_with(eg_optim *optim, double max, const eg_clip_options *options);
#define eg_optim_clip_norm(...)         EG_OPTIM_CLIP_(__VA_ARGS__, )
#define EG_OPTIM_CLIP_(optim, max, ...) eg_optim_clip_norm_with(optim, max, EG_OPTIONS_(eg_clip_options, __VA_ARGS__))
/* Before each step, and after clipping by norm, each element is cut to -max..max, for nothing; NaN
 * stays NaN. 0 or INFINITY ends that. */
EG_API eg_status eg_optim_clip_value(eg_optim *optim, double max);
/* The norm of the latest gradients before they were clipped; NaN if none was measured yet. Waits for
 * the device. */
EG_API double eg_optim_grad_norm(const eg_optim *optim);

/* The same as eg_optim_clip_norm for n gradients in hand, NULL ones left out, which are scaled in place. *norm (NULL is
 * fine) gets the norm they had; waits for the device. EG_EINVAL if that is not finite (it is in *norm all the same), or
 * if max is not above 0; then nothing has been scaled. */
EG_API eg_status eg_clip_grad_norm_with(eg_tensor *const *gradients, int n, double max, double *norm,
                                        const eg_clip_options *options);
#define eg_clip_grad_norm(...) EG_CLIP_GRAD_NORM_(__VA_ARGS__, )
#define EG_CLIP_GRAD_NORM_(gradients, n, max, norm, ...) \
    eg_clip_grad_norm_with(gradients, n, max, norm, EG_OPTIONS_(eg_clip_options, __VA_ARGS__))
/* The same as eg_optim_clip_value: cuts each element of n gradients in hand, NULL ones left out, to -max..max in place;
 * NaN stays NaN. EG_EINVAL if max is not above 0. */
EG_API eg_status eg_clip_grad_value(eg_tensor *const *gradients, int n, double max);

/* ---- state ------------------------------------------------------------------------------- */

/* Where training stands, for eg_safetensors_save: the state as "<parameter>.<name in [] above>",
 * the number of steps as "steps" (i64), the rate as "lr" (f64). The state is the optimizer's own,
 * not a copy: it moves on with the next step. The caller frees the map with eg_tensors_free. */
EG_API eg_tensors *eg_optim_state(eg_optim *optim);
/* Takes over such a map, for the same rule and parameters; then training goes on bit for bit as it
 * would have (with as many threads: eg_set_threads). Groups, clipping and schedule are not in it.
 * All is checked first: EG_EFORMAT names what is missing or unexpected, EG_ESHAPE and EG_EDTYPE
 * what does not fit, and nothing has changed. */
EG_API eg_status eg_optim_load_state(eg_optim *optim, const eg_tensors *map);

/* ---- loss scaling ------------------------------------------------------------------------ */

/* Gradients in f16 underflow below 6e-8. A scaler multiplies the loss, so that they do not, and
 * divides the gradients before the step (Micikevicius et al. 2017). When some are not finite the
 * step is skipped and the scale multiplied by backoff; after interval steps without that it is
 * multiplied by growth. */
typedef struct eg_scaler eg_scaler;
typedef struct eg_scaler_options {
    size_t size;
    double start;     /* above 0; 0: 65536 */
    double growth;    /* at least 1; 0: 2 */
    double backoff;   /* above 0, at most 1; 0: 0.5. With growth 1 too the scale is fixed */
    int64_t interval; /* 0: 2000 */
} eg_scaler_options;
EG_API eg_scaler *eg_scaler_new_with(const eg_scaler_options *options);
#define eg_scaler_new(...) eg_scaler_new_with(EG_OPTIONS_(eg_scaler_options, __VA_ARGS__))
/* eg_optim_minimize with scaling; clipping and eg_optim_grad_norm see the divided gradients. A
 * skipped step is EG_OK and not counted by the optimizer. Once the scale is 2^-24 or less,
 * gradients that are not finite are EG_EINVAL: the loss itself is not. On a device that is not the
 * CPU that is said by one of the next 16 steps. */
EG_API eg_status eg_scaler_minimize(eg_scaler *scaler, eg_optim *optim, eg_tape tape, eg_tensor *loss);
/* The scale of the next step, NaN for NULL; and how many steps were skipped so far. Both wait for
 * the device. */
EG_API double eg_scaler_scale(const eg_scaler *scaler);
EG_API int64_t eg_scaler_skipped(const eg_scaler *scaler);
/* As for optimizers: "scale" (f64), "good" (steps since the scale last changed) and "skipped"
 * (i64). */
EG_API eg_tensors *eg_scaler_state(eg_scaler *scaler);
EG_API eg_status eg_scaler_load_state(eg_scaler *scaler, const eg_tensors *map);
EG_API void eg_scaler_free(eg_scaler *scaler);

/* ---- averages of weights ----------------------------------------------------------------- */

/* Exponential moving averages of parameters (Polyak and Juditsky 1992), which often do better than
 * the parameters themselves. They start as copies, in f32 for halves; at update t, from 0,
 *   a = d a + (1 - d) p,  d = warm_up ? min(decay, (1 + t) / (10 + t)) : decay
 * (tf.train.ExponentialMovingAverage with num_updates). */
typedef struct eg_ema eg_ema;
typedef struct eg_ema_options {
    size_t size;
    double decay; /* below 1; 0: 0.999; EG_ZERO: the parameters themselves */
    bool warm_up;
} eg_ema_options;
/* Keeps the parameters until it is freed, and copies their names. Refusals as for optimizers. */
EG_API eg_ema *eg_ema_new_with(eg_parameters parameters, const eg_ema_options *options);
#define eg_ema_new(...)              EG_EMA_NEW_(__VA_ARGS__, )
#define EG_EMA_NEW_(parameters, ...) eg_ema_new_with(parameters, EG_OPTIONS_(eg_ema_options, __VA_ARGS__))
/* After a step. One pass. EG_ESTATE while the averages are swapped in. */
EG_API eg_status eg_ema_update(eg_ema *ema);
/* Puts the averages in the parameters' places, to evaluate or save the model; called again, puts
 * the parameters back, bit for bit. Meanwhile they need their memory once more. EG_ESTATE while a
 * tape records. After a failure it is as before. */
EG_API eg_status eg_ema_swap(eg_ema *ema);
EG_API bool eg_ema_swapped(const eg_ema *ema);
/* As for optimizers: the averages as "<parameter>.average", the number of updates as "updates"
 * (i64). EG_ESTATE to load while they are swapped in. */
EG_API eg_tensors *eg_ema_state(eg_ema *ema);
EG_API eg_status eg_ema_load_state(eg_ema *ema, const eg_tensors *map);
/* Puts the parameters back if the averages are in their places. NULL is fine. */
EG_API void eg_ema_free(eg_ema *ema);

EG_END_DECLS

#endif
