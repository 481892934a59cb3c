/* sheet.c - see sheet.h. */
#include "sheet.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "gif.h"

eg_tensor *sheet_of(eg_tensor *images, double low, double high, int columns, int scale)
{
    int64_t n = eg_size(images, 0), c = eg_size(images, 1), h = eg_size(images, 2), w = eg_size(images, 3);
    eg_scope s = eg_scope_push();
    eg_tensor *x = eg_cast(eg_to(images, eg_cpu()), EG_F32);
    x = eg_mul_scalar(eg_sub_scalar(x, low), 255 / (high - low));
    x = eg_cast(eg_round(eg_clamp(x, 0, 255)), EG_U8);
    x = eg_permute(eg_reshape(x, EG_SHAPE(n / columns, columns, c, h, w)), EG_AXES(2, 0, 3, 1, 4));
    x = eg_reshape(x, EG_SHAPE(c, n / columns * h, columns * w));
    return eg_scope_pop(s, eg_repeat_interleave(eg_repeat_interleave(x, scale, 1), scale, 2));
}

run_path sheet_path(const run_folder *folder, int64_t epoch)
{
    char name[40];
    snprintf(name, sizeof name, "epoch-%04lld.png", (long long)epoch);
    return run_folder_path(folder, name);
}

#ifdef EXAMPLES_GIF
/* Adds the sheet of an epoch; the first one begins the film. */
static eg_status add_frame(gif **film, const char *to, const char *from)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *image = eg_image_load(from);
        int channels = (int)eg_size(image, 0), height = (int)eg_size(image, 1), width = (int)eg_size(image, 2);
        eg_tensor *pixels = eg_contiguous(eg_permute(image, EG_AXES(1, 2, 0)));
        *film = *film || !pixels ? *film : gif_new(to, width, height, 0.2);
        st = pixels && *film ? gif_add(*film, eg_data(pixels), channels) : eg_last_error()->code;
    }
    return st;
}
#endif

eg_status sheet_film(const run_folder *folder, int64_t first, int64_t last)
{
#ifdef EXAMPLES_GIF
    run_path to = run_folder_path(folder, "epochs.gif");
    gif *film = NULL;
    int64_t shown = -1;
    eg_status st = EG_OK;
    for (int64_t i = first; i <= last && !st; i++) {
        run_path from = sheet_path(folder, i);
        int64_t stage = llround(2 * sqrt((double)i));
        if ((stage > shown || i == last) && access(from.text, R_OK) == 0) {
            st = add_frame(&film, to.text, from.text);
            shown = stage;
        }
    }
    eg_status closed = film ? gif_close(film) : EG_OK;
    return st ? st : closed;
#else
    (void)folder, (void)first, (void)last;
    return EG_OK;
#endif
}
