/* init.h - what weights begin with.
 *
 *     eg_module_init(net, EG_GLOROT_UNIFORM);
 *     eg_module_init(net, EG_NORMAL, .std = 0.02);
 *
 * fan_in is the size of axis 1, fan_out that of axis 0, each times the cells of a kernel behind them: how
 * PyTorch counts for weights [out, in, kernel...]. */
#ifndef EGRET_NN_INIT_H
#define EGRET_NN_INIT_H

#include <egret/nn/module.h>

EG_BEGIN_DECLS

typedef enum eg_init_rule {
    EG_GLOROT_UNIFORM,   /* within gain sqrt(6 / (fan_in + fan_out)); Glorot and Bengio 2010 */
    EG_GLOROT_NORMAL,    /* std gain sqrt(2 / (fan_in + fan_out)) */
    EG_HE_UNIFORM,       /* within gain sqrt(3 / fan_in); gain 0: sqrt(2), for relu; He et al. 2015 */
    EG_HE_NORMAL,        /* std gain / sqrt(fan_in); gain 0: sqrt(2) */
    EG_ORTHOGONAL,       /* rows or columns, whichever are fewer, orthonormal, times gain; axes from 1 on
                            are joined; Saxe et al. 2013 */
    EG_UNIFORM,          /* low <= w < high */
    EG_NORMAL,           /* mean, std */
    EG_TRUNCATED_NORMAL, /* mean, std, nothing beyond 2 std */
    EG_CONSTANT,         /* value */
} eg_init_rule;

/* What the rule reads. Zero-initialised: gain 1 (of the He rules sqrt(2)); zeros for the others. */
typedef struct eg_init_options {
    size_t size;
    double gain; /* 0: 1, or sqrt(2) */
    double low, high;
    double mean, std;
    double value;
    bool fan_out; /* He rules: fan_out in place of fan_in, which keeps the size of gradients */
} eg_init_options;

/* Fills a float tensor with numbers from the calling thread's random sequence; an in-place change, so
 * EG_ESTATE while an open tape follows it. EG_ESHAPE: fewer than 2 axes for a rule with fans; EG_EINVAL:
 * options out of order. */
EG_API eg_status eg_init_with(eg_tensor *t, eg_init_rule rule, const eg_init_options *options);
#define eg_init(...)           EG_INIT_(__VA_ARGS__, )
#define EG_INIT_(t, rule, ...) eg_init_with(t, rule, EG_OPTIONS_(eg_init_options, __VA_ARGS__))

/* The same for all parameters of a module with 2 or more axes, frozen or not; those whose name ends in
 * "bias" or begins with "bias_" become 0, others with one axis (of norms) stay. */
EG_API eg_status eg_module_init_with(eg_module *m, eg_init_rule rule, const eg_init_options *options);
#define eg_module_init(...)           EG_MODULE_INIT_(__VA_ARGS__, )
#define EG_MODULE_INIT_(m, rule, ...) eg_module_init_with(m, rule, EG_OPTIONS_(eg_init_options, __VA_ARGS__))

EG_END_DECLS

#endif
