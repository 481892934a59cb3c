/* photo.c - see photo.h. */
#include "photo.h"

#include "../common/tools.h"
#include "sets.h"
#include "show.h"

static eg_tensor *views_of(const ocr_sizes *s, eg_tensor *photo)
{
    const int64_t h = eg_size(photo, 1), w = eg_size(photo, 2), most = h > w ? h : w;
    eg_tensor *seen[VIEWS_MOST], *square = eg_image_pad(photo, (most - h) / 2, (most - h + 1) / 2, (most - w) / 2,
                                                        (most - w + 1) / 2, EG_PAD_REPLICATE, 0);
    for (int64_t v = 0; v < s->views; v++) {
        seen[v] = sets_seen(w == s->views * h ? eg_slice(photo, 2, v * h, (v + 1) * h, 1) : square, s->side);
    }
    return eg_contiguous(eg_concat(seen, (int)s->views, 2));
}

eg_status photo_read(eg_run *run, eg_module *net, const ocr_sizes *sizes, const charset *letters, const char *file)
{
    char to[TOOL_NAME], text[SHOW_BYTES];
    eg_tensor *photo = eg_image_load(file, .channels = 3, .other_formats = true);
    eg_tensor *seen = photo ? views_of(sizes, photo) : NULL;
    ocr_reading r = ocr_read(net, eg_run_here(run, seen ? eg_unsqueeze(seen, 0) : NULL), NULL);
    eg_tensor *read = eg_argmax(r.logits, .axes = EG_AXES(2));
    eg_status st = read ? show_text(letters, read, 0, text) : eg_last_error()->code;
    if (st) {
        return st;
    }
    eg_run_say(run, "%s: %s", file, text);
    return eg_run_picture(run, tool_named(file, "-read", to),
                          show_attention(letters, seen, eg_select(read, 0, 0), eg_select(r.weights, 0, 0)));
}
