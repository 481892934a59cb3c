/* grid.c - see grid.h. */
#include "grid.h"

#include <math.h>
#include <stddef.h>

#include <egret/error.h>

static const rgb paper = {255, 255, 255}, dark = {38, 42, 48}, dim = {104, 110, 120}, outline = {214, 218, 224},
                 red = {214, 38, 48};

enum { MARGIN = 24, GAP = 14, FRAME = 4, TITLE_SIZE = 24, CAPTION_SIZE = 15 };

/* A size at which the text fits into the room: the wanted one, or less. */
static double fitting_size(const font *f, double wanted, const char *text, double room)
{
    double width = text ? font_width(f, wanted, text) : 0;
    return width > room ? wanted * room / width : wanted;
}

static void draw_cell(canvas *c, const font *f, const grid *g, int scale, const grid_cell *cell, int x, int y)
{
    int width = g->width * scale, height = g->height * scale;
    canvas_image(c, x, y, cell->pixels, g->width, g->height, g->channels, scale);
    canvas_frame(c, x, y, width, height, cell->wrong ? FRAME : 1, cell->wrong ? red : outline);
    if (cell->caption) {
        double size = fitting_size(f, CAPTION_SIZE, cell->caption, width + GAP - 2);
        canvas_text(c, f, size, x + width / 2.0, y + height + FRAME + CAPTION_SIZE, CANVAS_CENTRE,
                    cell->wrong ? red : dim, cell->caption);
    }
}

canvas *grid_draw(const grid *g, const font *f)
{
    if (g->count < 1 || g->width < 1 || g->height < 1 || (g->channels != 1 && g->channels != 3)) {
        eg_failf(EG_EINVAL, "grid_draw", "a sheet of %d images of %d x %d pixels in %d channels cannot be drawn",
                 g->count, g->width, g->height, g->channels);
        return NULL;
    }
    int scale = g->scale > 0 ? g->scale : g->width < 84 ? 84 / g->width : 1;
    int columns = g->columns > 0 ? g->columns : (int)ceil(sqrt(g->count));
    columns = columns < g->count ? columns : g->count;
    int rows = (g->count + columns - 1) / columns;
    bool captions = false;
    for (int i = 0; i < g->count; i++) {
        captions = captions || g->cells[i].caption;
    }
    int64_t step_x = (int64_t)g->width * scale + GAP;
    int64_t step_y = (int64_t)g->height * scale + GAP + (captions && f ? CAPTION_SIZE + FRAME : 0);
    int64_t top = MARGIN + (g->title && f ? TITLE_SIZE + GAP : 0);
    int64_t width = 2 * MARGIN + columns * step_x - GAP, height = top + MARGIN + rows * step_y - GAP;
    if (width > CANVAS_SIDE_MOST || height > CANVAS_SIDE_MOST) {
        eg_failf(EG_EINVAL, "grid_draw", "a sheet of %d x %d images is too large to draw", rows, columns);
        return NULL;
    }
    canvas *c = canvas_new((int)width, (int)height, paper);
    if (!c) {
        return NULL;
    }
    double size = fitting_size(f, TITLE_SIZE, g->title, c->width - 2 * MARGIN);
    canvas_text(c, f, size, MARGIN, MARGIN + TITLE_SIZE * 0.8, CANVAS_LEFT, dark, g->title);
    for (int i = 0; i < g->count; i++) {
        draw_cell(c, f, g, scale, &g->cells[i], (int)(MARGIN + i % columns * step_x),
                  (int)(top + i / columns * step_y));
    }
    return c;
}
