/* test_ocr.c - the net that reads signs: three steps beside tests/golden/ocr.py, sizes, refusals. */
#include "examples/ocr/net.h"
#include "tests/egt.h"

enum { SIDE = 43, VIEWS = 2, CLASSES = 7, LENGTH = 5, N = 2, STEPS = 3, IMAGES = 1000000 };

static const ocr_sizes small = {.side = SIDE,
                                .views = VIEWS,
                                .classes = CLASSES,
                                .length = LENGTH,
                                .units = 6,
                                .width = 0.125,
                                .norm_decay = 0.9,
                                .coordinates = true};

static eg_tensor *images_of(eg_dtype dtype)
{
    static double v[N * 3 * SIDE * VIEWS * SIDE];
    for (uint32_t i = 0; i < sizeof v / sizeof *v; i++) {
        v[i] = egt_hashed(IMAGES, i);
    }
    return eg_from_values(EG_SHAPE(N, 3, SIDE, VIEWS * SIDE), dtype, v);
}

static eg_tensor *texts_of(void)
{
    int64_t v[N * LENGTH];
    for (int i = 0; i < N * LENGTH; i++) {
        v[i] = (3 * i + 1) % CLASSES;
    }
    return eg_from(EG_SHAPE(N, LENGTH), EG_I64, v);
}

static void fill(eg_module *net, const eg_tensors *file, const char *name)
{
    EGT_OK(eg_module_to(net, EG_F64));
    eg_parameters p = eg_module_parameters(net);
    for (int k = 0; k < p.count; k++) {
        char key[128];
        double about[3];
        snprintf(key, sizeof key, "%s/state/%s", name, p.names[k]);
        EGT_OK(eg_to_values(eg_tensors_get(file, key), about));
        double *to = eg_data_mut(p.tensors[k]);
        for (int64_t i = 0; i < eg_numel(p.tensors[k]); i++) {
            to[i] = about[1] + about[2] * egt_hashed((uint32_t)about[0], (uint32_t)i);
        }
    }
}

static void as_theirs(const ocr_sizes *sizes, const char *name)
{
    char key[64];
    eg_tensors *file = eg_tensors_open("tests/golden/ocr.safetensors");
    eg_module *net = ocr_new(sizes);
    fill(net, file, name);
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(net), .lr = 0.05, .momentum = 0.9);
    eg_tensor *images = images_of(EG_F64), *texts = texts_of();
    snprintf(key, sizeof key, "%s/losses", name);
    for (int i = 0; i < STEPS; i++) {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = ocr_loss(ocr_read(net, images, texts).logits, texts, 0.1);
        EGT_NEAR(eg_item(loss) / eg_get(eg_tensors_get(file, key), i), 1, 1e-10);
        EGT_OK(ocr_step(net, sgd, tape, loss, 0.01, 0.5));
    }
    EGT_OK(eg_module_eval(net));
    snprintf(key, sizeof key, "%s/logits", name);
    ocr_reading r = ocr_read(net, images, NULL);
    EGT_CHECK(egt_distance(r.logits, eg_tensors_get(file, key)) < 1e-9);
    EGT_EQ(eg_size(r.weights, 2), VIEWS);
    EGT_NEAR(eg_item(eg_sum(r.weights)), N * LENGTH, 1e-9);
    eg_optim_free(sgd);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(file);
}

EGT(told_the_letters_before)
{
    as_theirs(&small, "told");
}

EGT(without_feedback_and_coordinates)
{
    ocr_sizes s = small;
    s.coordinates = false;
    s.no_feedback = true;
    as_theirs(&s, "alone");
}

/* FSNS's sizes: the trunk's 989,344 weights and 862,000 more. */
EGT(as_large_as_published)
{
    ocr_sizes s = {
        .side = 150, .views = 4, .classes = 134, .length = 37, .units = 256, .width = 1, .norm_decay = 0.9997};
    eg_module *net = ocr_new(&s);
    EGT_EQ(eg_module_numel(eg_module_find(net, "trunk")), 989344);
    EGT_EQ(eg_module_numel(net), 989344 + 862000);
    EGT_OK(eg_module_free(net));
    s.coordinates = true;
    net = ocr_new(&s); /* 32 more channels of places */
    EGT_EQ(eg_module_numel(net), 989344 + 862000 + 32 * (32 + 2 * 288) + 32 * (512 + 1) + 32 * (134 + 256) + 32);
    EGT_OK(eg_module_free(net));
}

EGT(refusals)
{
    ocr_sizes s = small;
    s.side = 20;
    EGT_REFUSED(ocr_new(&s), EG_EINVAL, "20 pixels");
    eg_module *net = ocr_new(&small);
    EGT_REFUSED(ocr_read(net, eg_zeros(EG_SHAPE(1, 3, SIDE, SIDE), EG_F32), NULL).logits, EG_ESHAPE, "[N, 3, 43, 86]");
    EGT_OK(eg_module_free(net));
}
