/* show.c - see show.h. */
#include "show.h"

#include <stdlib.h>
#include <string.h>

#include "sets.h"

enum { FIRST_PIXEL = 9, STRIDE = 8, LETTERS_MOST = 256 }; /* place i of a view is around 9 + 8 i .. 9 + 8 i + 8 */

eg_status show_text(const charset *letters, eg_tensor *ids, int64_t i, char text[SHOW_BYTES])
{
    eg_tensor *row = eg_contiguous(eg_to(eg_select(ids, 0, i), eg_cpu()));
    if (!row) {
        return eg_last_error()->code;
    }
    charset_decode(letters, eg_data(row), eg_numel(row), text, SHOW_BYTES);
    return EG_OK;
}

eg_tensor *show_read(const charset *letters, eg_tensor *images, eg_tensor *read, eg_tensor *texts)
{
    const int64_t n = images ? eg_size(images, 0) : 0;
    char(*said)[SHOW_BYTES] = calloc((size_t)n + 1, sizeof *said), there[SHOW_BYTES];
    const char **captions = calloc((size_t)n + 1, sizeof *captions);
    bool *wrong = calloc((size_t)n + 1, sizeof *wrong);
    eg_status st = said && captions && wrong ? EG_OK : eg_fail(EG_ENOMEM, "ocr", "out of memory for a picture");
    for (int64_t i = 0; i < n && !st; i++) {
        st = show_text(letters, read, i, said[i]);
        st = st ? st : show_text(letters, texts, i, there);
        captions[i] = said[i];
        wrong[i] = !st && strcmp(said[i], there) != 0;
    }
    eg_tensor *sheet =
        st ? NULL : eg_draw_grid(sets_shown(images), .columns = 4, .scale = 2, .captions = captions, .wrong = wrong);
    free(said);
    free(captions);
    free(wrong);
    return sheet;
}

/* Where it looked, [views, k, k], as large as the sign, [1, side, views side]. */
static eg_tensor *light(eg_tensor *weights, int64_t side)
{
    const int64_t views = eg_size(weights, 0), k = eg_size(weights, 1), behind = side - FIRST_PIXEL - STRIDE * k;
    eg_tensor *map = eg_image_resize(eg_unsqueeze(weights, 1), STRIDE * k, STRIDE * k);
    map = eg_image_pad(map, FIRST_PIXEL, behind, FIRST_PIXEL, behind, EG_PAD_CONSTANT, 0);
    map = eg_reshape(eg_permute(map, EG_AXES(1, 2, 0, 3)), EG_SHAPE(1, side, views * side));
    return eg_div(map, eg_clamp_min(eg_max(map), 1e-9));
}

eg_tensor *show_attention(const charset *letters, eg_tensor *image, eg_tensor *read, eg_tensor *weights)
{
    eg_tensor *panels[LETTERS_MOST];
    const char *names[LETTERS_MOST];
    eg_tensor *ids = eg_to(read, eg_cpu()), *from = eg_cast(eg_to(weights, eg_cpu()), EG_F32);
    eg_tensor *sign = eg_image_to_float(eg_image_autocontrast(sets_shown(eg_to(image, eg_cpu()))));
    eg_tensor *grey = eg_mul_scalar(eg_image_gray(sign), 0.35);
    if (!ids || !from || !grey) {
        return NULL;
    }
    int n = 0;
    for (bool ended = false; n < eg_numel(ids) && n < LETTERS_MOST && !ended; n++) {
        const int64_t id = (int64_t)eg_get(ids, n);
        ended = id == letters->null;
        names[n] = ended ? "(end)" : !strcmp(letters->letters[id], " ") ? "(blank)" : letters->letters[id];
        eg_tensor *bright = light(eg_select(from, 0, n), eg_size(sign, 1));
        panels[n] = eg_add(grey, eg_mul(bright, eg_sub(sign, grey)));
        if (!panels[n]) {
            return NULL;
        }
    }
    return eg_draw_grid(eg_stack(panels, n, 0), .columns = 4, .scale = 2, .captions = names);
}
