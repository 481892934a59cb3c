/* models.c - the nets of libegret-models against PyTorch's: logits, and three steps of training. */
#include <egret/models.h>

#include "tests/golden/golden.h"

/* ---- numbers both sides know (nets.py) ---------------------------------------------------------- */

enum { IMAGES = 1000000 };

/* Fills tensor k of a net's state: with numbers around `low`. */
static void fill(eg_tensor *t, uint32_t k, double low, double spread)
{
    int64_t n = eg_numel(t);
    float *numbers = malloc((size_t)n * sizeof *numbers + 1);
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = (float)(low + spread * egt_hashed(k, (uint32_t)i));
    }
    EG_SCOPE {
        EGT_CHECK(eg_copy_(t, eg_from(eg_shape_of(t), EG_F32, numbers)));
    }
    free(numbers);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

static void fill_net(eg_module *net)
{
    eg_tensors *state = eg_module_state(net);
    for (int64_t k = 0; k < eg_tensors_count(state); k++) {
        eg_tensor *t = eg_tensors_at(state, k);
        const char *name = eg_tensors_name(state, k);
        bool near_one = ends_in(name, "weight") || ends_in(name, "running_var");
        if (eg_ndim(t) >= 2) {
            fill(t, (uint32_t)k, 0, sqrt(6.0 / (double)(eg_numel(t) / eg_size(t, 0))));
        } else if (eg_ndim(t) == 1) {
            fill(t, (uint32_t)k, near_one, ends_in(name, "running_var") ? 0.5 : near_one ? 0.2 : 0.1);
        }
    }
    eg_tensors_free(state);
}

/* A net like it, which gets its weights by the names that torchvision has for them, in the same order. */
static eg_module *through_names(eg_module *net, const char *name, const eg_model_options *o)
{
    eg_module *other = eg_model_new_with(name, o);
    eg_tensors *state = eg_module_state(net), *theirs = golden_names(name, "torchvision");
    EGT_EQ(eg_tensors_count(theirs), eg_tensors_count(state));
    for (int64_t i = 0; i < eg_tensors_count(state); i++) {
        EGT_OK(eg_tensors_set(theirs, eg_tensors_name(theirs, i), eg_tensors_at(state, i)));
    }
    eg_tensors *renamed = eg_tensors_renamed(theirs, eg_model_find(name).names);
    EGT_OK(eg_module_load_state(other, renamed));
    eg_tensors_free(renamed);
    eg_tensors_free(theirs);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
    return other;
}

/* ---- replaying ---------------------------------------------------------------------------------- */

static void train(const golden_case *c, eg_module *net, eg_tensor *x)
{
    int64_t n = eg_size(x, 0), steps = (int64_t)golden_number(c, "steps", 0);
    eg_tensor *labels = eg_remainder_scalar(eg_arange_int(0, n, 1, EG_I64), 10);
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(net), .lr = golden_number(c, "lr", 0),
                               .momentum = golden_number(c, "momentum", 0));
    for (int64_t i = 0; i < steps; i++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = eg_cross_entropy(eg_module_forward(net, x), labels);
            EGT_NEAR(eg_item(loss), eg_get(c->extra, i), 1e-6 * eg_get(c->extra, i));
            EGT_OK(eg_optim_minimize(sgd, tape, loss));
        }
    }
    eg_optim_free(sgd);
}

