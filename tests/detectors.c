/* detectors.c - see detectors.h. */
#include "tests/detectors.h"

/* ---- the batch ----------------------------------------------------------------------------------- */

static const int64_t sizes[N][2] = {{64, 90}, {57, 96}};
static const double boxes[N][K][4] = {{{4, 6, 30, 40}, {20, 10, 85, 60}, {50, 30, 62, 41}}, {{10, 5, 70, 50}}};
static const double labels[N][K] = {{2, 0, 1}, {1, -1, -1}};

detectors_batch batch;

void make_batch(eg_dtype dtype)
{
    static double x[N][3][HEIGHT][WIDE], m[N][K][HEIGHT][WIDE];
    double *v = &x[0][0][0][0];
    for (uint32_t i = 0; i < sizeof x / sizeof *v; i++) {
        int64_t row = i / WIDE % HEIGHT, column = i % WIDE, n = i / (3 * HEIGHT * WIDE);
        v[i] = row < sizes[n][0] && column < sizes[n][1] ? egt_hashed(PHOTOS, i) : 0;
    }
    memset(m, 0, sizeof m);
    for (int k = 0; k < N * K; k++) {
        const double *b = boxes[k / K][k % K];
        for (int y = (int)b[1]; y < (int)b[3]; y++) {
            for (int c = (int)b[0]; c < (int)b[2]; c++) {
                m[k / K][k % K][y][c] = (c + y) % 3 != 0;
            }
        }
    }
    batch.images = eg_from_values(EG_SHAPE(N, 3, HEIGHT, WIDE), dtype, v);
    batch.sizes = eg_from(EG_SHAPE(N, 2), EG_I64, sizes);
    batch.boxes = eg_from_values(EG_SHAPE(N, K, 4), dtype, &boxes[0][0][0]);
    batch.labels = eg_from_values(EG_SHAPE(N, K), EG_I64, &labels[0][0]);
    batch.masks = eg_from_values(EG_SHAPE(N, K, HEIGHT, WIDE), EG_U8, &m[0][0][0][0]);
}

/* ---- golden numbers ------------------------------------------------------------------------------ */

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* Tensor k of torchvision's state, as the script fills it. */
static eg_tensor *filled(const char *name, const double *about, int nabout, double gain)
{
    eg_shape shape = {.ndim = nabout - 1};
    int64_t n = 1;
    for (int d = 0; d < shape.ndim; d++) {
        shape.dim[d] = (int64_t)about[d + 1];
        n *= shape.dim[d];
    }
    if (has(name, "num_batches_tracked")) {
        return eg_zeros(shape, EG_I64);
    }
    double low = 0, spread, fan = (double)n / about[1];
    if (shape.ndim > 1) {
        static const char *const within[] = {"cls_logits", "bbox_pred", "bbox_reg", "cls_score"};
        static const char *const begins[] = {"objectness.", "codes.", "label.", "box."};
        bool last = false;
        for (int i = 0; i < 4; i++) {
            last |= has(name, within[i]) || !strncmp(name, begins[i], strlen(begins[i]));
        }
        spread = last ? 1 / sqrt(fan) : gain * sqrt(6 / fan);
    } else {
        low = has(name, "weight") || has(name, "running_var");
        spread = has(name, "running_var") ? 0.5 : low > 0 ? 0.2 : 0.1;
    }
    float *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        v[i] = (float)(low + spread * egt_hashed((uint32_t)about[0], (uint32_t)i));
    }
    eg_tensor *t = eg_from(shape, EG_F32, v);
    free(v);
    return t;
}

/* The net with weights that come in under others' names, in f64. */
static void fill(eg_module *net, const eg_tensors *file, const char *name, const char *names, double gain)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s/state/", name);
    eg_tensors *theirs = eg_tensors_new();
    for (int64_t i = 0; i < eg_tensors_count(file); i++) {
        const char *key = eg_tensors_name(file, i);
        if (!strncmp(key, prefix, strlen(prefix))) {
            double about[8];
            eg_tensor *t = eg_tensors_at(file, i);
            EGT_OK(eg_to_values(t, about));
            key += strlen(prefix);
            EGT_OK(eg_tensors_set(theirs, key, filled(key, about, (int)eg_numel(t), gain)));
        }
    }
    eg_tensors *ours = eg_tensors_renamed(theirs, names);
    /* Norms that never learn have no counter there. */
    EGT_OK(eg_module_load_state(net, ours, .allow_missing = !strcmp(name, "mask_rcnn")));
    EGT_OK(eg_module_to(net, EG_F64));
    eg_tensors_free(ours);
    eg_tensors_free(theirs);
}

