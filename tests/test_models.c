/* test_models.c - nets by name: what options do, what is refused; and, asked for by name as they are large, all of
 * them. */
#include <egret/models.h>

#include "tests/egt.h"

static eg_tensor *images(int64_t n, int64_t side)
{
    return egt_random(EG_SHAPE(n, 3, side, side), EG_F32, -1, 1);
}

static bool is_of(const eg_tensor *t, int ndim, const int64_t *sizes)
{
    bool same = t && eg_ndim(t) == ndim;
    for (int d = 0; same && d < ndim; d++) {
        same = eg_size(t, d) == sizes[d];
    }
    return same;
}
#define IS_OF(t, ...) is_of(t, EG_COUNT_(int64_t, __VA_ARGS__), EG_ARRAY_(int64_t, __VA_ARGS__))

/* ---- the table -------------------------------------------------------------------------------------- */

EGT(nets_have_names)
{
    EGT_CHECK(eg_model_count() >= 60);
    for (int i = 0; i < eg_model_count(); i++) {
        eg_model_info info = eg_model_at(i), same = eg_model_find(info.name);
        EGT_CHECK(same.name == info.name && info.side > 0 && info.parameters > 0 && info.classes > 0);
        EGT_CHECK(eg_preprocess_find(info.preprocessing).name && *info.source);
    }
    EGT_REFUSED(eg_model_at(-1), EG_EINDEX, "-1");
    EGT_CHECK(!eg_model_at(eg_model_count()).name);
    EGT_REFUSED(eg_model_find("resnet_v1_05"), EG_EINDEX, "\"resnet_v1_50\"");
    EGT_REFUSED(eg_model_new("no such net, and of a name that is longer than any of those that there are by far"),
                EG_EINDEX, "nearest");
    EGT_REFUSED(eg_model_new(NULL), EG_EINVAL, "name");
}

/* That maps are maps; test_golden_models has the names they are for. */
EGT(nets_know_names_of_others)
{
    eg_tensors *none = eg_tensors_new();
    for (int i = 0; i < eg_model_count(); i++) {
        eg_model_info info = eg_model_at(i);
        eg_tensors *renamed = info.names ? eg_tensors_renamed(none, info.names) : NULL;
        EGT_CHECK(!info.names || renamed);
        eg_tensors_free(renamed);
    }
    eg_tensors_free(none);
    EGT_CHECK(eg_model_find("lenet").names && !eg_model_find("unet").names);
}

EGT(slim_weights_find_their_places)
{
    eg_module *net = eg_lenet_new(.side = 8, .classes = 2);
    eg_tensors *theirs = eg_tensors_new(), *ours;
    eg_tensor *fc3 = egt_random(EG_SHAPE(2 * 2 * 64, 1024), EG_F32, -1, 1);
    EGT_OK(eg_tensors_set(theirs, "LeNet/fc3/weights", fc3));
    EGT_OK(eg_tensors_set(theirs, "LeNet/fc3/biases", eg_zeros(EG_SHAPE(1024), EG_F32)));
    ours = eg_tensors_renamed(theirs, eg_model_find("lenet").names);
    EGT_REFUSED(eg_module_load_state(net, ours), EG_EFORMAT, "conv1.conv.weight");
    EGT_OK(eg_module_load_state(net, ours, .allow_missing = true));
    eg_tensor *x = egt_random(EG_SHAPE(3, 64, 2, 2), EG_F32, -1, 1); /* what the layer reads, as both have it */
    eg_tensor *y = eg_module_forward(eg_module_find(net, "fc3.fc"), eg_flatten(x, 1, -1));
    eg_tensor *z = eg_matmul(eg_flatten(eg_permute(x, EG_AXES(0, 2, 3, 1)), 1, -1), fc3);
    EGT_CHECK(egt_distance(y, z) < 1e-4);
    eg_tensors_free(theirs);
    eg_tensors_free(ours);
    EGT_OK(eg_module_free(net));
}