static void replay(const golden_case *c)
{
    eg_model_options o = {.size = sizeof o,
                          .classes = (int64_t)golden_number(c, "classes", 0),
                          .dropout = EG_ZERO,
                          .no_aux = golden_has(c, "no_aux")};
    int64_t side = (int64_t)golden_number(c, "side", 0);
    eg_tensor *x = eg_empty(
        EG_SHAPE((int64_t)golden_number(c, "n", 0), (int64_t)golden_number(c, "channels", 0), side, side), EG_F32);
    snprintf(egt_case, sizeof egt_case, "%s", c->name);
    if (!strcmp(c->op, "unet")) { /* which has none */
        o.dropout = 0;
    }
    eg_module *net = eg_model_new_with(c->op, &o);
    EGT_CHECK(net);
    fill(x, IMAGES, 0, 1);
    fill_net(net);
    if (!strcmp(c->op, "resnet18") || !strcmp(c->op, "efficientnet_b0")) { /* theirs are in our order */
        net = through_names(net, c->op, &o);
    }
    if (golden_has(c, "steps")) { /* in f64: three steps of a net with norms make much of an f32's last bit */
        EGT_OK(eg_module_to(net, EG_F64));
        x = eg_cast(x, EG_F64);
        train(c, net, x);
    }
    EGT_OK(eg_module_eval(net));
    double largest = eg_item(eg_max(eg_abs(c->y[0])));
    double distance = egt_distance(eg_cast(eg_module_forward(net, x), EG_F32), c->y[0]);
    if (!(distance < 1e-4 * largest)) {
        printf("%s: %g away, the largest logit is %g\n", c->name, distance, largest);
    }
    EGT_CHECK(distance < 1e-4 * largest);
    EGT_OK(eg_module_free(net));
}

EGT(golden_models)
{
    eg_tensors *file;
    golden_case *cases;
    int n = golden_load("models", &file, &cases);
    EGT_CHECK(n >= 25);
    for (int i = 0; i < n; i++) {
        eg_scope s = eg_scope_push();
        replay(&cases[i]);
        eg_scope_pop(s, NULL);
    }
    free(cases);
    eg_tensors_free(file);
}

/* ---- by Keras' names ---------------------------------------------------------------------------- */

/* The weights that keras_nets.py makes. */
static void fill_keras(eg_tensors *theirs)
{
    for (int64_t k = 0; k < eg_tensors_count(theirs); k++) {
        const char *name = eg_tensors_name(theirs, k);
        eg_scope s = eg_scope_push();
        eg_tensor *t = eg_contiguous(eg_tensors_at(theirs, k));
        const bool gamma = ends_in(name, "gamma");
        if (eg_ndim(t) >= 2) {
            int64_t out = eg_size(t, -1), many = out > 1 ? eg_numel(t) / out : eg_size(t, 0) * eg_size(t, 1);
            fill(t, (uint32_t)k, 0, sqrt(6.0 / (double)many));
        } else if (ends_in(name, "moving_variance")) {
            fill(t, (uint32_t)k, 1, 0.5);
        } else {
            fill(t, (uint32_t)k, gamma, gamma ? 0.2 : 0.1);
        }
        EGT_OK(eg_tensors_set(theirs, name, t));
        eg_scope_pop(s, NULL);
    }
}

static void replay_keras(const golden_case *c)
{
    snprintf(egt_case, sizeof egt_case, "keras_nets: %s", c->name);
    const eg_model_info info = eg_model_find(c->op);
    eg_module *net = eg_model_new(c->op, .classes = 1000, .no_aux = info.aux);
    eg_tensors *theirs = golden_names(c->op, "Keras");
    fill_keras(theirs);
    eg_tensors *renamed = eg_tensors_renamed(theirs, info.names);
    eg_tensors_free(theirs);
    EGT_OK(eg_module_load_state(net, renamed));
    eg_tensors_free(renamed);
    EGT_OK(eg_module_eval(net));
    eg_tensor *x = eg_empty(EG_SHAPE(1, 3, info.side, info.side), EG_F32);
    EGT_EQ(info.side, golden_number(c, "side", 0));
    fill(x, IMAGES, 0, 1);
    double largest = eg_item(eg_max(eg_abs(c->y[0]))), distance = egt_distance(eg_module_forward(net, x), c->y[0]);
    if (!(distance < 1e-4 * largest)) {
        printf("%s: %g away, the largest logit is %g\n", c->name, distance, largest);
    }
    EGT_CHECK(distance < 1e-4 * largest);
    EGT_OK(eg_module_free(net));
}

