/* fast_style.c - a net learns to paint any photo in the manner of one painting, in one pass (Johnson, Alahi, Fei-Fei
 * 2016). */
#include <stdio.h>
#include <string.h>

#include "look.h"
#include "painter.h"
#include "photos.h"
#include "pictures.h"

enum { SHOWN = 4 };

typedef struct options {
    look_options look;
    const char *style, *model;
    int64_t side, style_side, drawn;
    double lr, width;
    bool over, paint;
} options;

/* ---- learning ---------------------------------------------------------------------------------------- */

/* What is painted is to look like the style, and to have what the photo has where it is. */
static eg_tensor *loss(eg_module *painter, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    look_losses l = look_compare(user, eg_module_forward(painter, sample[0]), look_content(user, sample[0]));
    eg_metrics_mean(m, "style", l.style);
    eg_metrics_mean(m, "content", l.content);
    return l.total;
}

static eg_tensor *find_style(eg_run *run, const options *o)
{
    int64_t side = eg_run_settings_of(run)->smoke ? 32 : o->style_side;
    eg_tensor *style = o->style ? picture_load(o->style, side) : picture_draw_paint(side * 3 / 4, side);
    eg_run_heed(run, style ? EG_OK : eg_last_error()->code);
    return style;
}

static look *look_at(eg_run *run, const options *o, eg_tensor *style)
{
    look *l = look_open(run, &o->look);
    eg_tensor *canvas = eg_run_status(run) ? NULL : eg_run_here(run, picture_to_canvas(style));
    EG_RUN_COMPUTES(run)
    {
        eg_run_heed(run, eg_run_status(run) ? EG_OK : look_like(l, canvas));
    }
    return l;
}

/* Photos above, and what the painter makes of them below. */
static eg_tensor *sheet(eg_run *run, eg_module *painter, eg_dataset *train)
{
    eg_tensor *cells[2 * SHOWN], *made = NULL;
    EG_RUN_EACH(sample, run, train)
    {
        int64_t n = eg_size(sample[0], 0) < SHOWN ? eg_size(sample[0], 0) : SHOWN;
        for (int64_t i = 0; i < n; i++) {
            eg_tensor *photo = eg_slice(sample[0], 0, i, i + 1, 1);
            cells[i] = picture_of_canvas(photo);
            cells[n + i] = picture_of_canvas(eg_module_forward(painter, photo));
        }
        made = eg_keep(eg_draw_grid(eg_stack(cells, 2 * (int)n, 0), .columns = (int)n));
        break;
    }
    return eg_scope_adopt(made);
}

static eg_status learn(eg_run *run, const options *o, eg_module *painter)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    eg_dataset *train = eg_run_train_on(run, photos_dataset(run, s->smoke ? 32 : o->side, s->smoke ? 8 : o->drawn));
    eg_tensor *style = find_style(run, o);
    look *l = look_at(run, o, style);
    eg_optim *adam =
        eg_run_optim(run, "adam", painter ? eg_adam_new(eg_module_parameters(painter), .lr = o->lr) : NULL);
    if (eg_fit(run, painter, adam, loss, train, .user = l)) {
        return eg_run_status(run);
    }
    eg_run_heed(run, eg_module_save(painter, eg_run_path(run, "painter.safetensors").text));
    eg_run_picture(run, "style", style);
    eg_run_picture(run, "painted", sheet(run, painter, train));
    eg_run_say(run, "%.2f steps/s", eg_run_speed(run));
    eg_run_plot(run, "loss.png", "Losses", "loss");
    return eg_run_check_fell(run, "loss", 0.95);
}

/* ---- painting ---------------------------------------------------------------------------------------- */

/* "a/b.jpg" to "b-painted.png". */
static void name_of(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int length = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(name, size, "%.*s-painted.png", length < 200 ? length : 200, base);
}

static void paint_file(eg_run *run, eg_module *painter, const char *path, int64_t side)
{
    char name[256];
    name_of(path, name, sizeof name);
    EG_SCOPE {
        eg_tensor *photo = picture_load(path, side), *made = NULL;
        int64_t h = eg_size(photo, 1) / 4 * 4, w = eg_size(photo, 2) / 4 * 4; /* what the painter can take */
        photo = eg_image_crop_or_pad(photo, h > 8 ? h : 8, w > 8 ? w : 8);
        eg_tensor *canvas = eg_run_here(run, picture_to_canvas(photo));
        EG_RUN_COMPUTES(run)
        {
            made = picture_of_canvas(eg_module_forward(painter, canvas));
        }
        eg_run_heed(run, made ? eg_png_save(made, eg_run_path(run, name).text) : eg_last_error()->code);
    }
    if (!eg_run_status(run)) {
        eg_run_say(run, "%s", eg_run_path(run, name).text);
    }
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    int count;
    char *const *files = eg_run_operands(run, &count);
    if (o->paint != (count > 0)) {
        return eg_run_refuse(run,
                             o->paint ? "--paint needs a FILE" : "what is to be done with %.200s? --paint paints it",
                             count ? files[0] : "");
    }
    if (o->side % 4) {
        return eg_run_refuse(run, "--side is a multiple of 4, not %lld", (long long)o->side);
    }
    eg_module *painter =
        eg_run_module(run, "painter", painter_new(eg_run_settings_of(run)->smoke ? o->width / 4 : o->width, o->over));
    if (o->paint) {
        eg_run_heed(run, !painter ? EG_OK : o->model ? eg_module_load(painter, o->model) : eg_run_restore(run, NULL));
        for (int i = 0; i < count && !eg_run_status(run); i++) {
            paint_file(run, painter, files[i], o->style_side);
        }
        return eg_run_status(run);
    }
    EG_SCOPE {
        learn(run, o, painter);
    }
    return eg_run_status(run);
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_TEXT("style", &o.style, NULL, "FILE", "the painting; without it paint is drawn"),
        EG_FLAG_INTEGER("side", &o.side, "256", 32, 4096, "of the squares it learns from, a multiple of 4"),
        EG_FLAG_INTEGER("size", &o.style_side, "512", 32, 8192, "of the longer side of the painting, and of FILEs"),
        EG_FLAG_INTEGER("drawn", &o.drawn, "1000", 4, 1000000, "photos to draw per epoch where there are no files"),
        EG_FLAG_REAL("width", &o.width, "1", 0.03125, 4, "channels, as a share of the published 32 to 128"),
        EG_FLAG_SWITCH("over", &o.over, "paint over the photo, which then is there from the first step on"),
        EG_FLAG_REAL("lr", &o.lr, "1e-3", 1e-9, 10, "learning rate"),
        EG_FLAG_SWITCH("paint", &o.paint, "paint each FILE with what was learned, into --out"),
        EG_FLAG_TEXT("model", &o.model, NULL, "FILE",
                     "painter for --paint; without it that of the latest checkpoint in --out"),
        LOOK_FLAGS(&o.look),
    };
    return eg_run_main(argc, argv, work, &o, .name = "fast_style", .unit = "images",
                       .about = "Learns to paint photos in the manner of one painting.", .flags = flags,
                       .flag_count = EG_FLAG_COUNT(flags), .epochs = 2, .batch = 4, .smoke_batch = 2, .operand = "FILE",
                       .most_operands = 10000,
                       .data = "folder with photos, *.jpg or */*.jpg; without it landscapes are drawn");
}
