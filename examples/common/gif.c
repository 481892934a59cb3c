/* gif.c - see gif.h. */
#include "gif.h"

#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

#include "palette.h"
#include "whole_file.h"

struct gif {
    whole_file file;
    GifFileType *out;
    int width, height, frames, delay;
    uint8_t *index; /* of a frame: numbers of colours */
    bool failed;
};

static int write_to(GifFileType *out, const GifByteType *data, int bytes)
{
    return (int)fwrite(data, 1, (size_t)bytes, out->UserData);
}

static bool complain(gif *g, int error, problem *why)
{
    const char *words = GifErrorString(error);
    g->failed = true;
    return problem_say(why, "cannot write %s: %s", g->file.path, words ? words : "GIF error");
}

/* Films repeat for ever by an extension that Netscape thought of. */
static bool put_head(gif *g, problem *why)
{
    static const uint8_t forever[] = {1, 0, 0};
    GifFileType *out = g->out;
    EGifSetGifVersion(out, true);
    return (EGifPutScreenDesc(out, g->width, g->height, 8, 0, NULL) == GIF_OK &&
            EGifPutExtensionLeader(out, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
            EGifPutExtensionBlock(out, 11, "NETSCAPE2.0") == GIF_OK &&
            EGifPutExtensionBlock(out, sizeof forever, forever) == GIF_OK &&
            EGifPutExtensionTrailer(out) == GIF_OK) ||
           complain(g, out->Error, why);
}

gif *gif_new(const char *path, int width, int height, double seconds, problem *why)
{
    enum { SIDE_MOST = 65535 };
    if (width < 1 || height < 1 || width > SIDE_MOST || height > SIDE_MOST || !(seconds >= 0) ||
        seconds > 600) {
        problem_say(why, "a film of %d x %d pixels and %g seconds per frame cannot be written", width,
                    height, seconds);
        return NULL;
    }
    gif *g = calloc(1, sizeof *g);
    size_t area = (size_t)width * (size_t)height;
    if (g) {
        *g = (gif){.width = width, .height = height, .delay = (int)(seconds * 100 + 0.5),
                   .index = malloc(area)};
    }
    if (!g || !g->index) {
        free(g);
        problem_say(why, "out of memory for a film of %d x %d pixels", width, height);
        return NULL;
    }
    if (!whole_file_open(&g->file, path, why)) {
        free(g->index);
        free(g);
        return NULL;
    }
    int error = 0;
    g->out = EGifOpen(g->file.stream, write_to, &error);
    if (g->out ? !put_head(g, why) : !complain(g, error, why)) {
        gif_close(g, NULL);
        return NULL;
    }
    return g;
}

static bool put_frame(gif *g, const palette *p)
{
    GifFileType *out = g->out;
    ColorMapObject *map = GifMakeMapObject(256, NULL);
    GraphicsControlBlock control = {.DisposalMode = DISPOSE_DO_NOT,
                                    .DelayTime = g->delay,
                                    .TransparentColor = NO_TRANSPARENT_COLOR};
    uint8_t block[4];
    if (!map) {
        out->Error = E_GIF_ERR_NOT_ENOUGH_MEM;
        return false;
    }
    for (int i = 0; i < p->count; i++) {
        map->Colors[i] = (GifColorType){p->colour[i].r, p->colour[i].g, p->colour[i].b};
    }
    EGifGCBToExtension(&control, block);
    bool good = EGifPutExtension(out, GRAPHICS_EXT_FUNC_CODE, sizeof block, block) == GIF_OK &&
                EGifPutImageDesc(out, 0, 0, g->width, g->height, false, map) == GIF_OK;
    for (int y = 0; y < g->height && good; y++) {
        good = EGifPutLine(out, g->index + (size_t)y * (size_t)g->width, g->width) == GIF_OK;
    }
    GifFreeMapObject(map);
    return good;
}

bool gif_add(gif *g, const uint8_t *pixels, int channels, problem *why)
{
    int64_t area = (int64_t)g->width * g->height;
    palette p = {.count = 256};
    if (g->failed || (channels != 1 && channels != 3)) {
        g->failed = true;
        return problem_say(why, "cannot add a frame of %d channels to %s", channels, g->file.path);
    }
    if (channels == 1) {
        for (int i = 0; i < 256; i++) {
            p.colour[i] = (rgb){(uint8_t)i, (uint8_t)i, (uint8_t)i};
        }
        memcpy(g->index, pixels, (size_t)area);
    } else if (!palette_make(&p, pixels, g->width, g->height, g->index)) {
        return complain(g, E_GIF_ERR_NOT_ENOUGH_MEM, why);
    }
    g->frames++;
    return put_frame(g, &p) || complain(g, g->out->Error, why);
}

bool gif_add_canvas(gif *g, const canvas *c, problem *why)
{
    if (c->width != g->width || c->height != g->height) {
        g->failed = true;
        return problem_say(why, "a frame of %d x %d pixels does not fit into %s, which has %d x %d",
                           c->width, c->height, g->file.path, g->width, g->height);
    }
    return gif_add(g, c->pixels, 3, why);
}

bool gif_close(gif *g, problem *why)
{
    if (!g) {
        return false;
    }
    int error = 0;
    bool good = !g->failed && g->frames > 0;
    if (!g->failed && !g->frames) {
        problem_say(why, "%s would have no frame", g->file.path);
    }
    if (g->out && EGifCloseFile(g->out, &error) != GIF_OK && good) {
        good = complain(g, error, why);
    }
    good = whole_file_close(&g->file, good, why);
    free(g->index);
    free(g);
    return good;
}