EGT(small_ones_count)
{
    static const char *const small[] = {"lenet",           "cifarnet",         "mobilenet_v1_025",
                                        "resnet_cifar_20", "mobilenet_v2_035", "resnet_cifar_v2_20"};
    for (int i = 0; i < 6; i++) {
        eg_module *net = eg_model_new(small[i]);
        EGT_EQ(eg_module_numel(net), eg_model_find(small[i]).parameters);
        EGT_OK(eg_module_free(net));
    }
    static const int64_t card[][2] = {{20, 269787}, {32, 464219}, {44, 658651}, {56, 853083}, {110, 1728027}};
    for (int i = 0; i < 5; i++) {
        eg_module *net = eg_resnet_cifar_v1_new((int)card[i][0], .classes = 11);
        EGT_EQ(eg_module_numel(net), card[i][1]);
        EGT_OK(eg_module_free(net));
    }
}

/* ---- options ---------------------------------------------------------------------------------------- */

EGT(classes_and_channels)
{
    eg_module *net = eg_mobilenet_v1_new(.width = 0.25, .classes = 5, .channels = 1);
    eg_tensor *x = egt_random(EG_SHAPE(2, 1, 64, 64), EG_F32, -1, 1);
    EGT_OK(eg_module_eval(net));
    EGT_CHECK(IS_OF(eg_module_forward(net, x), 2, 5));
    EGT_OK(eg_module_free(net));
    net = eg_mobilenet_v1_new(.width = 0.25, .classes = EG_NO_CLASSES);
    EGT_CHECK(IS_OF(eg_module_forward(net, images(2, 64)), 2, 256));
    EGT_OK(eg_module_free(net));
    net = eg_mobilenet_v1_new(.width = 0.25, .classes = 3, .no_global_pool = true);
    EGT_OK(eg_module_eval(net));
    eg_tensor *places = eg_module_forward(net, images(2, 96));
    EGT_CHECK(IS_OF(places, 2, 3, 3, 3));
    EGT_OK(eg_module_free(net));
    net = eg_lenet_new(.side = 20, .classes = 2);
    EGT_CHECK(IS_OF(eg_module_forward(net, eg_ones(EG_SHAPE(1, 1, 20, 20), EG_F32)), 1, 2));
    EGT_OK(eg_module_free(net));
}

EGT(strides_become_dilations)
{
    static const struct {
        int64_t stride, side;
    } rows[] = {{8, 12}, {16, 6}, {32, 3}};
    for (int i = 0; i < 3; i++) {
        eg_module *nets[] = {
            eg_mobilenet_v1_new(.width = 0.25, .output_stride = rows[i].stride, .classes = 2, .no_global_pool = true),
            eg_mobilenet_v2_new(.width = 0.35, .output_stride = rows[i].stride, .classes = 2, .no_global_pool = true),
        };
        for (int k = 0; k < 2; k++) {
            EGT_OK(eg_module_eval(nets[k]));
            EGT_CHECK(IS_OF(eg_module_forward(nets[k], images(1, 96)), 1, 2, rows[i].side, rows[i].side));
            EGT_OK(eg_module_free(nets[k]));
        }
    }
}

EGT(dropout_and_norms)
{
    eg_module *net = eg_resnet_cifar_v1_new(8, .bn_momentum = 1, .dropout = 0.5), *calm = eg_module_copy(net);
    eg_tensor *x = images(8, 32);
    EGT_CHECK(eg_module_forward(net, x));
    eg_tensors *state = eg_module_state(net);
    eg_tensor *mean = eg_tensors_get(state, "conv1.norm.running_mean");
    eg_tensor *conv = eg_conv2d(x, eg_tensors_get(state, "conv1.conv.weight"), NULL, .padding = EG_SAME);
    EGT_CHECK(egt_distance(mean, eg_mean(conv, .axes = EG_AXES(0, 2, 3))) < 1e-5); /* all of the batch's */
    eg_tensors_free(state);
    EGT_CHECK(egt_distance(eg_module_forward(net, x), eg_module_forward(net, x)) > 1e-4);
    EGT_OK(eg_module_eval(calm));
    EGT_EQ(egt_distance(eg_module_forward(calm, x), eg_module_forward(calm, x)), 0);
    EGT_OK(eg_module_free(calm));
    EGT_OK(eg_module_free(net));
}