eg_detector_losses learn(eg_module *net, bool masks)
{
    return eg_detector_loss(net, batch.images, batch.boxes, batch.labels, .sizes = batch.sizes,
                            .masks = masks ? batch.masks : NULL);
}

static void check_losses(const eg_detector_losses *l, const eg_tensors *file, const char *name, int step)
{
    const struct {
        const char *name;
        eg_tensor *value;
    } parts[] = {{"objectness", l->objectness},
                 {"proposal", l->proposal},
                 {"label", l->label},
                 {"box", l->box},
                 {"mask", l->mask}};
    double sum = 0;
    EGT_CHECK(l->loss);
    for (int i = 0; i < 5; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s/losses/%s", name, parts[i].name);
        EGT_EQ(eg_tensors_has(file, key), parts[i].value != NULL);
        if (parts[i].value) {
            double wanted = eg_get(eg_tensors_get(file, key), step);
            EGT_NEAR(eg_item(parts[i].value) / wanted, 1, i ? 1e-9 : 1e-6); /* whose targets are f32 there */
            sum += wanted;
        }
    }
    EGT_NEAR(eg_item(l->loss) / sum, 1, 1e-6);
}

static eg_tensor *kept(const eg_tensors *file, const char *name, int64_t photo, const char *part)
{
    char key[64];
    snprintf(key, sizeof key, "%s/found/%lld/%s", name, (long long)photo, part);
    return eg_tensors_get(file, key);
}

static void check_found(eg_module *net, const eg_tensors *file, const char *name, bool masks)
{
    eg_detections all = eg_detector_find(net, batch.images, batch.sizes);
    EGT_CHECK(all.boxes && (all.masks != NULL) == masks);
    for (int64_t i = 0; i < N; i++) {
        eg_detections f = eg_detections_at(&all, i);
        EGT_CHECK(egt_distance(f.boxes, kept(file, name, i, "boxes")) < 1e-6);
        EGT_CHECK(egt_distance(f.scores, kept(file, name, i, "scores")) < 1e-8);
        EGT_EQ(egt_distance(f.labels, kept(file, name, i, "labels")), 0);
        if (masks) {
            EGT_CHECK(egt_distance(f.masks, kept(file, name, i, "masks")) < 1e-8);
            eg_tensor *pixels = eg_detection_masks(f.boxes, f.masks, sizes[i][0], sizes[i][1]);
            eg_tensor *theirs = kept(file, name, i, "pixels");
            EGT_CHECK(eg_item(eg_sum(eg_cast(theirs, EG_F32))) > 0);
            EGT_EQ(egt_distance(pixels, theirs), 0);
        }
    }
}

void as_theirs(eg_module *net, const char *name, const char *names)
{
    eg_tensors *file = eg_tensors_open("tests/golden/detectors.safetensors");
    char key[64];
    snprintf(key, sizeof key, "%s/rate_gain", name);
    eg_tensor *how = eg_tensors_get(file, key);
    bool masks = has(name, "mask");
    EGT_CHECK(net && how);
    fill(net, file, name, names, eg_get(how, 1));
    make_batch(EG_F64);
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(net), .lr = eg_get(how, 0));
    for (int step = 0; step < 3; step++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_detector_losses l = learn(net, masks);
            check_losses(&l, file, name, step);
            EGT_OK(eg_optim_minimize(sgd, tape, l.loss));
        }
    }
    EGT_OK(eg_module_eval(net));
    check_found(net, file, name, masks);
    eg_optim_free(sgd);
    eg_tensors_free(file);
    EGT_OK(eg_module_free(net));
}