EGT(golden_keras_nets)
{
    eg_tensors *file;
    golden_case *cases;
    int n = golden_load("keras_nets", &file, &cases);
    EGT_EQ(n, 4);
    for (int i = 0; i < n; i++) {
        eg_scope s = eg_scope_push();
        replay_keras(&cases[i]);
        eg_scope_pop(s, NULL);
    }
    free(cases);
    eg_tensors_free(file);
}

/* ---- all of them --------------------------------------------------------------------------------- */

EGT(nets_count_as_published)
{
    for (int i = 0; i < eg_model_count(); i++) {
        eg_model_info info = eg_model_at(i);
        eg_module *net = eg_model_new(info.name);
        EGT_EQ(eg_module_numel(net), info.parameters);
        EGT_OK(eg_module_free(net));
    }
    /* Those whose table counts the auxiliary head are published without: by Keras (weights that learn) and timm. */
    static const struct {
        const char *name;
        int64_t weights;
    } plain[] = {{"nasnet_mobile", 5289978}, {"nasnet_large", 88753150}, {"pnasnet_large", 86057668}};
    for (int i = 0; i < 3; i++) {
        eg_module *net = eg_model_new(plain[i].name, .classes = 1000, .no_aux = true);
        EGT_EQ(eg_module_numel(net), plain[i].weights);
        EGT_OK(eg_module_free(net));
    }
    /* What a benchmark of TensorFlow's counts with 1001 outputs. */
    eg_module *nets[] = {eg_vgg_new(16, .classes = 1001), eg_resnet_v1_new(50, .classes = 1001),
                         eg_resnet_v1_new(152, .classes = 1001), eg_inception_v3_new(.no_aux = true)};
    const int64_t counts[] = {138361641, 25559081, 60194857, 23819401};
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_module_numel(nets[i]), counts[i]);
        EGT_OK(eg_module_free(nets[i]));
    }
}

/* The gradients of one image, of another side than the net was made for where it takes one. */
EGT(nets_learn_from_one_image)
{
    static const char *const names[] = {"lenet",          "cifarnet",        "alexnet_v2",   "inception_v1",
                                        "inception_v2",   "inception_v3",    "resnet_v1_50", "resnet_v2_50",
                                        "mobilenet_v1",   "mobilenet_v2",    "nasnet_cifar", "nasnet_mobile",
                                        "pnasnet_mobile", "resnet_cifar_20", "resnet18",     "efficientnet_b0",
                                        "convnext_tiny",  "vit_b_32",        "unet",         "resnet_cifar_v2_20"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        eg_model_info info = eg_model_find(names[i]);
        bool fixed = strstr(info.name, "lenet") || strstr(info.name, "cifarnet") || strstr(info.name, "vit") ||
                     strstr(info.name, "nasnet") || strstr(info.name, "inception_v3");
        int64_t side = fixed ? info.side : info.side < 64 ? 48 : 256;
        eg_module *net = eg_model_new(info.name);
        eg_parameters p = eg_module_parameters(net);
        eg_tensor **dw = calloc((size_t)p.count, sizeof *dw);
        snprintf(egt_case, sizeof egt_case, "%s", info.name);
        EG_SCOPE {
            eg_tensor *x = egt_random(EG_SHAPE(1, info.channels, side, side), EG_F32, -1, 1);
            eg_tape tape = eg_tape_open();
            eg_logits r = eg_model_forward(net, x);
            eg_tensor *loss = eg_mean(eg_square(r.logits));
            loss = r.aux ? eg_add(loss, eg_mean(eg_square(r.aux))) : loss;
            EGT_OK(eg_tape_gradients(tape, loss, p.tensors, p.count, dw));
            for (int k = 0; k < p.count; k++) {
                EGT_CHECK(isfinite(eg_item(eg_sum(eg_square(dw[k])))));
            }
        }
        free(dw);
        EGT_OK(eg_module_free(net));
    }
}