EGT(logits_beside_the_logits)
{
    eg_module *net = eg_nasnet_new(EG_NASNET_CIFAR, .classes = 3);
    eg_tensor *x = images(2, 32);
    EGT_EQ(eg_module_numel(net) - eg_module_numel(eg_module_find(net, "aux")) > 3300000, 1);
    eg_logits r = eg_model_forward(net, x);
    EGT_CHECK(IS_OF(r.logits, 2, 3) && IS_OF(r.aux, 2, 3));
    eg_tensor *dw, *w = eg_module_parameters(eg_module_find(net, "aux")).tensors[0];
    eg_tape tape = eg_tape_open();
    r = eg_model_forward(net, x);
    EGT_OK(eg_tape_gradients(tape, eg_sum(eg_square(r.aux)), &w, 1, &dw));
    EGT_CHECK(eg_item(eg_sum(eg_abs(dw))) > 0);
    EGT_CHECK(eg_module_forward(net, x));
    EGT_OK(eg_module_eval(net));
    r = eg_model_forward(net, x);
    EGT_CHECK(r.logits && !r.aux);
    EGT_OK(eg_module_free(net));
    net = eg_lenet_new();
    r = eg_model_forward(net, eg_ones(EG_SHAPE(1, 1, 28, 28), EG_F32));
    EGT_CHECK(r.logits && !r.aux);
    EGT_REFUSED(eg_model_forward(net, NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_model_forward(NULL, x), EG_EINVAL, "m");
    EGT_OK(eg_module_free(net));
}

EGT(names_do_not_hang_on_drop_path)
{
    eg_module *dropping = eg_nasnet_new(EG_NASNET_CIFAR, .no_aux = true);
    eg_module *calm = eg_nasnet_new(EG_NASNET_CIFAR, .no_aux = true, .drop_path = EG_ZERO);
    eg_tensors *state = eg_module_state(dropping);
    EGT_OK(eg_module_load_state(calm, state));
    eg_tensors_free(state);
    EGT_OK(eg_module_free(calm));
    EGT_OK(eg_module_free(dropping));
}

EGT(segments_every_pixel)
{
    eg_module *net = eg_unet_new(.classes = 2);
    EGT_OK(eg_module_eval(net));
    EGT_CHECK(IS_OF(eg_module_forward(net, images(1, 32)), 1, 2, 32, 32));
    EGT_REFUSED(eg_module_forward(net, images(1, 40)), EG_ESHAPE, "");
    EGT_OK(eg_module_free(net));
}

EGT(nets_refuse)
{
    EGT_REFUSED(eg_vgg_new(12), EG_EINVAL, "12 layers");
    EGT_REFUSED(eg_resnet_new(51), EG_EINVAL, "51 layers");
    EGT_REFUSED(eg_resnet_new(0), EG_EINVAL, "0 layers");
    EGT_REFUSED(eg_resnet_v1_new(18), EG_EINVAL, "18 layers");
    EGT_REFUSED(eg_resnet_cifar_v1_new(21), EG_EINVAL, "21 layers");
    EGT_REFUSED(eg_resnet_cifar_v2_new(-4), EG_EINVAL, "-4 layers");
    EGT_REFUSED(eg_nasnet_new((eg_nasnet_size)3), EG_EINVAL, "3");
    EGT_REFUSED(eg_pnasnet_new(EG_NASNET_CIFAR), EG_EINVAL, "mobile");
    EGT_REFUSED(eg_efficientnet_new(8), EG_EINVAL, "B8");
    EGT_REFUSED(eg_efficientnet_lite_new(5), EG_EINVAL, "Lite5");
    EGT_REFUSED(eg_convnext_new((eg_convnext_size)-1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_vit_new((eg_vit_size)9), EG_EINVAL, "9");
    EGT_REFUSED(eg_lenet_new(.classes = -2), EG_EINVAL, "-2 classes");
    EGT_REFUSED(eg_lenet_new(.channels = -1), EG_EINVAL, "-1 channels");
    EGT_REFUSED(eg_lenet_new(.dropout = 1.5), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_lenet_new(.bn_eps = 1), EG_EINVAL, "no place for bn");
    EGT_REFUSED(eg_lenet_new(.no_aux = true), EG_EINVAL, "no place for no_aux");
    EGT_REFUSED(eg_lenet_new(.no_global_pool = true), EG_EINVAL, "no place for no_global_pool");
    EGT_REFUSED(eg_unet_new(.dropout = 0.5), EG_EINVAL, "no place for dropout");
    EGT_REFUSED(eg_mobilenet_v1_new(.side = 64), EG_EINVAL, "no place for side");
    EGT_REFUSED(eg_mobilenet_v1_new(.width = -1), EG_EINVAL, "width");
    EGT_REFUSED(eg_mobilenet_v1_new(.output_stride = 4), EG_EINVAL, "output_stride 4");
    EGT_REFUSED(eg_mobilenet_v1_new(.drop_path = 0.1), EG_EINVAL, "no place for drop_path");
    EGT_REFUSED(eg_inception_v1_new(.width = 2), EG_EINVAL, "no place for width");
    EGT_REFUSED(eg_mobilenet_v2_new(.bn_momentum = 2), EG_EINVAL, "bn_momentum");
}

/* What the table says of options is what nets take; large ones are not made for it. */
EGT(tables_say_what_nets_take)
{
    for (int i = 0; i < eg_model_count(); i++) {
        const eg_model_info of = eg_model_at(i);
        for (int k = 0; k < 2; k++) {
            eg_model_options o = {.size = sizeof o, .no_aux = k == 0, .side = k ? of.side : 0};
            if (!(k ? of.sided : of.aux)) {
                EGT_REFUSED(eg_model_new_with(of.name, &o), EG_EINVAL, k ? "no place for side" : "no place for no_aux");
            } else if (of.parameters < 30000000) {
                EGT_OK(eg_module_free(eg_model_new_with(of.name, &o)));
            }
        }
    }
}

/* All tensors of a state through a file of that format, to the bit; in several files where one is made of parts. */
static void through_file(const char *net, const eg_tensors *state, const eg_file_format *f, int64_t shard_bytes)
{
    char name[64];
    snprintf(name, sizeof name, "net%.*s", (int)strcspn(f->endings, " "), f->endings);
    const char *path = egt_path(name);
    EGT_OK(eg_tensors_save(state, path, .shard_bytes = shard_bytes));
    eg_tensors *back = eg_tensors_open(path);
    EGT_CHECK(back);
    EGT_EQ(eg_tensors_count(back), eg_tensors_count(state));
    for (int64_t k = 0; k < eg_tensors_count(state); k++) {
        EG_SCOPE {
            const char *key = eg_tensors_name(state, k);
            eg_tensor *t = eg_tensors_at(state, k), *b = eg_tensors_get(back, key);
            if (eg_ndim(b) != eg_ndim(t) || !egt_same_bits(eg_contiguous(b), eg_contiguous(t))) {
                egt_fail(__FILE__, __LINE__, "%s of %s is another from %s", key, net, f->name);
            }
        }
    }
    eg_tensors_free(back);
    egt_remove_folder();
}

/* Of nets of less than nine million numbers; of all with EGRET_NETS=all, which takes two minutes and 6 GB of disk. */
EGT(weights_come_back_from_every_format)
{
    const char *nets = getenv("EGRET_NETS");
    int written = 0;
    for (int i = 0; i < eg_model_count(); i++) {
        const eg_model_info info = eg_model_at(i);
        if (info.parameters > 9000000 && !(nets && !strcmp(nets, "all"))) {
            continue;
        }
        eg_module *net = eg_model_new(info.name);
        eg_tensors *state = eg_module_state(net);
        EGT_CHECK(state && eg_tensors_count(state) > 5);
        written = 0;
        for (int k = 0; k < eg_file_format_count(); k++) {
            const eg_file_format f = eg_file_format_at(k);
            if (f.written) {
                through_file(info.name, state, &f, strcmp(f.name, "safetensors-index") ? 0 : info.parameters);
                written++;
            }
        }
        eg_tensors_free(state);
        EGT_OK(eg_module_free(net));
    }
    EGT_EQ(written, 5);
}

static bool make_small(void *user)
{
    eg_module *net = eg_model_new_with(user, NULL);
    return net && eg_module_free(net) == EG_OK;
}

EGT(nets_without_memory)
{
    EGT_CHECK(egt_fail_allocations(make_small, "resnet_cifar_v2_20") > 0);
    EGT_CHECK(egt_fail_allocations(make_small, "mobilenet_v2_035") > 0);
}
