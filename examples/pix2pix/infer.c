/* infer.c - see infer.h. */
#include "infer.h"

#include <stdio.h>
#include <string.h>

#include "../common/sheet.h"
#include "net.h"
#include "pairs.h"

/* Only the generator's part of a checkpoint. */
static eg_status load_latest(eg_module *net, const char *folder)
{
    eg_saver *saver = eg_saver_new(folder);
    int64_t step = -1;
    eg_status status = eg_saver_module(saver, "generator", net);
    status = status ? status : eg_saver_restore(saver, &step, .allow_others = true);
    eg_saver_free(saver);
    if (!status && step < 0) {
        status = eg_failf(EG_ESTATE, "pix2pix", "there is no checkpoint in %s", folder);
    }
    return status;
}

/* The plan in -1..1, [1, 3, 256, 256]. */
static eg_tensor *read_plan(const char *path)
{
    eg_tensor *image = eg_image_load(path, .channels = 3);
    int64_t width = eg_size(image, 2);
    if (width == 2 * eg_size(image, 1)) {
        image = eg_slice(image, 2, width / 2, width, 1);
    }
    return pairs_centred(pairs_resized(eg_unsqueeze(image, 0), PAIRS_SIDE));
}

/* "a/b.jpg" to "b-made.png". */
static run_path place(const run_folder *folder, const char *path)
{
    char name[RUN_NAME_MOST + 1];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int length = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(name, sizeof name, "%.*s-made.png", length < 200 ? length : 200, base);
    return run_folder_path(folder, name);
}

static bool make(eg_module *net, eg_device *device, const char *from, const run_folder *folder)
{
    bool good = false;
    run_path to = place(folder, from);
    EG_SCOPE {
        eg_tensor *sheet = sheet_of(eg_module_forward(net, eg_to(read_plan(from), device)), -1, 1, 1, 1);
        good = sheet && eg_png_save(sheet, to.text) == EG_OK;
    }
    if (good) {
        printf("%s\n", to.text);
    }
    return good;
}

int pix2pix_infer(char *const *files, int count, const char *model, const run_options *o)
{
    run_folder folder;
    if (count == 0) {
        fprintf(stderr, "pix2pix: --infer needs a FILE\n");
        return 2;
    }
    eg_device *device = run_device(o);
    bool good = device && run_folder_open(&folder, o->out, "pix2pix") == EG_OK &&
                (!o->threads || eg_set_threads((int)o->threads) == EG_OK);
    eg_module *net = good ? pix2pix_generator() : NULL;
    eg_status loaded = !net ? EG_EINVAL : model ? eg_module_load(net, model) : load_latest(net, folder.path.text);
    good = good && loaded == EG_OK && eg_module_to_device(net, device) == EG_OK;
    eg_seed((uint64_t)o->seed); /* of the dropout, which is the noise */
    for (int i = 0; i < count && good; i++) {
        good = make(net, device, files[i], &folder);
    }
    eg_module_free(net);
    return good ? 0 : eg_error_print(stderr);
}
