/* models.c - see models.h. */
#include "models.h"

#include <math.h>
#include <string.h>

static const char op[] = "cnn-bench";

/* ---- nets that the library does not name ---- */

static eg_module *affine(int64_t in, int64_t out, double gain)
{
    eg_module *m = eg_linear_new(in, out);
    if (m && eg_module_init(m, EG_TRUNCATED_NORMAL, .std = sqrt(gain / (double)in))) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

/* Next to no work: what is measured with it is all the rest. */
static eg_module *trivial(const eg_model_options *o)
{
    return eg_sequential_new(eg_flatten_new(), affine(o->channels * o->side * o->side, 1, 2),
                             eg_activation_new(eg_relu), affine(1, 4096, 2), eg_activation_new(eg_relu),
                             affine(4096, o->classes, 1));
}

/* ---- the table ---- */

static const char cifar[] = "cifar10";

/* clang-format off */
static const model models[] = {
    {"trivial",            cifar, NULL,               trivial,     32,   32, 0.005,   0, PLAN_FIXED},
    {"trivial",            NULL,  NULL,               trivial,     227,  32, 0.005,   0, PLAN_FIXED},
    {"vgg11",              NULL,  "vgg_a",            NULL,        224,  64, 0.005,   0, PLAN_FIXED},
    {"vgg16",              NULL,  "vgg_16",           NULL,        224,  64, 0.005,   0, PLAN_FIXED},
    {"vgg19",              NULL,  "vgg_19",           NULL,        224,  64, 0.005,   0, PLAN_FIXED},
    {"lenet",              NULL,  "lenet",            NULL,        28,   32, 0.005,   0, PLAN_FIXED},
    {"googlenet",          NULL,  "inception_v1",     NULL,        224,  32, 0.005,   0, PLAN_FIXED},
    {"overfeat",           NULL,  "overfeat",         NULL,        231,  32, 0.005,   0, PLAN_FIXED},
    {"alexnet",            cifar, "cifarnet",         NULL,        32,  128, 0.1,     0, PLAN_ALEXNET},
    {"alexnet",            NULL,  "alexnet_v2",       NULL,        224, 512, 0.005,   0, PLAN_FIXED},
    {"inception3",         NULL,  "inception_v3",     NULL,        299,  32, 0.005,   0, PLAN_FIXED},
    {"inception4",         NULL,  "inception_v4",     NULL,        299,  32, 0.005,   0, PLAN_FIXED},
    {"resnet50",           NULL,  "resnet50",         NULL,        224,  64, 0.128, 256, PLAN_RESNET},
    {"resnet50_v1.5",      NULL,  "resnet50",         NULL,        224,  64, 0.128, 256, PLAN_RESNET},
    {"resnet50_v2",        NULL,  "resnet_v2_50",     NULL,        224,  64, 0.128, 256, PLAN_RESNET},
    {"resnet101",          NULL,  "resnet101",        NULL,        224,  32, 0.128, 256, PLAN_RESNET},
    {"resnet101_v2",       NULL,  "resnet_v2_101",    NULL,        224,  32, 0.128, 256, PLAN_RESNET},
    {"resnet152",          NULL,  "resnet152",        NULL,        224,  32, 0.128, 256, PLAN_RESNET},
    {"resnet152_v2",       NULL,  "resnet_v2_152",    NULL,        224,  32, 0.128, 256, PLAN_RESNET},
    {"official_resnet18",  NULL,  "resnet18",         NULL,        224,  32, 0.0125, 32, PLAN_OFFICIAL},
    {"official_resnet34",  NULL,  "resnet34",         NULL,        224,  32, 0.0125, 32, PLAN_OFFICIAL},
    {"official_resnet50",  NULL,  "resnet50",         NULL,        224, 128, 0.0125, 32, PLAN_OFFICIAL},
    {"official_resnet101", NULL,  "resnet101",        NULL,        224,  32, 0.0125, 32, PLAN_OFFICIAL},
    {"official_resnet152", NULL,  "resnet152",        NULL,        224,  32, 0.0125, 32, PLAN_OFFICIAL},
    {"mobilenet",          NULL,  "mobilenet_v2",     NULL,        224,  32, 0.005,   0, PLAN_FIXED},
    {"nasnet",             cifar, "nasnet_cifar",     NULL,        32,   32, 0.025,   0, PLAN_FIXED},
    {"nasnet",             NULL,  "nasnet_mobile",    NULL,        224,  32, 0.005,   0, PLAN_FIXED},
    {"nasnetlarge",        NULL,  "nasnet_large",     NULL,        331,  16, 0.005,   0, PLAN_FIXED},
    {"resnet20",           cifar, "resnet_cifar_20",  NULL,        32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet32",           cifar, "resnet_cifar_32",  NULL,        32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet44",           cifar, "resnet_cifar_44",  NULL,        32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet56",           cifar, "resnet_cifar_56",  NULL,        32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet110",          cifar, "resnet_cifar_110", NULL,        32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet20_v2",        cifar, "resnet_cifar_v2_20",  NULL,     32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet32_v2",        cifar, "resnet_cifar_v2_32", NULL,     32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet44_v2",        cifar, "resnet_cifar_v2_44", NULL,     32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet56_v2",        cifar, "resnet_cifar_v2_56", NULL,     32,  128, 0.1,     0, PLAN_CIFAR},
    {"resnet110_v2",       cifar, "resnet_cifar_v2_110", NULL,     32,  128, 0.1,     0, PLAN_CIFAR},
};
/* clang-format on */

eg_status models_find(const char *name, const char *set, model *out)
{
    const char *of = NULL;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strcmp(models[i].name, name) == 0) {
            of = models[i].of;
            if (!of || strcmp(of, set) == 0) {
                *out = models[i];
                return EG_OK;
            }
        }
    }
    if (of) {
        return eg_failf(EG_EINDEX, op, "%s is a net for --data_name %s, not for %s", name, of, set);
    }
    eg_model_info info = eg_model_find(name);
    *out = (model){.name = info.name, .net = info.name, .side = info.side, .batch = 32, .rate = 0.005};
    return info.name ? EG_OK : eg_last_error()->code;
}

/* ---- making them ---- */

eg_module *models_make(const model *m, int64_t classes, int64_t side, bool auxiliary)
{
    eg_model_options o = {.size = sizeof o, .classes = classes, .channels = 3};
    if (m->make) {
        o.side = side;
        return m->make(&o);
    }
    const eg_model_info info = eg_model_find(m->net);
    o.side = info.sided ? side : 0;
    o.no_aux = info.aux && !auxiliary;
    return eg_model_new_with(m->net, &o);
}
