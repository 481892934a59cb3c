/* infer.c - see infer.h. */
#include "infer.h"

#include <stdio.h>
#include <string.h>

#include "net.h"
#include "pairs.h"

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
static void name_of(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int length = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(name, size, "%.*s-made.png", length < 200 ? length : 200, base);
}

static void make(eg_run *run, eg_module *net, const char *from)
{
    char name[256];
    name_of(from, name, sizeof name);
    EG_SCOPE {
        eg_tensor *plan = read_plan(from), *made = NULL;
        EG_RUN_COMPUTES(run)
        {
            made = eg_module_forward(net, eg_run_here(run, plan));
        }
        eg_tensor *sheet = eg_draw_grid(made, .low = -1, .high = 1);
        eg_run_heed(run, sheet ? EG_OK : eg_last_error()->code);
        eg_run_heed(run, eg_run_status(run) ? EG_OK : eg_png_save(sheet, eg_run_path(run, name).text));
    }
    if (!eg_run_status(run)) {
        eg_run_say(run, "%s", eg_run_path(run, name).text);
    }
}

eg_status pix2pix_infer(eg_run *run, char *const *files, int count, const char *model, int64_t width)
{
    if (count == 0) {
        return eg_run_refuse(run, "--infer needs a FILE");
    }
    eg_module *net = eg_run_module(run, "generator", pix2pix_generator(width));
    eg_run_heed(run, !net ? EG_OK : model ? eg_module_load(net, model) : eg_run_restore(run, NULL));
    eg_seed((uint64_t)eg_run_settings_of(run)->seed); /* of the dropout, which is the noise */
    for (int i = 0; i < count && !eg_run_status(run); i++) {
        make(run, net, files[i]);
    }
    return eg_run_status(run);
}
